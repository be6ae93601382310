r"""What word-level Gibbs sampling costs, and how much privacy its randomness gives by itself.

One event for the whole run, and the noise that a total buys
============================================================
A run of T sweeps releases T + 1 noisy tables and T draws where topic assignments count as released, or 2T noisy
tables and no draw where they stay inside:

* a table under discrete Laplace noise of scale :math:`2/\epsilon_L`: two events of loss :math:`\epsilon_L / 2`;
* a table under rounded Gaussian noise of standard deviation :math:`\sigma`: one Gaussian event of multiplier
  :math:`\sigma / \sqrt 2`, zCDP :math:`1/\sigma^2`;
* a draw: a :math:`2L`-bounded-range event, :math:`L = \ln(1 + C/\beta)`; pure :math:`2L`, zCDP :math:`L^2/2`.

The ledger reports the smallest of the pure sum, zCDP and loss distributions. Proofs:
:mod:`discreet.central.word_level.hybrid_gibbs`.

A monitor of a noise-free run
=============================
Topics are drawn at random, so who sees only topics does not see words. How much a replaced word would show follows
from the counts of the run. Here each sweep draws from the exact table :math:`n_{kw}` that stood before it, frozen for
the sweep, as in ``HybridGibbsLDA`` with ``epsilon=inf``; the own document is live.

*Unit*: word. *Neighbours*: one token's word w is replaced by another, w'. *Seen*: the topics of all tokens, in all
sweeps. *Bound*: whatever token and word are taken, the log-ratio of the probabilities of what a sweep drew differs
between the two corpora by at most ``own + related``, given the topics before; and that of the whole run by at most the
sum of its sweeps.

Proof. Fix the topics before the sweep, :math:`k_0` being that of the replaced token. The tables of the two corpora
differ in the cells :math:`(k_0, w)` and :math:`(k_0, w')` by one each, n being the table at hand; the sizes of topics
agree. Multiply the probabilities of the draws in order. Given the draws before it, each token finds the same counts
in its document in both corpora.

* *The replaced token.* The ratio of topic k's weights is :math:`(n_{kw} + \beta) / (n'_{kw'} + \beta)`, where
  :math:`n'_{kw'}` is one more than :math:`n_{kw'}` for :math:`k = k_0` and the same otherwise; and
  :math:`n_{k_0 w} \ge 1`. So its logarithm is at most :math:`L` and at least :math:`-L'`,

  .. math:: L = \max_k \ln \frac{\max_w n_{kw} + \beta}{\min_w n_{kw} + \beta}, \quad
            L' = \max\left(L, \max_k \ln\frac{\max_w n_{kw} + 1 + \beta}{\max(1, \min_w n_{kw}) + \beta}\right),

  and the draw has range at most :math:`L + L'`, which bounds its loss.
* *Related tokens*: the others of the words w and w'. Their draws read the cell that differs, and no noise hides the
  difference. One topic's weight changes by a factor :math:`(n_{k_0w} + \beta)/(n_{k_0w} - 1 + \beta)` for each of the
  :math:`N_w - 1` others of w, and by :math:`(n_{k_0w'} + 1 + \beta)/(n_{k_0w'} + \beta)` for each of the
  :math:`N_{w'}` of w'. A draw with one weight changed by a factor :math:`e^r` has range r, at most
  :math:`\ln(1 + 1/\beta)`. They add up, for the worst :math:`k_0`, w and w'.
* *All others* draw by the same law: their factors cancel.

:math:`N_w` is the total of a word in the table. Without the second term the monitor says far too little: with two
topics, :math:`\beta` = .01 and two related tokens a sweep can lose 12.5 where the replaced token's draw alone has a
range of 10.6; with five, 25.2 of 12.4 (``tests/central/test_inherent_privacy.py`` enumerates them).

This is *no guarantee*: the loss is computed from the exact counts of one run, and is itself private. zCDP
(:math:`r^2/8` for a draw of range r) is added up as if the ranges had been known before. It shows how far from private
a noise-free run is. Nothing here is for release.

Reference
---------
Zhao, Ren, Yang, Han, Zhao, Yang, arXiv:2010.04391: proposition 1, theorem 1 (one sweep, both terms), proposition 2
(related tokens), theorem 2 (the run), for frozen tables and from the counts at hand. Their proposition 2 has twice
the range for each related token, whatever the counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.validate import check, number
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting.curves import zcdp_epsilon
from discreet.privacy.accounting.planning import solve
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
from discreet.privacy.row_sums import OneCellBound
from discreet.privacy.units import check_delta


class InherentPrivacy(NamedTuple):
    """What a noise-free run would lose. Private: not for release.

    Attributes
    ----------
    own : array of shape (n_sweeps,)
        Largest loss of the replaced token's own draw.
    related : array of shape (n_sweeps,)
        Largest loss of all draws of other tokens of the two words.
    per_sweep : array of shape (n_sweeps,)
        Pure loss of each sweep: their sum.
    pure : array of shape (n_sweeps,)
        Sum of the sweeps so far.
    zcdp : array of shape (n_sweeps,)
        Epsilon at ``delta`` of the sweeps so far, by zCDP.
    total : array of shape (n_sweeps,)
        The smaller of the two.
    delta : float
    """

    own: NDArray[np.float64]
    related: NDArray[np.float64]
    per_sweep: NDArray[np.float64]
    pure: NDArray[np.float64]
    zcdp: NDArray[np.float64]
    total: NDArray[np.float64]
    delta: float

    def plot(self, ax: Any = None) -> Any:
        """Draw the losses against sweeps, on a logarithmic axis; returns the matplotlib axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        sweeps = np.arange(1, len(self.per_sweep) + 1)
        ax.plot(sweeps, self.own, label="one sweep, the replaced token alone")
        ax.plot(sweeps, self.per_sweep, label="one sweep, with related tokens")
        ax.plot(sweeps, self.pure, label="all so far, pure sum")
        ax.plot(sweeps, self.zcdp, label=f"all so far, zCDP at delta = {self.delta:g}")
        ax.set(xlabel="sweep", ylabel="epsilon of a noise-free run (one word)", yscale="log")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.12), fontsize="small")
        return ax


