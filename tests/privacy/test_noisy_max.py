"""Report noisy max: the winner is drawn as the slow twin says, and no unit changes its chances by more than epsilon."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from tests.naive.noisy_max import winners

from discreet import Ledger
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.privacy import composed_epsilon, events
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.noisy_max import NoisyMax


def reserved(mechanism, times=1):
    ledger = Ledger(math.inf, 1e-6)
    return ledger.reserve(events.composed(mechanism.event(), times), "choice")


def worst_ratio(totals, change, epsilon, size):
    before, after = (winners(list(u), epsilon, size) for u in (totals, np.add(totals, change)))
    return max(abs(math.log(p / q)) for p, q in zip(before, after, strict=True))


@pytest.mark.integration
def test_the_winner_is_drawn_as_the_slow_twin_says():
    mechanism = NoisyMax(1.5, bits=2)
    scores = np.array([[1.0, 0.5, 0.75], [0.25, 1.0, 0.25]])
    assert mechanism.sum(scores).tolist() == [5, 6, 4]
    expected = np.array(winners([5, 6, 4], 1.5, 4, reach=6))
    reservation, n = reserved(mechanism, 20_000), 20_000
    stream = SecureStream(0)
    drawn = np.bincount(
        [mechanism.choose(scores, stream.spawn(str(i)), reservation) for i in range(n)], minlength=3
    )
    assert np.abs(drawn / n - expected).max() < 4 * math.sqrt(0.25 / n)
    # Noise of two thirds, and of three halves, of the scale would be noticed.
    for other in (1.0, 2.25):
        assert np.abs(drawn / n - winners([5, 6, 4], other, 4, reach=6)).max() > 4 * math.sqrt(0.25 / n)


@pytest.mark.parametrize("size", [1, 2])
def test_no_unit_changes_any_chance_by_more_than_epsilon(size):
    epsilon = 0.8
    worst = 0.0
    for totals in itertools.product(range(2), repeat=2):
        for change in itertools.product(range(size + 1), repeat=2):
            worst = max(worst, worst_ratio(totals, change, epsilon, size))
    for totals in ([0, 0, 0], [0, 2, 1]):
        for change in itertools.product((0, size), repeat=3):
            worst = max(worst, worst_ratio(totals, change, 2.0, size) * 0.4)
    assert 0.6 * epsilon < worst <= epsilon + 1e-6


def test_scores_of_either_sign_would_break_the_promise():
    assert worst_ratio([0, 0], [1, -1], 0.8, 1) > 0.8 * 1.05


def test_scores_are_cut_to_what_was_promised_for():
    mechanism = NoisyMax(1.0, bits=4)
    wild = np.array([[7.0, -3.0, math.nan, math.inf, -math.inf, 0.99]])
    assert mechanism.sum(wild).tolist() == [16, 0, 0, 16, 0, 15]


def test_it_is_booked_as_what_dominates_every_pure_promise():
    event = NoisyMax(0.7).event()
    assert composed_epsilon([event], 1e-9).epsilon == pytest.approx(0.7, rel=1e-6)
    reservation = reserved(NoisyMax(0.7))
    NoisyMax(0.7).choose(np.ones((3, 2)), SecureStream(0), reservation)
    with pytest.raises(PrivacyError, match="does not cover"):
        NoisyMax(0.7).choose(np.ones((3, 2)), SecureStream(1), reservation)
    with pytest.raises(PrivacyError, match="epsilon must be a positive number"):
        NoisyMax(0)
    assert NoisyMax(math.inf).choose([[0.2, 0.9, 0.9]], SecureStream(0), reserved(NoisyMax(math.inf))) == 1


@pytest.mark.parametrize("bits", [np.uint8(20), np.int32(20), 20.5, True, 40])
def test_a_lattice_that_would_wrap_around_is_refused(bits):
    with pytest.raises(ParameterError, match="bits must be an int from 1 to 26"):
        NoisyMax(1.0, bits=bits)


def test_a_choice_that_fails_draws_nothing_on_the_reservation():
    mechanism = NoisyMax(1.5)
    reservation = Ledger(2.0).reserve(mechanism.event(), "choice")
    with pytest.raises(TypeError, match="stream must be a SecureStream"):
        mechanism.choose(np.eye(2), 0, reservation)
    assert mechanism.choose(np.eye(2), SecureStream(), reservation) in (0, 1)
    with pytest.raises(PrivacyError, match="has been used"):
        mechanism.choose(np.eye(2), SecureStream(), reservation)


@pytest.mark.parametrize(
    ("scores", "lead", "error"),
    [
        ([["severe pain", "b"]], 0.0, "scores holds text"),
        (np.ones(3), 0.0, r"shape \(n_units, n_candidates\), but are float64 of shape \(3,\)"),
        (np.ones((3, 2, 2)), 0.0, r"of shape \(3, 2, 2\)"),
        (np.ones((3, 0)), 0.0, r"of shape \(3, 0\)"),
        (np.ones((3, 2)) * 1j, 0.0, "but are complex128"),
        (np.ma.masked_array(np.ones((3, 2)), 1), 0.0, "masked entries"),
        (np.ones((3, 2)), math.inf, "lead must be"),
        (np.ones((3, 2)), math.nan, "lead must be"),
        (np.ones((3, 2)), -1.0, "lead must be"),
    ],
)
def test_what_cannot_be_chosen_from_draws_nothing_and_is_not_shown(scores, lead, error):
    mechanism = NoisyMax(0.5)
    reservation = reserved(mechanism)
    with pytest.raises(DiscreetError, match=error) as refused:
        mechanism.choose(scores, SecureStream(1), reservation, lead=lead)
    assert "severe" not in str(refused.value)
    assert refused.value.__context__ is None
    assert mechanism.choose(np.ones((3, 2)), SecureStream(1), reservation) in (0, 1)


def test_noise_beyond_the_largest_scale_is_refused_before_it_is_drawn():
    mechanism = NoisyMax(1e-7)
    reservation = reserved(mechanism)
    with pytest.raises(ParameterError, match="scale must be at most"):
        mechanism.choose(np.ones((3, 2)), SecureStream(1), reservation)
    reservation.use(mechanism.event(), privacy_unit="document", neighboring="add_or_remove_one")


@pytest.mark.parametrize("lead", [1e9, 2**62 / (math.sqrt(2) * 2**21), 1e13, 1e300, np.float32(1e30)])
def test_no_lead_is_so_large_that_it_wraps_around(lead):
    mechanism = NoisyMax(0.5)
    assert mechanism.choose(np.ones((3, 4)), SecureStream(1), reserved(mechanism), lead=lead) == 0


def test_a_lead_favours_the_first_by_public_numbers_and_nothing_without_noise():
    alike = np.full((40, 3), 0.5)
    chosen = Counter(
        NoisyMax(0.5).choose(alike, SecureStream(seed), reserved(NoisyMax(0.5)), lead=1.0)
        for seed in range(300)
    )
    plain = Counter(
        NoisyMax(0.5).choose(alike, SecureStream(seed), reserved(NoisyMax(0.5))) for seed in range(300)
    )
    assert chosen[0] > chosen[1] > chosen[2]
    assert chosen[2] < 40 < 70 < plain[2]
    exact = NoisyMax(math.inf)
    assert exact.choose([[0.2, 0.9, 0.91]], SecureStream(0), reserved(exact), lead=1.0) == 2
