"""Distinguishing audits with the neighbours that differ most: within the promise, and half the noise is flagged.

The worst neighbour of a sum is a document that is all of one topic, alone in its group: it moves one cell and the count
by all that a unit may, and a test on just these two cells sees it as well as anything can. The noise is what the
estimators' own plans draw.
"""

import math

import numpy as np
import pytest

from discreet import Ledger, PrivateFit, Release, TopicPrevalence
from discreet.audit import distinguish
from discreet.central.prevalence.labelled import prevalence_sum
from discreet.central.private_fit import contributions
from discreet.privacy import gdp_epsilon, gdp_mu
from discreet.privacy.bound import BoundedSum
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.row_sums import sum_rows

EPSILON, DELTA, N_RUNS, C = 1.0, 1e-3, 200_000, 0.5
MU = gdp_mu(EPSILON, DELTA)
PURE = Release(
    topic_word=np.array([[0.999, 0.001], [0.001, 0.999]]),
    vocabulary=("sea", "law"),
    ledger=Ledger(1.0, 1e-6),
    configuration={"doc_topic_prior": 1e-6},
)
REST, WORST = np.array([[6, 0], [0, 6], [3, 3]] * 2), np.array([[12, 0]])


def told(mechanism, total, seed):
    """Many independent releases of one sum; each row is one."""
    rows = BoundedSum(np.tile(total.values, (N_RUNS, 1)), total.bound)
    reservation = Ledger(math.inf, DELTA, privacy_unit=total.bound.privacy_unit).reserve(
        mechanism.event(), "audit"
    )
    return mechanism.release(rows, SecureStream(seed), reservation)


def shares_of(mechanism, n_worst, unit, clip=True):
    """The sum with a unit of so many documents of one topic, alone in its group; without it where there are none."""
    X = np.vstack([REST, np.repeat(WORST, n_worst, 0)])
    group = np.array([0] * 6 + [1] * n_worst, np.int32)
    people = np.array([*range(6), *[6] * n_worst]) if unit == "person" and clip else None
    return prevalence_sum(PURE.transform(X), group, people, 2, C, mechanism.bound)


def shares_audit(epsilon, unit="document", *, clip=True):
    model = TopicPrevalence(PURE, groups=["here", "alone"], epsilon=epsilon, delta=DELTA, privacy_unit=unit)
    mechanism = model._plan().how.shares
    n_worst = 1 if unit == "document" else 10
    scores = [
        told(mechanism, shares_of(mechanism, n, unit, clip), seed) @ np.array([0, 0, 0, 1, 0, C])
        for seed, n in enumerate((n_worst, 0))
    ]
    return distinguish(*scores, delta=DELTA)


@pytest.mark.parametrize("unit", ["document", "person"])
def test_shares_are_within_their_promise_and_the_audit_is_nearly_tight(unit):
    report = shares_audit(EPSILON, unit)
    assert 0.4 * EPSILON < report.epsilon_lower_bound <= EPSILON
    assert 0.8 * MU < report.mu_lower_bound <= MU


def test_half_the_noise_is_flagged():
    assert shares_audit(gdp_epsilon(2 * MU, DELTA)).mu_lower_bound > MU


def test_a_person_whose_documents_are_clipped_one_by_one_is_flagged():
    """The sum over a person's documents has to be bounded, not each document."""
    assert shares_audit(EPSILON, "person", clip=False).mu_lower_bound > MU


def test_noise_that_forgets_the_count_is_flagged():
    # Made for shares alone, the noise would be smaller by the root of 1 + c^2, and mu larger by as much.
    assert shares_audit(gdp_epsilon(MU * math.sqrt(1 + C**2), DELTA)).mu_lower_bound > MU


def fit_audit(epsilon):
    mechanism = (
        PrivateFit(PURE, epsilon=epsilon, delta=DELTA, privacy_unit="document", contribution_bound=0.25)
        ._plan()
        .how
    )
    scores = []
    for seed, X in enumerate((np.vstack([REST, WORST]), REST)):
        rows = contributions(PURE, sp_counts(X), 0.25, C)
        worst = contributions(PURE, sp_counts(WORST), 0.25, C)[0]
        scores.append(told(mechanism, sum_rows(rows, mechanism.bound), seed) @ worst)
    return distinguish(*scores, delta=DELTA)


def sp_counts(X):
    from discreet.corpus import check_counts

    return check_counts(X)


def test_the_fit_is_within_its_promise_and_half_the_noise_is_flagged():
    report = fit_audit(EPSILON)
    assert 0.8 * MU < report.mu_lower_bound <= MU
    assert fit_audit(gdp_epsilon(2 * MU, DELTA)).mu_lower_bound > MU


@pytest.mark.parametrize("unit", ["document", "person"])
def test_chosen_names_and_their_shares_are_within_one_promise(unit):
    """Both releases of a private choice of groups, seen together: a unit of one name, at the edge of the threshold."""
    model = TopicPrevalence(PURE, group_selection="private", epsilon=EPSILON, delta=DELTA, privacy_unit=unit)
    how = model._plan().how
    names, shares = GaussianMechanism(how.names.bound, how.names.rounds[0][0]), how.shares
    edge = int(how.names.threshold)
    scores = []
    for seed, n in enumerate((1, 0)):
        weight = BoundedSum(np.array([(edge + n) << names.bound.bits]), names.bound)
        noisy = told(names, weight, 2 * seed)[:, 0] / names.bound.sensitivity
        sums = told(shares, shares_of(shares, n, unit), 2 * seed + 1) @ np.array([0, 0, 0, 1, 0, C])
        sums = sums / shares.bound.sensitivity / shares.bound.contribution_bound
        # What a name that did not pass would have had is never told; the best test weighs both by their precision.
        passed = noisy > how.names.threshold
        inside = noisy / names.noise_multiplier**2 + sums / shares.noise_multiplier**2
        scores.append(np.where(passed, inside, how.names.threshold / names.noise_multiplier**2))
    report = distinguish(*scores, delta=DELTA)
    assert report.epsilon_lower_bound <= EPSILON
    assert 0.5 * MU < report.mu_lower_bound <= MU