def inherent_privacy(
    tables: Iterable[ArrayLike], topic_word_prior: float, *, delta: float = 1e-6
) -> InherentPrivacy:
    """Compute what each sweep of a noise-free run would lose about one replaced word.

    Parameters
    ----------
    tables : iterable of arrays of shape (n_topics, n_words)
        The exact counts from which each sweep drew, frozen for the sweep.
    topic_word_prior : float
        beta.
    delta : float, default 1e-6

    Returns
    -------
    InherentPrivacy

    Raises
    ------
    ParameterError
        If tables are not counts of the same tokens: noisy or clipped ones, say.

    Examples
    --------
    >>> found = inherent_privacy([[[3, 0], [1, 2]]], 0.01)
    >>> [round(float(loss[0]), 2) for loss in (found.own, found.related, found.per_sweep)]
    [11.41, 14.65, 26.07]
    """
    check(topic_word_prior=(topic_word_prior, number(above=0)))
    beta = float(topic_word_prior)
    check_delta(delta)
    own: list[float] = []
    related: list[tuple[float, float]] = []
    totals: NDArray[np.float64] | None = None
    for given in tables:
        table = _checked(given, totals)
        totals = table.sum(0)
        own.append(_own_range(table, beta))
        related.append(_related_ranges(table, beta))
    if not own:
        raise ParameterError("there is no table: give one for each sweep.")
    ranges = np.array(own)
    losses, squares = np.array(related).T
    per_sweep = ranges + losses
    rho = np.cumsum((ranges**2 + squares) / 8)
    pure = np.cumsum(per_sweep)
    zcdp = np.array([zcdp_epsilon(float(r), delta) for r in rho])
    return InherentPrivacy(ranges, losses, per_sweep, pure, zcdp, np.minimum(pure, zcdp), delta)


def _checked(given: ArrayLike, totals: NDArray[np.float64] | None) -> NDArray[np.float64]:
    table = np.asarray(as_numbers(given, "the table", ""), dtype=np.float64)
    whole = table.ndim == 2 and np.isfinite(table).all() and (table == np.floor(table)).all()
    if not whole or (table < 0).any() or not table.any():
        raise ParameterError(
            "each table must hold exact counts of topics, whole numbers from 0 and not all 0, of shape (n_topics, "
            "n_words)."
        )
    if totals is not None and not np.array_equal(table.sum(0), totals):
        raise ParameterError(
            "the tables count different tokens: their totals by word must agree, as those of one run do. Give "
            "exact counts, without noise and clip."
        )
    return table


def _own_range(table: NDArray[np.float64], beta: float) -> float:
    """Return L + L' of the module."""
    low, high = table.min(1), table.max(1)
    above = np.log((high + beta) / (low + beta)).max()
    below = np.log((high + 1 + beta) / (np.maximum(low, 1) + beta)).max()
    return float(above + max(above, below))


def _related_ranges(table: NDArray[np.float64], beta: float) -> tuple[float, float]:
    """Return the largest sum of the related draws' ranges, and of their squares."""
    totals = table.sum(0)
    here = table > 0  # the replaced token is counted in a cell that is not empty
    replaced = np.where(here, -np.log1p(-1 / (np.maximum(table, 1) + beta)), 0.0)
    replacing = np.log1p(1 / (table + beta))
    sums = [
        _largest_of_two(np.where(here, (totals - 1) * replaced**power, -np.inf), totals * replacing**power)
        for power in (1, 2)
    ]
    return sums[0], sums[1]


def _largest_of_two(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the largest ``one[k, w] + other[k, v]`` of two words w and v of a topic; 0 where there is one word."""
    if one.shape[1] == 1:
        return 0.0
    topics = np.arange(len(other))
    best = other.argmax(1)
    most = np.repeat(other.max(1)[:, None], other.shape[1], axis=1)
    most[topics, best] = np.partition(other, -2, axis=1)[:, -2]
    return float((one + most).max())


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
    """Return what noises one table.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
    epsilon_noise : float
        What one table costs; ``inf`` adds no noise.
    delta : float
        Gaussian noise only: one table satisfies (epsilon_noise, delta).
    """
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

    Raises
    ------
    ParameterError
        Where the draws alone cost more: no noise would help.
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
    """What a run will do and cost.

    Attributes
    ----------
    mechanism : GaussianMechanism or LaplaceMechanism
        Noise of one table.
    event : event
        Of the whole run.
    epsilon : float
        Of the whole run: the total that was asked for, or the one that follows.
    epsilon_noise : float
        Of one table, at the run's delta.
    log_ratio : float
        Range of one topic draw; 0 where draws are not released.
    clip : float or None
    topic_word_prior : float
    """

    mechanism: Mechanism
    event: Any
    epsilon: float
    epsilon_noise: float
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

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
    epsilon, epsilon_noise : float or None
        One of them: of the run, or of one table.
    delta : float
    n_sweeps : int
    clip, topic_word_prior : float or None
        None: see :class:`~discreet.central.word_level.hybrid_gibbs_lda.HybridGibbsLDA`.
    hidden : bool
        Assignments stay inside.
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
