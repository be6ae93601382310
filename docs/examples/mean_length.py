"""How long documents are: a private estimator of this house, on PrivateEstimator, to copy and change.

It is explained in ``docs/architecture.md``. Notebooks that use the library are in ``examples/``.
"""

import math

import numpy as np

from discreet._base import validate
from discreet._base.validate import SEED, number, rules
from discreet.central.base import check_data, take_words
from discreet.privacy import Bound, GaussianMechanism, SecureStream, noise_multiplier_for, sum_rows
from discreet.release.private_estimator import Plan, PrivateEstimator


class PrivateMeanLength(PrivateEstimator):
    """The mean number of tokens a unit has, each cut at ``longest``.

    A unit adds (length / longest, 1), of L2 norm at most the root of 2. Released are the two sums, with Gaussian noise.
    """

    _constraints = rules(longest=number(above=0), random_state=SEED)

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        privacy_unit="document",
        longest=100.0,
        random_state=None,
        ledger=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.longest = longest
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X, y=None, *, persons=None):
        self._check_call(X, persons)  # all that is wrong with the call, in one error; reads nothing
        validate.refuse(take_words(self, X, None, False)[1])  # columns must not follow from other documents
        booking = self._book(X)  # BudgetExceeded, or the cost stands in the ledger
        counts, people, _ = check_data(X, persons, None, self.privacy_unit)  # from here on X is read
        self._notice(booking, counts)  # warns of a second budget for the same text
        mechanism = booking.plan.how
        length = np.asarray(counts.sum(1), dtype=float).ravel()
        if people is not None:
            length = np.bincount(np.unique(people, return_inverse=True)[1], length)
        rows = np.column_stack([np.minimum(length / self.longest, 1), np.ones(len(length))])
        stream = SecureStream(self.random_state).spawn("mean length")
        tokens, units = mechanism.release(sum_rows(rows, mechanism.bound), stream, booking.reservation)
        self.mean_length_ = float(self.longest * max(tokens, 0) / max(units, 1))
        return self

    def _plan(self):
        """What a fit will do, from parameters alone: what it costs, and what it needs to keep to that."""
        bound = Bound("l2", contribution_bound=2**0.5, privacy_unit=self.privacy_unit)
        noise = 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta)
        mechanism = GaussianMechanism(bound, noise)
        return Plan(mechanism.event(), mechanism)

    def _purpose(self):
        """What the ledger is told that the cost is for, and remarks."""
        return "mean length", []
