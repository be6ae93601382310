"""The main job, as `fit` and `demo` share it: corpus -> private words -> private topics -> release."""

import math
from dataclasses import dataclass
from pathlib import Path

from discreet._progress import Callback
from discreet.corpus import Corpus
from discreet.errors import ParameterError
from discreet.privacy import Ledger
from discreet.release import Release

__all__ = ["Recipe", "train"]


@dataclass(frozen=True)
class Recipe:
    """Everything public that decides a run."""

    epsilon: float
    delta: float
    n_topics: int
    max_words: int | None
    vocabulary_share: float
    vocabulary_method: str
    doc_topic_prior: float
    sampling_rate: float
    n_rounds: int | None
    seed: int | None
    n_jobs: int
    allow_unlearnable: bool = False


def open_ledger(recipe: Recipe, privacy_unit: str, path: Path | None) -> Ledger:
    """Return the ledger of this run: a new one in memory, or the one kept in a file."""
    if path is None:
        return Ledger(recipe.epsilon, recipe.delta, privacy_unit=privacy_unit)
    return Ledger.open(path, recipe.epsilon, recipe.delta, privacy_unit=privacy_unit)


def _left_for_topics(recipe: Recipe, ledger: Ledger) -> float:
    """Return the epsilon for training with which this run costs what was asked for in all.

    Two Gaussian releases cost less together than the sum of their epsilons; what is saved goes to the topics.
    """
    rest = (1 - recipe.vocabulary_share) * recipe.epsilon
    if math.isinf(recipe.epsilon) or recipe.sampling_rate < 1:
        return rest
    run = Ledger(recipe.epsilon, recipe.delta, privacy_unit=ledger.privacy_unit)
    run.reserve(ledger.entries[-1].event, "words")
    return max(rest, run.remaining().epsilon)


def train(corpus: Corpus, recipe: Recipe, ledger: Ledger, callback: Callback) -> Release:
    """Choose words (unless they are public), then fit the topics, both on one ledger."""
    from discreet.central import PrivateCountVectorizer, PrivateLDA

    if not 0 < recipe.vocabulary_share < 1:
        raise ParameterError(
            f"the vocabulary's share of epsilon must lie between 0 and 1, but is {recipe.vocabulary_share}."
        )
    unit = ledger.privacy_unit
    owners = corpus.owners if unit == "author" else None
    counts, epsilon = corpus, recipe.epsilon
    if not corpus.vocabulary_is_public:
        vectorizer = PrivateCountVectorizer(
            epsilon=recipe.vocabulary_share * recipe.epsilon,
            method=recipe.vocabulary_method,
            max_words=recipe.max_words,
            privacy_unit=unit,
            ledger=ledger,
            random_state=recipe.seed,
        )
        callback("choosing words", 0, 1)
        counts = vectorizer.fit_transform(corpus)
        callback("choosing words", 1, 1)
        epsilon = _left_for_topics(recipe, ledger)
    model = PrivateLDA(
        recipe.n_topics,
        epsilon=epsilon,
        delta=recipe.delta,
        privacy_unit=unit,
        doc_topic_prior=recipe.doc_topic_prior,
        sampling_rate=recipe.sampling_rate,
        n_rounds=recipe.n_rounds,
        random_state=recipe.seed,
        n_jobs=recipe.n_jobs,
        ledger=ledger,
        allow_unlearnable=recipe.allow_unlearnable,
        callback=callback,
    )
    return model.fit(counts, owners=owners).release_
