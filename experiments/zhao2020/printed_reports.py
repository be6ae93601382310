r"""LP-LDA and OLP-LDA as printed: bits are turned until column sums are right, and then taken for true.

Experiments' baselines: :func:`fit_lp` and :class:`OnlineLP`. `LocalLDA` and `StreamingLocalLDA` learn more of the same
reports.

LP-LDA
------
With n_t ones in column t of M reports, an unbiased number of documents that have word t is

.. math:: \hat N_t = \frac{n_t - M q}{p - q} \qquad \Big(= \frac{2 n_t - f M}{2 (1 - f)}
          \text{ for } q = 1 - p = f / 2\Big),

whose variance over the noise is :math:`M q (1 - q) / (p - q)^2 = M f (2 - f) / (4 (1 - f)^2)` for the symmetric
channel. It is clipped to [0, M]; the difference to n_t is made up by turning that many random zeros of the column
into ones, or ones into zeros. This repairs how often words occur; that words occur *together* stays diluted by the
channel, and by the random repair. Post-processing of the reports.

OLP-LDA
-------
A public set of documents may come first: :math:`\mu` starts as the *document frequency* of each word there (as a rate),
:math:`\beta` as the symmetric prior plus :math:`\lambda` times the topic-word counts of a Gibbs run on it. Batch l of
M reports then goes like this:

1. unbiased counts :math:`\hat N_t` (as above);
2. their Bayes estimate :math:`\eta_t = \omega M \mu_t + (1 - \omega) \hat N_t`, and the batch is rebuilt so that its
   column sums are :math:`\eta`;
3. Gibbs sampling of the batch under the prior :math:`\beta` gives counts N;
4. :math:`\beta \leftarrow \beta + \lambda N`, :math:`\quad \mu \leftarrow (\mu + \eta / M) / 2`.

Topics are the rows of :math:`\beta + N`, N of the latest batch. Without a public set there is no :math:`\mu` for the
first batch: its counts stand as they are (:math:`\eta = \hat N`), and :math:`\mu` becomes :math:`\eta / M`.

The weight is that of a normal prior of variance :math:`\sigma^2` for a count whose noise has variance
:math:`M f (2 - f) / (4 (1 - f)^2)`:

.. math:: \omega = \frac{M f (2 - f)}{M f (2 - f) + 4 \sigma^2 (1 - f)^2} .

Where the source disagrees with itself: line 13 of its algorithm contradicts its equation 21, and equation 21 (rates
scaled to the size of the batch) is used; its equation 18 for omega is off by a factor 2 against its theorem 6, which
is right and gives the formula above. Post-processing of the reports; the first set is read as it is and must be public.

Reference
---------
Zhao et al., "Latent Dirichlet allocation model training with differential privacy", arXiv:2010.04391.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError
from discreet.lda import GibbsLDA
from discreet.lda.documents import read_documents
from discreet.lda.gibbs import frozen as frozen_sweep
from discreet.lda.gibbs.draw import new_seed, sweep_key
from discreet.lda.gibbs.state import begin, count_topics, read_tokens, word_order
from discreet.lda.moments.estimates import Channel, noise_variance

Floats = NDArray[np.float64]


def estimated_counts(ones: NDArray[np.int64], n_reports: int, channel: Channel) -> NDArray[np.float64]:
    """Return unbiased numbers of documents that have each word, not clipped; shape (n_words,)."""
    p, q = float(channel.p), float(channel.q)
    return np.asarray((ones - n_reports * q) / (p - q), dtype=np.float64)


def rebuild(
    rows: NDArray[np.uint8], channel: Channel, rng: Any, *, wanted: NDArray[np.float64] | None = None
) -> NDArray[np.uint8]:
    """Return bits with repaired column sums.

    Parameters
    ----------
    rows : array of shape (n_reports, n_words), uint8
        Reports; not changed.
    channel : Channel
    rng : numpy Generator
        Chooses which bits to turn. No privacy depends on it.
    wanted : array of shape (n_words,), optional
        Column sums to reach, instead of the unbiased ones.

    Returns
    -------
    array of shape (n_reports, n_words), uint8
    """
    if not len(rows):
        raise CorpusError("there is no report to rebuild documents from; add some first.")
    n_reports = len(rows)
    ones = rows.sum(0, dtype=np.int64)
    if wanted is None:
        wanted = estimated_counts(ones, n_reports, channel)
    target = np.clip(np.rint(wanted), 0, n_reports).astype(np.int64)
    columns = np.array(rows, order="F")  # always a copy
    for word in np.flatnonzero(target != ones):
        column, more = columns[:, word], int(target[word] - ones[word])
        turned = np.flatnonzero(column == (0 if more > 0 else 1))
        column[rng.choice(turned, size=abs(more), replace=False, shuffle=False)] = 1 if more > 0 else 0
    return np.ascontiguousarray(columns)


def count_topics_of(
    bits: Any, prior: Floats, doc_topic_prior: float, *, n_sweeps: int, seed: int, n_threads: int = 1
) -> NDArray[np.int64]:
    """Return how many tokens of each word have each topic after the last sweep.

    Gibbs sampling with a prior that differs from word to word and topic to topic.
    The draws are those of :mod:`discreet.lda.gibbs.frozen`; only the table is another: counts plus a matrix of
    prior counts. The chain starts from a sweep under the prior alone, so that topics keep their numbers from batch to
    batch.

    Parameters
    ----------
    bits : array of shape (n_documents, n_words)
        Counts, or zeros and ones.
    prior : array of shape (n_topics, n_words)
        Positive prior counts.
    doc_topic_prior : float
    n_sweeps, seed, n_threads : int
        The result does not depend on ``n_threads``.

    Returns
    -------
    array of shape (n_topics, n_words), int64
        Zeros where there is no token.
    """
    tokens = read_tokens(read_documents(bits))
    n_topics, n_words = prior.shape
    if not len(tokens.words):
        return np.zeros(prior.shape, np.int64)
    table = frozen_sweep.empty_table(n_words, n_topics)
    state = begin(tokens, n_topics, seed, n_threads)
    topics, counts = state.topics, np.zeros((n_words, n_topics), np.int64)
    alpha = np.full(n_topics, doc_topic_prior)
    matrix = prior.T
    order = word_order(tokens)
    for number in range(n_sweeps + 1):
        informed = matrix + counts
        table[:, :n_topics] = n_words * informed / informed.sum(0)
        frozen_sweep.sweep(tokens, topics, table, alpha, sweep_key(seed, number), n_threads=n_threads)
        counts = count_topics(tokens, topics, n_topics, n_threads, order=order)[:, :n_topics].astype(np.int64)
    return np.ascontiguousarray(counts.T)


class Settings(NamedTuple):
    """Public settings of a stream.

    Attributes
    ----------
    channel : Channel
    n_topics : int
    doc_topic_prior, topic_word_prior : float
    learning_rate : float
        lambda.
    prior_weight : float
        omega, where ``count_deviation`` is not given.
    count_deviation : float or None
        sigma.
    n_sweeps, n_threads : int
    """

    channel: Channel
    n_topics: int
    doc_topic_prior: float
    topic_word_prior: float
    learning_rate: float
    prior_weight: float
    count_deviation: float | None
    n_sweeps: int
    n_threads: int


class State(NamedTuple):
    """What the next batch needs; its size does not depend on how many batches came.

    Attributes
    ----------
    prior : array of shape (n_topics, n_words)
        beta.
    latest : array of shape (n_topics, n_words), int64
        N of the latest batch.
    rates : array of shape (n_words,) or None
        mu; None before the first batch, where nothing is public.
    """

    prior: Floats
    latest: NDArray[np.int64]
    rates: Floats | None

    @property
    def topic_word(self) -> Floats:
        """Topics, rows sum to 1."""
        topics = self.prior + self.latest
        return topics / topics.sum(1, keepdims=True)

    @property
    def topic_weight(self) -> Floats:
        """Share of each topic; sums to 1."""
        weight = (self.prior + self.latest).sum(1)
        return weight / weight.sum()


def bayes_weight(n_reports: int, channel: Channel, count_deviation: float) -> float:
    """Return omega, the weight of the prior mean of a count."""
    noise = n_reports * noise_variance(channel)
    return noise / (noise + count_deviation**2)


def bayes_estimate(counts: Floats, mean: Floats, weight: float) -> Floats:
    """Return the posterior mean of counts: ``weight`` times the prior mean, the rest of what was counted."""
    return weight * mean + (1 - weight) * counts


def init(public: NDArray[np.uint8] | None, n_words: int, settings: Settings, seed: int) -> State:
    """Start from public documents, rows of bits; None: from nothing."""
    prior = np.full((settings.n_topics, n_words), settings.topic_word_prior)
    if public is None:
        return State(prior, np.zeros(prior.shape, np.int64), None)
    found = _sampled(public, prior, settings, seed)
    return State(prior, found, public.mean(0))


def step(state: State, rows: NDArray[np.uint8], settings: Settings, rng: Any) -> State:
    """Take in one batch of reports."""
    n_reports = len(rows)
    counts = estimated_counts(rows.sum(0, dtype=np.int64), n_reports, settings.channel)
    rates = np.clip(counts / n_reports, 0, 1) if state.rates is None else state.rates
    weight = settings.prior_weight
    if settings.count_deviation is not None:
        weight = bayes_weight(n_reports, settings.channel, settings.count_deviation)
    eta = np.clip(bayes_estimate(counts, n_reports * rates, weight), 0, n_reports)
    bits = rebuild(rows, settings.channel, rng, wanted=eta)
    prior = state.prior + settings.learning_rate * state.latest
    found = _sampled(bits, prior, settings, int(rng.integers(2**62)))
    return State(prior, found, (rates + eta / n_reports) / 2)


def _sampled(bits: NDArray[np.uint8], prior: Floats, settings: Settings, seed: int) -> NDArray[np.int64]:
    return count_topics_of(
        bits,
        prior,
        settings.doc_topic_prior,
        n_sweeps=settings.n_sweeps,
        seed=seed,
        n_threads=settings.n_threads,
    )


def fit_lp(
    rows: NDArray[np.uint8],
    channel: Channel,
    n_topics: int,
    *,
    doc_topic_prior: float = 1.0,
    topic_word_prior: float = 0.01,
    n_sweeps: int = 200,
    random_state: Any = None,
) -> tuple[Floats, Floats]:
    """Return topics of LP-LDA, whose rows sum to 1, and their shares; ``rows`` are reports."""
    seed = new_seed(random_state)
    bits = rebuild(rows, channel, np.random.default_rng(seed))
    sampler = GibbsLDA(
        n_topics,
        doc_topic_prior=doc_topic_prior,
        topic_word_prior=topic_word_prior,
        init="random",
        n_sweeps=n_sweeps,
        random_state=seed,
    ).fit(bits)
    tokens = sampler.topic_word_counts_.sum(1)
    return sampler.topic_word_, tokens / max(tokens.sum(), 1)


class OnlineLP:
    """OLP-LDA: batches of reports, perhaps after documents that are public."""

    def __init__(
        self,
        n_topics: int,
        channel: Channel,
        n_words: int,
        *,
        public: Any = None,
        prior_weight: float = 0.4,
        count_deviation: float | None = None,
        doc_topic_prior: float = 1.0,
        n_sweeps: int = 100,
        n_threads: int = 1,
        random_state: Any = None,
    ) -> None:
        self.settings = Settings(
            channel, n_topics, doc_topic_prior, 0.01, 0.5, prior_weight, count_deviation, n_sweeps, n_threads
        )
        seed = new_seed(random_state)
        self._rng = np.random.default_rng(seed)
        dense = public if public is None or isinstance(public, np.ndarray) else public.toarray()
        bits = None if dense is None else (dense > 0).astype(np.uint8)
        self.state = init(bits, n_words, self.settings, seed)

    def partial_fit(self, rows: NDArray[np.uint8]) -> "OnlineLP":
        """Take in a batch."""
        self.state = step(self.state, rows, self.settings, self._rng)
        return self
