r"""The filter: what a list of bookings amounts to, whoever chose the next after seeing what the earlier ones released.

An analyst who sees one release may choose by it not only how much to spend next, but on what *kind* of event. Composing
the events that happened to be booked, however tightly, then proves nothing: of two continuations that each fit the
budget, one may go where losses are high already and the other where they are low (with Gaussian noise here and a
threshold's failure there, a budget of 1 has been made to lose 1.67). So everything after the first event is reduced to
what adds up whatever the order.

The rule
--------
1. *Pure losses that come first add up*, to s.
2. *The first booking that is not a pure loss*, or is of so many that another accountant counts much less, is priced
   exactly, as a whole. It fixes the frame: this booking, the share of delta that later failures may take, and with
   them how much Gaussian noise may follow: the largest mu such that the booking, one Gaussian of parameter mu and that
   share together satisfy (epsilon - s, delta).
3. *Each later booking* is charged (mu_i, d_i), see :mod:`discreet.privacy.accounting.dominating`: exactly what it is
   for Gaussian noise and failures, found on the safe side for the rest, for which d_i may be larger than the booking's
   own failure: by at most half of what is left of the share, and by no more than the booking's own leaves of it. It is
   granted while the sum of mu_i^2 is at most mu^2 and the sum of d_i at most the share.

Why it holds
------------
Fix two neighbours, the strategy of the analyst, and the hypothesis under which data are drawn. What follows is a
simulation of the whole interaction that reads the data only through: a sample z of the first booking's dominating
pair, a Brownian path that drifts (or does not) up to time mu^2, and a coin that fails with the probability of the
share. A charge (mu_i, d_i) is simulated from the path's next increment, of length mu_i^2, and the coin's next slice
of probability d_i; increments and slices that were not looked at yet do not depend on the past, whatever the past
decided about their lengths: what is left of the share is part of the past, and d_i is fixed before its data are read.
No more than the whole coin is ever sliced, nor more of the path walked than mu^2, because a booking whose charge does
not fit is not granted. Parts of one booking are samples of its own, drawn when it is booked and looked at when
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

Disjoint parts of a corpus, released one after another: each unit pays for its own part only
============================================================================================
A *division* is a public rule that puts each document into one part, or none, by looking at nothing but that document:
the month of its date. A booking touches some parts (the months it is about), or everybody. What is promised to a unit
then depends on the bookings that touch everybody and those that touch its part; all others are computed without it.

Why it holds, also where the next month's booking is chosen by what earlier ones released
-----------------------------------------------------------------------------------------
Fix two neighbours: with and without document u. Its part t is a function of u alone, so the documents of every other
part are the same in both. A booking that touches only other parts reads only those: given what was released before, its
release has one and the same distribution under both hypotheses, and can be simulated without knowing which holds. What
remains are the bookings that touch everybody or t, in their order, each chosen by what was released before: that is an
interaction with the filter above over just these bookings, and its theorem applies.
The ledger keeps one such filter for each part, and grants a booking only where all of them stay within the budget. What
it has spent is the largest of them.

Where it does not hold, and is refused
--------------------------------------
* *A person as the unit*: one person's documents may lie in several parts, each of which tells of that person. Such
  bookings touch everybody, and add up.
* ``replace_one``: the replacement may lie in another part, so that two are touched.
* *A second division on the same ledger*: a document has a month and a quarter, and is touched in both.
* Parts that depend on other documents (a tenth by position in the file, say): adding one document moves others. The
  ledger cannot see that. Whoever names a division vouches that a document's part is a function of the document alone,
  and stays the same.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import DiscreetError, PrivacyError
from discreet.privacy.accounting.curves import NOTHING, Totals, sort_events
from discreet.privacy.accounting.dominating import charge
from discreet.privacy.accounting.events import Event
from discreet.privacy.accounting.totals import Cost, cost_of, within
from discreet.privacy.ledger.reservation import Entry, is_text

#: Share of delta for later failures, where the first booking is not all Gaussian.
DEFAULT_SHARE = Fraction(1, 10)
#: What is not exact may take this part of the failure probability that is left, if a booking's own leaves as much.
_PART = Fraction(1, 2)
#: And nothing where that is less than this part of the share: what it saves is little, what it takes is time.
_LEAST = Fraction(1, 2 * 10**5)
#: Where composing a pure booking's own parts saves more than this, it is priced as a whole.
_WORTH = 0.9
_PURE = "the sum of pure privacy losses"
_UNCOVERED = "no accountant: failures beyond the share of delta that was set aside for them"


class Budget(NamedTuple):
    """What a ledger was made with: the parameters of :class:`~discreet.privacy.ledger.ledger.Ledger`."""

    epsilon: float
    delta: float
    privacy_unit: str
    neighboring: str
    unit_name: str
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

    def after(self, parts: Iterable[Event]) -> "Standing":
        """Return where the filter stands after one more booking, of one event or of a plan."""
        totals = sort_events(parts, self.budget.neighboring)
        if totals == NOTHING:
            return self
        n = self.n_bookings + 1
        now = self._replace(n_bookings=n, only=totals if n == 1 else None)
        if self.first is not None:
            return now._charged(totals)
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
        if not self.covered or not within(self.failure, self.share):
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

    @property
    def failure_left(self) -> Fraction:
        """How much failure probability the next booking may have."""
        if self.first is None:
            return Fraction(self.budget.delta)
        return max(Fraction(0), self.share - self.failure)

    def _charged(self, totals: Totals) -> "Standing":
        left = self.failure_left
        most = min(left * _PART, left - totals.failure)
        found = charge(totals, most if most > self.share * _LEAST else Fraction(0))
        if found.precision is None:
            return self._replace(covered=False)
        return self._replace(precision=self.precision + found.precision, failure=self.failure + found.failure)

    def _share(self, first: Totals) -> Fraction:
        """Return the part of delta that failures of later bookings may take."""
        delta, chosen = self.budget.delta, self.budget.failure_share
        if chosen is not None:
            return Fraction(chosen) * Fraction(delta)
        if first.all_gaussian and not first.failure:
            return Fraction(0)  # Gaussian noise needs none, and should lose none to it
        share = DEFAULT_SHARE * Fraction(delta)
        with_share = cost_of(first._replace(failure=first.failure + share), delta).epsilon
        return share if within(float(self.pure) + with_share, self.budget.epsilon) else Fraction(0)


def _only_pure(totals: Totals, delta: float) -> bool:
    """Tell whether a booking is a pure loss that composing its own parts does not make much smaller."""
    if not totals.pure or totals.all_precision or totals.failure or not totals.private:
        return False
    return cost_of(totals, delta).epsilon >= _WORTH * totals.pure_epsilon


class Standings(NamedTuple):
    """Where the filters stand: that of units in no part that was touched, and that of each such part."""

    elsewhere: Standing
    of_parts: dict[str, Standing]

    def after(self, events: Iterable[Event], touched: tuple[str, ...] = ()) -> "Standings":
        """Return where they stand after one more booking, which touches some parts, or everybody."""
        booked = list(events)
        seen: dict[Standing, Standing] = {}

        def advance(standing: Standing) -> Standing:
            if standing not in seen:
                seen[standing] = standing.after(booked)
            return seen[standing]

        if not touched:
            return Standings(advance(self.elsewhere), {part: advance(s) for part, s in self.of_parts.items()})
        moved = {part: advance(self.of_parts.get(part, self.elsewhere)) for part in touched}
        return Standings(self.elsewhere, self.of_parts | moved)

    def distinct(self, touched: tuple[str, ...] = ()) -> list[Standing]:
        """Return the filters that a booking concerns, each once."""
        if touched:
            return list(dict.fromkeys(self.of_parts.get(part, self.elsewhere) for part in touched))
        return list(dict.fromkeys([self.elsewhere, *self.of_parts.values()]))

    def cost(self) -> Cost:
        """Return what was spent: the largest over all parts."""
        return max((standing.cost() for standing in self.distinct()), key=lambda cost: cost.epsilon)


def check_division(entries: Iterable[Entry], division: str, parts: tuple[str, ...], budget: Budget) -> None:
    """Raise ``PrivacyError`` where parts are not known to be disjoint for each unit."""
    if budget.privacy_unit != "document" or budget.neighboring != "add_or_remove_one":
        raise PrivacyError(
            f"disjoint parts cost as one for documents that are added or removed, but this ledger protects "
            f"{budget.privacy_unit} ({budget.neighboring}), of which one may be in several parts: their costs add "
            "up: leave `division=` out."
        )
    names: tuple[Any, ...] = (division, *parts)
    if not parts or not all(is_text(name) and name for name in names) or len(set(parts)) != len(parts):
        raise PrivacyError(
            "a division must have a name, and its parts distinct names, one or more, all of them text in valid Unicode."
        )
    others = sorted({entry.division for entry in entries if entry.division} - {division})
    if others:
        raise PrivacyError(
            f"this ledger is divided by the {others[0]} already, and a document has a part in both divisions: name "
            "that one, or leave `division=` out, and the costs add up."
        )


def dearest(standings: Iterable[Standing], booked: Sequence[Event]) -> tuple[Standing, Cost]:
    """Return the filter in which a booking comes to most, and to how much."""
    priced = [(standing, _priced(standing, booked)) for standing in standings]
    return max(priced, key=lambda each: each[1].epsilon)


def _priced(standing: Standing, booked: Sequence[Event]) -> Cost:
    """Return what all costs with a booking more; ``PrivacyError`` where no accountant reaches as far."""
    try:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return standing.after(booked).cost()
    except DiscreetError:
        raise
    except (ArithmeticError, LookupError, ValueError):
        pass  # of libraries whose floats end before the event's parameters do
    raise PrivacyError(
        "an event is so small or so large that no accountant can price it; nothing was booked. Leave out what costs "
        "nothing, and take a smaller loss for what costs everything."
    )
