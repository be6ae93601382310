"""Sizes and shares: the table of the module, and their sum."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.central.rounds.em_round import SCALED, Contribution
from discreet.central.rounds.schedule import COUNT_SHARE, plan
from discreet.privacy.bound import MAX_BITS


def table(n_units, mu, n_words):
    """The table in the module's documentation, word by word."""
    s = max(n_units * mu, 1)
    unigram = min(max(0.05 * n_words / s, 0.03), 0.25)
    start = 0.25 if s > 40_000 else 0.4
    least, most = min(100, n_words), min(n_words, 1000)
    words = int(min(max(4.5 * math.sqrt(s), least), most))
    weights = [1, 2, 3] if s < 1500 else [1, 1, 1, 2, 3]
    rest = 1 - 0.002 - unigram - start
    rounds = [rest * weight / sum(weights) for weight in weights]
    return unigram, start, words, rounds, 0.7 if s < 3000 else 0.5


@given(st.floats(-1e4, 1e7), st.floats(0.01, 5), st.integers(1, 20_000))
@settings(max_examples=200, deadline=None)
def test_plan_is_the_table_and_shares_add_up_to_one(n_units, mu, n_words):
    schedule = plan(n_units, mu, n_words)
    unigram, start, words, rounds, forgetting = table(n_units, mu, n_words)
    assert schedule.unigram_share == pytest.approx(unigram)
    assert schedule.start_share == start
    assert schedule.start_words == words
    assert schedule.round_shares == pytest.approx(rounds)
    assert schedule.forgetting == forgetting
    assert schedule.contribution == SCALED
    assert schedule.pairs_power == -0.25
    total = COUNT_SHARE + schedule.unigram_share + schedule.start_share + sum(schedule.round_shares)
    assert total == pytest.approx(1, abs=1e-12)
    assert min(schedule.unigram_share, schedule.start_share, *schedule.round_shares) > 0


@pytest.mark.parametrize("n_rounds", [1, 2, 3, 8])
def test_rounds_can_be_chosen(n_rounds):
    schedule = plan(20_000, 1.0, 2000, n_rounds)
    assert len(schedule.round_shares) == n_rounds
    assert sum(schedule.round_shares) == pytest.approx(
        1 - COUNT_SHARE - schedule.unigram_share - schedule.start_share
    )


@given(st.floats(2000, 1e8), st.floats(0.01, 5), st.integers(1, 5000), st.integers(1, 100))
@settings(max_examples=200, deadline=None)
def test_where_units_are_plentiful_they_are_to_give_counts(n_units, mu, n_words, n_topics):
    scarce = plan(n_units, mu, n_words)
    planned = plan(n_units, mu, n_words, n_topics=n_topics)
    x = n_words * n_topics / max(n_units * mu, 1)
    if x >= 0.6:
        assert planned == scarce
        return
    assert planned.usual_norms == pytest.approx(2 * (0.3 / x) ** 0.7)
    assert (planned.start_share, planned.pairs_power) == (0.15, -0.5)
    assert planned.start_words == min(scarce.start_words, 700)
    more = (sum(scarce.round_shares) + scarce.start_share - 0.15) / sum(scarce.round_shares)
    rounds = [more * share for share in scarce.round_shares]
    shares = rounds
    if x < 0.1:
        shares = [sum(shares) * 1.25**i / sum(1.25**j for j in range(8)) for i in range(8)]
    assert planned.round_shares == pytest.approx(shares)
    assert planned.if_short == scarce


def test_the_bound_grows_with_what_can_be_heard():
    signals = (60_000, 70_000, 4e4 / 0.3, 1e6, 1e7)
    bounds = [plan(signal, 1.0, 2000, n_topics=20).usual_norms for signal in signals]
    assert bounds[0] == 0
    assert 1.2 < bounds[1] < 1.4
    assert bounds[2] == pytest.approx(2.0)
    assert bounds == sorted(bounds)


def test_rounds_that_were_chosen_are_shared_out_as_ever_where_units_are_plentiful():
    planned = plan(1e7, 1.0, 2000, 4000, n_topics=20)
    assert planned.usual_norms > 1
    scarce = plan(1e7, 1.0, 2000, 4000)
    more = (sum(scarce.round_shares) + scarce.start_share - 0.15) / sum(scarce.round_shares)
    assert planned.round_shares == pytest.approx([more * share for share in scarce.round_shares])


@pytest.mark.parametrize(("signal", "n_rounds"), [(400, 4), (1000, 4), (4000, 8), (8000, 8)])
def test_plentiful_units_give_counts_also_where_vectors_are_believed(signal, n_rounds):
    planned = plan(signal, 1.0, 100, with_vectors=True, n_topics=2)
    assert planned.believed.usual_norms == planned.usual_norms > 0
    assert len(planned.believed.round_shares) == n_rounds
    assert COUNT_SHARE + planned.unigram_share + sum(planned.moment_shares) + sum(
        planned.believed.round_shares
    ) + planned.believed.start_share == pytest.approx(1, abs=1e-12)
    assert planned.if_short == plan(signal, 1.0, 100, with_vectors=True)


def test_without_privacy_rounds_are_many_and_shares_are_zero():
    schedule = plan(123.0, math.inf, 2000)
    assert schedule.round_shares == (0.0,) * 40
    assert schedule.start_words == 500
    assert schedule.contribution == Contribution(1.0, 1000.0, matched=True, bits=MAX_BITS)
    assert plan(123.0, math.inf, 20, 4).start_words == 20


@pytest.mark.parametrize(
    ("signal", "looks", "closer_unigram", "start", "n_rounds"),
    [
        (300, (0.01, 0.04), 0.0, 0.0, 4),
        (500, (0.01, 0.04), 0.05, 0.0, 4),
        (1000, (0.01, 0.04), 0.1, 0.0, 4),
        (4000, (0.01, 0.025), 0.02, 0.09, 5),
        (6000, (0.01, 0.0625 / 3.75), 0.0, 0.1875, 5),
        (8000, (0.01, 0.0125), 0.0, 0.2625, 7),
        (10_000, (0, 0), 0.0, 0.3, 7),
        (30_000, (0, 0), 0.0, 0.4, 5),
    ],
)
def test_the_plan_with_vectors_is_the_table(signal, looks, closer_unigram, start, n_rounds):
    planned = plan(signal, 1.0, 2000, with_vectors=True)
    plain = plan(signal, 1.0, 2000)
    assert planned.moment_shares == pytest.approx(looks)
    assert planned.closer_unigram_share == plain.closer_unigram_share == 0
    if looks[0]:
        for way, taken in ((planned, looks[0]), (planned.doubted, sum(looks))):
            left = 1 - taken / (1 - COUNT_SHARE - plain.unigram_share)
            assert way.start_share == pytest.approx(plain.start_share * left)
            assert way.round_shares == pytest.approx([share * left for share in plain.round_shares])
            assert way.closer_unigram_share == 0
        planned = planned.believed
        spent = (planned.unigram_share, closer_unigram, start, *planned.round_shares)
        assert COUNT_SHARE + sum(looks) + sum(spent) == pytest.approx(1)
    assert planned.closer_unigram_share == pytest.approx(closer_unigram)
    assert planned.start_share == pytest.approx(start)
    assert len(planned.round_shares) == n_rounds
    assert planned.unigram_share == plain.unigram_share
    assert plain.believed is None
