"""HybridGibbsLDA: topics by Gibbs sampling, private for each single word. A shell over ``hybrid_gibbs``."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated

import numpy as np

from discreet._base import validate
from discreet._base.progress import Callback, steps
from discreet._base.threads import count_threads
from discreet.central.base import Data, Fitted, PrivateTopicModel
from discreet.central.word_level import hybrid_gibbs
from discreet.central.word_level.cost import plan
from discreet.errors import DiscreetError, PrivacyError
from discreet.lda.documents import read_documents
from discreet.lda.gibbs.state import MOST_TOPICS, read_tokens
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_delta, check_epsilon
from discreet.release.private_estimator import Booking, Plan


@validate.declared
@dataclass(eq=False, repr=False)
class HybridGibbsLDA(PrivateTopicModel):
    r"""Topic model whose release hides the word of any single token (not documents, not people).

    This is HDP-LDA in a form that can be proved. **For text of people take** ``PrivateLDA``: it hides whole
    documents, and on all corpora measured its topics are better at the same epsilon.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    epsilon : float, optional
        Privacy loss of the whole fit; noise is calibrated to it. By default 1.0, unless ``epsilon_noise`` is given,
        from which it follows. ``inf`` is the non-private twin.
    delta : float, default 1e-6
        What the promise allows beyond the factor exp(epsilon); far below 1 / number of units.
    epsilon_noise : float, optional
        Instead of ``epsilon``: what the noise of one table costs. The total follows, and stands in the ledger.
    topic_word_prior : float, default 0.01
        beta.
    doc_topic_prior : float, default 1.0
        alpha.
    n_sweeps : int, default 50
        Gibbs sweeps T. Each costs.
    noise : {"laplace", "gaussian"}, default "laplace"
        Discrete Laplace or rounded Gaussian.
    random_state, n_jobs, callback
        As for :class:`~discreet.PrivateLDA`.
    ledger : Ledger, optional
        Where the cost is booked (unit "word", "replace_one"). By default ``fit`` makes one.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_, n_features_in_, feature_names_in_
        As for :class:`~discreet.PrivateLDA`.
    neighboring : str
        "replace_one": the relation that the promise is about.
    privacy_unit : str
        "word": what the promise is about.

    Notes
    -----
    The cost is booked before ``X`` is read. Lengths of documents, their number and the words of the columns are
    taken as public. ``transform`` is exact, so what it returns is as private as the documents it is given.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.random.default_rng(0).poisson(0.3, (500, 30))
    >>> model = HybridGibbsLDA(2, epsilon=4.0, n_sweeps=10, random_state=0).fit(counts)
    >>> model.components_.shape
    (2, 30)
    """

    #: ``persons`` are refused: the unit is one word, replaced by another.
    privacy_unit = "word"
    neighboring = "replace_one"
    _protects = ("word",)
    _algorithm = "Gibbs sampling from frozen noisy tables"
    _published = ("n_topics", "n_sweeps", "noise", "topic_word_prior", "doc_topic_prior")
    n_topics: Annotated[int, validate.whole(1, MOST_TOPICS)] = 20
    _: KW_ONLY
    epsilon: float | None = None
    delta: float = 1e-6
    epsilon_noise: float | None = None
    topic_word_prior: Annotated[float, validate.number(above=0)] = 0.01
    doc_topic_prior: Annotated[float, validate.DOC_TOPIC_PRIOR] = 1.0
    n_sweeps: Annotated[int, validate.whole()] = 50
    noise: Annotated[str, validate.choice("laplace", "gaussian")] = "laplace"
    random_state: Annotated[int | None, validate.SEED] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    ledger: Ledger | None = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None

    def _faults_of_promise(self) -> list[DiscreetError]:
        given = [name for name in ("epsilon", "epsilon_noise") if getattr(self, name) is not None]
        faults: list[DiscreetError] = []
        if len(given) == 2:
            said = "give either `epsilon` (of the whole fit) or `epsilon_noise` (of one table), not both."
            faults.append(PrivacyError(said))
        checks = [partial(check_epsilon, getattr(self, name), name=name) for name in given]
        return [*faults, *validate.collect(*checks, lambda: check_delta(self.delta))]

    def _plan(self) -> Plan:
        epsilon = 1.0 if self.epsilon is None and self.epsilon_noise is None else self.epsilon
        run = plan(self.noise, epsilon, self.epsilon_noise, self.delta, self.n_sweeps)
        return Plan(run.event, run)

    def _promised(self, plan: Plan) -> tuple[float, float]:
        return plan.how.epsilon, self.delta

    def _purpose(self) -> tuple[str, list[str]]:
        return "topics by Gibbs sampling", [f"{self.n_sweeps} sweeps"]

    def _train(self, data: Data, booking: Booking) -> Fitted:
        run, reservation = booking.plan.how, booking.reservation
        prior = float(self.topic_word_prior)
        settings = hybrid_gibbs.Settings(self.n_topics, float(self.doc_topic_prior), prior, run.mechanism)
        stream = SecureStream(self.random_state).spawn("word-level topics")
        n_threads = count_threads(self.n_jobs)
        tokens = read_tokens(read_documents(data.counts))
        state = hybrid_gibbs.init(tokens, settings, stream)
        for _ in steps(self.callback, "sweeps", self.n_sweeps):
            state, _ = hybrid_gibbs.step(state, tokens, settings, stream, reservation, n_threads=n_threads)
        last = hybrid_gibbs.release_table(state, tokens, settings, stream, reservation, n_threads=n_threads)
        smooth = last + prior
        sizes = smooth.sum(0)
        return Fitted(
            topic_word=hybrid_gibbs.topics_of(last, prior),
            topic_weight=sizes / sizes.sum(),
            word_weight=smooth.sum(1) / smooth.sum(),
            topic_word_noise=np.repeat(run.deviation / sizes[:, None], len(data.words), axis=1),
            settings={"epsilon_noise": run.epsilon_noise},
        )
