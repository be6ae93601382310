"""What audits refuse, and that they do so before anything is trained."""

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.audit import (
    AuditReport,
    distinguish,
    epsilon_lower_bound,
    likelihood_ratio_scores,
    lira,
    mu_lower_bound,
    one_run_audit,
)
from discreet.audit.one_run import one_run_p_value
from discreet.errors import CorpusError, ParameterError

N, WORDS = 40, 30
NAN = float("nan")
INSIDE = np.arange(N) < N // 2


def corpus():
    return np.random.default_rng(0).poisson(0.5, (N, WORDS))


def never(counts, seed):
    raise AssertionError("trained before the arguments were checked")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"train": 3}, "train must be a function"),
        ({"n_shadows": 4.0}, "n_shadows must be a whole number"),
        ({"n_shadows": "8"}, "n_shadows"),
        ({"n_shadows": True}, "n_shadows"),
        ({"n_shadows": 0}, "n_shadows"),
        ({"n_shadows": 2}, "n_shadows"),
        ({"n_shadows": 5}, "n_shadows must be even"),
        ({"n_targets": 0}, "n_targets"),
        ({"n_targets": 1.5}, "n_targets"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": NAN}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "delta": NAN}, "delta"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "a"}, "random_state"),
        ({"random_state": np.random.default_rng(0)}, "random_state"),
        ({"spread": "wide"}, "spread"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"target": 3}, "target must be"),
        ({"target": "mine"}, "target"),
        ({"target": (np.ones((2, WORDS - 1)), INSIDE)}, "the target must have topics .* 30"),
        ({"target": (np.full((2, WORDS), NAN), INSIDE)}, "the target must have topics"),
        ({"target": (np.ones((2, WORDS)), INSIDE.astype(int))}, "booleans"),
        ({"target": (np.ones((2, WORDS)), INSIDE | True)}, "neither all nor none"),
        ({"target": (np.ones((2, WORDS)), INSIDE), "n_targets": 3}, "leave out n_targets"),
    ],
)
def test_lira_refuses_before_it_trains(more, words):
    arguments = {"train": never, "n_shadows": 8, "random_state": 0, **more}
    with pytest.raises(ParameterError, match=words):
        lira(arguments.pop("train"), corpus(), **arguments)


@pytest.mark.parametrize("documents", [0, 1])
def test_a_corpus_of_one_document_or_none_is_refused(documents):
    with pytest.raises((ParameterError, CorpusError)):
        lira(never, corpus()[:documents], n_shadows=8)


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        (None, "shape"),
        ("no", "got str"),
        (sp.csr_matrix(np.ones((2, WORDS))), "toarray"),
        (np.ones((0, WORDS)), "shape"),
        (np.ones((2, WORDS + 1)), "keep all words"),
    ],
)
def test_trainers_that_return_no_topics_are_told_so(topics, words):
    with pytest.raises(ParameterError, match=f"train must return topics.*{words}"):
        lira(lambda counts, seed: topics, corpus(), n_shadows=4, random_state=0)


def test_huge_topics_do_not_overflow():
    def small(counts, seed):
        return np.random.default_rng(seed).random((2, WORDS)) + 0.1

    attacks = [
        lira(lambda c, s, size=size: size * small(c, s), corpus(), n_shadows=4, random_state=0)
        for size in (1.0, 1e308)
    ]
    # Scores compare statistics that differ little: rounding is magnified.
    np.testing.assert_allclose(attacks[0].scores, attacks[1].scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"train": None}, "train must be a function"),
        ({"n_canaries": 1.5}, "n_canaries"),
        ({"n_canaries": 0}, "n_canaries"),
        ({"n_guesses": 1.5}, "n_guesses"),
        ({"n_guesses": [2.5]}, "n_guesses"),
        ({"n_guesses": []}, "n_guesses"),
        ({"epsilon": NAN}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": NAN}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"random_state": "a"}, "random_state"),
    ],
)
def test_one_run_refuses_before_it_trains(more, words):
    arguments = {"train": never, "n_canaries": 20, "random_state": 0, **more}
    with pytest.raises(ParameterError, match=words):
        one_run_audit(arguments.pop("train"), corpus(), **arguments)


