"""The gate: the noise that is drawn is the noise that was booked, and nothing passes without a booking."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from tests.naive import goodness

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import bound
from discreet.privacy.accounting import events
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.mechanism import BITS, GaussianMechanism, LaplaceMechanism, SharedGaussian
from discreet.privacy.noise.stream import SecureStream

L2 = Bound("l2", bits=10)
L1 = Bound("l1", bits=10)
DRAWS = 20_000


def zeros(bound, shape=DRAWS):
    return BoundedSum(np.zeros(shape, np.int64), bound)


def booked(mechanism, epsilon=50.0, times=1):
    ledger = Ledger(epsilon, 1e-5, neighboring=mechanism.bound.neighboring)
    return ledger.reserve(events.composed(mechanism.event(), times), "a test")


def noise_of(mechanism, total=None):
    return mechanism.release(total or zeros(mechanism.bound), SecureStream(7), booked(mechanism))


def honest(mechanism):
    """Whether the noise has the scale that the booked event promises: what the tests below rely on."""
    event = mechanism.event()
    draws = noise_of(mechanism)
    if isinstance(mechanism, GaussianMechanism):
        if events.to_json(event)["kind"] == "poisson_sampled":
            event = event.event
        return goodness.kolmogorov_smirnov(
            draws, goodness.gaussian_cdf, event.noise_multiplier * mechanism.bound.sensitivity
        )
    return goodness.kolmogorov_smirnov(draws, goodness.laplace_cdf, 1 / event.noise_parameter)


MECHANISMS = [
    GaussianMechanism(L2, 1.3),
    GaussianMechanism(L2, 0.7, sampling_rate=0.05),
    GaussianMechanism(Bound("l2", bits=14, neighboring="replace_one"), 4.0),
    LaplaceMechanism(L1, 0.5),
    LaplaceMechanism(L1, 3.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_noise_has_the_scale_that_is_booked(mechanism):
    assert honest(mechanism) > 1e-3


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("factor", [Fraction(2, 3), Fraction(3, 2)])
def test_noise_of_another_scale_is_caught(mechanism, factor):
    class WrongScale(type(mechanism)):
        @property
        def scale(self):
            return super().scale * factor

    fields = {name: getattr(mechanism, name) for name in mechanism.__dataclass_fields__}
    assert honest(WrongScale(**fields)) < 1e-6


def test_an_event_of_another_multiplier_is_caught():
    class BooksLess(GaussianMechanism):
        def event(self):
            return events.gaussian(self.noise_multiplier * 1.5)

    class BooksPerStep(LaplaceMechanism):
        def event(self):
            return events.discrete_laplace(self.epsilon * 1.5, self.bound.sensitivity)

    assert honest(BooksLess(L2, 1.3)) < 1e-6
    assert honest(BooksPerStep(L1, 0.5)) < 1e-6


def test_scales_are_exact():
    assert GaussianMechanism(L2, 0.1).scale == Fraction(0.1) * 1024
    assert LaplaceMechanism(L1, 0.1).scale == 1024 / Fraction(0.1)
    assert GaussianMechanism(replace(L2, neighboring="replace_one"), 0.1).scale == Fraction(0.1) * 2048


def test_events():
    assert GaussianMechanism(L2, 1.5).event() == events.gaussian(1.5)
    sampled = GaussianMechanism(L2, 1.5, sampling_rate=0.25).event()
    assert sampled == events.poisson_sampled(0.25, events.gaussian(1.5))
    laplace = LaplaceMechanism(L1, 0.5).event()
    assert laplace == events.discrete_laplace(0.5, 1024)
    assert laplace.noise_parameter * laplace.sensitivity == 0.5
    with pytest.raises(ParameterError, match="sampling_rate"):
        GaussianMechanism(L2, 1.5, sampling_rate=0.0).event()


@pytest.mark.parametrize("mechanism", [GaussianMechanism(L2, 0.0), LaplaceMechanism(L1, math.inf)], ids=repr)
def test_no_noise_is_booked_as_no_privacy(mechanism):
    assert mechanism.event() == events.non_private()
    values = np.arange(-5, 5)
    reservation = Ledger(math.inf, 1e-5).reserve(mechanism.event(), "the twin")
    released = mechanism.release(BoundedSum(values, mechanism.bound), SecureStream(), reservation)
    assert np.array_equal(released, values)
    assert not np.shares_memory(released, values)
    with pytest.raises(PrivacyError):
        Ledger(100, 1e-5).reserve(mechanism.event(), "the twin")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_noise_is_added_to_the_sum_and_the_sum_is_left_alone(mechanism):
    values = np.arange(12).reshape(3, 4) * 10**6
    before = values.copy()
    released = noise_of(mechanism, BoundedSum(values, mechanism.bound))
    assert np.array_equal(released - before, noise_of(mechanism, zeros(mechanism.bound, (3, 4))))
    assert np.array_equal(values, before)
    assert released.dtype == np.int64
    assert not np.array_equal(released, before)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_what_was_not_booked_is_not_released(mechanism):
    class NoNoise(SecureStream):
        def blocks(self, purpose):
            raise AssertionError("noise was drawn before the booking was checked")

    twice = booked(mechanism, times=2)
    for _ in range(2):
        mechanism.release(zeros(mechanism.bound, 3), SecureStream(), twice)
    with pytest.raises(PrivacyError, match="has been used, and what is left of it does not cover"):
        mechanism.release(zeros(mechanism.bound, 3), NoNoise(), twice)
    if isinstance(mechanism, GaussianMechanism):
        weaker = {"noise_multiplier": mechanism.noise_multiplier * 0.999}
    else:
        weaker = {"epsilon": mechanism.epsilon * 1.001}
    with pytest.raises(PrivacyError, match="does not cover"):
        replace(mechanism, **weaker).release(zeros(mechanism.bound, 3), NoNoise(), booked(mechanism))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("other", [{"bits": 8}, {"privacy_unit": "person"}, {"contribution_bound": 2.0}])
def test_a_sum_of_another_bound_is_refused_and_draws_nothing(mechanism, other):
    reservation = booked(mechanism)
    with pytest.raises(PrivacyError, match="make the mechanism from the sum's own bound"):
        mechanism.release(zeros(replace(mechanism.bound, **other), 3), SecureStream(), reservation)
    mechanism.release(zeros(mechanism.bound, 3), SecureStream(), reservation)  # still there


def test_the_relation_is_part_of_the_bound():
    # Replacing moves a sum twice as far as adding: a mechanism for one must not protect the other.
    with pytest.raises(PrivacyError, match="own bound"):
        GaussianMechanism(L2, 1.0).release(
            zeros(replace(L2, neighboring="replace_one"), 3),
            SecureStream(),
            booked(GaussianMechanism(L2, 1.0)),
        )


def test_norms_must_fit_the_noise():
    with pytest.raises(PrivacyError, match='needs a bound in "l2"'):
        GaussianMechanism(L1, 1.0)
    with pytest.raises(PrivacyError, match='needs a bound in "l1"'):
        LaplaceMechanism(L2, 1.0)


@pytest.mark.parametrize(("make", "norm"), [(GaussianMechanism, "l2"), (LaplaceMechanism, "l1")])
def test_what_looks_like_a_bound_is_none(make, norm):
    forged = SimpleNamespace(norm=norm, sensitivity=0, privacy_unit="document", neighboring="replace_one")
    with pytest.raises(PrivacyError, match="must be a Bound, but"):
        make(forged, 1.0)


@pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf])
def test_multipliers_out_of_range(noise):
    with pytest.raises(ParameterError, match="noise_multiplier"):
        GaussianMechanism(L2, noise)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_epsilons_out_of_range(epsilon):
    with pytest.raises(PrivacyError, match="epsilon"):
        LaplaceMechanism(L1, epsilon)


@pytest.mark.parametrize("make", [GaussianMechanism, LaplaceMechanism])
def test_noise_of_scale_0_is_not_booked_as_private(make, monkeypatch):
    """The planted mistake: a bound that takes numpy's numbers, in which 2**14 is 0."""
    monkeypatch.setattr(bound, "check_bits", lambda bits: None)
    wrapped = Bound("l2" if make is GaussianMechanism else "l1", bits=np.uint8(14))
    mechanism = make(wrapped, 1.0)
    assert mechanism.scale == 0
    reservation = Ledger(math.inf).reserve(events.together(events.gaussian(1.0), events.pure(1.0)), "a test")
    with pytest.raises(
        (PrivacyError, ParameterError), match=r"scale 0 would be booked as private|sensitivity must be"
    ):
        mechanism.release(zeros(wrapped, 3), SecureStream(), reservation)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_threads_do_not_change_the_noise(mechanism):
    answers = [
        mechanism.release(zeros(mechanism.bound), SecureStream(3), booked(mechanism), n_jobs=jobs)
        for jobs in (1, 2, 4)
    ]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


