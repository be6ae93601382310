r"""Gaussian differential privacy in closed form: exact for any number of full-batch Gaussian releases.

Gaussian releases with noise multipliers :math:`\sigma_i`, chosen adaptively, compose to one with
:math:`\mu^2 = \sum_i \sigma_i^{-2}`, and

.. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \, \Phi(-\epsilon/\mu - \mu/2).

Answers are rounded to the safe side: an epsilon or a delta is never below, a mu never above the true one. Both
terms are computed as logarithms; their rounding errors are bounded (arguments: three roundings, each worth the
hazard :math:`\varphi/\Phi(x) \le \max(-x, 0) + 1`; SciPy's ``log_ndtr``: eight units in the last place, the worst
of thousands of points against 50-digit arithmetic is 6), and each term is moved by its bound before they are
subtracted. What that costs is a relative 1e-12 of epsilon at usual values, and more only where mu is tiny.

From zero-concentrated differential privacy to (epsilon, delta)
===============================================================
A mechanism with :math:`\rho`-zCDP has Rényi divergence at most :math:`\rho\alpha` at every order
:math:`\alpha > 1`, and so satisfies (epsilon, delta) with

.. math:: \epsilon = \min_{\alpha > 1} \; \rho\alpha + \ln\Bigl(1 - \frac1\alpha\Bigr)
   - \frac{\ln(\alpha\delta)}{\alpha - 1} .

Every order gives a valid answer, so the search need not be exact; it is carried on to about six digits. Pure losses
and Gaussian noise have a :math:`\rho`, and their sum bounds them together.

Events, sorted into what each accountant needs, and Rényi accounting of them
============================================================================
Events are stated relative to the sensitivity under the ledger's own relation, so the curve of plain additive
noise is the same for both relations. A Poisson sample under ``replace_one`` is booked as if everybody had been
in it, which is valid (mixing both sides with the same distribution hides more) and rarely tight.

References
----------
Balle, Wang, "Improving the Gaussian mechanism for differential privacy", arXiv:1805.06530.
Dong, Roth, Su, "Gaussian differential privacy", arXiv:1905.02383.
Bun, Steinke, "Concentrated differential privacy", arXiv:1605.02065.
Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", arXiv:2004.00010, proposition 12.
Mironov, "Rényi differential privacy", arXiv:1702.07476.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from dp_accounting import dp_event as dp
from dp_accounting.rdp import RdpAccountant
from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS
from numpy.typing import NDArray
from scipy.special import log_ndtr

from discreet._base.validate import check, number
from discreet.errors import ParameterError
from discreet.privacy.accounting.events import FailureDpEvent, leaves

_ULP = 2.0**-52
_MU = number(least=0, most=math.inf)
#: Noise that is not more than this promises may be larger than any float.
LEAST_MU = 1e-300


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the delta of mu-Gaussian differential privacy at ``epsilon``, any number, rounded up."""
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if math.isinf(mu) or epsilon == -math.inf:
        return 1.0
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    if math.isinf(first):  # mu is so small that the ratio overflows
        return 0.0 if epsilon > 0 else 1.0
    upper, lower = float(log_ndtr(first)), float(log_ndtr(second))
    size = abs(epsilon) / mu + mu / 2
    upper += _error(first, size, upper)
    lower += epsilon - _error(second, size, lower) - _ULP * (abs(epsilon) + abs(lower))
    if lower >= upper:
        return 0.0
    delta = -math.exp(upper) * math.expm1(lower - upper) * (1 + 4 * _ULP)
    # Among the smallest floats a rounding is a whole step: four of them, one for each operation on the way.
    return min(1.0, delta + 4 * math.ulp(0.0))