def test_one_run_says_what_is_wrong_with_scores():
    for scores, words in ((np.full(20, NAN), "finite numbers"), (np.zeros(19), r"shape \(19,\)")):
        with pytest.raises(ParameterError, match=words):
            one_run_audit(
                lambda counts, seed: None,
                corpus(),
                n_canaries=20,
                score=lambda released, canaries, scores=scores: scores,
                random_state=0,
            )


@pytest.mark.parametrize(
    "more", [{"delta": NAN}, {"delta": -1.0}, {"delta": 1.0}, {"confidence": 2}, {"confidence": NAN}]
)
def test_distinguish_takes_no_numbers_that_make_every_comparison_false(more):
    scores = np.random.default_rng(0).normal(size=(2, 200))
    with pytest.raises(ParameterError):
        distinguish(scores[0] + 9, scores[1], **more)
    with pytest.raises(ParameterError):
        epsilon_lower_bound(100, 0, 100, **more)


def test_distinguish_refuses_scores_and_promises_that_are_none():
    fine = np.random.default_rng(0).normal(size=200)
    for side in (lambda run: NAN, lambda run: None, np.full(200, NAN), ["a"] * 200):
        with pytest.raises(ParameterError, match="scores must be finite"):
            distinguish(side, fine, n_runs=200)
    report = distinguish(fine + 9, fine)
    for wrong in (NAN, -1.0):
        with pytest.raises(ParameterError):
            report.exceeds(wrong)
    with pytest.raises(ParameterError, match="confidence"):
        mu_lower_bound(5, 0, 10, confidence=2)


def test_likelihood_ratio_takes_only_statistics_that_fit():
    inside = np.tile(np.array([[True], [True], [False], [False]]), 3)
    shadows = np.random.default_rng(0).normal(size=(4, 3))
    for target, values, members in (
        (np.full(3, NAN), shadows, inside),
        (np.zeros(3), shadows * NAN, inside),
        (np.zeros(4), shadows, inside),
        (np.zeros(3), shadows, inside[:3]),
        (np.zeros(3), shadows, inside.astype(int)),
    ):
        with pytest.raises(ParameterError):
            likelihood_ratio_scores(target, values, members)
    assert np.isfinite(likelihood_ratio_scores(np.zeros(3), shadows, inside)).all()


@pytest.mark.parametrize(
    ("scores", "more"),
    [
        (["a"] * N, {}),
        ([[1, 2], [3]], {}),
        (np.full(N, NAN), {}),
        (np.arange(N), {"attack": 7}),
        (np.arange(N), {"meta": 3}),
        (np.arange(N), {"epsilon": "1"}),
        (np.arange(N), {"epsilon": 1.0, "delta": 1.0}),
    ],
)
def test_reports_refuse_what_they_cannot_show(scores, more):
    with pytest.raises(ParameterError):
        AuditReport(scores, INSIDE, **more)


def test_most_exposed_takes_a_number():
    report = AuditReport(np.arange(N), INSIDE)
    assert report.most_exposed(2).tolist() == [19, 18]
    assert len(report.most_exposed(10**9)) == N // 2
    with pytest.raises(ParameterError, match="n must be"):
        report.most_exposed(-1)


@pytest.mark.parametrize(
    ("correct", "epsilon", "delta"),
    [(11, 1.0, 0.0), (-1, 1.0, 0.0), (5, NAN, 0.0), (5, -1.0, 0.0), (5, 1.0, NAN)],
)
def test_p_values_are_of_numbers_that_make_sense(correct, epsilon, delta):
    with pytest.raises(ParameterError):
        one_run_p_value(correct, 10, epsilon, delta=delta)
