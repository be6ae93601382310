r"""From estimated rates of words and pairs to topics: what can be learned, the fit, and passes over the reports.

All trust settings come this way: reports collected from people (:mod:`discreet.local`), reports of silos
(:mod:`discreet.federated`), sums under noise. Whatever made the estimates private, this is post-processing.

**Variational passes over stored reports** know how the bits were randomised. Model: document d has :math:`\theta_{dk}
\sim \mathrm{Gamma}(\alpha_k, c)` words of topic k, :math:`\phi_k \sim \mathrm{Dirichlet}`, and its report has bit t
with probability

.. math:: P_{dt} = q + (p - q) \min(\lambda_{dt}, .98), \qquad \lambda_{dt} = \theta_d \cdot \phi_t .

Given the report, the expected number of word t from topic k is :math:`\theta_{dk} \phi_{kt} R_{dt}` with
:math:`R_{dt} = P(y_{dt} \mid \text{present}) / P(y_{dt})`, that is :math:`p / P_{dt}` or
:math:`(1 - p) / (1 - P_{dt})`. Both sides are updated with geometric means, as in variational Bayes.

Started from (and, as a prior of ``anchor`` pseudo-words a topic, tied to) topics that were fitted to moments, this
gains where the noise is low: where :math:`q (1 - q) / (p - q)^2` is at most .06. Elsewhere it fits noise.

Reports are read in blocks of fixed size whose sums are added in order: the result is the same bytes for any
number of threads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from discreet._base.callers import warn_caller
from discreet._base.progress import Callback, tell
from discreet._base.threads import one_blas_thread, share_out
from discreet.errors import ParameterError, WeakForecastWarning
from discreet.lda.moments import fit
from discreet.lda.moments.estimates import Channel, Estimates, learnable, noise_variance
from discreet.lda.moments.fit import MomentTopics, Source

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: More reports than this are not passed over again unless asked: the gain is small there, the time is not.
_REFINE_AT_MOST = 50_000
#: Up to this variance of an absent word's bit, refining helps.
LARGEST_NOISE = 0.06
_MOST_PRESENT = np.float32(0.98)
_BLOCK = 2048
#: Words that the prior of a document's topics counts as, and the part of it that is even over topics.
CONCENTRATION, _EVEN = 5.0, 0.1
_ANCHOR, _FLOOR = 500.0, 0.01
_UNIGRAM_AT_START = 0.1
_FIRST_STEPS, _STEPS, _FOLD_STEPS = 10, 2, 40


class Reports(NamedTuple):
    """Reports that are at hand to refine topics on."""

    #: ``blocks(size)`` goes through all of them as 0/1 rows, at most ``size`` at a time.
    blocks: Callable[[int], Iterable[NDArray[np.uint8]]]
    channel: Channel
    n: int
    #: {"auto", True, False}: "auto": where noise is low (q (1 - q) / (p - q)^2 up to .06) and there are at most 50,000
    #: reports.
    refine: bool | Literal["auto"] = "auto"

    @property
    def to_refine_on(self) -> bool:
        """Whether to pass over them."""
        if self.refine == "auto":
            return noise_variance(self.channel) <= LARGEST_NOISE and self.n <= _REFINE_AT_MOST
        return bool(self.refine)


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
    #: Whether reports were passed over.
    refined: bool
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
    reports: Reports | None = None,
    n_threads: int = 1,
    callback: Callback | None = None,
) -> Learned:
    """Count what can be learned, fit topics, then refine them on the reports, where these are at hand and it helps.

    ``seed``: of the starting point; ``what`` was found from what, "9,000 reports through this channel"; ``advice``:
    what to do where there is nothing to learn, a sentence; ``allow_unlearnable``: fit all the same; ``warn`` where more
    topics are asked for than the noise lets through; ``beside``: of public documents with the same words, with which
    nothing need be learnable; ``vectors``: public ones of the words, (n_words, n_dimensions), used where they agree
    with what was found (:mod:`discreet.lda.moments.fit`). The result does not depend on the threads. ``ParameterError``
    where there is nothing to learn.
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
        assert isinstance(found, Estimates)  # of reports: questions to silos read vectors in another way
        believed = fit.agreement(found, vectors)
        if believed >= fit.LEAST_AGREEMENT:
            fitted = fit.fit_topics_with_vectors(found, vectors, n_topics, seed, callback=callback)
    used = fitted is not None
    fitted = fitted or fit.fit_topics([found, *beside], n_topics, seed, callback=callback)
    refined = reports is not None and reports.to_refine_on
    if reports is not None and refined:
        fitted = refine_topics(reports, fitted, n_threads=n_threads, callback=callback)
    return Learned(fitted.topic_word, fitted.topic_weight, fitted.unigram, known, refined, believed, used)


