"""Moments: exact, mergeable, bounded; their estimates unbiased, by enumeration of every report."""

import contextlib
import io
import tracemalloc
import zipfile
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive import local as naive

from discreet.errors import CorpusError, ParameterError
from discreet.lda.moments.estimates import Estimates, estimates, noise_variance
from discreet.lda.moments.moments import add_pair_counts
from discreet.local import Moments, learnable

CHANNEL = SimpleNamespace(p=0.8, q=0.3)


def bits(n, v, seed=0, rate=0.3):
    return (np.random.default_rng(seed).random((n, v)) < rate).astype(np.uint8)


@pytest.mark.parametrize("shape", [(1, 1), (63, 5), (64, 33), (65, 32), (130, 70), (4096, 7), (4100, 9)])
def test_counts_equal_the_naive_ones(shape):
    rows = bits(*shape)
    made = Moments(shape[1]).add_batch(rows)
    n, first, second = naive.moments(rows)
    assert made.n == n
    assert np.array_equal(made.first, first)
    assert np.array_equal(made.second, second)
    assert made.first.dtype == made.second.dtype == np.int64


def test_all_forms_of_reports_give_the_same():
    rows = bits(100, 21)
    expected = Moments(21).add_batch(rows)
    packed = np.packbits(rows, axis=1, bitorder="little")
    forms = [
        rows.astype(bool),
        rows.astype(float),
        sp.csr_matrix(rows),
        rows.tolist(),
        np.asfortranarray(rows),
    ]
    for form in forms:
        assert Moments(21).add_batch(form) == expected
    assert Moments(21).add_batch(packed, packed=True) == expected


def test_threads_and_batches_do_not_matter():
    rows = bits(9000, 70)
    expected = Moments(70).add_batch(rows)
    assert Moments(70).add_batch(rows, n_jobs=3) == expected
    parts = Moments(70)
    for part in np.array_split(rows, 7):
        parts.merge(Moments(70).add_batch(part))
    assert parts == expected


def test_what_was_added_can_be_taken_away_exactly():
    rows = bits(500, 40)
    all_of_them = Moments(40).add_batch(rows)
    rest = Moments(40).add_batch(rows[100:])
    assert all_of_them.copy().subtract_batch(rows[:100]) == rest
    assert all_of_them.copy().subtract(Moments(40).add_batch(rows[:100])) == rest
    with pytest.raises(CorpusError, match="not part of these moments"):
        rest.subtract(all_of_them)
    with pytest.raises(CorpusError, match="not part of these moments"):
        Moments(2).add_batch([[1, 0]]).subtract_batch([[0, 1]])


def test_moments_of_another_channel_or_vocabulary_are_refused():
    with pytest.raises(CorpusError, match="cannot go together"):
        Moments(3, channel=CHANNEL).merge(Moments(3))
    with pytest.raises(CorpusError, match="cannot go together"):
        Moments(3).merge(Moments(4))


@pytest.mark.parametrize(
    ("reports", "packed", "words"),
    [
        ([[0, 2]], False, "zeros and ones"),
        ([[0, 0.5]], False, "zeros and ones"),
        ([[0, 256]], False, "zeros and ones"),
        ([[0, -1]], False, "zeros and ones"),
        ([[np.nan, 1]], False, "zeros and ones"),
        ([[0, 1, 1]], False, "must have 2 bits"),
        ([0, 1], False, "must have 2 bits"),
        (np.array([[4]], np.uint8), True, "beyond its 2 words"),
        (np.array([[1]], np.int64), True, "must be bytes"),
        (np.array([[1, 0]], np.uint8), True, "must have 1 bytes"),
    ],
)
def test_what_is_no_report_is_refused_and_leaves_no_trace(reports, packed, words):
    moments = Moments(2).add_batch([[1, 1]])
    before = moments.copy()
    with pytest.raises(CorpusError, match=words):
        moments.add_batch(reports, packed=packed)
    assert moments == before


def test_memory_is_stated_and_refused_above_a_limit():
    with pytest.raises(ParameterError, match="80,000,000,000 bytes"):
        Moments(100_000)
    with pytest.raises(ParameterError, match="800 bytes"):
        Moments(10, max_bytes=799)
    Moments(10, max_bytes=800)


