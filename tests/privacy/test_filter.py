"""The ledger is a filter: whoever picks the kind of the next event by what was released exceeds nothing it states."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from tests.marks import quick
from tests.naive import losses as naive
from tests.naive.adaptive import Game, Move

from discreet.errors import BudgetExceeded, ParameterError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_delta, gdp_epsilon, gdp_mu
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.accounting.totals import composed_epsilon, within
from discreet.privacy.ledger.filter import Budget, Standing
from discreet.privacy.ledger.ledger import Ledger

DELTA = 1e-6
STEP = 0.0025


def release_of(epsilon, delta=DELTA):
    return events.gaussian(noise_multiplier_for(epsilon, delta))


# ---- two kinds of continuation: the attack


def gaussian_delta(mu, epsilon):
    """Delta of a Gaussian at any epsilon, negative ones too."""
    return norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


def lost_by_choosing(first, second, failure, epsilon):
    """Delta of this: a Gaussian; then another one where it was unlucky, and a failure where it was not."""

    def worse(z):
        left = epsilon - first * first / 2 - first * z
        failing = failure + (1 - failure) * max(0.0, -math.expm1(left))
        return norm.pdf(z) * max(gaussian_delta(second, left), failing)

    return sum(quad(worse, u, u + 0.5, epsabs=0, epsrel=1e-9)[0] for u in np.arange(-9, 12, 0.5))


@pytest.mark.parametrize("first", [0.3, 0.5, 0.7, 0.9])
def test_the_kind_of_the_next_event_cannot_be_chosen_to_exceed_the_budget(first):
    noise = noise_multiplier_for(first, DELTA)
    second = math.sqrt(gdp_mu(1, DELTA) ** 2 - 1 / noise**2) * (1 - 1e-12)
    # What composition of either list alone would grant, and what it comes to.
    failure = DELTA - gdp_delta(1 / noise, 1.0)
    assert lost_by_choosing(1 / noise, second, failure, 1.0) > 1.2 * DELTA
    topics = Ledger(1, DELTA)
    topics.reserve(events.gaussian(noise), "first run")
    topics.reserve(events.gaussian(1 / second), "all that is left")
    words = Ledger(1, DELTA)
    words.reserve(events.gaussian(noise), "first run")
    for size in (failure, failure / 10, 1e-12):
        with pytest.raises(BudgetExceeded, match="0 is left for failures"):
            words.reserve(events.with_delta(events.discrete_laplace(0.001, 2**14), size), "vocabulary")


# ---- all that can be chosen: trees of moves


def coins(epsilon, times, failure=0.0):
    event = events.composed(events.discrete_laplace(epsilon, 1), times)
    cells, weights = naive.composed([(naive.coin(epsilon), times)], epsilon, np.round)
    return Move(events.with_delta(event, failure) if failure else event, cells, weights, STEP, failure)


def noise(mu, failure=0.0):
    event = events.gaussian(1 / mu)
    losses, weights = naive.gaussian(mu, 20_001)
    return Move(events.with_delta(event, failure) if failure else event, losses, weights, STEP, failure)


def laplace(epsilon, failure=0.0):
    event = events.discrete_laplace(epsilon, 2**14)
    return Move(
        events.with_delta(event, failure) if failure else event, *naive.laplace(epsilon, 501), STEP, failure
    )


def sampled(rate, multiplier, times, *, remove):
    event = events.composed(events.poisson_sampled(rate, events.gaussian(multiplier)), times)
    one = naive.sampled_gaussian(multiplier, rate, remove, 20_001)
    return Move(event, *naive.composed([(one, times)], STEP / 5, np.floor), STEP)


MENUS = {
    "noise or words": ([noise(0.15), noise(0.1), laplace(0.05, 5e-8), coins(0.1, 1, 2e-8)], 1.0),
    "noise of any size": ([noise(0.2), noise(0.1), noise(0.05, 1e-8)], 1.0),
    "coins or noise": ([coins(0.3, 1), coins(0.1, 1), noise(0.1), noise(0.15)], 1.2),
    "many coins at once": ([coins(0.03, 100), coins(0.1, 4), noise(0.1), laplace(0.1, 3e-8)], 2.0),
    "more than half of the share": ([coins(0.03, 100, 6e-8), coins(0.1, 1), noise(0.1), noise(0.15)], 2.0),
    "samples, removed": ([sampled(0.05, 1.5, 10, remove=True), noise(0.1), coins(0.2, 1, 3e-8)], 1.5),
    "samples, added": ([sampled(0.05, 1.5, 10, remove=False), noise(0.1), coins(0.2, 1, 3e-8)], 1.5),
}
START = Budget(1.0, DELTA, "document", "add_or_remove_one", "", None)


#: As in the attack above: all that is left as noise, or all that is left of delta.
_FIRST = gdp_mu(0.7, DELTA)
TRADE = [
    noise(_FIRST),
    noise(math.sqrt(gdp_mu(1, DELTA) ** 2 - _FIRST**2) * (1 - 1e-9)),
    coins(0.001, 1, (DELTA - gdp_delta(_FIRST, 1.0)) * 0.95),
]
MENUS["all of either"] = (TRADE, 1.0)


def at(epsilon, share=None):
    return Standing(START._replace(epsilon=epsilon, failure_share=share))


def stated(standing):
    return standing.cost().epsilon


@pytest.mark.parametrize("share", quick([None, 0.3], 0.3))
@pytest.mark.parametrize("menu", MENUS)
def test_no_tree_of_moves_exceeds_the_budget(menu, share):
    moves, epsilon = MENUS[menu]
    game = Game(moves, epsilon, lambda standing: within(stated(standing), epsilon), STEP, depth=3)
    lost = game.lost(at(epsilon, share))
    assert 1e-3 * DELTA < lost <= DELTA


@pytest.mark.parametrize("menu", quick(MENUS, "noise or words", "coins or noise"))
def test_no_tree_of_moves_exceeds_what_it_states(menu):
    """Of a large budget: what is stated at e or below is (e, delta)-private, for every e."""
    moves, epsilon = MENUS[menu]
    start = at(4 * epsilon)
    chance = random.Random(menu)
    once = [stated(start.after([move.event])) for move in moves]
    for e in [*once, *(chance.uniform(min(once), 1.5 * epsilon) for _ in range(4))]:
        game = Game(moves, e, lambda standing, e=e: stated(standing) <= e, STEP, depth=3)
        assert game.lost(start) <= DELTA


def test_random_trees_exceed_nothing():
    chance = random.Random(5)
    makers = [
        lambda: noise(chance.uniform(0.05, 0.25), chance.choice([0.0, 1e-8, 5e-8])),
        lambda: coins(chance.choice([0.05, 0.1, 0.2, 0.4]), 1, chance.choice([0.0, 1e-8, 5e-8])),
        lambda: coins(chance.choice([0.01, 0.02]), chance.choice([50, 200])),
        lambda: laplace(chance.uniform(0.02, 0.5), chance.choice([0.0, 3e-8])),
    ]
    for _ in range(6):
        moves = [chance.choice(makers)() for _ in range(3)]
        epsilon = chance.uniform(0.6, 3)
        share = chance.choice([None, 0.0, 0.1, 0.5])
        game = Game(moves, epsilon, lambda s, e=epsilon: within(stated(s), e), STEP, depth=3)
        assert game.lost(at(epsilon, share)) <= DELTA


class Composes(Standing):
    """The planted mistake: all that was booked, composed as if it had been fixed beforehand."""

    booked: tuple = ()

    def after(self, parts):
        now = Composes(*self)
        now.booked = (*self.booked, *parts)
        return now

    def cost(self):
        return composed_epsilon(self.booked, self.budget.delta)


def test_composing_whatever_was_booked_would_be_seen():
    game = Game(TRADE, 1.0, lambda standing: within(stated(standing), 1.0), STEP, depth=2)
    assert game.lost(at(1.0)) <= DELTA
    assert game.lost(Composes(at(1.0).budget)) > 1.1 * DELTA


def test_a_share_that_follows_what_is_spent_would_be_seen(monkeypatch):
    # Counting only the failures that were booked, not what was set aside, lets noise and failures be traded.
    game = Game(TRADE, 1.0, lambda standing: within(stated(standing), 1.0), STEP, depth=2)
    assert game.lost(at(1.0, 0.99)) <= DELTA

    def traded(self):
        return self.first._replace(
            precision=self.first.precision + self.precision, failure=self.first.failure + self.failure
        )

    monkeypatch.setattr(Standing, "frame", traded)
    assert game.lost(at(1.0, 0.99)) > 1.1 * DELTA


# ---- what it costs


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1, 60), min_size=1, max_size=6), st.floats(0.2, 6))
def test_a_ledger_of_gaussian_noise_loses_nothing(multipliers, epsilon):
    ledger, granted = Ledger(epsilon, DELTA), []
    for multiplier in multipliers:
        event = events.gaussian(multiplier)
        if composed_epsilon([*granted, event], DELTA).epsilon <= epsilon:
            ledger.reserve(event, "noise")
            granted.append(event)
        else:
            with pytest.raises(BudgetExceeded):
                ledger.reserve(event, "noise")
        assert ledger.spent() == composed_epsilon(granted, DELTA)


def test_the_first_booking_loses_nothing_whatever_it_is():
    for event in (
        events.with_delta(events.discrete_laplace(0.5, 2**14), 1e-7),
        events.composed(events.poisson_sampled(0.05, events.gaussian(1.24)), 20),
        events.composed(events.discrete_laplace(0.003, 1), 10_000),
        events.discrete_laplace(0.3, 8),
    ):
        alone = composed_epsilon([event], DELTA)
        ledger = Ledger(alone.epsilon, DELTA)
        ledger.reserve(event, "all of it")
        assert ledger.spent() == alone


def test_pure_losses_that_come_first_add_up():
    ledger = Ledger(2, DELTA)
    for _ in range(3):
        ledger.reserve(events.pure(0.25), "a count")
    assert ledger.spent()[:2] == (0.75, DELTA)
    assert ledger.remaining().epsilon == pytest.approx(1.25)
    ledger.reserve(release_of(1.25), "topics")
    assert ledger.spent().epsilon == pytest.approx(2)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(events.pure(0.01), "another count")


def test_many_small_losses_at_once_are_priced_as_a_whole():
    many = events.composed(events.discrete_laplace(0.003, 1), 10_000)  # their sum is 30
    ledger = Ledger(2, DELTA)
    ledger.reserve(many, "coins")
    assert ledger.spent().epsilon == pytest.approx(1.2915, abs=1e-3)
    ledger.reserve(release_of(1), "topics")
    assert composed_epsilon([many, release_of(1)], DELTA).epsilon < ledger.spent().epsilon < 2


def test_what_the_filter_costs_words_and_topics():
    words = events.with_delta(events.discrete_laplace(0.5, 2**14), 1e-7)
    ledger = Ledger(2, DELTA)
    ledger.reserve(words, "words")
    ledger.reserve(release_of(1.5), "topics")
    exact = composed_epsilon([words, release_of(1.5)], DELTA).epsilon
    assert exact < ledger.spent().epsilon < 1.01 * exact
    with_nothing_aside = Ledger(2, DELTA, failure_share=0.0)
    with_nothing_aside.reserve(words, "words")
    with_nothing_aside.reserve(release_of(1.5), "topics")
    assert with_nothing_aside.spent().epsilon == exact


def test_the_share_for_failures():
    gaussian_first = Ledger(2, DELTA)
    gaussian_first.reserve(release_of(1), "topics")
    with pytest.raises(BudgetExceeded, match="0 is left for failures"):
        gaussian_first.reserve(events.with_delta(events.gaussian(20.0), 1e-9), "words")
    set_aside = Ledger(2, DELTA, failure_share=0.1)
    set_aside.reserve(release_of(1), "topics")
    set_aside.reserve(events.with_delta(events.gaussian(20.0), 1e-7), "words")
    precision = float(Fraction(1) / Fraction(noise_multiplier_for(1, DELTA)) ** 2 + Fraction(1, 400))
    assert set_aside.spent().epsilon == pytest.approx(gdp_epsilon(math.sqrt(precision), 9e-7), rel=1e-9)
    for share in (-0.1, 1.0, math.nan, True, "0.1"):
        with pytest.raises(ParameterError, match="failure_share"):
            Ledger(2, DELTA, failure_share=share)


@pytest.mark.parametrize("share", [0.5, 0.001])
@pytest.mark.parametrize("part", quick([0.1, 0.5, 0.51, 0.9, 1 - 1e-9, 1], 0.51, 1))
def test_what_is_left_for_failures_is_left_for_a_booking_of_any_kind(share, part):
    """What a cover spends beside a booking's own failure once made the two together more than what was left."""
    for booked in (
        events.gaussian(20.0),
        events.discrete_laplace(0.1, 2**10),
        events.composed(events.poisson_sampled(0.01, events.gaussian(4.0)), 5),
    ):
        ledger = Ledger(4, DELTA, failure_share=share)
        ledger.reserve(release_of(1), "topics")
        ledger.reserve(events.with_delta(booked, ledger.failure_left * part), "words")
        assert 1 < ledger.spent().epsilon < (1.3 if part < 0.999 else 3)
        assert (
            0
            <= Fraction(ledger.failure_left)
            <= Fraction(share) * Fraction(DELTA) * Fraction(1 - part + 1e-15)
        )
        with pytest.raises(BudgetExceeded, match="failures take more of it than there is"):
            ledger.reserve(events.with_delta(booked, max(ledger.failure_left * 1.01, 1e-15)), "more words")


def test_an_infinite_ledger_states_what_the_filter_proves():
    ledger = Ledger(math.inf, DELTA)
    ledger.reserve(release_of(1), "topics")
    ledger.reserve(release_of(1), "topics again")
    assert ledger.spent().epsilon == composed_epsilon([release_of(1)] * 2, DELTA).epsilon
    ledger.reserve(events.with_delta(events.pure(0.1), 1e-8), "words")
    assert ledger.spent().epsilon == math.inf  # nothing was set aside for that
