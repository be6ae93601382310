"""The distinguishing audit: never above a kept promise, near it for the Gaussian, and faults are flagged."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from tests.marks import quick

from discreet import Ledger, PrivateCountVectorizer, PrivateLDA
from discreet.audit import distinguish, epsilon_lower_bound, mu_lower_bound
from discreet.errors import ParameterError
from discreet.privacy import (
    Bound,
    GaussianMechanism,
    LaplaceMechanism,
    SecureStream,
    discrete_laplace,
    noise_multiplier_for,
    rounded_gaussian,
)

RUNS = 400_000
DELTA = 1e-5


def many(mechanism, value, stream, scale_fault=1.0):
    """Run a mechanism on the one-cell sum ``value`` RUNS times at once."""
    noise = rounded_gaussian if isinstance(mechanism, GaussianMechanism) else discrete_laplace
    return value + noise(mechanism.scale * scale_fault, RUNS, stream)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_gaussian_is_within_its_promise_and_near_it(epsilon):
    mechanism = GaussianMechanism(Bound(), noise_multiplier_for(epsilon, DELTA))
    stream = SecureStream(11)
    report = distinguish(
        many(mechanism, mechanism.bound.sensitivity, stream), many(mechanism, 0, stream), delta=DELTA
    )
    assert epsilon / 2 < report.epsilon_lower_bound <= epsilon
    assert not report.exceeds(epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_laplace_is_within_its_promise_and_near_it(epsilon):
    mechanism = LaplaceMechanism(Bound("l1"), epsilon)
    stream = SecureStream(12)
    report = distinguish(many(mechanism, mechanism.bound.sensitivity, stream), many(mechanism, 0, stream))
    assert 0.8 * epsilon < report.epsilon_lower_bound <= epsilon


def test_the_seen_rates_are_those_of_the_gaussian():
    mechanism = GaussianMechanism(Bound(), 2.0)
    stream = SecureStream(3)
    report = distinguish(
        many(mechanism, mechanism.bound.sensitivity, stream), many(mechanism, 0, stream), delta=DELTA
    )
    expected = norm.cdf(norm.ppf(report.false_positive_rate) + 0.5)
    assert report.true_positive_rate == pytest.approx(expected, rel=0.05)


def flagged(with_unit, without, epsilon, delta=DELTA) -> bool:
    return distinguish(with_unit, without, delta=delta).exceeds(epsilon)


def test_halved_noise_is_flagged():
    mechanism = GaussianMechanism(Bound(), noise_multiplier_for(1.0, DELTA))
    stream, step = SecureStream(4), mechanism.bound.sensitivity
    assert flagged(many(mechanism, step, stream, 0.5), many(mechanism, 0, stream, 0.5), 1.0)
    assert not flagged(many(mechanism, step, stream), many(mechanism, 0, stream), 1.0)


def test_clipping_after_the_sum_is_flagged():
    mechanism = GaussianMechanism(Bound(), noise_multiplier_for(1.0, DELTA))
    stream, bound = SecureStream(5), mechanism.bound
    crowd, outlier = [[0.5]] * 10, [40.0]

    def clipped_late(units):
        return int(bound.place(np.clip(np.mean(units, axis=0), -1, 1))[0]) * len(units)

    late = clipped_late([*crowd, outlier]), clipped_late(crowd)
    right = [int(bound.sum(units).values[0]) for units in ([*crowd, outlier], crowd)]
    assert flagged(*(many(mechanism, value, stream) for value in late), 1.0)
    assert not flagged(*(many(mechanism, value, stream) for value in right), 1.0)


def test_the_same_noise_twice_is_flagged():
    """Two statistics with one noise: their difference has none."""
    mechanism = GaussianMechanism(Bound(), noise_multiplier_for(1.0, DELTA) * math.sqrt(2))
    rng, step = np.random.default_rng(6), mechanism.bound.sensitivity
    stream = SecureStream(6)
    noise, more = many(mechanism, 0, stream), many(mechanism, 0, stream)
    fair = rng.random(RUNS)  # breaks ties between scores that are all equal

    def scores(first, second, other):
        return (first + noise) - (second + other) + fair

    assert flagged(scores(step, 0, noise), scores(0, 0, noise), 1.0)
    assert not flagged(scores(step, 0, more), scores(0, 0, more)[::-1], 1.0)


def test_exact_word_totals_are_flagged():
    """Zhu et al. keep exact word totals beside noisy counts: the totals alone tell neighbours apart."""
    totals = np.array([7.0, 3.0])
    changed = totals + np.array([1.0, -1.0])
    rng = np.random.default_rng(0)
    with_unit, without = changed[0] + rng.random(RUNS) / 2, totals[0] + rng.random(RUNS) / 2
    assert distinguish(with_unit, without).epsilon_lower_bound > 10


@pytest.mark.integration
def test_a_vocabulary_that_is_not_private_is_flagged():
    texts = ["rain wind sun"] * 30
    secret = [*texts, "orchid orchid"]

    def plain(corpus):
        return float(any("orchid" in text for text in corpus))

    rng = np.random.default_rng(1)
    runs = 2000
    leaking = [plain(corpus) + rng.random(runs) / 2 for corpus in (secret, texts)]
    assert distinguish(*leaking, delta=DELTA).exceeds(1.0)

    def chosen(corpus, seed):
        words = PrivateCountVectorizer(epsilon=1.0, delta=1e-2, random_state=seed, max_words_per_unit=3)
        return float("orchid" in words.fit(corpus).vocabulary_) + np.random.default_rng(seed).random() / 2

    private = distinguish(
        lambda run: chosen(secret, 2 * run), lambda run: chosen(texts, 2 * run + 1), n_runs=2000, delta=1e-2
    )
    assert not private.exceeds(1.0)


def neighbours():
    """A small crowd, and the same with one document of a word that nobody else has."""
    rng = np.random.default_rng(2)
    crowd = np.c_[rng.poisson(1.0, (12, 5)), np.zeros(12, int)]
    return np.r_[crowd, [[0, 0, 0, 0, 0, 9]]], crowd


def audit_whole_fits(monkeypatch, n_runs, divisor=1.0):
    """Real fits; the score is the noisy unigram of the secret word, as the fit releases it."""
    from discreet.privacy import mechanism

    honest = mechanism.SharedGaussian.release
    released = {}

    def watched(self, total, share, purpose, **lattice):
        noisy = honest(self, total, share, purpose, **lattice)
        exact = total * self.bound.step
        released[purpose] = noisy._replace(values=exact + (noisy.values - exact) / divisor)
        return released[purpose]

    monkeypatch.setattr(mechanism.SharedGaussian, "release", watched)

    def score(corpus, seed):
        loose = {"allow_unlearnable": True, "allow_large_delta": True}
        model = PrivateLDA(2, epsilon=2.0, delta=1e-2, random_state=seed, n_rounds=1, **loose)
        model.fit(corpus)
        return released["unigram"].values[-1]

    with_unit, without = neighbours()
    return distinguish(
        lambda run: score(with_unit, 2 * run),
        lambda run: score(without, 2 * run + 1),
        n_runs=n_runs,
        delta=1e-2,
    )


@pytest.mark.slow
def test_whole_fits_are_within_their_promise(monkeypatch):
    assert not audit_whole_fits(monkeypatch, 2000).exceeds(2.0)


@pytest.mark.integration
def test_whole_fits_with_a_hundredth_of_the_noise_are_flagged(monkeypatch):
    assert audit_whole_fits(monkeypatch, 200, divisor=100.0).exceeds(2.0)


def test_the_worst_statistic_of_a_fit_is_within_its_promise():
    """The sums that training releases, on the worst pair of neighbours, with the share that one release gets."""
    from discreet.central.sums.units import group_units, unigram_sum
    from discreet.corpus import check_counts
    from discreet.privacy import gdp_epsilon
    from discreet.privacy.accounting import events
    from discreet.privacy.mechanism import SharedGaussian

    with_unit, without = (group_units(check_counts(rows), None) for rows in neighbours())
    noise, share = noise_multiplier_for(4.0, DELTA), 0.5
    sums = [unigram_sum(units)[-1] for units in (with_unit, without)]
    reservation = Ledger(5.0, DELTA).reserve(events.gaussian(noise), "audit")
    multiplier = SharedGaussian(reservation, noise, "document", SecureStream(1), None)._noise_for(share)
    mechanism = GaussianMechanism(Bound(bits=18), multiplier)
    promised = gdp_epsilon(1 / multiplier, DELTA)
    stream = SecureStream(9)
    scores = [many(mechanism, int(value), stream) for value in sums]
    report = distinguish(*scores, delta=DELTA)
    assert promised / 2 < report.epsilon_lower_bound <= promised


def test_golden_bounds():
    """Clopper and Pearson by their definition: the binomial tail at the bound is what is missing."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    bound = epsilon_lower_bound(90, 10, 100)
    low = math.exp(bound)
    assert 0 < bound < math.log(9)
    p_low = brentq(lambda p: binom.sf(89, 100, p) - 0.025, 0.5, 0.99)
    p_high = brentq(lambda p: binom.cdf(10, 100, p) - 0.025, 0.01, 0.5)
    assert low == pytest.approx(p_low / p_high, rel=1e-6)
    assert epsilon_lower_bound(0, 0, 100) == 0
    assert epsilon_lower_bound(100, 0, 100, delta=1e-3) < epsilon_lower_bound(100, 0, 100)
    assert epsilon_lower_bound(50, 50, 100) == 0


