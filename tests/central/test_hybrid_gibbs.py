"""The parts of word-level Gibbs sampling: exact draws, order of tokens, tables, cost, what is booked and released."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2
from tests.marks import quick
from tests.naive import word_level as naive
from tests.naive.central_checks import block_corpus, overlap

from discreet import (
    BudgetExceeded,
    CorpusError,
    HybridGibbsLDA,
    Ledger,
    ParameterError,
    PrivacyError,
    Release,
)
from discreet.central.word_level import hybrid_gibbs
from discreet.central.word_level.cost import (
    calibrated,
    plan,
    range_of,
    table_mechanism,
    total_epsilon,
    total_event,
)
from discreet.central.word_level.hybrid_gibbs import (
    arrange,
    draw_topics,
    integer_prior,
    integer_table,
    integer_weights,
)
from discreet.lda.gibbs.state import Tokens
from discreet.privacy.accounting import events
from discreet.privacy.noise.stream import SecureStream

ALL = 2**64 - 1


class Words:
    """A stream that says what it is told to: 64 bits for each token, and more by document."""

    def __init__(self, bits, more):
        self.digits = {"first digits": {0: bits}, "further digits": more}
        self.source = None

    def blocks(self, purpose):
        found = Words(None, None)
        found.source = self.digits[purpose]
        return found

    def read(self, block, lane, start, n):
        assert (lane, start) == (0, 0)
        words = np.array(self.source[block], np.uint64).view(np.uint32)
        assert len(words) == n
        return words


def random_case(seed, n_topics):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, 12)
    indptr = np.r_[0, np.cumsum(lengths)]
    n = int(indptr[-1])
    tokens = Tokens(indptr.astype(np.int64), rng.integers(0, 7, n).astype(np.int32), 7)
    topics = rng.integers(0, n_topics, n).astype(np.uint16)
    table = integer_table(rng.integers(0, 30, (7, n_topics)).astype(float), 0.01, None)
    return rng, tokens, topics, table


@pytest.mark.parametrize("n_topics", [1, 2, 15, 16, 17, 50])
@pytest.mark.parametrize("frozen_documents", [False, True])
def test_draws_are_those_of_exact_integers(n_topics, frozen_documents):
    """The kernel against whole-number arithmetic of any length, at random and at the worst random words."""
    for seed in range(3):
        rng, tokens, topics, table = random_case(seed, n_topics)
        n = len(topics)
        bits = rng.integers(0, ALL, n, dtype=np.uint64, endpoint=True)
        bits[rng.random(n) < 0.2] = ALL  # whose later digits decide
        bits[rng.random(n) < 0.1] = 0
        more = rng.integers(0, ALL, n, dtype=np.uint64, endpoint=True)
        prior = integer_prior(0.3, n_topics)
        fixed = integer_weights(rng.normal(1, 3, (12, n_topics)), 0.3) if frozen_documents else None
        expected = naive.draw_by_integers(
            tokens.indptr, tokens.words, topics, table, prior, bits, more, n_topics, fixed
        )
        drawn = topics.copy()
        flags = np.zeros(12, np.uint8)
        alpha = np.zeros(table.shape[1], np.uint32)
        alpha[:n_topics] = prior
        rows = np.empty((0, 1), np.uint32) if fixed is None else fixed
        none = np.empty(0, np.uint64)
        arguments = tokens.indptr, tokens.words, drawn, table, alpha, rows
        hybrid_gibbs._draw(*arguments, bits, none, 0, 12, flags)
        assert flags.any()
        flagged = np.flatnonzero(flags)
        for d in flagged:  # left as they were
            first, last = tokens.indptr[d : d + 2]
            assert (drawn[first:last] == topics[first:last]).all()
        drawn = draw_topics(
            tokens,
            topics,
            table,
            n_topics,
            prior,
            Words(bits, {d: more[tokens.indptr[d] : tokens.indptr[d + 1]] for d in flagged.tolist()}),
            doc_weights=fixed,
        )
        assert drawn.tolist() == expected


@pytest.mark.parametrize("n_topics", [2, 5])
def test_each_topic_has_exactly_its_share_of_the_random_words(n_topics):
    """Bisect for the random word at which the topic changes: shares of 2**64 are those of the weights, to one word."""
    tokens = Tokens(np.array([0, 2]), np.array([1, 0], np.int32), 2)
    topics = np.array([0, n_topics - 1], np.uint16)
    rng = np.random.default_rng(5)
    table = integer_table(rng.integers(0, 99, (2, n_topics)).astype(float), 0.01, None)
    prior = integer_prior(0.01, n_topics)

    def first_topic(word):
        drawn = draw_topics(tokens, topics, table, n_topics, prior, Words([word, 0], {0: [0, 0]}))
        return int(drawn[0])

    edges = []
    for k in range(n_topics - 1):
        low, high = 0, ALL
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if first_topic(middle) <= k else (low, middle)
        edges.append(high)
    weights = [int(table[1, k]) * (prior + 1024 * (k == n_topics - 1)) for k in range(n_topics)]
    total = sum(weights)
    for k, edge in enumerate(edges):
        exact = Fraction(sum(weights[: k + 1]), total) * 2**64
        assert abs(exact - edge) <= 1


def test_a_table_keeps_the_ratio_of_its_clip_exactly():
    rng = np.random.default_rng(0)
    for clip, beta in ((1.47, 0.01), (10.0, 50.0), (1.0, 1e-7), (0.3, 3.0), (1e6, 1e-6)):
        counts = np.clip(rng.integers(0, 40, (60, 9)), 0, clip).astype(float)
        counts[:, 0] = 0
        counts[:, 1] = clip
        table = integer_table(counts, beta, clip)
        assert table.shape == (60, 16)
        assert not table[:, 9:].any()
        kept = table[:, :9].astype(object)
        assert kept.min() >= 1
        assert kept.max() <= 2**30
        for topic in kept.T:
            assert Fraction(max(topic), min(topic)) <= 1 + Fraction(clip) / Fraction(beta)
    # Without the clip's check, rounding down small entries would break it.
    loose = integer_table(np.array([[0.0, 0], [1, 0]]), 1e-7, None)[:, 0]
    assert Fraction(int(loose[1]), int(loose[0])) > 1 + 1 / Fraction(1e-7)


def test_a_table_is_in_proportion_to_phi():
    counts = np.random.default_rng(1).integers(0, 500, (200, 20)).astype(float)
    phi = (counts + 0.01) / (counts + 0.01).sum(0)
    table = integer_table(counts, 0.01, None)[:, :20]
    np.testing.assert_allclose(table / table.max(), phi / phi.max(), rtol=1e-3, atol=2**-30)


def test_arrangements_are_uniform():
    """All 12 orders of {0, 1, 2, 2} come equally often; the order of the columns would give one."""
    counts = sp.csr_matrix(np.tile([1, 1, 2], (6000, 1)))
    tokens = arrange(counts, SecureStream(0))
    seen = Counter(map(tuple, tokens.words.reshape(-1, 4).tolist()))
    assert len(seen) == 12
    statistic = sum((n - 500) ** 2 / 500 for n in seen.values())
    assert chi2.ppf(0.001, 11) < statistic < chi2.ppf(0.999, 11)
    assert sorted(tokens.words[:4].tolist()) == [0, 1, 2, 2]


def test_first_topics_know_no_word():
    settings = hybrid_gibbs.Settings(5, 1.0, 0.01, 10.0, table_mechanism("laplace", 1.0, 1e-6))
    rng = np.random.default_rng(0)
    indptr = np.array([0, 20, 50])
    one, two = (Tokens(indptr, rng.integers(0, 9, 50).astype(np.int32), 9) for _ in range(2))
    first = hybrid_gibbs.init(one, settings, SecureStream(3)).topics
    np.testing.assert_array_equal(first, hybrid_gibbs.init(two, settings, SecureStream(3)).topics)
    assert set(first.tolist()) == set(range(5))


def test_noise_is_fresh_and_sits_on_the_true_counts():
    """Tables minus true counts: sweep after sweep the same spread, no memory. Noise in place would walk off."""
    n_topics, n_words = 4, 300
    tokens = arrange(sp.csr_matrix(np.full((40, n_words), 2)), SecureStream(1))
    mechanism = table_mechanism("laplace", 0.5, 1e-6)
    settings = hybrid_gibbs.Settings(n_topics, 1.0, 0.01, 1e6, mechanism)  # cuts nothing
    ledger = Ledger(1e3, 1e-6, privacy_unit="word", neighboring="replace_one")
    reservation = ledger.reserve(total_event(mechanism, 9, 8, range_of(1e6, 0.01)), "tables and draws")
    stream = SecureStream(2)
    state = hybrid_gibbs.init(tokens, settings, stream)
    noise = []
    for _ in range(8):
        exact = naive.exact_table(tokens.words, state.topics, n_topics, n_words).T
        before = state
        state, table = hybrid_gibbs.step(state, tokens, settings, stream, reservation)
        assert before.topics is not state.topics
        noise.append((table - exact).ravel())
    spread = np.std(noise, axis=1)
    expected = math.sqrt(2) * 4
    assert (np.abs(spread / expected - 1) < 0.15).all()
    assert abs(np.corrcoef(noise[0], noise[1])[0, 1]) < 0.1
    walk = np.cumsum(noise, axis=0).std(1)
    assert walk[-1] > 2 * expected  # what adding in place would look like
    hybrid_gibbs.release_table(state, tokens, settings, stream, reservation)
    with pytest.raises(PrivacyError, match="does not cover"):
        hybrid_gibbs.release_table(state, tokens, settings, stream, reservation)


@pytest.mark.parametrize(("n_draws", "runs"), [(0, 0), (2, 2)])
def test_draws_are_drawn_on_the_reservation(n_draws, runs):
    tokens = arrange(sp.csr_matrix(np.full((10, 20), 2)), SecureStream(1))
    mechanism = table_mechanism("laplace", 0.5, 1e-6)
    settings, stream = hybrid_gibbs.Settings(4, 1.0, 0.01, 10.0, mechanism), SecureStream(2)
    ledger = Ledger(math.inf, 1e-6, privacy_unit="word", neighboring="replace_one")
    reservation = ledger.reserve(total_event(mechanism, 9, n_draws, range_of(10.0, 0.01)), "a run")
    state = hybrid_gibbs.init(tokens, settings, stream)
    for _ in range(runs):
        state, _ = hybrid_gibbs.step(state, tokens, settings, stream, reservation)
    with pytest.raises(PrivacyError, match="does not cover a draw of range"):
        hybrid_gibbs.step(state, tokens, settings, stream, reservation)


# ---- cost


def test_costs_are_those_of_the_formulas():
    """T = 300 at delta = 1e-6: 300 by the pure sum but 66 by zCDP; with dear draws the pure sum, 3,300, is less."""
    cheap = total_event(table_mechanism("laplace", 0.5, 1e-6), 300, 300, 0.5)
    assert 60 < total_epsilon(cheap, 1e-6) < 66
    dear = total_event(table_mechanism("laplace", 1.0, 1e-6), 300, 300, 10.0)
    assert 3000 < total_epsilon(dear, 1e-6) <= 3300 + 1e-6
    # Draws: 2L of range, a fourth of what the same pure loss costs in zCDP.
    draws = events.composed(events.bounded_range(0.5), 300)
    pure = events.composed(events.laplace(0.5), 300)
    assert total_epsilon(draws, 1e-6) < 0.6 * total_epsilon(pure, 1e-6)
    # Two cells of half the loss cost less than one of the whole.
    one_cell = events.composed(events.discrete_laplace(0.5, 2), 300)
    two_cells = events.composed(table_mechanism("laplace", 0.5, 1e-6).event(), 300)
    assert total_epsilon(two_cells, 1e-6) < 0.75 * total_epsilon(one_cell, 1e-6)


def test_gaussian_tables_have_the_zcdp_of_two_cells():
    mechanism = table_mechanism("gaussian", 1.0, 1e-6)
    deviation = float(mechanism.scale)
    rho = 1 / (2 * mechanism.noise_multiplier**2)
    assert rho == pytest.approx(1 / deviation**2)  # L2 sensitivity is the root of 2


def test_the_range_is_rounded_up():
    for clip, beta in ((1.47, 0.01), (10, 50), (1e-6, 1.0)):
        exact = 2 * math.log1p(clip / beta)
        assert exact < range_of(clip, beta) < exact * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_totals_are_met_and_not_exceeded(noise, hidden, epsilon):
    run = plan(noise, epsilon, None, 1e-6, 20, None, None, hidden=hidden)
    spent = total_epsilon(run.event, 1e-6)
    assert 0.97 * epsilon < spent <= epsilon
    assert (run.log_ratio == 0) == hidden
    counts = Counter()
    for leaf, times in events.leaves(run.event):
        counts[type(leaf).__name__] += times
    tables = 40 if hidden else 21
    assert counts["GaussianDpEvent" if noise == "gaussian" else "DiscreteLaplaceDpEvent"] == tables * (
        1 if noise == "gaussian" else 2
    )
    assert counts["BoundedRangeDpEvent"] == (0 if hidden else 20)


def test_draws_that_cost_too_much_are_refused():
    with pytest.raises(ParameterError, match=r"20 sweeps of topic draws of range 13\.82 alone cost"):
        plan("laplace", 1.0, None, 1e-6, 20, 10.0, 0.01, hidden=False)
    assert calibrated("laplace", math.inf, 1e-6, 5, 5, 1.0).epsilon == math.inf


# ---- the estimator


def test_what_is_booked_is_what_is_drawn(monkeypatch):
    counts, _ = block_corpus(60, n_topics=2, words_a_topic=6, length=8)
    for publish, tables in ((True, 5), (False, 8)):
        drawn = []
        original = table_mechanism("laplace", 1.0, 1e-6).__class__.release

        def spy(self, *arguments, original=original, drawn=drawn, **more):
            drawn.append(self.event())
            return original(self, *arguments, **more)

        with monkeypatch.context() as patch:
            patch.setattr("discreet.privacy.mechanism.LaplaceMechanism.release", spy)
            model = HybridGibbsLDA(
                2, epsilon_noise=0.3, n_sweeps=4, publish_assignments=publish, random_state=0
            )
            model.fit(counts)
        assert len(drawn) == tables
        (entry,) = model.release_.ledger.entries
        found = Counter()
        for leaf, times in events.leaves(entry.event):
            found[leaf] += times
        assert found[next(iter(events.leaves(drawn[0]))).event] == 2 * tables
        assert ("and all topic assignments" in entry.purpose) == publish


def test_release_states_unit_relation_and_total(tmp_path):
    counts, _ = block_corpus(200, n_topics=2, words_a_topic=6, length=8)
    model = HybridGibbsLDA(2, epsilon=4.0, n_sweeps=4, random_state=0).fit(counts)
    release = model.release_
    assert release.promise.privacy_unit == "word"
    assert release.promise.neighboring == "replace_one"
    assert 3.8 < release.promise.epsilon <= 4.0
    assert release.configuration["epsilon_draw"] > 0
    release.save(tmp_path / "model")
    assert Release.load(tmp_path / "model") == release
    per_table = HybridGibbsLDA(
        2, epsilon_noise=0.5, clip=1.0, topic_word_prior=1.0, n_sweeps=4, random_state=0
    )
    total = per_table.fit(counts).release_.promise.epsilon
    assert total == pytest.approx(5 * 0.5 + 4 * 2 * math.log(2), rel=1e-6)  # the pure sum is smaller here


@pytest.mark.parametrize("noise", quick(["laplace", "gaussian"], "laplace"))
@pytest.mark.parametrize("publish", [True, False])
def test_planted_topics_are_found_where_the_budget_allows(noise, publish):
    counts, truth = block_corpus(2000, n_topics=3, words_a_topic=8, length=20)
    settings = {"noise": noise, "publish_assignments": publish, "random_state": 0, "doc_topic_prior": 0.1}
    settings["clip"] = 2000.0 if publish else None  # about the tokens of a word
    good = HybridGibbsLDA(3, epsilon=600.0 if publish else 60.0, n_sweeps=30, **settings).fit(counts)
    assert overlap(good.components_, truth) > 0.8
    bad = HybridGibbsLDA(3, epsilon=0.05, n_sweeps=30, **settings).fit(counts)
    assert overlap(bad.components_, truth) < 0.7  # the measure can tell


def test_refusals_come_before_anything_is_booked():
    ledger = Ledger(10, 1e-6, privacy_unit="word", neighboring="replace_one")
    X = [[1, 2], [0, 1]]
    for error, match, settings in (
        (PrivacyError, "not both", {"epsilon": 1.0, "epsilon_noise": 1.0}),
        (PrivacyError, "epsilon must be a positive", {"epsilon": -1.0}),
        (PrivacyError, "delta must lie", {"epsilon": 1.0, "delta": 2.0}),
        (ParameterError, "clip must be positive", {"epsilon": 1.0, "clip": 0.0}),
        (ParameterError, 'noise must be "laplace"', {"epsilon": 1.0, "noise": "uniform"}),
        (ParameterError, "n_sweeps must be a positive", {"epsilon": 1.0, "n_sweeps": 0}),
        (ParameterError, "publish_assignments must be", {"epsilon": 1.0, "publish_assignments": "no"}),
    ):
        with pytest.raises(error, match=match):
            HybridGibbsLDA(2, ledger=ledger, **settings).fit(X)
    with pytest.raises(PrivacyError, match="would protect word"):
        HybridGibbsLDA(2, epsilon=1.0, ledger=Ledger(1, 1e-6)).fit(X)
    assert not ledger.entries
    with pytest.raises(BudgetExceeded):
        HybridGibbsLDA(2, epsilon=20.0, n_sweeps=2, ledger=ledger).fit(X)
    with pytest.raises(CorpusError, match="row 1"):
        HybridGibbsLDA(2, epsilon=1.0, n_sweeps=2, ledger=ledger).fit([[1, 1], [3_000_000, 0]])
    assert len(ledger.entries) == 1  # it was read by then
