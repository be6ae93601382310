r"""Accountants of their time beside ours, for the figures of Park et al.: Gaussian noise on Poisson samples.

``pld`` is that of discreet (privacy loss distributions), ``rdp`` is Rényi accounting. Two of 2016 are valid, and loose.

``moments2016``: the moments accountant of a Poisson-subsampled Gaussian at integer orders
:math:`\lambda = 1 \dots \lfloor \sigma^2 \ln(1/(q\sigma)) \rfloor`,

.. math:: \epsilon = \min_\lambda \frac{T \alpha(\lambda) + \ln(1/\delta)}{\lambda}, \qquad
   e^{\alpha(\lambda)} = \sum_{k=0}^{\lambda+1} \binom{\lambda+1}{k} (1-q)^{\lambda+1-k} q^k
   e^{k(k-1)/(2\sigma^2)} .

``strong``: each round a classical Gaussian, :math:`\sigma = \sqrt{2 \ln(1.25/\delta_0)}/\epsilon_0` with
:math:`\delta_0 = 10^{-6}`, amplified to :math:`\epsilon' = \ln(1 + q(e^{\epsilon_0} - 1))` and
:math:`\delta' = q\delta_0`, then composed,

.. math:: \epsilon = \sqrt{2 T \ln(1/\delta'')}\,\epsilon' + T \epsilon' (e^{\epsilon'} - 1),
   \qquad \delta'' = \delta - T\delta' .

References
----------
Abadi et al., "Deep learning with differential privacy", arXiv:1607.00133.
Dwork, Rothblum, Vadhan, "Boosting and differential privacy", FOCS 2010, doi:10.1109/FOCS.2010.12.
As used by Park, Foulds, Chaudhuri, Welling, arXiv:1609.04120.
"""

import math

import numpy as np
from scipy.special import gammaln

from discreet import privacy
from discreet.privacy import events, gdp_mu
from discreet.privacy.accounting.curves import rdp_epsilon, sort_events
from discreet.privacy.accounting.planning import solve

#: Failure probability of one round's classical Gaussian.
DELTA_OF_A_ROUND = 1e-6


def moments_2016_epsilon(noise_multiplier, delta, sampling_rate, n_rounds):
    """Epsilon by the moments accountant; ``inf`` where no order is allowed."""
    spread = sampling_rate * noise_multiplier
    highest = math.floor(noise_multiplier**2 * math.log(1 / spread)) if spread < 1 else 0
    best = math.inf
    for order in range(1, highest + 1):
        k = np.arange(order + 2)
        terms = gammaln(order + 2) - gammaln(k + 1) - gammaln(order + 2 - k) + k * math.log(sampling_rate)
        if sampling_rate < 1:
            terms = terms + (order + 1 - k) * math.log1p(-sampling_rate)
        else:
            terms = np.where(k == order + 1, terms, -np.inf)
        moment = np.logaddexp.reduce(terms + k * (k - 1) / (2 * noise_multiplier**2))
        best = min(best, (n_rounds * moment - math.log(delta)) / order)
    return best


def strong_composition_epsilon(noise_multiplier, delta, sampling_rate, n_rounds):
    """Epsilon by strong composition; ``inf`` where the rounds' own deltas use up ``delta``.

    Parameters are those of :func:`moments_2016_epsilon`.
    """
    left = delta - n_rounds * sampling_rate * DELTA_OF_A_ROUND
    if left <= 0:
        return math.inf
    round_epsilon = math.sqrt(2 * math.log(1.25 / DELTA_OF_A_ROUND)) / noise_multiplier
    amplified = math.log1p(sampling_rate * math.expm1(round_epsilon))
    spread = math.sqrt(2 * n_rounds * math.log(1 / left)) * amplified
    return spread + n_rounds * amplified * math.expm1(amplified)


def renyi_epsilon(noise_multiplier, delta, sampling_rate, n_rounds):
    """Epsilon by Rényi accounting."""
    event = events.poisson_sampled(sampling_rate, events.gaussian(noise_multiplier))
    return rdp_epsilon(sort_events([events.composed(event, n_rounds)]), delta)


OTHERS = {"rdp": renyi_epsilon, "moments2016": moments_2016_epsilon, "strong": strong_composition_epsilon}


def epsilon_for(noise_multiplier, delta, *, sampling_rate, n_rounds, accountant="pld"):
    """Epsilon of so many rounds, by one of four accountants."""
    if accountant == "pld":
        return privacy.epsilon_for(noise_multiplier, delta, sampling_rate=sampling_rate, n_rounds=n_rounds)
    return OTHERS[accountant](noise_multiplier, delta, sampling_rate, n_rounds)


def noise_multiplier_for(epsilon, delta, *, sampling_rate, n_rounds, accountant="pld"):
    """The noise for an epsilon by one of four accountants; whole orders make the moments of 2016 jump."""
    plan = {"sampling_rate": sampling_rate, "n_rounds": n_rounds}
    if accountant == "pld":
        return privacy.noise_multiplier_for(epsilon, delta, **plan)

    def excess(log_noise):
        found = epsilon_for(math.exp(log_noise), delta, accountant=accountant, **plan)
        return math.log(found / epsilon) if math.isfinite(found) and found > 0 else math.inf

    ratio = gdp_mu(epsilon, delta) / (sampling_rate * math.sqrt(n_rounds))
    return math.exp(solve(excess, -math.log(math.log1p(ratio * ratio)) / 2, tolerance=8e-4))
