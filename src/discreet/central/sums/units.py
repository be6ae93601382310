r"""Units, documents grouped by whom is protected, in memory or in shards, and what is summed over them at the start.

Groups are what the kernels go through. Within a group the documents stand in an order that depends on their
content alone, so that sums of floats over a group are the same for any order in which the corpus was given.

A shard holds whole units, so a sum over units is the sum over shards of the same sum; both are of integers. So the
guarantee and its proof are those of the functions that are summed: each unit is bounded by itself, once, wherever its
shard is read. Only sums leave a shard, and they pass the gate before anything else sees them. Noise is drawn where the
ledger is, by the caller.

**The private statistics before the rounds**: how many units, how frequent words are, and which go together. Each is a
sum over units of a vector that is scaled to L2 norm 1 (up as well as down) and placed on the integer lattice by
``place_l2``; units whose vector is zero add nothing. So the sensitivity of each sum to adding or removing one unit is 1
(2**BITS lattice steps), whatever the unit holds. The vectors:

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

from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import balanced_cuts, count_threads, share_out
from discreet.corpus.shards.shard_file import Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.engines.engine import ShardRunner
from discreet.errors import DiscreetError, ParameterError
from discreet.privacy.bound import place_l2
from discreet.privacy.mechanism import BITS


class Units(NamedTuple):
    """A private corpus, grouped by unit. Nothing of it is ever released."""

    #: (n_units + 1,) int64: unit u has the documents ``starts[u]`` to ``starts[u + 1]``.
    starts: NDArray[np.int64]
    #: (n_documents + 1,) int64: document d has the entries ``indptr[d]`` to ``indptr[d + 1]``.
    indptr: NDArray[np.int64]
    #: (n_entries,) int32.
    words: NDArray[np.int32]
    #: (n_entries,) float32.
    counts: NDArray[np.float32]
    n_words: int
    #: Number of the first unit in the whole corpus, of which this may be a shard.
    first: int = 0

    @property
    def n_units(self) -> int:
        """Number of units. Private."""
        return len(self.starts) - 1

    @property
    def entry_starts(self) -> NDArray[np.int64]:
        """First entry of each unit, and one behind the last; for sharing units out evenly."""
        return self.indptr[self.starts]

    @property
    def most_entries(self) -> int:
        """Room for the entries of any document, and for the distinct words of any unit."""
        longest = int(np.diff(self.indptr).max(initial=1))
        return max(longest, min(int(np.diff(self.entry_starts).max(initial=1)), self.n_words), 1)


def group_units(counts: Any, persons: NDArray[np.int64] | None) -> Units:
    """Group the rows of a matrix of counts.

    ``counts``: canonical CSR; without ``persons`` each document is a unit.
    """
    n_documents = counts.shape[0]
    if persons is None:
        starts = np.arange(n_documents + 1, dtype=np.int64)
    else:
        order = _by_person_and_content(counts, persons)
        counts = counts[order]
        sorted_persons = persons[order]
        first = np.flatnonzero(np.r_[n_documents > 0, sorted_persons[1:] != sorted_persons[:-1]])
        starts = np.r_[first, n_documents].astype(np.int64)
    return Units(
        starts,
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32, copy=False),
        counts.data.astype(np.float32),
        counts.shape[1],
    )


def _by_person_and_content(counts: Any, persons: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(persons[order]) != 0, True])
    indptr, indices, data = counts.indptr, counts.indices, counts.data

    def content(row: int) -> bytes:
        entries = slice(indptr[row], indptr[row + 1])
        return indices[entries].tobytes() + data[entries].tobytes()

    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if stop - start > 1:
            order[start:stop] = sorted(order[start:stop].tolist(), key=content)
    return order


def sum_of_kernel(
    kernel: Any, units: Units, shape: int | tuple[int, ...], n_jobs: int | None, *rest: Any
) -> NDArray[np.int64]:
    """Return the sum over ranges of units of what ``kernel(units, low, high, *rest, out)`` adds to zeros of this shape.

    Integers add up to the same total wherever the ranges are cut, so the answer does not depend on ``n_jobs``.
    """
    n_threads = count_threads(n_jobs)

    def work(piece: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(shape, np.int64)
        kernel(units, *piece, *rest, out)
        return out

    cuts = balanced_cuts(units.entry_starts, n_threads).tolist()
    parts = share_out(work, pairwise(cuts), n_threads)
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


class ShardedUnits(ShardRunner):
    """A private corpus in shards, grouped by unit when it is read. Nothing of it is ever released."""

    def __init__(
        self,
        shards: tuple[Shard, ...],
        n_words: int,
        engine: Engine | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(shards, _read, engine, n_jobs)
        self.n_words = n_words


@contextmanager
def units_of(
    counts: Any, people: NDArray[np.int64] | None, engine: Engine | None, n_jobs: int | None
) -> Generator[Units | ShardedUnits]:
    """Give the units of a matrix in memory, or of a corpus in shards; by default a thread works on a shard.

    What then lies beside the shards is dropped at the end, also where the end is a fault.
    """
    if not isinstance(counts, ShardedCorpus):
        yield group_units(counts, people)
        return
    with ShardedUnits(counts.shards, counts.n_words, engine, n_jobs) as units:
        yield units


def _read(shard: Shard) -> Units:
    rows = shard.read()
    return group_units(rows.counts, rows.persons)._replace(first=shard.first_unit)


def faults_of_shards(X: Any, persons: Any, engine: Any) -> list[DiscreetError]:
    """Say where shards come with persons beside them, or an engine comes without shards."""
    if isinstance(X, ShardedCorpus) and X.unit == "document" and persons is not None:
        return [ParameterError("shards know whose documents are in them; leave `persons=` out.")]
    if engine is not None and not isinstance(X, ShardedCorpus):
        how = "write them with discreet.corpus.write_shards, or leave it out."
        return [ParameterError(f"`engine` goes through shards, and X is in memory: {how}")]
    return []


def count_sum(units: Units | ShardedUnits) -> NDArray[np.int64]:
    """Return the number of units in lattice steps; each unit adds 2**BITS."""
    if isinstance(units, ShardedUnits):
        return units.sum(count_sum)
    return np.array([units.n_units << BITS], dtype=np.int64)


def unigram_sum(units: Units | ShardedUnits, n_jobs: int | None = None) -> NDArray[np.int64]:
    """Return the sum over units of normalised square roots of word counts, shape (n_words,)."""
    if isinstance(units, ShardedUnits):
        return units.sum(unigram_sum)
    return sum_of_kernel(_unigram, units, units.n_words, n_jobs)


def cooccurrence_sum(
    units: Units | ShardedUnits,
    chosen: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Return the sum over units of normalised co-occurrences: the strict upper triangle, row by row, (M * (M - 1) / 2,)
    int64.

    ``chosen``: distinct columns, (M,); ``weights``: (M,), positive.
    """
    if isinstance(units, ShardedUnits):
        return units.sum(cooccurrence_sum, chosen, weights)
    place_of = np.full(units.n_words, -1, dtype=np.int64)
    place_of[chosen] = np.arange(len(chosen))
    n_pairs = len(chosen) * (len(chosen) - 1) // 2
    return sum_of_kernel(_cooccurrence, units, n_pairs, n_jobs, place_of, weights)


