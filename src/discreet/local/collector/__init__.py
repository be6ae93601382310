"""The collector: a small service that takes randomised reports and keeps each exactly once.

It needs the extra ``collector`` (Starlette and uvicorn); nothing of that is loaded before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.local.collector.app import make_app
    from discreet.local.collector.serve import run_server
    from discreet.local.collector.storage.store import ReportStore

_HOMES: dict[str, str] = {
    "ReportStore": "discreet.local.collector.storage.store",
    "make_app": "discreet.local.collector.app",
    "run_server": "discreet.local.collector.serve",
}

__all__: list[str] = ["ReportStore", "make_app", "run_server"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.local.collector' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
