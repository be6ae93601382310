"""The state store: private arrays that stay beside a shard from step to step, where the work is done, and never travel.

A state is a pure function of its shard and of the public arrays of all steps so far. Whoever has to take step t and
does not hold the state after step t - 1 (its worker died; the step was taken already and its answer was lost) makes it
anew: the start, then all steps again. So a state needs no copies and no care. Whoever is told the number of those steps
only, and not what they were, says that the state is :class:`Missing`.

States are held in memory up to a limit, then in unnamed scratch files (``O_TMPFILE``: no other process can open them,
and they are gone when this process ends, whatever ends it). So are the public arguments of the steps: of a long chain
they are a table a sweep, gigabytes, which are read again only after a loss.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from typing import IO, Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineError

_SMALL = 1 << 12

Public = tuple[Any, ...]


class _OnDisk(NamedTuple):
    offset: int
    shape: tuple[int, ...]
    kind: Any


class History:
    """Public arguments of each step taken, a tuple each.

    Parameters
    ----------
    memory : int
        Bytes of arrays to hold; what is more goes to a file.
    """

    def __init__(self, memory: int = 2**28) -> None:
        self._memory, self._held = memory, 0
        self._steps: list[Public] = []
        self._file: IO[bytes] | None = None
        self._lock = Lock()

    def append(self, step: Public) -> None:
        """Add a step after the others."""
        self._steps.append(self._put_away(step))

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Public]:
        return map(self._fetch, self._steps)

    def _put_away(self, step: Public) -> Public:
        size = sum(value.nbytes for value in step if isinstance(value, np.ndarray))
        if self._held + size <= self._memory:
            self._held += size
            return step
        return tuple(self._write(value) if _is_large(value) else value for value in step)

    def _write(self, array: NDArray[Any]) -> _OnDisk:
        with self._lock:
            new = self._file is None
            self._file, offset = append_to_scratch(array, "the history of a run", file=self._file)
            if new:
                finalize(self, self._file.close)
        return _OnDisk(offset, array.shape, array.dtype)

    def _fetch(self, step: Public) -> Public:
        return tuple(self._read(value) if isinstance(value, _OnDisk) else value for value in step)

    def _read(self, place: _OnDisk) -> NDArray[Any]:
        assert self._file is not None
        with self._lock:
            self._file.seek(place.offset)
            size = int(np.prod(place.shape, dtype=np.int64))
            return np.fromfile(self._file, place.kind, size).reshape(place.shape)


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes > _SMALL


def append_to_scratch(
    array: NDArray[Any], what: str, *, scratch: str | None = None, file: IO[bytes] | None = None
) -> tuple[IO[bytes], int]:
    """Append an array to an unnamed scratch file, or to a new one; return the file, and where the array begins.

    Raises
    ------
    EngineError
        Where the disk is full, or there is none.
    """
    fault, offset = None, 0
    try:
        if file is None:
            file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115  (it lives as long as what is in it)
        offset = file.seek(0, 2)
        file.write(np.ascontiguousarray(array).data.cast("B"))
        file.flush()
    except OSError as error:
        fault = error.strerror or type(error).__name__
        with suppress(OSError):  # closing tries to write again
            if file is not None:
                file.close()
    if fault is not None or file is None:
        raise EngineError(
            f"{what} cannot be put on scratch disk ({scratch or tempfile.gettempdir()}): {fault}; give a larger folder "
            "(scratch=) or more memory (memory=)."
        )
    return file, offset


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
    history : History
        Public arguments of each step taken, a tuple each; an engine appends to it.
    """

    def __init__(self, start: Callable[[Any], NDArray[Any]]) -> None:
        self.start = start
        self.run = secrets.token_hex(8)
        self.history = History()


class StoreLimits(NamedTuple):
    """Where states lie: bytes of memory for all of them together, and the folder of scratch files."""

    memory: int = 2**28
    scratch: str | None = None


class Step(NamedTuple):
    """What a task needs to take a step: how states begin, the run, the steps before it or their number, and limits."""

    start: Callable[[Any], NDArray[Any]]
    run: str
    before: History | int
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
        place, _ = append_to_scratch(state, "the state beside a shard", scratch=room.scratch)
    with _guard:
        _kept[key] = _Kept(n_steps, place, state.shape, state.dtype, time.monotonic())


def _load(kept: _Kept) -> NDArray[Any]:
    if isinstance(kept.state, np.ndarray):
        return kept.state
    with kept.state as file:
        file.seek(0)
        return np.fromfile(file, kept.kind).reshape(kept.shape)
