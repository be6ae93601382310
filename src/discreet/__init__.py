"""Topic models of text that must stay private.

Public names load on first use, so that ``import discreet`` stays fast and imports neither numba nor
dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names
from discreet._version import __version__
from discreet.errors import (
    BudgetExceeded,
    CorpusError,
    DiscreetError,
    EngineError,
    ParameterError,
    PrivacyError,
    ReleaseError,
)

if TYPE_CHECKING:
    # Rooms are found as attributes, and not by ``from discreet import *``: people use names such as ``release``.
    from discreet import audit as audit
    from discreet import central as central
    from discreet import corpus as corpus
    from discreet import engines as engines
    from discreet import evaluate as evaluate
    from discreet import federated as federated
    from discreet import lda as lda
    from discreet import local as local
    from discreet import privacy as privacy
    from discreet import release as release
    from discreet import report as report
    from discreet._base.progress import show_progress
    from discreet.central import (
        HybridGibbsLDA,
        PrivateCountVectorizer,
        PrivateFit,
        PrivateLDA,
        PrivateSVILDA,
        TopicPrevalence,
        check_topics,
        fit_topics,
        share_topics,
    )
    from discreet.corpus import Corpus, read_corpus
    from discreet.federated import FederatedLDA
    from discreet.lda import GibbsLDA, VariationalLDA
    from discreet.local import LocalLDA, StreamingLocalLDA, WholeDocumentLDA
    from discreet.privacy import Ledger
    from discreet.release import Release
    from discreet.report.comparison import compare

__all__ = [
    "BudgetExceeded",
    "Corpus",
    "CorpusError",
    "DiscreetError",
    "EngineError",
    "FederatedLDA",
    "GibbsLDA",
    "HybridGibbsLDA",
    "Ledger",
    "LocalLDA",
    "ParameterError",
    "PrivacyError",
    "PrivateCountVectorizer",
    "PrivateFit",
    "PrivateLDA",
    "PrivateSVILDA",
    "Release",
    "ReleaseError",
    "StreamingLocalLDA",
    "TopicPrevalence",
    "VariationalLDA",
    "WholeDocumentLDA",
    "__version__",
    "check_topics",
    "compare",
    "fit_topics",
    "read_corpus",
    "share_topics",
    "show_progress",
]


__getattr__, __dir__ = lazy_names("discreet")
