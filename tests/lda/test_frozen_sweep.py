"""The frozen sweep: exact draws, the same for any number of threads, with and without a compiler."""

from fractions import Fraction

import numpy as np
import pytest
from numba import njit
from scipy import stats
from tests.marks import quick
from tests.naive import draws as twin
from tests.naive import gibbs as naive

from discreet.lda.emitted import aligned
from discreet.lda.gibbs import draw as draws
from discreet.lda.gibbs import frozen
from discreet.lda.gibbs.draw import mix, stream_at, sweep_key
from discreet.lda.gibbs.frozen import Draws, draw_documents
from discreet.lda.gibbs.state import (
    Tokens,
    count_topics,
    own_share,
    padded,
    random_topics,
    word_order,
)

ALPHA = 0.3


def make_tokens(documents, n_words):
    ends = np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64)
    return Tokens(ends, np.array([w for d in documents for w in d], np.int32), n_words)


def some_documents(rng, n_documents, n_words, longest=40):
    return [rng.integers(0, n_words, rng.integers(0, longest)).tolist() for _ in range(n_documents)]


def some_table(rng, n_words, n_topics):
    table = aligned((n_words, padded(n_topics)), np.float32)
    table[:, :n_topics] = rng.gamma(0.3, size=(n_words, n_topics)) + 1e-4
    return table


