r"""What one training run proves about epsilon, from how often guesses about its members came true.

Let :math:`m` documents be in or out of the training corpus by independent fair coins, and let a guesser, who
sees only what training gave out, say "in" or "out" of at most :math:`r` of them and keep silent on the rest.
If training is :math:`\epsilon`-private for adding or removing a document, the number of right guesses is
stochastically dominated by :math:`\mathrm{Binomial}(r, e^\epsilon/(1+e^\epsilon))`. With delta (theorem 5.2
of the source),

.. math:: \Pr[W \ge v] \le \beta + 2 m \delta \max_{1 \le i \le v} \frac1i \Pr[v > B \ge v - i],
          \qquad \beta = \Pr[B \ge v].

The bound is the smallest epsilon under which the count seen is not too unlikely.

Where all noise is Gaussian: the bound for whole trade-off curves
------------------------------------------------------------------
Coins, guesses and neighbours are the same: :math:`m` fair coins, exactly :math:`r` guesses, :math:`W` of them right.
Above, one pair :math:`(\epsilon, \delta)` is all that is known of training. Gaussian noise promises more: no test of
two neighbours that raises false alarms at a rate :math:`\alpha` misses fewer than :math:`f(\alpha) = \Phi(\Phi^{-1}(1 -
\alpha) - \mu)`. The same guesses then prove more of :math:`\mu`, and by :func:`~discreet.privacy.gdp_epsilon` of
epsilon at a delta. **Only of such noise**: where the curve is another one, the :math:`\mu` found means nothing, and
:func:`one_run_bound` is the one to ask.

**The inequality.** Take a coin :math:`j`, hold all others, and look at the outputs by which :math:`j` is guessed "in",
and which have at least :math:`i - 1` right guesses about the others. Where the coin says "in" they give at least
:math:`i` right guesses; where it says "out" that guess is wrong. By the promise their probability :math:`a` in the
first case, and :math:`b` in the second, keep :math:`b \ge g(a)`, :math:`g(a) = f(1 - a)`; the same for "out". Summed
over :math:`j` and averaged over coins (:math:`g` is convex), for every :math:`i`

.. math:: \frac1m \mathrm{E}[(r - W)\, 1_{W \ge i - 1}] \;\ge\; g\Bigl(\frac1m \mathrm{E}[W\, 1_{W \ge i}]\Bigr) .

**The recursion.** Write both sides by :math:`S_i = \Pr[W \ge i]` and :math:`T_i = \sum_{l > i} S_l`:

.. math:: (r - i + 1)\, S_{i-1} \;\ge\; m\, g\bigl((i S_i + T_i)/m\bigr) + S_i + T_i .

The right side grows with each of :math:`S_i, S_{i+1}, \dots`; so from :math:`S_c \ge \tau` and :math:`S_l \ge 0`
beyond, least values of :math:`S_{c-1}, \dots, S_0` follow one by one. Where the last is above 1, no such probabilities
exist: :math:`c` right guesses are less probable than :math:`\tau`.

References
----------
Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", arXiv:2305.08846. Mahloujifar, Melis, Chaudhuri,
"Auditing f-differential privacy in one run", arXiv:2410.22235. Dong, Roth, Su, "Gaussian differential privacy",
arXiv:1905.02383.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from discreet._base.validate import check
from discreet.audit.arguments import CONFIDENCE, check_promise
from discreet.errors import ParameterError
from discreet.privacy.accounting.curves import gdp_epsilon

Floats = NDArray[np.float64]

_LARGEST = 60.0
_HALVINGS = 60
_LARGEST_MU = 16.0
_SIDE = 65
_ROUNDS = 4
_ROUNDING = 1e-9


def one_run_p_value(
    n_correct: int, n_guesses: int, epsilon: float, *, delta: float = 0.0, n_canaries: int | None = None
) -> float:
    """Return how probable so many right guesses are at most, if training is (epsilon, delta)-private.

    Only delta needs the number of canaries: the documents that coins were thrown for.
    """
    canaries = check_guesses(n_correct, n_guesses, n_canaries)
    if not 0.0 <= epsilon < math.inf or not delta >= 0.0:
        raise ParameterError(
            f"epsilon and delta must be finite and at least 0, but got {epsilon} and {delta}."
        )
    probability = 1.0 / (1.0 + math.exp(-epsilon))
    chance = float(binom.sf(n_correct - 1, n_guesses, probability))
    if delta > 0.0 and n_correct > 0:
        steps = np.arange(1, n_correct + 1)
        below = np.cumsum(binom.pmf(n_correct - steps, n_guesses, probability))
        chance += 2.0 * canaries * delta * float(np.max(below / steps))
    return min(chance, 1.0)


def one_run_bound(
    n_correct: int,
    n_guesses: int,
    confidence: float = 0.95,
    delta: float = 0.0,
    n_canaries: int | None = None,
) -> float:
    """Return the epsilon that right guesses about one run's members prove.

    Parameters
    ----------
    n_correct, n_guesses : int
        Right guesses, and guesses made. How many guesses are made must not depend on which were right.
    confidence : float, default 0.95
    delta : float, default 0.0
        The delta that was promised.
    n_canaries : int, optional
        Documents that the coins were thrown for, guessed or not. As many as guesses by default.

    Returns
    -------
    float
        At least 0: epsilon for adding or removing a document. Wrong in at most 1 - confidence of all audits.

    Raises
    ------
    ParameterError
        If guesses are not from ``n_correct`` to ``n_canaries``, or confidence or delta are out of range.

    Examples
    --------
    >>> round(one_run_bound(90, 100), 2)
    1.63
    """
    canaries = check_guesses(n_correct, n_guesses, n_canaries)
    check(confidence=(confidence, CONFIDENCE))
    check_promise(None, delta)

    def likely(epsilon: float) -> bool:
        chance = one_run_p_value(n_correct, n_guesses, epsilon, delta=delta, n_canaries=canaries)
        return chance > 1.0 - confidence

    if n_guesses == 0 or likely(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if likely(middle) else (middle, high)
    return low


def check_guesses(n_correct: int, n_guesses: int, n_canaries: int | None) -> int:
    """Return the number of canaries, guesses by default, or raise a ParameterError unless they are enough.

    There are at most as many right guesses as guesses, and as many of these as canaries.
    """
    canaries = n_guesses if n_canaries is None else n_canaries
    if not 0 <= n_correct <= n_guesses <= canaries:
        raise ParameterError(
            "guesses must be from n_correct to n_canaries, "
            f"but got {n_correct} right of {n_guesses} on {canaries} canaries."
        )
    return canaries


def one_run_mu_bound(
    n_correct: int,
    n_guesses: int,
    confidence: float = 0.95,
    n_canaries: int | None = None,
) -> float:
    """Return the mu of Gaussian differential privacy that right guesses about one run's members prove.

    As :func:`one_run_bound`, of training that is mu-Gaussian private.

    Examples
    --------
    >>> round(one_run_mu_bound(900, 1000), 2)
    0.88
    """
    canaries = check_guesses(n_correct, n_guesses, n_canaries)
    check(confidence=(confidence, CONFIDENCE))
    return _mu_bound(int(n_correct), int(n_guesses), 1.0 - confidence, int(canaries))


@lru_cache(maxsize=1024)
def _mu_bound(n_correct: int, n_guesses: int, missing: float, n_canaries: int) -> float:
    low, high = 0.0, _LARGEST_MU
    for _ in range(_ROUNDS):
        mus = np.linspace(low, high, _SIDE)

        def least_false(true: Floats, mus: Floats = mus) -> Floats:
            return ndtr(ndtri(true) - mus)

        needed = _least_total(n_correct, n_guesses, n_canaries, np.full(_SIDE, missing), least_false)
        refuted = int((needed > 1.0 + _ROUNDING).sum())  # needed falls with mu
        if refuted in (0, _SIDE):
            return low if refuted == 0 else high
        low, high = float(mus[refuted - 1]), float(mus[refuted])
    return low


def _least_total(
    n_correct: int, n_guesses: int, n_canaries: int, chance: Floats, least_false: Callable[[Floats], Floats]
) -> Floats:
    """Return what Pr[W >= 0] would be at least, were Pr[W >= n_correct] each of the chances; 2 or so above 1.

    ``least_false`` is g of the module, for arrays of the shape of ``chance``.
    """
    total, beyond = chance.copy(), np.zeros_like(chance)
    for i in range(n_correct, 0, -1):
        true = np.minimum((i * total + beyond) / n_canaries, 1.0)
        beyond = beyond + total
        least = (n_canaries * least_false(true) + beyond) / (n_guesses - i + 1)
        total = np.minimum(np.maximum(total, least), 2.0)  # above 1 it is refuted, and stays so
        if (total > 1.5).all():
            break
    return total


def epsilon_of_mu(mu: float, delta: float | None) -> float:
    """Return the epsilon, at a delta, that a proved mu amounts to; rounded down."""
    check_promise(None, delta, "gaussian")
    return gdp_epsilon(mu, delta or 0.0) * (1 - _ROUNDING) if mu > 0 else 0.0
