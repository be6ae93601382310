"""What a refusal advises is of the event's own kind, and can be booked."""

import re

import pytest

from discreet import PrivateCountVectorizer
from discreet.errors import BudgetExceeded
from discreet.privacy.accounting import events
from discreet.privacy.accounting.totals import noise_multiplier_for
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


@pytest.mark.parametrize("method", ["greedy", "weighted_gaussian", "policy_gaussian", "sips"])
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
    "gaussian": (events.gaussian(1.0), lambda x: events.gaussian(noise_multiplier_for(x, DELTA))),
    "coins": (
        events.composed(events.discrete_laplace(0.5, 1), 10),
        lambda x: events.composed(events.discrete_laplace(x, 1), 10),
    ),
    "samples": (
        events.composed(events.poisson_sampled(0.05, events.gaussian(0.7)), 20),
        lambda x: events.composed(events.poisson_sampled(0.05, events.gaussian(0.7 * x)), 20),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_advised_for_an_event_can_be_booked(kind):
    event, at = KINDS[kind]
    ledger = begun()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(event, "too much")
    ledger.reserve(at(advised(refused)), "as advised")
