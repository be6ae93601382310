"""A growing array of int32 that becomes a NumPy array without a copy.

A list of pieces has to be joined, which needs the memory twice, and the freed pieces rarely go back to the
system. ``array.array`` grows by reallocation, which for large blocks moves pages and not bytes.
"""

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Int32Buffer"]


class Int32Buffer:
    """Numbers are appended, then taken as one array."""

    def __init__(self) -> None:
        self._held = array("i")

    def __len__(self) -> int:
        return len(self._held)

    def append(self, values: NDArray[Any]) -> None:
        """Append integers, which must fit in int32."""
        self._held.frombytes(np.ascontiguousarray(values, np.int32).data.cast("B"))

    def take(self) -> NDArray[np.int32]:
        """Return all numbers as a writable array, and start anew."""
        held, self._held = self._held, array("i")
        return np.frombuffer(held, np.int32) if len(held) else np.zeros(0, np.int32)
