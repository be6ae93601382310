"""What numpy's arrays in files say of themselves, before memory is asked for: a few bytes may promise gigabytes."""

from typing import IO, Any

import numpy as np

__all__ = ["read_header"]


def read_header(raw: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the kind of numbers of an array that begins here."""
    of_version = np.lib.format.read_array_header_1_0
    if np.lib.format.read_magic(raw) != (1, 0):
        of_version = np.lib.format.read_array_header_2_0
    shape, _, kind = of_version(raw)
    return shape, kind
