"""The start of a Gibbs chain: its formulas, its draws, the same bytes however it is computed, and what it is worth."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from tests.naive import start as naive

from discreet._base.threads import share_out
from discreet.evaluate import completion_perplexity
from discreet.lda import GibbsLDA
from discreet.lda.documents import read_documents
from discreet.lda.gibbs import estimator as gibbs_lda
from discreet.lda.gibbs import start, start_kernels
from discreet.lda.gibbs.state import count_topics, read_tokens

BETA = 0.05
SCHEDULE = start.Schedule(n_passes=3, n_batches=4, tau=2.0)


def corpus(n_documents=40, n_words=25, seed=0):
    """Documents of 0 to some dozens of tokens, one of a single word many times."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(
        rng.gamma(0.5, 1.0, (n_documents, 1)) * rng.dirichlet(np.ones(n_words), n_documents) * 20
    )
    counts[3] = 0
    counts[5] = np.eye(n_words, dtype=int)[7] * 30
    return counts


def tokens_of(counts):
    return read_tokens(read_documents(sp.csr_matrix(counts)))


def run(counts, n_topics, schedule=SCHEDULE, n_threads=1, seed=3, alpha=0.3):
    """The start's topics; and, caught on the way, its tables, expected counts and batches."""
    prior = alpha * np.linspace(1, 2, n_topics)
    return start.starting_topics(tokens_of(counts), prior, BETA, seed, schedule=schedule, n_threads=n_threads)


class Watch:
    """Notes the states and batches of a start."""

    def __init__(self, monkeypatch):
        self.batches, self.states, self.known = [], [], []
        step = start.step

        def noting(state, given, word_cuts):
            for i in range(len(given.cuts)):
                one = given._replace(cuts=given.cuts[i : i + 1], sizes=given.sizes[i : i + 1])
                state = step(state, one, word_cuts)
                self.batches.append((one.equal, one.order[one.cuts[0, 0] : one.cuts[0, -1]].tolist()))
                self.states.append((state.table * state.factor, state.totals))
            self.known = state.kept
            return state

        monkeypatch.setattr(start, "step", noting)


def interpret(monkeypatch):
    """Run kernels in the interpreter, and what they emit in NumPy."""
    for name, kernel in list(vars(start_kernels).items()):
        if hasattr(kernel, "py_func"):
            for module in (start, start_kernels):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, kernel.py_func)
    for name in ("plain", "leave_out", "draw", "mix", "stream_at"):
        monkeypatch.setattr(start_kernels, name, getattr(naive, name))


@pytest.mark.parametrize("mistake", ["", "alpha", "stays", "scale"])
def test_tables_are_those_of_the_formulas(monkeypatch, mistake):
    n_topics, counts = 5, corpus()
    watch = Watch(monkeypatch)
    monkeypatch.setattr(start, "_SMALLEST_FACTOR", 0.1)  # the factor is multiplied out now and then
    begun = start.init(tokens_of(counts), n_topics, 3).table[:, :n_topics].astype(float)
    run(counts, n_topics)
    per_pass = [watch.batches[i : i + 4] for i in (0, 4, 8)]
    assert [[equal for equal, _ in batches] for batches in per_pass] == [[True] * 4, [False] * 4, [False] * 4]
    orders = [sorted(d for _, documents in batches for d in documents) for batches in per_pass]
    assert orders == [list(range(len(counts)))] * 3
    whose = [[documents for _, documents in batches] for batches in per_pass]
    assert whose[0] != whose[1]
    table, known = naive.stepwise(
        counts,
        whose,
        begun,
        0.3 * np.linspace(1, 2, n_topics),
        BETA,
        SCHEDULE,
        mistake=mistake,
    )
    found, totals = watch.states[-1]
    right = not mistake
    close = np.abs(found[:, :n_topics] - table).max() / table.max()
    # expected tokens below a fiftieth are forgotten between passes
    assert (close < 0.004) if right else (close > 0.02)
    np.testing.assert_allclose(totals[:n_topics], found[:, :n_topics].sum(axis=0), rtol=1e-4)
    assert (found[:, n_topics:] == 0).all()
    if right:
        state = watch.known
        for d in np.flatnonzero(counts.sum(axis=1) >= 3):  # there is room for all topics
            here = slice(state.starts[d], state.starts[d] + state.sizes[d])
            dense = np.zeros(n_topics)
            dense[state.topics[here]] = state.values[here]
            np.testing.assert_allclose(dense, known[d], atol=0.03 + 0.004 * counts[d].sum())


@pytest.mark.parametrize("n_topics", [1, 3, 16, 50])
def test_vectors_and_plain_numpy_give_the_same_bytes(monkeypatch, n_topics):
    counts = corpus()
    watch = Watch(monkeypatch)
    topics = run(counts, n_topics)
    interpret(monkeypatch)
    np.testing.assert_array_equal(run(counts, n_topics), topics)
    half = len(watch.states) // 2
    for (table, totals), (other, sums) in zip(watch.states[:half], watch.states[half:], strict=True):
        assert table.tobytes() == other.tobytes()
        assert totals.tobytes() == sums.tobytes()


