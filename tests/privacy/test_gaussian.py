"""round(N(0, s^2)): exact, the same draw by draw as its slow twin, and told apart from what it is not."""

import hashlib
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats
from tests.marks import quick
from tests.naive import goodness, samplers
from tests.naive.fake_words import FakeStream

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import SecureStream, rounded_gaussian
from discreet.privacy.noise import _draws
from discreet.privacy.noise import gaussian as module
from discreet.privacy.noise._exact import Words

SCALES = [0.5, 1, 3, 20, 1e3, 3e5, 1e9]
N = 200_000


def sample(scale, size=N, seed=7):
    return rounded_gaussian(scale, size, SecureStream(seed))


def twin(scale, size, seed, mistakes=()):
    blocks = SecureStream(seed).blocks("rounded_gaussian")
    return samplers.draws(samplers.gaussian_draw, size, blocks, Fraction(scale), mistakes)


@pytest.mark.parametrize("scale", SCALES)
def test_accepts_the_true_scale(scale):
    values = sample(scale)
    assert values.dtype == np.int64
    assert goodness.chi_squared(values, goodness.gaussian_cdf, scale) > goodness.ACCEPT
    assert goodness.kolmogorov_smirnov(values, goodness.gaussian_cdf, scale) > goodness.ACCEPT
    assert goodness.symmetric(values) > goodness.ACCEPT


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("factor", [Fraction(2, 3), Fraction(9, 10), Fraction(11, 10), Fraction(3, 2)])
def test_rejects_a_wrong_scale(scale, factor):
    values = sample(Fraction(scale) * factor)
    assert goodness.chi_squared(values, goodness.gaussian_cdf, scale) < goodness.REJECT
    assert goodness.kolmogorov_smirnov(values, goodness.gaussian_cdf, scale) < goodness.REJECT


@pytest.mark.parametrize(
    "scale", [0.2, 0.3, Fraction(10, 3), Fraction(2**69 + 1, 3**33), 2**14 * 1.24, 2.0**40]
)
def test_accepts_scales_of_every_kind(scale):
    values = sample(scale)
    assert goodness.chi_squared(values, goodness.gaussian_cdf, float(scale)) > goodness.ACCEPT
    assert goodness.kolmogorov_smirnov(values, goodness.gaussian_cdf, float(scale)) > goodness.ACCEPT


@pytest.mark.parametrize("scale", [1e9, 2.0**40])
def test_the_lowest_bits_are_as_random_as_the_others(scale):
    assert goodness.low_bits(sample(scale)) > goodness.ACCEPT
    # The plausible mistake: a normal deviate of float32, scaled.
    coarse = np.rint(np.random.default_rng(1).standard_normal(N, dtype=np.float32) * np.float32(scale))
    assert goodness.low_bits(coarse.astype(np.int64)) < goodness.REJECT


@pytest.mark.integration
def test_pooled_sample_of_twenty_million_has_exact_cells():
    """Half a percent too many in two of the cells would show here."""
    stream, counts, scale, reach = SecureStream(11), np.zeros(41, dtype=np.int64), 2.5, 20
    for _ in range(5):
        values = rounded_gaussian(scale, 4_000_000, stream)
        counts += np.bincount(np.clip(values, -reach, reach) + reach, minlength=2 * reach + 1)
    ends = np.arange(-reach, reach)
    cells = np.diff(np.concatenate([[0.0], goodness.gaussian_cdf(ends, scale), [1.0]]))
    expected = counts.sum() * cells
    keep = expected > 10
    deviation = (counts - expected)[keep] / np.sqrt(expected[keep])
    assert special.chdtrc(keep.sum() - 1, (deviation**2).sum()) > goodness.ACCEPT
    biased = np.rint(counts * np.where(np.abs(np.arange(-reach, reach + 1)) == 2, 1.005, 1.0))
    deviation = (biased - expected)[keep] / np.sqrt(expected[keep])
    assert special.chdtrc(keep.sum() - 1, (deviation**2).sum()) < goodness.REJECT


def test_smallest_scale_has_the_right_number_of_non_zeros():
    """At 0.1 only draws beyond 5 standard deviations are not 0: 5.7e-7 of them."""
    stream = SecureStream(2)
    n = sum(np.count_nonzero(rounded_gaussian(0.1, 5_000_000, stream)) for _ in range(6))
    assert stats.binomtest(n, 30_000_000, 2 * special.ndtr(-5)).pvalue > 0.01


