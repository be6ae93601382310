"""A prevalence release as one JSON file: sorted, checked when read, and written whole or not at all.

Whatever is read is taken as hostile: bounded in size, checked field by field, built, and refused where it would not
be written the same again. The guarantee is computed from the ledger, never taken from the file.
"""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._files import write_whole
from discreet.errors import DiscreetError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger

if TYPE_CHECKING:
    from discreet.release.prevalence.record import PrevalenceRelease

__all__ = ["SCHEMA", "content", "load", "save"]

SCHEMA = "discreet.prevalence/1"
_LARGEST = 64 * 2**20
_MOST_EVENTS = 2_000
_FIELDS = (
    "configuration",
    "count_weight",
    "groups",
    "guarantee",
    "ledger",
    "noise",
    "reproducible",
    "schema",
    "topic_totals",
    "topics",
    "unit_counts",
)


def content(release: "PrevalenceRelease") -> dict[str, Any]:
    """Return everything in a release as values that JSON can hold."""
    return {
        "schema": SCHEMA,
        "groups": list(release.groups),
        "topics": list(release.topics),
        "topic_totals": release.topic_totals.tolist(),
        "unit_counts": release.unit_counts.tolist(),
        "noise": release.noise,
        "count_weight": release.count_weight,
        "ledger": release.ledger.to_json(),
        "configuration": {name: _out(value) for name, value in release.configuration.items()},
        "reproducible": release.reproducible,
        "guarantee": release.guarantee,
    }


def save(release: "PrevalenceRelease", path: Path) -> None:
    """Write a release to a new file."""
    if path.exists():
        raise ReleaseError(f"{path} exists already; name another file.")
    raw = json.dumps(content(release), sort_keys=True, indent=1, allow_nan=False) + "\n"
    write_whole(raw.encode(), path, "the shares")


def load(path: Path, kind: "type[PrevalenceRelease]") -> "PrevalenceRelease":
    """Read a release, made anew as a ``kind``."""
    try:
        with path.open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(raw) > _LARGEST:
        raise ReleaseError(f"{path} is larger than a prevalence release can be.")
    try:
        values = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or sorted(values) != sorted(_FIELDS):
        raise ReleaseError(f"{path} is no prevalence release that this version reads ({SCHEMA}).")
    try:
        ledger = Ledger.from_json(values["ledger"]).snapshot()
        if len(ledger.entries) > _MOST_EVENTS:
            raise ReleaseError(f"its ledger holds more than {_MOST_EVENTS} events")
        release = kind(
            topic_totals=values["topic_totals"],
            unit_counts=values["unit_counts"],
            noise=values["noise"],
            count_weight=values["count_weight"],
            groups=values["groups"],
            topics=values["topics"],
            ledger=ledger,
            configuration={name: _in(value) for name, value in dict(values["configuration"]).items()},
            reproducible=values["reproducible"] is True,
        )
        same = content(release) == values
    except (DiscreetError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError) as error:
        told = str(error)[:200] if isinstance(error, DiscreetError) else type(error).__name__
        raise ReleaseError(f"{path} cannot be trusted: {told}") from None
    if not same:
        raise ReleaseError(
            f"{path} does not say what its own content amounts to: it was changed or is damaged."
        )
    return release


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _out(value: Any) -> Any:
    return {"float": str(value)} if isinstance(value, float) and math.isinf(value) else value


def _in(value: Any) -> Any:
    return math.inf if value == {"float": "inf"} else value
