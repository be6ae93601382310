"""Count, unigram and co-occurrence: equal to the naive twins, bounded for each unit, the same for any threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import central as naive
from tests.naive.central_checks import (
    corpora,
    csr,
    moves_by_at_most_one,
    random_counts,
    units_fit_the_lattice,
)

from discreet.central.sums.units import cooccurrence_sum, count_sum, group_units, unigram_sum
from discreet.privacy.mechanism import BITS

CHOSEN = np.array([0, 1, 3, 4])
WEIGHTS = np.array([0.7, 1.3, 1.0, 2.1])


def count(counts, persons=None):
    return count_sum(group_units(counts, persons))


def unigram(counts, persons=None):
    return unigram_sum(group_units(counts, persons))


def cooccurrence(counts, persons=None):
    return cooccurrence_sum(group_units(counts, persons), CHOSEN, WEIGHTS)


STATISTICS = {"count": count, "unigram": unigram, "cooccurrence": cooccurrence}


def naive_sum(name, counts, persons):
    units = naive.by_unit(counts, persons)
    if name == "count":
        return np.array([len(units) * 2**BITS])
    if name == "unigram":
        return naive.add_up((naive.unigram_vector(u, counts.shape[1]) for u in units), counts.shape[1])
    n_pairs = len(CHOSEN) * (len(CHOSEN) - 1) // 2
    return naive.add_up((naive.cooccurrence_vector(u, CHOSEN, WEIGHTS) for u in units), n_pairs)


@pytest.mark.parametrize("name", STATISTICS)
@given(corpora())
@settings(max_examples=60, deadline=None)
def test_equal_to_the_naive_twin(name, corpus):
    counts, persons = corpus
    counts = csr(np.minimum(counts.toarray(), 2**24))
    for given_persons in (None, persons):
        fast = STATISTICS[name](counts, given_persons)
        # Truncation may differ by one step where a quotient is whole, once for each unit.
        assert np.abs(fast - naive_sum(name, counts, given_persons)).max(initial=0) <= counts.shape[0]


@pytest.mark.parametrize("name", STATISTICS)
@given(corpora())
@settings(max_examples=60, deadline=None)
def test_one_unit_moves_a_sum_by_at_most_one(name, corpus):
    counts, persons = corpus
    for given_persons in (None, persons):
        assert units_fit_the_lattice(STATISTICS[name], counts, given_persons)
        assert moves_by_at_most_one(STATISTICS[name], counts, given_persons)


def test_a_unit_that_is_not_empty_uses_its_bound():
    counts = random_counts(30, 5, 0, mean=2)
    for statistic in STATISTICS.values():
        for row in range(30):
            total = statistic(counts[row]).astype(float)
            assert np.linalg.norm(total) / 2**BITS == pytest.approx(1 if total.any() else 0, abs=1e-4)


@pytest.mark.parametrize("name", ["unigram", "cooccurrence"])
def test_same_bytes_for_any_threads_and_order(name):
    counts = random_counts(200, 30, 1)
    persons = np.random.default_rng(2).integers(0, 60, 200)
    order = np.random.default_rng(3).permutation(200)
    chosen, weights = np.arange(3, 20), np.linspace(0.3, 3.1, 17)

    def total(counts, persons, n_jobs):
        units = group_units(counts, persons)
        if name == "unigram":
            return unigram_sum(units, n_jobs)
        return cooccurrence_sum(units, chosen, weights, n_jobs)

    for given_persons in (None, persons):
        reference = total(counts, given_persons, 1).tobytes()
        assert all(total(counts, given_persons, n).tobytes() == reference for n in (2, 4, 300))
        permuted = None if given_persons is None else given_persons[order]
        assert total(counts[order], permuted, 2).tobytes() == reference


def test_a_person_with_two_documents_does_not_change_what_others_add():
    """Removing the only such person takes the other kernel: it must add the very same integers."""
    counts = random_counts(40, 12, 4, mean=1)
    chosen, weights = np.arange(12), np.linspace(0.3, 3.1, 12)
    alone = cooccurrence_sum(group_units(counts, np.arange(40)), chosen, weights)
    pair = counts[:2]
    both = cooccurrence_sum(
        group_units(csr(np.vstack([counts.toarray(), pair.toarray()])), np.r_[np.arange(40), 99, 99]),
        chosen,
        weights,
    )
    only = cooccurrence_sum(group_units(pair, np.array([99, 99])), chosen, weights)
    np.testing.assert_array_equal(both - only, alone)


# ---- planted mistakes: the very same checks must refuse them


def normalised_after_the_sum(counts, persons=None):
    units = naive.by_unit(counts, persons)
    return naive.place(sum(naive.unigram_vector(unit, counts.shape[1]) for unit in units)) * len(units)


def clipped_to_the_batch_only(counts, persons=None):
    raw = sum(
        (naive.unigram_vector(u, counts.shape[1]) for u in naive.by_unit(counts, persons)),
        np.zeros(counts.shape[1]),
    )
    limit = 100.0  # as large as a batch is expected to be
    return np.trunc(raw * min(1, limit / max(np.linalg.norm(raw), 1e-9)) * 2**BITS).astype(np.int64)


def rounded_to_nearest(counts, persons=None):
    total = np.zeros(counts.shape[1], np.int64)
    for unit in naive.by_unit(counts, persons):
        vector = naive.unigram_vector(unit, counts.shape[1])
        total += np.rint(vector / max(np.linalg.norm(vector), 1e-9) * 2**BITS).astype(np.int64)
    return total


def documents_one_by_one(counts, persons=None):
    return unigram(counts, None)


def squared_norm_forgotten(counts, persons=None):
    """L1 where L2 is meant is fine; the largest entry where L2 is meant is not."""
    total = np.zeros(counts.shape[1], np.int64)
    for unit in naive.by_unit(counts, persons):
        vector = naive.unigram_vector(unit, counts.shape[1])
        total += np.trunc(vector / max(vector.max(initial=0), 1e-9) * 2**BITS).astype(np.int64)
    return total


def diagonal_twice(counts, persons=None):
    """The whole square where the triangle was bounded."""
    triangle = cooccurrence(counts, persons)
    return np.concatenate([triangle, triangle])


@pytest.mark.parametrize(
    "wrong",
    [
        normalised_after_the_sum,
        clipped_to_the_batch_only,
        rounded_to_nearest,
        documents_one_by_one,
        squared_norm_forgotten,
        diagonal_twice,
    ],
)
def test_planted_mistakes_are_caught(wrong):
    counts = random_counts(40, 5, 5, mean=2)
    persons = np.arange(40) // 4
    assert moves_by_at_most_one(unigram, counts, persons)
    assert not moves_by_at_most_one(wrong, counts, persons)
