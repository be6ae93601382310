"""The arithmetic under the samplers: fixed-point products, enclosures of exp, thresholds."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.naive import samplers

from discreet.privacy.noise import _draws as shared
from discreet.privacy.noise import gaussian as module
from discreet.privacy.noise._exact import exp_bounds

ALL_SCALES = st.one_of(
    st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2**40), Fraction(2**40 - 1, 3)]),
    st.fractions(Fraction(1, 2**20), 2**40),
    st.floats(2.0**-30, 2.0**40).map(Fraction),
)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.integers(1, 63), st.booleans())
@example(2**63 - 1, 2**63 - 1, 1, True)
@example(2**63 - 1, 2**63 - 1, 63, True)
@example(0, 0, 1, False)
@settings(max_examples=2_000, deadline=None, derandomize=True)
def test_fixed_point_product_is_the_floor_of_the_whole_interval(y, multiplier, shift, nearest):
    half = 1 << (shift - 1) if nearest else 0
    answer = shared.scaled(*(np.uint64(v) for v in (y, multiplier, shift, half)))
    total = shift + 64
    low, high = y * multiplier + (half << 64), (y + 1) * (multiplier + 1) + (half << 64)
    if answer == -1:
        assert low >> total != high >> total
    else:
        assert low >> total == high >> total == answer < 2**63


@given(ALL_SCALES, st.sampled_from([58, 60]), st.booleans())
@settings(max_examples=500, deadline=None, derandomize=True)
def test_fixed_scales_enclose_the_scale(scale, digits, nearest):
    multiplier, shift, half = (int(v) for v in shared.fixed(scale, digits, nearest=nearest))
    places = shift + 64 - digits
    assert 1 <= shift <= 63
    assert multiplier < 2**63
    assert multiplier <= scale * 2**places < multiplier + 1
    assert half == (2 ** (shift - 1) if nearest else 0)


@given(st.fractions(0, 60, max_denominator=2**60), st.integers(8, 300))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_bounds_on_exp_hold(exponent, bits):
    low, high = exp_bounds(exponent, bits)
    with localcontext() as context:
        context.prec = 200
        truth = Fraction((-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())
    slack = Fraction(1, 10**190)
    assert Fraction(low, 2**bits) <= truth + slack
    assert truth - slack <= Fraction(high, 2**bits)
    assert high - low <= 200 + 4 * bits


def test_thresholds_are_those_of_the_theta_sum():
    table = [floor_of * 2**32 for floor_of in samplers.cumulative()[:6]]
    assert module._thresholds().tolist() == [value.__floor__() for value in table]


def test_fractions_of_numpys_numbers_do_not_wrap_around():
    fraction = shared.as_scale(Fraction(np.int32(2**30), np.int32(1)))
    assert fraction * 4 == 2**32
    assert type(fraction.numerator) is int
    assert type(shared.as_scale(np.uint8(3)).numerator) is int
