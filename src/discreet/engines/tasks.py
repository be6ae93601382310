"""One task, wherever it runs: errors that say which shard, and nothing of what stood in it."""

from collections.abc import Callable
from typing import Any

from discreet._version import __version__
from discreet.engines.beside import Room, take_step
from discreet.errors import DiscreetError, EngineError

__all__ = ["Step", "run_task"]

#: What a task needs to take a step: (start, run, history, room).
Step = tuple[Callable[[Any], Any], str, list[tuple[Any, ...]], Room]


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
