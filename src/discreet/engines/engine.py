"""What an engine is, two methods that go through shards; a task of it; and the engine of one process.

Threads, each with one shard in memory. Errors of a task say which shard, and nothing of what stood in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from threading import Lock
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet._base.progress import Callback, tell
from discreet._base.threads import count_threads, share_out
from discreet._version import __version__
from discreet.engines.state_store import Missing, StateStore, Step, StoreLimits, forget, take_step
from discreet.errors import DiscreetError, EngineError


class AnyShard(Protocol):
    """A shard, as far as an engine knows it: small, can be sent, and has a name that no other shard of a run has."""

    @property
    def name(self) -> str:
        """The name."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Goes through shards. Whatever does it, and whatever dies meanwhile, the answers are the same bytes.

    Tasks are functions that can be imported by name where they run. They must be pure: a task may be run again, or
    twice at once, and its answer counts once.
    """

    def map_sum(
        self,
        function: Callable[..., NDArray[np.int64]],
        shards: Sequence[AnyShard],
        *public: Any,
        states: StateStore | None = None,
    ) -> NDArray[np.int64]:
        """Return the sum over shards of ``function(shard, *public)``.

        Parameters
        ----------
        function : callable
            Returns an integer array, of one shape for all shards. With ``states`` it is called as
            ``function(shard, state, *public)`` and changes the state in place.
        shards : sequence
            At least one.
        *public : Any
            What goes to every shard; it travels, so it must be public.
        states : StateStore, optional
            What stays beside each shard from step to step.

        Raises
        ------
        EngineError, CorpusError
            Where a shard cannot be read, or nobody is there to work on it.
        """
        ...

    def map(self, function: Callable[..., Any], shards: Sequence[AnyShard], *public: Any) -> Iterator[Any]:
        """Yield ``function(shard, *public)`` for each shard, in their order. The answers travel."""
        ...


def run_task(
    function: Callable[..., Any],
    shard: Any,
    public: tuple[Any, ...],
    step: Step | None,
    version: str = __version__,
) -> Any:
    """Run a task of a client of this version.

    Raises
    ------
    EngineError
        Where this is another version, or the task fails in a way that nobody foresaw.
    DiscreetError
        As the task says.
    """
    if version != __version__:
        raise EngineError(
            f"a worker has discreet {__version__}, but the client has {version}: the same bytes come of the same "
            "version only; install one of them everywhere."
        )
    try:
        if step is None:
            return function(shard, *public)
        return take_step(function, shard, public, step)
    except DiscreetError as error:
        error.__context__ = error.__cause__ = None  # may hold what was read
        raise
    except MemoryError:
        fault = "there is not enough memory; write smaller shards"
    except Exception as error:  # what it says may hold what was read
        fault = f"the task failed with {type(error).__name__}"
    raise EngineError(f"shard {shard.name}: {fault}.")


def add_up(parts: list[Any]) -> Any:
    """Return the sum of some sums, all of one shape; or which shards are missing, if any."""
    missing = [part for part in parts if isinstance(part, Missing)]
    if missing:
        return Missing(tuple(name for part in missing for name in part.shards))
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


class PassProgress:
    """Tells how far a pass over shards is: in documents where shards say how many they have, else in shards.

    Parameters
    ----------
    callback : callable or None
        ``callback("documents of this pass", done, total)``, or "shards of this pass". By default what
        :func:`discreet.show_progress` says.
    shards : sequence of AnyShard
    """

    def __init__(self, callback: Callback | None, shards: Sequence[AnyShard]) -> None:
        known = all(hasattr(shard, "n_documents") for shard in shards)
        self._size: Callable[[Any], int] = attrgetter("n_documents") if known else lambda _: 1
        self._callback, self._stage = callback, f"{'documents' if known else 'shards'} of this pass"
        self._total, self._done = sum(map(self._size, shards)), 0
        self._lock = Lock()
        self._tell()

    def add(self, shard: AnyShard) -> None:
        """Say that a shard is done; several threads may say so at once."""
        with self._lock:
            self._done += self._size(shard)
            self._tell()

    def set(self, shards: Iterable[AnyShard]) -> None:
        """Say which shards are done. A cluster that lost a worker may have fewer than before."""
        self._done = max(self._done, sum(map(self._size, shards)))
        self._tell()

    def _tell(self) -> None:
        tell(self._callback, self._stage, self._done, self._total)


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
        refuse_none(shards)
        step = None if states is None else Step(states.start, states.run, states.history, self.room)
        waiting, progress = deque(shards), PassProgress(self.callback, shards)

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
                progress.add(shard)

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


def refuse_none(shards: Sequence[AnyShard]) -> None:
    """Refuse to go through no shards: a sum over them has no shape."""
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
        task = partial(_on_read, function, self.read)
        return self.engine.map_sum(task, self.shards, *public, states=states)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        """Drop what lies beside the shards, also where the end is a fault."""
        forget: Callable[[StateStore], None] | None = getattr(self.engine, "forget", None)
        if forget is not None:  # an engine that somebody else wrote may have none
            for states in self._started:
                forget(states)


def _on_read(function: Callable[..., Any], read: Callable[[Any], Any], shard: Any, *public: Any) -> Any:
    return function(read(shard), *public)


def _start(
    function: Callable[..., Any], read: Callable[[Any], Any], public: tuple[Any, ...], shard: Any
) -> NDArray[Any]:
    return function(read(shard), *public)
