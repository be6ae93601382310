"""How well membership inference can do against a release: the figure, and the sentence that cards and reports say.

Where all that was booked is known to be Gaussian noise and failures, the figure is that of its exact curve, as in
:func:`~discreet.privacy.accounting.explain.explain_budget`. Otherwise it holds for any mechanism with this (epsilon,
delta): at the false-positive rate a, TPR <= min(e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a)).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.privacy.accounting.explain import (
    Noise,
    at_most,
    best_true_positive_rate,
    noise_of_events,
    percent,
)
from discreet.privacy.units import Guarantee

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event
    from discreet.privacy.ledger.entry import Entry

__all__ = ["attack_risk_of", "attack_risk_sentence", "found_at_most"]

#: At which false-positive rate the figure is told.
_ALARM = 0.01


def attack_risk_sentence(guarantee: Guarantee, events: Sequence["Event"] = ()) -> str:
    """Return how well membership inference can do under a guarantee, for cards and reports.

    Parameters
    ----------
    guarantee : Guarantee
    events : sequence of events
        All that was booked, where that is known.
    """
    return _sentence(guarantee, noise_of_events(events, guarantee.neighboring) if events else None)


def attack_risk_of(guarantee: Guarantee, entries: Sequence["Entry"]) -> str:
    """Return :func:`attack_risk_sentence` for what stands on a ledger.

    Where bookings touch parts of a division, a document pays for its own part: the figure is that of the part of which
    a test finds most, so it is the same on all releases of one promise.
    """
    return _sentence(guarantee, _worst_noise(guarantee, entries))


def found_at_most(guarantee: Guarantee, entries: Sequence["Entry"]) -> float:
    """Return the figure of :func:`attack_risk_of`: the largest share of members that a test finds."""
    return _found(guarantee, _worst_noise(guarantee, entries))


def _sentence(guarantee: Guarantee, noise: Noise | None) -> str:
    if math.isinf(guarantee.epsilon):
        return "Nothing limits what an attacker may find out about who is in the training text."
    found = at_most(_found(guarantee, noise))
    meaning = (
        "all that epsilon and delta allow, whatever the noise"
        if noise is None
        else "the best that any test can do against the noise that was booked"
    )
    return (
        f"Whatever an attacker knows, a test that wrongly accuses {percent(_ALARM)} of outsiders "
        f"{'finds' if found.startswith('at most') else 'may find'} {found} of those who are in the training text "
        f"(unit: {guarantee.called}). That is {meaning}."
    )


def _found(guarantee: Guarantee, noise: Noise | None) -> float:
    if noise is not None:
        return best_true_positive_rate(noise.mu, _ALARM, noise.failure)
    growth = math.exp(min(guarantee.epsilon, 700.0))
    found = min(growth * _ALARM + guarantee.delta, 1 - (1 - guarantee.delta - _ALARM) / growth)
    return min(found, 1.0)


def _worst_noise(guarantee: Guarantee, entries: Sequence["Entry"]) -> Noise | None:
    """Return the noise of the part of which a test finds most; None where it is not known to be all that was booked."""
    noises = [noise_of_events(history, guarantee.neighboring) for history in _histories(entries)]
    known = [noise for noise in noises if noise is not None]
    if not entries or len(known) < len(noises):
        return None
    return max(known, key=lambda noise: best_true_positive_rate(noise.mu, _ALARM, noise.failure))


def _histories(entries: Sequence["Entry"]) -> "list[list[Event]]":
    """Return what each part of a ledger's division went through, and what units elsewhere did; each once."""
    elsewhere: list[int] = []
    of_parts: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        for part in entry.touched:
            of_parts.setdefault(part, list(elsewhere)).append(place)
        for places in [] if entry.touched else [elsewhere, *of_parts.values()]:
            places.append(place)
    names = [repr(entry.event) for entry in entries]
    found = {
        tuple(names[place] for place in places): places
        for places in [elsewhere, *of_parts.values()]
        if places
    }
    return [[entries[place].event for place in places] for places in found.values()]
