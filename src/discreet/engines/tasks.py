"""One task, wherever it runs: errors that say which shard, and nothing of what stood in it."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from threading import Lock
from typing import Any

from discreet._progress import Callback, tell
from discreet._version import __version__
from discreet.engines.beside import Missing, Room, take_step
from discreet.engines.engine import Piece
from discreet.errors import DiscreetError, EngineError

__all__ = ["PassTold", "Public", "Step", "add_up", "find_homes", "hold", "is_missing", "run_leaf", "run_task"]

#: What a task needs to take a step: (start, run, steps before it or their number, room).
Step = tuple[Callable[[Any], Any], str, Sequence[tuple[Any, ...]] | int, Room]


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


class Public:
    """Arrays in a box, in which a scheduler does not look for futures."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


def hold(public: Public) -> Public:
    """Keep public arrays as the result of a task, which can be restored."""
    return public


def run_leaf(
    function: Callable[..., Any], shard: Any, public: Public, step: Step | None, version: str
) -> Any:
    """Run a task of a cluster."""
    return run_task(function, shard, public.values, step, version)


def is_missing(answer: Any) -> bool:
    """Say whether a step was not taken."""
    return isinstance(answer, Missing)


def add_up(parts: list[Any]) -> Any:
    """Return the sum of some sums, all of one shape; or which shards are missing, if any."""
    missing = [part for part in parts if is_missing(part)]
    if missing:
        return Missing(tuple(name for part in missing for name in part.shards))
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def find_homes(homes: dict[str, str], names: list[str], workers: dict[str, int]) -> None:
    """Give each shard a worker in ``homes``: the one it had, or the one with the least to do for a thread of it."""
    load = dict.fromkeys(workers, 0)
    for name in names:
        if homes.get(name) in load:
            load[homes[name]] += 1
    for name in names:
        if homes.get(name) not in load:
            homes[name] = min(load, key=lambda worker: (load[worker] + 1) / workers[worker])
            load[homes[name]] += 1


class PassTold:
    """Tells how far a pass over shards is: in documents where shards say how many they have, else in shards.

    Parameters
    ----------
    callback : callable or None
        ``callback("documents of this pass", done, total)``, or "shards of this pass". By default what
        :func:`discreet.show_progress` says.
    shards : sequence of Piece
    """

    def __init__(self, callback: Callback | None, shards: Sequence[Piece]) -> None:
        known = all(hasattr(shard, "n_documents") for shard in shards)
        self._size: Callable[[Any], int] = attrgetter("n_documents") if known else lambda _: 1
        self._callback, self._stage = callback, f"{'documents' if known else 'shards'} of this pass"
        self._total, self._done = sum(map(self._size, shards)), 0
        self._lock = Lock()
        self._tell()

    def add(self, shard: Piece) -> None:
        """Say that a shard is done; several threads may say so at once."""
        with self._lock:
            self._done += self._size(shard)
            self._tell()

    def set(self, shards: Iterable[Piece]) -> None:
        """Say which shards are done. A cluster that lost a worker may have fewer than before."""
        self._done = max(self._done, sum(map(self._size, shards)))
        self._tell()

    def _tell(self) -> None:
        tell(self._callback, self._stage, self._done, self._total)
