"""Months released one after another: as one where documents are the unit, their sum where it is a person."""

import json

import numpy as np
import pytest
from tests.prevalence.test_estimator import X, trained

from discreet import Ledger, TopicPrevalence
from discreet.errors import BudgetExceeded, DiscreetError

MONTHS = np.array(["2024-01", "2024-02", "2024-03"])
DATES = MONTHS[np.arange(len(X)) % 3]


def release(month, ledger, **parameters):
    given = {"freq": "month", "start": month, "end": month, "unlisted": "leave_out", "epsilon": 0.6}
    model = TopicPrevalence(trained(), **(given | {"division": "date received"} | parameters), ledger=ledger)
    persons = np.arange(len(X)) // 4 if model.privacy_unit == "person" else None
    return model.fit(X, by=DATES, persons=persons).release_


def test_documents_pay_for_their_own_month_only(tmp_path):
    ledger = Ledger(0.6, 1e-6)
    made = [release(month, ledger) for month in MONTHS]
    assert [part.groups for part in made] == [(month,) for month in MONTHS]
    assert all(part.n_units == pytest.approx(1000, abs=100) for part in made)
    assert ledger.spent().epsilon == pytest.approx(0.6, rel=1e-3)
    assert made[-1].promise.epsilon == pytest.approx(0.6, rel=1e-3)
    with pytest.raises(BudgetExceeded):
        release(MONTHS[1], ledger)
    made[0].save(tmp_path / "january.json")
    assert json.loads((tmp_path / "january.json").read_text())["ledger"]["entries"][0]["touched"] == [
        "2024-01"
    ]
    assert type(made[0]).load(tmp_path / "january.json") == made[0]


def test_the_months_of_persons_add_up():
    ledger = Ledger(0.8, 1e-6, privacy_unit="person")
    release(MONTHS[0], ledger, privacy_unit="person", division=None)
    release(MONTHS[1], ledger, privacy_unit="person", division=None, epsilon=0.3)
    assert ledger.spent().epsilon > 0.65
    with pytest.raises(BudgetExceeded):
        release(MONTHS[2], ledger, privacy_unit="person", division=None)


def test_a_month_does_not_depend_on_documents_of_others():
    """What the proof rests on: the sums of one month are the same with and without all others' documents."""
    for month in MONTHS:
        mine = month == DATES
        parameters = {"freq": "month", "start": month, "end": month, "epsilon": float("inf")}
        whole = TopicPrevalence(trained(), unlisted="leave_out", **parameters).fit(X, by=DATES).release_
        alone = TopicPrevalence(trained(), **parameters).fit(X[mine], by=DATES[mine]).release_
        assert np.array_equal(whole.topic_totals, alone.topic_totals)
        assert np.array_equal(whole.unit_counts, alone.unit_counts)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"privacy_unit": "person"}, "their costs add up"),
        ({"unlisted": "other"}, "documents of all other periods"),
        ({"division": " "}, "must name the date that is meant"),
        ({"groups": ["2024-01"], "start": None, "end": None}, "is for periods"),
        ({"freq": None, "groups": ["2024-01"], "start": None, "end": None}, "is for periods"),
        ({"freq": "quarter"}, "a part in both divisions"),
    ],
)
def test_what_is_not_disjoint_is_refused(parameters, message):
    ledger = Ledger(0.6, 1e-6, privacy_unit=parameters.get("privacy_unit", "document"))
    if parameters.get("freq"):
        release(MONTHS[0], ledger)
    before = ledger.entries
    with pytest.raises(DiscreetError, match=message):
        release(MONTHS[0], ledger, **parameters)
    assert ledger.entries == before
