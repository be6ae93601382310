r"""Three questions about whole documents, and topics learned from the means of answers, whoever made them private.

**What is asked**, and a document's answer, in whole numbers by public tables (:class:`Asked`, :func:`answers`):

* *words*: 1 for each word of the vocabulary that the document has; V numbers.
* *squares*: the sum of the words' rows of a table of d public directions; d numbers, whose square is what matters.
* *topics*: what each word says of K public topics; V K numbers.

For *topics*, theta starts even and takes a fixed number of steps,

.. math:: \theta_k \leftarrow \alpha + \theta_k \sum_{v \in d} \frac{\phi_{vk}}{\sum_j \theta_j \phi_{vj}} ,

and the answer's cell of word v and topic k is :math:`\omega_v r_{vk}`, r the responsibilities at the last theta and
omega whole weights of the words, rounded to whole numbers. Only sums, products and quotients of double precision, in
the order of words and topics as written: a browser gets the same numbers (``discreet-client.js``).

**From one question to the next.** ``begin`` gives the first state, ``learn`` the next one from the answers to the
question of the state before; the last state asks nothing. Only means with noise of known size, public word vectors and
a public vocabulary go in: whoever made the means private (reports of clients, or noise on sums), all of it is
post-processing.

1. *words*: the mean of x/|x| over documents, x the words they have; read by the nonparametric maximum-likelihood prior
   of :mod:`discreet.lda.denoise`, it gives the unigram p. Its sum is the mean root of the length of documents.
   Topics are those of the vectors alone (:mod:`discreet.lda.vectors`).
2. *squares*: topics bend along d = 20 directions of the vectors (:func:`fit_squares`).
3. *topics*, once or twice: the mean of normed responsibilities, weighted :math:`(V p)^{-1/4}`, is the joint
   distribution of words and topics with noise of known size. It is read by the prior of the word vectors
   (:mod:`discreet.lda.vectors`, its coordinates expected where public topics have them) and then, cell
   by cell, by the denoiser, as in central training. A later one counts more than an earlier one.

**Topics from one small matrix** (:func:`fit_squares`): a document is the sum of its words' rows of F
(:func:`~discreet.lda.vectors.directions`), scaled to length 1; what was estimated is :math:`S \approx E\, g g^\top` of
d x d cells with noise of known size. Words that are drawn independently of each other add up to a multiple of the
identity, because F is white under the unigram p; topics bend it,

.. math:: S \approx e_0 I + e_0 L\, M^\top W M, \qquad M_k = \sum_v q_{kv} F_v, \qquad q_k = p\, e^{F a_k} / Z_k ,

with L the length of a document and W (K x K, symmetric, positive, sum 1) how topics share documents; their weights
:math:`m = W 1` must give back the unigram, :math:`\sum_k m_k q_k \approx p`. Coordinates a start from, and are
expected near, those of topics made from the vectors alone. Adam, 300 steps; post-processing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import one_blas_thread
from discreet.lda.denoise import UNKNOWN, Joint, read_rates, read_topics
from discreet.lda.moments.fit import descend, softmax
from discreet.lda.vectors import VectorPrior, centred, directions, expected_topics, topics_of_vectors

Floats, Whole = NDArray[np.float64], NDArray[np.int64]
Kind = Literal["words", "squares", "topics"]
Q = TypeVar("Q", bound="Asked")
#: Of the responsibilities: part of what a question is.
DOC_TOPIC_PRIOR, STEPS = 0.05, 20
#: One over the deviation of a mean's noise, below which 1 % of perplexity was learned at most.
LEAST_STRENGTH = 450.0
_DIRECTIONS = 20
#: Of topics made from vectors alone: softer than where they are a start, because here much may rest on them.
_SHARPNESS = 3.0
_TILT, _LARGEST_WEIGHT = 0.25, 30.0
_DIGITS_OF_DIRECTIONS, _DIGITS_OF_TOPICS, _DIGITS_OF_WEIGHTS = 2**10, 2**30, 2**12
#: Of the fit to squares.
_FIT_STEPS, _FIT_RATE = 300, 0.03
_SCALE = 0.05
#: How far the unigram may be missed, relative to it, and with what weight.
_MISS, _PULL = 0.1, 0.1
#: Share of topics on the diagonal of W at the start: a document is mostly about one of them.
_OWN = 0.6
_JITTER = 0.02
_MISFIT = 0.02


@dataclass(frozen=True, eq=False)
class Asked:
    """A question; all of it is public."""

    kind: Kind
    #: Its number in the course, from 0.
    place: int
    #: May be empty where only numbers travel.
    vocabulary: tuple[str, ...]
    #: (n_words, n) int64: directions of the words ("squares") or topics, positive ("topics"); none ("words").
    table: NDArray[np.int64]
    #: (n_words,) int64: of words ("topics").
    weights: NDArray[np.int64]

    @property
    def dimension(self) -> int:
        """Length of an answer."""
        if self.kind == "words":
            return len(self.table)
        return self.table.shape[1] if self.kind == "squares" else self.table.size


def kinds(n_questions: int) -> tuple[Kind, ...]:
    """Return the kinds of so many questions, in their order."""
    every: tuple[Kind, ...] = ("words", "squares")
    return (*every[:n_questions], *("topics" for _ in range(n_questions - 2)))


def answers(asked: Asked, counts: Any) -> NDArray[np.int64]:
    """Return the answers of documents, of shape (n_documents, dimension). Private.

    What is not zero in ``counts``, CSR of shape (n_documents, n_words), is present.
    """
    present: Any = sp.csr_matrix((np.ones(counts.nnz, np.int64), counts.indices, counts.indptr), counts.shape)
    if asked.kind == "words":
        return present.toarray()
    if asked.kind == "squares":
        return np.asarray(present @ asked.table)
    return _responsibilities(asked, present)


def square_of(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symmetric matrix (d, d) of its upper triangle, row by row, off the diagonal times the root of 2."""
    d = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    square = np.zeros((d, d))
    square[np.triu_indices(d)] = triangle
    square /= np.where(np.eye(d, dtype=bool), 1.0, np.sqrt(2.0))
    return np.triu(square) + np.triu(square, 1).T


