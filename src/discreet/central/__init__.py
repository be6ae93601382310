"""The central setting: a curator sees the raw text, and only what is noised leaves.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.central.count_noise_lda import CountNoiseLDA
    from discreet.central.hybrid_gibbs_lda import HybridGibbsLDA
    from discreet.central.inherent_loss import InherentPrivacy, inherent_privacy
    from discreet.central.moment_lda import PrivateMomentLDA
    from discreet.central.private_lda import PrivateLDA
    from discreet.central.vocabulary import PrivateCountVectorizer
    from discreet.central.word_counts import WordCounts

_HOMES = {
    "CountNoiseLDA": "discreet.central.count_noise_lda",
    "HybridGibbsLDA": "discreet.central.hybrid_gibbs_lda",
    "InherentPrivacy": "discreet.central.inherent_loss",
    "PrivateCountVectorizer": "discreet.central.vocabulary",
    "PrivateLDA": "discreet.central.private_lda",
    "PrivateMomentLDA": "discreet.central.moment_lda",
    "WordCounts": "discreet.central.word_counts",
    "inherent_privacy": "discreet.central.inherent_loss",
}

__all__ = [
    "CountNoiseLDA",
    "HybridGibbsLDA",
    "InherentPrivacy",
    "PrivateCountVectorizer",
    "PrivateLDA",
    "PrivateMomentLDA",
    "WordCounts",
    "inherent_privacy",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.central' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