class _Prior(NamedTuple):
    alpha: Singles
    rate: np.float32
    p: np.float32
    q: np.float32


def _prior(topic_weight: Floats, unigram: Floats, channel: Channel) -> _Prior:
    alpha = (CONCENTRATION * ((1 - _EVEN) * topic_weight + _EVEN / len(topic_weight))).astype(np.float32)
    rate = np.float32(alpha.sum() / unigram.sum())
    return _Prior(alpha, rate, np.float32(float(channel.p)), np.float32(float(channel.q)))


def refine_topics(
    reports: Reports,
    fitted: MomentTopics,
    *,
    n_passes: int = 15,
    n_threads: int = 1,
    callback: Callback | None = None,
) -> MomentTopics:
    """Improve topics on the reports themselves; ``fitted``: where to begin, and the prior's mean.

    Memory: 4 bytes a report and topic, besides the blocks.
    """
    topic_word, unigram, blocks = fitted.topic_word, fitted.unigram, reports.blocks
    prior = _prior(fitted.topic_weight, unigram, reports.channel)
    anchor = _ANCHOR * topic_word + _FLOOR
    start = (1 - _UNIGRAM_AT_START) * topic_word + _UNIGRAM_AT_START * unigram / unigram.sum()
    mean = start.astype(np.float32)
    thetas: list[Singles] = []
    total, posterior = np.zeros(topic_word.shape), anchor
    with one_blas_thread():
        for number in range(n_passes):
            total = np.zeros(topic_word.shape)
            answers: list[Singles] = []
            for group in _groups(_tasks(blocks(_BLOCK), thetas, prior), 2 * n_threads):
                work = partial(_visit, mean=mean, prior=prior, n_steps=_STEPS if number else _FIRST_STEPS)
                for theta, part in share_out(work, group, n_threads):
                    answers.append(theta)
                    total += part
            thetas = answers
            total *= mean
            posterior = total + anchor
            mean = np.exp(psi(posterior) - psi(posterior.sum(1, keepdims=True))).astype(np.float32)
            tell(callback, "refining topics on reports", number + 1, n_passes)
    weight = total.sum(1)
    return fitted._replace(
        topic_word=posterior / posterior.sum(1, keepdims=True), topic_weight=weight / weight.sum()
    )


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
        theta = _documents(rows, _start(len(rows), prior), mean, prior, _FOLD_STEPS, last_mean=True)
        return theta.astype(np.float64)

    with one_blas_thread():
        parts = [
            part for group in _groups(blocks, 2 * n_threads) for part in share_out(work, group, n_threads)
        ]
    theta = np.concatenate(parts) if parts else np.zeros((0, len(topic_word)))
    return theta / theta.sum(1, keepdims=True)


def _tasks(
    blocks: Iterable[NDArray[np.uint8]], thetas: list[Singles], prior: _Prior
) -> Iterable[tuple[Singles, NDArray[np.uint8]]]:
    for index, rows in enumerate(blocks):
        yield thetas[index] if thetas else _start(len(rows), prior), rows


def _visit(
    task: tuple[Singles, NDArray[np.uint8]], mean: Singles, prior: _Prior, n_steps: int
) -> tuple[Singles, Floats]:
    """Update the documents of one block; return them, and what they give to the topics."""
    theta, rows = task
    theta = _documents(rows, theta, mean, prior, n_steps)
    return theta, (theta.T @ _ratio(rows, theta, mean, prior)).astype(np.float64)


def _start(n_rows: int, prior: _Prior) -> Singles:
    return np.repeat((prior.alpha / prior.rate)[None], n_rows, axis=0)


def _ratio(rows: NDArray[np.uint8], theta: Singles, mean: Singles, prior: _Prior) -> Singles:
    """P(bit | word present) / P(bit), for each bit of each report."""
    probability = theta @ mean
    np.minimum(probability, _MOST_PRESENT, out=probability)
    probability *= prior.p - prior.q
    probability += prior.q
    one = np.float32(1)
    return np.where(rows, prior.p / probability, (one - prior.p) / (one - probability))


def _documents(
    rows: NDArray[np.uint8],
    theta: Singles,
    mean: Singles,
    prior: _Prior,
    n_steps: int,
    *,
    last_mean: bool = False,
) -> Singles:
    for step in range(n_steps):
        shape = prior.alpha + theta * (_ratio(rows, theta, mean, prior) @ mean.T)
        if not (last_mean and step == n_steps - 1):
            shape = np.exp(psi(shape))
        theta = (shape / (1 + prior.rate)).astype(np.float32)
    return theta


def _groups(items: Iterable[Any], size: int) -> Iterable[list[Any]]:
    """Hand out a few items at a time, so that not all blocks are in memory at once."""
    left = iter(items)
    while group := list(islice(left, size)):
        yield group
