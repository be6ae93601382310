r"""The second moment of documents in the space of public word vectors: which directions go together.

With a feature vector f_v for each word v, from public vectors and released numbers, a unit's statistic is

.. math:: T = \sum_d \Big( z_d z_d^\top - \sum_v c_{dv} f_v f_v^\top \Big), \qquad z_d = \sum_v \sqrt{c_{dv}}\, f_v ,

over its documents: the sum over pairs of *different* words of :math:`\sqrt{c_v c_w} f_v f_w^\top`. A word says nothing
about what it goes together with by itself, so pairs of a word with itself are left out.

*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: nothing here; the sum goes
to the gate. *Sensitivity*: 1 in L2. The upper triangle of T, off the diagonal times :math:`\sqrt 2`, has the Frobenius
norm of T; ``place_l2`` scales it to 1 and checks the integers. T is a function of the unit's own documents and of f,
which is the same for all units. Units whose T is nothing but rounding (documents of one distinct word) add nothing.
*Event*: the gate's.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet.central.rounds.sharded_units import ShardedUnits
from discreet.central.rounds.thread_sums import sum_over_pieces
from discreet.central.rounds.units import Units
from discreet.privacy.bound import place_l2
from discreet.privacy.shared_gaussian import BITS

__all__ = ["moment_sum"]


def moment_sum(
    units: Units | ShardedUnits, features: NDArray[np.float64], n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Return the sum over units of the normalised moment.

    Parameters
    ----------
    units : Units or ShardedUnits
    features : array of shape (n_words, d)
        f; the same for all units.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    array of shape (d * (d + 1) / 2,), int64
        The upper triangle, row by row, off the diagonal times the root of 2, in lattice steps of 2**-BITS.
    """
    if isinstance(units, ShardedUnits):
        return units.sum(moment_sum, features)
    table = np.ascontiguousarray(features, dtype=np.float64)
    n_cells = table.shape[1] * (table.shape[1] + 1) // 2

    def work(cuts: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(n_cells, np.int64)
        _moment(units.starts, units.indptr, units.words, units.counts, *cuts, table, BITS, out)
        return out

    return sum_over_pieces(work, units, n_jobs)


@kernel()
def _moment(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    features: NDArray[np.float64],
    bits: int,
    out: NDArray[np.int64],
) -> None:
    d = features.shape[1]
    total, placed = np.empty(out.shape[0], np.float64), np.empty(out.shape[0], np.int64)
    place = np.empty(d, np.float64)
    root_of_two = np.sqrt(2.0)
    for unit in range(low, high):
        for cell in range(out.shape[0]):
            total[cell] = 0.0
        several = False
        for document in range(starts[unit], starts[unit + 1]):
            begin, end = indptr[document], indptr[document + 1]
            if end - begin < 2:
                continue
            several = True
            for a in range(d):
                place[a] = 0.0
            for i in range(begin, end):
                row = features[words[i]]
                root = np.sqrt(np.float64(counts[i]))
                for a in range(d):
                    place[a] += root * row[a]
                cell = 0
                for a in range(d):
                    weight = np.float64(counts[i]) * row[a]
                    for b in range(a, d):
                        total[cell + b - a] -= weight * row[b]
                    cell += d - a
            cell = 0
            for a in range(d):
                for b in range(a, d):
                    total[cell + b - a] += place[a] * place[b]
                cell += d - a
        if not several:
            continue
        cell = 0
        for a in range(d):
            for b in range(a + 1, d):
                total[cell + b - a] *= root_of_two
            cell += d - a
        place_l2(total, out.shape[0], bits, True, placed)
        for cell in range(out.shape[0]):
            out[cell] += placed[cell]
