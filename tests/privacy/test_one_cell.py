"""The bound of tables that count each unit in one cell."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.privacy import Bound, BoundedSum, LaplaceMechanism, Ledger, SecureStream
from discreet.privacy.accounting import events
from discreet.privacy.row_sums import OneCellBound, sum_rows


def test_sensitivities_are_those_of_a_move_between_cells():
    assert OneCellBound("l1").sensitivity == 2
    root = OneCellBound("l2").sensitivity
    assert 2 <= root**2 < 2 * (1 + Fraction(1, 2**50))
    move = np.array([1, 0, 0]) - np.array([0, 0, 1])
    assert np.abs(move).sum() == 2
    assert (move**2).sum() == 2
    # A bound for any vector of norm 1 is looser, and may not be mixed up with this one.
    assert Bound("l2", privacy_unit="word", neighboring="replace_one").sensitivity == 2 * 2**14
    mechanism = LaplaceMechanism(OneCellBound("l1"), 1.0)
    ledger = Ledger(2, 1e-6, privacy_unit="word", neighboring="replace_one")
    wrong = BoundedSum(np.zeros(3, np.int64), Bound("l1", privacy_unit="word", neighboring="replace_one"))
    with pytest.raises(PrivacyError, match="was bounded by"):
        mechanism.release(wrong, SecureStream(0), ledger.reserve(mechanism.event(), "a table"))


def test_laplace_books_two_cells():
    mechanism = LaplaceMechanism(OneCellBound("l1"), 0.7)
    assert mechanism.scale == 2 / Fraction(0.7)
    ((leaf, times),) = events.leaves(mechanism.event())
    assert (times, leaf.sensitivity) == (2, 1)
    assert leaf.noise_parameter * times == 0.7


def test_contributions_are_one_in_one_cell():
    bound = OneCellBound("l1")
    total = bound.sum([[1, 0, 0], [0, 0, 1], [0, 0, 1]])
    assert total.values.tolist() == [1, 0, 2]
    around = [2**62, 2**62, 2**62, 2**62, 1]  # 1 in 64 bits
    for wrong in (
        [1, 1, 0],
        [0, 0, 0],
        [2, 0, 0],
        [0.5, 0.5, 0],
        [1, 1, -1],
        [-1, 0, 0],
        [np.nan, 1, 0],
        around,
    ):
        with pytest.raises(PrivacyError, match="exactly one cell"):
            bound.place(wrong)


def test_contributions_are_numbers_as_they_stand():
    """Under a mask, and beside the real part, there may be anything."""
    for wrong in (np.ma.masked_array([1, 7], mask=[False, True]), np.array([1, 3j])):
        with pytest.raises(DiscreetError):
            OneCellBound("l1").place(wrong)


def test_rows_of_a_norm_are_no_table():
    """One unit replaced, (1, 0) by (-1, 0), moves the sum by 2, and the bound says the root of 2."""
    with pytest.raises(PrivacyError, match="by its own sum"):
        sum_rows(np.array([[-1, 0]]), OneCellBound("l2"))


def test_refusals():
    with pytest.raises(ParameterError):
        OneCellBound("l3")
    with pytest.raises(ParameterError, match="bits=0"):
        OneCellBound("l1", bits=4)
    with pytest.raises(PrivacyError, match="replace_one"):
        OneCellBound("l1", neighboring="add_or_remove_one")
