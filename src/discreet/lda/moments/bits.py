"""How often each pair of columns is 1 together: exact counts over rows of bits.

64 rows become one machine word for each column; a pair's count is then the sum of
``popcount(column_i & column_j)`` over words, 64 rows an instruction (512 with AVX-512). Only the upper triangle
is counted. Everything is an integer, so blocks, tiles and threads cannot change the result.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import share_out

__all__ = ["add_pair_counts"]

#: Words of one column in a block (4,096 rows); a tile of columns stays in the first cache.
_WORDS = 64
_TILE = 32


@kernel(inline="always")
def _ones(word: np.uint64) -> np.uint64:
    """Count the ones of a word (LLVM knows this form and emits its own instruction for it)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel()
def _pack(rows: NDArray[np.uint8], columns: NDArray[np.uint64]) -> None:
    """Turn up to 4,096 rows of 0/1 bytes into words, ``columns[t, w]`` holding rows 64 w to 64 w + 63."""
    n_rows, n_columns = rows.shape
    word = np.empty(n_columns, np.uint64)
    for w in range(columns.shape[1]):
        word[:] = 0
        for r in range(64 * w, min(64 * w + 64, n_rows)):
            shift = np.uint64(r - 64 * w)
            for t in range(n_columns):
                word[t] |= np.uint64(rows[r, t]) << shift
        for t in range(n_columns):
            columns[t, w] = word[t]


@kernel()
def _count(columns: NDArray[np.uint64], low: int, high: int, out: NDArray[np.int64]) -> None:
    """Add the counts of pairs (i, j), i from low to high and j >= i, to ``out``."""
    n_columns, n_words = columns.shape
    for start in range(low, n_columns, _TILE):
        stop = min(start + _TILE, n_columns)
        for i in range(low, min(high, stop)):
            for j in range(max(i, start), stop):
                total = np.uint64(0)
                for w in range(n_words):
                    total += _ones(columns[i, w] & columns[j, w])
                out[i, j] += np.int64(total)


def add_pair_counts(rows: NDArray[np.uint8], out: NDArray[np.int64], n_threads: int = 1) -> None:
    """Add how often columns i <= j are both 1 to the upper triangle of ``out``.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), uint8
        Zeros and ones only; any number of rows.
    out : array of shape (n_columns, n_columns), int64
        Changed on and above the diagonal.
    n_threads : int, default 1
    """
    n_columns = rows.shape[1]
    tiles = [(low, min(low + _TILE, n_columns)) for low in range(0, n_columns, _TILE)]
    for start in range(0, len(rows), 64 * _WORDS):
        block = np.ascontiguousarray(rows[start : start + 64 * _WORDS])
        columns = np.empty((n_columns, -(-len(block) // 64)), np.uint64)
        _pack(block, columns)

        def work(tile: tuple[int, int], columns: NDArray[np.uint64] = columns) -> None:
            _count(columns, *tile, out)

        share_out(work, tiles, n_threads)
