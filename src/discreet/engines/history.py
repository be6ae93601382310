"""The steps that a run has taken, of which large arrays go to a scratch file once they are many.

Every step's public arguments are kept, because a state that is lost is made anew from all of them. Of a long chain
that is a table a sweep: gigabytes, which are read again only after a loss. So beyond a limit they lie in one unnamed
file, which ends with the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, MutableSequence
from contextlib import suppress
from threading import Lock
from typing import IO, Any, NamedTuple, overload
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineError

__all__ = ["History", "put_on_scratch"]

_SMALL = 1 << 12

Step = tuple[Any, ...]


class _OnDisk(NamedTuple):
    offset: int
    shape: tuple[int, ...]
    kind: Any


class History(MutableSequence[Step]):
    """Public arguments of each step taken, a tuple each.

    Parameters
    ----------
    memory : int
        Bytes of arrays to hold; what is more goes to a file.
    """

    def __init__(self, memory: int = 2**28) -> None:
        self._memory, self._held = memory, 0
        self._steps: list[Step] = []
        self._file: IO[bytes] | None = None
        self._lock = Lock()

    def insert(self, index: int, value: Step) -> None:
        """Put a step before another."""
        self._steps.insert(index, self._put_away(value))

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | MutableSequence[Step]:
        if isinstance(index, slice):
            return [self._fetch(step) for step in self._steps[index]]
        return self._fetch(self._steps[index])

    @overload
    def __setitem__(self, index: int, value: Step) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Step]) -> None: ...
    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(index, slice):
            self._steps[index] = [self._put_away(step) for step in value]
        else:
            self._steps[index] = self._put_away(value)

    def __delitem__(self, index: int | slice) -> None:
        del self._steps[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History | list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  (it changes)

    def _put_away(self, step: Step) -> Step:
        size = sum(value.nbytes for value in step if isinstance(value, np.ndarray))
        if self._held + size <= self._memory:
            self._held += size
            return step
        return tuple(self._write(value) if _is_large(value) else value for value in step)

    def _write(self, array: NDArray[Any]) -> _OnDisk:
        with self._lock:
            new = self._file is None
            self._file, offset = put_on_scratch(array, "the history of a run", file=self._file)
            if new:
                finalize(self, self._file.close)
        return _OnDisk(offset, array.shape, array.dtype)

    def _fetch(self, step: Step) -> Step:
        return tuple(self._read(value) if isinstance(value, _OnDisk) else value for value in step)

    def _read(self, place: _OnDisk) -> NDArray[Any]:
        assert self._file is not None
        with self._lock:
            self._file.seek(place.offset)
            size = int(np.prod(place.shape, dtype=np.int64))
            return np.fromfile(self._file, place.kind, size).reshape(place.shape)


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes > _SMALL


def put_on_scratch(
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
