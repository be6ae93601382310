"""The gate: shares within the reservation, noise of the promised scale, a key of its own for each release."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.central_checks import independent, noise_has_scale

from discreet import Ledger
from discreet.errors import PrivacyError
from discreet.privacy import Bound, mechanism, sum_rows
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.mechanism import BITS, SharedGaussian, noise_multiplier_of, noise_of_share
from discreet.privacy.noise.stream import SecureStream

TOTAL = np.random.default_rng(0).integers(0, 2**24, (200, 20))


def gate(epsilon=2.0, seed=0, delta=1e-5, n_jobs=None):
    event = events.non_private() if math.isinf(epsilon) else events.gaussian(noise_of(epsilon, delta))
    reservation = Ledger(epsilon, delta).reserve(event, "test")
    return SharedGaussian(reservation, noise_of(epsilon, delta), "document", SecureStream(seed), n_jobs)


def noise_of(epsilon, delta):
    return 0.0 if math.isinf(epsilon) else noise_multiplier_for(epsilon, delta)


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=12), st.sampled_from([0.1, 1.0, 7.3, 50.0]))
@settings(max_examples=100, deadline=None)
def test_shares_that_add_up_to_one_are_granted_and_never_exceed_the_reservation(weights, epsilon):
    out = gate(epsilon)
    shares = np.array(weights) / np.sum(weights)
    reserved = 1 / Fraction(out.noise_multiplier) ** 2
    assert out.reservation.precision_left == reserved
    spent = Fraction(0)
    for number, share in enumerate(shares.tolist()):
        noise = out.release(np.zeros(1, np.int64), share, f"{number}").noise
        spent += 1 / Fraction(noise) ** 2
        assert noise == pytest.approx(out.noise_multiplier / math.sqrt(share), rel=1e-6)
    assert spent <= reserved
    assert out.reservation.precision_left == reserved - spent
    assert spent > reserved * Fraction(999_999, 1_000_000)  # and nothing is wasted


@pytest.mark.parametrize("shares", [(1.1,), (0.6, 0.5), (0.5, 0.5, 1e-3), (0.999, 0.002), (1.0, 1.0)])
def test_asking_for_more_is_refused(shares):
    out = gate()
    for share in shares[:-1]:
        out.release(TOTAL, share, "granted")
    left = out.reservation.precision_left
    with pytest.raises(PrivacyError, match="left"):
        out.release(TOTAL, shares[-1], "too much")
    assert out.reservation.precision_left == left


@pytest.mark.parametrize("share", [0.0, -0.1, math.nan, math.inf])
def test_a_share_is_positive(share):
    with pytest.raises(PrivacyError, match="share"):
        gate().release(TOTAL, share, "nothing")


@given(st.fractions(Fraction(1, 10**9), 10**9))
@settings(max_examples=200, deadline=None)
def test_noise_multipliers_are_rounded_up(precision):
    noise = noise_multiplier_of(precision)
    assert 1 / Fraction(noise) ** 2 <= precision
    assert noise <= 1 / math.sqrt(precision) * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.002, 0.4, 1.0])
def test_noise_has_the_promised_scale(share):
    out = gate(seed=3)
    noisy = out.release(TOTAL, share, "scale")
    noise = noisy.values - TOTAL / 2**BITS
    promised = noise_multiplier_for(2.0, 1e-5) / math.sqrt(share)
    assert noise_has_scale(noise, promised) > 1e-3
    assert noise_has_scale(noise, noisy.noise) > 1e-3
    assert noise_has_scale(noise, promised * 2 / 3) < 1e-9
    assert noise_has_scale(noise, promised * 3 / 2) < 1e-9


def test_noise_is_on_the_lattice():
    values = gate().release(TOTAL, 1.0, "lattice").values * 2**BITS
    np.testing.assert_array_equal(values, np.rint(values))


def test_each_release_has_noise_of_its_own_even_for_one_purpose():
    out = gate(epsilon=50.0)
    noises = [out.release(TOTAL, 0.25, "again").values - TOTAL / 2**BITS for _ in range(3)]
    assert min(independent(noises[a], noises[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > 1e-3


class Repeating:
    """Planted: a stream whose children are all the same."""

    def spawn(self, purpose):
        return SecureStream(7)


def test_noise_that_is_used_twice_is_caught():
    honest = gate(epsilon=50.0)
    out = SharedGaussian(honest.reservation, honest.noise_multiplier, "document", Repeating(), None)
    first, second = (out.release(TOTAL, 0.25, "again").values - TOTAL / 2**BITS for _ in range(2))
    assert independent(first, second) < 1e-9


def test_the_reservation_is_asked_before_noise_is_drawn(monkeypatch):
    def drawn(*args, **options):
        raise AssertionError("drew noise without cover")

    out = gate()
    out.release(TOTAL, 1.0, "all")
    monkeypatch.setattr(mechanism, "rounded_gaussian", drawn)
    with pytest.raises(PrivacyError):
        out.release(TOTAL, 0.1, "more")


def test_without_privacy_values_are_exact_and_shares_mean_nothing():
    out = gate(epsilon=math.inf)
    for share in (0.0, 0.4, 1.0):
        noisy = out.release(TOTAL, share, "exact")
        assert noisy.noise == 0
        np.testing.assert_array_equal(noisy.values, TOTAL / 2**BITS)


def test_a_finer_lattice_is_for_sums_without_noise_only():
    # Units placed in steps of 2**-26 and released as of 2**-18 would be heard 256 times as loudly as the noise.
    np.testing.assert_array_equal(
        gate(epsilon=math.inf).release(TOTAL, 0.0, "all", bits=26).values, TOTAL / 2**26
    )
    for bits in (BITS - 1, BITS + 1, 26):
        with pytest.raises(PrivacyError, match=f"of 2\\*\\*-{bits}"):
            gate().release(TOTAL, 0.5, "some", bits=bits)


def test_no_noise_needs_a_reservation_of_no_privacy():
    honest = gate()
    cheat = SharedGaussian(honest.reservation, 0.0, "document", SecureStream(0), None)
    with pytest.raises(PrivacyError):
        cheat.release(TOTAL, 1.0, "cheat")


@pytest.mark.parametrize("unit", ["document", "person"])
def test_the_bound_names_the_unit(unit):
    honest = gate()
    bound = SharedGaussian(honest.reservation, honest.noise_multiplier, unit, SecureStream(0), None).bound
    assert (bound.norm, bound.bits, bound.contribution_bound, bound.privacy_unit) == ("l2", BITS, 1.0, unit)
    assert bound.sensitivity == 2**BITS


def test_same_bytes_for_any_threads():
    values = [gate(n_jobs=n).release(TOTAL, 1.0, "threads").values.tobytes() for n in (1, 2, 4)]
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("shares", [(0.25, 0.75), (0.002, 0.04, 0.958)])
def test_noise_drawn_elsewhere_uses_up_the_same_shares(shares):
    here, elsewhere = gate(), gate()
    for number, share in enumerate(shares):
        noise = elsewhere.draw(share)
        assert noise == here.release(TOTAL, share, f"{number}").noise
        assert noise == pytest.approx(noise_of_share(here.noise_multiplier, share), rel=1e-12)
        assert elsewhere.reservation.precision_left == here.reservation.precision_left
    with pytest.raises(PrivacyError, match="left"):
        elsewhere.draw(0.01)
    assert gate(math.inf).draw(0.5) == noise_of_share(0.0, 0.5) == 0.0


def test_a_bounded_sum_is_released_like_its_integers_and_one_of_another_bound_is_refused():
    rows = np.eye(3)
    bounded = sum_rows(rows, gate().bound)
    assert np.array_equal(
        gate().release(bounded, 0.5, "sum").values, gate().release(bounded.values, 0.5, "sum").values
    )
    with pytest.raises(PrivacyError, match="make the mechanism from the sum's own bound"):
        gate().release(sum_rows(rows, Bound()), 0.5, "sum")
