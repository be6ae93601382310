r"""How words are chosen: the threshold that a noisy weight must pass, in one round or in several.

A choice has three parts: a frozen configuration that is public, the event it is booked as, and ``choose``, which sees
the units.

Released is, of each word, a weight with noise, where it is strictly above a public threshold;
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

How large p can be
------------------
A unit holds at most :math:`\Delta_0` words (``max_words``), so :math:`t \le \Delta_0`.

Each of u's t private words has weight at most :math:`1/\sqrt t`, so
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

For rounded Gaussian noise :math:`\mathrm{round}(N) \ge R + 1 - x` implies :math:`N \ge R + \tfrac12 - x`,
less probable than :math:`N > R - x`.

Formulas are evaluated in floating-point; a relative margin of 1e-9 is added before rounding up.

Each unit gives the same weight to each of its words, in one round or in several
-------------------------------------------------------------------------------
A unit with k words (at most :math:`\Delta_0`, its most used) adds :math:`1/\sqrt k` to each. Gaussian noise
of standard deviation :math:`\sigma` is added, and words above :math:`\rho` are released with their noisy
weights. ``weighted_gaussian`` does this once; ``sips`` (DP-SIPS) three times, each among the words not yet released:
a unit's budget, no longer spent on words that everybody knows by now, goes to its remaining ones. Early rounds are
cheap, because the words they find are frequent; the last has most of the budget.

*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed. *Released*: per round, words and noisy weights
above the round's threshold. *Sensitivity*: k integers :math:`c_k = \lfloor 2^m/\sqrt k \rfloor`, found in exact
integer arithmetic, have squared norm :math:`k c_k^2 \le 4^m`; a unit's integers depend on that unit and on what earlier
rounds released, so in each round the sums differ by at most :math:`2^m` in L2, and rounds compose adaptively. *Booked
as*: one Gaussian event with :math:`1/\sigma^2 = \sum_i 1/\sigma_i^2`, :math:`\sigma` calibrated to
:math:`(\epsilon, \delta/2)`, plus an additive :math:`\delta/2 = \sum_i \delta_i` for words nobody else has. So it
composes with training as one Gaussian more. Round i of r has a share of :math:`1/\sigma^2`, less what the coverage
takes of it, and of :math:`\delta/2` in proportion to :math:`3^i`.

Sums are of integers: any order of the units and any sharding gives the same weights.

``epsilon = inf``: no noise; all held words are released.

*Coverage*: how much of the text the chosen words make up. A unit of which the share :math:`s_u` of all counted tokens
are chosen words adds :math:`(s_u, 1 - s_u)` to a sum of two numbers; one without tokens adds nothing. With noise the
first over both is the mean share of the text that the words cover, and both together are the number of units that have
any text.

*Released*: the two noisy sums. *Sensitivity*: 1 in L2, because :math:`s^2 + (1 - s)^2 \le 1` for s from 0 to 1, each
unit's vector is placed on the lattice by itself before the sum, and it is a function of that unit's tokens and of the
chosen words, which are released by then (so a list that is cut to its largest noisy weights is public, too). *Booked
as*: nothing of its own. The choice reserves one Gaussian event of noise multiplier :math:`\sigma`; its weights are
released at :math:`1/\sigma_w^2 = (1 - f)/\sigma^2` and these sums at :math:`1/\sigma_c^2 = f/\sigma^2`, f = 1/64:
adaptive composition within the reserved precision, which the reservation holds to. The thresholds are those of
:math:`\sigma_w`.

References
----------
Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing search queries and clicks privately", WWW 2009,
doi:10.1145/1526709.1526733. Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set
union", ICML 2020, arXiv:2002.09745. Manzonelli, Zhang, Vadhan, "Membership inference attacks and privacy in topic
modeling", arXiv:2403.04451. Swanberg, Desfontaines, Haney, "DP-SIPS: a simpler, more scalable mechanism for
differentially private partition selection", PoPETs 2023, arXiv:2301.01998.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from discreet.central.vocabulary.units import Choice, ShardedWords, UnitWords, passing
from discreet.corpus.shards.shard_file import Rows
from discreet.corpus.vocabulary import Coverage
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import GaussianMechanism, noise_of_share
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.row_sums import sum_rows

_MARGIN = 1.0 + 1e-9
_GRID = 2001
#: Of the precision of a choice, for telling how much of the text the words make up.
SHARE = Fraction(1, 64)


def gaussian_threshold(noise_multiplier: float, delta: float, max_words: int) -> float:
    """Return the threshold, in units of the contribution bound, for weights 1/sqrt(t) under Gaussian noise.

    ``noise_multiplier``: its deviation, in these units; ``delta``: largest probability that any of one unit's private
    words passes; ``max_words``: most words that one unit may hold.
    """
    t = np.arange(1, max_words + 1, dtype=np.float64)
    upper_tail = -np.expm1(np.log1p(-delta) / t)  # 1 - (1 - delta)^(1/t), without cancellation
    return float(np.max(1.0 / np.sqrt(t) - noise_multiplier * ndtri(upper_tail)))


def gaussian_group_failure(noise_multiplier: float, threshold: float, max_words: int, size: int) -> float:
    """Return a bound on the probability that a word passes which only one person's ``size`` units hold.

    ``noise_multiplier`` and ``threshold`` in units of the contribution bound; ``max_words``: most words that one unit
    may hold.
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


