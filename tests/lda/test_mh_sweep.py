"""The Metropolis-Hastings sweep: token by token as its twin, for any number of threads."""

import numpy as np
import pytest
from tests.naive import gibbs as naive

from discreet.errors import ParameterError
from discreet.lda.gibbs.counter_stream import sweep_key
from discreet.lda.gibbs.mh import sweep as mh_sweep
from discreet.lda.gibbs.state import Tokens, count_topics

GOLDEN = 0x9E3779B97F4A7C15


def make_tokens(documents, n_words):
    ends = np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64)
    return Tokens(ends, np.array([w for d in documents for w in d], np.int32), n_words)


def some_tokens(seed, n_documents=60, n_words=25, longest=60):
    rng = np.random.default_rng(seed)
    documents = [
        np.sort(rng.integers(0, n_words, rng.integers(0, longest))).tolist() for _ in range(n_documents)
    ]
    return documents, make_tokens(documents, n_words)


def uniform_of(seed, sweep):
    def uniform(phase, token):
        key = int(sweep_key(seed, 4 * sweep + phase))
        word = naive.splitmix((key + (token + 1) * GOLDEN) & naive.MASK)
        n_bits = 24 if phase in (0, 2) else 32
        return (word >> (64 - n_bits)) * 2.0**-n_bits

    return uniform


@pytest.mark.parametrize("n_topics", [2, 9, 700])
@pytest.mark.parametrize("symmetric", [True, False])
def test_moves_as_the_twin_does(n_topics, symmetric):
    """Longest documents have 60 tokens: 700 topics take the sparse way, 2 and 9 the dense one."""
    documents, tokens = some_tokens(n_topics, n_documents=12)
    rng = np.random.default_rng(n_topics)
    # halves and quarters, so that single precision is exact where it can be
    alpha = np.full(n_topics, 0.25) if symmetric else rng.integers(1, 9, n_topics) / 8
    order = mh_sweep.by_word(tokens)
    state = mh_sweep.init(tokens, order, n_topics, 3)
    proposals = None
    for sweep in range(4):
        topics = (state.packed & 0xFFFF)[order.position].tolist()
        expected, proposals = naive.mh_sweep(
            documents, 25, topics, proposals, alpha, 0.5, uniform_of(3, sweep)
        )
        state, info = mh_sweep.step(state, tokens, order, alpha, 0.5)
        assert (state.packed & 0xFFFF)[order.position].tolist() == expected
        assert (state.packed >> 16)[order.position].tolist() == proposals
        assert info.n_moved == np.count_nonzero(np.array(topics) != expected)
        np.testing.assert_array_equal(state.totals, np.bincount(expected, minlength=n_topics))
        counts = count_topics(tokens, np.array(expected, np.uint16), n_topics)
        np.testing.assert_array_equal(mh_sweep.word_topic(state, order, n_topics), counts)


@pytest.mark.parametrize("n_topics", [4, 500])
def test_any_number_of_threads_gives_the_same_chain(n_topics):
    _, tokens = some_tokens(5, n_documents=200)
    order = mh_sweep.by_word(tokens)
    chains = set()
    for n_threads in (1, 2, 4, 7):
        state = mh_sweep.init(tokens, order, n_topics, 9)
        for _ in range(5):
            state, _ = mh_sweep.step(state, tokens, order, np.full(n_topics, 0.1), 0.01, n_threads=n_threads)
        chains.add((state.packed.tobytes(), state.totals.tobytes()))
    assert len(chains) == 1


def test_steps_leave_the_old_state_alone():
    _, tokens = some_tokens(6)
    order = mh_sweep.by_word(tokens)
    state = mh_sweep.init(tokens, order, 7, 9)
    kept = state.packed.copy()
    mh_sweep.step(state, tokens, order, np.full(7, 0.1), 0.01)
    np.testing.assert_array_equal(kept, state.packed)
    with pytest.raises(ParameterError, match="n_topics must be from 1 to 65536, but is 65537"):
        mh_sweep.init(tokens, order, 65_537, 9)


def test_by_word_is_a_sorted_permutation():
    _, tokens = some_tokens(7)
    order = mh_sweep.by_word(tokens)
    words = np.empty_like(tokens.words)
    words[order.position] = tokens.words
    assert (np.diff(words) >= 0).all()
    np.testing.assert_array_equal(np.diff(order.indptr), np.bincount(tokens.words, minlength=25))
