"""The parts of word-level Gibbs sampling: draws, tables, cost, what is booked and released."""

import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare
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
from discreet.central.word_level.cost import plan, table_mechanism, total_epsilon, total_event
from discreet.lda.documents import read_documents
from discreet.lda.gibbs.state import Tokens, read_tokens
from discreet.privacy.accounting import events
from discreet.privacy.noise.stream import SecureStream

SETTINGS = hybrid_gibbs.Settings(5, 1.0, 0.01, table_mechanism("laplace", 1.0, 1e-6))


def tokens_of(counts):
    return read_tokens(read_documents(sp.csr_matrix(counts)))


@pytest.mark.parametrize("n_topics", [2, 20])
def test_draws_follow_the_word_and_the_noisy_document(n_topics):
    """Each token in proportion to its word's row times its document's row, and to nothing else."""
    rng, n = np.random.default_rng(3), 30_000
    tokens = tokens_of(np.eye(2, dtype=int) * n)
    table, documents = rng.random((2, n_topics)), rng.gamma(0.3, 3.0, (2, n_topics)) + 0.1
    bits = SecureStream(0).words(2 * n)
    drawn = hybrid_gibbs._draw_topics(tokens, table, documents, bits, 1).reshape(2, n)
    np.testing.assert_array_equal(drawn.ravel(), hybrid_gibbs._draw_topics(tokens, table, documents, bits, 3))
    for d in range(2):
        law = np.array([float(p) for p in naive.draw_law(table[d], documents[d], 0)])
        found = np.bincount(drawn[d], minlength=n_topics)
        kept = law * n > 5
        assert chisquare(found[kept], law[kept] / law[kept].sum() * found[kept].sum()).pvalue > 1e-3


def test_first_topics_know_no_word():
    rng = np.random.default_rng(0)
    indptr = np.array([0, 20, 50])
    one, two = (Tokens(indptr, rng.integers(0, 9, 50).astype(np.int32), 9) for _ in range(2))
    first = hybrid_gibbs.init(one, SETTINGS, SecureStream(3)).topics
    np.testing.assert_array_equal(first, hybrid_gibbs.init(two, SETTINGS, SecureStream(3)).topics)
    assert set(first.tolist()) == set(range(5))


def test_noise_is_fresh_and_sits_on_the_true_counts():
    """Tables minus true counts: sweep after sweep the same spread, no memory. Noise in place would walk off."""
    n_topics, n_words = 4, 300
    tokens = tokens_of(np.full((40, n_words), 2))
    mechanism = table_mechanism("laplace", 0.5, 1e-6)
    settings = hybrid_gibbs.Settings(n_topics, 1.0, 0.01, mechanism)
    ledger = Ledger(1e3, 1e-6, privacy_unit="word", neighboring="replace_one")
    reservation = ledger.reserve(total_event(mechanism, 16), "tables")
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


@pytest.fixture
def released(monkeypatch):
    """All (exact, noisy) tables, in order; where the second list is filled, its tables are answered again."""
    tables, again = [], []
    honest = table_mechanism("laplace", 1.0, 1e-6).__class__.release

    def release(self, total, *arguments, **more):
        noisy = honest(self, total, *arguments, **more)
        tables.append((total.values, again.pop(0) if again else noisy))
        return tables[-1][1]

    monkeypatch.setattr("discreet.privacy.mechanism.LaplaceMechanism.release", release)
    return tables, again


def sweeps(tokens, state, stream):
    ledger = Ledger(1e3, 1e-6, privacy_unit="word", neighboring="replace_one")
    reservation = ledger.reserve(total_event(SETTINGS.mechanism, 6), "tables")
    for _ in range(3):
        state, _ = hybrid_gibbs.step(state, tokens, SETTINGS, stream, reservation)
    return state


def test_given_the_tables_a_word_moves_no_token_but_its_own(released):
    """What the proof rests on. One token in each of many documents is another word, of another topic."""
    tables, again = released
    rng = np.random.default_rng(0)
    words = rng.integers(0, 9, (60, 5)).astype(np.int32)
    others = words.copy()
    others[:, 0] = (words[:, 0] + 1) % 9
    one, two = (Tokens(np.arange(0, 301, 5), part.ravel(), 9) for part in (words, others))
    first = hybrid_gibbs.init(one, SETTINGS, SecureStream(3))
    moved = first.topics.reshape(60, 5).copy()
    moved[:, 0] = (moved[:, 0] + 1) % 5
    ends = [sweeps(one, first, SecureStream(4)).topics.reshape(60, 5)]
    again += [noisy for _, noisy in tables]
    ends.append(sweeps(two, first._replace(topics=moved.ravel()), SecureStream(4)).topics.reshape(60, 5))
    np.testing.assert_array_equal(ends[0][:, 1:], ends[1][:, 1:])
    assert (ends[0][:, 0] != ends[1][:, 0]).any()