def test_far_tail_has_the_right_steps():
    """Where the first 32 digits are ones, further digits choose k: 6 mostly, seldom 7, as the sum says."""
    found = []
    for seed in range(3_000):
        words = Words(FakeStream([2**32 - 1], seed=seed).blocks(""), 0, 0)
        found.append(module._exact_k(words.uniform()))
    above = [float(1 - c) * 2**32 for c in samplers.cumulative()[5:8]]
    assert above[0] > 1 > above[1]
    assert stats.binomtest(sum(k >= 7 for k in found), 3_000, above[1]).pvalue > 0.01
    assert set(found) <= {6, 7, 8}


# Draw by draw


@pytest.mark.parametrize("scale", quick([0.4, 1e9, Fraction(2**69 + 1, 3**33)], 0.4))
def test_same_as_the_twin_draw_by_draw(scale):
    size = samplers.BLOCK + 100
    assert np.array_equal(sample(scale, size, seed=5), twin(scale, size, seed=5))


@pytest.mark.parametrize(
    "mistake", quick(["toward zero", "no sign", "x^2 for x^2/2", "k forgotten"], "k forgotten")
)
def test_planted_mistakes_are_caught(mistake):
    size = 12_000 if mistake == "x^2 for x^2/2" else 4_000
    right, wrong = sample(3, size, 5), twin(3, size, 5, [mistake])
    assert not np.array_equal(wrong, right)
    assert goodness.chi_squared(wrong, goodness.gaussian_cdf, 3) < goodness.REJECT
    assert goodness.chi_squared(right, goodness.gaussian_cdf, 3) > goodness.ACCEPT


def test_the_variance_taken_for_the_scale_is_caught():
    assert goodness.chi_squared(sample(9), goodness.gaussian_cdf, 3) < goodness.REJECT


def test_the_exact_path_alone_gives_the_same_draws():
    """The slow path is hardly ever taken: here it makes every draw."""
    for scale in (Fraction(1, 2), Fraction(2**40), Fraction(10, 3)):
        words = Words(SecureStream(5).blocks("rounded_gaussian"), 0, 0)
        slow = []
        for _ in range(1_000):
            slow.append(module._exact_draw(words, scale))
            words = Words(words.source, 0, words.position)
        assert slow == sample(scale, 1_000, seed=5).tolist()


def test_undecided_draws_happen_and_are_right(monkeypatch):
    taken = []
    exact = module._exact_draw

    def noted(words, scale):
        block, start = words.block, words.start
        taken.append((block, start, exact(words, scale)))
        return taken[-1][2]

    monkeypatch.setattr(module, "_exact_draw", noted)
    values = sample(2**40, 5_000_000)
    # About 2^-20 of the draws for their rounding, and 10^-8 for their k.
    assert 1 <= len(taken) <= 40
    for block, start, value in taken:
        reader = samplers.Reader(SecureStream(7).blocks("rounded_gaussian"), block)
        reader.position = start
        assert samplers.gaussian_draw(reader, 2**40) == value
        assert value in values[block * samplers.BLOCK : (block + 1) * samplers.BLOCK]


