r"""What word-level Gibbs sampling costs: one event for the whole run, and the noise that a total buys.

A run of T sweeps releases 2T noisy tables, T + 1 of words and topics and T - 1 of documents and topics:

* a table under discrete Laplace noise of scale :math:`2/\epsilon_L`: two events of loss :math:`\epsilon_L / 2`;
* a table under rounded Gaussian noise of standard deviation :math:`\sigma`: one Gaussian event of multiplier
  :math:`\sigma / \sqrt 2`, zCDP :math:`1/\sigma^2`.

The ledger reports the smallest of the pure sum, zCDP and loss distributions. Proofs:
:mod:`discreet.central.word_level.hybrid_gibbs`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from discreet.errors import PrivacyError
from discreet.privacy.accounting.planning import noise_multiplier_for, solve
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
from discreet.privacy.row_sums import OneCellBound

Mechanism = GaussianMechanism | LaplaceMechanism


def table_mechanism(noise: str, epsilon_noise: float, delta: float) -> Mechanism:
    """Return what noises one table, at cost ``epsilon_noise`` (``inf``: no noise), of Gaussian noise with ``delta``."""
    if noise == "laplace":
        return LaplaceMechanism(OneCellBound("l1"), epsilon_noise)
    return GaussianMechanism(OneCellBound("l2"), noise_multiplier_for(epsilon_noise, delta))


def total_event(mechanism: Mechanism, n_tables: int) -> Any:
    """Return the event of so many noisy tables."""
    from dp_accounting import dp_event as dp

    from discreet.privacy.accounting import events

    table = mechanism.event()
    return table if isinstance(table, dp.NonPrivateDpEvent) else events.composed(table, n_tables)


def total_epsilon(event: Any, delta: float) -> float:
    """Return the smallest epsilon at ``delta`` that is proved for an event under ``replace_one``."""
    from discreet.privacy.accounting.totals import composed_epsilon

    return composed_epsilon([event], delta, neighboring="replace_one").epsilon


def calibrated(noise: str, epsilon: float, delta: float, n_tables: int) -> Mechanism:
    """Return the noise with which so many tables satisfy (epsilon, delta)."""
    if math.isinf(epsilon):
        return table_mechanism(noise, math.inf, delta)

    def make(log_noise: float) -> Mechanism:
        if noise == "laplace":
            return LaplaceMechanism(OneCellBound("l1"), math.exp(-log_noise))
        return GaussianMechanism(OneCellBound("l2"), math.exp(log_noise))

    def excess(log_noise: float) -> float:
        found = total_epsilon(total_event(make(log_noise), n_tables), delta)
        return math.log(found / epsilon) if math.isfinite(found) else math.inf

    start = math.log(math.sqrt(n_tables) * math.sqrt(4 * math.log(1 / delta)) / epsilon)
    try:
        return make(solve(excess, start, tolerance=5e-3, slope=1.0))
    except ArithmeticError:
        raise PrivacyError(
            f"no noise reaches epsilon = {epsilon} at delta = {delta}; use a larger epsilon."
        ) from None


class Run(NamedTuple):
    """What a run will do and cost."""

    #: Noise of one table.
    mechanism: Mechanism
    #: Of the whole run.
    event: Any
    #: Of the whole run: the total that was asked for, or the one that follows.
    epsilon: float
    #: Of one table, at the run's delta.
    epsilon_noise: float

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in one cell of a table."""
        scale = float(self.mechanism.scale)
        return scale if isinstance(self.mechanism, GaussianMechanism) else scale * math.sqrt(2)


def plan(noise: str, epsilon: float | None, epsilon_noise: float | None, delta: float, n_sweeps: int) -> Run:
    """Find the noise and the cost, from ``epsilon`` of the run or from ``epsilon_noise`` of one table."""
    n_tables = 2 * n_sweeps
    if epsilon is not None:
        mechanism = calibrated(noise, epsilon, delta, n_tables)
    else:
        mechanism = table_mechanism(noise, float(epsilon_noise or 0.0), delta)
    event = total_event(mechanism, n_tables)
    one = total_epsilon(mechanism.event(), delta) if epsilon_noise is None else float(epsilon_noise)
    total = total_epsilon(event, delta) if epsilon is None else float(epsilon)
    return Run(mechanism, event, total, one)