def _responsibilities(asked: Asked, present: Any) -> Whole:
    """Return the answers of documents about topics, of shape (n_documents, n_words * n_topics), word after word."""
    n_topics, real = asked.table.shape[1], asked.table.astype(np.float64)
    out = np.zeros((present.shape[0], asked.dimension), np.int64)
    for d in range(present.shape[0]):
        words = np.sort(present.indices[present.indptr[d] : present.indptr[d + 1]].astype(np.int64))
        _answer(words, real, asked.weights, DOC_TOPIC_PRIOR, STEPS, out[d].reshape(-1, n_topics))
    return out


@kernel()
def _answer(
    words: Whole, topics: NDArray[np.float64], weights: Whole, prior: float, n_steps: int, out: Whole
) -> None:
    n_topics = topics.shape[1]
    theta, gained = np.full(n_topics, prior + len(words) / n_topics), np.zeros(n_topics)
    for _ in range(n_steps):
        gained[:] = 0.0
        for i in range(len(words)):
            total = 0.0
            for k in range(n_topics):
                total += theta[k] * topics[words[i], k]
            for k in range(n_topics):
                gained[k] += topics[words[i], k] / total
        for k in range(n_topics):
            theta[k] = prior + theta[k] * gained[k]
    for i in range(len(words)):
        total = 0.0
        for k in range(n_topics):
            total += theta[k] * topics[words[i], k]
        for k in range(n_topics):
            share = theta[k] * topics[words[i], k] / total
            out[words[i], k] = np.int64(np.floor(weights[words[i]] * share + 0.5))


