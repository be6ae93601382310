"""Is the model any good? Each name means one thing, said in its docstring.

Every measure of this room takes exact counts. On public text it may be published; on private text it is itself
a private statistic that no ledger covers: look at it, do not release it.

Names load on first use.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.evaluate.choosing import choose_n_topics
    from discreet.evaluate.held_out import (
        classification_report,
        completion_perplexity,
        public_topics,
        transductive_perplexity,
        unigram,
    )
    from discreet.evaluate.topics import (
        coherence_npmi,
        coherence_umass,
        diversity,
        topic_coherences_npmi,
        topic_coherences_umass,
        topic_match,
    )

__all__ = [
    "choose_n_topics",
    "classification_report",
    "coherence_npmi",
    "coherence_umass",
    "completion_perplexity",
    "diversity",
    "public_topics",
    "topic_coherences_npmi",
    "topic_coherences_umass",
    "topic_match",
    "transductive_perplexity",
    "unigram",
]

__getattr__, __dir__ = lazy_names("discreet.evaluate")
