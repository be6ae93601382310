"""How frequent words are, from the unigram and from rounds: a slow twin, what it gains, and that it says how well."""

import numpy as np
import pytest
from tests.central.test_full_batch import COUNTS, K, run

from discreet.central.full_batch import Frequencies, read_unigram
from discreet.lda.denoise import LIFTS, posterior_mean
from discreet.privacy.mechanism import Noisy


def slow_mean(told):
    """told: for each release, for each word its value and the variance of its noise, both as shares."""
    shares, variances = [], []
    for releases in zip(*told, strict=True):
        weights = [1 / variance for _, variance in releases]
        shares.append(sum(w * value for w, (value, _) in zip(weights, releases, strict=True)) / sum(weights))
        variances.append(1 / sum(weights))
    return np.array(shares), np.array(variances)


def test_frequencies_are_the_mean_by_precision_of_all_releases():
    state, gate, schedule = run(COUNTS, None, 4.0)
    passed = {purpose: noisy for purpose, *_, noisy in gate.passed}
    values, noise = passed["unigram"]
    told = [[(value / sum(values), (noise / sum(values)) ** 2) for value in values]]
    unigram = read_unigram(passed["unigram"])
    for t in range(schedule.n_rounds):
        values, noise = passed[f"round {t}"]
        omega = [(p * 40) ** -0.25 for p in unigram]
        rows = [sum(cells) / w for cells, w in zip(values, omega, strict=True)]
        variance = [K * (noise / w) ** 2 for w in omega]
        told.append([(row / sum(rows), v / sum(rows) ** 2) for row, v in zip(rows, variance, strict=True)])
        shares, variances = slow_mean(told)
        unigram = posterior_mean(shares, np.full(40, shares.mean()), np.sqrt(variances), LIFTS[1:])
        unigram = unigram / unigram.sum()
    np.testing.assert_allclose(state.unigram, unigram, rtol=1e-9)


def test_rounds_make_them_truer_and_say_how_much():
    rng = np.random.default_rng(0)
    before, after, gaps = [], [], []
    for _ in range(60):
        true = rng.gamma(0.5, size=500) + 0.02
        true /= true.sum()
        weights = (true * 500) ** -0.25
        mean = Frequencies.of_unigram(Noisy(2000 * true + rng.normal(0, 2, 500), 2.0))
        before.append(np.abs(mean.read() - true).sum())
        for _ in range(3):
            topics = rng.dirichlet(np.ones(10))
            round_ = 2000 * weights[:, None] * true[:, None] * topics
            mean = mean.with_round(Noisy(round_ + rng.normal(0, 1, round_.shape), 1.0), weights)
        after.append(np.abs(mean.read() - true).sum())
        gaps.append(((mean.shares - true) ** 2 * mean.precision).mean())
    assert 0.5 < np.mean(after) / np.mean(before) < 0.85
    assert np.mean(gaps) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("level", [-5.0, 0.0])
def test_hopeless_noise_still_gives_a_distribution(level):
    mean = Frequencies.of_unigram(Noisy(np.full(40, level), 1.0))
    mean = mean.with_round(Noisy(np.full((40, K), level), 1.0), np.ones(40))
    for read in (mean.read(), read_unigram(Noisy(np.full(40, level), 1.0))):
        assert (read > 0).all()
        assert read.sum() == pytest.approx(1)
