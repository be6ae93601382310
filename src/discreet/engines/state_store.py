"""The state store: private arrays that stay beside a shard from step to step, where the work is done, and never travel.

A state is a pure function of its shard and of the public arrays of all steps so far. Whoever has to take step t and
does not hold the state after step t - 1 (its worker died; the step was taken already and its answer was lost) makes it
anew: the start, then all steps again. So a state needs no copies and no care. Whoever is told the number of those steps
only, and not what they were, says that the state is :class:`Missing`.

States are held in memory up to a limit, then in unnamed scratch files (``O_TMPFILE``: no other process can open them,
and they are gone when this process ends, whatever ends it).
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineError

Public = tuple[Any, ...]


def _on_scratch(array: NDArray[Any], folder: str | None) -> IO[bytes]:
    """Return an unnamed scratch file that holds an array.

    Raises
    ------
    EngineError
        Where the disk is full, or there is none.
    """
    file: IO[bytes] | None = None
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (it lives as long as what is in it)
        file.write(np.ascontiguousarray(array).data.cast("B"))
        file.flush()
        return file
    except OSError as error:
        fault = error.strerror or type(error).__name__
    with suppress(OSError):  # closing tries to write again
        if file is not None:
            file.close()
    raise EngineError(
        f"the state beside a shard cannot be put on scratch disk ({folder or tempfile.gettempdir()}): {fault}; give a "
        "larger folder (scratch=) or more memory (memory=)."
    )


#: Seconds after which the states of a run that nobody asks for are dropped; whoever asks again pays for the steps.
_STALE = 3600.0


class StateStore:
    """The states of one run, one a shard: what makes them, and the steps that were taken.

    Parameters
    ----------
    start : callable
        ``start(shard)`` returns a shard's first state, a NumPy array.

    Attributes
    ----------
    run : str
        The name of the run.
    history : list of tuple
        Public arguments of each step taken; an engine appends to it.
    """

    def __init__(self, start: Callable[[Any], NDArray[Any]]) -> None:
        self.start = start
        self.run = secrets.token_hex(8)
        self.history: list[Public] = []


class StoreLimits(NamedTuple):
    """Where states lie: bytes of memory for all of them together, and the folder of scratch files."""

    memory: int = 2**28
    scratch: str | None = None


class Step(NamedTuple):
    """What a task needs to take a step: how states begin, the run, the steps before it or their number, and limits."""

    start: Callable[[Any], NDArray[Any]]
    run: str
    before: list[Public] | int
    limits: StoreLimits


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
    function: Callable[..., NDArray[np.int64]], shard: Any, public: Public, step: Step
) -> NDArray[np.int64] | Missing:
    """Take one step beside a shard, and return its sum."""
    past = () if isinstance(step.before, int) else step.before
    n_before = step.before if isinstance(step.before, int) else len(step.before)
    key = (step.run, shard.name)
    with _guard:
        busy = _busy.setdefault(key, Lock())
    with busy:
        with _guard:
            kept = _kept.pop(key, None)  # out of the way: a step that fails leaves no half-changed state
        if kept is not None and kept.n_steps == n_before:
            state = _load(kept)
        elif n_before and isinstance(step.before, int):
            return Missing((shard.name,))
        else:
            state = step.start(shard)
            for earlier in past:
                function(shard, state, *earlier)
        total = function(shard, state, *public)
        _keep(key, n_before + 1, state, step.limits)
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


def _keep(key: tuple[str, str], n_steps: int, state: NDArray[Any], room: StoreLimits) -> None:
    with _guard:
        held = sum(kept.state.nbytes for kept in _kept.values() if isinstance(kept.state, np.ndarray))
    place: NDArray[Any] | IO[bytes] = state
    if held + state.nbytes > room.memory:
        place = _on_scratch(state, room.scratch)
    with _guard:
        _kept[key] = _Kept(n_steps, place, state.shape, state.dtype, time.monotonic())


def _load(kept: _Kept) -> NDArray[Any]:
    if isinstance(kept.state, np.ndarray):
        return kept.state
    with kept.state as file:
        file.seek(0)
        return np.fromfile(file, kept.kind).reshape(kept.shape)
