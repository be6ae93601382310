"""Units that lie in shards: the same sums, asked of an engine.

A shard holds whole units, so a sum over units is the sum over shards of the same sum; both are of integers. So the
guarantee and its proof are those of the functions that are summed (:mod:`discreet.central.rounds.statistics`,
:mod:`discreet.central.rounds.em_round`): each unit is bounded by itself, once, wherever its shard is read. Only sums
leave a shard, and they pass the gate before anything else sees them. Noise is drawn where the ledger is, by the caller.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.central.rounds.units import Units, group_units
from discreet.corpus.shards.shard_file import Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.engines.process import ShardRunner
from discreet.errors import DiscreetError, Parameter, ParameterError, Proposal

__all__ = ["ShardedUnits", "faults_of_shards", "units_of"]


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