def test_the_same_topics_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(start, "_SMALLEST_FACTOR", 0.1)
    monkeypatch.setattr(start, "_WORTH_THREADS", 0)
    counts = corpus(300, 40)
    alone = run(counts, 20)
    for n_threads in (2, 3, 11):
        np.testing.assert_array_equal(run(counts, 20, n_threads=n_threads), alone)
    assert (run(counts, 20, seed=4) != alone).any()


def test_draws_follow_the_expected_counts(monkeypatch):
    """A document of two words, thousands of times: its tokens' topics are as frequent as the last pass expects."""
    counts = corpus()
    counts[8] = 0
    counts[8, [2, 9]] = 6000, 4000
    seen = {}
    infer = start_kernels.infer_documents

    def noting(given, b, piece, *rest):
        infer(given, b, piece, *rest)
        cuts, place = given.cuts[b], int(np.flatnonzero(given.order == 8)[0])
        if len(given.drawn) and cuts[piece] <= place < cuts[piece + 1]:
            at = given.rows_before[place] - given.rows_before[cuts[0]]
            seen["expected"] = given.expected[at : at + 2, :5].astype(float)

    monkeypatch.setattr(start_kernels, "infer_documents", noting)
    monkeypatch.setattr(start, "_WORTH_THREADS", 0)  # threads go through a batch piece by piece
    topics = run(counts, 5, n_threads=2)
    tokens = tokens_of(counts)
    drawn = topics[tokens.indptr[8] : tokens.indptr[9]]
    for row, here in zip(seen["expected"], (drawn[:6000], drawn[6000:]), strict=True):
        found, expected = np.bincount(here, minlength=5), row * len(here) / row.sum()
        rare = expected < 5
        expected, found = expected[~rare], found[~rare]
        assert abs(row.sum() - len(here)) < 0.01
        if len(found) > 1:
            assert stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > 1e-3
            assert stats.chisquare(found, np.roll(expected, 1) * found.sum() / expected.sum()).pvalue < 1e-6
    assert len(set(drawn.tolist())) > 1


def test_no_two_topics_begin_with_the_same_documents():
    counts = np.kron(np.eye(12, dtype=int), np.full((1, 3), 40))  # a document's words are its own
    for n_topics, most in ((4, 1), (12, 1), (30, 3)):
        table = start.seeded_table(tokens_of(counts), n_topics, 3)[:, :n_topics]
        np.testing.assert_allclose(table.sum(axis=0), counts.sum() / n_topics, rtol=1e-5)
        own = table - counts.sum(axis=0)[:, None] * 0.5 / n_topics > 1e-3
        assert (own.any(axis=0)).all()
        assert own.sum(axis=1).max() <= most
        assert len({column.tobytes() for column in table.T}) == n_topics
    lonely = start.seeded_table(tokens_of([[1, 0], [0, 1]]), 5, 3)  # more topics than tokens
    assert np.isfinite(lonely).all()


def test_one_rule_for_all_corpora():
    chosen = [start.choose_schedule(n, 50) for n in (1, 10_000, 400_000, 3_000_000, 9_000_000)]
    assert [schedule.n_batches for schedule in chosen] == [1, 1, 40, 200, 200]
    assert [schedule.n_passes for schedule in chosen] == [16, 16, 16, 11, 8]
    some, many = ([start.choose_schedule(n, k) for n in (400_000, 3_000_000, 9_000_000)] for k in (200, 1000))
    assert [schedule.n_passes for schedule in some] == [10, 7, 5]
    assert [schedule.n_batches for schedule in many] == [10, 75, 200]
    assert [schedule.n_passes for schedule in many] == [6, 4, 4]


def test_topics_are_within_range_where_almost_nothing_is_known():
    for counts in ([[1]], [[0, 1], [2, 0]], np.eye(3, dtype=int)):
        for n_topics in (1, 2, 40):
            topics = run(np.array(counts), n_topics)
            assert len(topics) == np.sum(counts)
            assert topics.max() < n_topics


@pytest.mark.integration
def test_a_start_is_worth_a_hundred_sweeps(shared_data):
    counts = sp.csr_matrix(sp.load_npz(shared_data / "kos" / "counts.npz"))
    rows = np.arange(counts.shape[0])
    train, held_out = counts[rows % 10 != 0], counts[rows % 10 == 0]
    n_topics = 30
    topics = start.starting_topics(tokens_of(train), np.full(n_topics, 0.1), 0.01, 1)
    drawn = count_topics(tokens_of(train), topics, n_topics)[:, :n_topics].T + 0.01

    def far(init, n_sweeps):
        return completion_perplexity(
            GibbsLDA(n_topics, init=init, n_sweeps=n_sweeps, random_state=1).fit(train).topic_word_, held_out
        )

    random = [far("random", n) for n in (8, 100)]
    fast = [completion_perplexity(drawn, held_out), far("fast", 8)]
    assert max(fast) < 1.01 * random[1] < 0.97 * random[0]