@pytest.mark.parametrize("mechanism", [GaussianMechanism(L2, 1.3), LaplaceMechanism(L1, 0.5)], ids=repr)
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda m, r: m.release(np.arange(3), SecureStream(), r),
            PrivacyError,
            r"must be a BoundedSum.*sum_rows",
        ),
        (
            lambda m, r: m.release(zeros(m.bound, 3), 0, r),
            TypeError,
            "stream must be a SecureStream, but is an int",
        ),
        (
            lambda m, r: m.release(zeros(m.bound, 3), SecureStream(), r, n_jobs="x"),
            ParameterError,
            "n_jobs must be a whole number of threads or None, but is a str",
        ),
        (
            lambda m, r: m.release(zeros(m.bound, 3), SecureStream(), m.event()),
            PrivacyError,
            r"reservation must be what ledger\.reserve",
        ),
        (
            lambda m, r: m.release(zeros(replace(m.bound, contribution_bound=2.0), 3), SecureStream(), r),
            PrivacyError,
            "make the mechanism from the sum's own bound",
        ),
    ],
    ids=["array", "stream", "threads", "reservation", "bound"],
)
def test_a_call_that_fails_draws_nothing_on_the_reservation(mechanism, call, kind, message):
    reservation = booked(mechanism)
    with pytest.raises(kind, match=message):
        call(mechanism, reservation)
    assert mechanism.release(zeros(mechanism.bound, 3), SecureStream(), reservation).shape == (3,)
    with pytest.raises(PrivacyError, match="the reservation for 'a test' has been used"):
        mechanism.release(zeros(mechanism.bound, 3), SecureStream(), reservation)


