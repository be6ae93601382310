"""Bootstrap intervals: they hold as often as they say, and know what the plain ones do not."""

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit import AuditReport, bootstrap_intervals
from discreet.errors import ParameterError

RATE, SHIFT = 0.1, 1.0
TRUE_RATE = float(norm.sf(norm.isf(RATE) - SHIFT))
TRUE_AREA = float(norm.cdf(SHIFT / np.sqrt(2)))


def attack(seed, targets=1, documents=400, of_document=0.0):
    """Scores of a normal attack; part of the noise is the document's own, the same in all targets."""
    rng = np.random.default_rng(seed)
    members = rng.random((targets, documents)) < 0.5
    own = np.sqrt(of_document) * rng.standard_normal(documents)
    noise = np.sqrt(1 - of_document) * rng.standard_normal((targets, documents))
    return AuditReport(SHIFT * members + own + noise, members)


def held(n_audits, **how):
    """Return how often the intervals of area and rate hold, and how often Clopper and Pearson's does."""
    found = []
    for seed in range(n_audits):
        report = attack(seed, **how)
        drawn = bootstrap_intervals(report, rates=[RATE], n_resamples=200, random_state=0)
        plain = report.tpr_interval(RATE)
        ends = (drawn["auc"], TRUE_AREA), (drawn["0.1"], TRUE_RATE), (plain, TRUE_RATE)
        found.append([low <= true <= high for (low, high), true in ends])
    return np.mean(found, axis=0)


@pytest.mark.integration
def test_intervals_hold_about_as_often_as_they_say():
    area, rate, _ = held(150)
    assert 0.88 <= area <= 0.99
    assert 0.88 <= rate <= 0.995


@pytest.mark.integration
def test_plain_intervals_are_too_narrow_where_targets_share_documents_and_these_are_not():
    _, rate, plain = held(80, targets=6, documents=150, of_document=0.8)
    assert plain < 0.85  # the mistake that this mends
    assert rate > 0.9


def test_the_same_seed_gives_the_same_intervals_and_figures_lie_in_them():
    report = attack(3, targets=3)
    one = bootstrap_intervals(report, random_state=1)
    assert one == bootstrap_intervals(report, random_state=1) != bootstrap_intervals(report, random_state=2)
    assert set(one) == {"auc", "0.001", "0.01", "0.1"}
    assert one["auc"][0] < report.auc < one["auc"][1]
    narrow = bootstrap_intervals(report, confidence=0.5, random_state=1)
    assert one["0.1"][0] < narrow["0.1"][0] < narrow["0.1"][1] < one["0.1"][1]


def test_equal_scores_are_one_threshold():
    members = np.array([True] * 50 + [False] * 50)
    drawn = bootstrap_intervals(AuditReport(np.zeros(100), members), random_state=0)
    assert drawn["auc"] == pytest.approx((0.5, 0.5))
    assert drawn["0.1"] == (0.0, 0.0)


@pytest.mark.parametrize(
    "wrong", [{"n_resamples": 10}, {"confidence": 1.0}, {"rates": [2.0]}, {"random_state": -1}]
)
def test_refusals(wrong):
    with pytest.raises(ParameterError):
        bootstrap_intervals(attack(0), **wrong)
