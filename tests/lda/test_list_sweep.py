"""Exact draws from word lists: the law of the frozen step, with and without a compiler, for any number of threads."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests.lda.test_frozen_sweep import DOCUMENTS, make_tokens, some_documents
from tests.marks import quick
from tests.naive import draws as twin
from tests.naive import gibbs as naive

from discreet._base.threads import balanced_cuts
from discreet.lda import GibbsLDA
from discreet.lda.emitted import aligned
from discreet.lda.gibbs import estimator, frozen
from discreet.lda.gibbs import lists as word_lists
from discreet.lda.gibbs.draw import sweep_key
from discreet.lda.gibbs.lists import Draws, draw_documents
from discreet.lda.gibbs.state import Tokens, count_topics, padded, random_topics, word_order

ALPHA, BETA = 0.3, 0.4


def run(tokens, topics, counts, kernel=draw_documents, alpha=ALPHA, beta=BETA, key=7, laws=None):
    """Draw all tokens once, given (n_words, n_topics) counts."""
    n_words, n_topics = counts.shape
    words, listed = (np.repeat(where, counts.ravel()) for where in np.indices(counts.shape).reshape(2, -1))
    counted = Tokens(np.array([0, len(words)]), words.astype(np.int32), n_words)
    lists = word_lists.empty_lists(counted, n_topics)
    totals = word_lists.fill(lists, listed.astype(np.uint16), n_topics)
    if laws is None:
        laws = word_lists.laws(totals, np.full(n_topics, alpha), beta, n_words)
    topics = np.array(topics, np.uint16)
    draws = Draws(tokens, topics, lists, np.float32(beta), laws, n_topics, np.uint64(key))
    kernel(draws, 0, tokens.n_documents, aligned((7, padded(n_topics)), np.float32))
    return topics


def some_counts(rng, tokens, topics, n_topics):
    """Counts of the tokens and of some others, most cells empty."""
    counts = rng.poisson(0.2, (tokens.n_words, n_topics)).astype(np.int32)
    np.add.at(counts, (tokens.words, topics), 1)
    return counts


@pytest.mark.parametrize("n_topics", [1, 2, 16, 17, 60, 300])
@pytest.mark.parametrize("beta", [0.01, 3.0])
def test_the_kernel_and_plain_python_draw_the_same_topics(n_topics, beta):
    rng = np.random.default_rng(n_topics)
    tokens = make_tokens(some_documents(rng, 14, 9), 9)
    start = random_topics(len(tokens.words), n_topics, 1)
    counts = some_counts(rng, tokens, start, n_topics)
    topics = run(tokens, start, counts, beta=beta)
    others = run(tokens, start, counts, twin.from_lists, beta=beta)
    np.testing.assert_array_equal(topics, others)
    assert (topics < n_topics).all()
    if n_topics > 1:
        assert (run(tokens, start, counts, beta=beta, key=8) != topics).any()


START = [0, 1, 1, 0, 1]
#: Of DOCUMENTS' words; topics outside a word's list are drawn often, for BETA is large.
COUNTS = np.array([[2, 1, 0], [0, 3, 1], [1, 0, 2]], np.int32)


def joint_p_value(law, kernel, n_chains, laws=None):
    tokens = make_tokens(DOCUMENTS * n_chains, 3)
    topics = run(tokens, np.tile(START, n_chains), COUNTS, kernel, key=12345, laws=laws)
    seen = np.bincount(topics.reshape(n_chains, -1) @ 3 ** np.arange(5)[::-1], minlength=3**5)
    expected = np.array([law[tuple(z)] for z in np.ndindex(*[3] * 5)]) * n_chains
    rare = expected < 5
    seen, expected = (np.append(x[~rare], x[rare].sum()) for x in (seen, expected))
    return stats.chisquare(seen, expected).pvalue


@pytest.mark.parametrize(
    ("kernel", "n_chains"),
    quick([(draw_documents, 200_000), (twin.from_lists, 10_000)], (draw_documents, 200_000)),
)
def test_joint_law_of_a_sweep_is_the_enumerated_one(kernel, n_chains):
    right = naive.frozen_joint_excluding(DOCUMENTS, COUNTS, ALPHA, BETA, START)
    assert joint_p_value(right, kernel, n_chains) > 1e-3
    in_total = naive.frozen_joint_excluding(DOCUMENTS, COUNTS, ALPHA, BETA, START, in_total=True)
    phi = (COUNTS + BETA) / (COUNTS.sum(0) + 3 * BETA)
    for wrong in (
        naive.frozen_joint_excluding(DOCUMENTS, COUNTS, ALPHA * 1.2, BETA, START),
        naive.frozen_joint_excluding(DOCUMENTS, COUNTS, ALPHA, BETA * 1.2, START),
        naive.frozen_joint(DOCUMENTS, phi, ALPHA, START),  # the token's own count left in
        *([in_total] if kernel is draw_documents else []),  # in its topic's total only: the smallest of these
    ):
        assert joint_p_value(wrong, kernel, n_chains) < 1e-6


@pytest.mark.parametrize("row", [0, 1, 2])
def test_each_of_the_laws_matters(row):
    right = naive.frozen_joint_excluding(DOCUMENTS, COUNTS, ALPHA, BETA, START)
    laws = word_lists.laws(COUNTS.sum(0), np.full(3, ALPHA), BETA, 3)
    assert joint_p_value(right, draw_documents, 200_000, laws) > 1e-3
    laws[row, 1] *= 1.1
    assert joint_p_value(right, draw_documents, 200_000, laws) < 1e-6


def test_lists_hold_what_the_table_holds():
    rng = np.random.default_rng(2)
    tokens = make_tokens(some_documents(rng, 60, 11), 12)  # a word that nobody wrote
    topics = random_topics(len(tokens.words), 40, 5)
    counts = count_topics(tokens, topics, 40)[:, :40]
    lists = word_lists.empty_lists(tokens, 40)
    filled = []
    for n_threads in (1, 3):
        totals = word_lists.fill(lists, topics, 40, n_threads)
        np.testing.assert_array_equal(totals, counts.sum(0))
        table = np.zeros(counts.shape, np.float32)
        for w in range(12):
            entries = slice(16 * lists.starts[w], 16 * (lists.starts[w] + lists.sizes[w]))
            listed = lists.topics[entries][lists.weights[entries] > 0]
            assert len(set(listed.tolist())) == len(listed) == np.count_nonzero(counts[w])
            np.add.at(table[w], lists.topics[entries], lists.weights[entries])
        np.testing.assert_array_equal(table, counts)
        filled.append((lists.topics.tobytes(), lists.weights.tobytes(), lists.sizes.tobytes()))
    assert filled[0] == filled[1]


def chain(tokens, n_topics, n_sweeps, n_threads=1, seed=3):
    lists = word_lists.empty_lists(tokens, n_topics)
    state = word_lists.init(tokens, n_topics, seed)
    for _ in range(n_sweeps):
        state = word_lists.step(state, tokens, np.full(n_topics, 0.1), 0.01, lists=lists, n_threads=n_threads)
    return state, count_topics(tokens, state.topics, n_topics, n_threads, order=lists.order)


def test_any_number_of_threads_gives_the_same_chain():
    tokens = make_tokens(some_documents(np.random.default_rng(11), 150, 30), 30)
    chains = []
    for n_threads in (1, 2, 5):
        state, table = chain(tokens, 40, 6, n_threads)
        np.testing.assert_array_equal(table, count_topics(tokens, state.topics, 40))
        assert state.sweep == 6
        chains.append(state.topics.tobytes())
    assert len(set(chains)) == 1


@pytest.mark.parametrize(("n_documents", "parts"), [(30, 4), (60, 3), (100, 2), (160, 1)])
def test_counts_are_renewed_between_the_parts_of_a_sweep(n_documents, parts):
    tokens = make_tokens(some_documents(np.random.default_rng(9), n_documents, 12), 12)
    topics, alpha = random_topics(len(tokens.words), 40, 2), np.full(40, 0.1)
    assert word_lists.n_parts(n_documents, 40) == parts
    lists = word_lists.empty_lists(tokens, 40)
    after = word_lists.step(
        word_lists.State(topics, word_lists._NO_COUNTS, 3, 20), tokens, alpha, 0.01, lists=lists
    )

    def by_hand(cuts):
        expected, key = topics.copy(), sweep_key(3, 20)
        for first, last in pairwise(cuts):
            totals = word_lists.fill(lists, expected, 40)
            laws = word_lists.laws(totals, alpha, 0.01, 12)
            twin.from_lists(Draws(tokens, expected, lists, np.float32(0.01), laws, 40, key), first, last)
        return expected

    np.testing.assert_array_equal(after.topics, by_hand(balanced_cuts(tokens.indptr, parts).tolist()))
    assert (by_hand([0, n_documents // 5, n_documents]) != after.topics).any()


def test_each_sweep_and_each_seed_draws_anew():
    tokens = make_tokens(some_documents(np.random.default_rng(8), 60, 20), 20)
    topics = random_topics(len(tokens.words), 30, 1)
    lists = word_lists.empty_lists(tokens, 30)
    after = set()
    for seed, sweep in ((3, 20), (3, 21), (4, 20), (3, 20)):
        state = word_lists.State(topics, word_lists._NO_COUNTS, seed, sweep)
        state = word_lists.step(state, tokens, np.full(30, 0.1), 0.01, lists=lists)
        after.add(state.topics.tobytes())
    assert len(after) == 3


def test_the_estimator_takes_lists_above_the_table(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.poisson(0.6, (80, 40))
    most = estimator.MOST_TABLE_TOPICS
    used = []
    for name, module in (("list", word_lists), ("table", frozen)):
        step = module.step
        monkeypatch.setattr(
            module, "step", lambda *a, step=step, name=name, **k: (used.append(name), step(*a, **k))[1]
        )
    models = {}
    for n_topics in (most, most + 1):
        used.clear()
        models[n_topics] = GibbsLDA(n_topics, n_sweeps=45, random_state=1).fit(X)
        assert set(used) == {"table" if n_topics == most else "list"}
    model = models[most + 1]
    assert model.topic_word_counts_.sum() == X.sum()
    other = GibbsLDA(most + 1, n_sweeps=45, random_state=1, n_jobs=2).fit(X)
    np.testing.assert_array_equal(model.topic_word_counts_, other.topic_word_counts_)
    np.testing.assert_allclose(model.topic_word_.sum(1), 1)


def test_many_planted_topics_come_back():
    """250 topics of 4 words each, some of them shared: nearly all words are where they belong."""
    rng = np.random.default_rng(7)
    n_topics, n_words = 250, 1000
    X = np.zeros((6000, n_words), np.int64)
    for d in range(len(X)):
        for topic in rng.choice(n_topics, 2, replace=False):
            np.add.at(X[d], rng.integers(4 * topic, 4 * topic + 4, 15), 1)
    model = GibbsLDA(n_topics, n_sweeps=80, random_state=1).fit(X)
    best = model.topic_word_.argmax(axis=0).reshape(n_topics, 4)
    same = np.mean([len(set(words)) == 1 for words in best.tolist()])
    assert same > 0.8
    assert np.sort(model.topic_word_, axis=1)[:, -4:].sum(1).mean() > 0.8


def test_word_order_is_shared():
    tokens = make_tokens(some_documents(np.random.default_rng(1), 20, 8), 8)
    lists = word_lists.empty_lists(tokens, 20)
    np.testing.assert_array_equal(lists.order.places, word_order(tokens).places)
    assert lists.weights.ctypes.data % 64 == lists.topics.ctypes.data % 64 == 0
