"""The local setting: each writer randomises on their own device, and nobody else ever sees the text.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.lda.moments import Moments
    from discreet.lda.noise_edge import learnable
    from discreet.local.local_lda import LocalLDA
    from discreet.local.memo import ReportMemo
    from discreet.local.shuffling import amplify_by_shuffling
    from discreet.local.streaming_local_lda import StreamingLocalLDA
    from discreet.local.wire import Report, read_reports, write_reports
    from discreet.privacy.bit_channel import BitChannel

_HOMES: dict[str, str] = {
    "BitChannel": "discreet.privacy.bit_channel",
    "LocalLDA": "discreet.local.local_lda",
    "Moments": "discreet.lda.moments",
    "Report": "discreet.local.wire",
    "ReportMemo": "discreet.local.memo",
    "StreamingLocalLDA": "discreet.local.streaming_local_lda",
    "amplify_by_shuffling": "discreet.local.shuffling",
    "learnable": "discreet.lda.noise_edge",
    "read_reports": "discreet.local.wire",
    "write_reports": "discreet.local.wire",
}

__all__: list[str] = [
    "BitChannel",
    "LocalLDA",
    "Moments",
    "Report",
    "ReportMemo",
    "StreamingLocalLDA",
    "amplify_by_shuffling",
    "learnable",
    "read_reports",
    "write_reports",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
