"""Topic models of text that must stay private.

Public names load on first use, so that ``import discreet`` stays fast and imports neither numba nor
dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    BudgetExceeded,
    CorpusError,
    DiscreetError,
    ParameterError,
    PrivacyError,
    ReleaseError,
)

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet import audit, evaluate, federated, local, privacy
    from discreet.central import CountNoiseLDA, HybridGibbsLDA, PrivateCountVectorizer, PrivateLDA
    from discreet.corpus import Corpus, read_corpus
    from discreet.federated import FederatedLDA
    from discreet.lda import GibbsLDA, VariationalLDA
    from discreet.local import LocalLDA, StreamingLocalLDA
    from discreet.privacy import Ledger
    from discreet.release import Release

_HOMES = {
    "Corpus": "discreet.corpus",
    "CountNoiseLDA": "discreet.central",
    "FederatedLDA": "discreet.federated",
    "GibbsLDA": "discreet.lda",
    "HybridGibbsLDA": "discreet.central",
    "Ledger": "discreet.privacy",
    "LocalLDA": "discreet.local",
    "PrivateCountVectorizer": "discreet.central",
    "PrivateLDA": "discreet.central",
    "Release": "discreet.release",
    "StreamingLocalLDA": "discreet.local",
    "VariationalLDA": "discreet.lda",
    "read_corpus": "discreet.corpus",
}
_ROOMS = ("audit", "central", "corpus", "evaluate", "federated", "lda", "local", "privacy", "release")

__all__ = [
    "BudgetExceeded",
    "Corpus",
    "CorpusError",
    "CountNoiseLDA",
    "DiscreetError",
    "FederatedLDA",
    "GibbsLDA",
    "HybridGibbsLDA",
    "Ledger",
    "LocalLDA",
    "ParameterError",
    "PrivacyError",
    "PrivateCountVectorizer",
    "PrivateLDA",
    "Release",
    "ReleaseError",
    "StreamingLocalLDA",
    "VariationalLDA",
    "audit",
    "evaluate",
    "federated",
    "local",
    "privacy",
    "read_corpus",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"discreet.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
