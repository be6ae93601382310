r"""The rounded Gaussian, :math:`\mathrm{round}(\mathcal N(0, s^2))`, exact: no floating point decides it.

Guarantee
---------
For an integer vector :math:`z`, :math:`z + \mathrm{round}(X) = \mathrm{round}(z + X)`: adding this noise is
post-processing of the continuous Gaussian mechanism with standard deviation :math:`s`, and has its privacy.

Algorithm
---------
Karney's algorithm N, which compares random digits and calculates nothing. A draw is a function of uniforms
:math:`U \in (0, 1)`, whose digits are read as needed (:mod:`discreet.privacy.noise._exact`):

1. draw :math:`k = 0, 1, 2, \dots` with probability :math:`c_{k+1} - c_k`, where
   :math:`c_j = \sum_{i<j} e^{-i^2/2} / \sum_i e^{-i^2/2}`, by finding :math:`c_k \le U < c_{k+1}`;
2. draw :math:`x` uniform, and a random sign;
3. :math:`k` times: accept with probability :math:`e^{-x}`, or go back to 1;
4. accept with probability :math:`e^{-x^2/2}`, or go back to 1;
5. return the sign times :math:`\lfloor s (k + x) + 1/2 \rfloor`.

Steps 3 and 4 are von Neumann's: draw :math:`z_1, z_2, \dots` as long as :math:`x > z_1 > z_2 > \dots`, in
step 4 also as long as a further uniform :math:`r_n < x/2`; accept if the number :math:`n` of successes is
even.

Proof of exactness
------------------
:math:`\Pr[x > z_1 > \dots > z_n] = x^n/n!`, so step 3 accepts with probability
:math:`\sum_n (-1)^n x^n / n! = e^{-x}`, and step 4, where each success also asks for
:math:`r_n < x/2`, with :math:`\sum_n (-1)^n (x \cdot x/2)^n / n! = e^{-x^2/2}`. The accepted :math:`(k, x)`
so have density proportional to :math:`e^{-k^2/2} \cdot e^{-kx} \cdot e^{-x^2/2} = e^{-(k+x)^2/2}`:
:math:`k + x` is half-normal, and with the sign it is :math:`\mathcal N(0, 1)`. Step 5 rounds :math:`s` times
it to the nearest integer (ties have probability zero).

The kernel sees the first 32 digits of each uniform (63 of :math:`x`). Each comparison is made of intervals
and answered only if it holds for all numbers in them; so is the rounding (:mod:`discreet.privacy.noise._draws`).
Otherwise, and for :math:`k \ge 6`, :func:`_exact_draw` makes the same draw from the same words, with more
digits of the same uniforms. Thresholds :math:`c_j` are enclosed by integers with directed rounding, to as
many digits as needed. The distribution is therefore exact for uniform random words, and ChaCha20's words
cannot be told from those by any known means.

A draw that would read more than 1,024 further digits of one uniform, or more than 16,384 words, is refused
with a ``PrivacyError``. With random words this has probability below :math:`2^{-1000}`. A comparison of
uniforms with 1,056 digits is undecided with probability below :math:`2^{-1050}`, and the rounding, of
:math:`s x` with 1,087 digits of :math:`x`, with less than :math:`2^{-1040}`. An attempt (steps 1 to 4) is
accepted with probability :math:`\sqrt{\pi/2} / \sum_i e^{-i^2/2} > 0.71`, so more than 600 of them have
probability below :math:`0.29^{600} < 2^{-1071}`; and if :math:`W` is the number of words of one attempt,
:math:`\mathrm E\, 2^W \le 2^5 e^2 \sum_k \Pr[k] (2 e^2)^k < 2^{14}`, so by Markov's inequality 600 attempts
use more than 16,384 words with probability below :math:`2^{14 \cdot 600 - 16384} = 2^{-7984}`.

Proof that nothing overflows
----------------------------
:math:`1 - c_k > 2^{-1056}` is needed for :math:`k` to be found within the digits allowed, and
:math:`1 - c_{39} < e^{-39^2/2} < 2^{-1097}`, so :math:`k \le 39`; with :math:`s \le 2^{40}` every value is at
most :math:`2^{40} \cdot 40 + 1 < 2^{46}` in magnitude, and may be added to any sum below :math:`2^{62}` in
int64. In the kernel :math:`k \le 5`, so :math:`Y < 6 \cdot 2^{60} < 2^{63}`, as
:func:`~discreet.privacy.noise._draws.scaled` requires.

References
----------
Karney, "Sampling exactly from the normal distribution", ACM TOMS 42:3, 2016, doi:10.1145/2710016,
arXiv:1303.6257. Its step N4 is one test of :math:`e^{-x(2k+x)/2}` in k + 1 equal parts, here split as steps 3
and 4; its steps N1 and N2 draw the k of step 1 by rejection.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.privacy.noise._draws import DONE, SHORT, UNDECIDED, Size, fill_scaled, scaled
from discreet.privacy.noise._exact import (
    Uniform,
    Words,
    exact_exp,
    exp_bounds,
    floor_scaled,
    less,
    not_random,
)
from discreet.privacy.noise.stream import SecureStream

#: Values of k that the kernel decides; its other draws go the slow way.
_TABLE = 6
#: Binary places of y in the kernel: 3 bits for k, 60 for x.
_DIGITS = 60
_LARGEST_K = 39
_WORDS_PER_DRAW = 7.4


def rounded_gaussian(
    scale: int | float | Fraction, size: Size, stream: SecureStream, *, n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Draw normal noise rounded to the nearest integer, exactly.

    Parameters
    ----------
    scale : int, float or Fraction
        Standard deviation before rounding, from 0 to 2**40; a float is the rational number that its bits say.
        0 gives zeros.
    size : int or tuple of int
        Shape of the result.
    stream : SecureStream
        Source of randomness; one key is taken from it, so two calls draw independent noise.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result does not depend on it.

    Returns
    -------
    array of shape ``size``, int64
        Magnitudes are below 2**46.

    Raises
    ------
    ParameterError
        Where the scale is negative, not finite or above 2**40.
    PrivacyError
        Where the stream refuses (see :class:`~discreet.privacy.noise.stream.SecureStream`) or cannot be random.

    Notes
    -----
    The time that a draw takes depends on its value: do not let an adversary time single draws.
    """
    what = ("rounded_gaussian", _draw, _exact_draw, _thresholds())
    how: Any = {"digits": _DIGITS, "nearest": True, "words_per_draw": _WORDS_PER_DRAW}
    return fill_scaled(scale, size, stream, *what, **how, n_jobs=n_jobs)


