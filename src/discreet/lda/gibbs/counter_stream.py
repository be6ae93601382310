r"""Counter-based random words: one stream for each (seed, sweep, document), whoever computes it and when.

The i-th word of a stream that starts at s is SplitMix64's :math:`\mathrm{mix}(s + (i + 1) g) \bmod 2^{64}`,
:math:`g = \lfloor 2^{64} / \varphi \rfloor`; mix is a bijection with full avalanche. Nothing is shared and
nothing has to be advanced in order: the same chain comes out for any number of threads.

Guarantee: none. These words are fast and reproducible, not secret: whoever knows the seed knows them all. Where
a draw is part of a privacy promise, hand secure words to the sweep instead (``bits`` in ``frozen_sweep``).

Reference
---------
Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, doi:10.1145/2660193.2660195.
"""

from typing import Any

import numpy as np
from numba import config, njit, uint64
from numpy.typing import NDArray

__all__ = [
    "GOLDEN",
    "JIT",
    "mix",
    "new_seed",
    "plain_mix",
    "plain_stream_at",
    "random_halves",
    "stream_at",
    "sweep_key",
]

#: Whether kernels are compiled; NUMBA_DISABLE_JIT=1 runs them as plain Python.
JIT: bool = not config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]

GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = 2**64 - 1


def _mix(x: int) -> int:
    x &= _MASK
    x = (x ^ (x >> 30)) * _FIRST & _MASK
    x = (x ^ (x >> 27)) * _SECOND & _MASK
    return x ^ (x >> 31)


# forceinline puts machine code into the caller; inline="always" would put source there, and callers compile slowly.
@njit(forceinline=True)
def _compiled_mix(x: Any) -> Any:
    x = uint64(x)
    x ^= x >> uint64(30)
    x *= uint64(_FIRST)
    x ^= x >> uint64(27)
    x *= uint64(_SECOND)
    x ^= x >> uint64(31)
    return x


@njit(forceinline=True)
def _compiled_stream_at(start: Any, i: Any) -> Any:
    return _compiled_mix(uint64(start) + (uint64(i) + uint64(1)) * uint64(GOLDEN))


def plain_mix(x: Any) -> Any:
    """Do what ``mix`` does without a compiler: Python integers do not wrap round, and NumPy's warn when they do."""
    return np.uint64(_mix(int(x)))


def plain_stream_at(start: Any, i: Any) -> Any:
    """Do what ``stream_at`` does without a compiler."""
    return np.uint64(_mix(int(start) + (int(i) + 1) * GOLDEN))


#: ``mix(x)``: scramble 64 bits; a bijection.
mix: Any = _compiled_mix if JIT else plain_mix
#: ``stream_at(start, i)``: the i-th word, uint64, of the stream that begins at ``start``.
stream_at: Any = _compiled_stream_at if JIT else plain_stream_at


def sweep_key(seed: int, sweep: int) -> np.uint64:
    """Return the key of one sweep; document d's stream begins at ``mix(key ^ mix(d))``.

    Parameters
    ----------
    seed : int
        0 to 2**64 - 1.
    sweep : int
        Number of the sweep; every use of randomness within a chain has its own.
    """
    return np.uint64(_mix(_mix(seed) + (sweep + 1) * GOLDEN))


def random_halves(n: int, start: np.uint64, first: int = 0) -> NDArray[np.uint64]:
    """Return random numbers ``first`` to ``first + n``, of 32 bits; the i-th depends on (start, i) only."""
    x = np.arange(first + 1, first + n + 1, dtype=np.uint64)
    x *= np.uint64(GOLDEN)
    x += start
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x >>= np.uint64(32)
    return x


def new_seed(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` into a seed of 63 bits.

    ``None`` asks the operating system, an integer is taken as it is, a ``RandomState`` or ``Generator`` is
    drawn from. There is no global state.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) >> 1
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return int(random_state) & (2**63 - 1)
