r"""What the exact samplers share: scales as rationals, and filling an array block by block.

An array of draws is cut into blocks of :data:`BLOCK` draws. Block :math:`b` uses the words of block :math:`b`
of one :class:`~discreet.privacy.noise.stream.WordBlocks` and nothing else, so the array depends only on the key,
the size and the distribution: not on buffers, not on threads.

In a block, a *fast* kernel (numba, 64-bit integers) makes draw after draw from lane 0. It returns early, with
the place where the unfinished draw began, when words run out (``SHORT``) or when 64 bits do not *prove* the
outcome (``UNDECIDED``). An undecided draw is made again from its first word by the *exact* function (Python
integers with as many digits as it takes), which also says how many words the draw used; then the kernel goes
on behind it.

Rounding in the kernels
-----------------------
:func:`scaled` answers for :math:`\lfloor s y + h \rfloor`,
:math:`h` being 0 or 1/2. Let :math:`Y = \lfloor 2^g y \rfloor` and :math:`S = \lfloor 2^f s \rfloor`, both
below :math:`2^{63}`, and :math:`F = f + g`. Then

.. math:: Y S \le 2^F s y < (Y + 1)(S + 1) = Y S + (Y + S + 1),

and if both ends of that interval, plus :math:`2^F h`, have the same floor after division by :math:`2^F`, so
has everything between them. :math:`F` is from 65 to 127, so only the upper 64 bits of the 126-bit product and
one carry are needed. No intermediate wraps: the product is made of 32-bit halves, :math:`Y + S + 1 < 2^{64}`,
and the upper half is below :math:`2^{62} + 1 + 2^{62}`.
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import count_threads, share_out
from discreet._base.validate import kind_of
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.noise._exact import MAX_WORDS, Words, not_random
from discreet.privacy.noise.stream import SecureStream, WordBlocks

BLOCK = 8192
MAX_SCALE = 2**40

DONE, SHORT, UNDECIDED = 0, 1, 2

Size = int | tuple[int, ...]
#: fast(words, position, out, done) -> (done, position, status)
Fast = Callable[[NDArray[np.uint32], int, NDArray[Any], int], tuple[int, int, int]]
Exact = Callable[[Words], int]


def as_fraction(value: Any, name: str) -> Fraction:
    """Return the exact rational that a number is.

    Raises
    ------
    TypeError
        Where it is not an int, a float, a Fraction or NumPy's like.
    ParameterError
        Where it is not finite.
    """
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise ParameterError(f"{name} must be finite, but is {value}.")
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, (int, np.integer, Fraction)) and value is not True and value is not False:
        return Fraction(int(value.numerator), int(value.denominator))  # numpy's would wrap around
    raise TypeError(f"{name} must be an int, a float or a Fraction, but is {kind_of(value)}.")


def as_scale(scale: Any) -> Fraction:
    """Return a scale as a rational; ``ParameterError`` unless it is from 0 to 2**40."""
    exact = as_fraction(scale, "scale")
    if exact < 0:
        raise ParameterError("scale must be from 0 to 2^40, but is negative; give its magnitude.")
    if exact > MAX_SCALE:
        raise ParameterError(
            "scale must be at most 2^40 so that sums with noise fit 64-bit integers, but is above "
            f"2^{(exact.__ceil__() - 1).bit_length() - 1}; use a coarser lattice (fewer bits in the Bound)."
        )
    return exact


class FixedScale(NamedTuple):
    """A scale in fixed point for :func:`scaled`, for uniforms with a given number of digits."""

    multiplier: np.uint64
    shift: np.uint64
    half: np.uint64


def fixed(scale: Fraction, digits: int, *, nearest: bool) -> FixedScale:
    """Prepare :func:`scaled`: S, F - 64, and for rounding to the nearest half of 2^(F - 64).

    Parameters
    ----------
    scale : Fraction
        Above 0, at most 2**40.
    digits : int
        g: binary places of Y.
    nearest : bool
        Whether h is 1/2.
    """
    places = min(63 - scale.__floor__().bit_length(), 127 - digits)
    shift = digits + places - 64
    multiplier = (scale * (1 << places)).__floor__()
    if not (1 <= shift <= 63 and 0 <= multiplier < 2**63):  # pragma: no cover
        raise AssertionError("fixed point out of range")
    return FixedScale(np.uint64(multiplier), np.uint64(shift), np.uint64(1 << (shift - 1) if nearest else 0))


@kernel()
def scaled(y: np.uint64, multiplier: np.uint64, shift: np.uint64, half: np.uint64) -> Any:
    """Return the floor that every value in the interval has, or -1 where the two ends differ."""
    low32 = np.uint64(0xFFFFFFFF)
    by32 = np.uint64(32)
    y0, y1 = y & low32, y >> by32
    s0, s1 = multiplier & low32, multiplier >> by32
    a, b, c, d = y0 * s0, y1 * s0, y0 * s1, y1 * s1
    middle = (a >> by32) + (b & low32) + (c & low32)
    low = (a & low32) | ((middle & low32) << by32)
    high = d + (b >> by32) + (c >> by32) + (middle >> by32) + half
    carry = low > np.uint64(0xFFFFFFFFFFFFFFFF) - (y + multiplier + np.uint64(1))
    floor = high >> shift
    if carry and (high + np.uint64(1)) >> shift != floor:
        return -1
    return np.int64(floor)


def fill(
    size: Size,
    stream: SecureStream,
    purpose: str,
    fast: Fast,
    exact: Exact,
    *,
    words_per_draw: float,
    dtype: Any = np.int64,
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Fill an array with draws, block by block.

    Parameters
    ----------
    size : int or tuple of int
        Shape.
    stream : SecureStream
        One key is taken from it, whatever the size.
    purpose : str
        Part of that key.
    fast : callable
        ``fast(words, position, out, done) -> (done, position, status)``.
    exact : callable
        ``exact(words) -> value``: one draw.
    words_per_draw : float
        What to expect; how much is read at first, with no influence on the result.
    dtype : numpy dtype
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Raises
    ------
    PrivacyError
        Where a block was not filled: noise that is missing would be zeros.
    """
    shape = _shape(size)
    source = check_stream(stream).blocks(purpose)
    out = np.zeros(math.prod(shape), dtype=dtype)
    n_blocks = -(-len(out) // BLOCK)
    n_threads = min(count_threads(n_jobs), n_blocks)

    filled: dict[int, int] = {}

    def work(block: int) -> None:
        part = out[block * BLOCK : (block + 1) * BLOCK]
        filled[block] = fill_block(part, source, block, fast, exact, words_per_draw)

    if n_blocks:
        share_out(work, range(n_blocks), n_threads)
    if sum(filled.values()) != len(out):
        raise PrivacyError(
            "noise was not drawn in full, and is not given out; this is a fault of the library."
        )
    return out.reshape(shape)


def fill_block(
    out: NDArray[Any], source: WordBlocks, block: int, fast: Fast, exact: Exact, words_per_draw: float
) -> int:
    """Fill an array of at most :data:`BLOCK` draws from the words of one block; return how many were drawn."""
    done = position = base = 0
    words = source.read(block, 0, 0, int(words_per_draw * len(out) * 1.02) + 256)
    while True:
        begun = position
        done, place, status = fast(words, position - base, out, done)
        position = base + place
        if status == DONE:
            return done
        if status == UNDECIDED:
            draw = Words(source, block, position)
            out[done] = exact(draw)
            done, position = done + 1, draw.position
        elif position == begun == base and len(words) >= MAX_WORDS:
            raise not_random(f"one draw used up {MAX_WORDS} random words")
        if status == SHORT or position > base + len(words):
            stuck = position == begun == base
            expected = int(words_per_draw * (len(out) - done)) + 256
            base = position
            words = source.read(block, 0, base, MAX_WORDS if stuck else expected)


def check_stream(stream: SecureStream) -> SecureStream:
    """Return what noise can be drawn from; ``TypeError`` where it is anything else, such as a seed."""
    if not isinstance(stream, SecureStream):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"stream must be a SecureStream, but is {kind_of(stream)}; "
            "make one with SecureStream(), and spawn a child of it for each release."
        )
    return stream


