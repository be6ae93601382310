"""The engine of a Dask cluster: a task a shard, sums in a tree, and what lies beside a shard stays with its worker.

Tasks are pure functions for the scheduler, whatever they keep: where a worker dies, or an answer is lost, the task runs
again elsewhere, makes its state anew from the public arrays of all steps so far, and gives the same answer. Those
arrays are results of tasks, too, so that the scheduler can restore them. Sums are added up once, at the root of the
tree. What goes through the scheduler is public: names of functions and shards, and the arrays of each step.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._version import __version__
from discreet.engines.beside import Beside, Room, forget
from discreet.engines.engine import Piece
from discreet.engines.tasks import run_task
from discreet.errors import DiscreetError, EngineError

__all__ = ["DaskEngine"]

_FAN_IN = 8
_ATTEMPTS = 25
_MUST_AGREE = ("discreet", "numpy", "numba")


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
    """

    def __init__(
        self, client: Any, *, memory: int = 2**28, scratch: str | None = None, patience: float = 60.0
    ) -> None:
        if not all(hasattr(client, name) for name in ("submit", "nthreads", "get_versions")):
            raise EngineError(f"client must be a distributed.Client, but is a {type(client).__name__}.")
        self.client, self.room, self.patience = client, Room(memory, scratch), patience
        self._home: dict[str, str] = {}
        self._checked: set[str] = set()
        self._steps: dict[str, list[Any]] = {}

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
        total = self._persist(lambda: self._sum(function, shards, public, beside))
        if beside is not None:
            beside.history.append(public)
        return total

    def map(self, function: Callable[..., Any], shards: Sequence[Piece], *public: Any) -> Iterator[Any]:
        """Yield an answer for each shard, in order: see :meth:`Engine.map`."""
        group = 4 * max(1, len(self._workers()))
        for start in range(0, len(shards), group):
            yield from self._persist(
                lambda part=shards[start : start + group]: self._each(function, part, public)
            )

    def forget(self, beside: Beside) -> None:
        """Drop what lies beside the shards, on all workers."""
        self._steps.pop(beside.run, None)
        self._ask(lambda: self.client.run(forget, beside.run))

    def __deepcopy__(self, memo: Any) -> "DaskEngine":
        return self  # scikit-learn copies parameters; a connection is not copied

    # ---- one attempt

    def _sum(
        self,
        function: Callable[..., Any],
        shards: Sequence[Piece],
        public: tuple[Any, ...],
        beside: Beside | None,
    ) -> NDArray[np.int64]:
        self._find_homes(shards)
        # Neighbours in the tree are shards of one worker, so that their sums need not travel.
        ordered = sorted(shards, key=lambda shard: self._home[shard.name])
        sums = self._leaves(function, ordered, public, beside)
        while len(sums) > 1:
            groups = [sums[i : i + _FAN_IN] for i in range(0, len(sums), _FAN_IN)]
            sums = [self.client.submit(_add, group, pure=False) for group in groups]
        return self._wait(sums[0])

    def _each(
        self, function: Callable[..., Any], shards: Sequence[Piece], public: tuple[Any, ...]
    ) -> list[Any]:
        return [self._wait(answer) for answer in self._leaves(function, shards, public, None)]

    def _leaves(
        self,
        function: Callable[..., Any],
        shards: Sequence[Piece],
        public: tuple[Any, ...],
        beside: Beside | None,
    ) -> list[Any]:
        now, history = self._send(public), []
        if beside is not None:
            steps = self._steps.setdefault(beside.run, [])
            steps[len(beside.history) :] = []
            steps += [self._send(past) for past in beside.history[len(steps) :]]
            history = list(steps)
            steps.append(now)
        about = None if beside is None else (beside.start, beside.run, self.room)
        self._find_homes(shards)
        return [
            self.client.submit(
                _leaf,
                function,
                shard,
                now,
                about,
                history,
                __version__,
                pure=False,
                workers=[self._home[shard.name]],
                allow_other_workers=True,
            )
            for shard in shards
        ]

    def _send(self, public: tuple[Any, ...]) -> Any:
        with warnings.catch_warnings():  # that the arrays are large is known
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(_hold, _Public(public), pure=False)

    def _find_homes(self, shards: Sequence[Piece]) -> None:
        """Give each shard to a worker: to that which had it, or to the one with the least to do."""
        workers = self._workers()
        load = dict.fromkeys(workers, 0)
        for shard in shards:
            if self._home.get(shard.name) in load:
                load[self._home[shard.name]] += 1
        for shard in shards:
            if self._home.get(shard.name) not in load:
                home = min(load, key=lambda worker: (load[worker] + 1) / workers[worker])
                self._home[shard.name] = home
                load[home] += 1

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
            self._check_versions()
            self._checked |= workers.keys()
        return workers

    def _check_versions(self) -> None:
        found = self._ask(lambda: self.client.get_versions(check=False, packages=list(_MUST_AGREE)))
        here = found["client"]["packages"]
        faults: list[str] = []
        for where, they in (("the scheduler", found["scheduler"]), *found["workers"].items()):
            theirs = (they or {}).get("packages", {})
            for name in _MUST_AGREE:
                if they and theirs.get(name) != here[name]:
                    faults.append(f"{where} has {name} {theirs.get(name) or '(none)'}, not {here[name]}")
        if faults:
            raise EngineError(
                f"the same bytes come of the same versions only: {'; '.join(faults[:5])}. Install discreet and what it "
                "stands on in the same versions everywhere."
            )

    def _persist(self, attempt: Callable[[], Any]) -> Any:
        """Try again where workers died faster than the scheduler is willing to try."""
        from distributed import KilledWorker

        for _ in range(_ATTEMPTS):
            try:
                return attempt()
            except (KilledWorker, CancelledError):
                self._steps.clear()  # what was sent may be lost, too
                if self.client.status != "running":
                    break
        raise EngineError(
            "the cluster lost its workers, or its scheduler, again and again; look at their logs (too little memory?)."
        )

    def _wait(self, future: Any) -> Any:
        from distributed import KilledWorker
        from distributed import TimeoutError as Late

        while True:
            try:
                return future.result(timeout=5)
            except Late:
                self._workers()
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


class _Public:
    """Arrays in a box, in which the scheduler does not look for futures."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


def _hold(public: _Public) -> _Public:
    return public


def _leaf(
    function: Callable[..., Any],
    shard: Any,
    public: _Public,
    about: Any,
    history: list[_Public],
    version: str,
) -> Any:
    step = None if about is None else (about[0], about[1], [past.values for past in history], about[2])
    return run_task(function, shard, public.values, step, version)


def _add(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
