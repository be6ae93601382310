"""Figures of an attack's report, against slow twins, known mechanisms and planted ignorance."""

import json
import math

import numpy as np
import pytest
from tests.naive import audit as naive

from discreet.audit import AuditReport
from discreet.audit.attack_report import _SEAL
from discreet.errors import ParameterError


def drawn(shift=1.0, shape=(3, 400), seed=0, **more):
    rng = np.random.default_rng(seed)
    members = rng.random(shape) < 0.5
    return AuditReport(rng.normal(size=shape) + shift * members, members, **more)


def test_curve_and_area_are_the_slow_ones():
    rng = np.random.default_rng(1)
    members = rng.random(60) < 0.4
    scores = np.round(rng.normal(size=60) + members, 1)  # many ties
    report = AuditReport(scores, members)
    slow = naive.rates(scores.tolist(), members.tolist())
    np.testing.assert_allclose(np.column_stack(report.curve()), slow)
    assert report.auc == pytest.approx(naive.auc(scores.tolist(), members.tolist()))
    for fpr in (0.0, 0.05, 0.1, 1 / 36, 1.0):
        assert report.tpr_at(fpr) == pytest.approx(max(t for f, t in slow if f <= fpr + 1e-12))


def test_ties_are_not_split():
    assert AuditReport([1.0, 1.0, 1.0, 0.0], np.array([True, False, True, False])).tpr_at(0.4) == 0.0


def test_intervals_hold_their_figures_as_often_as_they_say():
    true_auc = 0.5 * (1 + math.erf(1 / 2))  # Phi(1/sqrt 2)
    held = []
    for seed in range(300):
        low, high = drawn(1.0, (1, 300), seed).auc_interval()
        held.append(low < true_auc < high)
    assert 0.91 < np.mean(held) < 0.985
    report = drawn()
    low, high = report.tpr_interval(0.1)
    assert low < report.tpr_at(0.1) < high
    wide = report.tpr_interval(0.1, 0.999)
    assert wide[0] < low
    assert wide[1] > high
    exact = AuditReport([2.0, 3.0, 0.0], np.array([True, True, False]))
    assert exact.tpr_interval(0.0)[1] == 1.0
    assert exact.tpr_interval(0.0)[0] == pytest.approx(math.sqrt(0.025))


def test_ceiling():
    report = drawn(epsilon=math.log(2), delta=0.01)
    np.testing.assert_allclose(report.ceiling([0.0, 0.1, 0.5, 1.0]), [0.01, 0.21, 1 - 0.5 * 0.49, 1.0])
    assert drawn().ceiling(0.001) == 1.0
    assert drawn(epsilon=1e6).ceiling(0.001) == 1.0


@pytest.mark.integration
def test_bound_holds_on_randomised_response_and_catches_more():
    rng = np.random.default_rng(3)
    keep = math.e / (1 + math.e)  # epsilon 1 for turning one bit
    above, found = [], []
    for _ in range(150):
        members = rng.random((2, 600)) < 0.5
        heard = np.where(rng.random(members.shape) < keep, members, ~members)
        bound = AuditReport(
            heard + 0.01 * rng.random(members.shape), members, coins="independent"
        ).epsilon_lower_bound()
        above.append(bound > 1.0)
        found.append(bound)
    assert np.mean(above) <= 0.05
    assert np.mean(found) > 0.5


def test_indifference_proves_nothing():
    report = drawn(0.0, (1, 2000), coins="independent", epsilon=0.1)
    assert report.epsilon_lower_bound() == 0.0
    assert not report.exceeds_promise()
    assert report.auc_interval()[0] < 0.5 < report.auc_interval()[1]
    assert drawn(4.0, (1, 2000), coins="independent", epsilon=1.0).exceeds_promise()
    with pytest.raises(ParameterError, match="how members were drawn"):
        drawn().epsilon_lower_bound()


def test_json_is_strict_without_a_promise_or_known_coins():
    endless = drawn(coins="independent", epsilon=math.inf, delta=0.0)
    values = json.loads(json.dumps(endless.to_dict(), allow_nan=False))
    assert values["epsilon"] == "inf"
    assert AuditReport.from_json(values).epsilon == math.inf
    found = json.loads(json.dumps(drawn().to_dict(), allow_nan=False))["found"]
    assert found["epsilon_lower_bound"] is found["exceeds_promise"] is None
    assert 0 < found["tpr"]["0.1"] <= 1


def test_json_and_table_and_exposed():
    report = drawn(coins="independent", epsilon=1.0, delta=1e-6, attack="online", meta={"n_shadows": 8})
    again = AuditReport.from_json(json.loads(json.dumps(report.to_dict())))
    np.testing.assert_array_equal(again.scores, report.scores)
    np.testing.assert_array_equal(again.members, report.members)
    found = report.to_dict()["found"]
    assert found["tpr"] == {
        "0.001": report.tpr_at(0.001),
        "0.01": report.tpr_at(0.01),
        "0.1": report.tpr_at(0.1),
    }
    assert (found["auc"], found["epsilon_lower_bound"]) == (report.auc, report.epsilon_lower_bound())
    assert found["exceeds_promise"] == report.exceeds_promise()
    assert (again.meta, again.coins, again.in_words()) == (report.meta, "independent", report.in_words())
    assert "epsilon     at least" in report.in_words()
    exposed = report.most_exposed(5)
    best = np.where(report.members, report.scores, -np.inf).max(axis=0)
    assert best[exposed].tolist() == sorted(best, reverse=True)[:5]
    assert AuditReport([1.0, 2.0], np.array([True, False])).most_exposed().tolist() == [0]
    with pytest.raises(ParameterError, match="make one by `discreet audit --json`"):
        AuditReport.from_json({})
    values = _SEAL.opened(report.to_dict(), "x")
    for name, value in (("scores", None), ("guesses", [-3]), ("coins", 1)):
        with pytest.raises(ParameterError, match=name):
            AuditReport.from_json(_SEAL.close({**values, name: value}))
    with pytest.raises(ValueError, match="read-only"):
        report.scores[0, 0] = 1.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scores": [1.0, 2.0, 3.0]}, "one shape"),
        ({"scores": [1.0, math.nan]}, "finite"),
        ({"members": [1, 0]}, "booleans"),
        ({"members": [True, True]}, "only one kind"),
        ({"coins": "maybe"}, "coins"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 2.0}, "delta"),
    ],
)
def test_refusals(wrong, words):
    with pytest.raises(ParameterError, match=words):
        AuditReport(**{"scores": [1.0, 2.0], "members": [True, False], **wrong})
