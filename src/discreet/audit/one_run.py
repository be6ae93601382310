r"""What one training run proves about epsilon, from how often guesses about its members came true.

Let :math:`m` documents be in or out of the training corpus by independent fair coins, and let a guesser, who
sees only what training gave out, say "in" or "out" of at most :math:`r` of them and keep silent on the rest.
If training is :math:`\epsilon`-private for adding or removing a document, the number of right guesses is
stochastically dominated by :math:`\mathrm{Binomial}(r, e^\epsilon/(1+e^\epsilon))`. With delta (theorem 5.2
of the source),

.. math:: \Pr[W \ge v] \le \beta + 2 m \delta \max_{1 \le i \le v} \frac1i \Pr[v > B \ge v - i],
          \qquad \beta = \Pr[B \ge v].

The bound is the smallest epsilon under which the count seen is not too unlikely.

**Exact halves.** If exactly half of the documents were drawn, the coins are not independent. But pair the
documents at random and keep the pairs of which one is in and one is out: given all the rest, which of the two it
is are independent fair coins. Turning such a coin replaces one document by another, which is removing and
adding: :math:`2\epsilon`, and :math:`(1 + e^\epsilon)\delta`. That is what ``replaced=True`` counts with, so
that the bound speaks of adding or removing there too.

References
----------
Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", arXiv:2305.08846.
"""

import math

import numpy as np
from scipy.stats import binom

from discreet.audit.arguments import check_confidence, check_promise
from discreet.errors import ParameterError

__all__ = ["check_guesses", "one_run_bound", "one_run_p_value"]

_LARGEST = 60.0
_HALVINGS = 60


def one_run_p_value(
    n_correct: int, n_guesses: int, epsilon: float, *, delta: float = 0.0, n_canaries: int | None = None
) -> float:
    """Return how probable so many right guesses are at most, if training is (epsilon, delta)-private.

    Parameters
    ----------
    n_correct, n_guesses : int
        Right guesses, and guesses made.
    epsilon : float
    delta : float, default 0.0
    n_canaries : int, optional
        Documents that the coins were thrown for; only delta needs it. As many as guesses by default.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ParameterError
        If guesses are not from ``n_correct`` to ``n_canaries``, epsilon is not finite and from 0, or delta is below 0.
    """
    canaries = n_guesses if n_canaries is None else n_canaries
    check_guesses(n_correct, n_guesses, canaries)
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
    *,
    replaced: bool = False,
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
    replaced : bool, default False
        Each coin chose one of two documents, not in or out (see the module).

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
    canaries = n_guesses if n_canaries is None else n_canaries
    check_guesses(n_correct, n_guesses, canaries)
    check_confidence(confidence)
    check_promise(None, delta)

    def likely(epsilon: float) -> bool:
        if replaced:
            each = delta * (1.0 + math.exp(epsilon))
            chance = one_run_p_value(n_correct, n_guesses, 2 * epsilon, delta=each, n_canaries=canaries)
        else:
            chance = one_run_p_value(n_correct, n_guesses, epsilon, delta=delta, n_canaries=canaries)
        return chance > 1.0 - confidence

    if n_guesses == 0 or likely(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if likely(middle):
            high = middle
        else:
            low = middle
    return low


def check_guesses(n_correct: int, n_guesses: int, canaries: int) -> None:
    """Raise a ParameterError unless there are at most as many right guesses as guesses, and as canaries."""
    if not 0 <= n_correct <= n_guesses <= canaries:
        raise ParameterError(
            "guesses must be from n_correct to n_canaries, "
            f"but got {n_correct} right of {n_guesses} on {canaries} canaries."
        )
