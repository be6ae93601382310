r"""CountNoiseLDA: earlier ways to make Gibbs sampling private, to be compared with. Not private.

Discrete Laplace noise of scale :math:`1/\epsilon` goes into the word-topic counts, and nothing else is hidden:

* ``when="first"`` (CDP-LDA, after Foulds et al.): noise is drawn once and stays in the counts for all sweeps;
* ``when="every"`` (CDP-LDA+): fresh noise each sweep, and on the counts from which the topics are read;
* ``when="last"`` (Zhu et al.): exact training; noise on the last counts, which are then scaled so that each word's
  total is the exact one.

What is covered
---------------
*Given the topic assignments*, one table costs :math:`2\epsilon` for a replaced word (one cell loses 1, another gains
1); with ``"every"`` T + 1 tables add up. But assignments are drawn from the words: live document counts carry the
replaced word's influence to its neighbours, and the counts of corpora that differ in one word may differ by a whole
document. So *for corpora* the sum above is no bound, whether or not assignments are published
(``test_noise_on_counts_alone_does_not_cover_the_counts``), and ``"last"`` keeps exact totals, from which a missing word
is read off. A promise that would be void is not made: the ledger's entry is not private, epsilon = inf. What the noise
would cost if assignments did not depend on words stands in the release's settings, as
``epsilon_given_assignments``.

References
----------
Foulds, Geumlek, Welling, Chaudhuri, "On the theory and practice of privacy-preserving Bayesian data analysis", 2016,
arXiv:1603.07294. Zhu, Li, Zhou, Yu, "Differentially private topic model", 2016. Both as read by Zhao et al.,
arXiv:2010.04391.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback, steps
from discreet._threads import count_threads
from discreet._validate import CALLBACK, DOC_TOPIC_PRIOR, SEED, THREADS, choice, number, rules, whole
from discreet.central.base import Data, Fitted
from discreet.central.word_level import hybrid_gibbs
from discreet.central.word_level.arranged_tokens import arrange
from discreet.central.word_level.base import WordLevelModel
from discreet.central.word_level.cost import DEFAULT_PRIOR, table_mechanism
from discreet.central.word_level.integer_draws import draw_topics, integer_prior, integer_table
from discreet.lda.gibbs.state import MOST_TOPICS, Tokens, count_topics
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.laplace import discrete_laplace
from discreet.privacy.noise.stream import SecureStream
from discreet.release.private_estimator import Booking, Plan

__all__ = ["CountNoiseLDA"]

_COVERED = {
    "first": "one table of counts, given the topic assignments",
    "every": "the tables of counts of all sweeps, given the topic assignments",
    "last": "nothing: word totals are exact",
}


class CountNoiseLDA(WordLevelModel):
    r"""Topic model with Laplace noise on its counts, as published. **Not private**: a baseline.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    when : {"first", "every", "last"}, default "every"
        CDP-LDA, CDP-LDA+, or Zhu et al.: see the module.
    epsilon : float, default 1.0
        As in the papers: noise of scale 1 / epsilon on each count. ``inf`` adds none.
    delta : float, default 1e-6
        For the ledger; the noise needs none.
    topic_word_prior, doc_topic_prior : float, default 0.01 and 1.0
        Dirichlet priors of words in a topic and of topics in a document.
    n_sweeps : int, default 50
        Sweeps over all tokens.
    random_state, n_jobs, callback
        As for ``HybridGibbsLDA``.
    ledger : Ledger, optional
        Its epsilon must be ``inf``, or it refuses.

    Attributes
    ----------
    release_ : Release
        Its guarantee says that nothing is promised; its settings say what the noise covers.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.
    neighboring : str
        "replace_one": the relation that the promise is about.
    privacy_unit : str
        "word": what the promise is about.
    """

    _algorithm = "Gibbs sampling with noise on counts"
    _published = ("n_topics", "when", "topic_word_prior", "doc_topic_prior", "n_sweeps")
    _constraints = rules(
        n_topics=whole(1, MOST_TOPICS),
        when=choice("first", "every", "last"),
        topic_word_prior=number(above=0),
        doc_topic_prior=DOC_TOPIC_PRIOR,
        n_sweeps=whole(),
        random_state=SEED,
        n_jobs=THREADS,
        callback=CALLBACK,
    )

    def __init__(
        self,
        n_topics: int = 20,
        *,
        when: str = "every",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        topic_word_prior: float = DEFAULT_PRIOR,
        doc_topic_prior: float = 1.0,
        n_sweeps: int = 50,
        random_state: int | None = None,
        n_jobs: int | None = None,
        ledger: Ledger | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.when = when
        self.epsilon = epsilon
        self.delta = delta
        self.topic_word_prior = topic_word_prior
        self.doc_topic_prior = doc_topic_prior
        self.n_sweeps = n_sweeps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.callback = callback

    def _plan(self) -> Plan:
        return Plan(events.non_private())

    def _promised(self, plan: Plan) -> tuple[float, float]:
        return math.inf, self.delta

    def _purpose(self) -> tuple[str, list[str]]:
        return "topics with noise on counts only", [f"{self.when}; covers {_COVERED[self.when]}"]

    def _train(self, data: Data, booking: Booking) -> Fitted:
        table = self._noisy_counts(data.counts, SecureStream(self.random_state).spawn("noisy counts"))
        smooth = table + self.topic_word_prior
        n_tables = {"first": 1, "every": self.n_sweeps + 1, "last": math.inf}[self.when]
        return Fitted(
            topic_word=hybrid_gibbs.topics_of(table, self.topic_word_prior),
            topic_weight=smooth.sum(0) / smooth.sum(),
            word_weight=smooth.sum(1) / smooth.sum(),
            settings={
                "epsilon": float(self.epsilon),
                "epsilon_given_assignments": 2.0 * self.epsilon * n_tables,
                "covered": _COVERED[self.when],
                "not_covered": "the topic assignments, and through them the counts",
            },
        )

    def _noisy_counts(self, counts: Any, stream: SecureStream) -> NDArray[np.float64]:
        """Run the chain, and return the counts (n_words, n_topics) from which topics are read."""
        n_threads = count_threads(self.n_jobs)
        scale = 0 if math.isinf(self.epsilon) else 1 / Fraction(self.epsilon)
        tokens = arrange(counts, stream.spawn("order"))
        shape = tokens.n_words, self.n_topics
        free = table_mechanism("laplace", math.inf, self.delta)
        settings = hybrid_gibbs.Settings(
            self.n_topics, float(self.doc_topic_prior), float(self.topic_word_prior), None, free
        )
        topics = hybrid_gibbs.init(tokens, settings, stream).topics
        prior = integer_prior(settings.doc_topic_prior, self.n_topics)
        noise = np.zeros(shape, np.int64)
        if self.when == "first":
            noise = discrete_laplace(scale, shape, stream.spawn("noise"), n_jobs=n_threads)
        for done in steps(self.callback, "sweeps", self.n_sweeps):
            if self.when == "every":
                noise = discrete_laplace(scale, shape, stream.spawn(f"noise {done}"), n_jobs=n_threads)
            noisy = _noisy(tokens, topics, noise, n_threads)
            table = integer_table(noisy, settings.topic_word_prior, None)
            draws = stream.spawn(f"draws of sweep {done}")
            topics = draw_topics(tokens, topics, table, self.n_topics, prior, draws, n_threads=n_threads)
        if self.when != "first":
            noise = discrete_laplace(scale, shape, stream.spawn("last noise"), n_jobs=n_threads)
        last = _noisy(tokens, topics, noise, n_threads)
        if self.when == "last":
            totals = np.bincount(tokens.words, minlength=tokens.n_words)[:, None]
            sums = last.sum(1, keepdims=True)
            last = np.where(sums > 0, last * totals / np.maximum(sums, 1), totals / self.n_topics)
        return last


def _noisy(
    tokens: Tokens, topics: NDArray[np.uint16], noise: NDArray[np.int64], n_threads: int
) -> NDArray[np.float64]:
    n_topics = noise.shape[1]
    counts = count_topics(tokens, topics, n_topics, n_threads)[:, :n_topics]
    return np.maximum(counts + noise, 0).astype(np.float64)
