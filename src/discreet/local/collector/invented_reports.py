r"""Invented reports: those that no document gives, which are refused, and those unlike all others, which are set aside.

How many ones a report can have
-------------------------------
A report of a document with m of the V words is 1 at each bit independently, with probability p at m bits and q at
the others, so no number of ones from 0 to V is impossible; but most are out of reach. The client keeps at most L
words of a document (its limit, or all V), so :math:`m \le M = \min(L, V)`; M is smaller where whoever runs the
collector knows that documents are shorter. The number of ones is the sum of two binomial numbers, of m bits and of V -
m, and as p > q, more words make more ones likelier: :math:`P(Y \ge c)` is largest at m = M, and :math:`P(Y \le c)` at
m = 0, for every c. So the two laws of M words and of none bound the tails of every document; each side gets half of
``chance``.

The bounds are those of the channel, not of the reports that came: nobody who sends can move them, and whether a
report is refused does not depend on others'.

Reports that no fit should rest on
----------------------------------
A report moves the moments by the outer product of its bits, whatever sent it. An honest one is mostly noise; an
invented one need not be, so that a few hundred of them, all alike, weigh as much as many thousands. Two tests find
them. Both look at reports alone, and whatever they do is post-processing.

* The number of ones. Reports with a number more than 5 robust standard deviations (1.4826 times the median distance)
  from the median are set aside: up to half of the reports could be invented and the median would still be an honest
  one's.
* The direction. Let v be a unit vector, of the leading eigenvectors of the covariance of what is left, with an
  eigenvalue that noise alone does not reach. Given a document x with m words, :math:`E[y_t] - q = (p - q) x_t`, so
  :math:`|v^\top E[y - q]| \le (p - q) \sqrt m` by Cauchy and Schwarz, and the noise around it exceeds t with
  probability below :math:`2 e^{-2 t^2}` (Hoeffding: independent bits). With r directions and :math:`t = \sqrt{\ln(2
  r / \alpha) / 2}`, the report of *any* document of at most m words, however rare its words, is set aside with
  probability below :math:`\alpha = 10^{-4}`. m is read off the largest number of ones that is left. (The vectors are
  computed from the same reports; among thousands, one report hardly moves them.)

What is left undetected: reports that are randomised as a client would, of documents that nobody wrote. Each then
weighs as much as an honest report, and no more.

References
----------
Cheu, Smith, Ullman, "Manipulation attacks in local differential privacy", arXiv:1909.09630.
Diakonikolas et al., "Robust estimators in high dimensions without the computational intractability",
arXiv:1604.06443 (directions of large variance).
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import one_blas_thread
from discreet.lda.moments.moments import Moments, unpack_bits
from discreet.privacy.bit_channel import BitChannel

#: Probability below which an honest report falls outside. Among a billion, one does with probability below 0.001.
CHANCE = 1e-12
#: Probabilities are sums of V positive floats: what they may be off by is far less.
_SLACK = 1e-6


def plausible_ones(
    channel: BitChannel, n_words: int, *, most_words: int | None = None, chance: float = CHANCE
) -> tuple[int, int]:
    """Return the fewest and the most ones of a report: outside lies an honest one with probability below ``chance``.

    Parameters
    ----------
    channel : BitChannel
    n_words : int
        Bits of a report.
    most_words : int, optional
        Words of the vocabulary that any document has; without it, the channel's limit or all.
    chance : float, default 1e-12
        Of both sides together, for one report of any document.

    Returns
    -------
    fewest, most : int
        Both still plausible.
    """
    from scipy.stats import binom

    p, q = float(channel.p), float(channel.q)
    kept = min(channel.limit or n_words, most_words or n_words, n_words)
    ones, goal = np.arange(n_words + 1), chance / 2 * (1 - _SLACK)
    of_words = binom.pmf(ones[: kept + 1], kept, p)
    of_others = binom.pmf(ones[: n_words - kept + 1], n_words - kept, q)
    at_least = np.convolve(of_words, of_others)[::-1].cumsum()[::-1]
    at_most = binom.cdf(ones, n_words, q)
    return int(np.flatnonzero(at_most > goal)[0]), int(np.flatnonzero(at_least > goal)[-1])


Packed = NDArray[np.uint8]

_FENCE = 5 * 1.4826
_CHANCE = 1e-4
_MOST_DIRECTIONS = 20
#: Below, there are too few reports to tell what is usual.
_FEWEST = 200


class Kept(NamedTuple):
    """Moments of the reports that a fit may rest on, and how many were set aside."""

    moments: Moments
    n_set_aside: int


def set_aside(moments: Moments, blocks: Callable[[], Iterable[Packed]], channel: BitChannel) -> Kept:
    """Take reports that are unlike all others out of moments.

    Parameters
    ----------
    moments : Moments
        Of all reports; left as they are.
    blocks : callable
        Gives arrays of shape (n, ceil(n_words / 8)), uint8: exactly the reports that the moments are of. It is called
        once for each pass.
    channel : BitChannel

    Returns
    -------
    Kept
    """
    if moments.n < _FEWEST:
        return Kept(moments, 0)
    law = np.zeros(moments.n_words + 1, np.int64)
    for packed in blocks():
        law += np.bincount(_ones(packed), minlength=len(law))
    low, high = _fence(law)
    out = Moments(moments.n_words, channel=moments)
    for packed in blocks():
        ones = _ones(packed)
        _take(out, packed[(ones < low) | (ones > high)])
    kept = moments.copy().subtract(out)
    directions = _directions(kept, channel)
    if directions.shape[1]:
        p, q = float(channel.p), float(channel.q)
        words = min(max((high - q * moments.n_words) / (p - q), 1.0), channel.limit or moments.n_words)
        furthest = (p - q) * math.sqrt(words) + math.sqrt(math.log(2 * directions.shape[1] / _CHANCE) / 2)
        odd = Moments(moments.n_words, channel=moments)
        for packed in blocks():
            ones = _ones(packed)
            inside = packed[(ones >= low) & (ones <= high)]
            bits = unpack_bits(inside, moments.n_words)
            along = (bits.astype(np.float32) - np.float32(channel.q)) @ directions
            _take(odd, inside[(np.abs(along) > furthest).any(axis=1)])
        kept.subtract(odd)
    return Kept(kept, moments.n - kept.n)


def _ones(packed: Packed) -> NDArray[np.int64]:
    return np.bitwise_count(packed).sum(axis=1, dtype=np.int64)


def _take(moments: Moments, packed: Packed) -> None:
    if len(packed):
        moments.add_batch(packed, packed=True, n_jobs=1)


def _fence(law: NDArray[np.int64]) -> tuple[int, int]:
    """Return the fewest and the most ones that are usual, from how many reports have each number."""
    numbers = np.arange(len(law))
    median = int(np.searchsorted(law.cumsum(), (law.sum() + 1) // 2))
    distance = np.abs(numbers - median)
    order = np.argsort(distance, kind="stable")
    spread = int(distance[order][np.searchsorted(law[order].cumsum(), (law.sum() + 1) // 2)])
    wide = math.ceil(_FENCE * max(spread, 1))
    return median - wide, median + wide


def _directions(moments: Moments, channel: BitChannel) -> NDArray[np.float32]:
    """Return the leading eigenvectors of the bits' covariance that noise alone does not explain, shape (V, r)."""
    from scipy.sparse.linalg import eigsh

    n, n_words = moments.n, moments.n_words
    if n_words <= _MOST_DIRECTIONS:
        return np.zeros((n_words, 0), np.float32)
    mean = moments.first / n
    covariance = moments.second / n - np.outer(mean, mean)
    with one_blas_thread():
        values, vectors = eigsh(covariance, _MOST_DIRECTIONS, which="LA", v0=np.ones(n_words))
    p, q = float(channel.p), float(channel.q)
    edge = max(p * (1 - p), q * (1 - q)) * (1 + math.sqrt(n_words / n)) ** 2
    return vectors[:, values > edge].astype(np.float32)
