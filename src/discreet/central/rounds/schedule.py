r"""Sizes and shares of a run, from public numbers and the noisy number of units only.

With :math:`s = n\mu` the signal (noisy number of units times the Gaussian-DP parameter), V words, K topics:

=====================  ==========================================================
share of the count     .002
share of the unigram   clip(.05 V / s, .03, .25)
share of the start     .4, or .25 where s > 40,000
weights of its words   p^(-1/4), p the unigram
words of the start     M = clip(4.5 sqrt(s), 100, min(V, 1000))
rounds                 5, or 3 where s < 1,500; shares of the rest 1 : ... : 2 : 3
forgetting             .5, or .7 where s < 3,000
directions             clip(sqrt(s), 20, 60), of public word vectors where there are any
=====================  ==========================================================

With public word vectors, b = clip((5000 - s) / 2500, 0, 1) and h = clip((s - 5000) / 4000, 0, 1):

* s < 9,000: a first look at the moment has a share of .01, and where that is promising a closer one has
  .04 min(1, 2500 / s) more; start and rounds give them alike. Where the moment then speaks for the vectors, the
  unigram is released again, with what its share lacks to clip(.1 V / s, .03, .25), if that is above .005;
  the start has .15 (1 - b + h), or 0 where that is below .01, and rounds are 5, or 4 where
  b > .5, or 7 where h > .5;
* from 9,000 to 20,000 there is no moment: the start has a share of .3, and rounds are 7.

Where units are plentiful, x = V K / s < .6, scaling each to one norm costs more than the noise that it saves. Each
then gives counts, clipped at :math:`2 (.3 / x)^{.7}` usual norms; where x < .1, rounds are 8, each with a quarter
more than the one before. The start has a share of .15, M is 700 at most, and words weigh :math:`p^{-1/2}` in it:
where there is so little noise, rarer words tell topics apart, and more of the budget goes to rounds. The usual norm
is that of L words, each once, at the public weights of the rounds; L is how many different words a unit has by the
released unigram. Where L is below 10, and below a quarter of V, all stays as in the table: such units say no word
often, and are all about as long.

Without privacy there is no noise to be louder than: counts instead of their roots, clipped where nearly nobody is,
responsibilities by expectation propagation, and 40 rounds.

Shares are of :math:`\mu^2`, which adds up over Gaussian releases. The values were found by experiment on
news, mail and reviews; they are public constants, so choosing them cost nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.central.rounds.em_round import SCALED, Contribution
from discreet.privacy.bound import MAX_BITS

__all__ = ["COUNT_SHARE", "PAIRS_POWER", "Schedule", "plan"]

COUNT_SHARE = 0.002
_NON_PRIVATE_ROUNDS = 40
_NON_PRIVATE_START = 500
#: Longer than nearly any document: in five corpora of mail, news and messages one in 70,000 was above it.
_NON_PRIVATE_CONTRIBUTION = Contribution(1.0, bound=1000.0, matched=True, bits=MAX_BITS)
#: From the first signal on, pairs of words tell the start by themselves; from the second, vectors change nothing here.
_PAIRS_SUFFICE, _PLENTY = 9000.0, 20_000.0
#: Below the first x units give counts, below the second in more rounds.
_COUNTS, _MORE_ROUNDS = 0.6, 0.1
#: At that x the bound is so many usual norms; it grows with this power of 1 / x.
_TWO_NORMS, _NORMS, _BOUND_POWER = 0.3, 2.0, 0.7
_ROUNDS, _GROWTH = 8, 1.25
#: The power of the unigram that words weigh in the start; the same, its share and most words where units are plentiful.
PAIRS_POWER = -0.25
_PLENTIFUL_POWER, _PLENTIFUL_START, _PLENTIFUL_WORDS = -0.5, 0.15, 700
#: Share of the unigram by words over s, and where vectors are believed; what is lacking is made up from so much on.
_UNIGRAM, _LEAST_MORE = (0.05, 0.1), 0.005
#: Of the second moment: whether vectors know these texts at all, and what it takes to start from it up to which s.
_LOOK, _CLOSER_LOOK, _CLOSE_ENOUGH = 0.01, 0.04, 2500.0


class Schedule(NamedTuple):
    """What a run will do; every field is public once the noisy number of units is released."""

    unigram_share: float
    start_share: float
    start_words: int
    round_shares: tuple[float, ...]
    forgetting: float
    n_directions: int = 60
    #: Of the unigram: what words weigh in the co-occurrence.
    pairs_power: float = PAIRS_POWER
    contribution: Contribution = SCALED
    #: Bound of the counts that plentiful units give in place of ``contribution``, in usual norms; 0 where they do not.
    usual_norms: float = 0.0
    #: Of the first look at the documents in the space of vectors, and of a closer one where that is promising.
    moment_shares: tuple[float, float] = (0.0, 0.0)
    #: Of a second release of the unigram, where vectors are believed.
    closer_unigram_share: float = 0.0
    #: The schedules to go on with after the closer look: where it speaks for the vectors, and where it does not.
    believed: "Schedule | None" = None
    doubted: "Schedule | None" = None
    #: What to do instead where plentiful units turn out to be short: as if they were not plentiful.
    if_short: "Schedule | None" = None


def plan(
    n_units: float,
    mu: float,
    n_words: int,
    n_rounds: int | None = None,
    *,
    with_vectors: bool = False,
    n_topics: int | None = None,
) -> Schedule:
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
    with_vectors : bool, default False
        Public word vectors are given.
    n_topics : int, optional
        Tells whether units are plentiful; without it they are not.
    """
    if math.isinf(mu):
        rounds = n_rounds or _NON_PRIVATE_ROUNDS
        start_words = min(n_words, _NON_PRIVATE_START)
        shares = (0.0,) * rounds
        return Schedule(0.0, 0.0, start_words, shares, 0.0, contribution=_NON_PRIVATE_CONTRIBUTION)
    signal = max(n_units * mu, 1.0)
    unigram, closer_unigram = (float(np.clip(c * n_words / signal, 0.03, 0.25)) for c in _UNIGRAM)
    start = 0.4 if signal < 40_000 else 0.25
    words = int(np.clip(4.5 * math.sqrt(signal), min(100, n_words), min(n_words, 1000)))
    directions = int(np.clip(math.sqrt(signal), 20, 60))
    rounds = 3 if signal < 1500 else 5
    if with_vectors and _PAIRS_SUFFICE <= signal < _PLENTY:
        start, rounds = 0.3, 7
    usual_norms, growth, power, if_short = 0.0, 0.0, PAIRS_POWER, None
    if n_topics is not None and n_words * n_topics < _COUNTS * signal:
        x = n_words * n_topics / signal
        if_short = plan(n_units, mu, n_words, n_rounds, with_vectors=with_vectors)
        usual_norms = _NORMS * (_TWO_NORMS / x) ** _BOUND_POWER
        start, power, words = _PLENTIFUL_START, _PLENTIFUL_POWER, min(words, _PLENTIFUL_WORDS)
        if x < _MORE_ROUNDS and n_rounds is None:
            rounds, growth = _ROUNDS, _GROWTH
    rest = 1 - COUNT_SHARE - unigram
    forgetting = 0.7 if signal < 3000 else 0.5
    closer = _CLOSER_LOOK * min(1.0, _CLOSE_ENOUGH / signal)
    looks = (0.0, 0.0)
    if with_vectors and signal < _PAIRS_SUFFICE:
        looks = (_LOOK, closer)
    # What was looked at where vectors turn out to know nothing is missing everywhere alike.
    left = 1 - looks[0] / rest
    shares = _spread((rest - start) * left, n_rounds or rounds, growth)
    chosen = Schedule(
        unigram,
        start * left,
        words,
        shares,
        forgetting,
        directions,
        pairs_power=power,
        usual_norms=usual_norms,
        moment_shares=looks,
        if_short=if_short,
    )
    if not looks[0]:
        return chosen
    left = 1 - sum(looks) / rest
    shares = _spread((rest - start) * left, n_rounds or rounds, growth)
    doubted = chosen._replace(start_share=start * left, round_shares=shares)
    lacking = float(np.clip((5000 - signal) / 2500, 0.0, 1.0))
    plenty = float(np.clip((signal - 5000) / 4000, 0.0, 1.0))
    pairs = 0.15 * (1 - lacking + plenty)
    pairs = pairs if pairs > 0.01 else 0.0
    few = 4 if lacking > 0.5 else 7 if plenty > 0.5 else 5
    more = closer_unigram - unigram
    more = more if more > _LEAST_MORE else 0.0
    left = rest - sum(looks) - more - pairs
    shares = _spread(left, n_rounds or (rounds if growth else few), growth)
    believed = chosen._replace(start_share=pairs, round_shares=shares, closer_unigram_share=more)
    return chosen._replace(believed=believed, doubted=doubted)


def _spread(rest: float, n_rounds: int, growth: float = 0.0) -> tuple[float, ...]:
    """Share out what is left: the last rounds get more, or each so many times what the one before got."""
    weights = growth ** np.arange(n_rounds) if growth else np.ones(n_rounds)
    if not growth and n_rounds >= 3:
        weights[-2:] = 2, 3
    return tuple((rest * weights / weights.sum()).tolist())