def test_auto_begins_fast_up_to_some_million_tokens(monkeypatch):
    counts = corpus()

    def fit(**how):
        return GibbsLDA(3, random_state=1, n_jobs=2, **how).fit(counts)

    fast, random = fit(init="fast", n_sweeps=5), fit(init="random", n_sweeps=5)
    assert (fast.topic_word_counts_ != random.topic_word_counts_).any()
    assert (fit(n_sweeps=5).topic_word_counts_ == fast.topic_word_counts_).all()
    assert (fit().n_sweeps_, fit(init="random").n_sweeps_) == (100, 200)
    monkeypatch.setattr(gibbs_lda, "MOST_FAST_TOKENS", int(counts.sum()) - 1)
    assert (fit(n_sweeps=5).topic_word_counts_ == random.topic_word_counts_).all()
    assert fit().n_sweeps_ == 200
    assert (fit(init="fast", n_sweeps=5).topic_word_counts_ == fast.topic_word_counts_).all()
    monkeypatch.setattr(gibbs_lda, "MOST_FAST_TOPICS", 2)
    assert (fit(init="fast", n_sweeps=5).topic_word_counts_ == random.topic_word_counts_).all()


def test_sweeps_are_hot_at_first_and_cool_before_any_counts_in_the_mean():
    tokens = tokens_of(np.full((20, 10), 10))  # 2,000 tokens
    share = start.SHARE * 2000 / (4 * 10)
    for n_sweeps, n_hot in ((0, 0), (1, 0), (2, 1), (5, 2), (8, 4), (60, 30), (1000, 30)):
        found = [start.warm_prior(tokens, 4, 0.01, t, n_sweeps) for t in range(n_sweeps)]
        assert found[n_hot:] == [0.01] * (n_sweeps - n_hot)
        rises = np.array(found[:n_hot]) - 0.01
        np.testing.assert_allclose(rises, (share - 0.01) * (1 - np.arange(n_hot) / max(n_hot, 1)))
        assert not any(gibbs_lda.is_sampled(t + 1, n_sweeps, fast=True) for t in range(n_hot))
    assert start.warm_prior(tokens, 4, share + 1, 0, 8) == share + 1  # a prior that is hotter already


def test_only_a_fast_start_is_hot(monkeypatch):
    heard = []
    warm = start.warm_prior

    def noting(*args):
        heard.append(args[3:])
        return warm(*args)

    monkeypatch.setattr(gibbs_lda, "warm_prior", noting)
    counts = corpus()
    for n_topics in (3, 210):
        GibbsLDA(n_topics, init="fast", n_sweeps=6, random_state=1).fit(counts)
        assert heard == [(sweep, 6) for sweep in range(6)]
        heard.clear()
        GibbsLDA(n_topics, init="random", n_sweeps=6, random_state=1).fit(counts)
        assert not heard


@pytest.mark.integration
def test_a_hot_chain_ends_lower(monkeypatch, shared_data):
    counts = sp.csr_matrix(sp.load_npz(shared_data / "kos" / "counts.npz"))
    held_out = np.arange(counts.shape[0]) % 10 == 0

    def far():
        model = GibbsLDA(50, init="fast", n_sweeps=60, random_state=0).fit(counts[~held_out])
        return completion_perplexity(model.topic_word_, counts[held_out])

    hot = far()
    monkeypatch.setattr(start, "SHARE", 0.0)
    assert hot < 0.998 * far()


def test_a_fault_in_one_thread_ends_all(monkeypatch):
    infer = start_kernels.infer_documents

    def failing(given, b, piece, *rest):
        if piece == 3:
            raise MemoryError("no room")
        return infer(given, b, piece, *rest)

    monkeypatch.setattr(start_kernels, "infer_documents", failing)
    monkeypatch.setattr(start, "_WORTH_THREADS", 0)
    with pytest.raises(MemoryError, match="no room"):
        run(corpus(300, 40), 20, n_threads=2)


@pytest.mark.parametrize("worth", [0, 10**12])
def test_small_batches_are_not_shared_out(worth, monkeypatch):
    monkeypatch.setattr(start, "_WORTH_THREADS", worth)
    asked = []

    def spy(work, tasks, n_threads):
        asked.append(n_threads)
        return share_out(work, tasks, n_threads)

    monkeypatch.setattr(start, "share_out", spy)
    run(corpus(300, 40), 20, n_threads=2)
    assert set(asked) == (set() if worth else {2})
