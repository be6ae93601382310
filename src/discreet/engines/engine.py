"""What an engine is, two methods that go through shards; and one task of it, wherever it runs.

Errors of a task say which shard, and nothing of what stood in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet._base.progress import Callback, tell
from discreet._version import __version__
from discreet.engines.state_store import Missing, StateStore, StoreLimits, take_step
from discreet.errors import DiscreetError, EngineError

__all__ = [
    "AnyShard",
    "Engine",
    "PassProgress",
    "Step",
    "add_up",
    "run_task",
]


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


#: What a task needs to take a step: (start, run, steps before it or their number, room).
Step = tuple[Callable[[Any], Any], str, Sequence[tuple[Any, ...]] | int, StoreLimits]


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
        start, run, history, room = step
        return take_step(function, start, run, shard, history, public, room)
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
