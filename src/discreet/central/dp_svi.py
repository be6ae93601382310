r"""DP-SVI: stochastic variational inference with a Poisson sample, clipped statistics and Gaussian noise each round.

The algorithm of Park, Foulds, Chaudhuri and Welling, made right. In each of T rounds every unit enters with
probability q, by an exact coin of its own, which is that of its number in the corpus: units that say the same have
different coins, and where documents lie in shards, whoever reads a shard tosses the coins of its units. For the
documents of a unit that enters the variational E-step runs with the current topics; the unit's statistic

.. math:: s_{wk} = \sum_d c_{dw}\, r_{dwk}

is clipped to Frobenius norm B and placed on the integer lattice; the sum gets noise :math:`\sigma B` in each
cell, and

.. math:: \lambda \leftarrow (1 - \rho_t)\,\lambda + \rho_t\,(\eta + s / q), \qquad \rho_t = (\tau_0 + t)^{-\kappa} .

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed.
*Released*: the noisy sums (hence lambda). *Sensitivity*: B in L2, because each *unit* is clipped, before the
sum, and the sum is divided by the expected size, never by the realised one. *Event*: T Poisson-sampled
Gaussian events: coins are independent of one another, of the units and of the noise, so that the other units are
sampled as they would be without one (they get other numbers, and coins of the same law). The key of a round's coins is
as secret as who was sampled. An empty sample is noised and booked like any other.

References
----------
Park, Foulds, Chaudhuri, Welling, "Private topic modeling", arXiv:1609.04120;
"Variational Bayes in private settings", JAIR 68, 2020, doi:10.1613/jair.1.11763. Hoffman, Blei, Bach, "Online
learning for latent Dirichlet allocation", NIPS 2010.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.central.sums.units import ShardedUnits, Units, sum_over_pieces
from discreet.lda.denoise import posterior_mean
from discreet.lda.theta import exp_digamma_into
from discreet.privacy.bound import Bound, BoundedSum, place_l2
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import BITS, GaussianMechanism
from discreet.privacy.noise.bernoulli import Coins
from discreet.privacy.noise.stream import SecureStream

__all__ = ["Settings", "State", "init", "noise_in_topics", "sampled_sum", "step"]

Floats = NDArray[np.float64]
_STEPS = 50
_TOLERANCE = 1e-3


class Settings(NamedTuple):
    """Public settings of a run."""

    n_topics: int
    doc_topic_prior: float
    topic_word_prior: float
    sampling_rate: float
    contribution_bound: float
    noise_multiplier: float
    learning_offset: float
    learning_decay: float
    denoise: str
    privacy_unit: str


class State(NamedTuple):
    """What the next round needs; all of it is released.

    Attributes
    ----------
    topics : array of shape (n_words, n_topics)
        Lambda, the parameters of the topics' Dirichlet distributions.
    variance : array of shape (n_words, n_topics)
        Variance of the noise in lambda.
    round : int
    """

    topics: Floats
    variance: Floats
    round: int


def init(n_words: int, settings: Settings, stream: SecureStream) -> State:
    """Start from Gamma(100, 1/100) draws, which depend on no text."""
    seed = int(stream.spawn("start").words(1)[0])
    start = np.random.Generator(np.random.PCG64(seed)).gamma(100.0, 0.01, (n_words, settings.n_topics))
    return State(start, np.zeros_like(start), 0)


def step(
    state: State,
    units: Units | ShardedUnits,
    settings: Settings,
    stream: SecureStream,
    reservation: Reservation,
    n_jobs: int | None = None,
) -> State:
    """Take one round: sample, sum, noise, update."""
    bound = Bound(
        "l2",
        contribution_bound=settings.contribution_bound,
        bits=BITS,
        privacy_unit=settings.privacy_unit,
    )
    name = f"round {state.round}"
    rate = settings.sampling_rate
    coins = Coins(rate, stream.spawn(f"{name}, sample"))
    total = sampled_sum(units, coins, state.topics, settings, bound, n_jobs)
    mechanism = GaussianMechanism(bound, settings.noise_multiplier, rate)
    noisy = mechanism.release(
        BoundedSum(total, bound), stream.spawn(f"{name}, noise"), reservation, n_jobs=n_jobs
    )
    level = np.asarray(noisy * (bound.step / rate), dtype=np.float64)
    deviation = settings.noise_multiplier * settings.contribution_bound / rate
    if settings.denoise == "zero":
        level = np.maximum(level, 0.0)
    elif deviation > 0:
        level = _denoise(level, deviation)
    pace = (settings.learning_offset + state.round + 1) ** -settings.learning_decay
    topics = (1 - pace) * state.topics + pace * (settings.topic_word_prior + np.maximum(level, 0.0))
    variance = (1 - pace) ** 2 * state.variance + (pace * deviation) ** 2
    return State(topics, variance, state.round + 1)


def _denoise(level: Floats, deviation: float) -> Floats:
    """Read each cell given the totals of its word and its topic, as the full-batch rounds do."""
    words = np.maximum(level.sum(1), deviation)
    topics = np.maximum(level.sum(0), deviation)
    base = words[:, None] * topics / topics.sum()
    return posterior_mean(level, base, np.full_like(level, deviation))


def noise_in_topics(state: State) -> Floats:
    """Standard deviation of the privacy noise in each topic's word probabilities, shape (n_topics, n_words)."""
    return np.sqrt(state.variance).T / state.topics.sum(0)[:, None]


