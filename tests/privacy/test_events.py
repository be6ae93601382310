"""Events: JSON there and back through a fixed list of kinds, words."""

import json
import math

import dp_accounting
import pytest
from dp_accounting import dp_event as dp

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}

ALL = [
    events.gaussian(1.5),
    events.pure(0.5),
    events.discrete_laplace(0.5, 16384),
    events.non_private(),
    events.with_delta(events.gaussian(2.0), 1e-7),
    events.composed(events.poisson_sampled(0.05, events.gaussian(1.24)), 20),
]


@pytest.mark.parametrize("event", ALL, ids=str)
def test_json_round_trip(event):
    assert events.from_json(json.loads(json.dumps(events.to_json(event)))) == event
    assert events.in_words(event)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"kind": "gaussian"},
        {"kind": "gaussian", "noise_multiplier": -1.0},
        {"kind": "gaussian", "noise_multiplier": True},
        {"kind": "gaussian", "noise_multiplier": 1.0, "more": 1},
        {"kind": "os.system", "command": "true"},
        {"kind": ["gaussian"]},
        {"kind": "repeated", "count": 2.5, "event": {"kind": "non_private"}},
        {"kind": "composed", "events": 3},
        {"kind": "poisson_sampled", "sampling_rate": 2.0, "event": {"kind": "non_private"}},
    ],
)
def test_json_that_is_no_event_is_refused(value):
    with pytest.raises((PrivacyError, ParameterError)):
        events.from_json(value)


def test_json_that_is_nested_without_end_is_refused():
    value = {"kind": "non_private"}
    for _ in range(50):
        value = {"kind": "composed", "events": [value]}
    with pytest.raises(PrivacyError):
        events.from_json(value)


def test_leaves_count_repetitions():
    inner = events.gaussian(2.0)
    nested = events.composed(events.with_delta(events.composed(inner, 3), 1e-9), 4)
    found = {type(leaf.event).__name__: leaf.times for leaf in events.leaves(nested)}
    assert found == {"GaussianDpEvent": 12, "FailureDpEvent": 4}


def test_unknown_events_are_refused():
    sampled = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.LaplaceDpEvent(1.0))
    for event in (dp_accounting.UnsupportedDpEvent(), sampled, "gaussian"):
        with pytest.raises(PrivacyError):
            list(events.leaves(event))


@pytest.mark.parametrize(
    "make",
    [
        lambda: events.discrete_laplace(0.5, 0),
        lambda: events.discrete_laplace(0.5, 1.5),
        lambda: events.discrete_laplace(0.5, True),
        lambda: events.with_delta(events.gaussian(1.0), 1.0),
        lambda: events.with_delta(events.gaussian(1.0), 0),
        lambda: events.gaussian(float("nan")),
        lambda: events.gaussian(10**400),
        lambda: events.gaussian(True),
        lambda: events.discrete_laplace(float("inf"), 1),
        lambda: events.composed(events.gaussian(1.0), 2.5),  # would be booked as 2
        lambda: events.composed(events.gaussian(1.0), 2**60),
        lambda: events.from_json({"kind": "discrete_laplace", "noise_parameter": 0.1, "sensitivity": 1.5}),
        lambda: events.from_json({"kind": "failure", "delta": 10**400}),
    ],
)
def test_numbers_that_are_no_noise_are_refused(make):
    with pytest.raises((ParameterError, PrivacyError)):
        make()


@pytest.mark.parametrize(
    "event",
    [
        events.FailureDpEvent(-0.5),
        events.FailureDpEvent(1.0),
        dp.DiscreteLaplaceDpEvent(-1e-4, 2**14),
        dp.SelfComposedDpEvent(events.gaussian(5.0), -1),
        dp.SelfComposedDpEvent(events.gaussian(5.0), 0),
        dp.SelfComposedDpEvent(events.gaussian(5.0), 0.5),
        dp.GaussianDpEvent(-5.0),
        dp.GaussianDpEvent(0.0),
        dp.GaussianDpEvent(math.nan),
        dp.GaussianDpEvent(math.inf),
        dp.PoissonSampledDpEvent(0.0, events.gaussian(1.0)),
        dp.PoissonSampledDpEvent(-0.5, events.gaussian(1.0)),
    ],
    ids=repr,
)
def test_no_event_gives_budget_back(event):
    ledger = Ledger(1, 1e-6)
    reservation = ledger.reserve(events.gaussian(10.0), "base")
    before, left = ledger.spent(), reservation.precision_left
    with pytest.raises(PrivacyError, match=r"must be|must have"):
        ledger.reserve(event, "more")
    with pytest.raises(PrivacyError, match=r"must be|must have"):
        reservation.use(event, **UNIT)
    assert (ledger.spent(), reservation.precision_left) == (before, left)


def test_an_event_of_another_version_is_not_only_called_damage():
    for value in (
        {"kind": "laplace", "noise_multiplier": 2.0},
        {"kind": "composed", "events": [{"kind": "bounded_range", "log_ratio": 0.5}]},
    ):
        with pytest.raises(PrivacyError, match="damaged, or written by another version of discreet"):
            events.from_json(value)