def run(documents, table, n_topics, topics, key=7, kernel=draw_documents, blocks=None, own=None):
    width = table.shape[1]
    prior = aligned((width,), np.float32)
    prior[:n_topics] = ALPHA
    own = np.empty((0, width), np.float32) if own is None else own
    tokens, topics = make_tokens(documents, len(table)), np.array(topics, np.uint16)
    given = Draws(tokens, topics, table, prior, own, n_topics, np.uint64(key))
    blocks = (0,) * (width // 16) if blocks is None else blocks
    kernel(given, 0, len(documents), aligned((4, width), np.float32), blocks)
    return topics


@njit
def _draw_each(table, prior, words, bits, place, blocks, topics):
    for i in range(len(words)):
        topics[i] = draws.draw(
            place[0], prior, table, words[i], bits[i], place[1], table.shape[1] // 16, blocks
        )


def draw_each(table, n_topics, words, bits, alpha=ALPHA, plain=False):
    """Draw a topic for each word as if it stood alone in its document, by random words that are given."""
    width = table.shape[1]
    prior, topics = aligned((width,), np.float32), np.zeros(len(words), np.int64)
    prior[:n_topics] = alpha
    if plain:
        nothing = np.zeros(width, np.float32)
        drawn = [
            twin.draw_topic(nothing, prior, table[w], bit)
            for w, bit in zip(words, bits.tolist(), strict=True)
        ]
        return np.array(drawn)
    place = aligned((2, width), np.float32)
    found = []
    for blocks in ((0,) * (width // 16), ()):
        _draw_each(table, prior, np.asarray(words), bits, place, blocks, topics)
        found.append(topics.copy())
    np.testing.assert_array_equal(*found)
    return topics


def some_own(table, n_topics):
    """Cells lose from nothing to all of their weight where a token is left out, and the column rises by 1 %."""
    own = np.zeros((2, table.shape[1]), table.dtype)
    own[0, :n_topics] = table[:, :n_topics].min(axis=0)
    own[1, :n_topics] = 1.01
    return own


@pytest.mark.parametrize("n_topics", quick([1, 2, 7, 16, 17, 50], 1, 2, 7, 16, 17))
@pytest.mark.parametrize("excluding", [False, True])
def test_vectors_loops_and_plain_python_draw_the_same_topics(n_topics, excluding):
    rng = np.random.default_rng(n_topics)
    documents = some_documents(rng, 12, 9)
    table = some_table(rng, 9, n_topics)
    start = rng.integers(0, n_topics, sum(map(len, documents)))
    own = some_own(table, n_topics) if excluding else None
    topics = run(documents, table, n_topics, start, own=own)
    for kernel in (draw_documents, twin.from_table):
        others = run(documents, table, n_topics, start, kernel=kernel, blocks=(), own=own)
        np.testing.assert_array_equal(topics, others)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_counts_word_by_word_are_those_token_by_token(n_threads):
    rng = np.random.default_rng(n_threads)
    tokens = make_tokens(some_documents(rng, 40, 9), 11)  # two words that nobody wrote
    topics = random_topics(len(tokens.words), 20, 3)
    expected = np.zeros((11, 32), np.int32)
    np.add.at(expected, (tokens.words, topics), 1)
    order = word_order(tokens)
    assert (np.diff(tokens.words[order.places]) >= 0).all()
    assert (np.sort(order.places) == np.arange(len(topics))).all()
    np.testing.assert_array_equal(count_topics(tokens, topics, 20, n_threads), expected)


def boundary_errors(n_topics, bits_of_u, shift_lane=0, n_draws=600, seed=0):
    """How far past a boundary of the exact distribution function a draw can be: largest share of the total."""
    rng = np.random.default_rng(seed)
    width = padded(n_topics)
    table = some_table(rng, 1, n_topics)
    prior = np.full(n_topics, np.float32(ALPHA))
    worst = 0.0
    order = naive.topic_order(n_topics, width, 16)
    order = order[shift_lane:] + order[:shift_lane]
    counts = np.zeros(width)  # one token a document: nothing else counts
    weights = naive.exact_weights(counts, prior, table[0], n_topics)
    words = rng.integers(0, 2**64, n_draws, np.uint64)
    # half of the words are put right beside a boundary
    passed, total = np.cumsum([float(weights[k]) for k in order]), float(sum(weights))
    near = (passed / total)[rng.integers(0, n_topics, n_draws // 2)]
    near = np.clip(near + rng.normal(0, 2.0**-16, len(near)), 0, 1 - 2.0**-53)
    words[: len(near)] = (near * 2.0**53).astype(np.uint64) << np.uint64(11)
    topics = draw_each(table, n_topics, [0] * n_draws, words)
    for word, topic in zip(words.tolist(), topics.tolist(), strict=True):
        exact, nearest = naive.invert(weights, order, Fraction(word >> (64 - bits_of_u), 2**bits_of_u))
        if exact != topic:
            worst = max(worst, float(nearest))
    return worst


@pytest.mark.parametrize("n_topics", quick([3, 20, 70], 20))
def test_draws_invert_the_exact_distribution_up_to_rounding(n_topics):
    bound = (padded(n_topics) // 16 + 6) * 2.0**-23
    assert boundary_errors(n_topics, 24) <= bound
    # the check sees a wrong order of lanes, and a uniform number of fewer bits than it should have
    assert boundary_errors(n_topics, 24, shift_lane=1) > bound
    assert boundary_errors(n_topics, 15) > bound


@pytest.mark.parametrize("plain", [False, True])
def test_uniform_numbers_have_all_their_bits(plain):
    """Two topics whose border is an odd multiple of the last bit: all sums are exact, so that bit decides."""
    borders = np.random.default_rng(1).integers(0, 2**22, 200) * 2 + 1
    table = aligned((len(borders), 16), np.float32)
    table[:, 0] = borders * 2.0**-24
    table[:, 1] = 1 - table[:, 0]
    for below, topic in ((1, 0), (0, 1)):
        bits = (borders - below).astype(np.uint64) << np.uint64(40)
        bits |= np.uint64(2**40 - 1)  # what is below the last bit is not looked at
        assert (draw_each(table, 2, range(len(borders)), bits, alpha=1.0, plain=plain) == topic).all()


@pytest.mark.parametrize("n_topics", [2, 10, 16, 21, 50])
def test_extreme_uniforms_never_draw_a_topic_of_weight_zero(n_topics):
    """Zero weights stand in for padding; with 23 bits and a clamp, the last topic would catch such draws."""
    rng = np.random.default_rng(n_topics)
    n = 4000
    table = some_table(rng, n, n_topics)
    table[:, :n_topics] *= rng.random((n, n_topics)) < 0.5
    table[np.arange(n), rng.integers(0, n_topics, n)] = 1e-6
    extreme = np.array([0, 1, 2**40 - 1, 2**40, 2**63, 2**64 - 1, 2**64 - 2**11, 2**64 - 2**40], np.uint64)
    bits = rng.choice(extreme, n)
    topics = draw_each(table, n_topics, range(n), bits)
    assert (table[np.arange(n), topics] > 0).all()


def draws_of_weight_zero(plain):
    """All draws within a few units of the last place of a lane's end, where rounding could step over it."""
    rng = np.random.default_rng(3)
    n_topics, n = 40, 3000
    table = some_table(rng, n, n_topics)
    table[:, 32:40] = 0  # third block of lanes 0 to 7: weight 0, like padding
    share = table.reshape(n, 3, 16).sum(axis=1, dtype=np.float64).cumsum(axis=1)
    share /= share[:, -1:]
    ends = share[np.arange(n), rng.integers(0, 8, n)]
    bits = ((ends * 2.0**24).astype(np.int64) + rng.integers(-2, 3, n)).clip(0, 2**24 - 1).astype(np.uint64)
    bits <<= np.uint64(40)
    topics = draw_each(table, n_topics, range(n), bits, plain=plain)
    return int((table[np.arange(n), topics] == 0).sum())


def test_uniform_numbers_right_below_a_lane_end_stay_in_the_lane(monkeypatch):
    assert draws_of_weight_zero(plain=False) == 0
    assert draws_of_weight_zero(plain=True) == 0
    # without the ceiling on the remainder, the same draws do step over
    monkeypatch.setattr(twin.np, "nextafter", lambda x, y: np.float32(np.inf))
    assert draws_of_weight_zero(plain=True) > 0


def test_rows_that_are_not_positive_do_not_lead_out_of_bounds():
    table = aligned((3, 16), np.float32)
    table[1] = np.nan
    table[2] = np.inf
    topics = run([[0, 1, 2]] * 5, table, 5, np.zeros(15))
    assert (topics < 5).all()


DOCUMENTS, N_WORDS = [[0, 1, 1], [2, 0]], 3


def joint_frequencies(n_topics, table, start, n_chains, own=None):
    """Many independent copies of two documents, each with its own stream: joint counts of outcomes."""
    documents = DOCUMENTS * n_chains
    padded_table = aligned((N_WORDS, padded(n_topics)), np.float32)
    padded_table[:, :n_topics] = table
    topics = run(documents, padded_table, n_topics, np.tile(start, n_chains), key=12345, own=own)
    outcomes = topics.reshape(n_chains, -1) @ n_topics ** np.arange(5)[::-1]
    return np.bincount(outcomes, minlength=n_topics**5)


def test_joint_law_of_a_sweep_is_the_enumerated_one():
    n_topics, start = 2, [0, 1, 1, 0, 1]
    table = np.array([[1.0, 0.5], [0.2, 2.0], [0.7, 0.7]])
    seen = joint_frequencies(n_topics, table, start, 40_000)

    def p_value(law):
        expected = np.array([law[tuple(z)] for z in np.ndindex(*[n_topics] * 5)]) * seen.sum()
        return stats.chisquare(seen, expected).pvalue

    right = naive.frozen_joint(DOCUMENTS, table, ALPHA, start)
    assert p_value(right) > 1e-3
    stale = naive.frozen_joint(DOCUMENTS, table, ALPHA, start, stale_own_token=True)
    assert p_value(stale) < 1e-12
    wrong_prior = naive.frozen_joint(DOCUMENTS, table, ALPHA * 1.1, start)
    assert p_value(wrong_prior) < 1e-6
    wrong_word = naive.frozen_joint([[0, 1, 1], [0, 2]], table, ALPHA, start)
    assert p_value(wrong_word) < 1e-12


def test_joint_law_without_the_token_itself_is_the_enumerated_one():
    n_topics, start, beta = 2, [0, 1, 1, 0, 1], 0.4
    counts = aligned((N_WORDS, 16), np.int32)
    counts[:, :n_topics] = [[2, 1], [1, 3], [1, 2]]  # more than the documents': as if there were others
    table = aligned((N_WORDS, 16), np.float32)
    totals = frozen.build_table(counts, n_topics, beta, table)
    own = own_share(totals, beta, len(table))
    seen = joint_frequencies(n_topics, table[:, :n_topics], start, 40_000, own)

    def p_value(law):
        expected = np.array([law[tuple(z)] for z in np.ndindex(*[n_topics] * 5)]) * seen.sum()
        return stats.chisquare(seen, expected).pvalue

    counts = counts[:, :n_topics]
    assert p_value(naive.frozen_joint_excluding(DOCUMENTS, counts, ALPHA, beta, start)) > 1e-3
    assert p_value(naive.frozen_joint(DOCUMENTS, table[:, :n_topics], ALPHA, start)) < 1e-12
    # The token is out of its cell but still in its column's total.
    assert p_value(naive.frozen_joint_excluding(DOCUMENTS, counts, ALPHA, beta, start, in_total=True)) < 1e-6


def test_a_token_that_is_always_refused_stays():
    table = aligned((1, 16), np.float32)
    table[0, 0] = 1
    own = np.zeros((2, 16), np.float32)
    own[:, 0] = 1
    topics = run([[0, 0]], table, 1, [0, 0], own=own)
    assert topics.tolist() == [0, 0]


def test_streams_are_splitmix_and_belong_to_documents():
    assert int(mix(12345)) == naive.splitmix(12345)
    golden = 0x9E3779B97F4A7C15
    assert int(stream_at(np.uint64(99), 4)) == naive.splitmix((99 + 5 * golden) & naive.MASK)
    assert int(sweep_key(3, 8)) == naive.splitmix((naive.splitmix(3) + 9 * golden) & naive.MASK)
    rng = np.random.default_rng(5)
    documents, table = some_documents(rng, 30, 6), some_table(rng, 6, 5)
    start = np.zeros(sum(map(len, documents)))
    topics = run(documents, table, 5, start)
    # a document's draws depend on its number and its own words, on nobody else's
    changed = [list(reversed(d)) for d in documents[:20]] + documents[20:]
    others = run(changed, table, 5, start)
    first = sum(map(len, documents[:20]))
    np.testing.assert_array_equal(topics[first:], others[first:])
    assert (run(documents, table, 5, start, key=8) != topics).any()


@pytest.mark.parametrize("n_topics", quick([5, 40], 5))
def test_any_number_of_threads_gives_the_same_chain(n_topics):
    rng = np.random.default_rng(11)
    tokens = make_tokens(some_documents(rng, 150, 30), 30)
    alpha = rng.random(n_topics) + 0.1
    chains = []
    for n_threads in (1, 2, 3, 4, 7):
        state = frozen.init(tokens, n_topics, 5, n_threads=n_threads)
        memory = frozen.empty_table(30, n_topics)
        for _ in range(4):
            state = frozen.step(state, tokens, alpha, 0.05, memory=memory, n_threads=n_threads)
        chains.append((state.topics.tobytes(), state.word_topic.tobytes()))
        np.testing.assert_array_equal(state.word_topic, count_topics(tokens, state.topics, n_topics))
    assert len(set(chains)) == 1


def test_a_given_table_is_what_is_used():
    """The way of a prior that differs from word to word: a table from elsewhere, any number of threads."""
    rng = np.random.default_rng(13)
    n_topics = 6
    documents = some_documents(rng, 70, 20)
    tokens = make_tokens(documents, 20)
    table = some_table(rng, 20, n_topics)
    start = random_topics(len(tokens.words), n_topics, 1)
    expected = run(documents, table, n_topics, start)
    for n_threads in (1, 3):
        topics = start.copy()
        alpha = np.full(n_topics, ALPHA)
        frozen.sweep(tokens, topics, table, alpha, np.uint64(7), n_threads=n_threads)
        np.testing.assert_array_equal(topics, expected)


def test_steps_leave_the_old_state_alone_and_can_be_repeated():
    rng = np.random.default_rng(2)
    tokens = make_tokens(some_documents(rng, 20, 8), 8)
    state = frozen.init(tokens, 3, 1)
    kept = state.topics.copy(), state.word_topic.copy()
    once = frozen.step(state, tokens, np.full(3, 0.1), 0.01)
    again = frozen.step(state, tokens, np.full(3, 0.1), 0.01)
    np.testing.assert_array_equal(kept[0], state.topics)
    np.testing.assert_array_equal(kept[1], state.word_topic)
    np.testing.assert_array_equal(once.topics, again.topics)
    assert (once.topics != state.topics).any()
    assert (once.sweep, once.seed) == (1, 1)


def test_table_is_phi():
    rng = np.random.default_rng(8)
    counts = aligned((11, 16), np.int32)
    counts[:, :6] = rng.integers(0, 50, (11, 6))
    for n_threads in (1, 3):
        table = aligned((11, 16), np.float32)
        frozen.build_table(counts, 6, 0.07, table, n_threads)
        phi = (counts[:, :6] + 0.07) / (counts[:, :6].sum(axis=0) + 11 * 0.07)
        np.testing.assert_allclose(table[:, :6], 11 * phi, rtol=4 * np.finfo(np.float32).eps)
        assert not table[:, 6:].any()


def test_topics_start_uniform_and_reproducible():
    topics = random_topics(60_000, 12, 4)
    assert stats.chisquare(np.bincount(topics, minlength=12)).pvalue > 1e-4
    np.testing.assert_array_equal(topics[:100], random_topics(100, 12, 4))
    assert (topics != random_topics(60_000, 12, 5)).mean() > 0.8
