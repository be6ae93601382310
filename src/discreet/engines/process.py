"""The engine of one process: threads, each with one shard in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback
from discreet._threads import count_threads, share_out
from discreet.engines.beside import Beside, Room, forget
from discreet.engines.engine import Piece
from discreet.engines.tasks import PassTold, Step, add_up, run_task
from discreet.errors import EngineError

__all__ = ["ProcessEngine"]


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
        self.n_jobs, self.room, self.callback = n_jobs, Room(memory, scratch), callback
        count_threads(n_jobs)

    def map_sum(
        self,
        function: Callable[..., NDArray[np.int64]],
        shards: Sequence[Piece],
        *public: Any,
        beside: Beside | None = None,
    ) -> NDArray[np.int64]:
        """Return the sum over shards: see :meth:`Engine.map_sum`."""
        _refuse_none(shards)
        step: Step | None = None
        if beside is not None:
            step = (beside.start, beside.run, beside.history, self.room)
        waiting, told = deque(shards), PassTold(self.callback, shards)

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
        if beside is not None:
            beside.history.append(public)
        return add_up(parts)

    def map(self, function: Callable[..., Any], shards: Sequence[Piece], *public: Any) -> Iterator[Any]:
        """Yield an answer for each shard, in order: see :meth:`Engine.map`."""
        n_threads = count_threads(self.n_jobs)
        for start in range(0, len(shards), n_threads):
            group = shards[start : start + n_threads]
            yield from share_out(lambda shard: run_task(function, shard, public, None), group, n_threads)

    def forget(self, beside: Beside) -> None:
        """Drop what lies beside the shards."""
        forget(beside.run)

    def __deepcopy__(self, memo: Any) -> ProcessEngine:
        return self


def _refuse_none(shards: Sequence[Piece]) -> None:
    if not shards:
        raise EngineError("there are no shards to go through.")