def _shape(size: Size) -> tuple[int, ...]:
    sizes = size if isinstance(size, tuple) else (size,)
    shape = tuple(operator.index(n) for n in sizes)
    if any(n < 0 for n in shape):
        raise ParameterError(f"size must not be negative, but is {size}.")
    return shape


def fill_scaled(
    scale: int | float | Fraction,
    size: Size,
    stream: SecureStream,
    purpose: str,
    draw: Callable[..., tuple[int, int, int]],
    exact: Callable[[Words, Fraction], int],
    *tables: NDArray[Any],
    digits: int,
    nearest: bool,
    words_per_draw: float,
    n_jobs: int | None,
) -> NDArray[np.int64]:
    """Return draws times a scale; where that is 0 zeros, for which a key is taken all the same.

    ``draw`` is the kernel, called with its ``tables`` and the fixed scale behind what every :data:`Fast` takes;
    ``exact`` makes the same draw with as many digits as it takes. Others as for :func:`fixed` and :func:`fill`.
    """
    exact_scale = as_scale(scale)
    if exact_scale == 0:
        none = np.zeros(_shape(size), dtype=np.int64)
        check_stream(stream).blocks(
            purpose
        )  # takes a key all the same: later draws do not depend on the scale
        return none
    constants = (*tables, *fixed(exact_scale, digits, nearest=nearest))

    def fast(words: NDArray[np.uint32], position: int, out: NDArray[Any], done: int) -> tuple[int, int, int]:
        return draw(words, position, out, done, *constants)

    def slow(words: Words) -> int:
        return exact(words, exact_scale)

    return fill(size, stream, purpose, fast, slow, words_per_draw=words_per_draw, n_jobs=n_jobs)
