r"""What word-level Gibbs sampling costs: one event for the whole run, and the noise that a total buys.

A run of T sweeps releases T + 1 noisy tables and T draws where topic assignments count as released, or 2T noisy
tables and no draw where they stay inside:

* a table under discrete Laplace noise of scale :math:`2/\epsilon_L`: two events of loss :math:`\epsilon_L / 2`;
* a table under rounded Gaussian noise of standard deviation :math:`\sigma`: one Gaussian event of multiplier
  :math:`\sigma / \sqrt 2`, zCDP :math:`1/\sigma^2`;
* a draw: a :math:`2L`-bounded-range event, :math:`L = \ln(1 + C/\beta)`; pure :math:`2L`, zCDP :math:`L^2/2`.

The ledger reports the smallest of the pure sum, zCDP and loss distributions. Proofs:
:mod:`discreet.central.word_level.hybrid_gibbs`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting.curves import zcdp_epsilon
from discreet.privacy.accounting.planning import solve
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
from discreet.privacy.row_sums import OneCellBound

Mechanism = GaussianMechanism | LaplaceMechanism
DEFAULT_CLIP = 10.0
DEFAULT_PRIOR = 0.01


def range_of(clip: float, topic_word_prior: float) -> float:
    """Return 2L, rounded up: how far log-likelihood ratios of one topic draw can spread over the topics.

    The roundings, and the :math:`2^{-65}` by which a draw may be off, are covered by a relative :math:`2^{-48}`
    and an absolute :math:`2^{-60}`.
    """
    return 2 * math.log1p(clip / topic_word_prior) * (1 + 2.0**-48) + 2.0**-60


def prior_for_range(log_ratio: float, clip: float) -> float:
    """Return the beta at which the range of a draw is ``log_ratio`` for counts up to ``clip``."""
    return clip / math.expm1(log_ratio / 2)


def table_mechanism(noise: str, epsilon_noise: float, delta: float) -> Mechanism:
    """Return what noises one table, at cost ``epsilon_noise`` (``inf``: no noise), of Gaussian noise with ``delta``."""
    if noise == "laplace":
        return LaplaceMechanism(OneCellBound("l1"), epsilon_noise)
    from discreet.privacy.accounting.planning import noise_multiplier_for

    return GaussianMechanism(OneCellBound("l2"), noise_multiplier_for(epsilon_noise, delta))


def total_event(mechanism: Mechanism, n_tables: int, n_draws: int, log_ratio: float) -> Any:
    """Return the event of a whole run: ``n_tables`` noisy tables, and ``n_draws`` topic draws of that range."""
    from dp_accounting import dp_event as dp

    from discreet.privacy.accounting import events

    tables = mechanism.event()
    if isinstance(tables, dp.NonPrivateDpEvent):
        return tables
    tables = events.composed(tables, n_tables)
    if not n_draws:
        return tables
    return dp.ComposedDpEvent([tables, events.composed(events.bounded_range(log_ratio), n_draws)])


def total_epsilon(event: Any, delta: float) -> float:
    """Return the smallest epsilon at ``delta`` that is proved for an event under ``replace_one``."""
    from discreet.privacy.accounting.totals import composed_epsilon

    return composed_epsilon([event], delta, neighboring="replace_one").epsilon


def calibrated(
    noise: str, epsilon: float, delta: float, n_tables: int, n_draws: int, log_ratio: float
) -> Mechanism:
    """Return the table noise with which a whole run satisfies (epsilon, delta).

    ``ParameterError`` where the draws alone cost more: no noise would help.
    """
    if math.isinf(epsilon):
        return table_mechanism(noise, math.inf, delta)
    if n_draws:
        from discreet.privacy.accounting import events

        draws = total_epsilon(events.composed(events.bounded_range(log_ratio), n_draws), delta)
        if draws >= epsilon:
            raise ParameterError(
                f"{n_draws} sweeps of topic draws of range {log_ratio:.4g} alone cost epsilon = {draws:.4g}, and "
                f"epsilon is {epsilon:g}: lower clip, raise topic_word_prior, or do fewer sweeps."
            )

    def make(log_noise: float) -> Mechanism:
        if noise == "laplace":
            return LaplaceMechanism(OneCellBound("l1"), math.exp(-log_noise))
        return GaussianMechanism(OneCellBound("l2"), math.exp(log_noise))

    def excess(log_noise: float) -> float:
        found = total_epsilon(total_event(make(log_noise), n_tables, n_draws, log_ratio), delta)
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
    #: Range of one topic draw; 0 where draws are not released.
    log_ratio: float
    clip: float | None
    topic_word_prior: float

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in one cell of a table."""
        scale = float(self.mechanism.scale)
        return scale if isinstance(self.mechanism, GaussianMechanism) else scale * math.sqrt(2)


def plan(
    noise: str,
    epsilon: float | None,
    epsilon_noise: float | None,
    delta: float,
    n_sweeps: int,
    clip: float | None,
    topic_word_prior: float | None,
    *,
    hidden: bool,
) -> Run:
    """Fill in what was left open, and find the noise and the cost.

    ``epsilon`` of the run, or ``epsilon_noise`` of one table; ``clip``, ``topic_word_prior``: None as for
    :class:`~discreet.central.word_level.hybrid_gibbs_lda.HybridGibbsLDA`; ``hidden``: assignments stay inside.
    """
    free = math.isinf(epsilon if epsilon is not None else epsilon_noise or 0.0)
    if not hidden and clip is None and not free:
        clip = DEFAULT_CLIP
    if topic_word_prior is None:
        topic_word_prior = DEFAULT_PRIOR
        if epsilon is not None and clip is not None and not (hidden or free):
            topic_word_prior = max(
                DEFAULT_PRIOR, prior_for_range(_half_the_budget(epsilon, delta, n_sweeps), clip)
            )
    n_tables, n_draws = (2 * n_sweeps, 0) if hidden else (n_sweeps + 1, n_sweeps)
    log_ratio = 0.0 if hidden or clip is None else range_of(clip, topic_word_prior)
    if epsilon is not None:
        mechanism = calibrated(noise, epsilon, delta, n_tables, n_draws, log_ratio)
    else:
        mechanism = table_mechanism(noise, float(epsilon_noise or 0.0), delta)
    event = total_event(mechanism, n_tables, n_draws, log_ratio)
    one = total_epsilon(mechanism.event(), delta) if epsilon_noise is None else float(epsilon_noise)
    total = total_epsilon(event, delta) if epsilon is None else float(epsilon)
    return Run(mechanism, event, total, one, log_ratio, clip, float(topic_word_prior))


def _half_the_budget(epsilon: float, delta: float, n_draws: int) -> float:
    """Return the range at which ``n_draws`` draws take half of the zCDP, or half of the pure loss if that is more."""
    rho = _rho_of(epsilon, delta)
    return max(math.sqrt(4 * rho / n_draws), epsilon / 2 / n_draws)


def _rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho whose zCDP satisfies (epsilon, delta), to a few digits."""
    low, high = 0.0, epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, delta) <= epsilon else (low, middle)
    return low
