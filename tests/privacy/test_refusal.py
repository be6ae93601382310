"""What a refusal advises is of the event's own kind, and can be booked."""

import re
from fractions import Fraction
from itertools import pairwise

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
from discreet.privacy.accounting.curves import sort_events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.private_estimator import spent_and_left

DELTA = 1e-6


def begun():
    ledger = Ledger(2, DELTA, failure_share=0.2)
    ledger.reserve(events.gaussian(noise_multiplier_for(1.2, DELTA)), "before")
    return ledger


def test_what_may_still_be_spent_is_rounded_down():
    for spent in (0.31, 0.5, 0.77, 0.9, 1.2, 1.4):
        ledger = Ledger(2, DELTA)
        ledger.reserve(events.gaussian(noise_multiplier_for(spent, DELTA)), "before")
        told = re.search(r"may spend about ([\d.]+):", spent_and_left(ledger))[1]
        assert 0.99 * ledger.remaining().epsilon < float(told) <= ledger.remaining().epsilon


def advised(refused):
    """Return the number at the end of a refusal."""
    number = r"at most ([\d.e-]+)(?: \(epsilon=[\d.e-]+\))?\.$"
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


def test_what_is_left_for_one_gaussian_release_can_be_booked():
    ledger = begun()
    with pytest.raises(BudgetExceeded, match=r"What is left is epsilon = ([\d.]+) at this delta") as refused:
        ledger.reserve(events.composed(events.discrete_laplace(0.5, 1), 10), "too much")
    left = float(re.search(r"epsilon = ([\d.]+) at this delta for one", str(refused.value))[1])
    ledger.reserve(events.gaussian(noise_multiplier_for(left, DELTA)), "as told")


def test_a_ledger_pays_for_many_choices_of_words():
    ledger, failures = Ledger(10, DELTA), []
    for _ in range(12):
        event = PrivateCountVectorizer(epsilon=0.3, ledger=ledger).planned_event()
        ledger.reserve(event, "words")
        failures.append(sort_events([event]).failure)
        ledger.reserve(events.gaussian(noise_multiplier_for(0.5, DELTA)), "topics")
    assert failures[0] == failures[1] == Fraction(DELTA / 10 / 2)
    assert all(later == earlier / 2 for earlier, later in pairwise(failures[1:]))
    assert sum(failures[1:]) < Fraction(DELTA) / 10
    assert ledger.spent().epsilon < 10


def test_what_may_fail_is_told_what_is_left_for_that():
    ledger = Ledger(4, DELTA)
    ledger.reserve(events.gaussian(noise_multiplier_for(2, DELTA)), "topics of public words")
    with pytest.raises(BudgetExceeded, match="1e-06, 0 is left for failures") as refused:
        PrivateCountVectorizer(epsilon=0.3, ledger=ledger).fit(["a b c"])
    left = float(re.search(r"epsilon = ([\d.]+) at this delta for one", str(refused.value))[1])
    assert "delta" not in str(refused.value).partition("`vocabulary=`")[2].replace("the ledger's delta", "")
    ledger.reserve(events.gaussian(noise_multiplier_for(left, DELTA)), "as told")


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
def test_a_refused_choice_of_a_number_of_topics_says_what_is_left_and_half_of_it_can_be_taken():
    ledger = begun()
    ask = {"ledger": ledger, "allow_unlearnable": True}
    with pytest.raises(BudgetExceeded) as refused:
        choose_n_topics_privately(X, [2, 3], epsilon=1.9, **ask)
    left = float(re.search(r"What is left is epsilon = ([\d.]+)", str(refused.value))[1])
    assert 1.2 < left < 1.9
    choose_n_topics_privately(X, [2, 3], epsilon=left / 2, **ask)
    assert ledger.spent().epsilon <= 2 * (1 + 1e-9)
