"""The battery itself: each check catches the fault it is for. Our estimators pass: tests/test_private_battery.py."""

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from tests.marks import quick
from tests.privacy.small_estimators import PersonTotals, WordTotals, failures

from discreet import Ledger, PrivateLDA
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import (
    Bound,
    BoundedSum,
    SecureStream,
    check_private_estimator,
    rounded_gaussian,
)
from discreet.privacy.battery.battery import CHECKS

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}


class BoundsEachDocument(PersonTotals):
    """Booked for people, but each document counts for itself."""

    def _total(self, bound, counts):
        return bound.sum(counts, normalise=True)


class IgnoresPersons(WordTotals):
    """The same, in the way it is most easily written: ``fit`` takes persons and never looks at them."""

    privacy_unit = "person"

    def _bound(self):
        return Bound(privacy_unit="person")


class BoundOfAnotherUnit(PersonTotals):
    """Bounded in the name of documents, and booked for people."""

    def _bound(self):
        return Bound()


class SumsByHand(WordTotals):
    """Nobody is bounded: the sum of all counts is called a bounded sum."""

    def _total(self, bound, counts):
        return BoundedSum((counts.sum(0) * 2**bound.bits).astype(np.int64), bound)


class BoundsTheSum(WordTotals):
    """One document can swing the direction of the whole sum."""

    def _total(self, bound, counts):
        return BoundedSum(bound.place(counts.sum(0)) * len(counts), bound)


class EdgesFromData(WordTotals):
    """Lengths in 24 bins from nothing to the longest document there is."""

    def _total(self, bound, counts):
        lengths = counts.sum(1)
        bins = np.minimum(lengths * 24 // max(lengths.max(), 1), 23).astype(int)
        return bound.sum(np.eye(24)[bins])


class DividesByTheExactNumber(WordTotals):
    def _noisy(self, mechanism, total, stream, reservation):
        self._exact = total.values.sum()
        return super()._noisy(mechanism, total, stream, reservation)

    def fit(self, X, y=None, persons=None):
        super().fit(X, y, persons)
        self.totals_ = self.totals_ / self._exact
        del self._exact
        return self


class ReleasesAnExactArrayBeside(WordTotals):
    """Two numbers in one release: the noisy one covers for the exact one."""

    def fit(self, X, y=None, persons=None):
        super().fit(X, y, persons)
        self.totals_ = {"noisy": self.totals_, "exact": np.asarray(X.sum(0)).ravel() % 97}
        return self


class KeepsTheExactNumber(WordTotals):
    def _read(self, X):
        counts = super()._read(X)
        self.n_ = len(counts)
        return counts


class KeepsZerosZero(WordTotals):
    """Words that nobody used are known to be words that nobody used."""

    def _noisy(self, mechanism, total, stream, reservation):
        return super()._noisy(mechanism, total, stream, reservation) * (total.values > 0)


class WeighsByRarity(WordTotals):
    """Each document is bounded, but by weights that all the others have a say in."""

    def _total(self, bound, counts):
        rarity = np.log(len(counts) / np.maximum((counts > 0).sum(0), 1)) + 0.01
        return bound.sum(counts * rarity, normalise=True)


class AddsNoiseByHand(WordTotals):
    """The noise is right, but no mechanism knows to what it was added."""

    def _noisy(self, mechanism, total, stream, reservation):
        reservation.use(mechanism.event(), **UNIT)
        return (
            total.values + rounded_gaussian(mechanism.scale, total.values.shape, stream.spawn("totals"))
        ) * 1.0


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
        reservation.use(mechanism.event(), **UNIT)
        stream.spawn("totals").blocks("unused")
        return total.values * 1.0


class DependsOnThreads(WordTotals):
    def _total(self, bound, counts):
        pieces = np.array_split(counts, self.n_jobs or 1)
        floats = sum(piece.sum(0) / 3 for piece in pieces)
        exact = bound.sum(counts, normalise=True).values
        return BoundedSum(exact + (floats % 1 * 2**50).astype(np.int64) % 7, bound)


class BooksAfterReading(WordTotals):
    def fit(self, X, y=None, persons=None):
        if not isinstance(X, sp.csr_matrix):
            len(X)
        return super().fit(X, y, persons)


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


SUMS, MADE_OF = "check_sums_keep_to_their_bound", "check_all_is_made_of_noisy_sums"
EXACT = "check_nothing_exact_is_kept"
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
    BoundsEachDocument: SUMS,
    IgnoresPersons: SUMS,
    SumsByHand: SUMS,
    BoundsTheSum: SUMS,
    EdgesFromData: SUMS,
    WeighsByRarity: SUMS,
    KeepsZerosZero: MADE_OF,
    DividesByTheExactNumber: MADE_OF,
    ReleasesAnExactArrayBeside: EXACT,
    KeepsTheExactNumber: EXACT,
    AddsNoiseByHand: SUMS,
    UsesOneKeyForAll: "check_no_key_is_used_twice",
    DrawsForEachDocument: "check_neighbours_draw_alike",
    TakesNaN: "check_bad_counts_are_refused",
    FallsOverEmptyDocuments: "check_odd_documents_are_taken",
}
#: What a fault breaks besides, and must: a fit that reads first also reads before it refuses,
#: what is kept exactly is not made of noisy sums, and so on.
ALSO = {
    ChangesInput: {
        "check_infinite_epsilon_adds_no_noise",
        "check_noise_is_added",
        "check_threads_change_nothing",
    },
    BooksAfterReading: {"check_short_budget_is_refused"},
    IgnoresTheBudget: {"check_ledger_grows_before_reading"},
    ForgetsNoise: {"check_neighbours_draw_alike", SUMS, MADE_OF, EXACT},
    DependsOnThreads: {SUMS},
    KeepsTheLongestDocument: {MADE_OF, EXACT},
    KeepsLengths: {MADE_OF, EXACT},
    DrawsForEachDocument: {SUMS, MADE_OF},
    FallsOverEmptyDocuments: {SUMS, MADE_OF, EXACT},
    ReleasesAnExactArrayBeside: {MADE_OF},
    KeepsTheExactNumber: {MADE_OF},
    AddsNoiseByHand: {MADE_OF},
    UsesOneKeyForAll: {"check_noise_is_added"},
}


