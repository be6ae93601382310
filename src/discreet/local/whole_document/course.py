r"""From one question to the next: what the answers so far say, and what is asked then.

``begin`` gives the first state, ``step`` the next one from the answers to the question of the state before; the last
state asks nothing. All of it is post-processing of reports, public word vectors and a public vocabulary.

1. *words*: the mean of x/|x| over documents, x the words they have; read by the nonparametric maximum-likelihood prior
   of :mod:`discreet.lda.denoise`, it gives the unigram p. Its sum is the mean root of the length of documents.
   Topics are those of the vectors alone (:mod:`discreet.lda.word_space.public_topics`).
2. *squares*: topics bend along d = 20 directions of the vectors (:mod:`~discreet.local.whole_document.squares_fit`).
3. *topics*, once or twice: the mean of normed responsibilities, weighted :math:`(V p)^{-1/4}`, is the joint
   distribution of words and topics with noise of known size. It is read by the prior of the word vectors
   (:mod:`discreet.lda.word_space.vector_prior`, its coordinates expected where public topics have them) and then, cell
   by cell, by the denoiser, as in central training. A later one counts more than an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.denoise import UNIGRAM_LIFTS, posterior_mean
from discreet.lda.word_space.directions import centred, directions
from discreet.lda.word_space.public_topics import topics_of_vectors
from discreet.lda.word_space.vector_prior import VectorPrior, expected_topics, follow
from discreet.local.whole_document.questions import Kind, Question
from discreet.local.whole_document.squares_fit import fit_squares
from discreet.privacy.codebook_channel import CodebookChannel

__all__ = ["Answers", "State", "begin", "kinds", "learn", "step"]

Floats = NDArray[np.float64]
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


class Answers(NamedTuple):
    """Reports on one question.

    Attributes
    ----------
    numbers : sequence of bytes
        Of the clients: their nonces.
    indices : array of shape (n,)
        The codewords that they sent.
    """

    numbers: Sequence[bytes]
    indices: NDArray[np.int64]


class State(NamedTuple):
    """What is known, and what is asked next. Released values and public ones only.

    Attributes
    ----------
    question : Question or None
        None at the end.
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

    question: Question | None
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


def kinds(n_questions: int) -> tuple[Kind, ...]:
    """Return the kinds of so many questions, in their order."""
    every: tuple[Kind, ...] = ("words", "squares")
    return (*every[:n_questions], *("topics" for _ in range(n_questions - 2)))


def begin(vocabulary: Sequence[str], vectors: Floats, n_topics: int) -> State:
    """Return the state before any answer: it asks for words.

    Parameters
    ----------
    vocabulary : sequence of str
        Public.
    vectors : array of shape (n_words, n_dimensions)
        Public; rows of NaN for words without one.
    n_topics : int
    """
    words, n = tuple(vocabulary), len(vocabulary)
    nothing = np.zeros((n, 0), np.int64)
    flat = np.full(n, 1 / n)
    return State(
        Question("words", 0, words, nothing, np.zeros(0, np.int64)),
        words,
        vectors,
        np.repeat(flat[:, None], n_topics, 1),
        np.full(n_topics, 1 / n_topics),
        flat,
    )


def step(state: State, answers: Answers, channel: CodebookChannel, n_questions: int, seed: int) -> State:
    """Return what is known with the answers to ``state.question``.

    Parameters
    ----------
    state : State
    answers : Answers
        At least one.
    channel : CodebookChannel
        That the clients answered through.
    n_questions : int
        How many there are in all.
    seed : int
        Of starting points; public.
    """
    question = state.question
    assert question is not None
    codebook, n = channel.codebook(question.dimension, question.digest), len(answers.numbers)
    if question.two_sided:
        mean = channel.mean_square(codebook.codewords(answers.numbers, answers.indices))
    else:
        mean = channel.mean(codebook.total(answers.numbers, answers.indices), n)
    return learn(state, mean, channel.deviation / np.sqrt(n), n_questions, seed)


def learn(state: State, mean: Floats, deviation: float, n_questions: int, seed: int) -> State:
    """Return what is known with the mean of documents' answers to ``state.question``, whoever made it private.

    Parameters
    ----------
    state : State
    mean : array of shape (dimension,) or (dimension, dimension)
        Of answers scaled to length 1; of their squares where these are asked.
    deviation : float
        Standard deviation of its noise, a coordinate or a cell off the diagonal.
    n_questions, seed : int
        As for :func:`step`.
    """
    question = state.question
    assert question is not None
    if question.kind == "squares":
        found = _with_squares(state, mean, deviation, seed)
    elif question.kind == "words":
        found = _with_words(state, mean, deviation, seed)
    else:
        found = _with_topics(state, mean, deviation)
    return found._replace(question=_next(found, question.place + 1, n_questions))


def _next(state: State, place: int, n_questions: int) -> Question | None:
    if place >= n_questions:
        return None
    kind = kinds(n_questions)[place]
    if kind == "squares":
        assert state.prior is not None
        table = np.rint(state.prior.directions * _DIGITS_OF_DIRECTIONS).astype(np.int64)
        return Question(kind, place, state.vocabulary, table, np.zeros(0, np.int64))
    published = (1 - _MIX) * state.topics + _MIX * state.unigram[:, None]
    table = np.maximum(np.rint(published * _DIGITS_OF_TOPICS), 1).astype(np.int64)
    weights = np.rint(_word_weights(state.unigram) * _DIGITS_OF_WEIGHTS).astype(np.int64)
    return Question(kind, place, state.vocabulary, table, weights)


def _word_weights(unigram: Floats) -> Floats:
    return np.minimum((unigram * len(unigram)) ** -_TILT, _LARGEST_WEIGHT)


def _with_words(state: State, mean: Floats, deviation: float, seed: int) -> State:
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


def _with_squares(state: State, square: Floats, deviation: float, seed: int) -> State:
    """Bend the topics along the directions."""
    prior = state.prior
    assert prior is not None
    coordinates, weight = fit_squares(
        square, deviation, state.unigram, prior.directions, np.asarray(prior.centre), state.length, seed
    )
    topics = expected_topics(prior.directions, coordinates, state.unigram)
    return state._replace(topics=topics, weight=weight, prior=prior._replace(coordinates=coordinates))


def _with_topics(state: State, mean: Floats, deviation: float) -> State:
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
