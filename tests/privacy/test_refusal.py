"""What a refusal advises is of the event's own kind, and can be booked."""

import re

import numpy as np
import pytest
from tests.marks import quick
from tests.test_api import CLASSES, NO_LEDGER

from discreet import (
    HybridGibbsLDA,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    PrivateSVILDA,
    Release,
    TopicPrevalence,
)
from discreet.central import choose_n_topics_privately
from discreet.errors import BudgetExceeded
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger

DELTA = 1e-6


def begun():
    ledger = Ledger(2, DELTA, failure_share=0.2)
    ledger.reserve(events.gaussian(noise_multiplier_for(1.2, DELTA)), "before")
    return ledger


def advised(refused):
    """Return the number at the end of a refusal."""
    number = r"at (?:most|least) ([\d.e-]+)(?: times as much noise| \(epsilon=[\d.e-]+\))?\.$"
    return float(re.search(number, str(refused.value))[1])


@pytest.mark.parametrize("method", ["weighted_gaussian", "sips"])
def test_the_epsilon_that_is_advised_for_words_can_be_booked(method):
    ledger = begun()
    with pytest.raises(BudgetExceeded) as refused:
        PrivateCountVectorizer(epsilon=1.8, method=method, ledger=ledger).fit(["a b c"])
    epsilon = advised(refused)
    for more in (1.02, 1.0):
        event = PrivateCountVectorizer(epsilon=epsilon * more, method=method, ledger=ledger).planned_event()
        if more > 1:
            with pytest.raises(BudgetExceeded):
                ledger.reserve(event, "a little more")
        else:
            ledger.reserve(event, "as advised")


KINDS = {
    "laplace": (events.laplace(1.9), events.laplace),
    "gaussian": (events.gaussian(1.0), events.gaussian),
    "coins": (
        events.composed(events.discrete_laplace(0.5, 1), 10),
        lambda x: events.composed(events.discrete_laplace(x, 1), 10),
    ),
    "samples": (
        events.composed(events.poisson_sampled(0.05, events.gaussian(0.7)), 20),
        lambda x: events.composed(events.poisson_sampled(0.05, events.gaussian(0.7 * x)), 20),
    ),
}


@pytest.mark.parametrize("kind", quick(KINDS, "laplace"))
def test_what_is_advised_for_an_event_can_be_booked(kind):
    event, at = KINDS[kind]
    ledger = begun()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(event, "too much")
    ledger.reserve(at(advised(refused)), "as advised")


#: Kinds that the tests above have not: an event that is too much, and the same at what is advised.
MORE_KINDS = {
    "discrete Laplace": (events.discrete_laplace(1.9, 1024), lambda x: events.discrete_laplace(x, 1024)),
    "any pure loss": (events.pure(1.9), events.pure),
    "bounded range": (events.bounded_range(3.0), events.bounded_range),
    "words with a threshold": (
        events.with_delta(events.discrete_laplace(1.9, 64), 1e-8),
        lambda x: events.with_delta(events.discrete_laplace(x, 64), 1e-8),
    ),
    "Gaussian with a threshold": (
        events.with_delta(events.gaussian(1.0), 1e-8),
        lambda x: events.with_delta(events.gaussian(x), 1e-8),
    ),
    "several Gaussians": (
        events.composed(events.gaussian(2.0), 9),
        lambda x: events.composed(events.gaussian(2.0 * x), 9),
    ),
    "words and topics": (
        events.together(events.laplace(0.7), events.gaussian(2.0)),
        lambda x: events.with_noise(events.together(events.laplace(0.7), events.gaussian(2.0)), x),
    ),
    "two kinds of words": (
        events.together(events.laplace(0.7), events.discrete_laplace(0.9, 8)),
        lambda x: events.with_noise(events.together(events.laplace(0.7), events.discrete_laplace(0.9, 8)), x),
    ),
}


@pytest.mark.parametrize("kind", quick(MORE_KINDS, "words and topics"))
def test_what_is_advised_can_be_booked_for_every_kind_of_event(kind):
    event, at = MORE_KINDS[kind]
    ledger = begun()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(event, "too much")
    ledger.reserve(at(advised(refused)), "as advised")


X = np.ones((40, 6), dtype=int)
NAMED = Release(np.full((2, 6), 1 / 6), [f"w{i}" for i in range(6)], Ledger(1.0, 1e-6))
#: Every estimator that books on a ledger it is given, and one call that asks for too much.
ESTIMATORS = {
    "PrivateLDA": (lambda **how: PrivateLDA(2, **how), {"X": X}),
    "PrivateLDA, rounds": (lambda **how: PrivateLDA(2, n_rounds=4, **how), {"X": X}),
    "PrivateSVILDA": (lambda **how: PrivateSVILDA(2, sampling_rate=0.3, **how), {"X": X}),
    "HybridGibbsLDA": (lambda **how: HybridGibbsLDA(2, n_sweeps=3, **how), {"X": X}),
    "HybridGibbsLDA, gaussian": (
        lambda **how: HybridGibbsLDA(2, n_sweeps=3, noise="gaussian", **how),
        {"X": X},
    ),
    "PrivateFit": (lambda **how: PrivateFit(NAMED, **how), {"X": X}),
    "TopicPrevalence": (
        lambda **how: TopicPrevalence(NAMED, groups=["a", "b"], **how),
        {"X": X, "by": ["a", "b"] * 20},
    ),
    "TopicPrevalence, private groups": (
        lambda **how: TopicPrevalence(NAMED, group_selection="private", **how),
        {"X": X, "by": ["a", "b"] * 20},
    ),
}


@pytest.mark.parametrize("name", quick(ESTIMATORS, "PrivateLDA", "TopicPrevalence"))
def test_what_is_advised_to_an_estimator_can_be_booked_by_it(name):
    make, call = ESTIMATORS[name]
    word = name.startswith("HybridGibbs")
    unit = {"privacy_unit": "word", "neighboring": "replace_one"} if word else {}
    ledger = Ledger(2, DELTA, failure_share=0.2, **unit)
    ledger.reserve(events.gaussian(noise_multiplier_for(1.2, DELTA)), "before")
    with pytest.raises(BudgetExceeded) as refused:
        make(epsilon=1.9, ledger=ledger).fit(**call)
    epsilon = advised(refused)
    assert 0.1 < epsilon < 1.9
    with pytest.raises(BudgetExceeded):
        ledger.reserve(make(epsilon=1.05 * epsilon, ledger=ledger).planned_event(), "a little more")
    ledger.reserve(make(epsilon=epsilon, ledger=ledger).planned_event(), "as advised")


def test_no_estimator_with_a_ledger_is_left_out():
    asked = {name.partition(",")[0] for name in ESTIMATORS}
    assert asked | {"PrivateCountVectorizer"} == CLASSES.keys() - NO_LEDGER.keys()  # words: asked above


@pytest.mark.integration
def test_what_is_advised_for_the_choice_of_a_number_of_topics_can_be_taken():
    ledger = begun()
    ask = {"ledger": ledger, "random_state": 0, "allow_unlearnable": True}
    with pytest.raises(BudgetExceeded) as refused:
        choose_n_topics_privately(X, [2, 3], epsilon=1.9, **ask)
    choose_n_topics_privately(X, [2, 3], epsilon=advised(refused), **ask)
    assert ledger.spent().epsilon <= 2 * (1 + 1e-9)
