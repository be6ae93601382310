"""PrivateSVILDA: topics by stochastic variational inference with noise in each round, as a curator can train them.

A shell over ``init`` and ``step`` of :mod:`discreet.central.dp_svi`, where the guarantee and its proof stand.
"""

import math
from typing import Any

from discreet._base.progress import Callback, steps
from discreet._base.validate import (
    CALLBACK,
    DOC_TOPIC_PRIOR,
    ENGINE,
    FLAG,
    SEED,
    THREADS,
    choice,
    number,
    optional,
    rules,
    whole,
)
from discreet.central import dp_svi
from discreet.central.base import Data, Fitted, PrivateTopicModel, rows_of
from discreet.central.sums.units import ShardedUnits, Units, units_of
from discreet.engines import Engine
from discreet.privacy.accounting import events
from discreet.privacy.accounting.calibration import epsilon_for, noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream
from discreet.release.private_estimator import Booking, Plan

__all__ = ["PrivateSVILDA"]


class PrivateSVILDA(PrivateTopicModel):
    r"""Latent Dirichlet allocation by DP-SVI: noisy rounds on Poisson samples, private for documents or people.

    The algorithm of Park, Foulds, Chaudhuri and Welling (2016), made right. **For better topics take**
    :class:`~discreet.central.PrivateLDA`: on all corpora measured it learns more at the same epsilon.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    epsilon : float, default 1.0
        Privacy loss of the fit. ``inf`` is the non-private twin, through the same code.
    delta : float, default 1e-6
        What the promise allows beyond the factor exp(epsilon); far below 1 / number of units.
    privacy_unit : {"document", "person"}, default "document"
        Whose presence is hidden. "person" needs ``persons``.
    doc_topic_prior : float, default 0.1
        Dirichlet prior of topics in a document; from 1e-12 to 1e12.
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
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".
    n_jobs : int, optional
        Threads, as in scikit-learn. The result is the same bytes for any number.
    ledger : Ledger, optional
        Where the cost is booked; share one between all estimators that see a text. By default ``fit`` makes
        one.
    callback : callable, optional
        ``callback(stage, done, total)`` is called as work goes on.
    engine : Engine, optional
        What goes through the shards of a corpus, as for :class:`~discreet.central.PrivateLDA`.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.
    neighboring : str
        "add_or_remove_one": the relation that the promise is about.

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
    _constraints = rules(
        n_topics=whole(),
        doc_topic_prior=DOC_TOPIC_PRIOR,
        topic_word_prior=optional(number(above=0)),
        sampling_rate=number(above=0, most=1),
        n_rounds=optional(whole()),
        contribution_bound=number(above=0),
        learning_offset=number(least=0),
        learning_decay=number(above=0),
        denoise=choice("empirical_bayes", "zero"),
        n_units_lower_bound=optional(whole()),
        allow_large_delta=FLAG,
        random_state=SEED,
        n_jobs=THREADS,
        callback=CALLBACK,
        engine=ENGINE,
    )
    _in_shards = True

    def __init__(
        self,
        n_topics: int = 20,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        privacy_unit: str = "document",
        doc_topic_prior: float = 0.1,
        topic_word_prior: float | None = None,
        sampling_rate: float = 0.2,
        n_rounds: int | None = None,
        contribution_bound: float = 50.0,
        learning_offset: float = 1.0,
        learning_decay: float = 0.7,
        denoise: str = "empirical_bayes",
        n_units_lower_bound: int | None = None,
        allow_large_delta: bool = False,
        random_state: int | None = None,
        n_jobs: int | None = None,
        ledger: Ledger | None = None,
        callback: Callback | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sampling_rate = sampling_rate
        self.n_rounds = n_rounds
        self.contribution_bound = contribution_bound
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.denoise = denoise
        self.n_units_lower_bound = n_units_lower_bound
        self.allow_large_delta = allow_large_delta
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.callback = callback
        self.engine = engine

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
            topic_word_noise=dp_svi.noise_in_topics(state),
        )

    def _rounds(self, units: Units | ShardedUnits, booking: Booking) -> dp_svi.State:
        stream = SecureStream(self.random_state).spawn("topics")
        settings = dp_svi.Settings(
            self.n_topics,
            self.doc_topic_prior,
            1 / self.n_topics if self.topic_word_prior is None else self.topic_word_prior,
            self.sampling_rate,
            self.contribution_bound,
            booking.plan.how,
            self.learning_offset,
            self.learning_decay,
            self.denoise,
            self.privacy_unit,
        )
        state = dp_svi.init(units.n_words, settings, stream)
        for _ in steps(self.callback, "training rounds", self._total_rounds()):
            state = dp_svi.step(state, units, settings, stream, booking.reservation, self.n_jobs)
        return state
