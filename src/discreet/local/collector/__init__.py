"""The collector: a small service that takes randomised reports and keeps each exactly once.

It needs the extra ``collector`` (Starlette and uvicorn); nothing of that is loaded before it is used.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.local.collector.app import make_app, run_server
    from discreet.local.collector.store import ReportStore


__all__ = ["ReportStore", "make_app", "run_server"]

__getattr__, __dir__ = lazy_names("discreet.local.collector")