@cache
def _cumulative(j: int, bits: int) -> tuple[int, int]:
    """Enclose ``2**bits * c_j`` between two integers."""
    extra = bits + 16
    terms = [exp_bounds(Fraction(i * i, 2), extra) for i in range(max(j, 2) + int((2 * extra) ** 0.5) + 2)]
    # All that is left out, e^(-n^2/2) (1 + e^(-n-1/2) + ...), is less than twice its first term.
    left_out = 2 * exp_bounds(Fraction(len(terms) ** 2, 2), extra)[1]
    low, high = sum(term[0] for term in terms[:j]), sum(term[1] for term in terms[:j])
    all_low, all_high = sum(term[0] for term in terms), sum(term[1] for term in terms) + left_out
    return (low << bits) // all_high, -((-high << bits) // all_low)


@cache
def _thresholds() -> NDArray[np.uint32]:
    """Return floor(2^32 c_j) for j = 1 to 6; both ends of the enclosure must agree on it."""
    bounds = [_cumulative(j, 96) for j in range(1, _TABLE + 1)]
    if any(low >> 64 != high >> 64 for low, high in bounds):  # pragma: no cover
        raise AssertionError("thresholds are not certain")
    table = np.array([low >> 64 for low, _ in bounds], dtype=np.uint32)
    table.flags.writeable = False
    return table


@kernel()
def _draw(
    words: NDArray[np.uint32],
    position: int,
    out: NDArray[np.int64],
    done: int,
    thresholds: NDArray[np.uint32],
    multiplier: np.uint64,
    shift: np.uint64,
    half: np.uint64,
) -> tuple[int, int, int]:
    """Make draws until the output is full, the words run out or a draw is undecided."""
    n_words = len(words)
    while done < len(out):
        start = position
        k, x, rest = 0, np.int64(0), np.uint32(0)
        accepted = False
        while not accepted:
            if position + 3 > n_words:
                return done, start, SHORT
            chooser = words[position]
            k = 0
            while k < _TABLE and chooser > thresholds[k]:
                k += 1
            if k == _TABLE or chooser == thresholds[k]:
                return done, start, UNDECIDED
            x = np.int64(words[position + 1])
            rest = words[position + 2]
            position += 3
            accepted = True
            for _ in range(k):
                y, even = x, True
                while True:
                    if position >= n_words:
                        return done, start, SHORT
                    z = np.int64(words[position])
                    position += 1
                    if z == y:
                        return done, start, UNDECIDED
                    if z > y:
                        break
                    y, even = z, not even
                if not even:
                    accepted = False
                    break
            if not accepted:
                continue
            y = x
            while True:
                if position + 2 > n_words:
                    # A word too many may be asked for at the very end of a buffer; the next buffer has it.
                    return done, start, SHORT
                z = np.int64(words[position])
                position += 1
                if z == y:
                    return done, start, UNDECIDED
                if z > y:
                    break
                # r < x/2: the first 32 digits leave 2r in [2r, 2r + 2) and x in [x, x + 1).
                twice = 2 * np.int64(words[position])
                position += 1
                if twice >= x + 1:
                    break
                if twice + 2 > x:
                    return done, start, UNDECIDED
                y, accepted = z, not accepted
        digits = (np.uint64(x) << np.uint64(28)) | (np.uint64(rest) >> np.uint64(4))
        magnitude = scaled((np.uint64(k) << np.uint64(_DIGITS)) | digits, multiplier, shift, half)
        if magnitude < 0:
            return done, start, UNDECIDED
        out[done] = -magnitude if rest & np.uint32(1) else magnitude
        done += 1
    return done, position, DONE


def _exact_draw(words: Words, scale: Fraction) -> int:
    """Make one draw, with as many digits as it takes."""
    while True:
        k = _exact_k(words.uniform())
        x, negative = words.uniform_and_sign()
        if all(exact_exp(words, x) for _ in range(k)) and _exact_half_square(words, x):
            magnitude = floor_scaled(scale, k, x, Fraction(1, 2))
            return -magnitude if negative else magnitude


def _exact_k(chooser: Uniform) -> int:
    """Return the k for which the uniform is between c_k and c_(k+1)."""
    for k in range(_LARGEST_K + 1):
        while True:
            low, high = _cumulative(k + 1, chooser.bits + 32)
            unit = 1 << 32
            if (chooser.value + 1) * unit <= low:
                return k
            if chooser.value * unit >= high:
                break
            chooser.extend()
    raise not_random(f"a normal draw was beyond {_LARGEST_K} standard deviations")


def _exact_half_square(words: Words, x: Uniform) -> bool:
    """Return True with probability exp(-x^2 / 2)."""
    y, even = x, True
    while less(z := words.uniform(), y) and less(words.uniform(), x, factor=2):
        y, even = z, not even
    return even
