"""The local setting: each writer randomises on their own device, and nobody else ever sees the text.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.lda.moments import Moments
    from discreet.lda.noise_edge import learnable
    from discreet.local.local_lda import LocalLDA
    from discreet.local.shuffling import amplify_by_shuffling
    from discreet.local.streaming_local_lda import StreamingLocalLDA

_HOMES: dict[str, str] = {
    "LocalLDA": "discreet.local.local_lda",
    "Moments": "discreet.lda.moments",
    "StreamingLocalLDA": "discreet.local.streaming_local_lda",
    "amplify_by_shuffling": "discreet.local.shuffling",
    "learnable": "discreet.lda.noise_edge",
}

__all__: list[str] = ["LocalLDA", "Moments", "StreamingLocalLDA", "amplify_by_shuffling", "learnable"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
