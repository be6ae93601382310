"""The mean of a chain's counts: against exact fractions, and why it is what GibbsLDA gives."""

import numpy as np
import pytest
from tests.naive import mean_counts as naive

from discreet.evaluate import completion_perplexity
from discreet.lda import GibbsLDA
from discreet.lda.gibbs import expected as mean_counts


def mean_of(tables, n_topics):
    n_words, width = tables[0].shape
    state = mean_counts.init(n_words, width, int(tables[0].sum()), 16 * len(tables))
    for table in tables:
        state = mean_counts.step(state, table)
    return mean_counts.mean(state, n_topics)


@pytest.mark.parametrize("n_sweeps", [1, 2, 4, 5, 16, 17, 19, 200, 203])
def test_samples_are_every_fourth_of_the_last_quarter(n_sweeps):
    taken = [s for s in range(1, n_sweeps + 1) if mean_counts.is_sampled(s, n_sweeps)]
    assert taken == naive.samples(n_sweeps)
    assert taken[-1] == n_sweeps


@pytest.mark.parametrize(
    ("n_sweeps", "few", "many"), [(1, 1, 1), (20, 2, 4), (60, 2, 4), (100, 4, 4), (240, 10, 10)]
)
def test_near_its_end_a_chain_is_sampled_in_its_last_half_and_with_many_topics_less_often(
    n_sweeps, few, many
):
    for n_topics, every in ((200, few), (201, many)):
        taken = [
            s
            for s in range(1, n_sweeps + 1)
            if mean_counts.is_sampled(s, n_sweeps, near=True, n_topics=n_topics)
        ]
        assert taken == [
            s for s in range(1, n_sweeps + 1) if 2 * s > n_sweeps and (n_sweeps - s) % every == 0
        ]


@pytest.mark.parametrize("drift", [3, 60, 400])
def test_as_in_exact_fractions(drift):
    """Tables that drift little, so that all count, and much, so that topics begin anew."""
    rng = np.random.default_rng(drift)
    tables = [rng.integers(0, 40, (9, 16), np.int32)]
    for _ in range(7):
        moved = tables[-1].copy()
        for _ in range(drift):
            w, a, b = rng.integers(9), rng.integers(16), rng.integers(16)
            take = rng.integers(0, moved[w, a] + 1)
            moved[w, a] -= take
            moved[w, b] += take
        tables.append(moved)
    exact = naive.mean_counts([t.tolist() for t in tables])
    expected = np.array([[float(x) for x in row] for row in exact])[:, :13].T
    np.testing.assert_allclose(mean_of(tables, 13), expected, rtol=1e-15)
    plain = np.mean(tables, axis=0)[:, :13].T
    assert np.allclose(plain, expected) == (drift == 3)


def test_topics_that_change_places_are_not_mixed():
    table = np.zeros((6, 16), np.int32)
    table[:3, 0], table[3:, 1] = 20, 30
    swapped = table.copy()
    swapped[:, [0, 1]] = table[:, [1, 0]]
    result = mean_of([table] * 6 + [swapped] * 3, 2)
    np.testing.assert_array_equal(result, swapped[:, :2].T)


def test_large_sums_do_not_overflow():
    assert mean_counts.init(1, 16, 2**31 - 1, 1).sums.dtype == np.int32
    table = np.zeros((1, 16), np.int32)
    table[0, 0] = 2**31 - 1
    np.testing.assert_array_equal(mean_of([table] * 10, 1), [[2**31 - 1]])


@pytest.mark.integration
def test_the_mean_predicts_unseen_text_better_than_the_last_sweep():
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(200, 0.2), 12)
    counts = np.array([rng.multinomial(30, rng.dirichlet(np.full(12, 0.1)) @ topics) for _ in range(1000)])
    train, test = counts[:600], counts[600:]
    gains = []
    for seed in range(8):
        model = GibbsLDA(12, n_sweeps=400, random_state=seed).fit(train)
        last = model.topic_word_counts_ + 0.01
        last /= last.sum(axis=1, keepdims=True)
        gains.append(completion_perplexity(last, test) - completion_perplexity(model.topic_word_, test))
    assert np.mean(gains) > 0.5


@pytest.mark.integration
def test_a_chain_that_lets_topics_change_places_still_separates_them():
    """Four short documents of two kinds: labels wander all the time, and a plain mean would be the same for both."""
    X = np.array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]])
    apart = 0
    for seed in range(20):
        model = GibbsLDA(2, n_sweeps=400, random_state=seed).fit(X)
        share = model.transform(X)[:, 0] > 0.5
        apart += share.tolist() in ([True, True, False, False], [False, False, True, True])
    assert apart >= 15
