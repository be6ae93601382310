"""The second moment in the space of vectors: its naive twin, its bound for each unit, the same for any threads."""

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
    square_norm,
    units_fit_the_lattice,
)

from discreet.central.sums.units import group_units, moment_sum
from discreet.lda.questions import square_of
from discreet.privacy.mechanism import BITS

FEATURES = np.random.default_rng(0).normal(size=(40, 4)) * [0.1, 1.0, 3.0, 1.0]


def moment(counts, persons=None, n_jobs=1):
    return moment_sum(group_units(counts, persons), FEATURES[: counts.shape[1]], n_jobs)


def twin(counts, persons=None, vector=naive.moment_vector):
    features = FEATURES[: counts.shape[1]]
    return naive.add_up((vector(unit, features) for unit in naive.by_unit(counts, persons)), 10)


@given(corpora())
@settings(max_examples=40, deadline=None)
def test_equal_to_the_naive_twin(corpus):
    counts, persons = corpus
    counts = csr(np.minimum(counts.toarray(), 1000))
    for given_persons in (None, persons):
        # Own words are taken off again, so a sum over pairs differs from the twin's by rounding.
        assert (
            np.abs(moment(counts, given_persons) - twin(counts, given_persons)).max() <= 2 * counts.shape[0]
        )


@given(corpora())
@settings(max_examples=40, deadline=None)
def test_one_unit_moves_the_sum_by_at_most_one(corpus):
    counts, persons = corpus
    for given_persons in (None, persons):
        assert units_fit_the_lattice(moment, counts, given_persons)
        assert moves_by_at_most_one(moment, counts, given_persons)


def test_a_unit_of_several_words_uses_its_bound_and_one_of_a_single_word_adds_nothing():
    counts = random_counts(30, 12, 0, mean=1)
    for row in counts:
        total = moment(row)
        expected = 1.0 if row.nnz > 1 else 0.0
        assert np.sqrt(square_norm(total)) / 2**BITS == pytest.approx(expected, abs=1e-4)
    assert not moment(csr([[0, 3, 0], [0, 0, 0], [1000, 0, 0]])).any()
    assert not moment(csr([[0, 3, 0], [0, 7, 0], [5, 0, 0]]), np.zeros(3, int)).any()


def test_features_of_nothing_or_of_any_size_keep_the_bound():
    units = group_units(random_counts(30, 12, 0, mean=1), None)
    assert not moment_sum(units, np.zeros((12, 3))).any()
    for scale in (1e-150, 1e140):
        np.testing.assert_allclose(
            moment_sum(units, FEATURES[:12] * scale), moment_sum(units, FEATURES[:12]), atol=300
        )


def test_same_bytes_for_any_threads_and_order():
    assert same_for_any_threads_and_order(moment)


@pytest.mark.parametrize("owned", [False, True])
def test_shards_give_the_bytes_of_memory(tmp_path, owned):
    counts, persons, sharded = in_memory_and_in_shards(tmp_path, owned)
    np.testing.assert_array_equal(moment_sum(sharded, FEATURES[:12]), moment(counts, persons))


def test_the_square_has_the_norm_of_the_triangle():
    triangle = np.random.default_rng(0).normal(size=21)
    square = square_of(triangle)
    assert square.shape == (6, 6)
    np.testing.assert_array_equal(square, square.T)
    assert np.linalg.norm(square) == pytest.approx(np.linalg.norm(triangle))
    unit = {0: 2, 3: 1, 5: 4}
    whole = sum(
        np.sqrt(unit[v] * unit[w]) * np.outer(FEATURES[v], FEATURES[w]) for v in unit for w in unit if v != w
    )
    np.testing.assert_allclose(square_of(naive.moment_vector([unit], FEATURES)), whole)


# ---- planted mistakes: the very same checks must refuse them


def not_normalised(counts, persons=None):
    total = np.zeros(10, np.int64)
    for unit in naive.by_unit(counts, persons):
        total += np.trunc(naive.moment_vector(unit, FEATURES) * 2**BITS).astype(np.int64)
    return total


def whole_square(counts, persons=None):
    """All of the square where the triangle was bounded: pairs of directions count twice."""
    triangle = moment(counts, persons)
    return np.concatenate([triangle, triangle])


def documents_one_by_one(counts, persons=None):
    return moment(counts, None)


def unweighted_triangle(counts, persons=None):
    """Bounded without the root of 2, which is then put on."""
    rows, columns = np.triu_indices(4)
    weight = np.where(rows == columns, 1.0, np.sqrt(2))
    total = np.zeros(10, np.int64)
    for unit in naive.by_unit(counts, persons):
        placed = naive.place(naive.moment_vector(unit, FEATURES) / weight)
        total += np.trunc(placed * weight).astype(np.int64)
    return total


@pytest.mark.parametrize("wrong", [not_normalised, whole_square, documents_one_by_one, unweighted_triangle])
def test_planted_mistakes_are_caught(wrong):
    counts = random_counts(40, 12, 5, mean=1)
    persons = np.arange(40) // 4
    assert moves_by_at_most_one(moment, counts, persons)
    assert not moves_by_at_most_one(wrong, counts, persons)


def test_own_words_left_in_are_caught():
    """A word that is paired with itself: the twin tells."""

    def with_own(unit, features):
        square = np.zeros((4, 4))
        for document in unit:
            place = sum(np.sqrt(count) * features[word] for word, count in document.items())
            square += np.outer(place, place)
        rows, columns = np.triu_indices(4)
        return square[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2))

    counts = random_counts(40, 12, 5, mean=1)
    assert np.abs(moment(counts) - twin(counts)).max() <= 80
    assert np.abs(moment(counts) - twin(counts, vector=with_own)).max() > 0.1 * 2**BITS
