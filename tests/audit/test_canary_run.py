"""The one-run audit: sure of a leak, within a kept promise, never paid for by luck."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import PrivateLDA, VariationalLDA
from discreet.audit import AuditReport, one_run_audit, one_run_bound
from discreet.audit.canary_run import score_canaries
from discreet.errors import ParameterError
from discreet.lda._fold_in import query_statistic

RUNS = 400


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(600, 0.05), 5)
    return sp.csr_matrix(rng.poisson(20 * rng.dirichlet(np.ones(5), 400) @ topics))


@pytest.mark.integration
def test_a_plain_model_is_found_out(counts):
    report = one_run_audit(
        lambda x, seed: VariationalLDA(5, random_state=seed).fit(x).components_,
        counts,
        n_canaries=100,
        n_guesses=50,
        epsilon=1.0,
        random_state=3,
    )
    ((right, number),) = report.right_guesses()
    assert right >= 49
    assert number == 50
    assert report.epsilon_lower_bound() == one_run_bound(right, 50, 0.95, 0.0, 100)
    assert report.exceeds_promise()
    assert report.auc > 0.95


@pytest.mark.parametrize("kind", ["rare", "one_topic"])
def test_a_private_model_keeps_its_promise(counts, kind):
    for seed in range(5):
        report = one_run_audit(
            lambda x, s: (
                PrivateLDA(5, epsilon=2.0, delta=1e-5, random_state=s, allow_unlearnable=True)
                .fit(x)
                .components_
            ),
            counts,
            n_canaries=100,
            kind=kind,
            epsilon=2.0,
            delta=1e-5,
            random_state=seed,
        )
        assert not report.exceeds_promise()


def randomised_response(n_canaries, epsilon):
    """Train and score of a mechanism that reaches epsilon: each canary told truly by a biased coin."""
    empty = sp.csr_matrix((1, n_canaries), dtype=np.int64)

    def train(counts, seed):
        inside = np.asarray(counts.sum(axis=0)).ravel() > 0
        lies = np.random.default_rng(seed).random(n_canaries) > 1 / (1 + math.exp(-epsilon))
        return (inside ^ lies).astype(float)

    return train, empty, lambda released, canaries: released[canaries.indices]


@pytest.mark.parametrize("n_guesses", [None, 200, (20, 200)])
@pytest.mark.integration
def test_the_confidence_is_kept_on_the_worst_mechanism(n_guesses):
    """Randomised response at epsilon 1: more than 1 may be "proved" in 5 % of runs, and 0.6 mostly is."""
    train, corpus, score = randomised_response(200, 1.0)
    bounds = np.array(
        [
            one_run_audit(
                train,
                corpus,
                n_canaries=200,
                kind="one_topic",
                n_guesses=n_guesses,
                score=score,
                random_state=seed,
            ).epsilon_lower_bound()
            for seed in range(RUNS)
        ]
    )
    assert (bounds > 1.0).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)
    assert np.median(bounds) > 0.5


@pytest.mark.integration
def test_choosing_the_best_number_unpaid_would_break_the_confidence():
    train, corpus, score = randomised_response(200, 0.0)
    tried, unpaid = tuple(range(10, 201, 5)), []
    for seed in range(100):
        report = one_run_audit(
            train, corpus, n_canaries=200, kind="one_topic", n_guesses=tried, score=score, random_state=seed
        )
        unpaid.append(max(one_run_bound(right, of) for right, of in report.right_guesses()) > 0)
    assert np.mean(unpaid) > 0.1


def test_a_score_is_a_gain_a_token(counts):
    topics = np.random.default_rng(1).dirichlet(np.ones(600), 2)
    canaries = sp.csr_matrix(([3, 1], ([0, 0], [5, 7])), shape=(1, 600))
    p = np.asarray(counts.sum(axis=0)).ravel() + 0.5
    p = p / p.sum()
    expected = (query_statistic(topics, canaries)[0] - 3 * math.log(p[5]) - math.log(p[7])) / 4
    assert score_canaries(topics, canaries, counts)[0] == pytest.approx(expected, abs=1e-4)


def test_training_sees_the_corpus_and_the_members_only(counts):
    seen = []

    def train(x, seed):
        seen.append(x)
        return np.ones((1, 600))

    report = one_run_audit(train, counts, n_canaries=40, n_guesses=40, random_state=5)
    assert len(seen) == 1
    assert seen[0].shape[0] == counts.shape[0] + report.members.sum() > 400
    assert (seen[0][:400] != counts).nnz == 0
    assert report.epsilon_lower_bound() == 0.0  # all scores that matter say nothing
    again = one_run_audit(train, counts, n_canaries=40, n_guesses=40, random_state=5)
    assert (seen[0] != seen[1]).nnz == 0
    assert again.to_dict() == report.to_dict()


def test_members_are_fair_coins(counts):
    kept = [
        one_run_audit(lambda x, s: np.ones((1, 600)), counts, n_canaries=50, n_guesses=1, random_state=seed)
        for seed in range(100)
    ]
    members = np.concatenate([report.members for report in kept])
    assert abs(members.mean() - 0.5) < 4 * 0.5 / math.sqrt(members.size)
    assert members.sum(axis=1).std() > 2  # not exact halves: sd is 3.5


def test_json_has_the_figures(counts):
    report = one_run_audit(
        lambda x, s: np.ones((1, 600)), counts, n_canaries=40, n_guesses=(10, 20), epsilon=1.0
    )
    values = report.to_dict()
    assert values["guesses"] == [10, 20]
    assert values["found"]["exceeds_promise"] is False
    again = AuditReport.from_json(values)
    assert again.right_guesses() == report.right_guesses()


@pytest.mark.parametrize("wrong", [{"n_guesses": 0}, {"n_guesses": 41}, {"n_guesses": ()}])
def test_refusals(counts, wrong):
    with pytest.raises(ParameterError):
        one_run_audit(lambda x, s: np.ones((1, 600)), counts, **{"n_canaries": 40, **wrong})


def test_bad_scores_are_refused(counts):
    with pytest.raises(ParameterError, match="40 finite numbers"):
        one_run_audit(lambda x, s: None, counts, n_canaries=40, score=lambda r, c: np.ones(3))
