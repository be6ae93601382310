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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.progress import Callback
from discreet._base.validate import kind_of
from discreet._version import __version__
from discreet.engines.engine import AnyShard, PassProgress, add_up, refuse_none, run_task
from discreet.engines.state_store import Missing, StateStore, Step, StoreLimits, forget
from discreet.errors import DiscreetError, EngineError

#: Whose versions must agree everywhere, because the same bytes come of the same code only.
MUST_AGREE = ("discreet", "numpy", "numba")
_FAN_IN = 8
_ATTEMPTS = 25


def refuse_other_versions(found: Mapping[str, Any]) -> None:
    """Refuse a cluster in which somebody has no discreet, or other versions than the client.

    Parameters
    ----------
    found : mapping
        As ``distributed.Client.get_versions(packages=[...])`` returns it.
    """
    here = found["client"]["packages"]
    faults: list[str] = []
    for where, they in (("the scheduler", found["scheduler"]), *found["workers"].items()):
        theirs = (they or {}).get("packages", {})
        for name in MUST_AGREE:
            if they and theirs.get(name) != here[name]:
                faults.append(f"{where} has {name} {theirs.get(name) or '(none)'}, not {here[name]}")
    if faults:
        raise EngineError(
            f"the same bytes come of the same versions only: {'; '.join(faults[:5])}. Install discreet and what it "
            "stands on in the same versions everywhere."
        )


class PublicArrays:
    """Arrays in a box, in which a scheduler does not look for futures."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


def keep_public(public: PublicArrays) -> PublicArrays:
    """Keep public arrays as the result of a task, which can be restored."""
    return public


def run_leaf(
    function: Callable[..., Any], shard: Any, public: PublicArrays, step: Step | None, version: str
) -> Any:
    """Run a task of a cluster."""
    return run_task(function, shard, public.values, step, version)


def is_missing(answer: Any) -> bool:
    """Say whether a step was not taken."""
    return isinstance(answer, Missing)


def assign_workers(homes: dict[str, str], names: list[str], workers: dict[str, int]) -> None:
    """Give each shard a worker in ``homes``: the one it had, or the one with the least to do for a thread of it."""
    load = dict.fromkeys(workers, 0)
    for name in names:
        if homes.get(name) in load:
            load[homes[name]] += 1
    for name in names:
        if homes.get(name) not in load:
            homes[name] = min(load, key=lambda worker: (load[worker] + 1) / workers[worker])
            load[homes[name]] += 1


class _Work(NamedTuple):
    function: Callable[..., Any]
    shards: Sequence[AnyShard]
    public: tuple[Any, ...]
    states: StateStore | None = None


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
        self.client, self.room, self.patience = client, StoreLimits(memory, scratch), patience
        self.callback = callback
        self._home: dict[str, str] = {}
        self._checked: set[str] = set()
        self._found: Any = None

    def map_sum(
        self,
        function: Callable[..., NDArray[np.int64]],
        shards: Sequence[AnyShard],
        *public: Any,
        states: StateStore | None = None,
    ) -> NDArray[np.int64]:
        """Return the sum over shards: see :meth:`Engine.map_sum`."""
        refuse_none(shards)
        total = self._persist(lambda: self._sum(_Work(function, shards, public, states)))
        if states is not None:
            states.history.append(public)
        return total

    def map(self, function: Callable[..., Any], shards: Sequence[AnyShard], *public: Any) -> Iterator[Any]:
        """Yield an answer for each shard, in order: see :meth:`Engine.map`."""
        group = 4 * max(1, len(self._workers()))
        for start in range(0, len(shards), group):
            work = _Work(function, shards[start : start + group], public)
            yield from self._persist(
                lambda work=work: [
                    self._wait(answer) for answer in self._leaves(work, self._send(work.public))
                ]
            )

    def forget(self, states: StateStore) -> None:
        """Drop what lies beside the shards, on all workers."""
        with suppress(Exception):  # of workers that have just died; what is done must not fail for this
            self.client.run(forget, states.run, on_error="ignore")

    def __deepcopy__(self, memo: Any) -> DaskEngine:
        return self  # scikit-learn copies parameters; a connection is not copied

    # ---- one attempt

    def _sum(self, work: _Work) -> NDArray[np.int64]:
        self._find_homes(work.shards)
        # Neighbours in the tree are shards of one worker, so that their sums need not travel.
        work = work._replace(shards=sorted(work.shards, key=lambda shard: self._home[shard.name]))
        now, progress = self._send(work.public), PassProgress(self.callback, work.shards)
        leaves = self._leaves(work, now)
        for _ in range(_ATTEMPTS):
            total = self._add_up(work.shards, leaves, progress)
            if not isinstance(total, Missing):
                progress.set(work.shards)
                return total
            lost = [place for place, shard in enumerate(work.shards) if shard.name in total.shards]
            again = work._replace(shards=[work.shards[place] for place in lost])
            self._catch_up(again)
            for place, leaf in zip(lost, self._leaves(again, now), strict=True):
                leaves[place] = leaf
        raise EngineError("workers lose what lies beside their shards again and again; look at their logs.")

    def _add_up(self, shards: Sequence[AnyShard], leaves: list[Any], progress: PassProgress) -> Any:
        sums = leaves
        while len(sums) > 1:
            groups = [sums[i : i + _FAN_IN] for i in range(0, len(sums), _FAN_IN)]
            sums = [self.client.submit(add_up, group, pure=False) for group in groups]
        return self._wait(
            sums[0],
            lambda: progress.set(shard for shard, leaf in zip(shards, leaves, strict=True) if leaf.done()),
        )

    def _catch_up(self, work: _Work) -> None:
        """Take all steps so far beside some shards. Whoever asks for a state that is lost meanwhile will see."""
        assert work.states is not None
        for n_before, past in enumerate(work.states.history):
            leaves = self._leaves(work, self._send(past), n_before)
            for answer in [self.client.submit(is_missing, leaf, pure=False) for leaf in leaves]:
                self._wait(answer)

    def _leaves(self, work: _Work, now: Any, n_before: int | None = None) -> list[Any]:
        step: Step | None = None
        if work.states is not None:
            n_before = len(work.states.history) if n_before is None else n_before
            step = Step(work.states.start, work.states.run, n_before, self.room)
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
            return self.client.submit(keep_public, PublicArrays(public), pure=False)

    def _find_homes(self, shards: Sequence[AnyShard]) -> None:
        assign_workers(self._home, [shard.name for shard in shards], self._workers())

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
                self._found = self.client.get_versions(check=False, packages=list(MUST_AGREE))
                self._checked |= workers.keys()
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