@pytest.mark.parametrize("honest", [WordTotals(), PersonTotals()], ids=["documents", "people"])
def test_honest_estimators_pass(honest):
    assert failures(honest) == set()
    assert set(check_private_estimator(honest, released=("totals_",)).values()) == {"passed"}


@pytest.mark.parametrize(
    "fault",
    quick(
        FAULTS,
        ForgetsNoise,
        BooksAfterReading,
        IgnoresTheBudget,
        KeepsTheLongestDocument,
        BoundsEachDocument,
        SumsByHand,
    ),
    ids=lambda fault: fault.__name__,
)
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


def test_what_cannot_be_checked_is_refused_with_what_is_missing():
    class NoLedger(BaseEstimator):
        def __init__(self, epsilon=1.0):
            self.epsilon = epsilon

        def fit(self, X):
            return self

    with pytest.raises(ParameterError, match="NoLedger has no parameter ledger and no random_state"):
        check_private_estimator(NoLedger())
    with pytest.raises(ParameterError, match=r"no attribute release_; say what is released.*: totals_"):
        check_private_estimator(WordTotals())
    with pytest.raises(ParameterError, match="finite epsilon"):
        check_private_estimator(WordTotals(epsilon=float("inf")), released=("totals_",))
    with pytest.raises(TypeError, match="got the class WordTotals"):
        check_private_estimator(WordTotals)
    with pytest.raises(TypeError, match="got a str"):
        check_private_estimator("WordTotals")


def test_to_look_at_data_is_not_to_change_them():
    class Looks(WordTotals):
        def _read(self, X):
            X.sum()  # SciPy writes down in X what it found out about it
            return super()._read(X)

    assert set(check_private_estimator(Looks(), released=("totals_",)).values()) == {"passed"}


@pytest.mark.integration
def test_the_battery_warns_of_nothing():
    """Its many fits of one text are on ledgers of their own, which is no user's doing."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check_private_estimator(PrivateLDA(2, epsilon=4.0))
    assert [one.message for one in told] == []


def test_a_bound_of_another_unit_needs_no_battery_for_the_gate_refuses_it():
    ledger = Ledger(2.0, 1e-6, privacy_unit="person")
    with pytest.raises(PrivacyError, match=r"protects each person .*bounded for each document"):
        BoundOfAnotherUnit(ledger=ledger).fit(np.ones((4, 3), int), persons=["ann", "ann", "bob", "cy"])
