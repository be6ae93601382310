r"""What a shuffler adds: reports that come in random order, without names, hide one another.

n writers each send one report through a channel of pure loss :math:`\epsilon_0`, and only the shuffled reports are
seen. :func:`amplify_by_shuffling` finds the central :math:`\epsilon` at a given :math:`\delta`, numerically.

Proof
-----
*Unit, neighbours*: one report, replaced (its text is :math:`x_0` or :math:`x_1`; all other texts may be known).
Write e for :math:`e^{\epsilon_0}`, a and b for the densities of a report under :math:`x_0` and :math:`x_1`. As
:math:`b \le e a` and :math:`a \le e b`, the functions :math:`u = (e a - b)/(e - 1)` and
:math:`w = (e b - a)/(e - 1)` are densities, and :math:`a = (e u + w)/(e + 1)`, :math:`b = (u + e w)/(e + 1)`: the
report is a draw from u ("0") or w ("1"), "0" with probability :math:`e/(e+1)` under :math:`x_0` and
:math:`1/(e+1)` under :math:`x_1`. Any other writer's density r satisfies
:math:`r \ge \max(a, b)/e \ge (a + b)/(2e) = (u + w)/(2e)`: with probability 1/e it is a fair draw of "0" or "1", a
*clone*, else something that has nothing to do with :math:`x_0, x_1`. Who is a clone does not depend on the text
either, so the shuffled reports are a random function of how many "0" and "1" there are:

.. math:: C \sim \mathrm{Bin}(n - 1, e^{-\epsilon_0}), \quad A \sim \mathrm{Bin}(C, \tfrac12), \quad
          \Delta \sim \mathrm{Bern}(\tfrac{e}{e + 1}), \qquad P = (A + \Delta, C - A + 1 - \Delta),

Q being P with 0 and 1 exchanged. For each C the set where :math:`P > e^\epsilon Q` is a tail of A, so that the
divergence :math:`\delta(\epsilon)` is a sum of binomial tails over C. What is left out of that sum is added to
:math:`\delta` in full; where C is taken in steps, the smallest of a step stands for all (more clones hide more: one can
add a random one). The answer is therefore an upper bound.

*Several questions* (:class:`discreet.WholeDocumentLDA`): which question a client answers follows from a random number
and not from its text, so a text that is replaced changes one pool of shuffled answers; the others, and questions made
of earlier answers, are the same random function of it. A course is therefore as private, for each client, as the pool
that it answers in: n is that pool's, and the smallest one's for all clients (:func:`shuffled_course`). The number is
part of the report, drawn by it: nobody may know otherwise whose number it is.

Every report must come from a channel of at most :math:`\epsilon_0`, none may be missing because of what it says, and
the shuffler must not collude with the server.

References
----------
Feldman, McMillan, Talwar, "Hiding among the clones: a simple and nearly optimal analysis of privacy amplification
by shuffling", arXiv:2012.12803 (theorem 3.1, whose divergence is computed here rather than bounded in closed form).
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
from scipy.stats import binom

from discreet._base.validate import check, number, whole
from discreet.privacy.units import check_delta

#: Most numbers of clones that are looked at one by one.
_POINTS = 20_000
#: Part of delta that the tails of the number of clones may take.
_TAIL = 1e-3
#: Relative error that scipy's binomial tails may have, with room to spare.
_ROUNDING = 1e-9
_LARGEST_LOSS = 50.0


def shuffled_delta(epsilon: float, epsilon_0: float, n_reports: int, *, tail: float = 1e-15) -> float:
    """Return an upper bound of the delta at which shuffled reports, each of loss ``epsilon_0``, satisfy ``epsilon``.

    ``tail`` is the probability of numbers of clones that need not be looked at; it is added to the answer.
    """
    if epsilon >= epsilon_0:
        return 0.0
    keep = 1 / (1 + math.exp(-epsilon_0))  # e / (e + 1)
    others, share = n_reports - 1, math.exp(-epsilon_0)
    low, high = (int(value) for value in binom.ppf([tail / 2, 1 - tail / 2], others, share))
    low, high = max(low - 1, 0), min(high + 1, others)
    width = max(1, -(-(high - low + 1) // _POINTS))
    clones = np.arange(low, high + 1, width)
    ends = np.minimum(clones + width - 1, high)
    mass = binom.cdf(ends, others, share) - binom.cdf(clones - 1, others, share)
    # P - e^epsilon Q = gain B(a - 1) - loss B(a) with B = Bin(c, 1/2): positive where a / (c - a + 1) > loss / gain.
    factor = math.exp(epsilon)
    gain, loss = keep - factor * (1 - keep), factor * keep - (1 - keep)
    if gain <= 0:
        return 0.0
    ratio = loss / gain
    first = np.floor(ratio * (clones + 1) / (1 + ratio)).astype(np.int64) + 1
    inner = gain * binom.sf(first - 2, clones, 0.5) - loss * binom.sf(first - 1, clones, 0.5)
    # The difference of two tails may cancel; their own rounding errors bound what is lost.
    error = _ROUNDING * (gain * binom.sf(first - 2, clones, 0.5) + loss * binom.sf(first - 1, clones, 0.5))
    left_out = binom.cdf(low - 1, others, share) + binom.sf(high, others, share)
    return float((mass * (1 + _ROUNDING)) @ np.clip(inner + error, 0.0, 1.0) + left_out)


def amplify_by_shuffling(epsilon_0: float, n_reports: int, delta: float) -> float:
    """Return the central epsilon of n shuffled reports, each of pure loss ``epsilon_0``.

    Parameters
    ----------
    epsilon_0 : float
        Pure loss of one whole report (not of one word), positive and at most 50.
    n_reports : int
        Reports that are shuffled together: a public number, or a lower bound of it.
    delta : float
        Of the central promise.

    Returns
    -------
    float
        An upper bound, at most ``epsilon_0``; unit "report", "replace_one".

    Raises
    ------
    ParameterError, PrivacyError
        Where a number is out of range.

    Examples
    --------
    >>> round(amplify_by_shuffling(4.0, 100_000, 1e-6), 2)
    0.17
    """
    check(epsilon_0=(epsilon_0, number(above=0, most=_LARGEST_LOSS)), n_reports=(n_reports, whole()))
    check_delta(delta)

    def within(epsilon: float) -> bool:
        return shuffled_delta(epsilon, float(epsilon_0), int(n_reports), tail=_TAIL * delta) <= delta

    low, high = 0.0, float(epsilon_0)
    if within(low):
        return low
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high


def shuffled_course(epsilon_0: float, n_answers: Sequence[int], delta: float) -> float:
    """Return the central epsilon of a course of questions, the answers to each of which are shuffled.

    Parameters
    ----------
    epsilon_0 : float
        Pure loss of one answer.
    n_answers : sequence of int
        To each question.
    delta : float
        Of the central promise.

    Returns
    -------
    float
        For every client; those who answer where most do have less to lose.

    Examples
    --------
    >>> round(shuffled_course(4.0, [400_000, 100_000, 200_000, 300_000], 1e-6), 2)
    0.17
    """
    return amplify_by_shuffling(epsilon_0, min(n_answers), delta)


def told_course(epsilon_0: float, n_answers: Sequence[int]) -> tuple[str, str]:
    """Return epsilon and delta of a shuffled course as they are written: the pair itself is proved.

    Delta has one digit and is a tenth of one over all answers at most; epsilon, which is found at that delta, is
    rounded up to two digits.
    """
    delta = Context(1, ROUND_FLOOR).divide(Decimal(1), Decimal(10 * sum(n_answers)))
    epsilon = shuffled_course(epsilon_0, n_answers, float(delta))
    # "plus" rounds to the context's digits.
    return f"{Context(2, ROUND_CEILING).plus(Decimal(epsilon)):f}", f"{float(delta):.0e}"
