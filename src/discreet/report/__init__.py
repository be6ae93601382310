"""What people look at: the card, the page, the map and the exports of a release. Nothing here sees private text."""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.report import export


__all__ = [
    "export",
]

__getattr__, __dir__ = lazy_names("discreet.report")
