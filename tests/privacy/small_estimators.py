"""The smallest honest private estimators, in which faults are planted, and what the battery says of one."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from discreet import Ledger
from discreet.errors import PrivacyError
from discreet.privacy import Bound, GaussianMechanism, SecureStream, noise_multiplier_for
from discreet.privacy.battery.battery import CHECKS
from discreet.privacy.battery.subject import Subject, planted_counts


class WordTotals(BaseEstimator):
    """The smallest honest private estimator: how often each word occurs, each document bounded."""

    def __init__(self, epsilon=2.0, delta=1e-6, ledger=None, random_state=None, n_jobs=None):
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, persons=None):
        mechanism = GaussianMechanism(self._bound(), noise_multiplier_for(self.epsilon, self.delta))
        ledger = self._ledger()
        reservation = ledger.reserve(mechanism.event(), "word totals")
        counts = self._read(X)
        total = self._total(mechanism.bound, counts)
        stream = self._stream()
        self.totals_ = self._noisy(mechanism, total, stream, reservation)
        return self

    def _ledger(self):
        if self.ledger is not None:
            return self.ledger
        return Ledger(self.epsilon, self.delta, privacy_unit=getattr(self, "privacy_unit", "document"))

    def _bound(self):
        return Bound()

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


class PersonTotals(WordTotals):
    """An honest estimator of people: what one person wrote is added up before it is bounded."""

    privacy_unit = "person"

    def fit(self, X, y=None, persons=None):
        if persons is None:
            raise PrivacyError("pass persons= to fit")
        self._persons = np.unique(persons, return_inverse=True)[1]
        try:
            return super().fit(X, y, persons)
        finally:
            del self._persons

    def _bound(self):
        return Bound(privacy_unit="person")

    def _total(self, bound, counts):
        of_person = np.zeros((self._persons.max() + 1, counts.shape[1]))
        np.add.at(of_person, self._persons, counts)
        return super()._total(bound, of_person)


def failures(estimator) -> set[str]:
    """Return the names of the checks that an estimator fails."""
    subject = Subject(estimator, planted_counts, ("totals_",), True)
    failed = set()
    for check in CHECKS:
        try:
            check(subject)
        except (AssertionError, ZeroDivisionError):
            failed.add(check.__name__)
    return failed
