"""The frozen sweep: exact draws, the same for any number of threads, with and without a compiler."""

import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.naive import gibbs as naive

from discreet.errors import ParameterError
from discreet.lda.gibbs.counter_stream import mix, stream_at, sweep_key
from discreet.lda.gibbs.frozen import plain as frozen_plain
from discreet.lda.gibbs.frozen import sweep as frozen_sweep
from discreet.lda.gibbs.frozen.kernel import draw_documents
from discreet.lda.gibbs.state import (
    Tokens,
    aligned_zeros,
    begin,
    count_topics,
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


def some_table(rng, n_words, n_topics, kind):
    table = aligned_zeros((n_words, padded(n_topics)), kind)
    table[:, :n_topics] = rng.gamma(0.3, size=(n_words, n_topics)) + 1e-4
    return table


def run(
    documents,
    table,
    n_topics,
    topics,
    key=7,
    bits=(),
    kernel=draw_documents,
    blocks=None,
    own=None,
    alpha=ALPHA,
):
    tokens = make_tokens(documents, len(table))
    topics = np.array(topics, np.uint16)
    width = table.shape[1]
    prior = aligned_zeros((width,), table.dtype.type)
    prior[:n_topics] = alpha
    scratch = aligned_zeros((4, width), table.dtype.type)
    if blocks is None:
        blocks = (0,) * (width * table.dtype.itemsize // 64)
    kernel(
        tokens.indptr,
        tokens.words,
        topics,
        table,
        prior,
        n_topics,
        np.uint64(key),
        np.array(bits, np.uint64),
        0,
        len(documents),
        scratch,
        np.empty((0, width), table.dtype) if own is None else own,
        blocks,
        0,
    )
    return topics


def some_own(table, n_topics):
    """Cells lose from nothing to all of their weight where a token is left out, and the column rises by 1 %."""
    own = np.zeros((2, table.shape[1]), table.dtype)
    own[0, :n_topics] = table[:, :n_topics].min(axis=0)
    own[1, :n_topics] = 1.01
    return own


KINDS = [np.float32, np.float64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_topics", [1, 2, 7, 16, 17, 50])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("excluding", [False, True])
def test_vectors_loops_and_plain_python_draw_the_same_topics(kind, n_topics, given, excluding):
    rng = np.random.default_rng(n_topics)
    documents = some_documents(rng, 12, 9)
    table = some_table(rng, 9, n_topics, kind)
    start = rng.integers(0, n_topics, sum(map(len, documents)))
    bits = rng.integers(0, 2**64, len(start), np.uint64) if given else ()
    own = some_own(table, n_topics) if excluding else None
    topics = run(documents, table, n_topics, start, bits=bits, own=own)
    for kernel, blocks in ((draw_documents, ()), (frozen_plain.draw_documents, ())):
        others = run(documents, table, n_topics, start, bits=bits, kernel=kernel, blocks=blocks, own=own)
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
    earlier = rng.integers(0, 9, expected.shape, np.int32)
    both = count_topics(tokens, topics, 20, n_threads, order=order, earlier=earlier)
    np.testing.assert_array_equal(both, expected + earlier)


def test_a_step_keeps_the_counts_of_earlier_documents():
    rng = np.random.default_rng(1)
    tokens = make_tokens(some_documents(rng, 20, 8), 8)
    earlier = aligned_zeros((8, 16), np.int32)
    earlier[:, :3] = rng.integers(0, 50, (8, 3))
    state = begin(tokens, 3, 1, earlier)
    after, _ = frozen_sweep.step(state, tokens, np.full(3, 0.1), 0.01, earlier=earlier)
    np.testing.assert_array_equal(after.word_topic, count_topics(tokens, after.topics, 3) + earlier)


def boundary_errors(kind, n_topics, n_bits, bits_of_u, shift_lane=0, n_draws=600, seed=0):
    """How far past a boundary of the exact distribution function a draw can be: largest share of the total."""
    rng = np.random.default_rng(seed)
    width, lanes = padded(n_topics), 64 // np.dtype(kind).itemsize
    table = some_table(rng, 1, n_topics, kind)
    prior = np.full(n_topics, kind(ALPHA))
    worst = 0.0
    order = naive.topic_order(n_topics, width, lanes)
    order = order[shift_lane:] + order[:shift_lane]
    counts = np.zeros(width)  # one token a document: nothing else counts
    weights = naive.exact_weights(counts, prior, table[0], n_topics)
    words = rng.integers(0, 2**64, n_draws, np.uint64)
    # half of the words are put right beside a boundary
    passed, total = np.cumsum([float(weights[k]) for k in order]), float(sum(weights))
    near = (passed / total)[rng.integers(0, n_topics, n_draws // 2)]
    near = np.clip(near + rng.normal(0, 2.0 ** (8 - n_bits), len(near)), 0, 1 - 2.0**-53)
    words[: len(near)] = (near * 2.0**53).astype(np.uint64) << np.uint64(11)
    topics = run([[0]] * n_draws, table, n_topics, np.zeros(n_draws), bits=words)
    for word, topic in zip(words.tolist(), topics.tolist(), strict=True):
        exact, nearest = naive.invert(weights, order, Fraction(word >> (64 - bits_of_u), 2**bits_of_u))
        if exact != topic:
            worst = max(worst, float(nearest))
    return worst


@pytest.mark.parametrize(("kind", "n_bits"), [(np.float32, 24), (np.float64, 53)])
@pytest.mark.parametrize("n_topics", [3, 20, 70])
def test_draws_invert_the_exact_distribution_up_to_rounding(kind, n_bits, n_topics):
    n_blocks = padded(n_topics) * np.dtype(kind).itemsize // 64
    bound = (n_blocks + 6) * 2.0 ** (1 - n_bits)
    assert boundary_errors(kind, n_topics, n_bits, n_bits) <= bound
    # the check sees a wrong order of lanes, and a uniform number of fewer bits than it should have
    assert boundary_errors(kind, n_topics, n_bits, n_bits, shift_lane=1) > bound
    assert boundary_errors(kind, n_topics, n_bits, n_bits - 9) > bound


@pytest.mark.parametrize(("kind", "n_bits"), [(np.float32, 24), (np.float64, 53)])
@pytest.mark.parametrize("kernel", [draw_documents, frozen_plain.draw_documents])
def test_uniform_numbers_have_all_their_bits(kind, n_bits, kernel):
    """Two topics whose border is an odd multiple of the last bit: all sums are exact, so that bit decides."""
    borders = np.random.default_rng(1).integers(0, 2 ** (n_bits - 2), 200) * 2 + 1
    table = aligned_zeros((len(borders), 16), kind)
    table[:, 0] = borders * 2.0**-n_bits
    table[:, 1] = 1 - table[:, 0]
    for below, topic in ((1, 0), (0, 1)):
        bits = (borders - below).astype(np.uint64) << np.uint64(64 - n_bits)
        bits |= np.uint64(2 ** (64 - n_bits) - 1)  # what is below the last bit is not looked at
        documents = [[i] for i in range(len(borders))]
        topics = run(documents, table, 2, np.zeros(len(bits)), bits=bits, alpha=1.0, kernel=kernel)
        assert (topics == topic).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_topics", [2, 10, 16, 21, 50])
def test_extreme_uniforms_never_draw_a_topic_of_weight_zero(kind, n_topics):
    """Zero weights stand in for padding; with 23 bits and a clamp, the last topic would catch such draws."""
    rng = np.random.default_rng(n_topics)
    n = 4000
    table = some_table(rng, n, n_topics, kind)
    table[:, :n_topics] *= rng.random((n, n_topics)) < 0.5
    table[np.arange(n), rng.integers(0, n_topics, n)] = 1e-6
    extreme = np.array([0, 1, 2**40 - 1, 2**40, 2**63, 2**64 - 1, 2**64 - 2**11, 2**64 - 2**40], np.uint64)
    bits = rng.choice(extreme, n)
    topics = run([[i] for i in range(n)], table, n_topics, np.zeros(n), bits=bits)
    assert (table[np.arange(n), topics] > 0).all()


def draws_of_weight_zero(kernel):
    """All draws within a few units of the last place of a lane's end, where rounding could step over it."""
    rng = np.random.default_rng(3)
    n_topics, n = 40, 3000
    table = some_table(rng, n, n_topics, np.float32)
    table[:, 32:40] = 0  # third block of lanes 0 to 7: weight 0, like padding
    share = table.reshape(n, 3, 16).sum(axis=1, dtype=np.float64).cumsum(axis=1)
    share /= share[:, -1:]
    ends = share[np.arange(n), rng.integers(0, 8, n)]
    bits = ((ends * 2.0**24).astype(np.int64) + rng.integers(-2, 3, n)).clip(0, 2**24 - 1).astype(np.uint64)
    bits <<= np.uint64(40)
    topics = run([[i] for i in range(n)], table, n_topics, np.zeros(n), bits=bits, kernel=kernel)
    return int((table[np.arange(n), topics] == 0).sum())


def test_uniform_numbers_right_below_a_lane_end_stay_in_the_lane(monkeypatch):
    assert draws_of_weight_zero(draw_documents) == 0
    assert draws_of_weight_zero(frozen_plain.draw_documents) == 0
    # without the ceiling on the remainder, the same draws do step over
    monkeypatch.setattr(frozen_plain.np, "nextafter", lambda x, y: np.float32(np.inf))
    assert draws_of_weight_zero(frozen_plain.draw_documents) > 0


def test_rows_that_are_not_positive_do_not_lead_out_of_bounds():
    table = aligned_zeros((3, 16), np.float32)
    table[1] = np.nan
    table[2] = np.inf
    topics = run([[0, 1, 2]] * 5, table, 5, np.zeros(15))
    assert (topics < 5).all()


DOCUMENTS, N_WORDS = [[0, 1, 1], [2, 0]], 3


def joint_frequencies(n_topics, table, start, n_chains, kind, own=None):
    """Many independent copies of two documents, each with its own stream: joint counts of outcomes."""
    documents = DOCUMENTS * n_chains
    padded_table = aligned_zeros((N_WORDS, padded(n_topics)), kind)
    padded_table[:, :n_topics] = table
    topics = run(documents, padded_table, n_topics, np.tile(start, n_chains), key=12345, own=own)
    outcomes = topics.reshape(n_chains, -1) @ n_topics ** np.arange(5)[::-1]
    return np.bincount(outcomes, minlength=n_topics**5)


@pytest.mark.parametrize("kind", KINDS)
def test_joint_law_of_a_sweep_is_the_enumerated_one(kind):
    n_topics, start = 2, [0, 1, 1, 0, 1]
    table = np.array([[1.0, 0.5], [0.2, 2.0], [0.7, 0.7]])
    seen = joint_frequencies(n_topics, table, start, 40_000, kind)

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


@pytest.mark.parametrize("kind", KINDS)
def test_joint_law_without_the_token_itself_is_the_enumerated_one(kind):
    n_topics, start, beta = 2, [0, 1, 1, 0, 1], 0.4
    counts = aligned_zeros((N_WORDS, 16), np.int32)
    counts[:, :n_topics] = [[2, 1], [1, 3], [1, 2]]  # more than the documents': as if there were others
    table = aligned_zeros((N_WORDS, 16), kind)
    totals = frozen_sweep.build_table(counts, n_topics, beta, table)
    own = frozen_sweep.own_share(totals, beta, table)
    seen = joint_frequencies(n_topics, table[:, :n_topics], start, 40_000, kind, own)

    def p_value(law):
        expected = np.array([law[tuple(z)] for z in np.ndindex(*[n_topics] * 5)]) * seen.sum()
        return stats.chisquare(seen, expected).pvalue

    counts = counts[:, :n_topics]
    assert p_value(naive.frozen_joint_excluding(DOCUMENTS, counts, ALPHA, beta, start)) > 1e-3
    assert p_value(naive.frozen_joint(DOCUMENTS, table[:, :n_topics], ALPHA, start)) < 1e-12
    # The token is out of its cell but still in its column's total.
    assert p_value(naive.frozen_joint_excluding(DOCUMENTS, counts, ALPHA, beta, start, in_total=True)) < 1e-6


def test_a_token_that_is_always_refused_stays():
    table = aligned_zeros((1, 16), np.float32)
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
    documents, table = some_documents(rng, 30, 6), some_table(rng, 6, 5, np.float32)
    start = np.zeros(sum(map(len, documents)))
    topics = run(documents, table, 5, start)
    # a document's draws depend on its number and its own words, on nobody else's
    changed = [list(reversed(d)) for d in documents[:20]] + documents[20:]
    others = run(changed, table, 5, start)
    first = sum(map(len, documents[:20]))
    np.testing.assert_array_equal(topics[first:], others[first:])
    assert (run(documents, table, 5, start, key=8) != topics).any()


@pytest.mark.parametrize("n_topics", [5, 40])
def test_any_number_of_threads_gives_the_same_chain(n_topics):
    rng = np.random.default_rng(11)
    tokens = make_tokens(some_documents(rng, 150, 30), 30)
    alpha = rng.random(n_topics) + 0.1
    chains = []
    for n_threads in (1, 2, 3, 4, 7):
        state = frozen_sweep.init(tokens, n_topics, 5, n_threads=n_threads)
        memory = frozen_sweep.empty_table(30, n_topics)
        for _ in range(4):
            state, info = frozen_sweep.step(state, tokens, alpha, 0.05, memory=memory, n_threads=n_threads)
        chains.append((state.topics.tobytes(), state.word_topic.tobytes(), info))
        np.testing.assert_array_equal(state.word_topic, count_topics(tokens, state.topics, n_topics))
    assert len(set(chains)) == 1


@pytest.mark.parametrize("n_bits", [24, 53])
def test_a_given_table_and_given_bits_are_what_is_used(n_bits):
    """The way of private training: a noisy table, random words from elsewhere, any number of threads."""
    rng = np.random.default_rng(13)
    n_topics = 6
    documents = some_documents(rng, 70, 20)
    tokens = make_tokens(documents, 20)
    table = some_table(rng, 20, n_topics, np.float32 if n_bits == 24 else np.float64)
    start = random_topics(len(tokens.words), n_topics, 1)
    bits = rng.integers(0, 2**64, len(start), np.uint64)
    expected = run(documents, table, n_topics, start, bits=bits)
    for n_threads in (1, 3):
        topics = start.copy()
        alpha = np.full(n_topics, ALPHA)
        for key in (1, 2):  # without effect
            topics[:] = start
            frozen_sweep.sweep(tokens, topics, table, alpha, np.uint64(key), bits=bits, n_threads=n_threads)
            np.testing.assert_array_equal(topics, expected)


def test_steps_leave_the_old_state_alone_and_can_be_repeated():
    rng = np.random.default_rng(2)
    tokens = make_tokens(some_documents(rng, 20, 8), 8)
    state = frozen_sweep.init(tokens, 3, 1)
    kept = state.topics.copy(), state.word_topic.copy()
    once, info = frozen_sweep.step(state, tokens, np.full(3, 0.1), 0.01)
    again, _ = frozen_sweep.step(state, tokens, np.full(3, 0.1), 0.01)
    np.testing.assert_array_equal(kept[0], state.topics)
    np.testing.assert_array_equal(kept[1], state.word_topic)
    np.testing.assert_array_equal(once.topics, again.topics)
    assert info.n_moved == (once.topics != state.topics).sum()
    assert (once.sweep, once.seed) == (1, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_table_is_phi(kind):
    rng = np.random.default_rng(8)
    counts = aligned_zeros((11, 16), np.int32)
    counts[:, :6] = rng.integers(0, 50, (11, 6))
    for n_threads in (1, 3):
        table = aligned_zeros((11, 16), kind)
        frozen_sweep.build_table(counts, 6, 0.07, table, n_threads)
        phi = (counts[:, :6] + 0.07) / (counts[:, :6].sum(axis=0) + 11 * 0.07)
        np.testing.assert_allclose(table[:, :6], 11 * phi, rtol=4 * np.finfo(kind).eps)
        assert not table[:, 6:].any()


def test_topics_start_uniform_and_reproducible():
    topics = random_topics(60_000, 12, 4)
    assert stats.chisquare(np.bincount(topics, minlength=12)).pvalue > 1e-4
    np.testing.assert_array_equal(topics[:100], random_topics(100, 12, 4))
    assert (topics != random_topics(60_000, 12, 5)).mean() > 0.8
    with pytest.raises(ParameterError, match="n_bits must be 24"):
        frozen_sweep.empty_table(3, 2, n_bits=32)


WITHOUT_A_COMPILER = """
import json, sys
import numpy as np
from discreet.lda.gibbs.estimator import GibbsLDA
X = np.array(json.loads(sys.argv[1]))
models = [GibbsLDA(3, n_sweeps=3, init=init, random_state=6).fit(X) for init in ("fast", "random")]
print(json.dumps([m.topic_word_counts_.tolist() for m in models]))
"""


def test_without_a_compiler_the_models_are_the_same():
    X = np.random.default_rng(1).poisson(0.8, (12, 7)).tolist()
    printed = []
    for disabled in ("0", "1"):
        environment = dict(os.environ, NUMBA_DISABLE_JIT=disabled)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", WITHOUT_A_COMPILER, json.dumps(X)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(json.loads(done.stdout))
    assert printed[0] == printed[1]
