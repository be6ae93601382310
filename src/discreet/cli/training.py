"""The main job, as `fit` and `demo` share it: corpus -> private words -> private topics -> release."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._progress import Callback
from discreet.corpus import Corpus
from discreet.errors import ParameterError
from discreet.privacy import Ledger
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.central import PrivateCountVectorizer, PrivateLDA, PrivateSVILDA

__all__ = ["Recipe", "check_budget", "check_recipe", "open_ledger", "train"]


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
    word_vectors: Path | None = None


def open_ledger(recipe: Recipe, privacy_unit: str, path: Path | None, budget: float | None = None) -> Ledger:
    """Return the ledger of this run: a new one in memory, or the one kept in a file.

    A new file gets ``budget`` as its epsilon, or that of this run; one that exists keeps its own.
    """
    if path is None:
        if budget is not None:
            raise ParameterError(
                f"--budget {budget:g} is for several runs; name the file that keeps it: --ledger."
            )
        return Ledger(recipe.epsilon, recipe.delta, privacy_unit=privacy_unit)
    ledger = Ledger.open(
        path, recipe.epsilon if budget is None else budget, recipe.delta, privacy_unit=privacy_unit
    )
    if budget is not None and ledger.epsilon != budget:
        raise ParameterError(
            f"--budget is {budget:g}, but the ledger {path} was made with {ledger.epsilon:g}; leave --budget out."
        )
    return ledger


def check_recipe(recipe: Recipe, privacy_unit: str) -> None:
    """Refuse settings that are out of range before anything is read or booked: a slip must not cost budget.

    Estimators check themselves, too, but that of the topics only once the words are paid for.
    """
    if not 0 < recipe.vocabulary_share < 1:
        raise ParameterError(
            f"--vocabulary-share must lie between 0 and 1, but is {recipe.vocabulary_share}; 0.25 is usual."
        )
    _vectorizer(recipe, None, privacy_unit).planned_event()
    _model(recipe, None, privacy_unit, recipe.epsilon).planned_event()


def check_budget(recipe: Recipe, ledger: Ledger, *, words_are_public: bool) -> None:
    """Refuse a run that the ledger cannot pay to its end, before its first half is paid.

    Raises
    ------
    BudgetExceeded
    """
    if not ledger.entries and (ledger.epsilon, ledger.delta) == (recipe.epsilon, recipe.delta):
        return  # made for this run
    trial, epsilon = Ledger.from_json(ledger.to_json()), recipe.epsilon
    if not words_are_public:
        words = _vectorizer(recipe, ledger, ledger.privacy_unit).planned_event()
        assert words is not None  # only a public vocabulary costs nothing
        trial.reserve(words, "choosing words")
        epsilon = _left_for_topics(recipe, trial)
    model = _model(recipe, ledger, ledger.privacy_unit, epsilon)
    trial.reserve(model.planned_event(), "topics")


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
    unit = ledger.privacy_unit
    check_recipe(recipe, unit)
    check_budget(recipe, ledger, words_are_public=corpus.vocabulary_is_public)
    owners = corpus.owners if unit == "author" else None
    counts, epsilon = corpus, recipe.epsilon
    if not corpus.vocabulary_is_public:
        callback("choosing words", 0, 1)
        counts = _vectorizer(recipe, ledger, unit).fit_transform(corpus)
        callback("choosing words", 1, 1)
        epsilon = _left_for_topics(recipe, ledger)
    return _model(recipe, ledger, unit, epsilon, callback).fit(counts, owners=owners).release_


def _vectorizer(recipe: Recipe, ledger: Ledger | None, privacy_unit: str) -> "PrivateCountVectorizer":
    from discreet.central import PrivateCountVectorizer

    return PrivateCountVectorizer(
        epsilon=recipe.vocabulary_share * recipe.epsilon,
        method=recipe.vocabulary_method,
        max_words=recipe.max_words,
        privacy_unit=privacy_unit,
        ledger=ledger,
        random_state=recipe.seed,
    )


def _model(
    recipe: Recipe, ledger: Ledger | None, privacy_unit: str, epsilon: float, callback: Callback | None = None
) -> "PrivateLDA | PrivateSVILDA":
    from discreet.central import PrivateLDA, PrivateSVILDA

    shared: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": recipe.delta,
        "privacy_unit": privacy_unit,
        "doc_topic_prior": recipe.doc_topic_prior,
        "n_rounds": recipe.n_rounds,
        "random_state": recipe.seed,
        "n_jobs": recipe.n_jobs,
        "ledger": ledger,
        "callback": callback,
    }
    if recipe.sampling_rate != 1:
        if recipe.word_vectors is not None:
            raise ParameterError(
                "--word-vectors serve the full-batch algorithm only; leave --sampling-rate out."
            )
        return PrivateSVILDA(recipe.n_topics, sampling_rate=recipe.sampling_rate, **shared)
    shared |= {"allow_unlearnable": recipe.allow_unlearnable, "word_vectors": recipe.word_vectors}
    return PrivateLDA(recipe.n_topics, **shared)