def gdp_delta_below(mu: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the delta of mu-Gaussian differential privacy at many epsilons, rounded down. ``mu`` is positive."""
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    upper, lower = log_ndtr(first), log_ndtr(second)
    size = np.abs(epsilon) / mu + mu / 2
    upper = upper - _ULP * (3 * size * (np.maximum(-first, 0.0) + 1) + 8 * (np.abs(upper) + 1))
    off = _ULP * (3 * size * (np.maximum(-second, 0.0) + 1) + 8 * (np.abs(lower) + 1))
    lower = lower + epsilon + off + _ULP * (np.abs(epsilon) + np.abs(lower))
    falls = np.minimum(lower - upper, 0.0)
    return np.maximum(0.0, -np.exp(upper) * np.expm1(falls) * (1 - 4 * _ULP) - 4 * math.ulp(0.0))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian differential privacy at ``delta``, rounded up.

    Parameters
    ----------
    mu : float
        Not negative.
    delta : float
        From 0 to 1; at 0 the answer is infinite (or 0, where mu is 0).

    Raises
    ------
    ParameterError
        Where one of them is out of range.
    """
    check(mu=(mu, _MU), delta=(delta, number(least=0, most=1)))
    if mu == 0:
        return 0.0
    if math.isinf(mu) or delta <= 0:
        return math.inf
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    high = max(mu * mu, mu)
    while gdp_delta(mu, high) > delta:
        high *= 2
    return _bisect(lambda value: gdp_delta(mu, value) > delta, 0.0, high)[1]


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian release satisfies (epsilon, delta), rounded down.

    Parameters
    ----------
    epsilon : float
        Not negative.
    delta : float
        From 0 to below 1.

    Notes
    -----
    ``epsilon = inf`` gives ``inf``. ``gdp_epsilon(gdp_mu(epsilon, delta), delta) <= epsilon`` always holds.

    Raises
    ------
    ParameterError
        Where one of them is out of range.
    """
    check(epsilon=(epsilon, number(least=0, most=math.inf)), delta=(delta, number(least=0, below=1)))
    if math.isinf(epsilon):
        return math.inf
    high = 1.0
    while gdp_delta(high, epsilon) <= delta:
        high *= 2
    mu, _ = _bisect(lambda value: gdp_delta(value, epsilon) <= delta, 0.0, high)
    shrink = _ULP
    while gdp_delta(mu, epsilon) > delta or gdp_epsilon(mu, delta) > epsilon:  # the last digits are bumpy
        mu *= 1 - shrink
        shrink *= 2
    return mu


def _error(x: float, size: float, log_phi: float) -> float:
    """Bound the error of log Phi(x), x being the sum of two quotients that add up to ``size`` in absolute value."""
    return _ULP * (3 * size * (max(-x, 0.0) + 1) + 8 * (abs(log_phi) + 1))


def _bisect(left_of: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Narrow an interval down to neighbouring floats; ``left_of(low)`` holds and ``left_of(high)`` does not."""
    while True:
        middle = low + (high - low) / 2
        if middle in (low, high):
            return low, high
        low, high = (middle, high) if left_of(middle) else (low, middle)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon that ``rho``-zCDP satisfies at ``delta``, rounded up.

    Parameters
    ----------
    rho : float
        Not negative.
    delta : float
        From 0 to 1; at 0 the answer is infinite (or 0, where rho is 0).
    """
    if rho == 0:
        return 0.0
    if delta <= 0 or math.isinf(rho):
        return math.inf
    smallest, middle, width = math.inf, math.log(1e4), math.log(1e11)
    for _ in range(3):  # ever closer around the best order
        excess = np.exp(np.linspace(middle - width, middle + width, 2001))  # order - 1
        order = 1 + excess
        with np.errstate(over="ignore"):  # infinity is an answer
            epsilon = rho * order - np.log1p(1 / excess) - np.log(order * delta) / excess
            # Cancellation between the terms is bounded by their size.
            epsilon += 1e-14 * (rho * order + np.abs(np.log(order * delta)) / excess)
        best = int(np.argmin(epsilon))
        smallest = min(smallest, float(epsilon[best]))
        middle, width = math.log(excess[best]), width / 500
    return max(0.0, smallest)


class Totals(NamedTuple):
    """Events, sorted into what each accountant needs. Sums are exact, so order cannot matter."""

    precision: Fraction  # of all Gaussians that everybody is in: sum of 1 / sigma^2
    failure: Fraction  # sum of mechanisms' own failure probabilities
    pure: tuple[tuple[Any, int], ...]  # discrete Laplace, with their counts
    sampled: tuple[tuple[Any, int], ...]  # Poisson-sampled Gaussians with their counts
    private: bool

    @property
    def all_gaussian(self) -> bool:
        """Whether there is nothing but Gaussian noise that everybody is in, and failures."""
        return not (self.pure or self.sampled)

    @property
    def pure_epsilon(self) -> float:
        """Sum of the pure losses."""
        return math.fsum(pure_epsilon(leaf) * count for leaf, count in self.pure)

    @property
    def exact_pure_epsilon(self) -> Fraction:
        """The same, without rounding."""
        return sum((Fraction(pure_epsilon(leaf)) * count for leaf, count in self.pure), Fraction(0))

    @property
    def all_precision(self) -> Fraction:
        """Sum of 1 / sigma^2 as if everybody had been in every sample."""
        return self.precision + sum(count / Fraction(noise_of(leaf)) ** 2 for leaf, count in self.sampled)


#: No events at all.
NOTHING = Totals(Fraction(0), Fraction(0), (), (), private=True)


def sort_events(events: Iterable[Any], neighboring: str = "add_or_remove_one") -> Totals:
    """Take events apart and add up what can be added."""
    precision, failure = Fraction(0), Fraction(0)
    pure: Counter[Any] = Counter()
    sampled: Counter[Any] = Counter()
    private = True
    for event in events:
        for leaf, count in leaves(event):
            if isinstance(leaf, dp.GaussianDpEvent):
                precision += count / Fraction(leaf.noise_multiplier) ** 2
            elif isinstance(leaf, FailureDpEvent):
                failure += count * Fraction(leaf.delta)
            elif isinstance(leaf, dp.NonPrivateDpEvent):
                private = False
            elif not isinstance(leaf, dp.PoissonSampledDpEvent):
                pure[leaf] += count
            elif neighboring == "add_or_remove_one":
                sampled[leaf] += count
            else:
                precision += count / Fraction(noise_of(leaf)) ** 2
    return Totals(precision, failure, _ordered(pure), _ordered(sampled), private)


def _ordered(counts: Counter[Any]) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(counts.items(), key=repr))


def noise_of(sampled: Any) -> float:
    """Return the noise multiplier of a Poisson-sampled Gaussian event."""
    return sampled.event.noise_multiplier


def pure_epsilon(leaf: Any) -> float:
    """Return the pure loss of a discrete Laplace event."""
    return leaf.noise_parameter * leaf.sensitivity


def root_up(value: Fraction) -> float:
    """Return the square root of an exact fraction, rounded up."""
    if value == 0:
        return 0.0
    try:
        # The float quotient is within one rounding of the truth; one step up covers it and the root's own.
        return math.nextafter(math.sqrt(math.nextafter(float(value), math.inf)), math.inf)
    except OverflowError:
        return math.inf


def rdp_epsilon(totals: Totals, delta: float) -> float:
    """Return epsilon at ``delta`` by Rényi accounting; the failure probabilities are the caller's."""
    mu = root_up(totals.precision)
    if math.isinf(mu):
        return math.inf
    accountant = RdpAccountant(_orders(totals))
    # A pure loss is epsilon^2/2-zCDP, and a Gaussian mu^2/2-zCDP.
    rho = mu * mu / 2
    for leaf, count in totals.pure:
        rho += count * pure_epsilon(leaf) ** 2 / 2
    if rho > 0:
        accountant.compose(dp.ZCDpEvent(rho))
    for leaf, count in totals.sampled:
        accountant.compose(leaf, count)
    return float(accountant.get_epsilon(delta))


def _orders(totals: Totals) -> list[float] | None:
    """Rényi orders: all of the library's, but those where its series for sampled Gaussians fails to converge."""
    if not totals.sampled:
        return None
    whole_only = min(noise_of(leaf) for leaf, _ in totals.sampled) < 1
    return [order for order in DEFAULT_RDP_ORDERS if order >= 2 and (order == int(order) or not whole_only)]


def gaussian_noise_for(epsilon: float, delta: float, n_rounds: int = 1) -> float:
    """Return the smallest noise multiplier, rounded up, of ``n_rounds`` Gaussian releases within (epsilon, delta)."""
    mu = gdp_mu(epsilon, delta)
    if mu < LEAST_MU:
        raise ParameterError(
            f"no Gaussian noise is large enough for epsilon = {epsilon} at delta = {delta}; use larger ones."
        )
    noise = math.sqrt(n_rounds) / mu
    while gdp_epsilon(root_up(n_rounds / Fraction(noise) ** 2), delta) > epsilon:
        noise *= 1 + 2.0**-50  # the root and the quotient above were rounded
    return noise
