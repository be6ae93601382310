r"""The private statistics before the rounds: how many units, how frequent words are, and which go together.

Each is a sum over units of a vector that is scaled to L2 norm 1 (up as well as down) and placed on the
integer lattice by ``place_l2``; units whose vector is zero add nothing. So the sensitivity of each sum to
adding or removing one unit is 1 (2**BITS lattice steps), whatever the unit holds. The vectors:

count
    The number 1.
unigram
    Square roots of the counts, summed over the unit's documents.
co-occurrence
    The strict upper triangle of :math:`\sum_d y_d y_d^\top` over the unit's documents, :math:`y_d` the
    document's counts on M chosen words times public weights. The diagonal is left out: it holds no
    co-occurrence.
moment
    The second moment of documents in the space of public word vectors. With a feature vector f_v for each word v, from
    public vectors and released numbers,

    .. math:: T = \sum_d \Big( z_d z_d^\top - \sum_v c_{dv} f_v f_v^\top \Big), \qquad
              z_d = \sum_v \sqrt{c_{dv}}\, f_v ,

    over its documents: the sum over pairs of *different* words of :math:`\sqrt{c_v c_w} f_v f_w^\top`, as a word says
    nothing about what it goes together with by itself. The upper triangle of T, off the diagonal times
    :math:`\sqrt 2`, has the Frobenius norm of T. Units whose T is nothing but rounding (documents of one distinct
    word) add nothing.

*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: nothing here; each sum goes
to the gate. *Sensitivity*: 1 in L2 for each, as each vector is a function of the unit's own documents and of what is
the same for all units. *Event*: the gate's.

The chosen words and weights come from earlier releases. Sums are integers, so any order of units and any
number of threads or shards gives the same bytes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.central.sums.units import ShardedUnits, Units, sum_over_pieces
from discreet.privacy.bound import place_l2
from discreet.privacy.mechanism import BITS


def count_sum(units: Units | ShardedUnits) -> NDArray[np.int64]:
    """Return the number of units in lattice steps; each unit adds 2**BITS."""
    if isinstance(units, ShardedUnits):
        return units.sum(count_sum)
    return np.array([units.n_units << BITS], dtype=np.int64)


def unigram_sum(units: Units | ShardedUnits, n_jobs: int | None = None) -> NDArray[np.int64]:
    """Return the sum over units of normalised square roots of word counts, shape (n_words,)."""
    if isinstance(units, ShardedUnits):
        return units.sum(unigram_sum)

    def work(cuts: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(units.n_words, np.int64)
        _unigram(units.starts, units.indptr, units.words, units.counts, *cuts, BITS, out)
        return out

    return sum_over_pieces(work, units, n_jobs)


def cooccurrence_sum(
    units: Units | ShardedUnits,
    chosen: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Return the sum over units of normalised co-occurrences.

    Parameters
    ----------
    units : Units or ShardedUnits
    chosen : array of shape (M,), int64
        Distinct columns.
    weights : array of shape (M,)
        Positive.

    Returns
    -------
    array of shape (M * (M - 1) / 2,), int64
        The strict upper triangle, row by row.
    """
    if isinstance(units, ShardedUnits):
        return units.sum(cooccurrence_sum, chosen, weights)
    place_of = np.full(units.n_words, -1, dtype=np.int64)
    place_of[chosen] = np.arange(len(chosen))
    n_pairs = len(chosen) * (len(chosen) - 1) // 2
    alone = bool((np.diff(units.starts) <= 1).all())

    def work(cuts: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(n_pairs, np.int64)
        kernel: Any = _cooccurrence_of_documents if alone else _cooccurrence_of_groups
        kernel(units.starts, units.indptr, units.words, units.counts, *cuts, place_of, weights, BITS, out)
        return out

    return sum_over_pieces(work, units, n_jobs)


def square(triangle: NDArray[np.float64], n_words: int) -> NDArray[np.float64]:
    """Return the symmetric matrix of zero diagonal that a strict upper triangle is of."""
    matrix = np.zeros((n_words, n_words))
    matrix[np.triu_indices(n_words, 1)] = triangle
    matrix += matrix.T
    return matrix


@kernel()
def _unigram(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    bits: int,
    out: NDArray[np.int64],
) -> None:
    slot_of = np.full(out.shape[0], -1, np.int64)
    seen = np.empty(out.shape[0], np.int64)
    values = np.empty(out.shape[0], np.float64)
    placed = np.empty(out.shape[0], np.int64)
    for unit in range(low, high):
        n = 0
        for i in range(indptr[starts[unit]], indptr[starts[unit + 1]]):
            word = words[i]
            slot = slot_of[word]
            if slot < 0:
                slot = n
                slot_of[word] = n
                seen[n] = word
                values[n] = 0.0
                n += 1
            values[slot] += np.sqrt(np.float64(counts[i]))
        place_l2(values, n, bits, True, placed)
        for slot in range(n):
            out[seen[slot]] += placed[slot]
            slot_of[seen[slot]] = -1


@kernel()
def _gather(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    document: int,
    place_of: NDArray[np.int64],
    weights: NDArray[np.float64],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
) -> int:
    """Collect a document's weighted counts on the chosen words, in order of their places."""
    n = 0
    for i in range(indptr[document], indptr[document + 1]):
        place = place_of[words[i]]
        if place >= 0:
            places[n] = place
            values[n] = np.float64(counts[i]) * weights[place]
            n += 1
    return n


@kernel()
def _cooccurrence_of_documents(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    place_of: NDArray[np.int64],
    weights: NDArray[np.float64],
    bits: int,
    out: NDArray[np.int64],
) -> None:
    """Units of at most one document: only the pairs that the document has."""
    m = weights.shape[0]
    places, values = np.empty(m, np.int64), np.empty(m, np.float64)
    pairs, placed = np.empty(out.shape[0], np.float64), np.empty(out.shape[0], np.int64)
    for unit in range(low, high):
        if starts[unit + 1] == starts[unit]:
            continue
        n = _gather(indptr, words, counts, starts[unit], place_of, weights, places, values)
        n_pairs = 0
        for i in range(n):
            for j in range(i + 1, n):
                pairs[n_pairs] = values[i] * values[j]
                n_pairs += 1
        place_l2(pairs, n_pairs, bits, True, placed)
        n_pairs = 0
        for i in range(n):
            row = places[i] * (2 * m - places[i] - 1) // 2 - places[i] - 1
            for j in range(i + 1, n):
                out[row + places[j]] += placed[n_pairs]
                n_pairs += 1


@kernel()
def _cooccurrence_of_groups(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    place_of: NDArray[np.int64],
    weights: NDArray[np.float64],
    bits: int,
    out: NDArray[np.int64],
) -> None:
    """Units of several documents: their triangles are added up before the norm is taken."""
    m = weights.shape[0]
    places, values = np.empty(m, np.int64), np.empty(m, np.float64)
    triangle = np.zeros(out.shape[0], np.float64)
    cells = np.empty(out.shape[0], np.int64)
    pairs, placed = np.empty(out.shape[0], np.float64), np.empty(out.shape[0], np.int64)
    for unit in range(low, high):
        n_cells = 0
        for document in range(starts[unit], starts[unit + 1]):
            n = _gather(indptr, words, counts, document, place_of, weights, places, values)
            for i in range(n):
                row = places[i] * (2 * m - places[i] - 1) // 2 - places[i] - 1
                for j in range(i + 1, n):
                    cell = row + places[j]
                    if triangle[cell] == 0.0:
                        cells[n_cells] = cell
                        n_cells += 1
                    triangle[cell] += values[i] * values[j]
        for i in range(n_cells):
            pairs[i] = triangle[cells[i]]
            triangle[cells[i]] = 0.0
        place_l2(pairs, n_cells, bits, True, placed)
        for i in range(n_cells):
            out[cells[i]] += placed[i]


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
