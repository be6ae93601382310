"""How many people use each word: a private estimator on discreet.privacy alone, to copy and change.

It is explained in ``docs/privacy-library.md``. Notebooks that use the library are in ``examples/``.
"""

import scipy.sparse as sp
from sklearn.base import BaseEstimator

from discreet.corpus import check_counts
from discreet.errors import PrivacyError
from discreet.privacy import Bound, GaussianMechanism, Ledger, SecureStream, noise_multiplier_for, sum_rows


class PrivateWordRates(BaseEstimator):
    """How many documents (or people) use each word, under (epsilon, delta).

    A unit adds a vector of L2 norm at most ``longest ** 0.5``: one that uses more different words counts less for each.
    """

    def __init__(
        self, *, epsilon=1.0, delta=1e-6, privacy_unit="document", longest=40, ledger=None, random_state=None
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit  # "document" or "person"
        self.longest = longest
        self.ledger = ledger
        self.random_state = random_state

    def planned_event(self):
        """What a fit will cost, before any data."""
        return self._mechanism().event()

    def _mechanism(self):
        bound = Bound("l2", contribution_bound=self.longest**0.5, privacy_unit=self.privacy_unit)
        return GaussianMechanism(bound, noise_multiplier_for(self.epsilon, self.delta))

    def fit(self, X, y=None, persons=None):
        if (persons is not None) != (self.privacy_unit == "person"):
            raise PrivacyError("pass persons= to fit where privacy_unit is person, and only there.")
        mechanism, ledger = self._mechanism(), self.ledger
        if ledger is None:
            ledger = Ledger(self.epsilon, self.delta, privacy_unit=self.privacy_unit)
        reservation = ledger.reserve(mechanism.event(), "word rates")  # book, then touch
        present = sp.csr_matrix(check_counts(X) > 0, dtype=float)
        total = sum_rows(
            present, mechanism.bound, persons=persons
        )  # all rows of a person together, then bounded
        stream = SecureStream(self.random_state).spawn("word rates")
        self.n_units_with_word_ = mechanism.release(total, stream, reservation) * mechanism.bound.step
        return self
