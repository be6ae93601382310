r"""Any event as Gaussian noise and a failure: what a filter can add up.

A *charge* is a Gaussian parameter mu (kept as its square, the precision) and a failure probability d. It covers a
mechanism whose curve delta(epsilon), for both orders of any two neighbours, lies nowhere above

.. math:: d + (1 - d) \, G_\mu(\epsilon) , \qquad
   G_\mu(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \Phi(-\epsilon/\mu - \mu/2) ,

which is the curve of this: with probability d tell everything, otherwise add Gaussian noise of multiplier 1 / mu. By
Blackwell's theorem the mechanism's output can then be computed from that one's (Dong, Roth and Su, theorem 2.10). It is
enough to look at :math:`\epsilon \ge 0`: at :math:`-\epsilon` both curves are :math:`1 - e^{-\epsilon} + e^{-\epsilon}`
times what they are at :math:`\epsilon` for the neighbours in the other order.

Exact charges
-------------
*Gaussian noise* and *failures* are what they are. *A pure loss* is covered by randomised response, two outcomes with
probabilities :math:`p = e^\epsilon/(1 + e^\epsilon)` and 1 - p; a Gaussian covers two outcomes that have
probabilities p and q under the two neighbours where :math:`\Phi^{-1}(p) - \Phi^{-1}(q) \le \mu`, here :math:`\mu = -2
\Phi^{-1}(1 - p)`.

*A Poisson sample* is covered by the same noise with everybody in the sample.

Found numerically
-----------------
Where a failure probability may be spent, a smaller mu is looked for on the whole curve of the event (all its parts
composed). PLD gives an upper bound A of it, a convex function of :math:`x = e^\epsilon`. Between two points of a grid
A lies below its chord; the covering curve B is convex, too, and lies above its tangents. A chord that is nowhere
above one of the tangents at its two ends proves :math:`A \le B` between them, and both are straight, so only the ends
are compared. Beyond the last point A is at most d. Every comparison is made with
A rounded up and B rounded down, and mu is the larger end of a bisection.

References
----------
Dong, Roth, Su, "Gaussian differential privacy", arXiv:1905.02383.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv, ndtr, ndtri_exp

from discreet.privacy.accounting.curves import Totals, gdp_delta_below, pure_epsilon
from discreet.privacy.accounting.pld import GRID_ERROR, Grids, losses

_NODES = 2000
#: Parts of the failure probability that are tried, and how much larger mu may be with a smaller one.
_PARTS = (1e-3, 0.1, 1.0)
_WORTH = 1.01
#: A mu that costs as good as nothing: where the failure alone covers the events, no smaller one is looked for.
_SMALLEST = 1e-6
#: Beyond this epsilon nothing is looked for: exp would overflow.
_FARTHEST = 500.0
_UP = 1 + 1e-12
#: A's own sums, of up to half a million cells, are off by less.
_SUMS = 1 + 1e-8

Floats = NDArray[np.float64]


class Charge(NamedTuple):
    """What covers an event: exact, so that sums do not depend on their order.

    Attributes
    ----------
    precision : Fraction or None
        mu^2. None where no Gaussian covers the event.
    failure : Fraction
    """

    precision: Fraction | None
    failure: Fraction


def gaussian_of_pure(epsilon: float) -> float:
    """Return the least mu that covers every pure loss of ``epsilon``, rounded up."""
    if epsilon < 1:
        return 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2))) * _UP
    return -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon)))) * _UP


@lru_cache(maxsize=512)
def charge(totals: Totals, failure: Fraction) -> Charge:
    """Return what covers some events together.

    Parameters
    ----------
    totals : Totals
        Of the events, all fixed before their data are read.
    failure : Fraction
        How much failure probability may be spent beside the events' own, to make mu smaller. None is spent on
        what is Gaussian.
    """
    if not totals.private:
        return Charge(None, totals.failure)
    precision = totals.all_precision
    for leaf, count in totals.pure:
        precision += count * Fraction(gaussian_of_pure(pure_epsilon(leaf))) ** 2
    exact = Charge(precision, totals.failure)
    if failure <= 0 or totals.all_gaussian:
        return exact
    rest = totals._replace(failure=Fraction(0))
    most = math.nextafter(float(failure), 0.0)
    found = [(_smallest_mu(rest, most * part), most * part) for part in _PARTS]
    # A smaller failure probability, where it costs next to nothing in noise.
    mu, spent = next(pair for pair in found if pair[0] <= _WORTH * found[-1][0])
    if math.isinf(mu) or precision <= Fraction(mu) ** 2:
        return exact
    return Charge(Fraction(mu) ** 2, totals.failure + Fraction(spent))


def _smallest_mu(totals: Totals, failure: float) -> float:
    """Return a mu that covers the events but for ``failure``; infinity where none is found."""
    covered = _check_convex(totals, failure)
    if covered is None:
        return math.inf
    low, high = 0.0, 1e-3
    while not covered(high):
        low, high = high, 2 * high
        if high > 1e3:
            return math.inf
    while high - low > 1e-5 * high and high > _SMALLEST:
        middle = (low + high) / 2
        low, high = (low, middle) if covered(middle) else (middle, high)
    return high


def _check_convex(totals: Totals, failure: float) -> Callable[[float], bool] | None:
    """Return the check of a mu against the PLD of the events; None where that does not apply."""
    found = losses(totals, failure)
    if found is None:
        return None
    grids = Grids(found.kinds, failure, GRID_ERROR)
    curve = found.composed(max(grids.first() / 2, grids.finest / 4))
    last = float(curve.get_epsilon_for_delta(0.999 * failure - found.error))
    if not last < _FARTHEST:
        return None
    epsilon = np.linspace(0.0, last, _NODES)
    above = np.asarray(curve.get_delta_for_epsilon(epsilon), np.float64) * _SUMS + found.error
    if not above[-1] <= failure:
        return None
    widths = np.exp(epsilon[:-1]) * np.expm1(np.diff(epsilon))

    def covered(mu: float) -> bool:
        below = failure + (1 - failure) * gdp_delta_below(mu, epsilon)
        slope = (1 - failure) * ndtr(-epsilon / mu - mu / 2)  # -(derivative of ``below`` in exp(epsilon))
        return _nowhere_above(above, below, slope, widths)

    return covered


def _nowhere_above(above: Floats, below: Floats, slope: Floats, widths: Floats) -> bool:
    """Tell whether chords of a convex curve lie below a tangent of another, at one of their ends, all along.

    Parameters
    ----------
    above, below, slope : array of shape (n_nodes,)
        The two curves, and how steeply ``below`` falls.
    widths : array of shape (n_nodes - 1,)
        Between the nodes.
    """
    at_left = (above[:-1] <= below[:-1]) & (above[1:] <= below[:-1] - slope[:-1] * widths * _UP)
    at_right = (above[1:] <= below[1:]) & (above[:-1] <= below[1:] + slope[1:] * widths / _UP)
    return bool(np.all(at_left | at_right))