def sampled_sum(
    units: Units | ShardedUnits,
    coins: Coins,
    topics: Floats,
    settings: Settings,
    bound: Bound,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Return the sum over the units that enter of their clipped statistics, shape (n_words, n_topics)."""
    if isinstance(units, ShardedUnits):
        return units.sum(sampled_sum, coins, topics, settings, bound)
    chosen = coins.toss(units.first, units.n_units)
    return _sum_of_chosen(units, chosen, topics, settings, bound, n_jobs)


def _sum_of_chosen(
    units: Units,
    chosen: NDArray[np.bool_],
    topics: Floats,
    settings: Settings,
    bound: Bound,
    n_jobs: int | None,
) -> NDArray[np.int64]:
    expectation = _exp_expected_log(topics)
    widest = int(np.diff(units.entry_starts).max(initial=1))
    room = max(int(np.diff(units.indptr).max(initial=1)), min(widest, units.n_words), 1)

    def work(bounds: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(topics.shape, np.int64)
        _sum(
            units.starts,
            units.indptr,
            units.words,
            units.counts,
            *bounds,
            chosen,
            expectation,
            settings.doc_topic_prior,
            1 / bound.contribution_bound,
            bound.bits,
            room,
            out,
        )
        return out

    return sum_over_pieces(work, units, n_jobs)


def _exp_expected_log(topics: Floats) -> Floats:
    """exp(E[log beta]) under Dirichlet(lambda), each column a topic."""
    flat = topics.ravel()
    out = np.empty(flat.size)
    exp_digamma_into(flat, flat.size, out)
    totals = topics.sum(0)
    norms = np.empty_like(totals)
    exp_digamma_into(totals, totals.size, norms)
    return out.reshape(topics.shape) / norms


@kernel()
def _sum(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    chosen: NDArray[np.bool_],
    expectation: Floats,
    prior: float,
    per_bound: float,
    bits: int,
    room: int,
    out: NDArray[np.int64],
) -> None:
    n_words, k_topics = expectation.shape
    gamma, weight, gains = np.empty(k_topics), np.empty(k_topics), np.empty(k_topics)
    slot_of = np.full(n_words, -1, np.int64)
    seen = np.empty(room, np.int64)
    values = np.empty(room * k_topics, np.float64)
    placed = np.empty(room * k_topics, np.int64)
    for unit in range(low, high):
        if not chosen[unit]:
            continue
        n_seen = 0
        for document in range(starts[unit], starts[unit + 1]):
            begin, end = indptr[document], indptr[document + 1]
            for k in range(k_topics):
                gamma[k] = 1.0
            for _ in range(_STEPS):
                exp_digamma_into(gamma, k_topics, weight)
                for k in range(k_topics):
                    gains[k] = 0.0
                for i in range(begin, end):
                    row = expectation[words[i]]
                    share = 1e-100
                    for k in range(k_topics):
                        share += weight[k] * row[k]
                    ratio = counts[i] / share
                    for k in range(k_topics):
                        gains[k] += ratio * row[k]
                change = 0.0
                for k in range(k_topics):
                    new = prior + weight[k] * gains[k]
                    change += abs(new - gamma[k])
                    gamma[k] = new
                if change < _TOLERANCE * k_topics:
                    break
            exp_digamma_into(gamma, k_topics, weight)
            for i in range(begin, end):
                word = words[i]
                slot = slot_of[word]
                if slot < 0:
                    slot = n_seen
                    slot_of[word] = slot
                    seen[slot] = word
                    n_seen += 1
                    for k in range(k_topics):
                        values[slot * k_topics + k] = 0.0
                row = expectation[word]
                share = 1e-100
                for k in range(k_topics):
                    share += weight[k] * row[k]
                ratio = per_bound * counts[i] / share
                for k in range(k_topics):
                    values[slot * k_topics + k] += ratio * weight[k] * row[k]
        place_l2(values, n_seen * k_topics, bits, False, placed)
        for slot in range(n_seen):
            word = seen[slot]
            slot_of[word] = -1
            for k in range(k_topics):
                out[word, k] += placed[slot * k_topics + k]
