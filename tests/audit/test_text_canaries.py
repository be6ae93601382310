"""Audits of words, pipelines and shares: silent on what keeps its promise, loud on what does not."""

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import Ledger, PrivateCountVectorizer, PrivateLDA, Release, TopicPrevalence
from discreet.audit import audit_shares, audit_words, one_run_bound
from discreet.errors import ParameterError

EPSILON, DELTA = 1.0, 1e-6
METHODS = ("weighted_gaussian", "sips")


def words_by(method, spent=EPSILON):
    return lambda texts, seed: PrivateCountVectorizer(
        epsilon=spent, delta=DELTA, method=method, stop_words=None, random_state=seed
    ).fit(texts)


def told(method, spent=EPSILON, seed=0, **how):
    return audit_words(
        words_by(method, spent), epsilon=EPSILON, delta=DELTA, random_state=seed, **{"n_canaries": 200, **how}
    )


@pytest.mark.parametrize("method", METHODS)
def test_private_words_keep_their_promise(method):
    for seed in range(2):
        assert not told(method, seed=seed).exceeds_promise()


@pytest.mark.parametrize("method", METHODS)
def test_words_with_a_small_part_of_the_noise_are_flagged(method):
    report = told(method, spent=(24 if method == "sips" else 8) * EPSILON)
    assert report.exceeds_promise()
    assert report.attack == "one run, words canaries"


def test_words_read_off_the_text_are_flagged_even_alone():
    report = audit_words(lambda texts, seed: sorted(set(texts)), copies=0, n_canaries=100, random_state=0)
    assert (30, 30) in report.right_guesses()
    assert report.epsilon_lower_bound() > 1.8


def test_copies_are_found_where_the_decision_falls():
    seen = []

    def release(texts, seed):
        seen.append(len(texts))
        return {word for word in texts if texts.count(word) >= 6}

    report = audit_words(release, n_canaries=60, n_guesses=40, random_state=0)
    assert report.right_guesses() == [(40, 40)]  # with five copies, the sixth decides
    assert report.epsilon_lower_bound() == one_run_bound(40, 40, 0.95, 0.0, 60)
    with pytest.raises(ParameterError, match="no word is released"):
        audit_words(lambda texts, seed: [], n_canaries=1, random_state=0)


def test_copies_look_at_no_coin():
    calls = []

    def release(texts, seed):
        calls.append(sorted(texts))
        return [word for word in set(texts) if texts.count(word) >= 3]

    for seed in (0, 1):
        audit_words(release, n_canaries=20, random_state=seed)
    half = len(calls) // 2
    assert calls[: half - 1] == calls[half:-1]  # all but the last, which the coins are in
    assert calls[half - 1] != calls[-1]


def pipeline(spent):
    """Words and then topics, on one budget."""

    def release(texts, seed):
        ledger = Ledger(spent, DELTA)
        counts = PrivateCountVectorizer(
            epsilon=spent / 2, delta=DELTA / 10, stop_words=None, ledger=ledger, random_state=seed
        ).fit_transform(texts)
        left = ledger.remaining().epsilon
        model = PrivateLDA(
            3, epsilon=left, delta=DELTA, ledger=ledger, random_state=seed, allow_unlearnable=True
        )
        return model.fit(counts).release_

    return release


def test_a_whole_pipeline_keeps_its_promise_and_is_flagged_where_it_does_not():
    how = {"epsilon": EPSILON, "delta": DELTA, "n_canaries": 200, "random_state": 0}
    others = ["storm coast rain"] * 60 + ["senate law vote"] * 60
    assert not audit_words(pipeline(EPSILON), others, **how).exceeds_promise()
    assert audit_words(pipeline(64 * EPSILON), others, **how).exceeds_promise()


def topics():
    return Release(np.kron(np.eye(3), np.full(4, 1 / 4)), [f"w{i}" for i in range(12)], Ledger(1.0, 1e-6))


def shares(spent):
    def release(counts, labels, groups, seed):
        model = TopicPrevalence(topics(), groups=groups, epsilon=spent, delta=DELTA, random_state=seed)
        return model.fit(counts, by=labels).release_

    return release


@pytest.mark.parametrize("noise", ["any", "gaussian"])
def test_shares_keep_their_promise_and_are_flagged_where_they_do_not(noise):
    how = {"epsilon": EPSILON, "delta": DELTA, "n_canaries": 200, "noise": noise}
    for seed in range(3):
        assert not audit_shares(shares(EPSILON), topics(), random_state=seed, **how).exceeds_promise()
    assert audit_shares(shares(12 * EPSILON), topics(), random_state=0, **how).exceeds_promise()


def test_sharper_bounds_catch_smaller_faults_of_shares():
    # A third of the noise: what the bound for any noise misses in most runs, that for Gaussian noise finds.
    found = {"any": 0, "gaussian": 0}
    for seed in range(6):
        for noise in found:
            how = {
                "epsilon": EPSILON,
                "delta": DELTA,
                "n_canaries": 300,
                "noise": noise,
                "random_state": seed,
            }
            found[noise] += audit_shares(shares(2.6 * EPSILON), topics(), **how).exceeds_promise()
    assert found["gaussian"] > found["any"]


def test_a_score_that_looks_elsewhere_would_miss_it(monkeypatch):
    # Planted: the sums of the next group. Nothing is found then, so the flag above is not for free.
    right = shares(12 * EPSILON)

    def beside(counts, labels, groups, seed):
        made = right(counts, labels, groups, seed)
        moved = sp.csr_matrix(np.roll(np.eye(len(groups)), 1, axis=0))
        object.__setattr__(made, "topic_totals", moved @ made.topic_totals)
        object.__setattr__(made, "unit_counts", moved @ made.unit_counts)
        return made

    how = {"epsilon": EPSILON, "delta": DELTA, "n_canaries": 200, "random_state": 0}
    assert not audit_shares(beside, topics(), **how).exceeds_promise()


def test_refusals():
    with pytest.raises(ParameterError, match="groups that it was given"):
        audit_shares(
            lambda counts, labels, groups, seed: shares(1.0)(counts, labels, groups[::-1], seed),
            topics(),
            n_canaries=5,
            random_state=0,
        )
    for wrong in (
        {"n_canaries": 0},
        {"copies": -1},
        {"n_guesses": 500},
        {"delta": 1.0},
        {"noise": "gaussian"},
    ):
        with pytest.raises(ParameterError):
            audit_words(lambda texts, seed: [], **{"copies": 1, **wrong})