def even_weights(max_words: int, bits: int) -> NDArray[np.int64]:
    """Return the integer weight of each word of a unit with k words, for k = 0 .. max_words; 0 for k = 0."""
    return np.array([0, *(math.isqrt(4**bits // k) for k in range(1, max_words + 1))], np.int64)


@dataclass(frozen=True)
class GaussianChoice:
    """Public configuration of a choice."""

    #: What the choice costs in all: half of delta goes to the noise, half to the thresholds.
    epsilon: float
    delta: float
    #: Most distinct words of one unit that count in one round.
    max_words: int
    #: Whose presence is hidden.
    privacy_unit: str = "document"
    #: Of the precision, for telling how much of the text the words make up.
    coverage_share: Fraction = Fraction(0)
    #: Number of rounds: 1 for ``weighted_gaussian``, 3 for ``sips``.
    n_rounds: int = 1

    @property
    def bound(self) -> Bound:
        """Of one unit, in each round."""
        return Bound("l2", privacy_unit=self.privacy_unit)

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier of one release that costs as much as all that is released."""
        return 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta / 2)

    @property
    def coverage_noise(self) -> float:
        """Noise multiplier of the sums that tell how much of the text the words make up."""
        return noise_of_share(self.noise_multiplier, self.coverage_share)

    @property
    def shares(self) -> list[Fraction]:
        """Share of each round in the budget for weights, and in delta; they sum to 1."""
        parts = [Fraction(3) ** i for i in range(self.n_rounds)]
        return [part / sum(parts) for part in parts]

    @property
    def rounds(self) -> list[tuple[float, float]]:
        """Noise multiplier and threshold of each round."""
        noise, left = self.noise_multiplier, 1 - self.coverage_share
        found: list[tuple[float, float]] = []
        for share in self.shares:
            of_round = noise if share * left == 1 else noise_of_share(noise, share * left)
            delta = self.delta / 2 * float(share)
            found.append((of_round, gaussian_threshold(of_round, delta, self.max_words)))
        return found

    @property
    def threshold(self) -> float:
        """Noisy weight that a word must pass; where there are several rounds, in the last."""
        return self.rounds[-1][1]

    def event(self) -> events.Event:
        """Return what the ledger must reserve."""
        event = GaussianMechanism(self.bound, self.noise_multiplier).event()
        return event if math.isinf(self.epsilon) else events.with_delta(event, self.delta / 2)

    def group_failure(self, size: int) -> float:
        """Return a bound on the probability that a word is listed which only one person's ``size`` units hold."""
        failures = [gaussian_group_failure(*of_round, self.max_words, size) for of_round in self.rounds]
        return min(1.0, sum(failures))

    def choose(
        self,
        units: UnitWords | ShardedWords,
        stream: SecureStream,
        reservation: Reservation,
        *,
        n_jobs: int | None = None,
    ) -> Choice:
        """Choose words; the only place that sees the units, whose words are capped here. The reservation is of
        :meth:`event`.
        """
        if self.n_rounds == 1:
            return self._choose_once(units, *self.rounds[0], stream, reservation, n_jobs)
        done = np.zeros(units.n_words, np.bool_)
        found: list[Choice] = []
        for number, (noise, threshold) in enumerate(self.rounds):
            of_round = stream.spawn(f"round {number}")
            chosen = self._choose_once(units, noise, threshold, of_round, reservation, n_jobs, done)
            done[chosen.words] = True
            found.append(chosen._replace(rounds=chosen.rounds + number))
        words, weights, rounds = (np.concatenate(part) for part in zip(*found, strict=True))
        ascending = np.argsort(words)
        return Choice(words[ascending], weights[ascending], rounds[ascending])

    def _choose_once(
        self,
        units: UnitWords | ShardedWords,
        noise: float,
        threshold: float,
        stream: SecureStream,
        reservation: Reservation,
        n_jobs: int | None,
        done: NDArray[np.bool_] | None = None,
    ) -> Choice:
        """Cap, weigh, sum, add noise and compare, among words not yet ``done``."""
        bound = self.bound
        total = units.even_weights(self.max_words, even_weights(self.max_words, bound.bits), done)
        held = np.flatnonzero(total)
        mechanism = GaussianMechanism(bound, noise)
        noisy = mechanism.release(BoundedSum(total[held], bound), stream, reservation, n_jobs=n_jobs)
        # Without noise there is nothing to hide behind a threshold: the twin names every held word.
        return passing(held, noisy, on_lattice(threshold, bound.bits) if noise else -1, bound.step)


def coverage_sum(rows: Rows, chosen: NDArray[np.bool_], bound: Bound) -> NDArray[np.int64]:
    """Add up what the units of documents give: two numbers, in steps of the bound's lattice. Private.

    ``rows`` count all words; each is a unit where nobody is said to have written it. ``chosen``: (n_words,), bool.
    """
    counts = rows.counts
    n_rows = len(counts.indptr) - 1
    unit = np.arange(n_rows) if rows.persons is None else np.unique(rows.persons, return_inverse=True)[1]
    unit_of_entry = np.repeat(unit, np.diff(counts.indptr))
    n_units = int(unit.max(initial=-1)) + 1
    tokens = np.bincount(unit_of_entry, counts.data, minlength=n_units)
    covered = np.bincount(unit_of_entry, counts.data * chosen[counts.indices], minlength=n_units)
    share = (covered / np.maximum(tokens, 1))[tokens > 0]
    return sum_rows(np.column_stack([share, 1 - share]), bound).values


def release_coverage(
    method: GaussianChoice,
    texts: Rows | ShardedWords,
    words: tuple[tuple[str, ...], tuple[str, ...]],
    stream: SecureStream,
    reservation: Reservation,
) -> Coverage | None:
    """Release how much of the text the chosen words make up; the only place that sees the texts.

    ``method`` has chosen the words; ``texts`` as for :func:`coverage_sum`; ``words``: all words of the texts, in the
    order of their columns, and those that are released; the reservation is that of the choice. None where the noise
    leaves no number of units above zero.
    """
    named = frozenset(words[1])
    chosen = np.fromiter((word in named for word in words[0]), np.bool_, len(words[0]))
    bound, noise = method.bound, method.coverage_noise
    if isinstance(texts, ShardedWords):
        total = texts.shards.sum(coverage_sum, chosen, bound)
    else:
        total = coverage_sum(texts, chosen, bound)
    noisy = GaussianMechanism(bound, noise).release(BoundedSum(total, bound), stream, reservation)
    inside, outside = (float(value) * bound.step for value in noisy.tolist())
    n_units = inside + outside
    if n_units < 1:
        return None
    share = min(max(inside / n_units, 0.0), 1.0)
    return Coverage(share, noise * float(np.hypot(share, 1 - share)) / n_units, n_units)
