"""The engine of a Dask cluster: a task a shard, sums in a tree, and what lies beside a shard stays with its worker.

Public arrays of a step are sent once, as the result of a task, which the scheduler can restore, and go when the step is
done: a worker holds those of one step. Where a worker died, or an answer was lost, the task that runs again elsewhere
finds no state and says so; then the client sends the steps so far one after another for those shards, and the task
gives the same answer. Sums are added up once, at the root of the tree. Through the scheduler go names of functions and
shards, the arrays of each step and exact sums: it is trusted like a worker, and its links are to be encrypted.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._articles import kind_of
from discreet._progress import Callback
from discreet._version import __version__
from discreet.engines.beside import Beside, Missing, Room, forget
from discreet.engines.engine import Piece
from discreet.engines.tasks import PassTold, Public, Step, add_up, find_homes, hold, is_missing, run_leaf
from discreet.engines.versions import MUST_AGREE, refuse_other_versions
from discreet.errors import DiscreetError, EngineError

__all__ = ["DaskEngine"]

_FAN_IN = 8
_ATTEMPTS = 25


class _Work(NamedTuple):
    function: Callable[..., Any]
    shards: Sequence[Piece]
    public: tuple[Any, ...]
    beside: Beside | None = None


class DaskEngine:
    """Goes through shards with the workers of a Dask cluster.

    The folder of the shards must lie at the same path on all workers. Workers read the private text, so they are part
    of the curator; give the cluster TLS (``distributed.security.Security``) wherever it is more than one machine.

    Parameters
    ----------
    client : distributed.Client
        Connected. It stays the caller's: the engine closes nothing.
    memory : int, default 268435456
        Bytes a worker process may hold for what stays beside its shards; what is more goes to scratch files.
    scratch : str, optional
        Folder of scratch files on the workers; by default the system's.
    patience : float, default 60.0
        Seconds to wait where there is no worker at all.
    callback : callable, optional
        ``callback("documents of this pass", done, total)`` once a second as a pass goes on, and at its end. By
        default what :func:`discreet.show_progress` says.
    """

    def __init__(
        self,
        client: Any,
        *,
        memory: int = 2**28,
        scratch: str | None = None,
        patience: float = 60.0,
        callback: Callback | None = None,
    ) -> None:
        if not all(hasattr(client, name) for name in ("submit", "nthreads", "get_versions")):
            raise EngineError(f"client must be a distributed.Client, but is {kind_of(client)}.")
        self.client, self.room, self.patience = client, Room(memory, scratch), patience
        self.callback = callback
        self._home: dict[str, str] = {}
        self._checked: set[str] = set()
        self._found: Any = None

    def map_sum(
        self,
        function: Callable[..., NDArray[np.int64]],
        shards: Sequence[Piece],
        *public: Any,
        beside: Beside | None = None,
    ) -> NDArray[np.int64]:
        """Return the sum over shards: see :meth:`Engine.map_sum`."""
        if not shards:
            raise EngineError("there are no shards to go through.")
        total = self._persist(lambda: self._sum(_Work(function, shards, public, beside)))
        if beside is not None:
            beside.history.append(public)
        return total

    def map(self, function: Callable[..., Any], shards: Sequence[Piece], *public: Any) -> Iterator[Any]:
        """Yield an answer for each shard, in order: see :meth:`Engine.map`."""
        group = 4 * max(1, len(self._workers()))
        for start in range(0, len(shards), group):
            work = _Work(function, shards[start : start + group], public)
            yield from self._persist(
                lambda work=work: [
                    self._wait(answer) for answer in self._leaves(work, self._send(work.public))
                ]
            )

    def forget(self, beside: Beside) -> None:
        """Drop what lies beside the shards, on all workers."""
        with suppress(Exception):  # of workers that have just died; what is done must not fail for this
            self.client.run(forget, beside.run, on_error="ignore")

    def __deepcopy__(self, memo: Any) -> DaskEngine:
        return self  # scikit-learn copies parameters; a connection is not copied

    # ---- one attempt

    def _sum(self, work: _Work) -> NDArray[np.int64]:
        self._find_homes(work.shards)
        # Neighbours in the tree are shards of one worker, so that their sums need not travel.
        work = work._replace(shards=sorted(work.shards, key=lambda shard: self._home[shard.name]))
        now, told = self._send(work.public), PassTold(self.callback, work.shards)
        leaves = self._leaves(work, now)
        for _ in range(_ATTEMPTS):
            total = self._add_up(work.shards, leaves, told)
            if not isinstance(total, Missing):
                told.set(work.shards)
                return total
            lost = [place for place, shard in enumerate(work.shards) if shard.name in total.shards]
            again = work._replace(shards=[work.shards[place] for place in lost])
            self._catch_up(again)
            for place, leaf in zip(lost, self._leaves(again, now), strict=True):
                leaves[place] = leaf
        raise EngineError("workers lose what lies beside their shards again and again; look at their logs.")

    def _add_up(self, shards: Sequence[Piece], leaves: list[Any], told: PassTold) -> Any:
        sums = leaves
        while len(sums) > 1:
            groups = [sums[i : i + _FAN_IN] for i in range(0, len(sums), _FAN_IN)]
            sums = [self.client.submit(add_up, group, pure=False) for group in groups]
        return self._wait(
            sums[0],
            lambda: told.set(shard for shard, leaf in zip(shards, leaves, strict=True) if leaf.done()),
        )

    def _catch_up(self, work: _Work) -> None:
        """Take all steps so far beside some shards. Whoever asks for a state that is lost meanwhile will see."""
        assert work.beside is not None
        for n_before, past in enumerate(work.beside.history):
            leaves = self._leaves(work, self._send(past), n_before)
            for answer in [self.client.submit(is_missing, leaf, pure=False) for leaf in leaves]:
                self._wait(answer)

    def _leaves(self, work: _Work, now: Any, n_before: int | None = None) -> list[Any]:
        step: Step | None = None
        if work.beside is not None:
            n_before = len(work.beside.history) if n_before is None else n_before
            step = (work.beside.start, work.beside.run, n_before, self.room)
        self._find_homes(work.shards)
        return [
            self.client.submit(
                run_leaf,
                work.function,
                shard,
                now,
                step,
                __version__,
                pure=False,
                workers=[self._home[shard.name]],
                allow_other_workers=True,
            )
            for shard in work.shards
        ]

    def _send(self, public: tuple[Any, ...]) -> Any:
        with warnings.catch_warnings():  # that the arrays are large is known
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(hold, Public(public), pure=False)

    def _find_homes(self, shards: Sequence[Piece]) -> None:
        find_homes(self._home, [shard.name for shard in shards], self._workers())

    # ---- what can go wrong

    def _workers(self) -> dict[str, int]:
        """Return the workers and their threads, once there are any, and all of one version."""
        limit = time.monotonic() + self.patience
        while not (workers := dict(self._ask(self.client.nthreads))):
            if time.monotonic() > limit:
                raise EngineError(
                    f"the cluster has had no workers for {self.patience:g} seconds; start some and try again."
                )
            time.sleep(0.1)
        if not workers.keys() <= self._checked:
            # Where a worker dies meanwhile there is no answer; tasks look at their version, too.
            with suppress(Exception):
                found = self.client.get_versions(check=False, packages=list(MUST_AGREE))
                self._checked |= workers.keys()
                self._found = found
            if self._found is not None:
                refuse_other_versions(self._found)
        return workers

    def _persist(self, attempt: Callable[[], Any]) -> Any:
        """Try again where workers died faster than the scheduler is willing to try."""
        from distributed import KilledWorker

        for _ in range(_ATTEMPTS):
            try:
                return attempt()
            except (KilledWorker, CancelledError):
                if self.client.status != "running":
                    break
        raise EngineError(
            "the cluster lost its workers, or its scheduler, again and again; look at their logs (too little memory?)."
        )

    def _wait(self, future: Any, meanwhile: Callable[[], None] | None = None) -> Any:
        from distributed import KilledWorker
        from distributed import TimeoutError as Late

        while True:
            try:
                return future.result(timeout=1)
            except Late:
                self._workers()
                if meanwhile is not None:
                    meanwhile()
            except (DiscreetError, KilledWorker, CancelledError):
                raise
            except Exception as error:  # what it says may hold anything
                fault = type(error).__name__
                break
        raise EngineError(
            f"the cluster cannot run a task ({fault}): is discreet installed on all workers, and is the scheduler in "
            "reach?"
        )

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception as error:
            fault = type(error).__name__
        raise EngineError(f"the scheduler of the cluster does not answer ({fault}); is it still running?")
