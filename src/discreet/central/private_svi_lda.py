r"""PrivateSVILDA: stochastic variational inference with a Poisson sample, clipped sums and Gaussian noise each round.

DP-SVI, the algorithm of Park, Foulds, Chaudhuri and Welling, made right. In each of T rounds every unit enters with
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

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base import validate
from discreet._base.kernels import kernel
from discreet._base.progress import Callback, steps
from discreet._base.threads import count_threads
from discreet.central.base import Data, Fitted, PrivateTopicModel, rows_of
from discreet.central.sums.units import (
    ShardedUnits,
    Units,
    add_unit,
    empty_rows,
    row_at,
    sum_of_kernel,
    units_of,
)
from discreet.engines import Engine
from discreet.lda.denoise import posterior_mean
from discreet.lda.documents import Documents
from discreet.lda.emitted import pad_table
from discreet.lda.theta import Inference, exp_digamma_into, infer
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import epsilon_for, noise_multiplier_for
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Ledger, Reservation
from discreet.privacy.mechanism import BITS, GaussianMechanism
from discreet.privacy.noise.bernoulli import Coins
from discreet.privacy.noise.stream import SecureStream
from discreet.release.private_estimator import Booking, Plan

Floats = NDArray[np.float64]
_STEPS = 50
_TOLERANCE = 1e-3
#: Of exp(E[log beta]): a word that no topic has would be divided by 0.
_LEAST = 1e-100


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
    """What the next round needs; all of it is released."""

    #: (n_words, n_topics): lambda, the parameters of the topics' Dirichlet distributions.
    topics: Floats
    #: (n_words, n_topics): variance of the noise in lambda.
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
    size, rate, name = settings.contribution_bound, settings.sampling_rate, f"round {state.round}"
    bound = Bound("l2", contribution_bound=size, bits=BITS, privacy_unit=settings.privacy_unit)
    coins = Coins(rate, stream.spawn(f"{name}, sample"))
    total = sampled_sum(units, coins, state.topics, settings, bound, n_jobs)
    mechanism = GaussianMechanism(bound, settings.noise_multiplier, rate)
    own = stream.spawn(f"{name}, noise")
    noisy = mechanism.release(BoundedSum(total, bound), own, reservation, n_jobs=n_jobs)
    level = np.asarray(noisy * (bound.step / rate), dtype=np.float64)
    deviation = settings.noise_multiplier * size / rate
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
    return _sum_of_chosen(units, coins.toss(units.first, units.n_units), topics, settings, bound, n_jobs)


def _sum_of_chosen(
    units: Units,
    chosen: NDArray[np.bool_],
    topics: Floats,
    settings: Settings,
    bound: Bound,
    n_jobs: int | None,
) -> NDArray[np.int64]:
    sizes = np.diff(units.starts)
    shape = len(units.indptr) - 1, units.n_words
    rows: Any = sp.csr_matrix((units.counts, units.words, units.indptr), shape)[np.repeat(chosen, sizes)]
    starts, indptr = np.r_[0, np.cumsum(sizes[chosen])], rows.indptr.astype(np.int64)
    units = units._replace(starts=starts, indptr=indptr, words=rows.indices, counts=rows.data)
    table = pad_table(np.maximum(_exp_expected_log(topics), _LEAST).T)
    prior = np.full(topics.shape[1], settings.doc_topic_prior)
    how = Inference(prior, _STEPS, _TOLERANCE, count_threads(n_jobs))
    found = infer(table, Documents(indptr, rows.indices, rows.data, units.n_words), how, with_quotients=True)
    rest = (table, found, 1 / bound.contribution_bound, bound.bits, units.most_entries)
    return sum_of_kernel(_sum, units, topics.shape, n_jobs, *rest)


def _exp_expected_log(topics: Floats) -> Floats:
    """exp(E[log beta]) under Dirichlet(lambda), each column a topic."""
    both = np.r_[topics.ravel(), topics.sum(0)]
    exp_digamma_into(both, both.size, both)
    return both[: topics.size].reshape(topics.shape) / both[topics.size :]


@kernel()
def _sum(
    units: Any,
    low: int,
    high: int,
    table: Floats,
    found: Any,
    per_bound: float,
    bits: int,
    room: int,
    out: NDArray[np.int64],
) -> None:
    n_words, k_topics = out.shape
    gathered = empty_rows(n_words, room, k_topics)
    for unit in range(low, high):
        n_rows = 0
        for document in range(units.starts[unit], units.starts[unit + 1]):
            for i in range(units.indptr[document], units.indptr[document + 1]):
                at = row_at(gathered, units.words[i], n_rows, k_topics)
                n_rows = max(n_rows, at + 1)
                for k in range(k_topics):
                    given = found.quotients[i] * found.weights[document, k] * table[units.words[i], k]
                    gathered.values[at * k_topics + k] += per_bound * given
        add_unit(gathered, n_rows, k_topics, bits, False, out)


@validate.declared
@dataclass(eq=False, repr=False)
class PrivateSVILDA(PrivateTopicModel):
    r"""Latent Dirichlet allocation by DP-SVI: noisy rounds on Poisson samples, private for documents or people.

    The algorithm of Park, Foulds, Chaudhuri and Welling (2016), made right. **For better topics take**
    :class:`~discreet.central.PrivateLDA`: on all corpora measured it learns more at the same epsilon.

    Parameters
    ----------
    n_topics, epsilon, delta, privacy_unit, doc_topic_prior
        As for :class:`~discreet.PrivateLDA`.
    topic_word_prior : float, optional
        Dirichlet prior of words in a topic; by default 1 / n_topics.
    sampling_rate : float, default 0.2
        Probability with which each unit enters a round.
    n_rounds : int, optional
        Rounds of training; by default one expected pass over the corpus.
    contribution_bound : float, default 50.0
        Frobenius norm to which each unit's statistic is clipped.
    learning_offset, learning_decay : float, default 1.0 and 0.7
        tau_0 and kappa of the step size (tau_0 + t) ** -kappa.
    denoise : {"empirical_bayes", "zero"}, default "empirical_bayes"
        How noisy sums are read; "zero" replaces negative ones by 0.
    n_units_lower_bound : int, optional
        A public lower bound on the number of documents (or people): lets a delta that is too large be refused.
    allow_large_delta : bool, default False
        Train even where delta is above 1 over that bound, or over the number of units that a private choice of the
        words has released.
    random_state, n_jobs, ledger, callback, engine
        As for :class:`~discreet.PrivateLDA`.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_, n_features_in_, feature_names_in_, neighboring
        As for :class:`~discreet.PrivateLDA`.

    Notes
    -----
    *Guarantee*, booking and ledgers: as for :class:`~discreet.central.PrivateLDA`. With a seed, the same order of
    documents (or people) gives the same bytes for any shards.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.random.default_rng(0).poisson(0.3, (2000, 30))
    >>> model = PrivateSVILDA(n_topics=2, epsilon=4.0, random_state=0).fit(counts)
    >>> model.components_.shape
    (2, 30)
    """

    _algorithm = "DP-SVI on Poisson samples"
    _published = (
        "n_topics",
        "doc_topic_prior",
        "topic_word_prior",
        "sampling_rate",
        "n_rounds",
        "contribution_bound",
        "learning_offset",
        "learning_decay",
        "denoise",
    )
    n_topics: Annotated[int, validate.whole()] = 20
    _: KW_ONLY
    epsilon: float = 1.0
    delta: Any = None
    privacy_unit: Any = None
    doc_topic_prior: Annotated[float, validate.DOC_TOPIC_PRIOR] = 0.1
    topic_word_prior: Annotated[float | None, validate.optional(validate.number(above=0))] = None
    sampling_rate: Annotated[float, validate.number(above=0, most=1)] = 0.2
    n_rounds: Annotated[int | None, validate.optional(validate.whole())] = None
    contribution_bound: Annotated[float, validate.number(above=0)] = 50.0
    learning_offset: Annotated[float, validate.number(least=0)] = 1.0
    learning_decay: Annotated[float, validate.number(above=0)] = 0.7
    denoise: Annotated[str, validate.choice("empirical_bayes", "zero")] = "empirical_bayes"
    n_units_lower_bound: Annotated[int | None, validate.optional(validate.whole())] = None
    allow_large_delta: Annotated[bool, validate.FLAG] = False
    random_state: Annotated[int | None, validate.SEED] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    ledger: Ledger | None = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None
    engine: Annotated[Engine | None, validate.ENGINE] = None
    _in_shards = True

    @classmethod
    def park2016(cls, n_topics: int = 50, *, corrected: bool = False, **changes: Any) -> "PrivateSVILDA":
        """Return the DP-SVI of Park, Foulds, Chaudhuri and Welling (2016), with their settings.

        Parameters
        ----------
        n_topics : int, default 50
        corrected : bool, default False
            The settings that served this algorithm best on news text instead: every fifth document in each of 20
            rounds (not every twentieth), a norm bound of 10 (50 is far above what a document of a hundred words has,
            so it only adds noise), and tau_0 = 1 (with 1024, 20 rounds hardly move the topics).
        **changes
            Any parameter of the class, instead of theirs. ``epsilon`` by default is what their noise
            multiplier of 1.24 costs at their delta of 1e-4 by today's accounting.
        """
        n_rounds, delta = 20, 1e-4
        settings: dict[str, Any] = {
            "delta": delta,
            "sampling_rate": 0.2 if corrected else 0.05,
            "n_rounds": n_rounds,
            "doc_topic_prior": 1 / n_topics,
            "topic_word_prior": 1 / n_topics,
            "contribution_bound": 10.0 if corrected else 50.0,
            "learning_offset": 1.0 if corrected else 1024.0,
            "learning_decay": 0.7,
            "denoise": "zero",
        }
        if "epsilon" not in changes:
            settings["epsilon"] = epsilon_for(1.24, delta, sampling_rate=0.05, n_rounds=n_rounds)
        return cls(n_topics, **{**settings, **changes})

    def _total_rounds(self) -> int:
        return self.n_rounds or max(1, round(1 / self.sampling_rate))

    def _plan(self) -> Plan:
        if math.isinf(self.epsilon):
            return Plan(events.non_private(), 0.0)
        rate, n_rounds = self.sampling_rate, self._total_rounds()
        noise = noise_multiplier_for(self.epsilon, self.delta, sampling_rate=rate, n_rounds=n_rounds)
        return Plan(events.composed(events.poisson_sampled(rate, events.gaussian(noise)), n_rounds), noise)

    def _purpose(self) -> tuple[str, list[str]]:
        return "topics", [f"{self.n_topics} topics"]

    def _train(self, data: Data, booking: Booking) -> Fitted:
        if data.coverage is not None:  # this model releases no number of units of its own
            self._check_delta(data.coverage.surely_units, booking)
        with units_of(data.counts, data.people, self.engine, self.n_jobs) as units:
            state = self._rounds(units, booking)
        return Fitted(
            topic_word=rows_of(state.topics),
            topic_weight=state.topics.sum(0) / state.topics.sum(0).sum(),
            word_weight=state.topics.sum(1) / state.topics.sum(),
            topic_word_noise=noise_in_topics(state),
        )

    def _rounds(self, units: Units | ShardedUnits, booking: Booking) -> State:
        stream = SecureStream(self.random_state).spawn("topics")
        eta = 1 / self.n_topics if self.topic_word_prior is None else self.topic_word_prior
        given: dict[str, Any] = {name: getattr(self, name, None) for name in Settings._fields}
        given |= {"topic_word_prior": eta, "noise_multiplier": booking.plan.how}
        settings = Settings(**given)
        state = init(units.n_words, settings, stream)
        for _ in steps(self.callback, "training rounds", self._total_rounds()):
            state = step(state, units, settings, stream, booking.reservation, self.n_jobs)
        return state
