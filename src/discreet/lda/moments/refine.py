r"""Variational passes over stored reports that know how the bits were randomised.

Model: document d has :math:`\theta_{dk} \sim \mathrm{Gamma}(\alpha_k, c)` words of topic k,
:math:`\phi_k \sim \mathrm{Dirichlet}`, and its report has bit t with probability

.. math:: P_{dt} = q + (p - q) \min(\lambda_{dt}, .98), \qquad \lambda_{dt} = \theta_d \cdot \phi_t .

Given the report, the expected number of word t from topic k is :math:`\theta_{dk} \phi_{kt} R_{dt}` with
:math:`R_{dt} = P(y_{dt} \mid \text{present}) / P(y_{dt})`, that is :math:`p / P_{dt}` or
:math:`(1 - p) / (1 - P_{dt})`. Both sides are updated with geometric means, as in variational Bayes.

Started from (and, as a prior of ``anchor`` pseudo-words a topic, tied to) topics that were fitted to moments, this
gains where the noise is low: where :math:`q (1 - q) / (p - q)^2` is at most .06. Elsewhere it fits noise.

Reports are read in blocks of fixed size whose sums are added in order: the result is the same bytes for any
number of threads.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from discreet._progress import Callback, tell
from discreet._threads import one_blas_thread, share_out
from discreet.lda.moments.estimates import Channel

__all__ = ["LARGEST_NOISE", "Refined", "infer_topics", "refine_topics"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: Up to this variance of an absent word's bit, refining helps.
LARGEST_NOISE = 0.06
_MOST_PRESENT = np.float32(0.98)
_BLOCK = 2048
#: Words that the prior of a document's topics counts as, and the part of it that is even over topics.
CONCENTRATION, _EVEN = 5.0, 0.1
_ANCHOR, _FLOOR = 500.0, 0.01
_UNIGRAM_AT_START = 0.1
_FIRST_STEPS, _STEPS, _FOLD_STEPS = 10, 2, 40


class Refined(NamedTuple):
    """Topics after the passes.

    Attributes
    ----------
    topic_word : array of shape (n_topics, n_words)
        Rows sum to 1.
    topic_weight : array of shape (n_topics,)
        Sums to 1.
    """

    topic_word: Floats
    topic_weight: Floats


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
    blocks: Callable[[int], Iterable[NDArray[np.uint8]]],
    topic_word: Floats,
    topic_weight: Floats,
    unigram: Floats,
    channel: Channel,
    *,
    n_passes: int = 15,
    n_threads: int = 1,
    callback: Callback | None = None,
) -> Refined:
    """Improve topics on the reports themselves.

    Parameters
    ----------
    blocks : callable
        ``blocks(size)`` goes through all reports, as 0/1 rows of at most ``size`` at a time; called once a pass.
    topic_word : array of shape (n_topics, n_words)
        Where to begin, and the prior's mean.
    topic_weight : array of shape (n_topics,)
    unigram : array of shape (n_words,)
        Rates of words; their sum is the mean number of words in a document.
    channel : Channel
    n_passes : int
    n_threads : int
    callback : callable, optional

    Returns
    -------
    Refined
        Memory: 4 bytes a report and topic, besides the blocks.
    """
    prior = _prior(topic_weight, unigram, channel)
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
    return Refined(posterior / posterior.sum(1, keepdims=True), weight / weight.sum())


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
    group: list[Any] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
