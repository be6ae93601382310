r"""The discrete Laplace distribution, exactly: no floating point decides an outcome.

.. math:: \Pr[X = m] = \frac{1 - e^{-1/s}}{1 + e^{-1/s}} e^{-|m|/s}, \qquad m \in \mathbb Z.

Guarantee
---------
Added to the coordinates of an integer vector of L1 sensitivity :math:`\Delta`: pure
:math:`(\Delta / s)`-differential privacy, since :math:`|m|` changes by at most :math:`\Delta` in sum.

Algorithm
---------
The magnitude is geometric, and a geometric number is the floor of an exponential one: for :math:`E`
exponential with mean 1, :math:`\Pr[\lfloor s E \rfloor \ge m] = \Pr[E \ge m/s] = e^{-m/s}`. A draw is a
function of uniforms in :math:`(0, 1)` whose digits are read as needed (:mod:`discreet.privacy.noise._exact`):

1. :math:`k = 0`;
2. draw :math:`x` uniform, and a random sign;
3. accept :math:`x` with probability :math:`e^{-x}`, by von Neumann's comparisons: draw
   :math:`z_1, z_2, \dots` as long as :math:`x > z_1 > z_2 > \dots`, accept if the number of successes is
   even; or else add 1 to :math:`k` and go to 2;
4. :math:`m = \lfloor s (k + x) \rfloor`; if the sign is negative and :math:`m = 0`, go to 1; return the sign
   times m.

Its cost does not depend on the scale, nor on how long the scale's numerator and denominator are.

Proof of exactness
------------------
:math:`\Pr[x > z_1 > \dots > z_n] = x^n / n!`, so step 3 accepts with
probability :math:`\sum_n (-1)^n x^n/n! = e^{-x}`, and on the whole with
:math:`\int_0^1 e^{-x} dx = 1 - e^{-1}`. So :math:`k` has probability :math:`e^{-k} (1 - e^{-1})`,
independently :math:`x` has density :math:`e^{-x} / (1 - e^{-1})`, and :math:`k + x` has density
:math:`e^{-(k + x)}`. Step 4 gives each sign half of a geometric distribution, without the second zero: the
probability of m is proportional to :math:`e^{-|m|/s}`.

Comparisons and the floor are answered only where the digits read prove them, as in
:mod:`discreet.privacy.noise.gaussian`; a draw that 64 bits leave undecided, or with :math:`k \ge 32`, is made
again from the same words with more digits of the same uniforms. A draw that would read more than 1,024
further digits of one uniform, or more than 16,384 words, is refused with a ``PrivacyError``. With random
words this has probability below :math:`2^{-1000}`: digits as for the Gaussian; words, because each attempt
(steps 2 to 4) ends the draw with probability at least :math:`(1 - e^{-1})/2 > 0.316`, while
:math:`0.684^{1850} < 2^{-1010}`; and with :math:`W` the number of words of one attempt,
:math:`\mathrm E\, 2^W \le 2^3 e^2 < 2^6`, so 1,850 attempts use more than 16,384 words with probability
below :math:`2^{6 \cdot 1850 - 16384}`.

Proof that nothing overflows
----------------------------
A draw has at most 16,384 words and an attempt uses at least 3 of them, so :math:`k < 2^{13}` and with
:math:`s \le 2^{40}` every magnitude is below :math:`2^{40} \cdot 2^{13} = 2^{53}`; it may be added to any
sum below :math:`2^{62}` in int64. In the kernel :math:`k \le 31`, so :math:`Y < 32 \cdot 2^{58} = 2^{63}`,
as :func:`~discreet.privacy.noise._draws.scaled` requires.

References
----------
Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020, arXiv:2004.00010, whose
exact sampler also draws the magnitude as a floor, but of a uniform integer below the scale's numerator plus
a geometric multiple. Exponential deviates by comparisons: von Neumann 1951; Karney, ACM TOMS 42:3, 2016,
doi:10.1145/2710016, arXiv:1303.6257. Ghosh, Roughgarden, Sundararajan, arXiv:0811.2841 (why the discrete
Laplace is private).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.privacy.noise._draws import DONE, SHORT, UNDECIDED, Size, fill_scaled, scaled
from discreet.privacy.noise._exact import Words, exact_exp, floor_scaled
from discreet.privacy.noise.stream import SecureStream

#: Values of k that the kernel decides; its other draws go the slow way.
_WHOLES = 32
#: Binary places of k + x in the kernel: 5 bits for k, 58 for x.
_DIGITS = 58
_WORDS_PER_DRAW = 6.0


def discrete_laplace(
    scale: int | float | Fraction, size: Size, stream: SecureStream, *, n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Draw two-sided geometric noise, exactly: the probability of m is proportional to exp(-abs(m) / scale).

    Parameters
    ----------
    scale : int, float or Fraction
        Sensitivity divided by epsilon, from 0 to 2**40; a float is the rational number that its bits say.
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
        Magnitudes are below 2**53.

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
    what = ("discrete_laplace", _draw, _exact_draw)
    how: Any = {"digits": _DIGITS, "nearest": False, "words_per_draw": _WORDS_PER_DRAW}
    return fill_scaled(scale, size, stream, *what, **how, n_jobs=n_jobs)


@kernel()
def _draw(
    words: NDArray[np.uint32],
    position: int,
    out: NDArray[np.int64],
    done: int,
    multiplier: np.uint64,
    shift: np.uint64,
    half: np.uint64,
) -> tuple[int, int, int]:
    """Make draws until the output is full, the words run out or a draw is undecided."""
    n_words = len(words)
    start = position
    k = 0
    while done < len(out):
        if k == _WHOLES:
            return done, start, UNDECIDED
        if position + 2 > n_words:
            return done, start, SHORT
        x = np.int64(words[position])
        rest = words[position + 1]
        position += 2
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
            k += 1
            continue
        digits = (np.uint64(x) << np.uint64(26)) | (np.uint64(rest) >> np.uint64(6))
        magnitude = scaled((np.uint64(k) << np.uint64(_DIGITS)) | digits, multiplier, shift, half)
        if magnitude < 0:
            return done, start, UNDECIDED
        k = 0
        negative = rest & np.uint32(1)
        if negative and magnitude == 0:
            continue
        out[done] = -magnitude if negative else magnitude
        done += 1
        start = position
    return done, position, DONE


def _exact_draw(words: Words, scale: Fraction) -> int:
    """Make one draw, with as many digits as it takes."""
    k = 0
    while True:
        x, negative = words.uniform_and_sign()
        if not exact_exp(words, x):
            k += 1
            continue
        magnitude = floor_scaled(scale, k, x, Fraction(0))
        k = 0
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude
