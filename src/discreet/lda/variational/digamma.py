r"""exp(digamma(x)) without a call to a library: the weight of a topic under its variational Dirichlet.

For the eight steps of the recurrence :math:`\psi(x) = \psi(x + 8) - \sum_{j<8} 1/(x + j)` the reciprocals are one
quotient of two polynomials in :math:`t = x(x + 7)`, all of whose coefficients are positive, so nothing
cancels; and far from the origin :math:`e^{\psi}` itself, not only :math:`\psi`, has an asymptotic series,

.. math:: e^{\psi(y + 1/2)} \sim y \left(1 + \frac{1}{24 y^2} - \frac{37}{5760 y^4} + \dots\right).

What is left is one exponential of a number that is not positive. There is no branch and no table, so a loop
over topics becomes vector code, with the same result in every lane.

Relative error is under 5e-15 for x from 0.1 on; below that it grows with the exponent (:math:`e^{-1/x}`),
to 2e-13. Where :math:`\psi(x) < -700`, that is x below about 0.00143, the result is clamped near 1e-304.

Reference
---------
Bernardo, "Algorithm AS 103: psi (digamma) function", 1976, doi:10.2307/2347257 (recurrence, then series).
The series of the exponential: the digamma series at y + 1/2, exponentiated with exact fractions.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel

__all__ = ["exp_digamma", "exp_digamma_into"]

# Coefficients of (1/y^2)^k, k = 1 to 8, from exact fractions.
_C1 = 1 / 24
_C2 = -37 / 5760
_C3 = 10313 / 2903040
_C4 = -5509121 / 1393459200
_C5 = 2709398569 / 367873228800
_C6 = -0.020734675824368137
_C7 = 0.08238185223878776
_C8 = -0.43960443686008127

_PER_LN2 = 1 / math.log(2)
# ln 2 in two parts; the first has its last 32 bits zero, so that a multiple of it is exact.
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
# Adding and subtracting this rounds to a whole number, and leaves that number in the low bits.
_ROUND = 6755399441055744.0
_LOWEST = -700.0


@kernel(error_model="numpy", inline="always")
def _exp_of_negative(x: float) -> float:
    """exp(x) for x from -700 to 0: 2**n times a Taylor polynomial on half an octave."""
    shifted = x * _PER_LN2 + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = 1 / 6227020800
    p = p * r + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    power = np.int64(bits).view(np.float64)
    return p * power


@kernel(error_model="numpy", inline="always")
def exp_digamma(x: float) -> float:
    """Return exp(digamma(x)) for one x > 0 (at most 1e30)."""
    t = x * (x + 7.0)
    above = ((4.0 * t + 84.0) * t + 504.0) * t + 720.0
    below = (((t + 28.0) * t + 252.0) * t + 720.0) * t
    reciprocals = -((2.0 * x + 7.0) * above) / below
    reciprocals = reciprocals if reciprocals > _LOWEST else _LOWEST
    y = x + 7.5
    z = 1.0 / (y * y)
    series = _C8
    series = series * z + _C7
    series = series * z + _C6
    series = series * z + _C5
    series = series * z + _C4
    series = series * z + _C3
    series = series * z + _C2
    series = series * z + _C1
    series = series * z + 1.0
    return (y * series) * _exp_of_negative(reciprocals)


@kernel(error_model="numpy")
def exp_digamma_into(x: NDArray[np.float64], n: int, out: NDArray[np.float64]) -> None:
    """Write exp(digamma(x[k])) to out[k] for k < n."""
    for k in range(n):
        out[k] = exp_digamma(x[k])
