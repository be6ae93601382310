r"""Noise that clients bring together: enough of it if only ``threshold`` of them are left.

Each of the clients adds :math:`\mathrm{round}(\mathcal N(0, s^2))` to each integer of its sum, with
:math:`s^2 = S^2 / T`, T the least number of vectors that are ever added up; :math:`S` is what the promise takes.

Proof that a sum of m >= T rounded Gaussians is as good as one Gaussian of variance m s^2
----------------------------------------------------------------------------------------
Let :math:`\chi(\theta) = \operatorname{sinc}(\theta/2) e^{-s^2 \theta^2 / 2}`, the characteristic function of a
Gaussian plus a uniform on (-1/2, 1/2). Rounding is sampling that density at the integers, so by Poisson's formula the
characteristic function of one rounded Gaussian, for :math:`|\theta| \le \pi`, is
:math:`\sum_j \chi(\theta + 2 \pi j)`, which differs from :math:`\chi` by :math:`a \le 3 e^{-\pi^2 s^2 / 2}` at most.
That of the sum is its m-th power, within :math:`(1 + a)^m - 1` of :math:`\chi^m`.

Compare :math:`R = \mathrm{round}(Y + W)`, Y Gaussian of variance :math:`m s^2`, W the sum of m - 1 uniforms on (-1/2,
1/2): its characteristic function is :math:`\chi^m` plus terms below a. So each integer has the same probability under
both within :math:`2 m a`, and as all values are below :math:`2^{46} m` in magnitude, the two laws are within
:math:`2^{50} m^2 a` in total variation: below :math:`10^{-500}` for :math:`s \ge 16` and a million clients. R added to
an integer sum is post-processing of the Gaussian mechanism with variance :math:`m s^2`: :math:`z + R =
\mathrm{round}(z + Y + W)`, W independent of the data. The difference, times the number of integers, is far below the
part of delta (one billionth of it) that is kept back for it. A smaller s is refused.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.noise.gaussian import rounded_gaussian
from discreet.privacy.noise.stream import SecureStream

__all__ = ["KEPT_BACK", "add_share", "share_of_noise"]

#: Part of delta for the distance between the sum of rounded Gaussians and one Gaussian.
KEPT_BACK = 1e-9
_LEAST = 16


def share_of_noise(deviation: float | Fraction, threshold: int) -> Fraction:
    """Return s, each client's standard deviation: threshold * s^2 is at least deviation^2, exactly.

    Parameters
    ----------
    deviation : float or Fraction
        S: standard deviation that the sum must have, in lattice steps. 0: no noise.
    threshold : int
        Least number of vectors in a sum.
    """
    if threshold < 1:
        raise ParameterError(f"threshold must be at least 1, but is {threshold}.")
    exact = Fraction(deviation)
    if exact == 0:
        return exact
    share = Fraction(float(exact) / math.sqrt(threshold))
    while share * share * threshold < exact * exact:
        share *= 1 + Fraction(1, 10**15)
    if share < _LEAST:
        raise PrivacyError(
            f"each client's noise would be {float(share):.3g} steps, and {_LEAST} are needed for sums of rounded noise "
            "to be accounted as Gaussian; use a finer lattice."
        )
    return share


def add_share(values: NDArray[np.int64], share: Fraction, stream: SecureStream) -> NDArray[np.int64]:
    """Return integers with one client's share of the noise."""
    return values + rounded_gaussian(share, values.shape, stream)
