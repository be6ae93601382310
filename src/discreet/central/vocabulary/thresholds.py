r"""The threshold that a noisy weight must pass, and why words that nobody else has stay hidden.

All methods here release, of each word, a weight with noise, where it is strictly above a public threshold;
other words are not mentioned. Weights are sums over units; a word is looked at only when some unit holds it.

Why noise need not be drawn for words that no unit holds
--------------------------------------------------------
*Unit*: a document or a person. *Neighbours*: one unit u is added or removed. *Released*: pairs of a word
and its noisy weight. Let S be the words that the other units hold and T, of size t, those that u alone
holds. Let E be the event that no word of T passes the threshold, p = 1 - P(E), and let L(h) be the
mechanism that adds noise to the weights h of the words of S and drops those below the threshold. Noise is
independent from word to word, so

* without u the release is :math:`Q = L(h_S)`;
* with u it is :math:`P = (1 - p) L(h'_S) + p B`, where B is what comes out when E fails.

:math:`L(h_S)` and :math:`L(h'_S)` are a noise mechanism (followed by a public threshold) on two vectors
whose distance on S is at most the sensitivity, so for each :math:`\gamma` their hockey-stick divergences
are at most those of the booked event, :math:`H_\gamma`. Then, for every set of outcomes A,

* :math:`P(A) - e^\gamma Q(A) \le (1 - p) H_\gamma + p`, and
* :math:`Q(A) - e^\gamma P(A) \le Q(A) - e^\gamma (1 - p) L(h'_S)(A) \le (1 - p) H_\gamma + p`.

So what is booked is the noise event plus an additive :math:`\delta \ge p`. The two lines use only :math:`P
= (1-p) L + p B`, a form that adaptive composition keeps (with :math:`1 - \prod(1 - p_i) \le \sum p_i`):
additive deltas add up over everything in one ledger. Nothing is assumed about u's weights on S, and drawing
noise for words outside S and T would change neither P nor Q, because such words are not released.

Which words count as "held" must not depend on other units, or T could grow beyond what u holds. Where a
method gives one unit's weight in view of what others gave (``greedy``), a word that a
unit holds is looked at even if its weight stayed zero.

How large p can be
------------------
A unit holds at most :math:`\Delta_0` words (``max_words``), so :math:`t \le \Delta_0`.

Laplace: weights of u's private words are at least zero and their sum at most 1. A word with weight x passes
with probability at most :math:`\frac12 e^{-\epsilon(\rho - x)}` for :math:`\rho \ge 1`, which is convex in
x, so the sum over T is largest at a corner: one word has everything, the others nothing. With the union
bound

.. math:: p \le \tfrac12 e^{-\epsilon\rho} (e^\epsilon + \Delta_0 - 1) = \delta
   \iff \rho = \ln\frac{e^\epsilon + \Delta_0 - 1}{2\delta} / \epsilon .

The threshold of Carvalho, Wang and Gondara, :math:`1 + \ln(1/(2\delta))/\epsilon`, is this one at
:math:`\Delta_0 = 1`: under it a unit with t private words leaks with probability up to :math:`\delta (1 +
(t - 1) e^{-\epsilon})`.

Gaussian: each of u's t private words has weight at most :math:`1/\sqrt t`, so
:math:`P(E) \ge \Phi((\rho - 1/\sqrt t)/\sigma)^t`, and :math:`p \le \delta` for

.. math:: \rho = \max_{1 \le t \le \Delta_0} \frac1{\sqrt t} + \sigma \Phi^{-1}\big((1 - \delta)^{1/t}\big) .

Several units of one person
---------------------------
All of the proof holds for a group of m units in the place of u, with S the words that units outside the group hold.
On S sums move by m times as much. Of the words T that only the group holds, let word j be held by :math:`c_j` of its
units, which have :math:`k_i` words each: under weights :math:`1/\sqrt{k_i}` its weight :math:`x_j` lies between
:math:`c_j / \sqrt{\Delta_0}` and :math:`c_j`, and :math:`x_j^2 \le c_j \sum_{i \ni j} 1/k_i` (Cauchy and Schwarz), so
:math:`\sum_j x_j^2 / c_j \le m`. With :math:`h(x) = -\ln \Phi((\rho - x)/\sigma)`

.. math:: p_m = 1 - e^{-\sum_j h(x_j)} \le 1 - \exp\Big(- m \max_{1 \le c \le m} \sup_{1/\Delta_0 \le u \le 1}
   \frac{h(c \sqrt u)}{c u}\Big) ,

where the supremum is bounded on a grid: h grows, so between two points it is at most h at the right over the left u.
Nothing grows in proportion to m here: a name in ten notes of one person is ten times as heavy, and may be far above the
threshold that hides it where it stands in one.

On the lattice
--------------
The threshold R is :math:`\rho 2^m`, rounded up, and a word passes when its integer is strictly above R.

* Discrete Laplace noise Z with :math:`q = e^{-\epsilon/2^m}`: :math:`P(Z \ge k) = q^k / (1 + q)` for
  :math:`k \ge 1`, so a word with integer weight x passes with probability :math:`q^{R+1-x}/(1+q) \le
  \tfrac12 q^{R-x}`, because :math:`2q \le 1 + q`: no more than with continuous noise.
* Rounded Gaussian noise: :math:`\mathrm{round}(N) \ge R + 1 - x` implies :math:`N \ge R + \tfrac12 - x`,
  less probable than :math:`N > R - x`.

Formulas are evaluated in floating-point; a relative margin of 1e-9 is added before rounding up.

References
----------
Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing search queries and clicks privately", WWW 2009,
doi:10.1145/1526709.1526733. Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set
union", ICML 2020, arXiv:2002.09745. Carvalho, Wang, Gondara, "Incorporating item frequency for differentially
private set union", AAAI 2022, doi:10.1609/aaai.v36i9.21183.
"""

