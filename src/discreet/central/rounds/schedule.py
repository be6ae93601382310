r"""Sizes and shares of a run, from public numbers and the noisy number of units only.

With :math:`s = n\mu` the signal (noisy number of units times the Gaussian-DP parameter), V words, K topics:

=====================  ==========================================================
share of the count     .002
share of the unigram   clip(.05 V / s, .03, .25)
share of the start     .4, or .25 where s > 40,000
words of the start     M = clip(4.5 sqrt(s), 100, min(V, 1000))
rounds                 5, or 3 where s < 1,500; shares of the rest 1 : ... : 2 : 3
forgetting             .5, or .7 where s < 3,000
directions             clip(sqrt(s), 20, 60), of public word vectors where there are any
=====================  ==========================================================

Without privacy there is no noise to be louder than: counts instead of their roots, clipped where nearly nobody is, and
40 rounds.

Shares are of :math:`\mu^2`, which adds up over Gaussian releases. The values were found by experiment on
news, mail and reviews; they are public constants, so choosing them cost nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.central.rounds.em_round import SCALED, Contribution

__all__ = ["COUNT_SHARE", "Schedule", "plan"]

COUNT_SHARE = 0.002
_NON_PRIVATE_ROUNDS = 40
_NON_PRIVATE_START = 500
#: Longer than nearly any document: in five corpora of mail, news and messages one in 70,000 was above it.
_NON_PRIVATE_CONTRIBUTION = Contribution(exponent=1.0, bound=1000.0)


class Schedule(NamedTuple):
    """What a run will do; every field is public once the noisy number of units is released."""

    unigram_share: float
    start_share: float
    start_words: int
    round_shares: tuple[float, ...]
    forgetting: float
    n_directions: int = 60
    contribution: Contribution = SCALED


def plan(n_units: float, mu: float, n_words: int, n_rounds: int | None = None) -> Schedule:
    """Choose sizes and shares.

    Parameters
    ----------
    n_units : float
        Noisy number of units (not the true one).
    mu : float
        Gaussian-DP parameter of the whole fit; ``inf`` without privacy.
    n_words : int
    n_rounds : int, optional
        Instead of the rounds in the table.
    """
    if math.isinf(mu):
        rounds = n_rounds or _NON_PRIVATE_ROUNDS
        start_words = min(n_words, _NON_PRIVATE_START)
        shares = (0.0,) * rounds
        return Schedule(0.0, 0.0, start_words, shares, 0.0, contribution=_NON_PRIVATE_CONTRIBUTION)
    signal = max(n_units * mu, 1.0)
    unigram = float(np.clip(0.05 * n_words / signal, 0.03, 0.25))
    start = 0.4 if signal < 40_000 else 0.25
    words = int(np.clip(4.5 * math.sqrt(signal), min(100, n_words), min(n_words, 1000)))
    directions = int(np.clip(math.sqrt(signal), 20, 60))
    weights = np.ones(n_rounds or (3 if signal < 1500 else 5))
    if len(weights) >= 3:
        weights[-2:] = 2, 3
    rest = 1 - COUNT_SHARE - unigram - start
    shares = tuple((rest * weights / weights.sum()).tolist())
    return Schedule(unigram, start, words, shares, 0.7 if signal < 3000 else 0.5, directions)
