r"""Noise that silos bring together: enough of it beside what an adversary knows.

Each of n silos adds :math:`\mathrm{round}(\mathcal N(0, s^2))` to each integer of its sum, with
:math:`s^2 = S^2 / T`; :math:`S` is what the promise takes, T the number of shares that are counted on
(:func:`shares_counted_on`).

Against whom T shares are enough
--------------------------------
Whoever took part knows its own vector, noise included, and takes it out of a sum that it sees. Let A be the silos
of the adversary, and v the silo with the document in question, not one of them. The sum of m vectors less those of A
is a sum over the others: their documents, and their noise. Those are m - \|A\| silos, and never fewer than one, for
v is one of them or its document is not in the sum. So the noise that is left has variance
:math:`\max(1, m - |A|) s^2` at least, and that is :math:`S^2` or more

* with :math:`T = n - t`, wherever \|A\| and the missing, n - m, are t at most together. That is enough towards
  the server and up to t silos (fewer by those that are missing), as long as no other silo sees the result;
* with :math:`T = \max(1, n - t - 1)`, wherever they are t + 1 at most: also towards any silo that sees the result,
  and t more in league with it. Two silos then add all the noise each. (With T = n they would be promised
  epsilon 2 and lose 2.93 to each other, at delta 1e-6.)

Where T = 1, each vector has all the noise, and the promise holds against all others and the server together.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import FLAG, Rule, check, is_whole
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.noise.gaussian import rounded_gaussian
from discreet.privacy.noise.stream import SecureStream

__all__ = ["KEPT_BACK", "add_share", "check_tolerated", "share_of_noise", "shares_counted_on"]

#: Part of delta for the distance between the sum of rounded Gaussians and one Gaussian.
KEPT_BACK = 1e-9
_LEAST = 16


def shares_counted_on(n_silos: int, tolerated: int, *, silos_see_result: bool) -> int:
    """Return T: how many silos' noise is there beside what an adversary knows. See the module for the proof.

    Parameters
    ----------
    n_silos : int
    tolerated : int
        Silos that may be missing, or in league with whom the promise is against.
    silos_see_result : bool
        Whether any silo sees the sum, or what is computed from it.
    """
    return max(1, n_silos - tolerated - bool(silos_see_result))


def check_tolerated(n_silos: int, tolerated: Any, *, silos_see_result: Any) -> None:
    """Refuse settings under which a sum of fewer than half of the silos would show less noise than is promised."""
    below = Rule(
        f"a whole number from 0 to below the {n_silos} clients",
        lambda value: is_whole(value) and 0 <= value < n_silos,
    )
    check(silos_see_result=(silos_see_result, FLAG), tolerated=(tolerated, below))
    counted_on = shares_counted_on(n_silos, int(tolerated), silos_see_result=bool(silos_see_result))
    if 2 * tolerated >= n_silos and counted_on > 1:
        raise ParameterError(
            f"tolerated must be below half of {n_silos} clients (or so many that each brings all the noise: "
            f"{n_silos - 1}), but is {tolerated}."
        )


def share_of_noise(deviation: float | Fraction, counted_on: int) -> Fraction:
    """Return s, each silo's standard deviation: counted_on * s^2 is at least deviation^2, exactly.

    Parameters
    ----------
    deviation : float or Fraction
        S: standard deviation that the sum must have, in lattice steps. 0: no noise.
    counted_on : int
        T: shares of noise that must add up to it.
    """
    if counted_on < 1:
        raise ParameterError(f"counted_on must be at least 1, but is {counted_on}.")
    exact = Fraction(deviation)
    if exact == 0:
        return exact
    share = Fraction(float(exact) / math.sqrt(counted_on))
    while share * share * counted_on < exact * exact:
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
