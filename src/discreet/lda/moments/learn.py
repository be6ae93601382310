r"""From estimated rates of words and pairs to topics: what can be learned, the fit, and the topics of single reports.

All trust settings come this way: reports collected from people (:mod:`discreet.local`), reports of silos
(:mod:`discreet.federated`), sums under noise. Whatever made the estimates private, this is post-processing.

**The topics of one report** are inferred knowing how its bits were randomised. Model: document d has :math:`\theta_{dk}
\sim \mathrm{Gamma}(\alpha_k, c)` words of topic k, and its report has bit t with probability

.. math:: P_{dt} = q + (p - q) \min(\lambda_{dt}, .98), \qquad \lambda_{dt} = \theta_d \cdot \phi_t .

Given the report, the expected number of word t from topic k is :math:`\theta_{dk} \phi_{kt} R_{dt}` with
:math:`R_{dt} = P(y_{dt} \mid \text{present}) / P(y_{dt})`, that is :math:`p / P_{dt}` or
:math:`(1 - p) / (1 - P_{dt})`. Steps take geometric means, as in variational Bayes, and the last one a mean.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from discreet._base.callers import warn_caller
from discreet._base.progress import Callback, tell
from discreet._base.threads import one_blas_thread, share_out
from discreet.errors import ParameterError, WeakForecastWarning
from discreet.lda.moments.estimates import Channel, learnable
from discreet.lda.moments.fit import LEAST_AGREEMENT, Source, agreement, fit_topics, fit_topics_with_vectors

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

_MOST_PRESENT = np.float32(0.98)
#: Words that the prior of a document's topics counts as, and the part of it that is even over topics.
CONCENTRATION, _EVEN = 5.0, 0.1
_STEPS = 40


class Learned(NamedTuple):
    """Topics, and how they were found."""

    #: (n_topics, n_words): rows sum to 1.
    topic_word: NDArray[np.float64]
    #: (n_topics,): sums to 1.
    topic_weight: NDArray[np.float64]
    #: (n_words,): rates of words.
    unigram: NDArray[np.float64]
    #: How many topics the noise lets through.
    learnable: int
    #: How far above chance word vectors know which words go together here, in standard deviations.
    agreement: float | None = None
    used_vectors: bool = False

    def said_of_vectors(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a release says of word vectors of that name, described by ``settings``."""
        if self.agreement is None:
            return {}
        told = dict(settings) if self.used_vectors else {"word_vectors_not_used": name}
        return {**told, "word_vectors_agreement": round(self.agreement, 2)}


def learn_topics(
    found: Source,
    n_topics: int,
    seed: int,
    *,
    what: str,
    advice: str,
    allow_unlearnable: bool,
    warn: bool = False,
    beside: Sequence[Source] = (),
    vectors: NDArray[np.float64] | None = None,
    callback: Callback | None = None,
) -> Learned:
    """Count what can be learned, and fit topics.

    ``seed``: of the starting point; ``what`` was found from what, "9,000 reports through this channel"; ``advice``:
    what to do where there is nothing to learn, a sentence; ``allow_unlearnable``: fit all the same; ``warn`` where more
    topics are asked for than the noise lets through; ``beside``: of public documents with the same words, with which
    nothing need be learnable; ``vectors``: public ones of the words, (n_words, n_dimensions), used where they agree
    with what was found (:mod:`discreet.lda.moments.fit`). ``ParameterError`` where there is nothing to learn.
    """
    known = learnable(found)
    tell(callback, "learnable topics", known, n_topics)
    if known <= 1 and not beside and not allow_unlearnable:
        raise ParameterError(
            f"{what} let {known} topics through the noise: there is nothing to learn but how frequent words are. "
            f"{advice} `allow_unlearnable=True` fits all the same."
        )
    if warn and not beside and n_topics > known:
        warn_caller(
            f"{n_topics} topics were asked for, but the noise lets only {known} through: the others will be blends.",
            WeakForecastWarning,
        )
    believed, fitted = None, None
    if vectors is not None:
        believed = agreement(found, vectors)
        if believed >= LEAST_AGREEMENT:
            fitted = fit_topics_with_vectors(found, vectors, n_topics, seed, callback=callback)
    used = fitted is not None
    fitted = fitted or fit_topics([found, *beside], n_topics, seed, callback=callback)
    return Learned(fitted.topic_word, fitted.topic_weight, fitted.unigram, known, believed, used)


class _Prior(NamedTuple):
    alpha: Singles
    rate: np.float32
    p: np.float32
    q: np.float32


def _prior(topic_weight: Floats, unigram: Floats, channel: Channel) -> _Prior:
    alpha = (CONCENTRATION * ((1 - _EVEN) * topic_weight + _EVEN / len(topic_weight))).astype(np.float32)
    rate = np.float32(alpha.sum() / unigram.sum())
    return _Prior(alpha, rate, np.float32(float(channel.p)), np.float32(float(channel.q)))


def infer_topics(
    blocks: Iterable[NDArray[np.uint8]],
    topic_word: Floats,
    topic_weight: Floats,
    unigram: Floats,
    channel: Channel,
    *,
    n_threads: int = 1,
) -> Floats:
    """Return the topic shares of reports under given topics, shape (n_reports, n_topics); rows sum to 1."""
    prior = _prior(topic_weight, unigram, channel)
    mean = topic_word.astype(np.float32)

    def work(rows: NDArray[np.uint8]) -> Floats:
        theta = np.repeat((prior.alpha / prior.rate)[None], len(rows), axis=0)
        for left in range(_STEPS, 0, -1):
            theta = _step(rows, theta, mean, prior, last=left == 1)
        return theta.astype(np.float64)

    with one_blas_thread():
        parts = [
            part for group in _groups(blocks, 2 * n_threads) for part in share_out(work, group, n_threads)
        ]
    theta = np.concatenate(parts) if parts else np.zeros((0, len(topic_word)))
    return theta / theta.sum(1, keepdims=True)


def _ratio(rows: NDArray[np.uint8], theta: Singles, mean: Singles, prior: _Prior) -> Singles:
    """P(bit | word present) / P(bit), for each bit of each report."""
    probability = theta @ mean
    np.minimum(probability, _MOST_PRESENT, out=probability)
    probability *= prior.p - prior.q
    probability += prior.q
    one = np.float32(1)
    return np.where(rows, prior.p / probability, (one - prior.p) / (one - probability))


def _step(
    rows: NDArray[np.uint8], theta: Singles, mean: Singles, prior: _Prior, *, last: bool = False
) -> Singles:
    shape = prior.alpha + theta * (_ratio(rows, theta, mean, prior) @ mean.T)
    return ((shape if last else np.exp(psi(shape))) / (1 + prior.rate)).astype(np.float32)


def _groups(items: Iterable[Any], size: int) -> Iterable[list[Any]]:
    """Hand out a few items at a time, so that not all blocks are in memory at once."""
    left = iter(items)
    return iter(lambda: list(islice(left, size)), [])