COARSE = st.lists(
    st.one_of(
        st.sampled_from([0, 1, 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]),
        st.sampled_from([int(t) + d for t in module._thresholds() for d in (-1, 0, 1) if int(t) + d < 2**32]),
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


@given(pattern=COARSE, scale=ALL_SCALES, extension=st.sampled_from([None, None, 0, 1, 2**32 - 1]))
@example([0], Fraction(1), 0)
@example([2**32 - 1], Fraction(2**40), 2**32 - 1)
@example([0, 2**31, 0, 2**30, 1, 2**32 - 1], Fraction(1), None)
@settings(max_examples=120, deadline=None, derandomize=True)
@pytest.mark.integration
def test_hostile_words_give_the_twin_or_an_error_never_overflow(pattern, scale, extension):
    """Ties everywhere, thresholds hit exactly, words that never accept: the fast path may not guess."""
    try:
        fast = rounded_gaussian(scale, 3, FakeStream(pattern, extension))
    except PrivacyError as error:
        assert "stream is broken" in str(error)  # noqa: PT017
        return
    assert np.abs(fast).max() <= scale * 40 + 1
    blocks = FakeStream(pattern, extension).blocks("")
    assert fast.tolist() == samplers.draws(samplers.gaussian_draw, 3, blocks, scale).tolist()


@pytest.mark.parametrize("x", [10, 11, 2**31, 2**31 + 1, 2**32 - 1])
@pytest.mark.parametrize("beside", [-1, 0, 1])
@pytest.mark.parametrize("rest", [0, 2**31])
def test_half_of_x_is_compared_with_all_its_digits(x, beside, rest):
    """r beside x/2, one success or none; then an attempt that accepts. Further digits decide."""
    pattern = [0, x, rest, 1, x // 2 + beside, 2**32 - 1, 0, 2**30, 0, 2**31]
    for seed in range(8):
        fast = rounded_gaussian(2**40, 3, FakeStream(pattern, seed=seed))
        blocks = FakeStream(pattern, seed=seed).blocks("")
        slow = samplers.draws(samplers.gaussian_draw, 3, blocks, Fraction(2**40))
        assert fast.tolist() == slow.tolist()


@pytest.mark.parametrize("word", [0, 2**32 - 1])
@pytest.mark.parametrize("n", [1, 20_000])
def test_constant_words_are_refused(word, n):
    with pytest.raises(PrivacyError, match="broken"):
        rounded_gaussian(3, n, FakeStream([word], word))


def test_words_that_never_accept_are_refused():
    # k = 0, x = 1/2, z_1 = 0 < x, r = 1/4 - 2^-32 < x/2, z_2 = 1 > z_1: one success, which is odd.
    pattern = [0, 2**31, 0, 2, 2**30 - 1, 2**32 - 1]
    for n in (1, 20_000):
        with pytest.raises(PrivacyError, match="16384 random words"):
            rounded_gaussian(3, n, FakeStream(pattern))


# Determinism


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<i8").tobytes()).hexdigest()[:16]


FIRST = [19873, 18590, 2810, -2820, 20267, 18370]
GOLDEN = {
    0.5: "bf80f468fa6d8bb2",
    3: "747c2dd353b79160",
    2**14 * 1.24: "5377e017aae70e99",
    2**40: "d7d058b60063cd26",
    Fraction(10, 3): "bfa2b99ea7b86e91",
}


@pytest.mark.parametrize(("scale", "expected"), GOLDEN.items())
def test_bits_from_a_key_never_change(scale, expected):
    assert digest(sample(scale, 20_000, seed=20)) == expected


def test_first_draws_from_a_key():
    assert sample(2**14, 6, seed=20).tolist() == FIRST


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 4, -1])
def test_threads_do_not_matter(n_jobs):
    values = rounded_gaussian(1e5, (7, 9_001), SecureStream(3), n_jobs=n_jobs)
    assert digest(values) == digest(sample(1e5, (7, 9_001), 3))


@pytest.mark.parametrize("words_per_draw", [0.0, 0.1, 50.0])
@pytest.mark.parametrize("scale", [3, 2**40])
def test_buffers_do_not_matter(monkeypatch, words_per_draw, scale):
    expected = sample(scale, 30_000)
    monkeypatch.setattr(module, "_WORDS_PER_DRAW", words_per_draw)
    assert np.array_equal(sample(scale, 30_000), expected)


def test_a_longer_sample_begins_with_the_shorter_one():
    assert np.array_equal(sample(50, 20_000)[:12_345], sample(50, 12_345))


def test_equal_scales_of_any_type_give_equal_draws():
    half = [0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5), np.longdouble(0.5)]
    assert len({digest(sample(scale, 1_000)) for scale in half}) == 1
    assert len({digest(sample(scale, 1_000)) for scale in (3, 3.0, np.int32(3), Fraction(3))}) == 1


def test_two_calls_draw_independently():
    stream = SecureStream(4)
    first, second = rounded_gaussian(1e6, N, stream), rounded_gaussian(1e6, N, stream)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(N)
    assert np.mean(first == second) < 1e-4


