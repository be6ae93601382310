"""Sums of sparse rows: the same integers as row by row, for any number of threads, and each row bounded by itself."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import CorpusError, PrivacyError
from discreet.privacy import Bound, sum_rows


def matrix(seed, n=60, width=30):
    rng = np.random.default_rng(seed)
    return sp.random(
        n,
        width,
        0.3,
        "csr",
        random_state=rng,
        data_rvs=lambda k: rng.normal(size=k) * 10.0 ** rng.integers(-3, 4),
    )


@settings(deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["l2", "l1"]),
    st.booleans(),
    st.floats(0.01, 100),
    st.integers(1, 20),
)
def test_equals_the_sum_row_by_row(seed, norm, normalise, size, bits):
    bound = Bound(norm, contribution_bound=size, bits=bits)
    rows = matrix(seed)
    slow = bound.sum(rows.toarray(), normalise=normalise)
    assert np.array_equal(sum_rows(rows, bound, normalise=normalise).values, slow.values)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["l2", "l1"]), st.booleans())
def test_one_row_moves_the_sum_by_no_more_than_the_sensitivity(seed, norm, normalise):
    bound = Bound(norm, bits=10)
    rows = matrix(seed)
    moved = (
        sum_rows(rows, bound, normalise=normalise).values
        - sum_rows(rows[1:], bound, normalise=normalise).values
    )
    length = int((moved**2).sum()) if norm == "l2" else int(np.abs(moved).sum())
    assert length <= bound.sensitivity ** (2 if norm == "l2" else 1)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["l2", "l1"]), st.booleans())
def test_persons_are_bounded_for_all_their_rows_together(seed, norm, normalise):
    bound, rows = Bound(norm, bits=10, privacy_unit="person"), matrix(seed)
    persons = np.random.default_rng(seed).choice(["ann", "bob", "eve"], 60)
    of_each = {name: np.zeros(30) for name in dict.fromkeys(persons.tolist())}
    for name, row in zip(persons.tolist(), rows.toarray(), strict=True):
        of_each[name] = of_each[name] + row
    whole = sum_rows(rows, bound, persons=persons, normalise=normalise).values
    assert np.array_equal(whole, bound.sum(of_each.values(), normalise=normalise).values)
    without = sum_rows(rows[persons != "eve"], bound, persons=persons[persons != "eve"], normalise=normalise)
    moved = whole - without.values
    length = int((moved**2).sum()) if norm == "l2" else int(np.abs(moved).sum())
    assert length <= bound.sensitivity ** (2 if norm == "l2" else 1)


SAME = [(7, "7"), (7.0, "7"), (np.uint8(7), 7), ("Jos\u00e9", "Jose\u0301")]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_owner_written_in_two_ways_is_one_person(one, other):
    bound = Bound("l1", bits=4, privacy_unit="person")
    assert sum_rows(np.ones((2, 1)), bound, persons=[one, other]).values.tolist() == [16]
    assert sum_rows(np.ones((2, 1)), bound, persons=[one, "somebody else"]).values.tolist() == [32]


def test_persons_may_be_of_any_kind_but_none_may_be_missing():
    bound = Bound("l1", bits=4, privacy_unit="person")
    of_frame = pd.Series([7, 8, 7], index=[2, 1, 0])
    assert sum_rows(np.eye(3), bound, persons=of_frame).values.tolist() == [8, 16, 8]
    for missing in (None, np.nan, pd.NA, pd.NaT, "", " ", "nan", True, b"ann"):
        with pytest.raises(
            CorpusError, match=r"persons must name whose .* row is, .* but row 2 .counted from 1. has"
        ):
            sum_rows(np.eye(3), bound, persons=["ann", missing, "ann"])
    with pytest.raises(CorpusError, match=r"persons must have shape \(3,\)"):
        sum_rows(np.eye(3), bound, persons=["ann", "bob"])


def test_threads_duplicates_and_odd_values_change_nothing():
    bound, rows = Bound(), matrix(3, 5000)
    one = sum_rows(rows, bound).values
    assert np.array_equal(sum_rows(rows, bound, n_jobs=3).values, one)
    twice = sp.csr_matrix((np.r_[1.0, 1.0], np.array([2, 2]), np.array([0, 2])), shape=(1, 4))
    assert np.array_equal(sum_rows(twice, bound).values, [0, 0, 2**14, 0])
    assert twice.nnz == 2  # the caller's matrix is as it was
    assert not sum_rows(np.array([[np.nan, 1.0], [np.inf, 1.0]]), bound).values.any()
    assert sum_rows(np.zeros((0, 3)), bound).values.tolist() == [0, 0, 0]


def test_what_is_no_matrix_is_refused():
    with pytest.raises(PrivacyError, match="one row a unit"):
        sum_rows(np.ones(3), Bound())


def test_persons_are_refused_beside_a_bound_for_one_document():
    """Two rows of a person, 1 and -10, are clipped together: without the second the sum moves by two contributions."""
    with pytest.raises(PrivacyError, match="bounded together, but the bound is for each document"):
        sum_rows([[1.0], [-10.0]], Bound("l1"), persons=["ann", "ann"])
    assert (
        sum_rows([[1.0], [-10.0]], Bound("l1", privacy_unit="person"), persons=["ann", "ann"]).values[0] < 0
    )
