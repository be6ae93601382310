"""The central setting: a curator sees the raw text, and only what is noised leaves.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.central._fit_topics import check_topics, fit_topics
    from discreet.central.choose_n_topics import choose_n_topics_privately
    from discreet.central.forecast import learnability
    from discreet.central.prevalence.brought import bring_topics, share_topics
    from discreet.central.prevalence.estimator import TopicPrevalence
    from discreet.central.prevalence.groups import periods
    from discreet.central.private_fit import PrivateFit
    from discreet.central.private_lda import PrivateLDA
    from discreet.central.private_svi_lda import PrivateSVILDA
    from discreet.central.vocabulary.vectorizer import PrivateCountVectorizer
    from discreet.central.word_level.hybrid_gibbs_lda import HybridGibbsLDA


__all__ = [
    "HybridGibbsLDA",
    "PrivateCountVectorizer",
    "PrivateFit",
    "PrivateLDA",
    "PrivateSVILDA",
    "TopicPrevalence",
    "bring_topics",
    "check_topics",
    "choose_n_topics_privately",
    "fit_topics",
    "learnability",
    "periods",
    "share_topics",
]

__getattr__, __dir__ = lazy_names("discreet.central")