@pytest.mark.integration
def test_the_same_without_numba():
    """The kernels in plain Python, where an overflow would be a warning, and a warning is an error."""
    program = (
        "from discreet.privacy import SecureStream, rounded_gaussian, discrete_laplace\n"
        "for draw in (rounded_gaussian, discrete_laplace):\n"
        "    for scale in (0.5, 2.0**40): print(draw(scale, 500, SecureStream(8)).tolist())"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    answers = [
        subprocess.run(
            command, env={**os.environ, "NUMBA_DISABLE_JIT": off}, check=True, capture_output=True, text=True
        ).stdout
        for off in ("0", "1")
    ]
    assert answers[0] == answers[1] != ""


# Parameters


def test_scale_zero_gives_zeros_and_takes_a_key_all_the_same():
    left, right = SecureStream(1), SecureStream(1)
    assert not rounded_gaussian(0, (2, 3), left).any()
    rounded_gaussian(5, (2, 3), right)
    assert np.array_equal(rounded_gaussian(5, 10, left), rounded_gaussian(5, 10, right))


def test_tiny_scales_give_zeros():
    assert not sample(Fraction(1, 10**30), 1_000).any()
    assert not sample(5e-324, 1_000).any()


@pytest.mark.parametrize(
    "scale", [2**40 + 1, np.nextafter(2.0**40, np.inf), 10**4000, -1, -1e-9, np.inf, np.nan]
)
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(ParameterError, match="scale must be"):
        rounded_gaussian(scale, 3, SecureStream(1))


@pytest.mark.parametrize("scale", ["1", None, True, 1j, np.bool_(True)])
def test_scales_that_are_no_numbers_are_refused(scale):
    with pytest.raises(TypeError, match="scale must be"):
        rounded_gaussian(scale, 3, SecureStream(1))


def test_what_is_no_stream_is_refused():
    for scale in (0, 1):
        with pytest.raises(TypeError, match="SecureStream"):
            rounded_gaussian(scale, 3, np.random.default_rng(1))


def test_shapes():
    stream = SecureStream(1)
    assert rounded_gaussian(1, (), stream).shape == ()
    assert rounded_gaussian(1, 0, stream).shape == (0,)
    assert rounded_gaussian(1, (3, 0, 2), stream).shape == (3, 0, 2)
    assert rounded_gaussian(1, np.int64(4), stream).shape == (4,)
    with pytest.raises(ParameterError, match="size"):
        rounded_gaussian(1, (3, -1), stream)
    with pytest.raises(TypeError):
        rounded_gaussian(1, 2.5, stream)


# OpenDP


@pytest.mark.parametrize("scale", [2e4, 3e5])
@pytest.mark.integration
def test_against_opendp(scale):
    """OpenDP draws the discrete Gaussian, which at such scales cannot be told from the rounded one."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    n = 40_000

    def theirs(scale):
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
        return np.array((space >> dp.m.then_gaussian(scale))([0] * n))

    assert goodness.two_samples(sample(scale, n), theirs(scale)) > goodness.ACCEPT_UNSEEDED
    assert goodness.two_samples(sample(scale, n), theirs(scale * 1.1)) < goodness.REJECT


SHARED_OUT_WRONGLY = {
    "nothing is run": lambda work, tasks, n: [],
    "the last block is left out": lambda work, tasks, n: [work(task) for task in list(tasks)[:-1]],
    "one block is run for another": lambda work, tasks, n: [work(0) for _ in tasks],
}


@pytest.mark.parametrize("mistake", SHARED_OUT_WRONGLY)
def test_noise_with_a_block_unwritten_is_not_given_out(mistake, monkeypatch):
    monkeypatch.setattr(_draws, "share_out", SHARED_OUT_WRONGLY[mistake])
    with pytest.raises(PrivacyError, match="not drawn in full"):
        rounded_gaussian(20, 3 * _draws.BLOCK, SecureStream(7))


def test_noise_of_a_kernel_that_stops_early_is_not_given_out(monkeypatch):
    def stops(words, position, out, done, *constants):
        return len(out) - 1, position, _draws.DONE

    monkeypatch.setattr(module, "_draw", stops)
    with pytest.raises(PrivacyError, match="not drawn in full"):
        rounded_gaussian(20, 10, SecureStream(7))
