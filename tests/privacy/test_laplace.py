"""The discrete Laplace: exact, the same draw by draw as its slow twin, and told apart from what it is not."""

import hashlib
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.marks import quick
from tests.naive import goodness, samplers
from tests.naive.fake_words import FakeStream

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import SecureStream, discrete_laplace
from discreet.privacy.noise import laplace as module
from discreet.privacy.noise._exact import Words

SCALES = [0.5, 1, 3, 20, 1e3, 3e5, 1e9]
N = 200_000


def sample(scale, size=N, seed=7):
    return discrete_laplace(scale, size, SecureStream(seed))


def twin(scale, size, seed, mistakes=()):
    blocks = SecureStream(seed).blocks("discrete_laplace")
    return samplers.draws(samplers.laplace_draw, size, blocks, Fraction(scale), mistakes)


@pytest.mark.parametrize("scale", SCALES)
def test_accepts_the_true_scale(scale):
    values = sample(scale)
    assert values.dtype == np.int64
    assert goodness.chi_squared(values, goodness.laplace_cdf, scale) > goodness.ACCEPT
    assert goodness.kolmogorov_smirnov(values, goodness.laplace_cdf, scale) > goodness.ACCEPT
    assert goodness.symmetric(values) > goodness.ACCEPT


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("factor", [Fraction(2, 3), Fraction(9, 10), Fraction(11, 10), Fraction(3, 2)])
def test_rejects_a_wrong_scale(scale, factor):
    values = sample(Fraction(scale) * factor)
    assert goodness.chi_squared(values, goodness.laplace_cdf, scale) < goodness.REJECT
    assert goodness.kolmogorov_smirnov(values, goodness.laplace_cdf, scale) < goodness.REJECT


@pytest.mark.parametrize("scale", [0.1, 0.3, Fraction(10, 3), 2**14 / Fraction(0.1), 2.0**40])
def test_accepts_scales_of_every_kind(scale):
    values = sample(scale, 500_000)
    assert goodness.chi_squared(values, goodness.laplace_cdf, float(scale)) > goodness.ACCEPT
    assert goodness.kolmogorov_smirnov(values, goodness.laplace_cdf, float(scale)) > goodness.ACCEPT


@pytest.mark.parametrize("scale", [1e9, 2.0**40])
def test_the_lowest_bits_are_as_random_as_the_others(scale):
    assert goodness.low_bits(sample(scale)) > goodness.ACCEPT
    coarse = np.rint(np.random.default_rng(1).laplace(size=N).astype(np.float32) * np.float32(scale))
    assert goodness.low_bits(coarse.astype(np.int64)) < goodness.REJECT


def test_the_ratio_that_the_guarantee_rests_on():
    """P(m) / P(m + 1) = exp(1/s), for each m apart: counts of neighbours, as a binomial test."""
    scale, n = 2.0, 4_000_000
    counts = np.bincount(sample(scale, n) + 100, minlength=201)[100:116]
    for here, there in pairwise(counts):
        share = 1 / (1 + np.exp(-1 / scale))
        assert stats.binomtest(int(here), int(here + there), share).pvalue > goodness.ACCEPT
        assert stats.binomtest(int(here), int(here + there), share * 1.1).pvalue < 1e-4


# Draw by draw


@pytest.mark.parametrize("scale", quick([0.4, 1e9, 2**14 / Fraction(0.1)], 1e9))
def test_same_as_the_twin_draw_by_draw(scale):
    size = samplers.BLOCK + 100
    assert np.array_equal(sample(scale, size, seed=5), twin(scale, size, seed=5))


@pytest.mark.parametrize("mistake", quick(["two zeros", "no sign", "nearest"], "nearest"))
def test_planted_mistakes_are_caught(mistake):
    right, wrong = sample(3, 5_000, 5), twin(3, 5_000, 5, [mistake])
    assert not np.array_equal(wrong, right)
    assert goodness.chi_squared(wrong, goodness.laplace_cdf, 3) < goodness.REJECT
    assert goodness.chi_squared(right, goodness.laplace_cdf, 3) > goodness.ACCEPT


def test_the_exact_path_alone_gives_the_same_draws():
    for scale in (Fraction(1, 2), Fraction(2**40), Fraction(10, 3)):
        words = Words(SecureStream(5).blocks("discrete_laplace"), 0, 0)
        slow = []
        for _ in range(1_000):
            slow.append(module._exact_draw(words, scale))
            words = Words(words.source, 0, words.position)
        assert slow == sample(scale, 1_000, seed=5).tolist()


COARSE = st.lists(
    st.one_of(
        st.sampled_from([0, 1, 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=24,
)
ALL_SCALES = st.one_of(
    st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2**40), Fraction(2**40 - 1, 3)]),
    st.fractions(Fraction(1, 2**20), 2**40),
    st.floats(2.0**-30, 2.0**40).map(Fraction),
)
#: x = 1/2 + ..., z_1 = 1/4 < x, z_2 > z_1: one success, so k grows.
GROW = [2**31, 0, 2**30, 2**32 - 1]


