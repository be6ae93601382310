"""The textbook's sampler, an oracle of other tests: draw by draw as its twin, and in the long run the posterior."""

import numpy as np
import pytest
from scipy import stats
from tests.naive import gibbs as naive
from tests.naive import live_gibbs as live_sweep

from discreet.lda.gibbs import frozen
from discreet.lda.gibbs.draw import sweep_key
from discreet.lda.gibbs.state import Tokens, count_topics

GOLDEN = 0x9E3779B97F4A7C15


def make_tokens(documents, n_words):
    ends = np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64)
    return Tokens(ends, np.array([w for d in documents for w in d], np.int32), n_words)


def uniforms_of(documents, seed, sweep):
    key, uniforms = int(sweep_key(seed, sweep)), []
    for d, words in enumerate(documents):
        start = naive.splitmix(key ^ naive.splitmix(d))
        for i in range(len(words)):
            uniforms.append((naive.splitmix((start + (i + 1) * GOLDEN) & naive.MASK) >> 11) * 2.0**-53)
    return uniforms


@pytest.mark.parametrize("n_topics", [1, 2, 5])
def test_draws_as_the_twin_does(n_topics):
    rng = np.random.default_rng(n_topics)
    documents = [rng.integers(0, 6, rng.integers(0, 9)).tolist() for _ in range(8)]
    tokens, alpha = make_tokens(documents, 6), rng.random(n_topics) + 0.05
    state = live_sweep.init(tokens, n_topics, 17)
    for sweep in range(5):
        expected = naive.live_sweep(documents, 6, state.topics, alpha, 0.2, uniforms_of(documents, 17, sweep))
        state = live_sweep.step(state, tokens, alpha, 0.2)
        assert state.topics.tolist() == expected
        np.testing.assert_array_equal(state.word_topic, count_topics(tokens, state.topics, n_topics))


def long_run(module, n_sweeps=60_000):
    """Frequencies of each joint outcome; a sweep of three tokens mixes in a few steps, so every third counts."""
    documents, alpha, beta = [[0, 1], [0]], np.array([0.4, 0.9]), 0.3
    tokens = make_tokens(documents, 2)
    state = live_sweep.init(tokens, 2, 23)
    seen = np.zeros(8)
    for sweep in range(n_sweeps):
        state = module.step(state, tokens, alpha, beta)
        if sweep % 6 == 0:
            seen[int(state.topics @ [4, 2, 1])] += 1
    law = naive.posterior(documents, 2, alpha, beta)
    return stats.chisquare(seen, seen.sum() * np.array([law[z] for z in np.ndindex(2, 2, 2)])).pvalue


def test_long_run_is_the_posterior_of_three_tokens():
    assert long_run(live_sweep) > 1e-3


@pytest.mark.integration
def test_the_frozen_chain_is_another_one_on_three_tokens():
    """Said in its docstring, and proof that the check above can fail."""
    assert long_run(frozen, 20_000) < 1e-9
