"""The four ways of choosing words, by name, and the final form of what they choose."""

from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import collect, kind_of
from discreet.central.sums.units import faults_of_shards
from discreet.central.vocabulary.coverage import SHARE
from discreet.central.vocabulary.documents import is_writable
from discreet.central.vocabulary.greedy import Greedy
from discreet.central.vocabulary.policy_gaussian import PolicyGaussian
from discreet.central.vocabulary.sips import Sips
from discreet.central.vocabulary.units import Choice
from discreet.central.vocabulary.weighted_gaussian import WeightedGaussian
from discreet.corpus import DEFAULT_TOKEN_PATTERN, Corpus, Tokenizer
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.tokens.letters import Breaks
from discreet.corpus.tokens.tokenizer import WORD_SETTINGS, choose_tokenizer
from discreet.errors import DiscreetError, Parameter, ParameterError, Proposal

__all__ = [
    "METHODS",
    "Method",
    "delta_of_ledger",
    "faults_of_counted",
    "faults_of_documents",
    "make_method",
    "method_of",
    "released",
    "tokenizer_of",
]

_GAUSSIAN = {"weighted_gaussian": WeightedGaussian, "policy_gaussian": PolicyGaussian, "sips": Sips}
METHODS = {"greedy": Greedy, **_GAUSSIAN}
#: Settings of how a text becomes words, as they are unless somebody asks for something else.
_ABOUT_TEXTS: dict[str, Any] = {
    "ngram_range": (1, 1),
    "token_pattern": DEFAULT_TOKEN_PATTERN,
    "lowercase": True,
    "tokenizer": None,
    "phrases": None,
}
Method = Greedy | WeightedGaussian | PolicyGaussian | Sips


def make_method(
    name: str, epsilon: float, delta: float, max_words: int, privacy_unit: str, published: bool
) -> Method:
    """Return a method by its name; ``published`` is for "greedy" only."""
    if name == "greedy":
        return Greedy(epsilon, delta, max_words, privacy_unit, published=published)
    return _GAUSSIAN[name](epsilon, delta, max_words, privacy_unit, coverage_share=SHARE)


def method_of(estimator: Any, delta: float) -> Method:
    """Return the method of an estimator's parameters."""
    most, published = int(estimator.max_words_per_unit), estimator.threshold == "published"
    return make_method(
        estimator.method, float(estimator.epsilon), delta, most, estimator.privacy_unit, published
    )


def tokenizer_of(estimator: Any) -> Tokenizer:
    """Return how an estimator cuts texts, by its parameters."""
    return choose_tokenizer(**{name: getattr(estimator, name) for name in WORD_SETTINGS})


def delta_of_ledger(name: str, delta: float) -> float:
    """Return the delta of a ledger for words and what is trained on them: the threshold of "greedy" takes all of it."""
    return min(2 * delta, (1 + delta) / 2) if name == "greedy" else delta


def faults_of_documents(estimator: Any, X: Any, persons: Any) -> list[DiscreetError]:
    """Say where settings do not go with X: an engine or persons, what is about texts, or what shards cannot."""
    faults = [
        *faults_of_shards(X, persons, estimator.engine),
        *faults_of_counted(X, estimator.get_params(deep=False)),
    ]
    if isinstance(X, ShardedCorpus) and estimator.method in ("greedy", "policy_gaussian"):
        faults.append(
            ParameterError(
                Parameter("method"),
                f'="{estimator.method}" goes through units one after another, so it cannot go through shards: take ',
                Proposal("method", "weighted_gaussian"),
                ' or "sips", or read the shards into memory, ShardedCorpus.to_corpus().',
            )
        )
    return faults


def faults_of_counted(X: Any, settings: Mapping[str, Any]) -> list[DiscreetError]:
    """Say which settings that are about texts were given with counts, on which they would have no effect.

    Of texts that are held, some are looked at, whether there are blanks between words: see
    :mod:`discreet.corpus.tokens.letters`, which says what that tells.
    """
    if not isinstance(X, Corpus | ShardedCorpus):
        return collect(lambda: _look(X)) if _by_default(settings) and isinstance(X, Collection) else []
    idle = [name for name, default in _ABOUT_TEXTS.items() if settings.get(name, default) != default]
    if isinstance(X, ShardedCorpus) and settings.get("stop_words") not in (None, "auto"):
        idle.append("stop_words")
    how = "the shards are written" if isinstance(X, ShardedCorpus) else "the texts are read: read_corpus(...)"
    return [
        ParameterError(
            Parameter(name),
            f" has no effect on {kind_of(X)}, whose texts are counted; say it when {how}.",
        )
        for name in idle
    ]


def _by_default(settings: Mapping[str, Any]) -> bool:
    """Whether nobody said what a word is."""
    own = settings["tokenizer"]
    if isinstance(own, Tokenizer):
        return own.by_default
    return own is None and settings["token_pattern"] == DEFAULT_TOKEN_PATTERN


def _look(texts: Iterable[Any]) -> None:
    breaks = Breaks()
    for text in texts:
        if isinstance(text, str):
            breaks.see(text)
        if breaks.seen_enough:
            break
    breaks.check()


def released(
    choice: Choice, words: tuple[str, ...], max_words: int | None
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Put what a method chose into its final form. Sees released values only."""
    chosen = [
        (int(round_), -float(weight), words[number])
        for number, weight, round_ in zip(choice.words, choice.weights, choice.rounds, strict=True)
        if is_writable(words[number])
    ]
    kept = sorted(chosen)[:max_words]  # earlier rounds found the more frequent words
    kept.sort(key=itemgetter(2))
    return tuple(word for _, _, word in kept), np.array([-weight for _, weight, _ in kept], np.float64)
