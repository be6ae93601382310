r"""From one question to the next: what the answers so far say, and what is asked then.

``begin`` gives the first state, ``learn`` the next one from the answers to the question of the state before; the last
state asks nothing. Only means with noise of known size, public word vectors and a public vocabulary go in: whoever
made the means private (reports of clients, or noise on sums), all of it is post-processing.

1. *words*: the mean of x/|x| over documents, x the words they have; read by the nonparametric maximum-likelihood prior
   of :mod:`discreet.lda.denoise`, it gives the unigram p. Its sum is the mean root of the length of documents.
   Topics are those of the vectors alone (:mod:`discreet.lda.vectors`).
2. *squares*: topics bend along d = 20 directions of the vectors (:mod:`~discreet.lda.questions.squares_fit`).
3. *topics*, once or twice: the mean of normed responsibilities, weighted :math:`(V p)^{-1/4}`, is the joint
   distribution of words and topics with noise of known size. It is read by the prior of the word vectors
   (:mod:`discreet.lda.vectors`, its coordinates expected where public topics have them) and then, cell
   by cell, by the denoiser, as in central training. A later one counts more than an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.lda.denoise import UNIGRAM_LIFTS, posterior_mean
from discreet.lda.questions.asked import Asked, kinds
from discreet.lda.questions.squares_fit import fit_squares
from discreet.lda.vectors import VectorPrior, centred, directions, expected_topics, follow, topics_of_vectors

__all__ = ["LEAST_STRENGTH", "State", "begin", "forecast_of", "learn"]

Floats = NDArray[np.float64]
Q = TypeVar("Q", bound=Asked)
#: One over the deviation of a mean's noise, below which 1 % of perplexity was learned at most.
LEAST_STRENGTH = 450.0
_DIRECTIONS = 20
#: Of topics made from vectors alone: softer than where they are a start, because here much may rest on them.
_SHARPNESS = 3.0
_SCALE = 0.05
#: What is left of the weight of an earlier wave when a later one comes.
_FADING = 0.6
#: Share of the unigram in topics that are published to ask about them.
_MIX = 0.01
_TILT, _LARGEST_WEIGHT = 0.25, 30.0
_LEAST_SHARE = 0.2
_DIGITS_OF_DIRECTIONS, _DIGITS_OF_TOPICS, _DIGITS_OF_WEIGHTS = 2**10, 2**30, 2**12


class State(NamedTuple, Generic[Q]):
    """What is known, and what is asked next. Released values and public ones only.

    Attributes
    ----------
    question : Asked or None
        Of the class that the first one was made of; None at the end.
    vocabulary : tuple of str
    vectors : array of shape (n_words, n_dimensions)
    topics : array of shape (n_words, n_topics)
        Columns sum to 1.
    weight : array of shape (n_topics,)
    unigram : array of shape (n_words,)
    length : float
        Words of a document, about.
    prior : VectorPrior or None
    joint, precision, variance : arrays
        Of the waves of topics so far: (n_words, n_topics), (n_words,), (n_words,).
    """

    question: Q | None
    vocabulary: tuple[str, ...]
    vectors: Floats
    topics: Floats
    weight: Floats
    unigram: Floats
    length: float = 1.0
    prior: VectorPrior | None = None
    joint: Floats | None = None
    precision: Floats | None = None
    variance: Floats | None = None


def forecast_of(n_documents: float, strength: float, *, about: str = "") -> str:
    """Say what answers about so many documents can teach, as far as it is known beforehand.

    Parameters
    ----------
    n_documents : float
        How many answer, or a noisy number.
    strength : float
        One over the standard deviation of the noise in a mean of their answers.
    about : str
        Stands before the number.
    """
    worth = f"{about}{n_documents:,.0f} whole documents are worth s = {strength:,.0f}"
    if strength < LEAST_STRENGTH:
        return (
            f"Learnability: weak; {worth}, and below {LEAST_STRENGTH:,.0f} there is nothing to learn but how frequent "
            "words are."
        )
    return (
        f"Learnability: {worth}; below {LEAST_STRENGTH:,.0f} there would be nothing to learn but how frequent words "
        "are. How good the topics are is not foretold: no law was fitted to answers about whole documents."
    )


def begin(vocabulary: Sequence[str], vectors: Floats, n_topics: int, ask: Callable[..., Q]) -> State[Q]:
    """Return the state before any answer: it asks for words.

    Parameters
    ----------
    vocabulary : sequence of str
        Public.
    vectors : array of shape (n_words, n_dimensions)
        Public; rows of NaN for words without one.
    n_topics : int
    ask : callable
        Class of the questions: ``ask(kind, place, vocabulary, table, weights)``.
    """
    words, n = tuple(vocabulary), len(vocabulary)
    nothing = np.zeros((n, 0), np.int64)
    flat = np.full(n, 1 / n)
    return State(
        ask("words", 0, words, nothing, np.zeros(0, np.int64)),
        words,
        vectors,
        np.repeat(flat[:, None], n_topics, 1),
        np.full(n_topics, 1 / n_topics),
        flat,
    )


def learn(state: State[Q], mean: Floats, deviation: float, n_questions: int, seed: int) -> State[Q]:
    """Return what is known with the mean of documents' answers to ``state.question``, whoever made it private.

    Parameters
    ----------
    state : State
    mean : array of shape (dimension,) or (dimension, dimension)
        Of answers scaled to length 1; of their squares where these are asked.
    deviation : float
        Standard deviation of its noise, a coordinate or a cell off the diagonal.
    n_questions : int
        How many there are in all.
    seed : int
        Of starting points; public.
    """
    question = state.question
    assert question is not None
    if question.kind == "squares":
        found = _with_squares(state, mean, deviation, seed)
    elif question.kind == "words":
        found = _with_words(state, mean, deviation, seed)
    else:
        found = _with_topics(state, mean, deviation)
    return found._replace(question=_next(found, question, n_questions))


def _next(state: State[Q], before: Q, n_questions: int) -> Q | None:
    place = before.place + 1
    make = cast(Callable[..., Q], type(before))
    if place >= n_questions:
        return None
    kind = kinds(n_questions)[place]
    if kind == "squares":
        assert state.prior is not None
        table = np.rint(state.prior.directions * _DIGITS_OF_DIRECTIONS).astype(np.int64)
        return make(kind, place, state.vocabulary, table, np.zeros(0, np.int64))
    published = (1 - _MIX) * state.topics + _MIX * state.unigram[:, None]
    table = np.maximum(np.rint(published * _DIGITS_OF_TOPICS), 1).astype(np.int64)
    weights = np.rint(_word_weights(state.unigram) * _DIGITS_OF_WEIGHTS).astype(np.int64)
    return make(kind, place, state.vocabulary, table, weights)


def _word_weights(unigram: Floats) -> Floats:
    return np.minimum((unigram * len(unigram)) ** -_TILT, _LARGEST_WEIGHT)


def _with_words(state: State[Q], mean: Floats, deviation: float, seed: int) -> State[Q]:
    """Read the unigram, and take the topics of the vectors under it."""
    total = max(float(mean.sum()), 0.5)
    flat = np.full(len(mean), total / len(mean))
    read = np.maximum(posterior_mean(mean, flat, np.full(len(mean), deviation), UNIGRAM_LIFTS), 1e-9)
    unigram = read / read.sum()
    n_topics = len(state.weight)
    topics = topics_of_vectors(state.vectors, unigram, n_topics, seed, sharpness=_SHARPNESS)
    along = directions(centred(state.vectors, unigram), unigram, _DIRECTIONS)
    centre = (np.log(np.maximum(topics, 1e-300) / unigram[:, None]) * unigram[:, None]).T @ along
    prior = VectorPrior(along, centre, np.full(along.shape[1], _SCALE), 0.0, False, centre)
    shares = np.bincount(topics.argmax(1), unigram, minlength=n_topics)
    shares = np.maximum(shares, _LEAST_SHARE / n_topics)
    return state._replace(
        unigram=unigram, length=total**2, topics=topics, weight=shares / shares.sum(), prior=prior
    )


def _with_squares(state: State[Q], square: Floats, deviation: float, seed: int) -> State[Q]:
    """Bend the topics along the directions."""
    prior = state.prior
    assert prior is not None
    coordinates, weight = fit_squares(
        square, deviation, state.unigram, prior.directions, np.asarray(prior.centre), state.length, seed
    )
    topics = expected_topics(prior.directions, coordinates, state.unigram)
    return state._replace(topics=topics, weight=weight, prior=prior._replace(coordinates=coordinates))


def _with_topics(state: State[Q], mean: Floats, deviation: float) -> State[Q]:
    """Add a wave of responsibilities to those before, and read the topics from all."""
    prior, n_topics = state.prior, len(state.weight)
    assert prior is not None
    weights = _word_weights(state.unigram)
    fresh = mean.reshape(-1, n_topics) / weights[:, None]
    mass = max(float(fresh.sum()), 0.3)
    fresh, spread = fresh / mass, (deviation / weights / mass) ** 2
    joint, precision, variance = fresh, 1 / spread, spread
    if state.joint is not None and state.precision is not None and state.variance is not None:
        before = _FADING * state.precision
        precision = before + 1 / spread
        kept = before / precision
        joint = kept[:, None] * state.joint + (1 - kept)[:, None] * fresh
        variance = kept**2 * state.variance + (1 - kept) ** 2 * spread
    shares = joint.sum(0)
    shares = np.maximum(shares, _LEAST_SHARE * shares.sum() / n_topics)
    shares /= shares.sum()
    prior = follow(prior, joint, variance, state.unigram, shares)
    base = expected_topics(prior.directions, prior.coordinates, state.unigram) * shares
    read = posterior_mean(joint, base, np.sqrt(variance)[:, None])
    topics = (1 - _MIX) * read / read.sum(0) + _MIX * state.unigram[:, None]
    return state._replace(
        topics=topics, weight=shares, prior=prior, joint=joint, precision=precision, variance=variance
    )
