"""Disjoint parts: each document pays for its own, as in a slow twin with a ledger for each; persons are refused."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Ledger
from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy import events

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}

MONTHS = ["2024-01", "2024-02", "2024-03"]
DIVISION = {"division": "month of the date received"}
KINDS = {
    "gaussian": lambda: events.gaussian(9.0),
    "small": lambda: events.gaussian(30.0),
    "pure": lambda: events.discrete_laplace(0.1, 1),
    "words": lambda: events.with_delta(events.gaussian(20.0), 1e-8),
}
BOOKING = st.tuples(
    st.sampled_from(sorted(KINDS)), st.lists(st.sampled_from(MONTHS), unique=True, max_size=2)
)


@given(st.lists(BOOKING, max_size=6))
@settings(deadline=None, max_examples=40)
def test_what_is_spent_is_the_most_that_any_document_lost(bookings):
    ledger = Ledger(math.inf, 1e-6)
    of_part = {part: Ledger(math.inf, 1e-6) for part in [*MONTHS, "none"]}
    for kind, touched in bookings:
        event = KINDS[kind]()
        if touched:
            ledger.reserve(event, kind, touched=touched, **DIVISION)
        else:
            ledger.reserve(event, kind)
        for part, slow in of_part.items():
            if not touched or part in touched:
                slow.reserve(event, kind)
    most = max(slow.spent().epsilon for slow in of_part.values())
    assert ledger.spent().epsilon == pytest.approx(most, rel=1e-12)
    assert Ledger.from_json(ledger.snapshot().to_json()).spent() == ledger.spent()


def test_a_year_of_months_costs_as_one_month_and_the_next_release_of_all_is_added():
    ledger = Ledger(1.0, 1e-6)
    month = events.gaussian(8.0)
    ledger.reserve(events.gaussian(8.0), "topics")
    for number in range(1, 13):
        ledger.reserve(month, "shares", touched=[f"2024-{number:02d}"], **DIVISION)
    both = Ledger(1.0, 1e-6)
    both.reserve(events.gaussian(8.0), "topics")
    both.reserve(month, "shares")
    assert ledger.spent().epsilon == pytest.approx(both.spent().epsilon, rel=1e-12)
    assert ledger.remaining() == both.remaining()
    again = ledger.reserve(month, "shares", touched=["2024-05"], **DIVISION)  # a second time for May
    both.reserve(month, "shares")
    assert ledger.spent().epsilon == pytest.approx(both.spent().epsilon, rel=1e-12)
    again.use(month, **UNIT)
    with pytest.raises(PrivacyError, match="does not cover"):
        again.use(month, **UNIT)


def test_a_month_whose_budget_is_spent_is_refused_and_another_is_not():
    ledger = Ledger(1.0, 1e-6)
    event = events.gaussian(5.0)  # nearly all of the budget
    ledger.reserve(event, "shares", touched=["2024-01", "2024-02"], **DIVISION)
    before = ledger.entries
    for touched in (["2024-02"], ["2024-02", "2024-03"]):
        with pytest.raises(BudgetExceeded, match="This was not booked"):
            ledger.reserve(event, "shares", touched=touched, **DIVISION)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(event, "topics")
    assert ledger.entries == before
    ledger.reserve(event, "shares", touched=["2024-03"], **DIVISION)
    assert ledger.entries[-1].touched == ("2024-03",)


@pytest.mark.parametrize("relation", [{"privacy_unit": "person"}, {"neighboring": "replace_one"}])
def test_parts_of_a_person_or_of_replaced_documents_are_refused(relation):
    ledger = Ledger(1.0, 1e-6, **relation)
    with pytest.raises(PrivacyError, match="their costs add up"):
        ledger.reserve(events.gaussian(9.0), "shares", touched=["2024-01"], **DIVISION)
    assert not ledger.entries


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"division": "quarter of the date received", "touched": ["2024-Q1"]}, "a part in both divisions"),
        ({"division": "", "touched": ["2024-01"]}, "must have a name"),
        ({**DIVISION, "touched": []}, "distinct names"),
        ({**DIVISION, "touched": [1]}, "all of them text"),
        ({"division": 5, "touched": ["2024-01"]}, "all of them text"),
        ({**DIVISION, "touched": ["2024-01", "2024-01"]}, "distinct names"),
        ({**DIVISION, "touched": ["\ud83d\ude00", "\U0001f600"]}, "valid Unicode"),  # one letter after JSON
    ],
)
def test_other_divisions_and_nameless_parts_are_refused(given, message):
    ledger = Ledger(1.0, 1e-6)
    ledger.reserve(events.gaussian(9.0), "shares", touched=["2024-01"], **DIVISION)
    with pytest.raises(PrivacyError, match=message):
        ledger.reserve(events.gaussian(9.0), "shares", **given)
    assert len(ledger.entries) == 1


def test_a_file_keeps_the_parts_for_the_next_month(tmp_path):
    path = tmp_path / "budget.json"
    for month in MONTHS:
        ledger = Ledger.open(path, 1.0, 1e-6)
        ledger.reserve(events.gaussian(5.0), "shares", touched=[month], **DIVISION)
    assert [entry.touched for entry in Ledger.open(path).entries] == [(month,) for month in MONTHS]
    assert Ledger.open(path).spent().epsilon < 1.0
    with pytest.raises(BudgetExceeded):
        Ledger.open(path).reserve(events.gaussian(5.0), "shares", touched=[MONTHS[0]], **DIVISION)


@pytest.mark.parametrize(
    "change",
    [
        {"touched": []},
        {"division": ""},
        {"touched": [1]},
        {"division": 3},
        {"touched": 7},
        {"division": None},
    ],
)
def test_a_file_with_a_broken_division_is_refused(change):
    from discreet.privacy.ledger import file as ledger_file

    ledger = Ledger(1.0, 1e-6)
    ledger.reserve(events.gaussian(5.0), "shares", touched=["2024-01"], **DIVISION)
    value = ledger.snapshot().to_json()
    value["entries"][0] |= change
    value.pop("checksum")
    value["checksum"] = ledger_file.checksum_of(value)
    with pytest.raises(PrivacyError):
        Ledger.from_json(value)
