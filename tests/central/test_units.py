"""Grouping documents by unit."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from tests.naive import central as naive
from tests.naive.central_checks import corpora, csr

from discreet.central.sums.units import group_units


def unpack(units):
    """Units back to lists of documents, in the order in which kernels see them."""
    return [
        [
            [
                (int(units.words[i]), int(units.counts[i]))
                for i in range(units.indptr[document], units.indptr[document + 1])
            ]
            for document in range(units.starts[unit], units.starts[unit + 1])
        ]
        for unit in range(units.n_units)
    ]


@given(corpora())
@settings(max_examples=60, deadline=None)
def test_groups_are_those_of_the_naive_twin(corpus):
    counts, persons = corpus
    small = csr(np.minimum(counts.toarray(), 2**24))  # float32 holds these exactly
    assert [sorted(unit) for unit in unpack(group_units(small, persons))] == naive.group(small, persons)
    alone = group_units(small, None)
    assert alone.n_units == small.shape[0]
    assert [sorted(unit) for unit in unpack(alone)] == naive.group(small, None)


@given(corpora())
@settings(max_examples=40, deadline=None)
def test_order_within_a_unit_depends_on_content_only(corpus):
    counts, persons = corpus
    order = np.random.default_rng(0).permutation(counts.shape[0])
    given, permuted = group_units(counts, persons), group_units(counts[order], persons[order])
    for name in given._fields:
        np.testing.assert_array_equal(getattr(given, name), getattr(permuted, name))


def test_entry_starts_are_the_first_entries_of_units():
    units = group_units(csr([[1, 2, 0], [0, 0, 0], [1, 1, 1]]), np.array([4, 9, 4]))
    assert units.n_units == 2
    assert units.entry_starts.tolist() == [0, 5, 5]


@pytest.mark.parametrize("persons", [None, np.zeros(0, np.int64)])
def test_no_documents_are_no_units(persons):
    units = group_units(sp.csr_matrix((0, 3), dtype=np.int32), persons)
    assert units.n_units == 0
    assert units.entry_starts.tolist() == [0]


def test_the_matrix_is_not_changed():
    counts, persons = csr([[1, 0], [0, 1], [2, 2]]), np.array([1, 0, 1])
    before = counts.toarray()
    group_units(counts, persons)
    np.testing.assert_array_equal(counts.toarray(), before)
    assert persons.tolist() == [1, 0, 1]
