"""The mean of a chain's counts: which sweeps are in it, and why it is what GibbsLDA gives."""

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.evaluate import completion_perplexity
from discreet.lda import GibbsLDA
from discreet.lda.documents import read_documents
from discreet.lda.gibbs.estimator import chain, is_sampled
from discreet.lda.gibbs.state import read_tokens


@pytest.mark.parametrize(
    ("n_sweeps", "every", "after_fast"),
    [(1, 2, 2), (5, 2, 2), (19, 2, 2), (60, 2, 2), (100, 2, 4), (200, 4, 8), (240, 5, 10)],
)
def test_about_a_dozen_sweeps_of_the_last_quarter_or_half_count(n_sweeps, every, after_fast):
    for fast, part, apart in ((False, 4, every), (True, 2, after_fast)):
        taken = [s for s in range(1, n_sweeps + 1) if is_sampled(s, n_sweeps, fast=fast)]
        assert taken == [
            s
            for s in range(1, n_sweeps + 1)
            if part * (n_sweeps - s) < n_sweeps and (n_sweeps - s) % apart == 0
        ]
        assert taken[-1] == n_sweeps
        assert len(taken) <= 24


@pytest.mark.parametrize("init", ["fast", "random"])
@pytest.mark.parametrize("n_topics", [5, 210])
def test_it_is_the_mean_of_these_sweeps(init, n_topics):
    counts = sp.csr_matrix(np.random.default_rng(0).poisson(0.4, (60, 30)))
    fast, tokens = init == "fast", read_tokens(read_documents(counts))
    state, step, table = chain(tokens, np.full(n_topics, 0.1), 0.01, 7, fast=fast, n_sweeps=9)
    tables = []
    for sweep in range(1, 10):
        state = step(state)
        if is_sampled(sweep, 9, fast=fast):
            tables.append(table(state)[:, :n_topics].T)
    model = GibbsLDA(n_topics, init=init, n_sweeps=9, random_state=7).fit(counts)
    assert len(tables) == (3 if fast else 2)
    np.testing.assert_array_equal(model.mean_counts_, np.mean(tables, axis=0))
    np.testing.assert_array_equal(model.topic_word_counts_, tables[-1])


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