def fit_squares(
    square: Floats, deviation: float, unigram: Floats, along: Floats, centre: Floats, length: float, seed: int
) -> tuple[Floats, Floats]:
    """Fit topics to the mean square of documents; return coordinates, (n_topics, d), and weights, which sum to 1.

    ``square``: S, (d, d), symmetric, noisy; ``deviation``: of a cell off the diagonal; ``along``: F, (n_words, d);
    ``centre``: coordinates of public topics, (n_topics, d); ``length``: words of a document; ``seed``: of the starting
    point, public.
    """
    rng, (n_topics, d) = np.random.default_rng(seed), centre.shape
    variance, pull = deviation**2 + (_MISFIT / d) ** 2, _PULL / (_MISS * unigram) ** 2
    shared, base = (1 - _OWN) / n_topics**2 + _OWN * np.eye(n_topics) / n_topics, np.log(unigram)
    with one_blas_thread():
        floor = float(np.linalg.eigvalsh(square)[: max(d // 4, 2)].mean())
        level = np.array([np.log(max(floor, 0.2 / d))])
        parameters = [centre + _JITTER * rng.standard_normal(centre.shape), np.log(shared), level]

        def slopes() -> list[Floats]:
            return _slopes(parameters, square, variance, unigram, base, along, centre, length, pull)

        for _ in descend(parameters, slopes, _FIT_STEPS, _FIT_RATE):
            pass
    coordinates, log_shared, _ = parameters
    return coordinates, _shares(log_shared).sum(1)


def _shares(log_shared: Floats) -> Floats:
    shared = np.exp((log_shared + log_shared.T) / 2)
    return shared / shared.sum()


def _slopes(
    parameters: list[Floats],
    square: Floats,
    variance: float,
    unigram: Floats,
    base: Floats,
    along: Floats,
    centre: Floats,
    length: float,
    pull: Floats,
) -> list[Floats]:
    """Return the gradient in a, log W and log e0."""
    coordinates, log_shared, level = parameters
    topics = softmax(base + coordinates @ along.T)
    at, shared, floor = topics @ along, _shares(log_shared), float(np.exp(level[0]))
    weight = shared.sum(1)
    bent = floor * (np.eye(len(square)) + length * at.T @ shared @ at)
    left = square - bent
    missed = pull * (unigram - weight @ topics)
    by_at = -floor * length / variance * (shared @ at @ left)
    by_topics = by_at @ along.T - weight[:, None] * missed
    by_logits = topics * (by_topics - (by_topics * topics).sum(1, keepdims=True))
    by_shared = -0.5 * floor * length / variance * (at @ left @ at.T) - (topics @ missed)[:, None]
    by_shared = (by_shared + by_shared.T) / 2
    by_log = shared * (by_shared - (by_shared * shared).sum())
    by_level = np.array([-0.5 / variance * (left * bent).sum()])
    return [by_logits @ along + (coordinates - centre) / _SCALE, by_log, by_level]


class State(NamedTuple, Generic[Q]):
    """What is known, and what is asked next. Released values and public ones only."""

    #: Of the class that the first one was made of; None at the end.
    question: Q | None
    vocabulary: tuple[str, ...]
    #: (n_words, n_dimensions).
    vectors: Floats
    #: (n_words, n_topics): columns sum to 1.
    topics: Floats
    #: (n_topics,).
    weight: Floats
    #: (n_words,).
    unigram: Floats
    #: Words of a document, about.
    length: float = 1.0
    prior: VectorPrior | None = None
    #: What waves of topics said so far.
    joint: Joint | None = None


def forecast_of(n_documents: float, strength: float, *, about: str = "") -> str:
    """Say what answers about so many documents, or a noisy number of them, can teach, as far as it is known beforehand.

    ``strength``: one over the standard deviation of the noise in a mean of their answers; ``about`` stands before the
    number.
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

    ``vectors``: public, rows of NaN for words without one; ``ask(kind, place, vocabulary, table, weights)``: class of
    the questions.
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

    ``mean``: of answers scaled to length 1, of their squares where these are asked; ``deviation``: of its noise, a
    coordinate or a cell off the diagonal; ``n_questions``: how many there are in all; ``seed``: of starting points,
    public.
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
    published = (1 - UNKNOWN) * state.topics + UNKNOWN * state.unigram[:, None]
    table = np.maximum(np.rint(published * _DIGITS_OF_TOPICS), 1).astype(np.int64)
    weights = np.rint(_word_weights(state.unigram) * _DIGITS_OF_WEIGHTS).astype(np.int64)
    return make(kind, place, state.vocabulary, table, weights)


def _word_weights(unigram: Floats) -> Floats:
    return np.minimum((unigram * len(unigram)) ** -_TILT, _LARGEST_WEIGHT)


def _with_words(state: State[Q], mean: Floats, deviation: float, seed: int) -> State[Q]:
    """Read the unigram, and take the topics of the vectors under it."""
    total = max(float(mean.sum()), 0.5)
    read = read_rates(mean, np.full(len(mean), deviation))
    unigram = read / read.sum()
    n_topics = len(state.weight)
    topics = topics_of_vectors(state.vectors, unigram, n_topics, seed, sharpness=_SHARPNESS)
    along = directions(centred(state.vectors, unigram), unigram, _DIRECTIONS)
    centre = (np.log(np.maximum(topics, 1e-300) / unigram[:, None]) * unigram[:, None]).T @ along
    prior = VectorPrior(along, centre, np.full(along.shape[1], _SCALE), 0.0, centre)
    shares = np.bincount(topics.argmax(1), unigram, minlength=n_topics)
    shares = np.maximum(shares, UNKNOWN / n_topics)
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
    joint = state.joint or Joint.nothing(*state.topics.shape)
    numbers = mean.reshape(state.topics.shape)
    joint = joint.with_round(numbers, deviation, _word_weights(state.unigram), state.unigram)
    found = read_topics(joint, state.unigram, state.prior)
    return state._replace(topics=found.word_topic, weight=found.weight, prior=found.prior, joint=joint)