import math

import numpy as np
from scipy.special import log_ndtr, ndtri

_MARGIN = 1.0 + 1e-9
_GRID = 2001


def laplace_threshold(epsilon: float, delta: float, max_words: int) -> float:
    """Return the threshold for L1-bounded weights under Laplace noise of scale 1 / epsilon.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss of the noise; ``inf`` gives the limit, 1.
    delta : float
        Largest probability that any of one unit's private words passes.
    max_words : int
        Most words that one unit may hold.

    Returns
    -------
    float
        In units of the contribution bound; at least 1.
    """
    if math.isinf(epsilon):
        return 1.0
    log_sum = epsilon + math.log1p((max_words - 1) * math.exp(-epsilon))
    return max(1.0, (log_sum - math.log(2.0 * delta)) / epsilon)


def published_threshold(epsilon: float, delta: float) -> float:
    """Return the threshold of Carvalho et al., safe only for units with at most one private word."""
    return laplace_threshold(epsilon, delta, 1)


def published_leak(epsilon: float, delta: float, max_words: int) -> float:
    """Return the probability with which a unit of private words can leak under the published threshold."""
    return min(1.0, delta * (1.0 + (max_words - 1) * math.exp(-epsilon)))


def gaussian_threshold(noise_multiplier: float, delta: float, max_words: int) -> float:
    """Return the threshold for weights 1/sqrt(t) under Gaussian noise.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the contribution bound.
    delta, max_words
        As for :func:`laplace_threshold`.

    Returns
    -------
    float
        In units of the contribution bound; at least 1.
    """
    t = np.arange(1, max_words + 1, dtype=np.float64)
    upper_tail = -np.expm1(np.log1p(-delta) / t)  # 1 - (1 - delta)^(1/t), without cancellation
    return float(np.max(1.0 / np.sqrt(t) - noise_multiplier * ndtri(upper_tail)))


def gaussian_group_failure(noise_multiplier: float, threshold: float, max_words: int, size: int) -> float:
    """Return a bound on the probability that a word passes which only one person's ``size`` units hold.

    Parameters
    ----------
    noise_multiplier, threshold : float
        In units of the contribution bound.
    max_words : int
        Most words that one unit may hold.
    size : int
        Units of that person.
    """
    if noise_multiplier == 0:
        return 1.0
    u = np.geomspace(1 / max_words, 1.0, _GRID)
    together = np.arange(1, size + 1)[:, None]
    passes = -log_ndtr((threshold - together * np.sqrt(u)) / noise_multiplier)
    worst = np.max(passes[:, 1:] / (together * u[:-1])) if max_words > 1 else np.max(passes / together)
    return float(-np.expm1(-size * worst * _MARGIN))


def on_lattice(threshold: float, bits: int) -> int:
    """Return a threshold in lattice steps, rounded up."""
    return math.ceil(threshold * _MARGIN * 2**bits)
