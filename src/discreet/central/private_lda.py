"""PrivateLDA: topics of a corpus that a trusted curator holds, under differential privacy.

A shell over ``init`` and ``step`` of :mod:`discreet.central.full_batch`, where the guarantee and its proof stand.
"""

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

from discreet._base import validate
from discreet._base.arrays import carried
from discreet._base.callers import warn_caller
from discreet._base.progress import Callback, steps, telling
from discreet.central import full_batch
from discreet.central.base import Data, Fitted, PrivateTopicModel, rows_of
from discreet.central.forecast import HOPELESS, WORDS_A_TOPIC, beside_public_vectors, learnability
from discreet.central.plan import plan
from discreet.central.sums.units import ShardedUnits, Units, units_of
from discreet.corpus.word_vectors import WordVectors, read_vectors
from discreet.engines import Engine
from discreet.errors import DiscreetError, ParameterError, WeakForecastWarning
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.mechanism import SharedGaussian
from discreet.privacy.noise.stream import SecureStream
from discreet.release.private_estimator import Booking, Plan

_GO_ON = "`allow_unlearnable=True` goes on all the same."


@validate.elsewhere(
    "PrivateSVILDA",
    "sampling_rate",
    "topic_word_prior",
    "contribution_bound",
    "learning_offset",
    "learning_decay",
    "denoise",
)
@validate.declared
@dataclass(eq=False, repr=False)
class PrivateLDA(PrivateTopicModel):
    r"""Latent Dirichlet allocation with a differential-privacy guarantee for each document, or each person.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    epsilon : float, default 1.0
        Privacy loss of the fit. ``inf`` is the non-private twin, through the same code.
    delta : float, optional
        What the promise allows beyond the factor exp(epsilon), far below 1 / number of units: by default the delta of
        the ledger, or 1e-6.
    privacy_unit : {"document", "person"}, optional
        Whose presence is hidden: by default the person's, with all that they wrote, where it is known whose the
        documents are, or where the ledger protects persons, and the document's otherwise.
    doc_topic_prior : float, default 0.1
        Dirichlet prior of topics in a document; from 1e-12 to 1e12.
    n_rounds : int, optional
        Rounds of training; by default 4, and 40 without privacy.
    word_vectors : path, mapping, KeyedVectors, array or (words, array), optional
        *Public* vectors of words, from which topics are expected to be made of words that mean something together: a
        file (GloVe, word2vec, fastText ``.vec``, ``.npz``) or an object that holds them (see
        :func:`discreet.corpus.match_vectors`). They add nothing to the cost, and wrong ones do little harm:
        at most four hundredths of the budget go to a release that shows whether these texts use words as the vectors
        do. They must not have been trained on the private text: no ledger covers what they tell of it.
    n_units_lower_bound : int, optional
        A public lower bound on the number of documents (or people): lets a hopeless fit, or a delta that is
        too large, be refused before anything is spent.
    allow_unlearnable : bool, default False
        Train even where topics will be mostly noise or more than the words can tell apart, and without a
        ``WeakForecastWarning`` where they will be weak.
    allow_large_delta : bool, default False
        Train even where delta is above 1 over the noisy number of units, so that some might be published as they are.
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
        What goes through the shards where ``X`` is a :class:`~discreet.corpus.ShardedCorpus`: threads of this process
        by default, or a :class:`~discreet.engines.DaskEngine`. The result is the same bytes.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    word_vectors_ : WordVectors or None
        The vectors of the words of this fit, what they came from and how many words have one.
    forecast_ : Learnability
        How much could be learned, from released numbers.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.
    neighboring : str
        "add_or_remove_one": the relation that the promise is about.

    Notes
    -----
    *Guarantee*: ``release_`` as a whole satisfies (epsilon, delta)-differential privacy for adding or removing one
    unit; if the ledger was shared, the release states the cost of everything booked on it. ``transform`` is exact,
    so what it returns is as private as the documents it is given.

    The cost is booked before anything is computed from ``X``; whether an array holds counts is looked at before.

    Every call of ``fit`` is a release of its own. Fits without a ``ledger`` each get a new one, which knows nothing
    of the others: whoever tries several settings on one text (a grid search, say) and publishes more than one
    result, or picks the best, should give them one ledger, so that their costs add up.

    Examples
    --------
    Texts become counts of words that are chosen privately, on the ledger that books the topics, too; ``fit_topics``
    does both in one call:

    >>> from discreet import Ledger, PrivateCountVectorizer
    >>> texts = ["the senate passed a law", "a storm hit the coast"] * 1000
    >>> ledger = Ledger(4.0)
    >>> words = PrivateCountVectorizer(epsilon=1.0, stop_words="english", ledger=ledger, random_state=0)
    >>> counts = words.fit_transform(texts)
    >>> model = PrivateLDA(n_topics=2, epsilon=3.0, ledger=ledger, random_state=0).fit(counts)
    >>> sorted(sorted(words) for words in model.release_.top_words(3))
    [['coast', 'hit', 'storm'], ['law', 'passed', 'senate']]
    >>> model.transform(counts).shape
    (2000, 2)
    """

    _algorithm = "full batch with co-occurrence start"
    _in_shards = True
    _published = ("n_topics", "doc_topic_prior", "n_rounds")
    n_topics: Annotated[int, validate.whole()] = 20
    _: KW_ONLY
    epsilon: float = 1.0
    delta: Any = None
    privacy_unit: Any = None
    doc_topic_prior: Annotated[float, validate.DOC_TOPIC_PRIOR] = 0.1
    n_rounds: Annotated[int | None, validate.optional(validate.whole())] = None
    word_vectors: Any = None
    n_units_lower_bound: Annotated[int | None, validate.optional(validate.whole())] = None
    allow_unlearnable: Annotated[bool, validate.FLAG] = False
    allow_large_delta: Annotated[bool, validate.FLAG] = False
    random_state: Annotated[int | None, validate.SEED] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    ledger: Ledger | None = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None
    engine: Annotated[Engine | None, validate.ENGINE] = None

    def _plan(self) -> Plan:
        if math.isinf(self.epsilon):
            return Plan(events.non_private(), 0.0)
        noise = noise_multiplier_for(self.epsilon, self.delta)
        return Plan(events.gaussian(noise), noise)

    def _purpose(self) -> tuple[str, list[str]]:
        return "topics", [f"{self.n_topics} topics"]

    def _faults_of_call(self, X: Any, persons: Any) -> list[DiscreetError]:
        return [*super()._faults_of_call(X, persons), *self._faults_of_hope(X)]

    def _faults_of_hope(self, X: Any) -> list[DiscreetError]:
        """Say where so few units as are public cannot be enough. How many words texts have is private, and not used."""
        bound = self.n_units_lower_bound
        if self._faults():
            return []
        n_words = _public_width(X)
        if n_words is not None and (few := self._faults_of_words(n_words)):
            return few
        if bound is None or self.allow_unlearnable:
            return []
        width = n_words or WORDS_A_TOPIC * self.n_topics  # fewer learn nothing, whatever the noise
        mu = gdp_mu(self.epsilon, self.delta)
        forecast = learnability(width, self.n_topics, bound, mu, delta=self.delta)
        if forecast.difficulty <= HOPELESS:
            return []
        least_of_all = "" if n_words else f"With {WORDS_A_TOPIC} words a topic, which is the best case: "
        return [ParameterError(f"{least_of_all}{forecast.in_words()} Nothing was booked; {_GO_ON}")]

    def _faults_of_words(self, n_words: int, spent: str = "Nothing was booked") -> list[DiscreetError]:
        few = self.n_topics > 1 and n_words < self.n_topics * WORDS_A_TOPIC
        if self.allow_unlearnable or math.isinf(self.epsilon) or not few:
            return []
        most = n_words // WORDS_A_TOPIC
        words = "1 word" if n_words == 1 else f"{n_words} words"
        said = f"{words} cannot tell {self.n_topics} topics apart, whatever the noise: "
        ask = (
            f"ask for at most `n_topics={most}`, or for more words" if most > 1 else "topics need more words"
        )
        return [ParameterError(f"{said}{ask}. {spent}; {_GO_ON}")]

    def _read_public(self, words: tuple[str, ...] | None, *, booked: bool = False) -> WordVectors | None:
        given = self.word_vectors
        return None if given is None else read_vectors(given, words, booked=booked)

    def _train(self, data: Data, booking: Booking) -> Fitted:
        with units_of(data.counts, data.people, self.engine, self.n_jobs) as units:
            return self._train_on(units, data, booking)

    def _train_on(self, units: Units | ShardedUnits, data: Data, booking: Booking) -> Fitted:
        stream = SecureStream(self.random_state).spawn("topics")
        gate = SharedGaussian(booking.reservation, booking.plan.how, self.privacy_unit, stream, self.n_jobs)
        mu = gdp_mu(self.epsilon, self.delta)
        n_units = full_batch.count_units(units, gate)
        self._check_delta(n_units, booking)
        found: WordVectors | None = data.public
        vectors = None if found is None or not found.n_found else found.vectors
        forecast = learnability(
            units.n_words,
            self.n_topics,
            n_units,
            mu,
            delta=self.delta,
            covered=None if data.coverage is None else data.coverage.share,
            covered_noise=None if data.coverage is None else data.coverage.deviation,
            algorithm="PrivateLDA" if vectors is None else "PrivateLDA with word vectors",
        )
        hopeless = forecast.difficulty > HOPELESS or (math.isfinite(mu) and units.n_words < self.n_topics)
        if hopeless and not self.allow_unlearnable:
            raise ParameterError(
                f"{forecast.in_words()} Nothing was trained, but the cost stays booked. `allow_unlearnable=True` goes "
                "on all the same; where a bound on the number of units is public, `n_units_lower_bound=` gets such "
                "fits refused before they cost anything."
            )
        if forecast.is_weak and math.isfinite(mu) and not self.allow_unlearnable:
            warn_caller(forecast.in_words(), WeakForecastWarning)
        schedule = plan(n_units, mu, units.n_words, self.n_topics, self.n_rounds)
        with telling(self.callback, "starting topics"):
            state, learned = full_batch.init(
                units, self.n_topics, self.doc_topic_prior, schedule, gate, n_units, vectors
            )
        if vectors is not None and state.prior is None:
            forecast = replace(forecast, algorithm="PrivateLDA")
        forecast = forecast.with_words_a_unit(learned.words_a_unit)
        if learned.structure is not None and self.n_topics > 1:
            forecast = forecast.after(learned.structure.verdict)
            if forecast.verdict == "no topics" and math.isfinite(mu) and not self.allow_unlearnable:
                warn_caller(forecast.in_words(), WeakForecastWarning)
        for _ in steps(self.callback, "training rounds", schedule.n_rounds):
            state = full_batch.step(state, units, self.doc_topic_prior, gate)
        topics, noise_in_topics = full_batch.read_out(state, schedule.last_step)
        return Fitted(
            topic_word=rows_of(topics),
            topic_weight=state.topic_weight,
            word_weight=state.unigram,
            topic_word_noise=noise_in_topics,
            n_units_noisy=n_units,
            settings={
                "forecast": forecast.in_words(),
                "contribution": state.contribution.in_words(),
                "words_a_unit": learned.words_a_unit,
            }
            | _told(found, learned.vectors_used, n_units, mu),
            attributes={"forecast_": forecast, "word_vectors_": found},
        )


def _public_width(X: Any) -> int | None:
    """Return the number of words of X, unless it has none yet, or they are those of the texts."""
    shape = getattr(X, "shape", None) or getattr(getattr(X, "counts", None), "shape", None)
    if shape is None or len(shape) != 2:
        return None
    origin = carried(X, "word_origin")
    told = origin is None or origin.kind in ("public", "chosen", "numbered")
    return int(shape[1]) if told else None


def _told(found: WordVectors | None, used: str, n_units: float, mu: float) -> dict[str, Any]:
    """Return what the release says of word vectors, where there were any."""
    if found is None:
        return {}
    why = "they do not differ" if found.n_found else "none of the words has a vector"
    used = used or f"not at all: {why}"
    alone = {"word_vectors_alone": beside_public_vectors(n_units, mu)} if found.n_found else {}
    return found.settings() | {"word_vectors_used": used} | alone