def test_memory_does_not_grow_with_reports():
    v = 200
    rows = bits(64, v)
    add_pair_counts(rows, np.zeros((v, v), np.int64))  # compiled before it is measured
    peaks = []
    for n in (64_000, 256_000):
        packed = np.packbits(np.tile(rows, (n // 64, 1)), axis=1, bitorder="little")
        tracemalloc.start()
        Moments(v).add_batch(packed, packed=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.05
    assert peaks[1] < 8 * v**2 * 4 + 4 * 16_384 * v


def expected_estimates(channel, present, make):
    """Mean of an estimate over every report of every document, by enumeration."""
    rates, pairs = 0.0, 0.0
    for document in present:
        for report, chance in naive.all_reports(document, channel.p, channel.q):
            n, first, second = naive.moments(report[None])
            found = make(n, first, second, channel)
            rates, pairs = rates + chance * found.rates, pairs + chance * found.pairs
    return rates / len(present), pairs / len(present)


def test_estimates_are_unbiased_by_enumeration():
    present = np.array([[1, 1, 0, 0, 1], [0, 1, 0, 1, 1], [1, 1, 1, 0, 0]])
    rates, pairs = expected_estimates(CHANNEL, present, estimates)
    off = ~np.eye(5, dtype=bool)
    assert np.allclose(rates, present.mean(0), atol=1e-12)
    assert np.allclose(pairs[off], (present.T @ present / 3)[off], atol=1e-12)

    def forgot_a_q(n, first, second, channel):
        found = estimates(n, first, second, channel)
        p, q = channel.p, channel.q
        mean = first / n
        wrong = (second / n - q * mean[:, None] - q * mean[None]) / (p - q) ** 2
        return SimpleNamespace(rates=found.rates, pairs=wrong)

    def with_diagonal(n, first, second, channel):
        p, q = channel.p, channel.q
        mean = first / n
        pairs = (second / n - q * mean[:, None] - q * mean[None] + q * q) / (p - q) ** 2
        return SimpleNamespace(rates=(mean - q) / (p - q), pairs=pairs)

    _, wrong = expected_estimates(CHANNEL, present, forgot_a_q)
    assert not np.allclose(wrong[off], (present.T @ present / 3)[off], atol=1e-3)
    _, biased = expected_estimates(CHANNEL, present, with_diagonal)
    assert not np.allclose(np.diag(biased), present.mean(0), atol=1e-3)


def test_variance_of_an_absent_word_is_as_stated():
    variance = 0.0
    for report, chance in naive.all_reports([0], CHANNEL.p, CHANNEL.q):
        variance += chance * ((report[0] - CHANNEL.q) / (CHANNEL.p - CHANNEL.q)) ** 2
    assert noise_variance(CHANNEL) == pytest.approx(variance, rel=1e-12)
    found = Moments(2, channel=CHANNEL).add_batch([[1, 0], [0, 1]]).estimates()
    present = sum(
        chance * ((report[0] - CHANNEL.q) / (CHANNEL.p - CHANNEL.q) - 1) ** 2
        for report, chance in naive.all_reports([1], CHANNEL.p, CHANNEL.q)
    )
    assert found.variance(np.array([1.0]))[0] == pytest.approx(present, rel=1e-12)


def test_channels_may_be_fractions():
    exact = SimpleNamespace(p=Fraction(3, 4), q=Fraction(1, 4))
    made = Moments(2, channel=exact).add_batch([[1, 0], [1, 1]])
    assert made.p == 0.75
    assert made == Moments(2, channel=SimpleNamespace(p=0.75, q=0.25)).add_batch([[1, 0], [1, 1]])
    for p, q in ((0.3, 0.8), (0.5, 0.5), (1.2, 0.1), (0.5, -0.1)):
        with pytest.raises(ParameterError, match="0 <= q < p <= 1"):
            Moments(2, channel=SimpleNamespace(p=p, q=q))


def test_a_file_holds_everything_and_nothing_else(tmp_path):
    made = Moments(9, channel=CHANNEL).add_batch(bits(50, 9))
    made.save(tmp_path / "moments.npz")
    found = Moments.load(tmp_path / "moments.npz")
    assert found == made
    assert (found.p, found.q, found.n) == (0.8, 0.3, 50)
    assert [file.name for file in tmp_path.iterdir()] == ["moments.npz"]
    with pytest.raises(CorpusError, match="there are no moments"):
        Moments.load(tmp_path / "absent.npz")


def rewritten(path, **changes):
    with np.load(path) as archive:
        fields = dict(archive)
    fields.update(changes)
    out = io.BytesIO()
    np.savez(out, **{name: value for name, value in fields.items() if value is not None})
    path.write_bytes(out.getvalue())


@pytest.mark.parametrize(
    "changes",
    [
        {"n": np.int64(3)},
        {"n": np.int64(-1)},
        {"n": np.float64(50)},
        {"version": np.int64(1)},
        {"limit": np.int64(-1)},
        {"limit": None},
        {"reproducible": np.int64(2)},
        {"upper": None},
        {"upper": -np.ones(45, np.int64)},
        {"upper": np.ones(44, np.int64)},
        {"channel": np.array([0.2, 0.8])},
        {"channel": np.array([np.nan, 0.8])},
        {"more": np.int64(1)},
        {"n_words": np.int64(2**31)},
    ],
)
def test_damaged_files_are_refused(tmp_path, changes):
    path = tmp_path / "moments.npz"
    Moments(9, channel=CHANNEL).add_batch(bits(50, 9)).save(path)
    rewritten(path, **changes)
    with pytest.raises((CorpusError, ParameterError)):
        Moments.load(path)


def test_files_cut_or_flipped_anywhere_are_refused_or_true(tmp_path):
    path = tmp_path / "moments.npz"
    made = Moments(5, channel=CHANNEL).add_batch(bits(50, 5))
    made.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(whole)
        place = int(rng.integers(len(damaged)))
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(damaged[: place + 1] if rng.random() < 0.3 else damaged))
        with contextlib.suppress(CorpusError):
            assert Moments.load(path) == made


def test_an_object_array_is_not_unpickled(tmp_path):
    path = tmp_path / "moments.npz"
    Moments(2).add_batch([[1, 0]]).save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    out = io.BytesIO()
    np.save(out, np.array([{}], object), allow_pickle=True)
    parts["upper.npy"] = out.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(CorpusError, match="does not hold moments"):
        Moments.load(path)


def test_independent_words_have_nothing_to_learn_and_blocks_have():
    p, q = naive.symmetric(2.0)
    channel = SimpleNamespace(p=p, q=q)
    rng = np.random.default_rng(1)
    alone = (rng.random((20_000, 60)) < 0.1).astype(np.uint8)
    made = Moments(60, channel=channel).add_batch(naive.randomise(alone, p, q, 2))
    assert made.learnable() <= 1
    topic = rng.integers(3, size=20_000)
    blocks = (rng.random((20_000, 60)) < np.where(np.arange(60) // 20 == topic[:, None], 0.3, 0.02)).astype(
        np.uint8
    )
    made = Moments(60, channel=channel).add_batch(naive.randomise(blocks, p, q, 3))
    assert (
        learnable(made.estimates()) == made.learnable() == 2
    )  # three shares that sum to 1 span two directions


@pytest.mark.parametrize(("epsilon", "expected"), [(0.5, 1), (1, 4), (2, 9), (3, 18)])
def test_learnable_on_blog_entries(shared_data, epsilon, expected):
    from tests.local.corpora import kos

    rows, _ = kos(shared_data)
    p, q = naive.symmetric(epsilon)
    made = Moments(1000, channel=SimpleNamespace(p=p, q=q)).add_batch(naive.randomise(rows, p, q, 7))
    assert abs(made.learnable() - expected) <= (0 if epsilon < 2 else 1)


@pytest.mark.integration
def test_rare_bits_are_not_mistaken_for_topics():
    """One word a document: nothing goes together, yet with few chance pairs the plain edge would see structure."""
    rng = np.random.default_rng(0)
    n, v = 20_000, 400
    present = np.zeros((n, v), np.uint8)
    present[np.arange(n), rng.integers(v, size=n)] = 1
    channel = SimpleNamespace(p=0.67, q=0.002)
    found = (
        Moments(v, channel=channel).add_batch(naive.randomise(present, channel.p, channel.q, 1)).estimates()
    )
    assert learnable(found) <= 1
    rates = np.clip(found.rates, 1e-4, 0.999)
    scale = 1 / np.sqrt(rates * (1 - rates) + found.noise)
    white = scale[:, None] * (found.pairs - np.outer(found.rates, found.rates)) * scale
    np.fill_diagonal(white, 0)
    plain = (np.linalg.eigvalsh(white) > 2 * np.sqrt(v / n) + v / n).sum()
    assert plain > 1


def test_bits_that_are_noisier_where_words_are_present_are_whitened_as_such():
    """An asymmetric channel: leaving out how much present words vary would lower the edge and see structure."""
    rng = np.random.default_rng(0)
    alone = (rng.random((20_000, 200)) < 0.3).astype(np.uint8)
    channel = SimpleNamespace(p=0.5, q=0.02)
    found = (
        Moments(200, channel=channel).add_batch(naive.randomise(alone, channel.p, channel.q, 1)).estimates()
    )
    assert learnable(found) <= 1

    class Flat(Estimates):
        def variance(self, rates):
            return rates * (1 - rates) + self.noise

    assert learnable(Flat(**vars(found))) > 20
