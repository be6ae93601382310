r"""The greedy vocabulary (GW) of Carvalho, Wang and Gondara (2022), which Manzonelli et al. (2024) use.

As meant (:class:`Greedy`), and as printed (:class:`PrintedGreedy`). The printed threshold, 1 + ln(1/(2 delta))/epsilon,
covers one word that only one document has; a document with t such words leaks one of them with probability up to
delta (1 + (t - 1) e^-epsilon), see docs/errata.md. And of words that a document uses equally often the printed one
prefers those that stand first in its text, the other those that come first in a secret order. Everything else is the
library's.

Each unit spends a budget of 1 on its favourite words that still need it
------------------------------------------------------------------------
Units come one after another. Each has a budget of 1 and gives to its words, the most used first, what the
word lacks to a cut-off :math:`\Gamma`, until the budget is spent. Words everybody uses soon have enough, so
later units' budgets go to rarer words. Then Laplace noise of scale :math:`1/\epsilon` is added and words
above :math:`\rho` are released, with their noisy weights. :math:`\Gamma = \rho + 3/\epsilon`.

*Unit*: a document. *Neighbours*: one unit is added or removed, anywhere; the others keep their order, that of a keyed
hash of what they hold. *Released*: words and noisy weights above the threshold. *Booked as*: discrete Laplace noise of
:math:`\epsilon`, plus an additive :math:`\delta` for words nobody else has
(:mod:`discreet.central.vocabulary.methods`, whose proof asks of the noise only that it is independent from word to
word). What a unit gives depends on what others gave, so a word that a unit holds is looked at even if its weight
stayed zero: otherwise the extra unit could, through later units' choices, change which words are looked at far beyond
its own.

*Threshold*: weights of a unit's private words are at least zero and their sum at most 1. A word with weight x passes
with probability at most :math:`\frac12 e^{-\epsilon(\rho - x)}` for :math:`\rho \ge 1`, which is convex in
x, so the sum over them is largest at a corner: one word has everything, the others nothing. With the union
bound over at most :math:`\Delta_0` words

.. math:: p \le \tfrac12 e^{-\epsilon\rho} (e^\epsilon + \Delta_0 - 1) = \delta
   \iff \rho = \ln\frac{e^\epsilon + \Delta_0 - 1}{2\delta} / \epsilon .

The printed one is this at :math:`\Delta_0 = 1`. On the lattice: discrete Laplace noise Z with
:math:`q = e^{-\epsilon/2^m}` has :math:`P(Z \ge k) = q^k / (1 + q)` for :math:`k \ge 1`, so a word with integer weight
x passes the threshold R, rounded up, with probability :math:`q^{R+1-x}/(1+q) \le \tfrac12 q^{R-x}`, because
:math:`2q \le 1 + q`: no more than with continuous noise.

*Sensitivity*: the two histograms differ by at most 1 in L1. What a unit gives depends on the units before it, so one
extra unit changes what all later ones do. Still the difference never grows. Let h be the histogram without the extra
unit and h' that with it. Claim: after every common unit, :math:`h \le h'` in every word, and :math:`\sum (h' - h) \le
1`. Then the L1 distance is that sum.

*At the extra unit*: h' gains at most 1 in total, in non-negative parts; h gains nothing.

*At a later unit v*, with words 1, ..., k in v's own order, which is the same in both runs. Let :math:`g_j =
\Gamma - h_j \ge 0` be what word j lacks and :math:`C_j = g_1 + ... + g_j`. The greedy rule gives to the
first j words together :math:`\min(1, C_j)`. From :math:`h \le h'` follows :math:`g' \le g` and :math:`C'
\le C`.

* Order is kept. If :math:`C_j \le 1`, word j is filled in both runs: both become :math:`\Gamma`. If
  :math:`C_{j-1} \ge 1`, word j of h gains nothing. Otherwise word j of h becomes :math:`h_j + 1 - C_{j-1}`,
  and word j of h' becomes :math:`\min(\Gamma, h'_j + 1 - C'_{j-1})`, which is at least as much.
* The sum does not grow: h' gains :math:`\min(1, C'_k)` in total, h gains :math:`\min(1, C_k)`, which is at
  least as much.

This needs that v's order is v's own. Filling the word that lacks least first, say, would let other units
decide the order, and the proof (and the guarantee) would fail. Everything is in integers (budget
:math:`2^m`, cut-off rounded), for which the same proof holds word for word: there is no rounding here.
``tests`` go through all small corpora, and all neighbours of each.

Carvalho, Wang, Gondara, "Incorporating item frequency for differentially private set union", AAAI 2022,
doi:10.1609/aaai.v36i9.21183.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit

from discreet import Ledger
from discreet._base.kernels import mixed
from discreet.central.vocabulary.methods import on_lattice
from discreet.central.vocabulary.units import (
    UnitWords,
    first_words,
    is_writable,
    passing,
    rank_words,
    secret_order,
)
from discreet.privacy.accounting import events
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.mechanism import LaplaceMechanism
from discreet.privacy.noise.stream import SecureStream

NO_CUTOFF = 2**61


def laplace_threshold(epsilon, delta, max_words):
    """Threshold under Laplace noise of scale 1 / epsilon, in units of a budget; epsilon = inf gives the limit, 1."""
    if math.isinf(epsilon):
        return 1.0
    log_sum = epsilon + math.log1p((max_words - 1) * math.exp(-epsilon))
    return max(1.0, (log_sum - math.log(2.0 * delta)) / epsilon)


@njit
def fill_greedily(indptr, words, n_words, budget, cutoff):
    """Let each unit, in turn, fill its words up to the cut-off until its budget is spent; return integer weights."""
    weights = np.zeros(n_words, np.int64)
    for unit in range(len(indptr) - 1):
        left = np.int64(budget)
        for entry in range(indptr[unit], indptr[unit + 1]):
            word = words[entry]
            given = min(left, np.int64(cutoff) - weights[word])
            weights[word] += given
            left -= given
            if left == 0:
                break
    return weights


@dataclass(frozen=True)
class Greedy:
    """The greedy choice as meant."""

    epsilon: float
    delta: float
    max_words: int
    purpose = "vocabulary (greedy)"

    @property
    def mechanism(self):
        return LaplaceMechanism(Bound(norm="l1"), self.epsilon)

    @property
    def threshold(self):
        return laplace_threshold(self.epsilon, self.delta, self.max_words)

    @property
    def cutoff(self):
        """Weight, in lattice steps, at which a word has enough."""
        if math.isinf(self.epsilon):
            return NO_CUTOFF
        return min(NO_CUTOFF, on_lattice(self.threshold + 3.0 / self.epsilon, self.mechanism.bound.bits))

    @property
    def leak(self):
        """Probability with which a unit of private words can leak."""
        return self.delta

    def event(self):
        event = self.mechanism.event()
        return event if math.isinf(self.epsilon) else events.with_delta(event, self.leak)

    def ranked(self, counts, order):
        """Words of each document, most used first, and equally frequent ones in the secret order."""
        return rank_words(counts[in_order(counts, order)], None, order)

    def choose(self, units, stream, reservation):
        """Choose words; the only place that sees the units, whose words are capped here."""
        kept, bound = first_words(units, self.max_words), self.mechanism.bound
        weights = fill_greedily(kept.indptr, kept.words, kept.n_words, bound.sensitivity, self.cutoff)
        held = np.unique(kept.words)
        noisy = self.mechanism.release(BoundedSum(weights[held], bound), stream, reservation)
        least = -1 if math.isinf(self.epsilon) else on_lattice(self.threshold, bound.bits)
        return passing(held, noisy, least, bound.step)


class PrintedGreedy(Greedy):
    """Greedy under the printed threshold; its event says what that costs."""

    purpose = "vocabulary: greedy, published threshold, for reproduction only"

    @property
    def threshold(self):
        return laplace_threshold(self.epsilon, self.delta, 1)

    @property
    def leak(self):
        return min(1.0, self.delta * (1.0 + (self.max_words - 1) * math.exp(-self.epsilon)))

    def ranked(self, counts, order):
        """Words of each document, most used first, equally frequent ones as its row has them."""
        indptr = counts.indptr
        rows = [slice(*indptr[d : d + 2]) for d in in_order(counts, order)]
        words = [counts.indices[row][np.argsort(-counts.data[row], kind="stable")] for row in rows]
        ends = np.cumsum([0, *(len(row) for row in words)]).astype(np.int64)
        return UnitWords(ends, np.concatenate([np.zeros(0, np.int64), *words]).astype(np.int64), len(order))


def in_order(counts, order):
    """The documents by a hash of what each holds, whatever the order of its entries."""
    marks = np.zeros(counts.shape[0], np.uint64)
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    np.add.at(marks, row_of, mixed(order[counts.indices] + mixed(counts.data.astype(np.uint64))))
    return np.argsort(mixed(marks), kind="stable")


def count_in_text_order(texts, tokenizer):
    """Count words; entries of a row stand in the order in which the text uses the words."""
    number, indices, data, indptr = {}, [], [], [0]
    for text in texts:
        counted = Counter(tokenizer(text))  # keeps the order of first use
        indices.extend(number.setdefault(word, len(number)) for word in counted)
        data.extend(counted.values())
        indptr.append(len(indices))
    arrays = (np.array(data, np.int32), np.array(indices, np.int64), np.array(indptr, np.int64))
    return sp.csr_matrix(arrays, shape=(len(indptr) - 1, len(number))), tuple(number)


def choose(counts, words, epsilon, delta, *, max_words=100, seed=None, kind=PrintedGreedy):
    """Return the words chosen, sorted, and the ledger that they are booked on."""
    method = kind(epsilon, delta, max_words)
    ledger = Ledger(math.inf, min(2 * method.leak, (1 + method.leak) / 2))
    reservation = ledger.reserve(method.event(), method.purpose)
    stream = SecureStream(seed).spawn("vocabulary")
    order = secret_order(words, stream.spawn("order").words(8).tobytes())
    chosen = method.choose(method.ranked(counts, order), stream.spawn("noise"), reservation)
    return sorted(filter(is_writable, (words[number] for number in chosen.words))), ledger
