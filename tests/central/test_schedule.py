"""Sizes and shares: the table of the module, and their sum."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.central.rounds.em_round import SCALED, Contribution
from discreet.central.rounds.schedule import COUNT_SHARE, plan


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


def test_without_privacy_rounds_are_many_and_shares_are_zero():
    schedule = plan(123.0, math.inf, 2000)
    assert schedule.round_shares == (0.0,) * 40
    assert schedule.start_words == 500
    assert schedule.contribution == Contribution(1.0, 1000.0)
    assert plan(123.0, math.inf, 20, 4).start_words == 20


@pytest.mark.parametrize(
    ("signal", "moment", "start", "n_rounds"),
    [
        (1000, 0.05, 0.0, 4),
        (4000, 0.05, 0.09, 5),
        (8000, 0.05, 0.15, 5),
        (10_000, 0, 0.3, 7),
        (30_000, 0, 0.4, 5),
    ],
)
def test_the_plan_with_vectors_is_the_table(signal, moment, start, n_rounds):
    planned = plan(signal, 1.0, 2000, with_vectors=True)
    plain = plan(signal, 1.0, 2000)
    assert planned.moment_share == pytest.approx(moment)
    if moment:
        left = 1 - moment / (1 - COUNT_SHARE - plain.unigram_share)
        assert planned.start_share == pytest.approx(plain.start_share * left)
        assert planned.round_shares == pytest.approx([share * left for share in plain.round_shares])
        planned = planned.believed
    assert planned.start_share == pytest.approx(start)
    assert len(planned.round_shares) == n_rounds
    assert planned.unigram_share == plain.unigram_share
    assert plain.believed is None
