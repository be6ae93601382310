"""DP-SVI: the clipped sum over a Poisson sample, its noise, and the update."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from tests.naive import central as naive
from tests.naive.central_checks import (
    corpora,
    csr,
    independent,
    moves_by_at_most_one,
    noise_has_scale,
    random_counts,
    units_fit_the_lattice,
)

from discreet import Ledger
from discreet.central import private_svi_lda as dpsvi
from discreet.central.sums.units import group_units
from discreet.errors import PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.bound import Bound
from discreet.privacy.mechanism import BITS
from discreet.privacy.noise.bernoulli import Coins
from discreet.privacy.noise.stream import SecureStream

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}

K = 3


def make(**changes):
    public = {
        "n_topics": K,
        "doc_topic_prior": 0.1,
        "topic_word_prior": 1 / K,
        "sampling_rate": 0.5,
        "contribution_bound": 4.0,
        "noise_multiplier": 1.5,
        "learning_offset": 1.0,
        "learning_decay": 0.7,
        "denoise": "zero",
        "privacy_unit": "document",
    }
    return dpsvi.Settings(**{**public, **changes})


def parameters(n_words, seed=0):
    return np.random.default_rng(seed).gamma(1.0, 1.0, (n_words, K)) + 0.05


def bound_of(settings):
    return Bound("l2", contribution_bound=settings.contribution_bound, bits=BITS)


def sampled(counts, persons=None, chosen=None, n_jobs=None, settings=None):
    settings = settings or make()
    units = group_units(counts, persons)
    everyone = np.ones(units.n_units, bool) if chosen is None else chosen
    return dpsvi._sum_of_chosen(
        units, everyone, parameters(counts.shape[1]), settings, bound_of(settings), n_jobs
    )


def reserve(settings, n_rounds):
    event = events.poisson_sampled(settings.sampling_rate, events.gaussian(settings.noise_multiplier))
    return Ledger(1000.0, 1e-5).reserve(events.composed(event, n_rounds), "test")


@pytest.mark.parametrize("owned", [False, True])
def test_equal_to_the_naive_twin(owned):
    counts = random_counts(50, 15, 0)
    persons = np.random.default_rng(1).integers(0, 20, 50) if owned else None
    units = naive.by_unit(counts, persons)
    chosen = np.random.default_rng(2).random(len(units)) < 0.5
    vectors = [
        naive.dpsvi_vector(unit, parameters(15), 0.1) / 4.0
        for unit, enters in zip(units, chosen, strict=True)
        if enters
    ]
    slow = naive.add_up(vectors, (15, K), put=lambda vector: naive.place(vector, normalise=False))
    fast = sampled(counts, persons, chosen)
    np.testing.assert_allclose(fast / 2**BITS, slow / 2**BITS, atol=1e-4)
    norms = [np.linalg.norm(vector) for vector in vectors]
    assert min(norms) < 0.9  # some are not clipped
    assert max(norms) > 0.9 if not owned else max(norms) > 1


@given(corpora())
@hypothesis_settings(max_examples=40, deadline=None)
def test_one_unit_moves_the_sum_by_at_most_the_bound(corpus):
    counts, persons = corpus
    for given_persons in (None, persons):
        assert units_fit_the_lattice(sampled, counts, given_persons)
        assert moves_by_at_most_one(sampled, counts, given_persons)


def test_a_unit_that_was_not_drawn_adds_nothing():
    counts = random_counts(10, 6, 3, mean=2)
    for row in range(10):
        chosen = np.ones(10, bool)
        chosen[row] = False
        rest = np.delete(np.arange(10), row)
        np.testing.assert_array_equal(sampled(counts, None, chosen), sampled(counts[rest]))


def test_same_bytes_for_any_threads():
    counts = random_counts(150, 20, 4)
    persons = np.random.default_rng(5).integers(0, 50, 150)
    for given_persons in (None, persons):
        assert len({sampled(counts, given_persons, None, n).tobytes() for n in (1, 2, 4, 200)}) == 1
    order = np.random.default_rng(6).permutation(150)
    assert sampled(counts, persons).tobytes() == sampled(counts[order], persons[order]).tobytes()


def recorded(monkeypatch):
    """Collect what each round hands to the mechanism and gets back."""
    passed = []
    honest = dpsvi.GaussianMechanism.release

    def release(self, total, stream, reservation, *, n_jobs=None):
        noisy = honest(self, total, stream, reservation, n_jobs=n_jobs)
        passed.append((self, total.values.copy(), noisy))
        return noisy

    monkeypatch.setattr(dpsvi.GaussianMechanism, "release", release)
    return passed


def steps(counts, settings, n_rounds, seed=0, persons=None):
    stream, reservation = SecureStream(seed), reserve(settings, n_rounds)
    units = group_units(counts, persons)
    states = [dpsvi.init(counts.shape[1], settings, stream)]
    for _ in range(n_rounds):
        states.append(dpsvi.step(states[-1], units, settings, stream, reservation))
    return states, reservation


def test_the_update_is_the_formula_with_the_expected_size(monkeypatch):
    passed = recorded(monkeypatch)
    settings = make(learning_offset=3.0)
    states, _ = steps(random_counts(80, 10, 7), settings, 3)
    for t, (before, after) in enumerate(pairwise(states)):
        mechanism, _, noisy = passed[t]
        assert mechanism.event() == events.poisson_sampled(0.5, events.gaussian(1.5))
        level = np.maximum(noisy * 4.0 / 2**BITS / 0.5, 0)
        pace = (3.0 + t + 1) ** -0.7
        np.testing.assert_allclose(after.topics, (1 - pace) * before.topics + pace * (1 / K + level))
        variance = (1 - pace) ** 2 * before.variance + pace**2 * (1.5 * 4 / 0.5) ** 2
        np.testing.assert_allclose(after.variance, variance)


def test_published_steps_hardly_move_the_topics():
    paces = [
        [(model.learning_offset + t) ** -model.learning_decay for t in range(1, 21)]
        for model in (dpsvi.PrivateSVILDA.park2016(), dpsvi.PrivateSVILDA.park2016(corrected=True))
    ]
    moved = [1 - math.prod(1 - pace for pace in run) for run in paces]
    assert max(paces[0]) < 0.008
    assert moved[0] == pytest.approx(0.144, abs=5e-4)
    assert moved[1] > 0.99


def test_the_published_norm_bound_clips_no_news_and_makes_five_times_the_noise():
    """130 tokens, no word twenty times: the squares add up to at most 19 * 130, below 50 squared."""
    text = csr(np.array([[19] * 6 + [16]]))
    bounds = [dpsvi.PrivateSVILDA.park2016(corrected=one).contribution_bound for one in (False, True)]
    assert bounds == [50, 10]
    kept = [sampled(text, settings=make(contribution_bound=one)).sum() * one / 2**BITS for one in bounds]
    assert kept[0] == pytest.approx(130, abs=7 * K * 50 / 2**BITS)  # whole steps of the lattice
    assert kept[1] < 100
    noise = [steps(text, make(contribution_bound=one), 1)[0][1].variance[0, 0] ** 0.5 for one in bounds]
    assert noise[0] == pytest.approx(5 * noise[1])


def test_noise_has_the_promised_scale_and_each_round_its_own(monkeypatch):
    passed = recorded(monkeypatch)
    steps(random_counts(30, 500, 8, mean=0.05), make(), 3)
    noises = [(noisy - total) / 2**BITS for _, total, noisy in passed]
    for noise in noises:
        assert noise_has_scale(noise, 1.5) > 1e-3
        assert noise_has_scale(noise, 1.0) < 1e-9
        assert noise_has_scale(noise, 2.25) < 1e-9
    assert independent(noises[0], noises[1]) > 1e-3


def test_samples_are_poisson_and_new_in_every_round(monkeypatch):
    drawn = []

    class Spy(Coins):
        def __init__(self, rate, stream):
            super().__init__(rate, stream)
            self.rate = rate

        def toss(self, first, n):
            coins = super().toss(first, n)
            drawn.append((self.rate, coins))
            return coins

    entered = []
    honest = dpsvi._sum_of_chosen

    def summed(units, chosen, *others):
        entered.append(int(chosen.sum()))
        return honest(units, chosen, *others)

    monkeypatch.setattr(dpsvi, "Coins", Spy)
    monkeypatch.setattr(dpsvi, "_sum_of_chosen", summed)
    steps(random_counts(4000, 3, 9), make(sampling_rate=0.2), 4)
    sizes = [int(coins.sum()) for _, coins in drawn]
    assert entered == sizes
    assert [rate for rate, _ in drawn] == [0.2] * 4
    assert all(abs(size - 800) < 5 * math.sqrt(4000 * 0.16) for size in sizes)
    assert len(set(sizes)) > 1  # a fixed size would not be Poisson
    assert independent(drawn[0][1].astype(float), drawn[1][1].astype(float)) > 1e-3


def test_units_that_say_the_same_have_different_coins(monkeypatch):
    entered = []
    honest = dpsvi._sum_of_chosen

    def summed(units, chosen, *others):
        entered.append(chosen)
        return honest(units, chosen, *others)

    monkeypatch.setattr(dpsvi, "_sum_of_chosen", summed)
    steps(csr(np.ones((4000, 3), int)), make(sampling_rate=0.5), 1)
    assert abs(int(entered[0].sum()) - 2000) < 5 * math.sqrt(1000)


def test_an_empty_sample_is_noised_and_booked(monkeypatch):
    passed = recorded(monkeypatch)
    monkeypatch.setattr(Coins, "toss", lambda self, first, n: np.zeros(n, bool))
    settings = make()
    _, reservation = steps(random_counts(30, 200, 10), settings, 2)
    for _, total, noisy in passed:
        assert not total.any()
        assert noise_has_scale(noisy / 2**BITS, 1.5) > 1e-3
    event = events.poisson_sampled(0.5, events.gaussian(1.5))
    with pytest.raises(PrivacyError):
        reservation.use(event, **UNIT)  # both rounds were booked


def test_a_round_more_than_reserved_is_refused():
    settings = make()
    stream, reservation = SecureStream(0), reserve(settings, 1)
    units = group_units(random_counts(10, 6, 0), None)
    state = dpsvi.step(dpsvi.init(6, settings, stream), units, settings, stream, reservation)
    with pytest.raises(PrivacyError):
        dpsvi.step(state, units, settings, stream, reservation)
    louder = settings._replace(noise_multiplier=1.4)
    with pytest.raises(PrivacyError):
        dpsvi.step(state, units, louder, stream, reserve(settings, 5))


@pytest.mark.parametrize("denoise", ["zero", "empirical_bayes"])
def test_parameters_stay_positive(denoise):
    states, _ = steps(
        random_counts(40, 10, 11), make(denoise=denoise, noise_multiplier=20.0, learning_offset=0.0), 3
    )
    assert (states[-1].topics > 0).all()
    assert np.isfinite(dpsvi.noise_in_topics(states[-1])).all()


def test_the_start_depends_on_no_text():
    settings = make()
    assert dpsvi.init(9, settings, SecureStream(1)).topics.tobytes() == (
        dpsvi.init(9, settings, SecureStream(1)).topics.tobytes()
    )


# ---- planted mistakes


def divided_by_the_realised_size(counts, persons=None):
    n = len(naive.by_unit(counts, persons))
    return np.trunc(sampled(counts, persons) * (10.0 / max(n, 1))).astype(np.int64)


def documents_one_by_one(counts, persons=None):
    return sampled(counts, None)


def clipped_after_the_sum(counts, persons=None):
    units = naive.by_unit(counts, persons)
    total = sum(naive.dpsvi_vector(unit, parameters(counts.shape[1]), 0.1) / 4.0 for unit in units)
    limit = len(units)
    return np.trunc(total * min(1, limit / np.linalg.norm(total)) * 2**BITS).astype(np.int64)


def rounded_to_nearest(counts, persons=None):
    total = np.zeros((counts.shape[1], K), np.int64)
    for unit in naive.by_unit(counts, persons):
        vector = naive.dpsvi_vector(unit, parameters(counts.shape[1]), 0.1) / 4.0
        total += np.rint(vector / max(1, np.linalg.norm(vector)) * 2**BITS).astype(np.int64)
    return total


@pytest.mark.parametrize(
    "wrong",
    [divided_by_the_realised_size, documents_one_by_one, clipped_after_the_sum, rounded_to_nearest],
)
def test_planted_mistakes_are_caught(wrong):
    # Long and short documents, so that some units are clipped and others are not.
    rng = np.random.default_rng(12)
    counts = csr(rng.poisson(rng.gamma(1, 1, (40, 1)), (40, 8)))
    persons = np.arange(40) // 5
    assert moves_by_at_most_one(sampled, counts, persons)
    assert not moves_by_at_most_one(wrong, counts, persons)
