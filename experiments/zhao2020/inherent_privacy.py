r"""The monitor of Zhao et al. (2020) for frozen tables: what a noise-free run would lose about one replaced word.

Topics are drawn at random, so who sees only topics does not see words. How much a replaced word would show follows
from the counts of the run. Here each sweep draws from the exact table :math:`n_{kw}` that stood before it, frozen for
the sweep, as in :mod:`meant_gibbs` without noise; the own document is live.

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

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import ParameterError
from discreet._base.arrays import as_numbers
from discreet._base.validate import check, number
from discreet.privacy.accounting.curves import zcdp_epsilon
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