def test_mu_of_counts_is_that_of_clopper_and_pearsons_rates():
    from scipy.optimize import brentq
    from scipy.stats import binom

    p_low = brentq(lambda p: binom.sf(89, 100, p) - 0.025, 0.5, 0.99)
    p_high = brentq(lambda p: binom.cdf(10, 100, p) - 0.025, 0.01, 0.5)
    assert mu_lower_bound(90, 10, 100) == pytest.approx(norm.ppf(p_low) - norm.ppf(p_high), rel=1e-6)
    assert mu_lower_bound(50, 50, 100) == mu_lower_bound(0, 0, 100) == mu_lower_bound(100, 100, 100) == 0


@pytest.mark.parametrize("mu", quick([0.0, 0.25, 1.0, 3.0], 1.0))
def test_mu_of_gaussians_is_bounded_with_confidence_and_nearly_reached(mu):
    rng = np.random.default_rng(8)
    found = np.array(
        [distinguish(rng.normal(mu, 1, 400), rng.normal(0, 1, 400)).mu_lower_bound for _ in range(200)]
    )
    assert (found > mu).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert np.median(found) > 0.7 * mu - 0.2
    reversed_ = distinguish(rng.normal(0, 1, 400), rng.normal(3, 1, 400))
    assert reversed_.mu_lower_bound == 0


