"""Whether texts have topics at all: told by what is released, in both directions, or not at all."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import PrivateLDA
from discreet.central.forecast import Structure, structure
from discreet.errors import WeakForecastWarning
from discreet.report.wording import forecast_told, questions, weak_verdict

V, K = 240, 6


def texts(n, topics, seed, length=(10, 90)):
    """Counts of documents of any length, of K topics or of word frequencies alone."""
    rng = np.random.default_rng(seed)
    frequent = 1 / np.arange(3.0, V + 3)
    frequent /= frequent.sum()
    rows = np.tile(frequent, (K, 1))
    if topics:
        rows = rng.dirichlet(0.1 * V * frequent, K)
    shares = rng.dirichlet(np.full(K, 0.1), n) @ rows
    shares /= shares.sum(1, keepdims=True)
    return sp.csr_matrix(rng.multinomial(rng.integers(*length, n), shares).astype(np.int32))


def fit(counts, epsilon, seed=0, **how):
    how = {"allow_unlearnable": True, "n_rounds": 1, **how}
    return PrivateLDA(K, epsilon=epsilon, random_state=seed, **how).fit(counts)


@pytest.mark.parametrize(("epsilon", "seeds"), [(8.0, 20), (math.inf, 4)])
@pytest.mark.integration
def test_texts_without_topics_are_told_from_texts_with_some(epsilon, seeds):
    """At least 19 of 20; a rule that is right in 80 % of all cases gets there in 7 %."""
    flat = [fit(texts(4000, False, seed), epsilon, seed).forecast_.topics for seed in range(seeds)]
    assert flat.count("none") >= math.ceil(0.95 * seeds)
    topical = [fit(texts(4000, True, seed), epsilon, seed).forecast_.topics for seed in range(4)]
    assert topical == ["seen"] * 4


@pytest.mark.integration
def test_where_the_noise_hides_both_nothing_is_said():
    for epsilon, n in ((0.2, 1500), (1.0, 300)):
        for topics in (False, True):
            said = [fit(texts(n, topics, seed), epsilon, seed).forecast_.topics for seed in range(5)]
            assert said == ["cannot tell"] * 5


def test_a_fit_of_texts_without_topics_does_not_call_them_good():
    counts = texts(6000, False, 1)
    with pytest.warns(
        WeakForecastWarning, match="^Forecast: no topics. As far as the noise lets one see"
    ) as told:
        model = fit(counts, 8.0, allow_unlearnable=False)
    assert {one.filename for one in told} == {__file__}
    assert model.forecast_.verdict == "no topics"
    assert model.forecast_.is_weak
    release = model.release_
    assert weak_verdict(release) == "no topics"
    assert "good" not in forecast_told(release)
    assert "The forecast was: no topics" in dict(questions(release))["Can you rely on the topics?"]
    assert weak_verdict(fit(texts(6000, True, 1), 8.0, allow_unlearnable=False).release_) is None


def test_what_is_said_of_texts_with_topics_is_said_without_reserve():
    seen, unsure = fit(texts(4000, True, 2), 8.0), fit(texts(300, True, 2), 1.0)
    assert "if the texts have topics" not in seen.forecast_.in_words()
    assert "Whether there are topics cannot be told through the noise." in unsure.forecast_.in_words()
    assert PrivateLDA(1, epsilon=8.0, random_state=0).fit(texts(900, False, 2)).forecast_.topics is None


@pytest.mark.integration
def test_plentiful_texts_without_topics_are_told_by_the_same_bounds():
    # Rare words weigh more in the pairs that are released where documents are plentiful, and must not in the strength.
    frequent = 1 / np.arange(1.0, 301)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(rng.poisson(40, 30_000), frequent / frequent.sum()).astype(np.int32)
    found = [fit(sp.csr_matrix(counts), 4.0, seed).forecast_ for seed in range(3)]
    assert max(forecast.difficulty for forecast in found) < 0.1
    assert [forecast.topics for forecast in found] == ["none"] * 3


def naive(matrix, weights, n_units, noise, unigram):
    """The same by loops and a plain search for the rank-one part."""
    m = len(weights)
    v = np.ones(m) / math.sqrt(m)
    level = 1.0
    for _ in range(30):
        filled = [[matrix[i][j] if i != j else level * v[i] * v[i] for j in range(m)] for i in range(m)]
        u = np.array([sum(filled[i][j] * v[j] for j in range(m)) for i in range(m)])
        level, v = float(v @ u), u / math.sqrt(float(u @ u))
    rest, white = np.zeros((m, m)), np.zeros((m, m))
    total = sum(v[i] * weights[i] * v[j] * weights[j] for i in range(m) for j in range(m) if i != j)
    mean = sum(unigram) / m
    moved = [(unigram[i] / mean) ** -0.25 / weights[i] for i in range(m)]
    rows = [sum(level * v[i] * v[j] * moved[i] * moved[j] for j in range(m)) for i in range(m)]
    mean = sum(rows) / m
    for i in range(m):
        for j in range(m):
            if i != j:
                left = matrix[i][j] - level * v[i] * v[j]
                pair = v[i] * weights[i] * v[j] * weights[j] / total
                rest[i, j] = moved[i] * moved[j] * left / math.sqrt((rows[i] + mean) * (rows[j] + mean))
                white[i, j] = left / math.sqrt(noise**2 + 2 * n_units * pair)
    return np.linalg.eigvalsh(rest)[-1], np.linalg.eigvalsh(white)[-1] / (2 * math.sqrt(m))


@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_the_figures_are_those_of_the_naive_twin(noise):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(40))
    matrix = 900 * np.outer(p, p) * 40 + rng.gamma(1.0, 1.0, (40, 40))
    matrix = np.triu(matrix, 1)
    matrix += matrix.T
    weights = rng.uniform(0.5, 2, 40)
    unigram = rng.uniform(0.01, 0.04, 40)
    found = structure(matrix, weights, 500.0, noise, unigram)
    np.testing.assert_allclose(found, naive(matrix, weights, 500.0, noise, unigram), rtol=1e-6)


def test_too_few_words_units_or_pairs_say_nothing():
    for pairs, n_units in ((1.0 - np.eye(29), 100.0), (1.0 - np.eye(30), 0.5), (np.zeros((30, 30)), 100.0)):
        n_words = len(pairs)
        assert structure(pairs, np.ones(n_words), n_units, 1.0, np.full(n_words, 1 / n_words)) is None


@pytest.mark.parametrize(
    ("strength", "above", "verdict"),
    [
        (0.04, 1.1, "none"),
        (0.04, 1.2, "none"),
        (0.04, 1.3, "seen"),
        (0.02, 9.0, "none"),
        (0.06, 1.0, "cannot tell"),
        (0.3, 1.3, "seen"),
    ],
)
def test_the_verdict_needs_both_figures(strength, above, verdict):
    assert Structure(strength, above).verdict == verdict
