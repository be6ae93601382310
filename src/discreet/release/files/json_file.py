"""Small releases as one JSON file: sorted, checked when read, and written whole or not at all.

Whatever is read is taken as hostile: bounded in size, built field by field, and refused where it would not be written
the same again. The guarantee is computed from the ledger, never taken from the file.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discreet._files import write_whole
from discreet.errors import DiscreetError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.booking.ledger_limits import check_ledger

__all__ = ["content", "encoded", "load", "save"]

_LARGEST = 64 * 2**20

Kind = TypeVar("Kind")


def content(release: Any) -> dict[str, Any]:
    """Return everything in a release as values that JSON can hold.

    Parameters
    ----------
    release : dataclass
        With a class attribute ``SCHEMA``, and a ``guarantee`` beside its fields.
    """
    values = {field.name: _out(getattr(release, field.name)) for field in fields(release)}
    return {"schema": release.SCHEMA, "guarantee": release.guarantee, **values}


def save(release: Any, path: Path, thing: str) -> None:
    """Write a release to a new file; ``thing`` is what messages call it."""
    if path.exists():
        raise ReleaseError(f"{path} exists already; name another file.")
    write_whole(encoded(release), path, thing)


def encoded(release: Any) -> bytes:
    """Return what stands in the file of a release; ``ReleaseError`` where that could not be read again."""
    release.check_booked()
    raw = (json.dumps(content(release), sort_keys=True, indent=1, allow_nan=False) + "\n").encode()
    if len(raw) > _LARGEST:
        raise ReleaseError(f"the file would be larger than {_LARGEST >> 20} MiB; take fewer groups.")
    return raw


def load(path: Path, kind: type[Kind]) -> Kind:
    """Read a release of this ``kind``; ``ReleaseError`` for anything that is not exactly one."""
    schema: str = getattr(kind, "SCHEMA")  # noqa: B009  (not every type has one)
    names = {field.name for field in fields(kind)}  # pyright: ignore[reportArgumentType]
    try:
        with path.open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(raw) > _LARGEST:
        raise ReleaseError(f"{path} is larger than such a release can be.")
    try:
        values = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        values = None
    if (
        not isinstance(values, dict)
        or values.get("schema") != schema
        or set(values) != names | {"schema", "guarantee"}
    ):
        raise ReleaseError(f"{path} holds no release that this version reads ({schema}).")
    try:
        ledger = Ledger.from_json(values["ledger"]).snapshot()
        check_ledger(ledger)
        given = {name: _in(values[name]) for name in names}
        given["reproducible"] = values["reproducible"] is True
        release: Any = kind(**{**given, "ledger": ledger})
        release.check_booked()
        same = json.dumps(content(release), sort_keys=True) == json.dumps(values, sort_keys=True)
    except (DiscreetError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError) as error:
        told = str(error)[:200] if isinstance(error, DiscreetError) else type(error).__name__
        raise ReleaseError(f"{path} cannot be trusted: {told}") from None
    if not same:
        raise ReleaseError(f"{path} does not match its own content: it was changed or is damaged.")
    return release


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _out(value: Any) -> Any:
    if isinstance(value, Ledger):
        return value.to_json()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return {name: _out(part) for name, part in value.items()}
    return {"float": str(value)} if isinstance(value, float) and math.isinf(value) else value


def _in(value: Any) -> Any:
    if isinstance(value, dict):
        return math.inf if value == {"float": "inf"} else {name: _in(part) for name, part in value.items()}
    return value
