r"""What a fit does, from public numbers and the noisy number of units: one function of x, and one table.

With V words, K topics, the noisy number of units n and the Gaussian-DP parameter mu of the whole fit,

.. math:: x = \frac{V K}{n \mu}

is how much there is to learn for what can be heard. Everything that a fit chooses is a continuous function of x (and
of V and K, where words are counted), so nothing jumps where a noisy number happens to fall:

==============================  ==========================================================
share of the count              .002
share of the unigram            x / (x + 175) of what count and pairs leave, at least .002
share of the moment             .04 x / (1 + x), where there are public word vectors
share of the pairs of words     .3, less the moment's; half of .3 beside vectors that are
                                believed
words of the pairs              4.5 root(V K / x), from 30 to 850 and at most V
their weights                   p^(-a/2), p the unigram, a = 1/2 + 1/2 / (1 + (x/2)^2)
rounds, equal shares            4, of what is left; without noise 40
what a unit gives to a round    counts to the power a, times p^(-1/4)
bound of its norm               (30 x / L)^(-.7) usual norms
last step                       .3 x / (1 + x) of the unigram
==============================  ==========================================================

The usual norm is that of a unit of L different words, each once; how long texts are, L, is read from released numbers.
So where there are few words, n L, for V K numbers, nearly all units are scaled to one norm and all are heard alike;
where words are plentiful, scaling costs more than the noise that it saves, and nearly none is clipped. By x alone,
whatever L, short messages had 2.3 % more perplexity (pheme and tweetrumors, 100 to 500 words, 5 and 10 topics), long
texts as much. Vectors are believed by :func:`discreet.central.start.look`, the one threshold that a fit has: with it
random vectors cost .8 % of perplexity at most on kos and pheme.

Without privacy x is 0, in the same formulas: counts, clipped where nearly nobody is, and no last step. Where x is
divided by it is at least .0001.

Shares are of :math:`\mu^2`, which adds up over Gaussian releases. The values were found by experiment on news, mail
and messages (docs/algorithm.md has what was measured); they are public constants, so choosing them cost nothing.
"""

import math
from typing import NamedTuple

COUNT_SHARE = 0.002
#: Of the unigram: what words weigh in rounds, and in pairs where there is much noise.
WORD_POWER = -0.25
#: The x at which as much goes to the unigram as to the rounds; where it is large hardly anything else can be learned.
_EVEN = 175
_MOMENT = 0.04
#: Of pairs of words; beside vectors that are believed, half of it.
_PAIRS = 0.3
#: Words whose pairs are counted, over the root of n mu, at least, as fewer do not show whether there are topics, and at
#: most. A start from vectors has all of the most.
_WORDS, FEWEST_WORDS, MOST_WORDS = 4.5, 30, 850
_ROUNDS, _ROUNDS_WITHOUT_NOISE = 4, 40
#: Of x, and of the length of units over so many different words: the bound in usual norms.
_BOUND_POWER, _USUAL_WORDS = -0.7, 30
_LAST_STEP = 0.3
#: Stands for no noise where x is divided by.
_TINY = 1e-4


class Schedule(NamedTuple):
    """What a fit will do; every field is public once the noisy number of units is released."""

    #: The difficulty, from which the others follow.
    x: float
    unigram_share: float
    moment_share: float
    #: Of the pairs, with that of the moment where one is released.
    pairs_share: float
    #: Of the pairs alone, where vectors are believed.
    pairs_share_beside_vectors: float
    #: With equal shares of what is left.
    n_rounds: int
    #: Words whose pairs are counted.
    start_words: int
    #: Of the unigram: what words weigh in their pairs.
    pairs_power: float
    #: Of the counts that a unit gives to a round.
    exponent: float
    #: Part of the unigram that is taken off the topics in the end.
    last_step: float

    def usual_norms(self, words: float) -> float:
        """Return the bound of what a unit of so many different words gives to a round, in usual norms."""
        return (max(self.x, _TINY) * _USUAL_WORDS / words) ** _BOUND_POWER


def plan(n_units: float, mu: float, n_words: int, n_topics: int, n_rounds: int | None = None) -> Schedule:
    """Choose shares and sizes by the table of this module, of the noisy number of units (not the true one).

    ``mu``: Gaussian-DP parameter of the whole fit, ``inf`` without privacy; ``n_rounds``: in place of the table's.
    """
    x = n_words * n_topics / (max(n_units, 1.0) * mu)
    tiny = max(x, _TINY)
    words = int(_WORDS * math.sqrt(n_words * n_topics / tiny))
    noisy, exponent = x / (1 + x), (1 + 1 / (1 + (x / 2) ** 2)) / 2
    return Schedule(
        x=x,
        unigram_share=max(COUNT_SHARE, (1 - COUNT_SHARE - _PAIRS) * x / (x + _EVEN)),
        moment_share=_MOMENT * noisy,
        pairs_share=_PAIRS,
        pairs_share_beside_vectors=_PAIRS / 2,
        n_rounds=n_rounds or (_ROUNDS if x else _ROUNDS_WITHOUT_NOISE),
        start_words=min(n_words, max(words, FEWEST_WORDS), MOST_WORDS),
        pairs_power=2 * WORD_POWER * exponent,
        exponent=exponent,
        last_step=_LAST_STEP * noisy,
    )
