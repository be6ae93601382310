"""The battery itself: each check catches the fault it is for. Our estimators pass: tests/test_private_battery.py."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from discreet import Ledger
from discreet.privacy import (
    Bound,
    BoundedSum,
    GaussianMechanism,
    SecureStream,
    check_private_estimator,
    noise_multiplier_for,
)
from discreet.privacy.testing.battery import CHECKS
from discreet.privacy.testing.subject import Subject, planted_counts


class WordTotals(BaseEstimator):
    """The smallest honest private estimator: how often each word occurs, each document bounded."""

    def __init__(self, epsilon=2.0, delta=1e-6, ledger=None, random_state=None, n_jobs=None):
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, owners=None):
        mechanism = GaussianMechanism(Bound(), noise_multiplier_for(self.epsilon, self.delta))
        ledger = self._ledger()
        reservation = ledger.reserve(mechanism.event(), "word totals")
        counts = self._read(X)
        total = self._total(mechanism.bound, counts)
        stream = self._stream()
        self.totals_ = self._noisy(mechanism, total, stream, reservation)
        return self

    def _ledger(self):
        return Ledger(self.epsilon, self.delta) if self.ledger is None else self.ledger

    def _read(self, X):
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
        bad = ~(np.isfinite(dense) & (dense >= 0) & (dense == np.floor(dense)))
        if bad.any():
            raise ValueError(f"row {np.argwhere(bad)[0, 0]} holds something that is no count.")
        if not len(dense):
            raise ValueError("expected documents, but X is empty.")
        return dense

    def _total(self, bound, counts):
        return bound.sum(counts, normalise=True)

    def _stream(self):
        return SecureStream(self.random_state)

    def _noisy(self, mechanism, total, stream, reservation):
        return mechanism.release(total, stream.spawn("totals"), reservation, n_jobs=self.n_jobs) * 1.0


class ChangesInput(WordTotals):
    def _read(self, X):
        counts = super()._read(X)
        if sp.issparse(X):
            X.data[:] = np.minimum(X.data, 3)
        return counts


class SharesMemory(WordTotals):
    _shared = np.zeros(24)

    def _noisy(self, *arguments):
        noisy = super()._noisy(*arguments)
        self._shared[:] = noisy
        return self._shared


class NoiseAtInfinity(WordTotals):
    def _noisy(self, mechanism, total, stream, reservation):
        noisy = super()._noisy(mechanism, total, stream, reservation)
        return noisy if mechanism.noise_multiplier else noisy + stream.spawn("jitter").words(24) / 2**64


class ForgetsNoise(WordTotals):
    def _noisy(self, mechanism, total, stream, reservation):
        reservation.use(mechanism.event())
        stream.spawn("totals").blocks("unused")
        return total.values * 1.0


class DependsOnThreads(WordTotals):
    def _total(self, bound, counts):
        pieces = np.array_split(counts, self.n_jobs or 1)
        floats = sum(piece.sum(0) / 3 for piece in pieces)
        exact = bound.sum(counts, normalise=True).values
        return BoundedSum(exact + (floats % 1 * 2**50).astype(np.int64) % 7, bound)


class BooksAfterReading(WordTotals):
    def fit(self, X, y=None, owners=None):
        if not isinstance(X, sp.csr_matrix):
            len(X)
        return super().fit(X, y, owners)


class IgnoresTheBudget(WordTotals):
    def _ledger(self):
        return Ledger(self.epsilon, self.delta)


class KeepsTheLongestDocument(WordTotals):
    def _total(self, bound, counts):
        self.longest_ = int(counts.max())
        return super()._total(bound, counts)


class KeepsLengths(WordTotals):
    def _total(self, bound, counts):
        self.lengths_ = counts.sum(1) % 2
        return super()._total(bound, counts)


class UsesOneKeyForAll(WordTotals):
    _stream_of_all = None

    def _stream(self):
        if self.random_state is not None:
            return super()._stream()
        made = copy.copy(_FixedKey)()
        return made


class _FixedKey(SecureStream):
    """A stream that says it is secure, and has the same key every time."""

    def __init__(self):
        super().__init__(12345)
        self._reproducible = False


class DrawsForEachDocument(WordTotals):
    def _noisy(self, mechanism, total, stream, reservation):
        from discreet.privacy.noise import gaussian

        gaussian.rounded_gaussian(1.0, self._n_documents, stream.spawn("more"))
        return super()._noisy(mechanism, total, stream, reservation)

    def _read(self, X):
        counts = super()._read(X)
        self._n_documents = len(counts)
        return counts

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_n_documents"}


class TakesNaN(WordTotals):
    def _read(self, X):
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
        return super()._read(np.nan_to_num(dense))


class FallsOverEmptyDocuments(WordTotals):
    def _total(self, bound, counts):
        if not counts.sum(1).all():
            raise ZeroDivisionError("a document is empty")
        return super()._total(bound, counts)


FAULTS = {
    ChangesInput: "check_input_is_not_changed",
    SharesMemory: "check_release_shares_no_memory",
    NoiseAtInfinity: "check_infinite_epsilon_adds_no_noise",
    ForgetsNoise: "check_noise_is_added",
    DependsOnThreads: "check_threads_change_nothing",
    BooksAfterReading: "check_ledger_grows_before_reading",
    IgnoresTheBudget: "check_short_budget_is_refused",
    KeepsTheLongestDocument: "check_canaries_are_not_released",
    KeepsLengths: "check_size_does_not_depend_on_documents",
    UsesOneKeyForAll: "check_no_key_is_used_twice",
    DrawsForEachDocument: "check_neighbours_draw_alike",
    TakesNaN: "check_bad_counts_are_refused",
    FallsOverEmptyDocuments: "check_odd_documents_are_taken",
}
#: What a fault breaks besides, and must: a fit that reads first also reads before it refuses, and so on.
ALSO = {
    ChangesInput: {
        "check_infinite_epsilon_adds_no_noise",
        "check_noise_is_added",
        "check_threads_change_nothing",
    },
    BooksAfterReading: {"check_short_budget_is_refused"},
    IgnoresTheBudget: {"check_ledger_grows_before_reading"},
    ForgetsNoise: {"check_neighbours_draw_alike"},
    UsesOneKeyForAll: {"check_noise_is_added"},
}


def failures(estimator) -> set[str]:
    subject = Subject(estimator, planted_counts, ("totals_",), True)
    failed = set()
    for check in CHECKS:
        try:
            check(subject)
        except (AssertionError, ZeroDivisionError):
            failed.add(check.__name__)
    return failed


def test_the_honest_estimator_passes():
    assert failures(WordTotals()) == set()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_check_catches_its_fault(fault):
    assert failures(fault()) == {FAULTS[fault]} | ALSO.get(fault, set())


def test_every_check_has_a_fault():
    assert set(FAULTS.values()) == {check.__name__ for check in CHECKS}


def test_expected_failures_must_fail_and_must_be_known():
    with pytest.raises(AssertionError, match="was expected to fail"):
        check_private_estimator(
            WordTotals(), released=("totals_",), expected_failures={"check_noise_is_added": "no"}
        )
    with pytest.raises(ValueError, match="no checks named check_nothing"):
        check_private_estimator(
            WordTotals(), released=("totals_",), expected_failures={"check_nothing": "no"}
        )
    with pytest.raises(AssertionError, match="check_noise_is_added"):
        check_private_estimator(ForgetsNoise(), released=("totals_",))
