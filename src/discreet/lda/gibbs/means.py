r"""The mean of a chain's counts over several of its sweeps: steadier topics than those of any one sweep.

.. math:: \bar c_{kw} = \frac{1}{|S_k|} \sum_{s \in S_k} c^{(s)}_{kw}

S: every fourth sweep of the last quarter, counted from the last one; of a chain that began near its end, every second
sweep of the last half, or at longer distances so that about a dozen are taken. Topics have no fixed number, and a chain
on few documents may let two of them change places; a mean over such a change would be a mixture of both. So a topic
whose tokens in a sample are, for more than half, other ones than those of its mean so far begins its mean anew
(:math:`S_k` are the samples since). A chain that began near its end, and may be short, gives expected counts in place
of drawn ones (:mod:`discreet.lda.gibbs.expected`). The mean does not depend on the number of threads.

Guarantee: none.

Reference
---------
Griffiths, Steyvers, "Finding scientific topics", PNAS 2004, doi:10.1073/pnas.0307752101 (several samples of a
chain, and why topics of different samples are not the same topics).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet.lda.gibbs.state import aligned_zeros

__all__ = ["MeanCounts", "init", "is_sampled", "mean", "step"]

#: Sweeps between two samples: neighbours are too much alike to be worth the adding up.
_EVERY = 4
#: Samples come from the last 1 / _PART of the sweeps: before, the chain is still on its way.
_PART = 4
#: The same for a chain that began near its end: at least so many sweeps between two, about so many samples.
_EVERY_NEAR, _PART_NEAR, _MOST_NEAR = 2, 2, 12


class MeanCounts(NamedTuple):
    """Sums over the samples so far."""

    #: (n_words, width) int32, or int64 where that many tokens could overflow it; float32 of expected counts.
    sums: NDArray[Any]
    #: (width,) int64: samples in each topic's sum.
    n_samples: NDArray[np.int64]


def is_sampled(sweep: int, n_sweeps: int, *, near: bool = False) -> bool:
    """Whether the counts after sweep 1, 2, ..., ``n_sweeps`` are a sample. The last ones always are.

    ``near``: the chain began near its end.
    """
    every = max(_EVERY_NEAR, n_sweeps // (_PART_NEAR * _MOST_NEAR)) if near else _EVERY
    part = _PART_NEAR if near else _PART
    return part * (n_sweeps - sweep) < n_sweeps and (n_sweeps - sweep) % every == 0


def init(n_words: int, width: int, n_tokens: int, n_sweeps: int, *, expected: bool = False) -> MeanCounts:
    """Begin with no samples.

    Parameters
    ----------
    n_words, width : int
        Shape of the tables to come.
    n_tokens : int
        Tokens in each table, documents of earlier batches among them.
    n_sweeps : int
        Sweeps to come.
    expected : bool, default False
        Samples will be expected counts.
    """
    most = n_tokens * (n_sweeps // min(_EVERY, _EVERY_NEAR) + 1)
    kind = np.float32 if expected else np.int32 if most < 2**31 else np.int64
    return MeanCounts(aligned_zeros((n_words, width), kind), np.zeros(width, np.int64))


@kernel()
def _compare(word_topic: Any, sums: Any, n_samples: Any, found: Any) -> None:
    """Per topic: tokens in this table, in the sum, and in both, each times the number of samples."""
    for w in range(word_topic.shape[0]):
        for k in range(word_topic.shape[1]):
            here, before = float(word_topic[w, k]) * n_samples[k], float(sums[w, k])
            found[0, k] += here
            found[1, k] += before
            found[2, k] += min(here, before)


@kernel()
def _add(word_topic: Any, keep: Any, sums: Any) -> None:
    for w in range(word_topic.shape[0]):
        for k in range(word_topic.shape[1]):
            sums[w, k] = sums[w, k] * keep[k] + word_topic[w, k]


def step(state: MeanCounts, word_topic: NDArray[Any]) -> MeanCounts:
    """Add a sample, (n_words, width), to the sums, **in place**; topics that became others begin anew."""
    found = np.zeros((3, len(state.n_samples)))
    _compare(word_topic, state.sums, state.n_samples, found)
    keep = 2 * found[2] >= np.maximum(found[0], found[1])
    _add(word_topic, keep.astype(state.sums.dtype), state.sums)
    return MeanCounts(state.sums, state.n_samples * keep + 1)


def mean(state: MeanCounts, n_topics: int) -> NDArray[np.float64]:
    """Return the mean counts without padding, in the usual orientation: (n_topics, n_words), float64."""
    out = np.empty((n_topics, len(state.sums)))
    return np.divide(state.sums[:, :n_topics].T, state.n_samples[:n_topics, None], out=out)