class Deaf(np.ndarray):
    """An array that adds nothing to itself."""

    def __add__(self, other):
        return self


@pytest.mark.parametrize(
    "values",
    [
        np.ma.masked_array(np.arange(6), mask=[0, 0, 0, 1, 1, 1]),  # masked cells would leave without noise
        np.ma.masked_array(np.arange(6)),
        np.arange(6).view(np.matrix),
        np.arange(6).view(Deaf),
    ],
    ids=["masked", "mask of nothing", "matrix", "another subclass"],
)
@pytest.mark.parametrize(
    "release",
    [
        lambda values, m, r: m.release(BoundedSum(values, m.bound), SecureStream(1), r),
        lambda values, m, r: SharedGaussian(r, 1.3, "document", SecureStream(1), None).release(
            values, 1, "x"
        ),
    ],
    ids=["mechanism", "shared"],
)
def test_only_plain_arrays_are_released(release, values):
    mechanism = GaussianMechanism(Bound("l2", bits=BITS), 1.3)
    reservation = booked(mechanism)
    with pytest.raises(PrivacyError, match="must be a plain numpy array of int64, but is a"):
        release(values, mechanism, reservation)
    assert reservation.precision_left == 1 / Fraction(1.3) ** 2


def test_a_sum_stays_what_it_is_whatever_its_array_becomes():
    """The lower halves of a sum move by 2^32 where it moves by one step."""
    mechanism, values = GaussianMechanism(L2, 4.0), np.arange(6)
    total = BoundedSum(values, L2)
    values.dtype = np.int32
    released = mechanism.release(total, SecureStream(1), booked(mechanism))
    assert (released.shape, released.dtype) == ((6,), np.int64)


def test_noise_that_was_not_reserved_is_told_from_a_reservation_that_was_used():
    reservation = booked(GaussianMechanism(L2, 4.0))
    with pytest.raises(
        PrivacyError, match=r"does not cover Gaussian noise, multiplier 1.*it is of .*multiplier 4"
    ):
        GaussianMechanism(L2, 1.0).release(zeros(L2, 3), SecureStream(), reservation)