def square(triangle: NDArray[np.float64], n_words: int) -> NDArray[np.float64]:
    """Return the symmetric matrix of zero diagonal that a strict upper triangle is of."""
    matrix = np.zeros((n_words, n_words))
    matrix[np.triu_indices(n_words, 1)] = triangle
    matrix += matrix.T
    return matrix


class Gathered(NamedTuple):
    """One unit's statistic while it is made: a row of numbers for each of its words, in the order of their first use.

    Private. Between two units no word has a row.
    """

    #: (n_words,): number of a word's row; -1 for none.
    row_of: NDArray[np.int64]
    #: (n_rows,): which word each row is of.
    words: NDArray[np.int64]
    #: (n_rows * width,): the rows, one after another.
    values: NDArray[np.float64]
    placed: NDArray[np.int64]


@kernel()
def empty_rows(n_words: int, n_rows: int, width: int) -> Any:
    """Return room for units of up to ``n_rows`` different words."""
    row_of, words = np.full(n_words, -1, np.int64), np.empty(n_rows, np.int64)
    return Gathered(row_of, words, np.empty(n_rows * width, np.float64), np.empty(n_rows * width, np.int64))


@kernel()
def row_at(gathered: Any, word: int, n_rows: int, width: int) -> int:
    """Return the number of a word's row; where it has none yet it is the next one, ``n_rows``, and zero."""
    row = gathered.row_of[word]
    if row < 0:
        row = n_rows
        gathered.row_of[word] = row
        gathered.words[row] = word
        for k in range(width):
            gathered.values[row * width + k] = 0.0
    return row


@kernel()
def add_unit(gathered: Any, n_rows: int, width: int, bits: int, normalise: bool, out: Any) -> None:
    """Place the unit's rows on the lattice, all of them together; add them to ``out``, and forget the unit."""
    place_l2(gathered.values, n_rows * width, bits, normalise, gathered.placed)
    for row in range(n_rows):
        word = gathered.words[row]
        gathered.row_of[word] = -1
        for k in range(width):
            out[word, k] += gathered.placed[row * width + k]


