"""Shares corrected for fold-in: less bias on planted corpora of short documents, and intervals that hold the noise."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.prevalence.test_shares import WEIGHT, released, truth

from discreet import Ledger, Release, TopicPrevalence
from discreet.errors import ParameterError
from discreet.release.prevalence.shares import corrected, correction, raw, response

INF = float("inf")


def planted(kind, seed=0, n_topics=6, n_words=120):
    """Topics: apart, overlapping, or with some words that all have."""
    rng = np.random.default_rng(seed)
    if kind == "apart":
        topic_word = np.where(np.arange(n_words) % n_topics == np.arange(n_topics)[:, None], 1.0, 0.01)
    else:
        topic_word = rng.dirichlet(np.full(n_words, {"overlapping": 0.3, "alike": 1.0}[kind]), n_topics)
    topic_word /= topic_word.sum(1, keepdims=True)
    return Release(
        topic_word=topic_word,
        vocabulary=tuple(f"word{i}" for i in range(n_words)),
        ledger=Ledger(1.0, 1e-6),
        configuration={"doc_topic_prior": 0.1},
    )


def documents(topics, group_shares, n, length, seed=1, pure=False):
    """Draw documents of groups, their topics from the prior around the shares of their group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(group_shares)), n)
    alpha = group_shares[group] * len(topics.topic_word) * 0.1
    shares = np.array([rng.dirichlet(np.maximum(row, 1e-3)) for row in alpha])
    if pure:
        shares = np.eye(len(topics.topic_word))[[rng.choice(len(row), p=row) for row in group_shares[group]]]
    lengths = np.maximum(rng.poisson(length, len(group)), 1)
    words = np.array(
        [rng.multinomial(m, s @ topics.topic_word) for m, s in zip(lengths, shares, strict=True)]
    )
    exact = np.array([shares[group == g].mean(0) for g in range(len(group_shares))])
    return sp.csr_matrix(words.astype(np.int32)), group.astype(str), exact


GROUPS = np.array([[0.6, 0.2, 0.1, 0.05, 0.03, 0.02], [0.02, 0.03, 0.05, 0.1, 0.2, 0.6], [1 / 6] * 6])


@pytest.mark.parametrize("kind", ["apart", "overlapping", "alike"])
@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.integration
def test_with_documents_of_ten_words_the_bias_falls(kind, pure):
    topics = planted(kind)
    counts, labels, exact = documents(topics, GROUPS, 1500, 10, pure=pure)
    made = TopicPrevalence(topics, groups=["0", "1", "2"], epsilon=INF).fit(counts, by=labels).release_
    plain = np.abs(made.shares("raw").share - exact).mean()
    better = np.abs(made.corrected(topics, 10).share - exact).mean()
    assert better < 0.4 * plain
    # The plain shares are too even, by what was corrected: a topic of 60 % has less.
    assert made.shares("raw").share[0, 0] < made.corrected(topics, 10).share[0, 0]


@pytest.mark.integration
def test_what_fold_in_makes_of_known_shares():
    topics = planted("overlapping")
    short, long = response(topics, 5), response(topics, 500)
    for answered in (short, long):
        assert np.allclose(answered.sum(1), 1)
    assert np.trace(short) < np.trace(long)
    assert np.allclose(long, np.eye(6), atol=0.05)
    assert np.array_equal(response(topics, 5), short)
    assert np.allclose(correction(short, 0.0) @ short, np.eye(6))
    assert np.allclose(correction(short, 1.0), np.eye(6))
    assert np.allclose(correction(short, 0.1).sum(1), 1)


def test_without_a_correction_the_shares_are_the_plain_ones():
    shares, sizes = truth()
    sums = released(shares, sizes, 0.065, np.random.default_rng(0))
    same, plain = corrected(sums, np.eye(20)), raw(sums)
    assert np.array_equal(same.low, plain.low)
    assert np.array_equal(same.standard_error, plain.standard_error)


def test_intervals_hold_what_the_correction_makes_of_exact_sums():
    shares, sizes = truth()
    rng = np.random.default_rng(1)
    mixed = 0.5 * np.eye(20) + 0.5 * rng.dirichlet(np.ones(20), 20)
    undo = correction(mixed, 0.1)
    folded = shares @ mixed
    exact = folded @ undo
    inside = (exact > 0) & (exact < 1)  # intervals are cut to what a share can be
    held = []
    for _ in range(300):
        found = corrected(released(folded, sizes, 0.065, rng), undo)
        held.append(((found.low <= exact) & (exact <= found.high))[inside].mean())
    assert abs(np.mean(held) - 0.95) < 0.005
    assert WEIGHT == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"document_length": 0}, "document_length must"),
        ({"document_length": 10, "ridge": 2}, "ridge must be from 0 to 1"),
    ],
)
def test_bad_calls(change, message):
    topics = planted("apart")
    counts, labels, _ = documents(topics, GROUPS, 20, 10)
    made = TopicPrevalence(topics, groups=["0", "1", "2"], epsilon=INF).fit(counts, by=labels).release_
    with pytest.raises(ParameterError, match=message):
        made.corrected(topics, **change)
    with pytest.raises(ParameterError, match="shares of 6 topics"):
        made.corrected(planted("apart", n_topics=5), 10)
