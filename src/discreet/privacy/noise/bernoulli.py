r"""Coins of probability p, exactly: no floating point decides an outcome.

A coin shows True where a uniform :math:`U \in (0, 1)`, whose digits are read as needed
(:mod:`discreet.privacy.noise._exact`), is below the probability. The kernel compares the first 32 digits of U with
:math:`\lfloor 2^{32} p \rfloor`. Below it, U is certainly below p; above it, certainly not. Where they are
equal, :math:`2^{32} p` being no integer, more digits of the same U are compared with more digits of p.

What would need 1,024 further digits of one uniform is refused (``PrivacyError``): with random words the
probability of that is below :math:`2^{-1000}`.

Reference
---------
Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020, arXiv:2004.00010, draws
the same coin from rational coins; one comparison per coin is faster when the probability is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.errors import ParameterError
from discreet.privacy.noise._draws import (
    BLOCK,
    DONE,
    SHORT,
    UNDECIDED,
    Fast,
    Size,
    as_fraction,
    fill,
    fill_block,
)
from discreet.privacy.noise._exact import Words
from discreet.privacy.noise.stream import SecureStream, WordBlocks


def bernoulli(
    probability: int | float | Fraction, size: Size, stream: SecureStream, *, n_jobs: int | None = None
) -> NDArray[np.bool_]:
    """Toss coins that show True with exactly the probability given.

    Parameters
    ----------
    probability : int, float or Fraction
        From 0 to 1; a float is the rational number that its bits say (``Fraction(1, 3)`` is a third, ``1 /
        3`` is not).
    size : int or tuple of int
        Shape of the result.
    stream : SecureStream
        Source of randomness; one key is taken from it, so two calls toss independent coins.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result does not depend on it.

    Returns
    -------
    array of shape ``size``, bool

    Raises
    ------
    ParameterError
        Where the probability is below 0, above 1 or not finite.
    PrivacyError
        Where the stream refuses (see :class:`~discreet.privacy.noise.stream.SecureStream`) or cannot be random.
    """
    fast, slow = _tosses(probability)
    return fill(size, stream, "bernoulli", fast, slow, words_per_draw=1.0, dtype=np.bool_, n_jobs=n_jobs)


class Coins:
    """Coins with numbers, each True with exactly the probability given: coin i is the same wherever it is tossed.

    All coins of one object, whatever their numbers, are independent of one another. It holds a key that is used for
    nothing else, and may be sent to whoever takes part in the work of whoever knows the coins: whoever has it knows
    them, too.

    Parameters
    ----------
    probability : int, float or Fraction
        As of :func:`bernoulli`.
    stream : SecureStream
        One key is taken from it.
    """

    __slots__ = ("_key", "_probability")

    def __init__(self, probability: int | float | Fraction, stream: SecureStream) -> None:
        _tosses(probability)
        self._probability, self._key = probability, stream.key("bernoulli")

    def toss(self, first: int, n: int) -> NDArray[np.bool_]:
        """Return coins ``first`` to ``first + n``, shape (n,)."""
        fast, slow = _tosses(self._probability)
        start, stop = first // BLOCK, -(-(first + n) // BLOCK)
        source, out = WordBlocks(self._key), np.zeros((stop - start, BLOCK), np.bool_)
        for row, block in enumerate(range(start, stop)):
            fill_block(out[row], source, block, fast, slow, 1.0)
        return out.ravel()[first - start * BLOCK :][:n]


def _tosses(probability: int | float | Fraction) -> tuple[Fast, Callable[[Words], int]]:
    """Return how coins are tossed, fast and slowly; each takes one word of lane 0."""
    exact = as_fraction(probability, "probability")
    if not 0 <= exact <= 1:
        raise ParameterError(f"probability must be from 0 to 1, but is {probability}.")

    # Words below `certain` are True, words from `possible` on are False, those between are undecided.
    low, high = _enclosed(exact, 32)
    certain, possible = np.uint64(low), np.uint64(high)

    def fast(words: NDArray[np.uint32], position: int, out: NDArray[Any], done: int) -> tuple[int, int, int]:
        return _compare(words, position, out, done, certain, possible)

    def slow(words: Words) -> int:
        return _exact_toss(words, exact)

    return fast, slow


@kernel()
def _compare(
    words: NDArray[np.uint32],
    position: int,
    out: NDArray[np.bool_],
    done: int,
    certain: np.uint64,
    possible: np.uint64,
) -> tuple[int, int, int]:
    """Toss coins until the output is full, the words run out or a coin is undecided."""
    while done < len(out):
        if position >= len(words):
            return done, position, SHORT
        word = np.uint64(words[position])
        if certain <= word < possible:
            return done, position, UNDECIDED
        out[done] = word < certain
        position += 1
        done += 1
    return done, position, DONE


def _exact_toss(words: Words, probability: Fraction) -> int:
    """Toss one coin, with as many digits as it takes."""
    uniform = words.uniform()
    while True:
        low, high = _enclosed(probability, uniform.bits)
        if uniform.value + 1 <= low:
            return 1
        if uniform.value >= high:
            return 0
        uniform.extend()


def _enclosed(probability: Fraction, bits: int) -> tuple[int, int]:
    """Return the integers next to 2**bits times the probability, below and above."""
    low, remainder = divmod(probability.numerator << bits, probability.denominator)
    return low, low + (remainder > 0)
