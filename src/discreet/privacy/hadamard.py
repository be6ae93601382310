"""Kernels of codebooks: the Hadamard transform of Sylvester, scores, and sums of codewords. All in whole numbers."""

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel

__all__ = ["add", "of_rank", "scores", "transform"]


@kernel()
def transform(values: NDArray[np.int64]) -> None:
    """Multiply by the Hadamard matrix, in place."""
    half = 1
    while half < len(values):
        for start in range(0, len(values), 2 * half):
            for i in range(start, start + half):
                a, b = values[i], values[i + half]
                values[i], values[i + half] = a + b, a - b
        half *= 2


@kernel()
def scores(turned: NDArray[np.int64], signs: NDArray[np.uint8], n_codewords: int) -> NDArray[np.int64]:
    """Return <u_i, y>: row i of the matrix sees only the low digits of a place, so places fold first."""
    out = np.zeros(n_codewords, np.int64)
    for t in range(len(turned)):
        sign = 1 - 2 * np.int64((signs[t >> 3] >> (t & 7)) & 1)
        out[t & (n_codewords - 1)] += sign * turned[t]
    transform(out)
    return out


@kernel()
def of_rank(values: NDArray[np.int64], rank: int) -> int:
    """Return which score has that rank, 0 the highest; of equal ones the first comes first."""
    value = np.partition(values, len(values) - 1 - rank)[len(values) - 1 - rank]
    left = rank
    for i in range(len(values)):
        if values[i] > value:
            left -= 1
    for i in range(len(values)):
        if values[i] == value:
            if left == 0:
                return i
            left -= 1
    return -1


@kernel()
def add(words: NDArray[np.int64], signs: NDArray[np.uint8], index: int, n_codewords: int) -> None:
    """Add one codeword's signs."""
    row = np.zeros(n_codewords, np.int64)
    row[index] = 1
    transform(row)
    for t in range(len(words)):
        sign = 1 - 2 * np.int64((signs[t >> 3] >> (t & 7)) & 1)
        words[t] += sign * row[t & (n_codewords - 1)]