@given(pattern=COARSE, scale=ALL_SCALES, extension=st.sampled_from([None, None, 0, 1, 2**32 - 1]))
@example([0], Fraction(1), 0)
@example([2**32 - 1], Fraction(2**40), 2**32 - 1)
@example(GROW * 31 + [2**30, 0, 2**31], Fraction(2**40), None)
@example(GROW * 32 + [2**30, 0, 2**31], Fraction(2**40), None)
@example(GROW * 500 + [2**30, 0, 2**31], Fraction(2**40), None)
@settings(max_examples=120, deadline=None, derandomize=True)
@pytest.mark.integration
def test_hostile_words_give_the_twin_or_an_error_never_overflow(pattern, scale, extension):
    try:
        fast = discrete_laplace(scale, 3, FakeStream(pattern, extension))
    except PrivacyError as error:
        assert "stream is broken" in str(error)  # noqa: PT017
        return
    assert np.abs(fast).max() < 2**53
    blocks = FakeStream(pattern, extension).blocks("")
    assert fast.tolist() == samplers.draws(samplers.laplace_draw, 3, blocks, scale).tolist()


def test_large_k_goes_the_exact_way():
    pattern = GROW * 500 + [2**30, 0, 2**31]
    scale = 2**40
    (value,) = discrete_laplace(scale, 1, FakeStream(pattern))
    assert value == 500 * scale + scale // 4


@pytest.mark.parametrize("word", [0, 2**32 - 1])
@pytest.mark.parametrize("n", [1, 20_000])
def test_constant_words_are_refused(word, n):
    with pytest.raises(PrivacyError, match="broken"):
        discrete_laplace(3, n, FakeStream([word], word))


def test_words_that_never_accept_are_refused():
    for n in (1, 20_000):
        with pytest.raises(PrivacyError, match="16384 random words"):
            discrete_laplace(3, n, FakeStream(GROW))


def test_negative_zeros_for_ever_are_refused():
    # x = 1/4 + 2^-63 with the sign bit set, z_1 > x: accepted, the magnitude at scale 1 is 0.
    with pytest.raises(PrivacyError, match="16384 random words"):
        discrete_laplace(1, 5, FakeStream([2**30, 1, 2**31]))


# Determinism and parameters


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<i8").tobytes()).hexdigest()[:16]


GOLDEN = {
    0.5: "975c13645b06a78b",
    3: "fcdf1fd299549df8",
    2**14 / Fraction(0.1): "77eb08307d5f41bf",
    2**40: "03cd416e3576cdd5",
    Fraction(10, 3): "cd055e4d50a34ddf",
}


@pytest.mark.parametrize(("scale", "expected"), GOLDEN.items())
def test_bits_from_a_key_never_change(scale, expected):
    assert digest(sample(scale, 20_000, seed=20)) == expected


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_do_not_matter(n_jobs):
    values = discrete_laplace(1e5, (7, 9_001), SecureStream(3), n_jobs=n_jobs)
    assert digest(values) == digest(sample(1e5, (7, 9_001), 3))


@pytest.mark.parametrize("words_per_draw", [0.0, 0.1, 50.0])
@pytest.mark.parametrize("scale", [3, 2**40])
def test_buffers_do_not_matter(monkeypatch, words_per_draw, scale):
    expected = sample(scale, 30_000)
    monkeypatch.setattr(module, "_WORDS_PER_DRAW", words_per_draw)
    assert np.array_equal(sample(scale, 30_000), expected)


def test_scale_zero_gives_zeros_and_takes_a_key_all_the_same():
    left, right = SecureStream(1), SecureStream(1)
    assert not discrete_laplace(0, (2, 3), left).any()
    discrete_laplace(5, (2, 3), right)
    assert np.array_equal(discrete_laplace(5, 10, left), discrete_laplace(5, 10, right))


def test_gaussian_and_laplace_of_one_stream_share_no_words():
    stream = SecureStream(3)
    first, second = stream.blocks("a"), stream.blocks("a")
    assert not np.intersect1d(first.read(0, 0, 0, 1_000), second.read(0, 0, 0, 1_000)).size


@pytest.mark.parametrize("scale", [2**40 + 1, -1, np.inf, np.nan])
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(ParameterError, match="scale must be"):
        discrete_laplace(scale, 3, SecureStream(1))


# OpenDP


@pytest.mark.parametrize("scale", [0.5, 3.0, 1e3])
@pytest.mark.integration
def test_against_opendp(scale):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    n = 50_000

    def theirs(scale):
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return np.array((space >> dp.m.then_laplace(scale))([0] * n))

    assert goodness.two_samples(sample(scale, n), theirs(scale)) > goodness.ACCEPT_UNSEEDED
    assert goodness.two_samples(sample(scale, n), theirs(scale * 1.1)) < goodness.REJECT
