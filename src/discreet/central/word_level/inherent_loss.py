r"""How much privacy the randomness of Gibbs sampling gives by itself: a monitor of a noise-free run.

Topics are drawn at random, so who sees only topics does not see words. How much a replaced word would show follows
from the counts of the run:

* *Its own draw* (one sweep). The ratio of any topic's probability under w and under w' is
  :math:`\phi_{kw} / \phi_{kw'}` up to a factor that all topics share, so the draw has range :math:`2 L_t`,

  .. math:: L_t = \max_k \ln \frac{\max_w n_{kw} + \beta}{\min_w n_{kw} + \beta} .

* *The other tokens' draws*. Where counts move along with the draws, a token of the same word sees one count
  more or less: a weight of one topic changes by a factor :math:`(n + 1 + \beta)/(n + \beta)`, and the draw has range at
  most :math:`\ln(1 + 1/\beta)` (without the factor 2 that general exponential mechanisms need). With frozen noisy
  tables this term is absent.
* *A run*: sweeps compose; the smaller of the pure sum and zCDP (:math:`r^2/8` for a draw of range r) is reported.

This is *no guarantee*: the loss is computed from the exact counts of one run, would be another for its neighbours, and
is itself private. It shows how far from private a noise-free run is. Nothing here is for release.

Reference
---------
Zhao, Ren, Yang, Han, Zhao, Yang, arXiv:2010.04391: proposition 1, theorem 1 (one sweep), proposition 2 (other tokens),
theorem 2 (the run), in our reading; proposition 2 is tightened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._numbers import as_numbers
from discreet._validate import check, number, whole
from discreet.errors import ParameterError
from discreet.privacy.accounting.zcdp import zcdp_epsilon
from discreet.privacy.units import check_delta

__all__ = ["InherentPrivacy", "inherent_privacy"]


class InherentPrivacy(NamedTuple):
    """What a noise-free run would lose. Private: not for release.

    Attributes
    ----------
    per_sweep : array of shape (n_sweeps,)
        Pure loss of each sweep.
    pure : array of shape (n_sweeps,)
        Sum of the sweeps so far.
    zcdp : array of shape (n_sweeps,)
        Epsilon at ``delta`` of the sweeps so far, by zCDP.
    total : array of shape (n_sweeps,)
        The smaller of the two.
    delta : float
    """

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
        ax.plot(sweeps, self.per_sweep, label="one sweep")
        ax.plot(sweeps, self.pure, label="all so far, pure sum")
        ax.plot(sweeps, self.zcdp, label=f"all so far, zCDP at delta = {self.delta:g}")
        ax.set(xlabel="sweep", ylabel="epsilon of a noise-free run (one word)", yscale="log")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.12))
        return ax


def inherent_privacy(
    tables: Iterable[ArrayLike], topic_word_prior: float, *, n_related: int = 0, delta: float = 1e-6
) -> InherentPrivacy:
    """Compute what each sweep of a noise-free run would lose about one replaced word.

    Parameters
    ----------
    tables : iterable of arrays of shape (n_topics, n_words)
        The counts from which each sweep drew.
    topic_word_prior : float
        beta.
    n_related : int, default 0
        Other tokens of the two words, which live counts would draw along. 0: the table was frozen.
    delta : float, default 1e-6

    Returns
    -------
    InherentPrivacy

    Examples
    --------
    >>> found = inherent_privacy([[[3, 0], [1, 2]]], 0.01)
    >>> round(float(found.per_sweep[0]), 2)
    11.41
    """
    check(topic_word_prior=(topic_word_prior, number(above=0)), n_related=(n_related, whole(0)))
    beta = float(topic_word_prior)
    check_delta(delta)
    own: list[float] = []
    for given in tables:
        table = np.asarray(as_numbers(given, "the table", ""), dtype=np.float64)
        if table.ndim != 2 or not table.size or not np.isfinite(table).all() or (table < 0).any():
            raise ParameterError("each table must hold counts from 0, of shape (n_topics, n_words).")
        own.append(2 * float(np.log((table.max(1) + beta) / (table.min(1) + beta)).max()))
    if not own:
        raise ParameterError("there is no table: give one for each sweep.")
    ranges = np.array(own)
    related = math.log1p(1 / beta)
    per_sweep = ranges + n_related * related
    rho = np.cumsum((ranges**2 + n_related * related**2) / 8)
    pure = np.cumsum(per_sweep)
    zcdp = np.array([zcdp_epsilon(float(r), delta) for r in rho])
    return InherentPrivacy(per_sweep, pure, zcdp, np.minimum(pure, zcdp), delta)
