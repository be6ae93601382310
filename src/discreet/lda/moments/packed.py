"""How bits of words lie in bytes, in memory and on every wire: the first word in the lowest bit, zeros to fill up."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack_bits", "packed_width", "stray_bits", "unpack_bits"]


def packed_width(n_words: int) -> int:
    """Return how many bytes the bits of so many words take."""
    return -(-n_words // 8)


def pack_bits(bits: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack zeros and ones along the last axis."""
    return np.packbits(bits, axis=-1, bitorder="little")


def unpack_bits(packed: NDArray[np.uint8], n_words: int) -> NDArray[np.uint8]:
    """Return the zeros and ones of so many words, along the last axis."""
    return np.unpackbits(packed, axis=-1, count=n_words, bitorder="little")


def stray_bits(packed: NDArray[np.uint8], n_words: int) -> bool:
    """Whether a bit is set where no word is: such bytes are damaged."""
    used = n_words % 8
    return bool(used and (packed[..., -1] >> used).any())
