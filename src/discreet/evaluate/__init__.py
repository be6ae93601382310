"""Is the model any good? Each name means one thing, said in its docstring.

Every measure of this room takes exact counts. On public text it may be published; on private text it is itself
a private statistic that no ledger covers: look at it, do not release it.

Names load on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.evaluate.choosing import TopicNumbers, choose_n_topics
    from discreet.evaluate.classification import ClassificationReport, classification_report
    from discreet.evaluate.coherence import (
        coherence_npmi,
        coherence_umass,
        topic_coherences_npmi,
        topic_coherences_umass,
    )
    from discreet.evaluate.distinct_words import diversity
    from discreet.evaluate.matching import TopicMatch, hellinger, topic_match
    from discreet.evaluate.perplexity import completion_perplexity, transductive_perplexity, unigram

_HOMES = {
    "ClassificationReport": "classification",
    "TopicMatch": "matching",
    "TopicNumbers": "choosing",
    "choose_n_topics": "choosing",
    "classification_report": "classification",
    "coherence_npmi": "coherence",
    "coherence_umass": "coherence",
    "completion_perplexity": "perplexity",
    "diversity": "distinct_words",
    "hellinger": "matching",
    "topic_coherences_npmi": "coherence",
    "topic_coherences_umass": "coherence",
    "topic_match": "matching",
    "transductive_perplexity": "perplexity",
    "unigram": "perplexity",
}

__all__ = [
    "ClassificationReport",
    "TopicMatch",
    "TopicNumbers",
    "choose_n_topics",
    "classification_report",
    "coherence_npmi",
    "coherence_umass",
    "completion_perplexity",
    "diversity",
    "hellinger",
    "topic_coherences_npmi",
    "topic_coherences_umass",
    "topic_match",
    "transductive_perplexity",
    "unigram",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"discreet.evaluate.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'discreet.evaluate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
