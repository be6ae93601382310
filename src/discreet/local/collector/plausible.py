r"""How many ones a report can have: a bound that holds for every document.

A report of a document with m of the V words is 1 at each bit independently, with probability p at m bits and q at
the others, so no number of ones from 0 to V is impossible; but most are out of reach. The client keeps at most L
words of a document (its limit, or all V), so :math:`m \le M = \min(L, V)`; M is smaller where whoever runs the
collector knows that documents are shorter. For any s > 0 the number Y of ones has

.. math:: P(Y \ge c) \le e^{-sc} E[e^{sY}] = e^{-sc} (1 + p (e^s - 1))^m (1 + q (e^s - 1))^{V - m},

which grows with m, because p > q: at m = M it holds for every document. For s < 0 the same bounds :math:`P(Y \le
c)`, falls with m, and at m = 0 holds for every document. Each side gets half of ``chance``; any s gives a valid
bound, so the search for a good one need not be exact.

The bounds are those of the channel, not of the reports that came: nobody who sends can move them, and whether a
report is refused does not depend on others'.
"""

import math
from collections.abc import Callable

import numpy as np

from discreet.privacy.bit_channel import BitChannel

__all__ = ["plausible_ones"]

#: Probability below which an honest report falls outside. Among a billion, one does with probability below 0.001.
CHANCE = 1e-12
#: Logarithms are sums of V terms in floats: what they may be off by is far less.
_SLACK = 1e-6


def plausible_ones(
    channel: BitChannel, n_words: int, *, most_words: int | None = None, chance: float = CHANCE
) -> tuple[int, int]:
    """Return the fewest and the most ones of a report: outside lies an honest one with probability below ``chance``.

    Parameters
    ----------
    channel : BitChannel
    n_words : int
        Bits of a report.
    most_words : int, optional
        Words of the vocabulary that any document has; without it, the channel's limit or all.
    chance : float, default 1e-12
        Of both sides together, for one report of any document.

    Returns
    -------
    fewest, most : int
        Both still plausible.
    """
    p, q = float(channel.p), float(channel.q)
    kept = min(channel.limit or n_words, most_words or n_words, n_words)
    goal = math.log(chance / 2) - _SLACK
    rise = np.geomspace(1e-5, 60, 4000)
    up = kept * np.log1p(p * np.expm1(rise)) + (n_words - kept) * np.log1p(q * np.expm1(rise))
    down = n_words * np.log1p(q * np.expm1(-rise))

    def too_many(c: int) -> bool:
        return bool((up - rise * c).min() <= goal)

    def too_few(c: int) -> bool:
        return bool((down + rise * c).min() <= goal)

    # Both bounds are monotone beyond the mean of the worst document, and no bound on its other side.
    most = _first(too_many, math.ceil(kept * p + (n_words - kept) * q), n_words + 1) - 1
    fewest = (
        n_words - _first(lambda c: too_few(n_words - c), n_words - math.floor(n_words * q), n_words + 1) + 1
    )
    return max(fewest, 0), most


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number from ``low`` on for which it holds, as it then does for all above; ``high`` if none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