def test_confidence_is_kept_on_identical_corpora():
    rng = np.random.default_rng(5)
    wrong = sum(distinguish(rng.random(200), rng.random(200)).epsilon_lower_bound > 0 for _ in range(400))
    assert wrong <= 0.05 * 400 + 3 * math.sqrt(400 * 0.05 * 0.95)


@pytest.mark.integration
def test_choosing_and_judging_on_the_same_runs_would_break_the_confidence():
    rng = np.random.default_rng(5)

    def greedy(a, b):
        limits = np.unique(np.r_[a, b])[::2]
        counts = [(int((a > t).sum()), int((b > t).sum())) for t in limits]
        return max(epsilon_lower_bound(found, wrong, len(a), confidence=0.6) for found, wrong in counts)

    wrong = sum(greedy(rng.random(100), rng.random(100)) > 0 for _ in range(200))
    assert wrong > 0.4 * 200 + 3 * math.sqrt(200 * 0.4 * 0.6)


def test_refusals():
    with pytest.raises(ParameterError, match="at least 40 runs"):
        distinguish([0.0] * 10, [0.0] * 10)
    with pytest.raises(ParameterError, match="as many runs"):
        distinguish([0.0] * 100, [0.0] * 99)
    with pytest.raises(ParameterError, match="n_runs"):
        distinguish(float, float)
    with pytest.raises(ParameterError, match="finite"):
        distinguish([np.nan] * 100, [0.0] * 100)
    with pytest.raises(ParameterError, match="from 0 to n_runs"):
        epsilon_lower_bound(5, 0, 4)
