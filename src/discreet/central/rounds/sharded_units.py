"""Units that lie in shards: the same sums, asked of an engine.

A shard holds whole units, so a sum over units is the sum over shards of the same sum; both are of integers. So the
guarantee and its proof are those of the functions that are summed (:mod:`discreet.central.rounds.statistics`,
:mod:`discreet.central.rounds.em_round`): each unit is bounded by itself, once, wherever its shard is read. Only sums
leave a shard, and they pass the gate before anything else sees them. Noise is drawn where the ledger is, by the caller.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.central.rounds.units import Units, group_units
from discreet.corpus.shards.shard_file import Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Beside, Engine, ProcessEngine
from discreet.errors import DiscreetError, Parameter, ParameterError, Proposal

__all__ = ["ShardedUnits", "faults_of_shards", "units_of"]


@dataclass(frozen=True)
class ShardedUnits:
    """A private corpus in shards, grouped by unit when it is read. Nothing of it is ever released.

    Parameters
    ----------
    shards : tuple of Shard
        Each unit in one.
    n_words : int
    engine : Engine
    presence_only : bool, default False
        Every count is read as 1.
    """

    shards: tuple[Shard, ...]
    n_words: int
    engine: Engine
    presence_only: bool = False
    started: list[Beside] = field(default_factory=list[Beside])

    def sum(self, function: Callable[..., NDArray[np.int64]], *public: Any) -> NDArray[np.int64]:
        """Return the sum over shards of ``function(units, *public)``; the function is known by its name in a module."""
        return self.engine.map_sum(partial(_on_units, function, self.presence_only), self.shards, *public)

    def start(self, function: Callable[..., Any], *public: Any) -> Beside:
        """Say what stays beside each shard: at first ``function(units, *public)``."""
        self.started.append(Beside(partial(_start, function, self.presence_only, public)))
        return self.started[-1]

    def step(
        self, beside: Beside, function: Callable[..., NDArray[np.int64]], *public: Any
    ) -> NDArray[np.int64]:
        """Return the sum of ``function(units, state, *public)``, which changes the states in place."""
        return self.engine.map_sum(
            partial(_step, function, self.presence_only), self.shards, *public, beside=beside
        )


@contextmanager
def units_of(
    counts: Any,
    authors: NDArray[np.int64] | None,
    engine: Engine | None,
    n_jobs: int | None,
    *,
    presence_only: bool = False,
) -> Generator[Units | ShardedUnits]:
    """Give the units of a matrix in memory, or of a corpus in shards; by default a thread works on a shard.

    What then lies beside the shards is dropped at the end, also where the end is a fault.
    """
    if not isinstance(counts, ShardedCorpus):
        yield group_units(_presence(counts) if presence_only else counts, authors)
        return
    units = ShardedUnits(counts.shards, counts.n_words, engine or ProcessEngine(n_jobs), presence_only)
    try:
        yield units
    finally:
        forget: Callable[[Beside], None] = getattr(units.engine, "forget", _keep)
        for beside in units.started:
            forget(beside)


def _keep(beside: Beside) -> None:
    """Do nothing: an engine that somebody else wrote may have no ``forget``."""


def _presence(counts: Any) -> Any:
    present = counts.copy()
    present.data = np.minimum(present.data, 1)
    return present


def _read(shard: Shard, presence_only: bool) -> Units:
    rows = shard.read()
    return group_units(_presence(rows.counts) if presence_only else rows.counts, rows.owners)


def _on_units(
    function: Callable[..., NDArray[np.int64]], presence_only: bool, shard: Shard, *public: Any
) -> NDArray[np.int64]:
    return function(_read(shard, presence_only), *public)


def _start(
    function: Callable[..., Any], presence_only: bool, public: tuple[Any, ...], shard: Shard
) -> NDArray[Any]:
    return function(_read(shard, presence_only), *public)


def _step(
    function: Callable[..., NDArray[np.int64]],
    presence_only: bool,
    shard: Shard,
    state: NDArray[Any],
    *public: Any,
) -> NDArray[np.int64]:
    return function(_read(shard, presence_only), state, *public)


def faults_of_shards(X: Any, owners: Any, engine: Any) -> list[DiscreetError]:
    """Say where shards come with owners beside them, or an engine comes without shards."""
    if isinstance(X, ShardedCorpus) and owners is not None:
        return [
            ParameterError("shards know whose documents are in them; leave ", Proposal("owners"), " out.")
        ]
    if engine is not None and not isinstance(X, ShardedCorpus):
        advice = (" goes through shards, and X is in memory: write them with discreet.corpus.write_shards,",)
        return [ParameterError(Parameter("engine"), *advice, " or leave it out.")]
    return []
