"""The engine of one process: threads, each with one shard in memory. And who goes through shards, by any engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet._base.progress import Callback
from discreet._base.threads import count_threads, share_out
from discreet.engines.engine import AnyShard, Engine, PassProgress, Step, add_up, run_task
from discreet.engines.state_store import StateStore, StoreLimits, forget
from discreet.errors import EngineError

__all__ = ["ProcessEngine", "ShardRunner"]


class ProcessEngine:
    """Goes through shards with threads of this process.

    Parameters
    ----------
    n_jobs : int, optional
        Threads, as in scikit-learn. Each holds one shard in memory at a time.
    memory : int, default 268435456
        Bytes for what stays beside the shards between two steps; what is more goes to scratch files.
    scratch : str, optional
        Folder of scratch files; by default the system's. A folder that is itself in memory (tmpfs) saves none.
    callback : callable, optional
        ``callback("documents of this pass", done, total)`` after each shard of a pass. By default what
        :func:`discreet.show_progress` says.
    """

    def __init__(
        self,
        n_jobs: int | None = None,
        *,
        memory: int = 2**28,
        scratch: str | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_jobs, self.room, self.callback = n_jobs, StoreLimits(memory, scratch), callback
        count_threads(n_jobs)

    def map_sum(
        self,
        function: Callable[..., NDArray[np.int64]],
        shards: Sequence[AnyShard],
        *public: Any,
        states: StateStore | None = None,
    ) -> NDArray[np.int64]:
        """Return the sum over shards: see :meth:`Engine.map_sum`."""
        _refuse_none(shards)
        step: Step | None = None
        if states is not None:
            step = (states.start, states.run, states.history, self.room)
        waiting, told = deque(shards), PassProgress(self.callback, shards)

        def strand(_: int) -> NDArray[np.int64] | None:
            total = None
            while True:
                try:
                    shard = waiting.popleft()
                except IndexError:
                    return total
                try:
                    part = run_task(function, shard, public, step)
                except BaseException:
                    waiting.clear()  # the other threads begin nothing more
                    raise
                if total is None:
                    total = part
                else:
                    total += part
                told.add(shard)

        n_threads = min(count_threads(self.n_jobs), len(shards))
        parts = [part for part in share_out(strand, range(n_threads), n_threads) if part is not None]
        if states is not None:
            states.history.append(public)
        return add_up(parts)

    def map(self, function: Callable[..., Any], shards: Sequence[AnyShard], *public: Any) -> Iterator[Any]:
        """Yield an answer for each shard, in order: see :meth:`Engine.map`."""
        n_threads = count_threads(self.n_jobs)
        for start in range(0, len(shards), n_threads):
            group = shards[start : start + n_threads]
            yield from share_out(lambda shard: run_task(function, shard, public, None), group, n_threads)

    def forget(self, states: StateStore) -> None:
        """Drop what lies beside the shards."""
        forget(states.run)

    def __deepcopy__(self, memo: Any) -> ProcessEngine:
        return self


def _refuse_none(shards: Sequence[AnyShard]) -> None:
    if not shards:
        raise EngineError("there are no shards to go through.")


Sum = Callable[..., NDArray[np.int64]]


class ShardRunner:
    """Goes through shards, each read in the same way. Functions are known by their names in their modules.

    Parameters
    ----------
    shards : sequence of AnyShard
    read : callable
        ``read(shard)`` is what functions get of a shard.
    engine : Engine, optional
        By default threads of this process, each with one shard in memory.
    n_jobs : int, optional
        So many.
    """

    def __init__(
        self,
        shards: Sequence[AnyShard],
        read: Callable[[Any], Any],
        engine: Engine | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.shards, self.read = shards, read
        self.engine: Engine = engine or ProcessEngine(n_jobs)
        self._started: list[StateStore] = []

    def sum(self, function: Sum, *public: Any) -> NDArray[np.int64]:
        """Return the sum over shards of ``function(read(shard), *public)``."""
        return self.engine.map_sum(partial(_on_read, function, self.read), self.shards, *public)

    def map(self, function: Callable[..., Any], *public: Any) -> Iterator[Any]:
        """Yield ``function(read(shard), *public)`` for each shard, in their order."""
        return self.engine.map(partial(_on_read, function, self.read), self.shards, *public)

    def start(self, function: Callable[..., Any], *public: Any) -> StateStore:
        """Say what stays beside each shard: at first ``function(read(shard), *public)``."""
        self._started.append(StateStore(partial(_start, function, self.read, public)))
        return self._started[-1]

    def step(self, states: StateStore, function: Sum, *public: Any) -> NDArray[np.int64]:
        """Return the sum of ``function(read(shard), state, *public)``, which changes the states in place.

        One function for all steps: it is what makes a lost state anew.
        """
        return self.engine.map_sum(partial(_step, function, self.read), self.shards, *public, states=states)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        """Drop what lies beside the shards, also where the end is a fault."""
        forget: Callable[[StateStore], None] = getattr(self.engine, "forget", _keep)
        for states in self._started:
            forget(states)


def _keep(states: StateStore) -> None:
    """Do nothing: an engine that somebody else wrote may have no ``forget``."""


def _on_read(function: Callable[..., Any], read: Callable[[Any], Any], shard: Any, *public: Any) -> Any:
    return function(read(shard), *public)


def _start(
    function: Callable[..., Any], read: Callable[[Any], Any], public: tuple[Any, ...], shard: Any
) -> NDArray[Any]:
    return function(read(shard), *public)


def _step(
    function: Sum, read: Callable[[Any], Any], shard: Any, state: NDArray[Any], *public: Any
) -> NDArray[np.int64]:
    return function(read(shard), state, *public)