def test_no_two_tables_have_the_same_noise(released):
    tokens = tokens_of(np.full((40, 40), 2))
    sweeps(tokens, hybrid_gibbs.init(tokens, SETTINGS, SecureStream(3)), SecureStream(4))
    noise = {tuple((noisy - exact).ravel()[:50].tolist()) for exact, noisy in released[0]}
    assert len(released[0]) == len(noise) == 5


# ---- cost


def test_two_cells_of_half_the_loss_cost_less_than_one_of_the_whole():
    one_cell = events.composed(events.discrete_laplace(0.5, 2), 300)
    two_cells = events.composed(table_mechanism("laplace", 0.5, 1e-6).event(), 300)
    assert total_epsilon(two_cells, 1e-6) < 0.75 * total_epsilon(one_cell, 1e-6)


def test_gaussian_tables_have_the_zcdp_of_two_cells():
    mechanism = table_mechanism("gaussian", 1.0, 1e-6)
    deviation = float(mechanism.scale)
    rho = 1 / (2 * mechanism.noise_multiplier**2)
    assert rho == pytest.approx(1 / deviation**2)  # L2 sensitivity is the root of 2


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_totals_are_met_and_not_exceeded(noise, epsilon):
    run = plan(noise, epsilon, None, 1e-6, 20)
    spent = total_epsilon(run.event, 1e-6)
    assert 0.97 * epsilon < spent <= epsilon
    counts = Counter()
    for leaf, times in events.leaves(run.event):
        counts[type(leaf).__name__] += times
    assert counts == ({"GaussianDpEvent": 40} if noise == "gaussian" else {"DiscreteLaplaceDpEvent": 80})


# ---- the estimator


def test_what_is_booked_is_what_is_drawn(monkeypatch):
    counts, _ = block_corpus(60, n_topics=2, words_a_topic=6, length=8)
    drawn = []
    original = table_mechanism("laplace", 1.0, 1e-6).__class__.release

    def spy(self, *arguments, **more):
        drawn.append(self.event())
        return original(self, *arguments, **more)

    monkeypatch.setattr("discreet.privacy.mechanism.LaplaceMechanism.release", spy)
    model = HybridGibbsLDA(2, epsilon_noise=0.3, n_sweeps=4, random_state=0).fit(counts)
    assert len(drawn) == 8
    (entry,) = model.release_.ledger.entries
    found = Counter()
    for leaf, times in events.leaves(entry.event):
        found[leaf] += times
    assert found == {next(iter(events.leaves(drawn[0]))).event: 16}


def test_release_states_unit_relation_and_total(tmp_path):
    counts, _ = block_corpus(200, n_topics=2, words_a_topic=6, length=8)
    model = HybridGibbsLDA(2, epsilon=4.0, n_sweeps=4, random_state=0).fit(counts)
    release = model.release_
    assert release.promise.privacy_unit == "word"
    assert release.promise.neighboring == "replace_one"
    assert 3.8 < release.promise.epsilon <= 4.0
    release.save(tmp_path / "model")
    assert Release.load(tmp_path / "model") == release
    per_table = HybridGibbsLDA(2, epsilon_noise=2.0, n_sweeps=4, random_state=0)
    total = per_table.fit(counts).release_.promise.epsilon
    assert 2.0 < total <= 8 * 2.0


@pytest.mark.parametrize("noise", quick(["laplace", "gaussian"], "laplace"))
def test_planted_topics_are_found_where_the_budget_allows(noise):
    counts, truth = block_corpus(2000, n_topics=3, words_a_topic=8, length=20)
    settings = {"noise": noise, "random_state": 0, "doc_topic_prior": 0.1}
    good = HybridGibbsLDA(3, epsilon=60.0, n_sweeps=30, **settings).fit(counts)
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
        (ParameterError, 'noise must be "laplace"', {"epsilon": 1.0, "noise": "uniform"}),
        (ParameterError, "n_sweeps must be a positive", {"epsilon": 1.0, "n_sweeps": 0}),
    ):
        with pytest.raises(error, match=match):
            HybridGibbsLDA(2, ledger=ledger, **settings).fit(X)
    with pytest.raises(PrivacyError, match="would protect word"):
        HybridGibbsLDA(2, epsilon=1.0, ledger=Ledger(1, 1e-6)).fit(X)
    assert not ledger.entries
    with pytest.raises(BudgetExceeded):
        HybridGibbsLDA(2, epsilon=20.0, n_sweeps=2, ledger=ledger).fit(X)
    with pytest.raises(CorpusError, match="row 2"):
        HybridGibbsLDA(2, epsilon=1.0, n_sweeps=2, ledger=ledger).fit([[1, 1], [-3, 0]])
    assert len(ledger.entries) == 1  # it was read by then
