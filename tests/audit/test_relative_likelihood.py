"""The relative attack: a slow twin, what it must not depend on, and few shadows."""

import math

import numpy as np
import pytest
from tests.naive import audit as naive

from discreet.audit import AuditReport, likelihood_ratio_scores, lira, relative_likelihood_scores
from discreet.errors import ParameterError


def world(n_shadows, n_documents=600, pull=2.0, seed=0):
    """Statistics as of topic models: documents differ far more among themselves than by membership."""
    rng = np.random.default_rng(seed)
    base = -rng.gamma(4, 100, n_documents)
    effect = pull * rng.random(n_documents)

    def statistics(members):
        return base + effect * members + rng.normal(size=members.shape)

    halves = np.array([rng.permutation(n_documents) < n_documents // 2 for _ in range(n_shadows // 2)])
    inside = np.concatenate([halves, ~halves])
    target = rng.random((1, n_documents)) < 0.5
    return statistics(target), target, statistics(inside), inside


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_scores_are_those_of_the_definition(online, gamma):
    statistics, _, shadows, inside = world(4, 40)
    found = relative_likelihood_scores(statistics[0], shadows, inside, online=online, gamma=gamma)
    slow = [naive.relative(d, statistics[0], shadows, inside, online, gamma) for d in range(40)]
    assert found == pytest.approx(slow, abs=1e-12)


def test_a_document_is_compared_with_itself_in_other_models():
    # Lengths and topics of documents cancel: the scores stay where all of a document's statistics are moved.
    statistics, _, shadows, inside = world(8)
    moved = np.random.default_rng(1).normal(0, 1000, statistics.shape[1])
    one = relative_likelihood_scores(statistics, shadows, inside)
    assert relative_likelihood_scores(statistics + moved, shadows + moved, inside) == pytest.approx(one)


def test_a_planted_mistake_would_be_seen():
    # Without the mean over shadows the attack only knows which documents are short.
    statistics, members, shadows, inside = world(8)
    good = AuditReport(relative_likelihood_scores(statistics, shadows, inside), members).auc
    blind = AuditReport(relative_likelihood_scores(statistics, 0 * shadows, inside), members).auc
    backwards = AuditReport(1 - relative_likelihood_scores(statistics, shadows, inside), members).auc
    assert good > 0.65
    assert abs(blind - 0.5) < 0.06
    assert backwards < 0.35


def test_with_few_shadows_it_finds_more_than_lira():
    gain = []
    for seed in range(12):
        statistics, members, shadows, inside = world(4, seed=seed)
        relative = AuditReport(relative_likelihood_scores(statistics, shadows, inside), members)
        ratio = AuditReport(likelihood_ratio_scores(statistics, shadows, inside), members)
        gain.append(relative.auc - ratio.auc)
    assert np.mean(gain) > 0.03
    assert sum(one > 0 for one in gain) >= 11


def test_lira_runs_it_on_the_same_shadows():
    counts = np.random.default_rng(0).poisson(1.0, (60, 12))
    calls = []

    def train(part, seed):
        calls.append(seed)
        return np.asarray(part.sum(axis=0), float).reshape(1, -1) + 0.5

    reports = [lira(train, counts, n_shadows=4, random_state=0, attack=attack) for attack in ("lira", "rmia")]
    assert [one.attack for one in reports] == ["LiRA, online", "RMIA, online"]
    assert calls[: len(calls) // 2] == calls[len(calls) // 2 :]
    assert (reports[0].members == reports[1].members).all()
    assert ((reports[1].scores >= 0) & (reports[1].scores <= 1)).all()


def test_refusals():
    statistics, _, shadows, inside = world(4, 40)
    with pytest.raises(ParameterError, match="gamma"):
        relative_likelihood_scores(statistics, shadows, inside, gamma=0.5)
    with pytest.raises(ParameterError, match="1 shadows"):
        relative_likelihood_scores(statistics, shadows, np.ones_like(inside))
    with pytest.raises(ParameterError, match="attack"):
        lira(lambda counts, seed: counts, np.ones((4, 4), int), attack="other")
    assert math.isfinite(relative_likelihood_scores(statistics, shadows, inside)[0, 0])
