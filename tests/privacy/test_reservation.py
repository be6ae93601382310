"""Reservations: shares add up exactly, whatever their order, and never beyond what was booked."""

import math
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.ledger.reservation import Reservation

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}

NOISES = st.floats(0.5, 50)


def precision(noise):
    return 1 / Fraction(noise) ** 2


def granted(reservation, noises):
    """Draw on a reservation as often as it lets us; return what was granted."""
    passed = []
    for noise in noises:
        try:
            reservation.use(events.gaussian(noise), **UNIT)
        except PrivacyError:
            continue
        passed.append(noise)
    return passed


@settings(max_examples=200, deadline=None)
@given(NOISES, st.lists(NOISES, max_size=30))
def test_gaussian_shares_never_exceed_what_was_booked_and_nothing_that_fits_is_refused(whole, shares):
    reservation = Reservation(events.gaussian(whole), "rounds", **UNIT)
    left = precision(whole)
    for share in shares:
        fits = precision(share) <= left
        assert bool(granted(reservation, [share])) == fits
        left -= precision(share) if fits else 0
        assert reservation.precision_left == left >= 0


class Floats(Reservation):
    """The plausible mistake: shares are subtracted as floats, and what is lost to rounding is forgiven."""

    def __init__(self, event, purpose, **unit):
        super().__init__(event, purpose, **unit)
        self._float = event.noise_multiplier**-2

    def use(self, event, **unit):
        wanted = event.noise_multiplier**-2
        if wanted > self._float + 1e-12:
            raise PrivacyError("no")
        self._float -= wanted


def test_rounding_cannot_be_collected():
    # Shares so small that a float sum with a tolerance would grant them without end.
    tiny, noise = 1e7, 2.0
    for kind, grants in ((Reservation, 0), (Floats, 50)):
        reservation = kind(events.gaussian(noise), "rounds", **UNIT)
        reservation.use(events.gaussian(noise), **UNIT)
        assert len(granted(reservation, [tiny] * 50)) == grants


def test_a_third_of_the_precision_three_times():
    # sqrt(3) * sigma is not a float: the nearest one above fits three times, the nearest below does not.
    sigma = math.sqrt(3) * 2.0
    above = sigma if Fraction(sigma) ** 2 >= 12 else math.nextafter(sigma, 9)
    assert len(granted(Reservation(events.gaussian(2.0), "thirds", **UNIT), [above] * 4)) == 3
    assert (
        len(granted(Reservation(events.gaussian(2.0), "thirds", **UNIT), [math.nextafter(above, 0)] * 4)) == 2
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5))
def test_sampled_rounds_are_counted(booked, at_once):
    sampled = events.poisson_sampled(0.1, events.gaussian(2.0))
    reservation = Reservation(events.composed(sampled, booked), "rounds", **UNIT)
    for _ in range(booked // at_once):
        reservation.use(events.composed(sampled, at_once), **UNIT)
    with pytest.raises(PrivacyError, match="before its sum is made"):
        reservation.use(events.composed(sampled, at_once), **UNIT)
    for _ in range(booked % at_once):
        reservation.use(sampled, **UNIT)
    with pytest.raises(PrivacyError):
        reservation.use(sampled, **UNIT)


def test_failure_probabilities_need_one_that_was_booked():
    gaussian = events.gaussian(2.0)
    with_failure = events.with_delta(gaussian, 1e-8)
    plain = Reservation(gaussian, "topics", **UNIT)
    with pytest.raises(PrivacyError):
        plain.use(with_failure, **UNIT)
    plain.use(gaussian, **UNIT)
    both = Reservation(with_failure, "words", **UNIT)
    with pytest.raises(PrivacyError):
        both.use(events.with_delta(gaussian, 2e-8), **UNIT)
    both.use(with_failure, **UNIT)
    with pytest.raises(PrivacyError):
        both.use(events.with_delta(events.gaussian(1e6), 1e-8), **UNIT)


@pytest.mark.parametrize(
    "other",
    [
        events.pure(0.5),
        events.discrete_laplace(0.25, 16),
        events.discrete_laplace(0.5, 8),
        events.gaussian(1e6),
        events.poisson_sampled(0.01, events.gaussian(1e6)),
        events.non_private(),
    ],
    ids=str,
)
def test_another_kind_of_event_is_refused(other):
    reservation = Reservation(events.discrete_laplace(0.5, 16), "words", **UNIT)
    with pytest.raises(PrivacyError, match="'words' does not cover"):
        reservation.use(other, **UNIT)
    reservation.use(events.discrete_laplace(0.5, 16), **UNIT)


def test_no_privacy_covers_everything():
    reservation = Reservation(events.non_private(), "the twin", **UNIT)
    for event in (events.gaussian(1e-3), events.pure(100.0), events.non_private()):
        for _ in range(3):
            reservation.use(event, **UNIT)


def test_what_is_no_event_is_refused():
    for event in ("gaussian", None, 1.0):
        with pytest.raises(PrivacyError, match="one of this library's events"):
            Reservation(events.gaussian(1.0), "x", **UNIT).use(event, **UNIT)
        with pytest.raises(PrivacyError, match="one of this library's events"):
            Ledger(1, 1e-6).reserve(event, "x")


def test_threads_that_race_for_the_last_round():
    sampled = events.poisson_sampled(0.1, events.gaussian(2.0))
    for _ in range(20):
        reservation = Reservation(events.composed(sampled, 5), "rounds", **UNIT)
        start, passed = threading.Barrier(20), []

        def draw(reservation=reservation, start=start, passed=passed):
            start.wait()
            try:
                reservation.use(sampled, **UNIT)
            except PrivacyError:
                return
            passed.append(1)

        threads = [threading.Thread(target=draw) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(passed) == 5


def test_words():
    assert repr(Reservation(events.gaussian(1.0), "topics", **UNIT)) == "Reservation('topics')"
