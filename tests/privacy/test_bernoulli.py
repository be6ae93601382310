"""Coins: exact probabilities, the same toss by toss as the slow twin."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.naive import goodness, samplers
from tests.naive.fake_words import FakeStream

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import SecureStream, bernoulli
from discreet.privacy.noise.bernoulli import Coins

N = 1_000_000


@pytest.mark.parametrize("probability", [0.5, Fraction(1, 3), 0.1, Fraction(999, 1000), 1e-4])
def test_accepts_the_true_probability_and_rejects_others(probability):
    coins = bernoulli(probability, N, SecureStream(3))
    assert coins.dtype == np.bool_
    heads, truth = int(coins.sum()), float(probability)
    assert stats.binomtest(heads, N, truth).pvalue > goodness.ACCEPT
    if truth > 0.01:
        wrong = truth * 0.98 if truth < 0.9 else 1 - 1.5 * (1 - truth)
        assert stats.binomtest(heads, N, wrong).pvalue < goodness.REJECT


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(0.7), Fraction(2**80 + 1, 3**60)])
def test_same_as_the_twin_toss_by_toss(value):
    n = samplers.BLOCK + 100
    slow = samplers.draws(samplers.coin_draw, n, SecureStream(5).blocks("bernoulli"), value)
    assert np.array_equal(bernoulli(value, n, SecureStream(5)), slow)


PROBABILITIES = st.one_of(
    st.fractions(0, 1), st.floats(0, 1).map(Fraction), st.integers(0, 2**32).map(lambda i: Fraction(i, 2**32))
)


@given(PROBABILITIES, st.sampled_from([-1, 0, 1]), st.integers(0, 10))
@example(Fraction(0), 0, 0)
@example(Fraction(1), 0, 0)
@example(Fraction(1, 2**2000), 0, 0)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_first_digits_equal_to_the_probabilitys_are_decided_by_further_ones(value, beside, seed):
    word = min(max(math.floor(value * 2**32) + beside, 0), 2**32 - 1)
    stream = FakeStream([word], seed=seed)
    slow = samplers.draws(samplers.coin_draw, 3, FakeStream([word], seed=seed).blocks(""), value)
    assert np.array_equal(bernoulli(value, 3, stream), slow)


def test_an_undecidable_toss_is_refused():
    # 1/3 = 0.010101...: words whose digits are exactly these can never be told from it.
    with pytest.raises(PrivacyError, match="broken"):
        bernoulli(Fraction(1, 3), 5, FakeStream([0x55555555], 0x55555555))


def test_digits_far_behind_the_first_decide():
    """2^-100 above or below a half: digits 33 to 96 of U and p are equal, and still neither side may be guessed."""
    half, tiny = Fraction(1, 2), Fraction(1, 2**100)
    for probability, word, extension, answer in (
        (half + tiny, 2**31, 0, True),
        (half + tiny, 2**31, 1, False),
        (half - tiny, 2**31 - 1, 2**32 - 1, False),
        (half - tiny, 2**31 - 1, 2**32 - 2, True),
    ):
        assert (bernoulli(probability, 3, FakeStream([word], extension)) == answer).all()


def test_certain_coins():
    for value, answer in ((0, False), (1, True)):
        for word in (0, 2**32 - 1):
            assert (bernoulli(value, 50, FakeStream([word], word)) == answer).all()


def test_float_is_its_own_rational():
    """0.1 is a little more than a tenth: the word between them tells them apart."""
    words = [math.floor(Fraction(1, 10) * 2**32)]
    extension = math.floor((Fraction(1, 10) * 2**32 % 1) * 2**32) + 1
    assert Fraction(1, 10) < Fraction(0.1)
    between = Fraction(words[0] * 2**32 + extension, 2**64)
    assert not bernoulli(Fraction(1, 10), 1, FakeStream(words, extension)).any()
    assert bernoulli(0.1, 1, FakeStream(words, extension)).all() == (between < Fraction(0.1))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_do_not_matter(n_jobs):
    one, many = (
        bernoulli(0.3, 50_000, SecureStream(3)),
        bernoulli(0.3, 50_000, SecureStream(3), n_jobs=n_jobs),
    )
    assert np.array_equal(one, many)


def test_wrong_parameters_are_refused():
    for wrong in (-0.1, 1.1, np.inf, np.nan):
        with pytest.raises(ParameterError, match="probability must be"):
            bernoulli(wrong, 3, SecureStream(1))
    with pytest.raises(TypeError):
        bernoulli("1/2", 3, SecureStream(1))


def test_numbered_coins_are_those_of_one_array_wherever_they_are_tossed():
    n = 3 * samplers.BLOCK + 100
    coins, expected = Coins(0.3, SecureStream(5)), bernoulli(0.3, n, SecureStream(5))
    assert np.array_equal(coins.toss(0, n), expected)
    for first, size in (
        (0, 0),
        (7, 1),
        (samplers.BLOCK - 1, 2),
        (samplers.BLOCK, samplers.BLOCK),
        (100, 20_000),
    ):
        assert np.array_equal(coins.toss(first, size), expected[first : first + size])
    sent = copy.deepcopy(coins)  # as it would be sent
    assert np.array_equal(sent.toss(500, n - 500), expected[500:])
    assert not np.array_equal(Coins(0.3, SecureStream(6)).toss(0, n), expected)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        Coins(1.5, SecureStream(5))
