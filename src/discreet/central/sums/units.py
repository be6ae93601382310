"""Units: documents grouped by whom is protected, in memory or in shards, and integer sums over them.

Groups are what the kernels go through. Within a group the documents stand in an order that depends on their
content alone, so that sums of floats over a group are the same for any order in which the corpus was given.

A shard holds whole units, so a sum over units is the sum over shards of the same sum; both are of integers. So the
guarantee and its proof are those of the functions that are summed (:mod:`discreet.central.sums.statistics`,
:mod:`discreet.central.sums.em_round`): each unit is bounded by itself, once, wherever its shard is read. Only sums
leave a shard, and they pass the gate before anything else sees them. Noise is drawn where the ledger is, by the caller.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import balanced_cuts, count_threads, share_out
from discreet.corpus.shards.shard_file import Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.engines.engine import ShardRunner
from discreet.errors import DiscreetError, Parameter, ParameterError, Proposal


class Units(NamedTuple):
    """A private corpus, grouped by unit. Nothing of it is ever released.

    Attributes
    ----------
    starts : array of shape (n_units + 1,), int64
        Unit u has the documents ``starts[u]`` to ``starts[u + 1]``.
    indptr : array of shape (n_documents + 1,), int64
        Document d has the entries ``indptr[d]`` to ``indptr[d + 1]``.
    words : array of shape (n_entries,), int32
    counts : array of shape (n_entries,), float32
    n_words : int
    first : int
        Number of the first unit in the whole corpus, of which this may be a shard.
    """

    starts: NDArray[np.int64]
    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    n_words: int
    first: int = 0

    @property
    def n_units(self) -> int:
        """Number of units. Private."""
        return len(self.starts) - 1

    @property
    def entry_starts(self) -> NDArray[np.int64]:
        """First entry of each unit, and one behind the last; for sharing units out evenly."""
        return self.indptr[self.starts]


def group_units(counts: Any, persons: NDArray[np.int64] | None) -> Units:
    """Group the rows of a matrix of counts.

    Parameters
    ----------
    counts : canonical CSR of shape (n_documents, n_words), int32
    persons : array of shape (n_documents,), int64, optional
        Person of each document; without it each document is a unit.
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


def sum_over_pieces(
    work: Callable[[tuple[int, int]], NDArray[np.int64]], units: Units, n_jobs: int | None
) -> NDArray[np.int64]:
    """Return the sum of ``work((low, high))`` over consecutive ranges of units.

    Integers add up to the same total wherever the ranges are cut, so the answer does not depend on
    ``n_jobs``.
    """
    n_threads = count_threads(n_jobs)
    cuts = balanced_cuts(units.entry_starts, n_threads).tolist()
    parts = share_out(work, pairwise(cuts), n_threads)
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


class ShardedUnits(ShardRunner):
    """A private corpus in shards, grouped by unit when it is read. Nothing of it is ever released.

    Parameters
    ----------
    shards : tuple of Shard
        Each unit in one.
    n_words : int
    engine : Engine, optional
    n_jobs : int, optional
    presence_only : bool, default False
        Every count is read as 1.
    """

    def __init__(
        self,
        shards: tuple[Shard, ...],
        n_words: int,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        *,
        presence_only: bool = False,
    ) -> None:
        super().__init__(shards, partial(_read, presence_only), engine, n_jobs)
        self.n_words = n_words


@contextmanager
def units_of(
    counts: Any,
    people: NDArray[np.int64] | None,
    engine: Engine | None,
    n_jobs: int | None,
    *,
    presence_only: bool = False,
) -> Generator[Units | ShardedUnits]:
    """Give the units of a matrix in memory, or of a corpus in shards; by default a thread works on a shard.

    What then lies beside the shards is dropped at the end, also where the end is a fault.
    """
    if not isinstance(counts, ShardedCorpus):
        yield group_units(_presence(counts) if presence_only else counts, people)
        return
    with ShardedUnits(counts.shards, counts.n_words, engine, n_jobs, presence_only=presence_only) as units:
        yield units


def _presence(counts: Any) -> Any:
    present = counts.copy()
    present.data = np.minimum(present.data, 1)
    return present


def _read(presence_only: bool, shard: Shard) -> Units:
    rows = shard.read()
    counts = _presence(rows.counts) if presence_only else rows.counts
    return group_units(counts, rows.persons)._replace(first=shard.first_unit)


def faults_of_shards(X: Any, persons: Any, engine: Any) -> list[DiscreetError]:
    """Say where shards come with persons beside them, or an engine comes without shards."""
    if isinstance(X, ShardedCorpus) and X.unit == "document" and persons is not None:
        return [
            ParameterError("shards know whose documents are in them; leave ", Proposal("persons"), " out.")
        ]
    if engine is not None and not isinstance(X, ShardedCorpus):
        advice = (" goes through shards, and X is in memory: write them with discreet.corpus.write_shards,",)
        return [ParameterError(Parameter("engine"), *advice, " or leave it out.")]
    return []
