r"""The filter: what a list of bookings amounts to, whoever chose the next after seeing what the earlier ones released.

An analyst who sees one release may choose by it not only how much to spend next, but on what *kind* of event. Composing
the events that happened to be booked, however tightly, then proves nothing: of two continuations that each fit the
budget, one may go where losses are high already and the other where they are low (with Gaussian noise here and a
threshold's failure there, a budget of 1 has been made to lose 1.67). So everything after the first event is reduced to
what adds up whatever the order.

The rule
--------
1. *Pure losses that come first add up*, to s.
2. *The first booking that is not a pure loss* is priced exactly, as a whole. It fixes the frame: this booking, the
   share of delta that later failures may take, and with them how much Gaussian noise may follow: the largest mu such
   that the booking, one Gaussian of parameter mu and that share together satisfy (epsilon - s, delta).
3. *Each later booking* is charged (mu_i, d_i), see :mod:`discreet.privacy.accounting.dominating`: exactly what it is
   for Gaussian noise and failures, found on the safe side for the rest. It is granted while the sum of mu_i^2 is at
   most mu^2 and the sum of d_i at most the share.

Why it holds
------------
Fix two neighbours, the strategy of the analyst, and the hypothesis under which data are drawn. What follows is a
simulation of the whole interaction that reads the data only through: a sample z of the first booking's dominating
pair, a Brownian path that drifts (or does not) up to time mu^2, and a coin that fails with the probability of the
share. A charge (mu_i, d_i) is simulated from the path's next increment, of length mu_i^2, and the coin's next slice
of probability d_i; increments and slices that were not looked at yet do not depend on the past, whatever the past
decided about their lengths. Parts of one booking are samples of its own, drawn when it is booked and looked at when
they are used, so it does not matter how uses of several bookings interleave. The whole transcript is therefore
computed from z, the path's end (which is sufficient for its drift) and the coin: the product of three fixed pairs.
Its hockey-stick divergence is that of the first booking composed with one Gaussian of parameter mu, plus the share.
Pure losses before it shift the loss by at most s, which is known when the frame is fixed, on every path: the bound at
epsilon - s holds for each of them.

What ``spent`` says
-------------------
The cost of the bookings so far, the whole share of delta counted from the second booking of a frame on: a number e with
this property. *For every e, consider the interaction that stops before the number would pass e: it satisfies
(e, delta)*, by the proof above with the mu at which the number is e. So among all that the analyst could come to
release, what is stated at e or below is a function of an (e, delta)-private interaction, and no choice between kinds of
events makes it less. Only a single booking, or a plan, is priced without the filter: nothing was seen before it.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from discreet.privacy.accounting.curves import NOTHING, Totals, sort_events
from discreet.privacy.accounting.dominating import charge
from discreet.privacy.accounting.totals import Cost, cost_of, within

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Budget", "Standing"]

#: Share of delta for later failures, where the first booking is not all Gaussian.
DEFAULT_SHARE = Fraction(1, 10)
#: What is not exact may take this part of the failure probability that is left.
_PART = Fraction(1, 2)
#: And nothing where less than this part of the share is left: what it saves is little, what it takes is time.
_LEAST = Fraction(1, 10**5)
#: Where composing a pure booking's own parts saves more than this, it is priced as a whole.
_WORTH = 0.9
#: Failure probabilities are decimals to whoever typed them.
_ROUNDING = Fraction(1, 10**12)
_PURE = "the sum of pure privacy losses"
_UNCOVERED = "no accountant: failures beyond the share of delta that was set aside for them"


class Budget(NamedTuple):
    """What a ledger was made with."""

    epsilon: float
    delta: float
    neighboring: str
    failure_share: float | None  # of delta, for bookings after the first; None: by rule


class Standing(NamedTuple):
    """Where the filter stands after some bookings."""

    budget: Budget
    n_bookings: int = 0
    only: Totals | None = None  # of the one booking, where there is one
    pure: Fraction = Fraction(0)
    first: Totals | None = None  # of the booking that fixed the frame
    share: Fraction = Fraction(0)
    precision: Fraction = Fraction(0)  # charged since
    failure: Fraction = Fraction(0)
    covered: bool = True

    def after(self, parts: Iterable["Event"]) -> "Standing":
        """Return where the filter stands after one more booking, of one event or of a plan."""
        booked = list(parts)
        totals = sort_events(booked, self.budget.neighboring)
        if totals == NOTHING:
            return self
        n = self.n_bookings + 1
        now = self._replace(n_bookings=n, only=totals if n == 1 else None)
        if self.first is not None:
            return now._charged(booked)
        if _only_pure(totals, self.budget.delta):
            return now._replace(pure=self.pure + totals.exact_pure_epsilon)
        return now._replace(first=totals, share=self._share(totals))

    def cost(self) -> Cost:
        """Return what the bookings cost together, at the budget's delta."""
        delta = self.budget.delta
        if self.n_bookings <= 1:
            return cost_of(self.only or NOTHING, delta)
        if self.first is None:
            return Cost(float(self.pure), delta, _PURE)
        if not self.covered or self.failure > self.share * (1 + _ROUNDING):
            return Cost(math.inf, delta, _UNCOVERED)
        found = cost_of(self.frame(), delta)
        if not self.pure:
            return found
        return found._replace(
            epsilon=float(self.pure) + found.epsilon, accountant=f"{_PURE}, and {found.accountant}"
        )

    def frame(self) -> Totals:
        """Return the first booking with all that was charged since, and the share of delta where anything was."""
        first = self.first or NOTHING
        later = bool(self.precision or self.failure)
        return first._replace(
            precision=first.precision + self.precision, failure=first.failure + (self.share if later else 0)
        )

    def next_frame(self) -> Totals:
        """Return what a further Gaussian release is composed with."""
        if self.first is None:
            return NOTHING
        return self.frame()._replace(failure=self.first.failure + self.share)

    def _charged(self, booked: list["Event"]) -> "Standing":
        left = max(Fraction(0), self.share - self.failure)
        most = left * _PART if left > self.share * _LEAST else Fraction(0)
        found = charge(booked, most, neighboring=self.budget.neighboring)
        if found.precision is None:
            return self._replace(covered=False)
        return self._replace(precision=self.precision + found.precision, failure=self.failure + found.failure)

    def _share(self, first: Totals) -> Fraction:
        """Return the part of delta that failures of later bookings may take."""
        epsilon, delta, _, chosen = self.budget
        if chosen is not None:
            return Fraction(chosen) * Fraction(delta)
        if not (first.pure or first.sampled or first.rho or first.failure):
            return Fraction(0)  # Gaussian noise needs none, and should lose none to it
        share = DEFAULT_SHARE * Fraction(delta)
        with_share = cost_of(first._replace(failure=first.failure + share), delta).epsilon
        return share if within(float(self.pure) + with_share, epsilon) else Fraction(0)


def _only_pure(totals: Totals, delta: float) -> bool:
    """Tell whether a booking is a pure loss that composing its own parts does not make much smaller."""
    if (
        not totals.pure
        or totals.precision
        or totals.sampled
        or totals.rho
        or totals.failure
        or not totals.private
    ):
        return False
    return cost_of(totals, delta).epsilon >= _WORTH * totals.pure_epsilon
