"""The score of candidate topics: its naive twin, its bound for each unit, and a choice by its noisy number alone."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import central as naive
from tests.naive.central_checks import (
    corpora,
    csr,
    in_memory_and_in_shards,
    moves_by_at_most_one,
    random_counts,
    same_for_any_threads_and_order,
    units_fit_the_lattice,
)

from discreet.central.rounds.likelihood_score import REACH, score_sum
from discreet.central.rounds.schedule import SCORE_SHARE, plan
from discreet.central.rounds.units import group_units
from discreet.central.start.choose_start import Start, best_of
from discreet.privacy.shared_gaussian import BITS, Noisy

K, PRIOR = 3, 0.1


def candidates(n_words, n=3):
    columns = np.random.default_rng(1).dirichlet(np.full(n_words, 0.3), (n, K)).swapaxes(1, 2) + 1e-4
    return columns / columns.sum(1, keepdims=True)


def score(counts, persons=None, n_jobs=1, reach=REACH, n=3):
    return score_sum(group_units(counts, persons), candidates(counts.shape[1], n), PRIOR, n_jobs, reach)


def single(counts, persons=None):
    return score(counts, persons, n=2)


def twin(counts, persons=None, reach=REACH, vector=naive.score_vector):
    topics = candidates(counts.shape[1])
    units = naive.by_unit(counts, persons)
    return naive.add_up(
        (vector(unit, topics, PRIOR, reach) for unit in units),
        2,
        put=lambda one: naive.place(one, normalise=False),
    )


@pytest.mark.parametrize("reach", [0.05, REACH, 50.0])
def test_equal_to_the_naive_twin(reach):
    few = [[1] + [0] * 11, [2] + [0] * 11, [0] * 12]  # of one token, of one word, of none
    counts = csr(np.vstack([few, random_counts(57, 12, 0, mean=0.4).toarray()]))
    for persons in (None, np.arange(60) // 4):
        found, expected = score(counts, persons, reach=reach), twin(counts, persons, reach)
        # Single precision, and steps that end where little changes.
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=60 * 2**BITS * 2e-4 / reach)
        assert np.abs(expected).max() > 2**BITS / max(reach, 1)


@given(corpora())
@settings(max_examples=40, deadline=None)
def test_one_unit_moves_the_sum_by_at_most_one(corpus):
    counts, persons = corpus
    for given_persons in (None, persons):
        for total in (score, single):
            assert units_fit_the_lattice(total, counts, given_persons)
            assert moves_by_at_most_one(total, counts, given_persons)


def apart(n_documents=40, length=9):
    """Documents that say one word again and again, which one candidate knows and the other does not."""
    rows = np.zeros((n_documents, 12), int)
    rows[:, 0] = length
    topics = np.full((2, 12, K), 1e-9)
    topics[0, 1:], topics[1, 0] = 1.0, 1.0
    return csr(rows), topics / topics.sum(1, keepdims=True)


def test_documents_that_one_candidate_knows_give_all_they_may_and_not_more():
    counts, topics = apart()
    units = group_units(counts, None)
    assert score_sum(units, topics, PRIOR).tolist() == [40 << BITS]
    assert score_sum(units, topics[::-1], PRIOR).tolist() == [-(40 << BITS)]
    assert score_sum(units, np.stack([topics[0]] * 2), PRIOR).tolist() == [0]
    one_person = group_units(counts, np.zeros(40, np.int64))
    assert score_sum(one_person, topics, PRIOR).tolist() == [1 << BITS]


def test_broken_topics_keep_the_bound():
    counts = random_counts(30, 12, 0, mean=1)
    for broken in (np.nan, 0.0, 1e-30, 1e30):
        topics = candidates(12, 2)
        topics[1] = broken
        units = group_units(counts, None)
        assert np.abs(score_sum(units, topics, PRIOR)).max() <= 30 << BITS


def test_same_bytes_for_any_threads_and_order():
    assert same_for_any_threads_and_order(score)


@pytest.mark.parametrize("owned", [False, True])
def test_shards_give_the_bytes_of_memory(tmp_path, owned):
    counts, persons, sharded = in_memory_and_in_shards(tmp_path, owned)
    np.testing.assert_array_equal(score_sum(sharded, candidates(12), PRIOR), score(counts, persons))


# ---- planted mistakes: the very same checks must refuse them


def sums(vector, put):
    def total(counts, persons=None):
        topics = candidates(counts.shape[1])
        units = naive.by_unit(counts, persons)
        return naive.add_up((vector(unit, topics, PRIOR, 0.05) for unit in units), 2, put=put)

    return total


def raw(vector):
    return np.trunc(vector * 2**BITS).astype(np.int64)


def gains_of(unit, topics, prior, weigh=lambda document: 1.0):
    """Unclipped gains, the mean over documents."""
    rows = []
    for document in unit:
        if sum(document.values()) >= 2:
            first, *others = (weigh(document) * naive.nats_a_token(document, t, prior) for t in topics)
            rows.append([other - first for other in others])
    return np.mean(rows, axis=0) if rows else np.zeros(len(topics) - 1)


def not_clipped(unit, topics, prior, reach):
    return gains_of(unit, topics, prior) / reach


def sum_of_tokens(unit, topics, prior, reach):
    """Clipped, and then times the number of tokens: a long document says more than its bound."""
    rows = [naive.score_vector([d], topics, prior, reach) * sum(d.values()) for d in unit]
    return np.mean(rows, axis=0) if rows else np.zeros(len(topics) - 1)


def each_document(counts, persons=None):
    return score(counts, None)


@pytest.mark.parametrize("wrong", [not_clipped, sum_of_tokens])
def test_planted_vectors_are_caught(wrong):
    counts = random_counts(40, 12, 5, mean=1)
    assert moves_by_at_most_one(sums(naive.score_vector, lambda v: naive.place(v, normalise=False)), counts)
    assert not moves_by_at_most_one(sums(wrong, raw), counts)


def test_a_person_counted_once_a_document_is_caught():
    counts, _ = apart()
    persons = np.arange(40) // 8
    assert moves_by_at_most_one(score, counts, persons)
    assert not moves_by_at_most_one(each_document, counts, persons)


def of_sums(unit, topics, prior, reach):
    """A document's sum over tokens in place of the mean, clipped."""
    return np.mean([np.clip(gains_of([d], topics, prior, length) / reach, -1, 1) for d in unit], axis=0)


