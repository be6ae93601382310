"""Planted topics are found again: three regimes, every trainer.

Documents are drawn from the model itself, so the truth is known. A trainer's distance to it is the mean Hellinger
distance of matched topics. What it is held against is the truth estimated from the true topic of every token: no
trainer can know more. Each limit lies between what was measured and what broken trainers give (below).
"""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from tests.marks import quick
from tests.naive.live_gibbs import LiveLDA

from discreet.central import PrivateLDA
from discreet.evaluate import completion_perplexity, topic_match
from discreet.lda import GibbsLDA, VariationalLDA
from discreet.lda.gibbs import estimator


class Regime(NamedTuple):
    """How documents are drawn, and how near the planted topics each trainer must come."""

    n_topics: int
    n_words: int
    n_documents: int
    length: int
    topic_word_prior: float
    doc_topic_prior: float
    gibbs: float
    batch: float
    stochastic: float
    private: float


REGIMES = {
    # topics with few words in common
    "separated": Regime(8, 200, 150, 100, 0.02, 0.5, 0.16, 0.16, 0.35, 0.22),
    # most words of a topic are other topics' as well
    "overlapping": Regime(5, 300, 300, 150, 0.3, 0.3, 0.15, 0.15, 0.15, 0.14),
    # a dozen tokens each, twenty topics
    "short": Regime(20, 200, 2500, 12, 0.02, 0.08, 0.2, 0.28, 0.2, 0.18),
}
SWEEPS = {"live": 200, "frozen": 200, "lists": 200}
STARTS = {"live": 3, "frozen": 3, "lists": 3, "batch": 6, "stochastic": 16}
TRAINERS = ("live", "frozen", "lists", "batch", "stochastic", "private")


class Planted(NamedTuple):
    counts: sp.csr_matrix
    topic_word: np.ndarray
    oracle: np.ndarray


def plant(regime: Regime, seed: int = 0) -> Planted:
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(regime.n_words, regime.topic_word_prior), regime.n_topics)
    counts = np.zeros((regime.n_documents, regime.n_words), np.int32)
    of_topic = np.zeros(topics.shape)
    for row in range(regime.n_documents):
        theta = rng.dirichlet(np.full(regime.n_topics, regime.doc_topic_prior))
        for k, n in enumerate(rng.multinomial(regime.length, theta)):
            drawn = rng.multinomial(n, topics[k])
            of_topic[k] += drawn
            counts[row] += drawn
    oracle = of_topic + regime.topic_word_prior
    return Planted(sp.csr_matrix(counts), topics, oracle / oracle.sum(axis=1, keepdims=True))


_PLANTED: dict[str, Planted] = {}


def planted(name: str) -> Planted:
    if name not in _PLANTED:
        _PLANTED[name] = plant(REGIMES[name])
    return _PLANTED[name]


def train(trainer: str, regime: Regime, counts, **change) -> np.ndarray:
    """Train from several starts and keep the one that predicts best: every trainer can get stuck from one."""
    if trainer == "private":
        # Without noise: the same code that private training runs.
        model = PrivateLDA(
            regime.n_topics,
            epsilon=change.pop("epsilon", float("inf")),
            doc_topic_prior=change.get("doc_topic_prior", regime.doc_topic_prior),
            random_state=0,
            allow_unlearnable=True,
        )
        return model.fit(counts).release_.topic_word
    models = [
        _model(trainer, regime, seed, change).fit(counts).topic_word_ for seed in range(STARTS[trainer])
    ]
    prior = regime.doc_topic_prior
    return min(models, key=lambda topics: completion_perplexity(topics, counts, doc_topic_prior=prior))


class _WithLists(NamedTuple):
    """What is done with many topics."""

    model: GibbsLDA

    def fit(self, counts) -> GibbsLDA:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(estimator, "MOST_TABLE_TOPICS", 0)
            return self.model.fit(counts)


def _model(trainer: str, regime: Regime, seed: int, change):
    priors = {"doc_topic_prior": regime.doc_topic_prior, "topic_word_prior": regime.topic_word_prior} | change
    common = {"random_state": seed, **priors}
    if trainer in SWEEPS:
        kind = LiveLDA if trainer == "live" else GibbsLDA
        model = kind(regime.n_topics, n_sweeps=SWEEPS[trainer], **common)
        return _WithLists(model) if trainer == "lists" else model
    if trainer == "batch":
        return VariationalLDA(regime.n_topics, max_iter=60, tol=0.0, **common)
    return VariationalLDA(regime.n_topics, batch_size=regime.n_documents // 8, max_iter=25, **common)


def distance(name: str, found) -> float:
    return topic_match(planted(name).topic_word, found).mean_distance


def limit(name: str, trainer: str) -> float:
    return getattr(REGIMES[name], "gibbs" if trainer in SWEEPS else trainer)


@pytest.mark.parametrize("name", quick(REGIMES, "separated"))
@pytest.mark.parametrize("trainer", quick(TRAINERS, "frozen", "lists", "private"))
def test_planted_topics_are_found(name, trainer):
    found = train(trainer, REGIMES[name], planted(name).counts)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    oracle = distance(name, planted(name).oracle)
    assert oracle < distance(name, found) < limit(name, trainer)


@pytest.mark.parametrize("name", REGIMES)
def test_no_limit_can_be_met_by_chance(name):
    rng = np.random.default_rng(1)
    regime = REGIMES[name]
    guess = rng.dirichlet(np.full(regime.n_words, regime.topic_word_prior), regime.n_topics)
    worst = max(regime.gibbs, regime.batch, regime.stochastic, regime.private)
    assert distance(name, guess) > 1.3 * worst
    # The words' frequencies in every topic, which is where a trainer that stands still ends.
    frequencies = np.asarray(planted(name).counts.sum(axis=0), float).repeat(regime.n_topics, axis=0)
    assert distance(name, frequencies) > worst


@pytest.mark.parametrize("trainer", ["frozen", "batch"])
def test_swapped_priors_are_seen(trainer):
    regime = REGIMES["separated"]
    swapped = {"doc_topic_prior": regime.topic_word_prior, "topic_word_prior": regime.doc_topic_prior}
    found = train(trainer, regime, planted("separated").counts, **swapped)
    assert distance("separated", found) > limit("separated", trainer)


@pytest.mark.parametrize("name", quick(["separated", "overlapping"], "separated"))
@pytest.mark.parametrize(
    "trainer", quick(["frozen", "lists", "batch", "stochastic", "private"], "frozen", "private")
)
def test_ignored_counts_are_seen(name, trainer):
    found = train(trainer, REGIMES[name], (planted(name).counts > 0).astype(np.int32))
    assert distance(name, found) > limit(name, trainer)


@pytest.mark.parametrize("trainer", ["frozen", "batch"])
@pytest.mark.integration
def test_words_in_the_wrong_columns_are_seen(trainer):
    found = train(trainer, REGIMES["short"], planted("short").counts)
    assert distance("short", np.roll(found, 1, axis=1)) > 2 * limit("short", trainer)


@pytest.mark.integration
def test_a_moderate_epsilon_still_finds_them():
    counts = planted("short").counts
    without, with_noise, nothing = (
        distance("short", train("private", REGIMES["short"], counts, epsilon=epsilon))
        for epsilon in (float("inf"), 10.0, 0.3)
    )
    assert without < with_noise < 0.35
    assert nothing > 0.5
