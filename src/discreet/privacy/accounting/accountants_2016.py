r"""Two accountants of 2016, kept to draw the figures of their time. They are valid, and loose.

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

__all__ = ["moments_2016_epsilon", "strong_composition_epsilon"]

#: Failure probability of one round's classical Gaussian.
DELTA_OF_A_ROUND = 1e-6


def moments_2016_epsilon(noise_multiplier: float, delta: float, sampling_rate: float, n_rounds: int) -> float:
    """Return epsilon by the moments accountant; ``inf`` where no order is allowed.

    Parameters
    ----------
    noise_multiplier, delta, sampling_rate : float
    n_rounds : int
    """
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
        moment: float = np.logaddexp.reduce(terms + k * (k - 1) / (2 * noise_multiplier**2))
        best = min(best, (n_rounds * moment - math.log(delta)) / order)
    return best


def strong_composition_epsilon(
    noise_multiplier: float, delta: float, sampling_rate: float, n_rounds: int
) -> float:
    """Return epsilon by strong composition; ``inf`` where the rounds' own deltas use up ``delta``.

    Parameters are those of :func:`moments_2016_epsilon`.
    """
    left = delta - n_rounds * sampling_rate * DELTA_OF_A_ROUND
    if left <= 0:
        return math.inf
    round_epsilon = math.sqrt(2 * math.log(1.25 / DELTA_OF_A_ROUND)) / noise_multiplier
    amplified = math.log1p(sampling_rate * math.expm1(round_epsilon))
    spread = math.sqrt(2 * n_rounds * math.log(1 / left)) * amplified
    return spread + n_rounds * amplified * math.expm1(amplified)