def length(document):
    return sum(document.values())


def own_left_in(unit, topics, prior, reach):
    """Tokens guessed from all of their document, themselves too."""
    rows = []
    for document in unit:
        nats = []
        for t in topics:
            theta = naive.em_theta(document, naive.start_theta(document, K, prior), t, prior, 20)
            share = theta / theta.sum()
            nats.append(
                sum(c * math.log(share @ t[w]) for w, c in document.items()) / max(length(document), 1)
            )
        rows.append(np.clip((np.array(nats[1:]) - nats[0]) / reach, -1, 1))
    return np.mean(rows, axis=0)


@pytest.mark.parametrize("wrong", [of_sums, own_left_in])
def test_what_keeps_the_bound_and_is_not_what_was_documented_is_caught_by_the_twin(wrong):
    counts = random_counts(40, 12, 5, mean=1)
    assert np.abs(score(counts) - twin(counts)).max() < 2**BITS * 0.05
    assert np.abs(score(counts) - twin(counts, vector=wrong)).max() > 2**BITS


# ---- the choice


class Gate:
    """Gives back what it was told to, and notes what it was asked."""

    n_jobs = 1

    def __init__(self, value):
        self.value, self.asked = value, []

    def release(self, total, share, purpose):
        self.asked.append((total.tolist(), share, purpose))
        return Noisy(np.array([self.value]), 1.0)


@pytest.mark.parametrize("value", [-2.0, 0.0, 2.0])
def test_the_choice_is_the_noisy_scores(value):
    """Whatever the exact score says: a choice by that is the planted mistake."""
    counts, topics = apart()
    schedule = plan(1000, 1.0, 12, with_vectors=True, init="score")
    starts = [Start(t, schedule, bool(j), None) for j, t in enumerate(topics)]
    gate = Gate(value)
    best = best_of(starts, group_units(counts, None), PRIOR, gate)
    assert gate.asked == [([40 << BITS], SCORE_SHARE, "score of starts")]
    assert best.from_vectors == (value > 0)
    np.testing.assert_array_equal(best.word_topic, topics[int(value > 0)])
    assert best.schedule == (schedule.believed if value > 0 else schedule.doubted)
