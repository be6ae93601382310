"""What stays beside a shard from step to step, and never travels: private arrays, kept where the work is done.

A state is a pure function of its shard and of the public arrays of all steps so far. Whoever has to take step t and
does not hold the state after step t - 1 (its worker died; the step was taken already and its answer was lost) makes it
anew: the start, then all steps again. So a state needs no copies and no care. Whoever is told the number of those steps
only, and not what they were, says that the state is :class:`Missing`.

States are held in memory up to a limit, then in unnamed scratch files (``O_TMPFILE``: no other process can open them,
and they are gone when this process ends, whatever ends it).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.engines.history import History, put_on_scratch

__all__ = ["Beside", "Missing", "Room", "forget", "take_step"]

#: Seconds after which the states of a run that nobody asks for are dropped; whoever asks again pays for the steps.
_STALE = 3600.0


class Beside:
    """The states of one run, one a shard: what makes them, and the steps that were taken.

    Parameters
    ----------
    start : callable
        ``start(shard)`` returns a shard's first state, a NumPy array.

    Attributes
    ----------
    run : str
        The name of the run.
    history : History
        Public arguments of each step taken, a tuple each; an engine appends to it.
    """

    def __init__(self, start: Callable[[Any], NDArray[Any]]) -> None:
        self.start = start
        self.run = secrets.token_hex(8)
        self.history = History()


class Room(NamedTuple):
    """Where states lie: bytes of memory for all of them together, and the folder of scratch files."""

    memory: int = 2**28
    scratch: str | None = None


class Missing(NamedTuple):
    """What comes of a step that was not taken: the names of shards whose states are not at hand."""

    shards: tuple[str, ...]


class _Kept(NamedTuple):
    n_steps: int
    state: NDArray[Any] | IO[bytes]
    shape: tuple[int, ...]
    kind: Any
    used: float


_kept: dict[tuple[str, str], _Kept] = {}
_busy: dict[tuple[str, str], Lock] = {}
_guard = Lock()


def take_step(
    function: Callable[..., NDArray[np.int64]],
    start: Callable[[Any], NDArray[Any]],
    run: str,
    shard: Any,
    history: Sequence[tuple[Any, ...]] | int,
    public: tuple[Any, ...],
    room: Room,
) -> NDArray[np.int64] | Missing:
    """Take one step beside a shard, after those of ``history`` (or so many), and return its sum."""
    n_before = history if isinstance(history, int) else len(history)
    key = (run, shard.name)
    with _guard:
        busy = _busy.setdefault(key, Lock())
    with busy:
        with _guard:
            kept = _kept.pop(key, None)  # out of the way: a step that fails leaves no half-changed state
        if kept is not None and kept.n_steps == n_before:
            state = _load(kept)
        elif n_before and isinstance(history, int):
            return Missing((shard.name,))
        else:
            state = start(shard)
            for past in () if isinstance(history, int) else history:
                function(shard, state, *past)
        total = function(shard, state, *public)
        _keep(key, n_before + 1, state, room)
    return total


def forget(run: str) -> None:
    """Drop all states of a run, and those of runs that nobody asked for in an hour."""
    limit = time.monotonic() - _STALE
    with _guard:
        for key in [key for key, kept in _kept.items() if key[0] == run or kept.used < limit]:
            kept = _kept.pop(key)
            _busy.pop(key, None)
            if not isinstance(kept.state, np.ndarray):
                kept.state.close()


def _keep(key: tuple[str, str], n_steps: int, state: NDArray[Any], room: Room) -> None:
    with _guard:
        held = sum(kept.state.nbytes for kept in _kept.values() if isinstance(kept.state, np.ndarray))
    place: NDArray[Any] | IO[bytes] = state
    if held + state.nbytes > room.memory:
        place, _ = put_on_scratch(state, "the state beside a shard", scratch=room.scratch)
    with _guard:
        _kept[key] = _Kept(n_steps, place, state.shape, state.dtype, time.monotonic())


def _load(kept: _Kept) -> NDArray[Any]:
    if isinstance(kept.state, np.ndarray):
        return kept.state
    with kept.state as file:
        file.seek(0)
        return np.fromfile(file, kept.kind).reshape(kept.shape)