@kernel()
def _unigram(units: Any, low: int, high: int, out: NDArray[np.int64]) -> None:
    gathered = empty_rows(len(out), len(out), 1)
    for unit in range(low, high):
        n_rows = 0
        for i in range(units.indptr[units.starts[unit]], units.indptr[units.starts[unit + 1]]):
            row = row_at(gathered, units.words[i], n_rows, 1)
            n_rows = max(n_rows, row + 1)
            gathered.values[row] += np.sqrt(np.float64(units.counts[i]))
        add_unit(gathered, n_rows, 1, BITS, True, out.reshape(-1, 1))


@kernel()
def _gather(
    units: Any,
    document: int,
    place_of: NDArray[np.int64],
    weights: NDArray[np.float64],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
) -> int:
    """Collect a document's weighted counts on the chosen words, in order of their places."""
    n = 0
    for i in range(units.indptr[document], units.indptr[document + 1]):
        place = place_of[units.words[i]]
        if place >= 0:
            places[n] = place
            values[n] = np.float64(units.counts[i]) * weights[place]
            n += 1
    return n


@kernel()
def _cooccurrence(
    units: Any,
    low: int,
    high: int,
    place_of: NDArray[np.int64],
    weights: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None:
    """Add up the triangles of a unit's documents before the norm is taken; of one document only its pairs count."""
    m = weights.shape[0]
    places, values = np.empty(m, np.int64), np.empty(m, np.float64)
    triangle = np.zeros(out.shape[0], np.float64)
    cells = np.empty(out.shape[0], np.int64)
    pairs, placed = np.empty(out.shape[0], np.float64), np.empty(out.shape[0], np.int64)
    for unit in range(low, high):
        n_cells = 0
        alone = units.starts[unit + 1] - units.starts[unit] == 1
        for document in range(units.starts[unit], units.starts[unit + 1]):
            n = _gather(units, document, place_of, weights, places, values)
            for i in range(n):
                row = places[i] * (2 * m - places[i] - 1) // 2 - places[i] - 1
                for j in range(i + 1, n):
                    cell, pair = row + places[j], values[i] * values[j]
                    if alone or triangle[cell] == 0.0:
                        cells[n_cells] = cell
                        pairs[n_cells] = pair
                        n_cells += 1
                    if not alone:
                        triangle[cell] += pair
        if not alone:
            for i in range(n_cells):
                pairs[i] = triangle[cells[i]]
                triangle[cells[i]] = 0.0
        place_l2(pairs, n_cells, BITS, True, placed)
        for i in range(n_cells):
            out[cells[i]] += placed[i]


def moment_sum(
    units: Units | ShardedUnits, features: NDArray[np.float64], n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Return the sum over units of the normalised moment, (d * (d + 1) / 2,) int64, in lattice steps of 2**-BITS.

    ``features``: (n_words, d), the same for all units. The upper triangle, row by row, off the diagonal times the root
    of 2.
    """
    if isinstance(units, ShardedUnits):
        return units.sum(moment_sum, features)
    table = np.ascontiguousarray(features, dtype=np.float64)
    n_cells = table.shape[1] * (table.shape[1] + 1) // 2
    return sum_of_kernel(_moment, units, n_cells, n_jobs, table)


@kernel()
def _moment(units: Any, low: int, high: int, features: NDArray[np.float64], out: NDArray[np.int64]) -> None:
    d = features.shape[1]
    total, placed = np.empty(out.shape[0], np.float64), np.empty(out.shape[0], np.int64)
    place = np.empty(d, np.float64)
    root_of_two = np.sqrt(2.0)
    for unit in range(low, high):
        for cell in range(out.shape[0]):
            total[cell] = 0.0
        several = False
        for document in range(units.starts[unit], units.starts[unit + 1]):
            begin, end = units.indptr[document], units.indptr[document + 1]
            if end - begin < 2:
                continue
            several = True
            for a in range(d):
                place[a] = 0.0
            for i in range(begin, end):
                row = features[units.words[i]]
                root = np.sqrt(np.float64(units.counts[i]))
                for a in range(d):
                    place[a] += root * row[a]
                cell = 0
                for a in range(d):
                    weight = np.float64(units.counts[i]) * row[a]
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
        place_l2(total, out.shape[0], BITS, True, placed)
        for cell in range(out.shape[0]):
            out[cell] += placed[cell]
