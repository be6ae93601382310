"""The plan: the table of the module, its sum, and that nothing in it jumps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.central_checks import block_corpus

from discreet import PrivateLDA
from discreet.central import private_lda
from discreet.central.plan import COUNT_SHARE, plan
from discreet.evaluate import completion_perplexity
from discreet.privacy import gdp_epsilon

SIZES = (st.floats(-1e4, 1e8), st.floats(0.01, 5), st.integers(1, 20_000), st.integers(1, 200))


def table(n_units, mu, n_words, n_topics):
    """The table in the module's documentation, line by line."""
    x = n_words * n_topics / (max(n_units, 1) * mu)
    words = 4.5 * math.sqrt(n_words * n_topics / x)
    return {
        "x": x,
        "unigram_share": max(0.002, 0.698 * x / (x + 175)),
        "moment_share": 0.04 * x / (1 + x),
        "pairs_share": 0.3,
        "pairs_share_beside_vectors": 0.15,
        "n_rounds": 4,
        "start_words": min(n_words, 850, max(30, int(words))),
        "pairs_power": -(1 / 4 + 1 / 4 / (1 + (x / 2) ** 2)),
        "exponent": 1 / 2 + 1 / 2 / (1 + (x / 2) ** 2),
        "last_step": 0.3 * x / (1 + x),
    }


@given(*SIZES)
@settings(max_examples=300, deadline=None)
def test_plan_is_the_table(n_units, mu, n_words, n_topics):
    assert plan(n_units, mu, n_words, n_topics)._asdict() == pytest.approx(
        table(n_units, mu, n_words, n_topics)
    )


@given(*SIZES, st.floats(1, 1000))
@settings(max_examples=300, deadline=None)
def test_the_bound_is_that_of_the_table(n_units, mu, n_words, n_topics, length):
    """(30 x / L)^(-.7) usual norms: by how much there is to learn for the words that can be heard."""
    planned = plan(n_units, mu, n_words, n_topics)
    x = max(planned.x, 1e-4)
    assert planned.usual_norms(length) == pytest.approx((30 * x / length) ** -0.7)
    assert planned.usual_norms(30) == pytest.approx(x**-0.7)


@given(*SIZES)
@settings(max_examples=300, deadline=None)
def test_rounds_have_what_is_left(n_units, mu, n_words, n_topics):
    """More than the unigram where x is below 175, and something wherever a mechanism can make the noise."""
    planned = plan(n_units, mu, n_words, n_topics)
    shares = [COUNT_SHARE, planned.unigram_share, planned.pairs_share]  # with the moment's
    assert 0 < planned.moment_share < planned.pairs_share_beside_vectors
    assert (1 - sum(shares) > planned.unigram_share) == (planned.x < 175)
    assert sum(shares) < 1
    assert 0 < planned.pairs_share_beside_vectors <= planned.pairs_share


@pytest.mark.parametrize("n_rounds", [1, 2, 3, 8])
def test_rounds_can_be_chosen(n_rounds):
    assert plan(20_000, 1.0, 2000, 20, n_rounds).n_rounds == n_rounds
    assert plan(20_000, math.inf, 2000, 20, n_rounds).n_rounds == n_rounds


@pytest.mark.parametrize(("n_words", "n_topics"), [(300, 5), (2000, 20), (10_000, 100)])
def test_nothing_jumps(n_words, n_topics):
    """A ten-thousandth more units changes nothing by more than a thousandth of itself, words by one more."""
    for n_units in np.geomspace(30, 1e8, 3000):
        one, other = (plan(n, 1.0, n_words, n_topics) for n in (n_units, 1.0001 * n_units))
        assert other.n_rounds == one.n_rounds
        assert abs(other.start_words - one.start_words) <= 1
        assert other.usual_norms(10) == pytest.approx(one.usual_norms(10), rel=1e-3)
        for name, value in one._asdict().items():
            if name != "start_words":
                assert getattr(other, name) == pytest.approx(value, rel=1e-3)


def test_without_privacy_x_is_zero_in_the_same_formulas():
    """But for the number of rounds, which cost nothing then; where x goes to 0 the plan becomes that."""
    exact, nearly = (plan(1e6, mu, 2000, 20) for mu in (math.inf, 1e10))
    assert (exact.x, exact.n_rounds, exact.moment_share, exact.last_step) == (0, 40, 0, 0)
    assert (exact.exponent, exact.pairs_power, exact.start_words) == (1, -0.5, 850)
    assert exact.usual_norms(30) == pytest.approx(1e4**0.7)
    assert nearly._replace(n_rounds=40, x=0) == pytest.approx(exact, abs=1e-9)


def worst_rise(difficulties):
    """Planted texts: the largest perplexity over the best at a smaller budget."""
    counts, _ = block_corpus(2400, 5, 30, 20, 0)
    found = []
    for x in difficulties:
        epsilon = gdp_epsilon(150 * 5 / (2000 * x), 1e-5)
        model = PrivateLDA(5, epsilon=epsilon, delta=1e-5, random_state=1, allow_unlearnable=True)
        topics = model.fit(counts[:2000]).components_
        found.append(completion_perplexity(topics, counts[2000:], n_jobs=1))
    assert found[-1] < 0.7 * found[0]
    return (np.array(found) / np.minimum.accumulate(found)).max()


def test_perplexity_falls_as_epsilon_grows():
    assert worst_rise(np.geomspace(20, 0.03, 12)) < 1.01


@pytest.mark.parametrize(("field", "value"), [("pairs_share", 0.001), ("start_words", 10)])
def test_a_threshold_that_makes_it_jump_is_seen(monkeypatch, field, value):
    def jumping(*sizes):
        planned = plan(*sizes)
        return planned._replace(**{field: value}) if planned.x < 1.7 else planned

    monkeypatch.setattr(private_lda, "plan", jumping)
    assert worst_rise([20, 2.2, 1.8, 1.2]) > 1.01


def test_a_fit_is_planned_by_the_noisy_number_of_units_alone(monkeypatch):
    """The release counts as many as the plan saw, and that is not how many there are."""
    asked = []

    def remembering(n_units, *sizes):
        asked.append(n_units)
        return plan(n_units, *sizes)

    started = []
    monkeypatch.setattr(private_lda, "plan", remembering)
    init = private_lda.full_batch.init
    monkeypatch.setattr(
        private_lda.full_batch, "init", lambda *given: started.append(given[5]) or init(*given)
    )
    count = private_lda.full_batch.count_units
    noisy = []
    monkeypatch.setattr(
        private_lda.full_batch, "count_units", lambda *given: noisy.append(count(*given)) or noisy[-1]
    )
    counts = np.random.default_rng(0).poisson(0.5, (3000, 60))
    PrivateLDA(3, epsilon=2.0, random_state=0, allow_unlearnable=True).fit(counts)
    assert asked == started == noisy
    assert noisy[0] != (counts.sum(1) > 0).sum()
