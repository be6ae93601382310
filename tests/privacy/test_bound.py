"""Bounded contributions hold their norm against any input, and the plausible mistakes do not."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.naive import bound as naive

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.bound import MAX_BITS, Bound, BoundedSum

anything = st.floats(allow_nan=False, allow_infinity=False)
tame = st.floats(-1e3, 1e3, allow_nan=False, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-6)
vectors = st.lists(anything, min_size=1, max_size=40)
bits = st.integers(1, MAX_BITS)
TINY, HUGE = 5e-324, 1.7976931348623157e308


@settings(max_examples=400, deadline=None)
@given(vectors, bits, st.booleans())
@example([TINY], 14, True)
@example([TINY, HUGE, -HUGE], 26, True)
@example([HUGE] * 40, 26, False)
@example([1.0] * 3, 14, True)
@example([1.0, 1.0], 1, True)
@example([1.0 + 2**-52], 26, False)
@example([0.0, -0.0], 14, True)
def test_the_integer_l2_norm_never_exceeds_the_bound(values, n_bits, normalise):
    placed = Bound("l2", bits=n_bits).place(values, normalise=normalise)
    assert naive.norm_l2_at_most([int(x) for x in placed], 2**n_bits)


@settings(max_examples=400, deadline=None)
@given(vectors, bits, st.booleans())
@example([HUGE] * 40, 26, True)
@example([TINY] * 7, 26, True)
@example([1 / 3] * 3, 26, True)
def test_the_integer_l1_norm_never_exceeds_the_bound(values, n_bits, normalise):
    placed = Bound("l1", bits=n_bits).place(values, normalise=normalise)
    assert sum(abs(int(x)) for x in placed) <= 2**n_bits


@settings(max_examples=200, deadline=None)
@given(st.lists(tame, min_size=1, max_size=30), st.integers(1, 20), st.booleans())
def test_fast_and_naive_agree_to_one_step(values, n_bits, normalise):
    for norm, twin in (("l2", naive.place_l2), ("l1", naive.place_l1)):
        fast = Bound(norm, bits=n_bits).place(values, normalise=normalise)
        slow = twin(values, n_bits, normalise)
        # A quotient that is a whole number up to rounding may fall on either side of it; never more.
        assert max(abs(int(f) - s) for f, s in zip(fast, slow, strict=True)) <= 1
        assert all(abs(int(f)) <= abs(v * 2**n_bits) or normalise for f, v in zip(fast, values, strict=True))


def test_rounds_toward_zero_and_not_to_the_nearest():
    placed = Bound(bits=4).place([0.99 / 16, -0.99 / 16, 1.99 / 16, 0.5])
    assert placed.tolist() == [0, 0, 1, 8]


def test_rounding_to_nearest_would_break_the_norm():
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(200):
        vector = rng.normal(size=200)
        vector /= np.linalg.norm(vector)
        nearest = np.rint(vector * 2**6).astype(np.int64)
        broken += int((nearest**2).sum()) > 4**6
        assert naive.norm_l2_at_most(Bound(bits=6).place(vector, normalise=True).tolist(), 2**6)
    assert broken > 50, "the planted mistake must be visible, or this test shows nothing"


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_contribution_that_is_not_finite_becomes_zeros(norm, poison):
    assert not Bound(norm).place([0.1, poison, 0.2]).any()


def test_normalising_scales_up_and_clipping_does_not():
    small = [0.001, 0.002]
    assert np.linalg.norm(Bound().place(small, normalise=True)) > 0.999 * 2**14
    assert np.linalg.norm(Bound().place(small)) < 0.003 * 2**14


def test_contribution_bound_sets_the_lattice_step():
    bound = Bound(contribution_bound=50.0, bits=10)
    assert bound.step == 50 / 1024
    assert abs(bound.place([30.0, 0.0])[0] * bound.step - 30) <= bound.step
    assert np.linalg.norm(bound.place([300.0, 400.0])) <= 1024


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(anything, min_size=3, max_size=3), min_size=2, max_size=12), st.data())
def test_neighbours_move_the_sum_by_at_most_the_sensitivity(units, data):
    gone = data.draw(st.integers(0, len(units) - 1))
    bound = Bound()
    with_unit = bound.sum(units, normalise=True).values
    without = bound.sum([u for i, u in enumerate(units) if i != gone], normalise=True).values
    difference = [int(x) for x in with_unit - without]
    assert naive.norm_l2_at_most(difference, bound.sensitivity)


def test_clipping_the_sum_is_caught():
    """The planted mistake: one unit, unbounded, then a clip of the mean. It moves by far more than one bound."""
    bound = Bound()
    crowd, outlier = [[1.0, 0.0]] * 20, [-50.0, 40.0]

    def mean_then_clip(units):
        mean = np.mean(units, axis=0)
        return bound.place(mean).astype(np.int64) * len(units)

    wrong = mean_then_clip([*crowd, outlier]) - mean_then_clip(crowd)
    right = bound.sum([*crowd, outlier]).values - bound.sum(crowd).values
    assert not naive.norm_l2_at_most([int(x) for x in wrong], bound.sensitivity)
    assert naive.norm_l2_at_most([int(x) for x in right], bound.sensitivity)


def test_normalising_after_the_sum_is_caught():
    bound = Bound()
    crowd, outlier = [[3.0, 0.0], [0.0, 4.0], [2.0, 2.0]], [-900.0, 0.0]

    def sum_then_normalise(units):
        total = np.sum(units, axis=0)
        return bound.place(total / np.abs(total).max(), normalise=True) * len(units)

    wrong = sum_then_normalise([*crowd, outlier]) - sum_then_normalise(crowd)
    right = bound.sum([*crowd, outlier], normalise=True).values - bound.sum(crowd, normalise=True).values
    assert not naive.norm_l2_at_most([int(x) for x in wrong], bound.sensitivity)
    assert naive.norm_l2_at_most([int(x) for x in right], bound.sensitivity)


def test_replacing_a_unit_is_twice_as_sensitive():
    assert Bound(neighboring="replace_one", privacy_unit="word").sensitivity == 2 * Bound().sensitivity


def test_a_million_entries_keep_the_norm():
    placed = Bound().place(np.ones(1_000_000), normalise=True)
    assert naive.norm_l2_at_most(placed.tolist(), 2**14)
    assert (placed > 0).all()


def test_refuses_what_has_no_meaning():
    for bits in (27, 0, True, 14.5, np.uint8(14), np.int64(14)):  # 2**np.uint8(14) is 0
        with pytest.raises(ParameterError, match="bits must be an int from 1 to 26, but is"):
            Bound(bits=bits)
    with pytest.raises(ParameterError, match='norm must be "l2" or "l1"'):
        Bound(norm="linf")
    with pytest.raises(ParameterError, match="contribution_bound"):
        Bound(contribution_bound=0.0)
    with pytest.raises(PrivacyError, match="shape"):
        Bound().sum([])
    with pytest.raises(PrivacyError, match=r"unit 1 has \(3,\)"):
        Bound().sum([[1.0, 2.0], [1.0, 2.0, 3.0]])
    with pytest.raises(PrivacyError, match="int64"):
        BoundedSum(np.zeros(3), Bound())
    with pytest.raises(PrivacyError, match="2\\*\\*62"):
        BoundedSum(np.array([2**62 + 1]), Bound())


def test_the_private_sum_is_not_shown():
    assert "123456" not in repr(BoundedSum(np.array([123456]), Bound()))
