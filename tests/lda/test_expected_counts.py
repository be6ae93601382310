"""Expected counts of a state: as token by token, for any number of threads; and what a short chain gains by them."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive import expected as naive

from discreet.evaluate import completion_perplexity
from discreet.lda import GibbsLDA
from discreet.lda.documents import read_documents
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.expected import expected_counts
from discreet.lda.gibbs.state import count_topics, read_tokens, word_order

BETA = 0.05


def state_of(n_topics, n_documents=30, n_words=20, seed=0):
    """Tokens and their topics: documents of 0 to some dozens of tokens, words of none, one topic of a single token."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(
        rng.gamma(0.5, 1.0, (n_documents, 1)) * rng.dirichlet(np.ones(n_words), n_documents) * 20
    )
    counts[3], counts[:, 6] = 0, 0
    tokens = read_tokens(read_documents(sp.csr_matrix(counts)))
    topics = rng.integers(0, max(n_topics - 1, 1), len(tokens.words)).astype(np.uint16)
    topics[len(topics) // 2] = n_topics - 1
    return tokens, topics


def expect(tokens, topics, alpha, beta=BETA, n_threads=1):
    counts = count_topics(tokens, topics, len(alpha))
    out = aligned(counts.shape, np.float32)
    expected_counts(tokens, topics, counts, alpha, beta, out, order=word_order(tokens), n_threads=n_threads)
    return out


MISTAKES = ("stays in its document", "stays in its word", "stays in its topic", "another alpha", "one beta")


@pytest.mark.parametrize("n_topics", [1, 3, 20])
@pytest.mark.parametrize("mistake", ["", *MISTAKES])
def test_as_token_by_token(n_topics, mistake):
    tokens, topics = state_of(n_topics)
    alpha = 0.3 * np.linspace(1, 2, n_topics)
    right = naive.expected_counts(tokens, topics, alpha, BETA, mistake)
    found = expect(tokens, topics, alpha)
    assert (found[:, n_topics:] == 0).all()
    far = np.abs(found[:, :n_topics] - right).max()
    assert (far < 1e-5) == (not mistake or n_topics == 1)


def test_no_token_is_lost():
    tokens, topics = state_of(7, 300, 50)
    found = expect(tokens, topics, np.full(7, 0.1))
    np.testing.assert_allclose(found.sum(axis=1), np.bincount(tokens.words, minlength=50), rtol=1e-6)


def test_the_same_bytes_for_any_number_of_threads():
    tokens, topics = state_of(20, 300, 40)
    alone = expect(tokens, topics, np.full(20, 0.1))
    for n_threads in (2, 3, 11):
        assert expect(tokens, topics, np.full(20, 0.1), n_threads=n_threads).tobytes() == alone.tobytes()


@pytest.mark.parametrize("n_topics", [4, 210])
def test_a_fast_start_means_expected_counts_and_a_random_one_drawn_ones(n_topics):
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.7, (60, 30))

    def fit(init):
        return GibbsLDA(n_topics, init=init, n_sweeps=6, random_state=0, n_jobs=2).fit(counts)

    close = 1e-5 if n_topics == 4 else 0.2  # of many topics some begin their mean anew
    fast, random = fit("fast"), fit("random")
    for model, whole in ((fast, False), (random, True)):
        mean = model.mean_counts_
        np.testing.assert_allclose(mean.sum(), counts.sum(), rtol=close)
        assert bool((mean[:, 0] == np.round(mean[:, 0])).all()) == whole
        assert (model.topic_word_counts_.sum(axis=0) == counts.sum(axis=0)).all()


@pytest.mark.integration
def test_one_state_in_expected_counts_predicts_better(shared_data):
    counts = sp.csr_matrix(sp.load_npz(shared_data / "kos" / "counts.npz"))
    held_out = np.arange(counts.shape[0]) % 10 == 0
    gains = []
    for seed in range(2):
        model = GibbsLDA(30, init="fast", n_sweeps=1, random_state=seed).fit(counts[~held_out])
        drawn = model.topic_word_counts_ + model.topic_word_prior
        drawn /= drawn.sum(axis=1, keepdims=True)
        perplexity = [completion_perplexity(t, counts[held_out]) for t in (drawn, model.topic_word_)]
        gains.append(perplexity[0] / perplexity[1] - 1)
    assert min(gains) > 0.003
