r"""OLP-LDA as printed: batches of reports, each rebuilt with the help of the earlier ones, then sampled.

A public set of documents may come first: :math:`\mu` starts as the *document frequency* of each word there (as a rate),
:math:`\beta` as the symmetric prior plus :math:`\lambda` times the topic-word counts of a Gibbs run on it. Batch l of
M reports then goes like this:

1. unbiased counts :math:`\hat N_t` (see :mod:`discreet.local.lp_lda`);
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

from discreet.lda.moments.estimates import Channel, noise_variance
from discreet.local.informed_gibbs import count_topics_of
from discreet.local.lp_lda import estimated_counts, rebuild

__all__ = ["Settings", "State", "bayes_estimate", "bayes_weight", "init", "step"]

Floats = NDArray[np.float64]


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
