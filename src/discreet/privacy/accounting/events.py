"""Events: what a mechanism did, as records that the accountants understand.

They are dp-accounting's frozen records, made here so that each kind has one constructor, plus one record of
ours: a mechanism's own failure probability (:class:`FailureDpEvent`), which is added on top of the composed
curve. JSON in and out goes through a fixed list of kinds.

All noise is stated relative to the sensitivity under the ledger's own relation, so an event means the same
whether units are added, removed or replaced.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import attrs
from dp_accounting import dp_event as dp

from discreet._base.validate import is_whole, kind_of, shown
from discreet.errors import ParameterError, PrivacyError

#: What the functions here make, and what ledgers and accountants take.
Event: TypeAlias = dp.DpEvent
#: A ledger asks for a delta; pure losses need none, so this one is as good as zero.
PURE_DELTA = 1e-12
_DEEPEST = 8
_TOO_DEEP = (
    f"expected an event, or an event as a JSON object, at most {_DEEPEST} deep, but got something else."
)
#: Its list may be a tuple, which nobody can change once it is booked.
_COMPOSED: Any = dp.ComposedDpEvent
_MOST_REPETITIONS = 2**53


@attrs.frozen
class FailureDpEvent(dp.DpEvent):
    """Something that fails outright with probability ``delta``, and otherwise costs nothing."""

    delta: float


class Leaf(NamedTuple):
    """An event that is not made of others, and how often it happened."""

    event: Event
    times: int


def gaussian(noise_multiplier: float) -> Event:
    """Gaussian noise of ``noise_multiplier`` times the L2 sensitivity."""
    return dp.GaussianDpEvent(_positive(noise_multiplier, "noise_multiplier"))


def discrete_laplace(epsilon: float, sensitivity: int) -> Event:
    """Discrete Laplace noise of scale ``sensitivity / epsilon`` on integers of that L1 sensitivity."""
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ParameterError(f"sensitivity must be a positive whole number, but is {shown(sensitivity)}.")
    return dp.DiscreteLaplaceDpEvent(_positive(epsilon, "epsilon") / sensitivity, sensitivity)


def pure(epsilon: float) -> Event:
    r"""Anything that satisfies pure ``epsilon``-differential privacy; ``inf`` is no promise.

    It is booked as discrete Laplace noise of sensitivity 1, whose loss is epsilon with probability
    :math:`e^\epsilon / (1 + e^\epsilon)` and :math:`-\epsilon` otherwise: exactly randomised response, which dominates
    every mechanism of that pure loss (Kairouz, Oh, Viswanath, arXiv:1311.0776).
    """
    return non_private() if epsilon == math.inf else discrete_laplace(epsilon, 1)


def poisson_sampled(sampling_rate: float, event: Event) -> Event:
    """``event`` on a sample that each unit enters with probability ``sampling_rate``, independently."""
    if not 0 < sampling_rate <= 1:
        raise ParameterError(f"sampling_rate must be above 0 and at most 1, but is {sampling_rate}.")
    return event if sampling_rate == 1 else dp.PoissonSampledDpEvent(float(sampling_rate), event)


def composed(event: Event, count: int) -> Event:
    """``event``, ``count`` times."""
    if not (is_whole(count) and 1 <= count <= _MOST_REPETITIONS):
        raise ParameterError(
            f"the number of repetitions must be a whole number, at least 1 (and below 2^53), but is {shown(count)}."
        )
    return event if count == 1 else dp.SelfComposedDpEvent(event, int(count))


def together(*parts: Event) -> Event:
    """Several events that are booked, and priced, as one."""
    return _COMPOSED(parts)


def with_delta(event: Event, delta: float) -> Event:
    """``event``, which may besides fail outright with probability ``delta``."""
    if not _positive(delta, "delta") < 1:
        raise ParameterError(f"delta must be below 1, but is {shown(delta)}.")
    return together(event, FailureDpEvent(float(delta)))


def non_private() -> Event:
    """Something with no promise at all."""
    return dp.NonPrivateDpEvent()


def leaves(event: Event, count: int = 1) -> Iterator[Leaf]:
    """Take an event apart into the ones that the accountants know.

    Raises
    ------
    PrivacyError
        For a kind of event that this library does not account for, or numbers that no mechanism has.
    """
    if type(event) is dp.ComposedDpEvent:
        for part in event.events:
            yield from leaves(part, count)
    elif type(event) is dp.SelfComposedDpEvent:
        if type(event.count) is not int or not 1 <= event.count <= _MOST_REPETITIONS:
            raise PrivacyError(
                f"an event must be repeated a whole number of times, from 1 to 2^53, but is {shown(event.count)} times."
            )
        yield from leaves(event.event, count * event.count)
    elif type(event) is dp.NoOpDpEvent:
        return
    elif type(event) is dp.PoissonSampledDpEvent:
        if type(event.event) is not dp.GaussianDpEvent:
            raise PrivacyError(f"only Gaussian events can be Poisson-sampled here, but got {event.event}.")
        _check_numbers(event.event)
        if not (_is_positive(event.sampling_probability) and event.sampling_probability <= 1):
            raise PrivacyError(
                f"a sampling rate must be above 0 and at most 1, but is {shown(event.sampling_probability)}."
            )
        yield Leaf(event, count)
    elif type(event) in _KINDS:
        _check_numbers(event)
        yield Leaf(event, count)
    else:
        raise _unknown(event)


def _unknown(event: object) -> PrivacyError:
    return PrivacyError(
        f"expected one of this library's events, but got {kind_of(event)}; see discreet.privacy.accounting.events."
    )


_KINDS: dict[Any, tuple[str, tuple[str, ...]]] = {
    dp.GaussianDpEvent: ("gaussian", ("noise_multiplier",)),
    dp.DiscreteLaplaceDpEvent: ("discrete_laplace", ("noise_parameter", "sensitivity")),
    FailureDpEvent: ("failure", ("delta",)),
    dp.NonPrivateDpEvent: ("non_private", ()),
}


def _check_numbers(event: Event) -> None:
    """Raise ``PrivacyError`` unless all parameters are positive and finite: no event gives budget back."""
    name, fields = _KINDS[type(event)]
    for field in fields:
        value = getattr(event, field)
        whole = type(value) is int or field != "sensitivity"
        if not (_is_positive(value) and whole and (field != "delta" or value < 1)):
            raise PrivacyError(
                f"an event ({name}) must have a {field} that is positive and finite, but {shown(value)} is not."
            )


_BY_NAME = {name: (kind, fields) for kind, (name, fields) in _KINDS.items()}


def to_json(event: Event, depth: int = 0) -> dict[str, object]:
    """Return an event as JSON values; ``PrivacyError`` for one that :func:`from_json` would refuse as too deep."""
    if depth > _DEEPEST:
        raise PrivacyError(_TOO_DEEP)
    if isinstance(event, dp.ComposedDpEvent):
        return {"kind": "composed", "events": [to_json(part, depth + 1) for part in event.events]}
    if isinstance(event, dp.SelfComposedDpEvent):
        return {"kind": "repeated", "count": event.count, "event": to_json(event.event, depth + 1)}
    if isinstance(event, dp.PoissonSampledDpEvent):
        rate = event.sampling_probability
        return {"kind": "poisson_sampled", "sampling_rate": rate, "event": to_json(event.event, depth + 1)}
    if type(event) not in _KINDS:
        raise _unknown(event)
    name, fields = _KINDS[type(event)]
    return {"kind": name, **{field: getattr(event, field) for field in fields}}


def from_json(value: object) -> Event:
    """Return the event that :func:`to_json` wrote; ``PrivacyError`` for anything else."""
    event = _from_json(value)
    list(leaves(event))  # refuses numbers that no mechanism has
    return event


def _from_json(value: object, depth: int = 0) -> Event:
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        raise PrivacyError(_TOO_DEEP)
    fields: dict[str, Any] = dict(value)
    kind = fields.pop("kind", None)
    try:
        if kind == "composed" and set(fields) == {"events"}:
            return together(*(_from_json(part, depth + 1) for part in fields["events"]))
        if kind == "repeated" and set(fields) == {"count", "event"}:
            return dp.SelfComposedDpEvent(_from_json(fields["event"], depth + 1), fields["count"])
        if kind == "poisson_sampled" and set(fields) == {"sampling_rate", "event"}:
            return dp.PoissonSampledDpEvent(fields["sampling_rate"], _from_json(fields["event"], depth + 1))
        make, names = _BY_NAME[kind]
        if set(fields) != set(names):
            raise KeyError(kind)
        return make(*(fields[name] for name in names))
    except (KeyError, TypeError):
        raise PrivacyError(
            "a ledger holds an event of a kind or form that is not accounted for: it was damaged, or written by "
            "another version of discreet, which reads it."
        ) from None


def in_words(event: Event) -> str:
    """Describe an event in a few words, for the card and the report."""
    parts: list[str] = []
    for leaf in leaves(event):
        once = _leaf_in_words(leaf.event)
        parts.append(once if leaf.times == 1 else f"{leaf.times} times {once}")
    return ", ".join(parts) if parts else "nothing"


def _leaf_in_words(event: Event) -> str:
    if isinstance(event, dp.PoissonSampledDpEvent):
        return f"{_leaf_in_words(event.event)} on a Poisson sample of rate {event.sampling_probability:g}"
    if isinstance(event, dp.GaussianDpEvent):
        return f"Gaussian noise, multiplier {event.noise_multiplier:.4g}"
    if isinstance(event, dp.DiscreteLaplaceDpEvent):
        kind = (
            "discrete Laplace noise" if event.sensitivity > 1 else "discrete Laplace or randomised response"
        )
        return f"{kind}, epsilon {event.noise_parameter * event.sensitivity:.4g}"
    if isinstance(event, FailureDpEvent):
        return f"failure probability {event.delta:.3g}"
    return "no privacy"


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value <= sys.float_info.max


def _positive(value: Any, name: str) -> float:
    plain = float(value) if isinstance(value, float) else value  # numpy's, say
    if _is_positive(plain):
        return float(plain)
    raise ParameterError(f"{name} must be positive and finite, but is {shown(value)}.")
