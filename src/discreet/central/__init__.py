"""The central setting: a curator sees the raw text, and only what is noised leaves.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._lazy import lazy_names

if TYPE_CHECKING:
    from discreet.central._fit_topics import fit_topics
    from discreet.central.choose_n_topics import choose_n_topics_privately
    from discreet.central.moment_lda import PrivateMomentLDA
    from discreet.central.prevalence.estimator import TopicPrevalence
    from discreet.central.prevalence.groups import periods
    from discreet.central.private_fit import PrivateFit
    from discreet.central.private_lda import PrivateLDA
    from discreet.central.private_svi_lda import PrivateSVILDA
    from discreet.central.vocabulary import PrivateCountVectorizer
    from discreet.central.word_counts import WordCounts
    from discreet.central.word_level.count_noise_lda import CountNoiseLDA
    from discreet.central.word_level.hybrid_gibbs_lda import HybridGibbsLDA
    from discreet.central.word_level.inherent_loss import InherentPrivacy, inherent_privacy

_HOMES = {
    "CountNoiseLDA": "discreet.central.word_level.count_noise_lda",
    "HybridGibbsLDA": "discreet.central.word_level.hybrid_gibbs_lda",
    "InherentPrivacy": "discreet.central.word_level.inherent_loss",
    "PrivateCountVectorizer": "discreet.central.vocabulary",
    "PrivateFit": "discreet.central.private_fit",
    "PrivateLDA": "discreet.central.private_lda",
    "PrivateMomentLDA": "discreet.central.moment_lda",
    "PrivateSVILDA": "discreet.central.private_svi_lda",
    "TopicPrevalence": "discreet.central.prevalence.estimator",
    "WordCounts": "discreet.central.word_counts",
    "choose_n_topics_privately": "discreet.central.choose_n_topics",
    "fit_topics": "discreet.central._fit_topics",
    "inherent_privacy": "discreet.central.word_level.inherent_loss",
    "periods": "discreet.central.prevalence.groups",
}

__all__ = [
    "CountNoiseLDA",
    "HybridGibbsLDA",
    "InherentPrivacy",
    "PrivateCountVectorizer",
    "PrivateFit",
    "PrivateLDA",
    "PrivateMomentLDA",
    "PrivateSVILDA",
    "TopicPrevalence",
    "WordCounts",
    "choose_n_topics_privately",
    "fit_topics",
    "inherent_privacy",
    "periods",
]

__getattr__, __dir__ = lazy_names("discreet.central", _HOMES)
