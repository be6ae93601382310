"""The ledger's JSON: schema, checksum, and writing it so that a crash cannot lose a booking.

A write goes to a temporary file in the same folder, is flushed to the disk, and then takes the old file's
place in one step; whoever reads finds the old ledger or the new one. Processes take turns by a lock on a file
beside it.
"""

import json
import os
import stat
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import PrivacyError

__all__ = ["SCHEMA", "Fields", "check", "locked", "read", "seal", "write"]

_NAME = "discreet.ledger/"
SCHEMA = _NAME + "1"
_LARGEST_FILE = 16 * 2**20


class Fields(NamedTuple):
    """What a checked ledger file holds."""

    epsilon: float
    delta: float
    privacy_unit: str
    neighboring: str
    entries: list[tuple[Any, str]]


def seal(
    epsilon: float, delta: float, privacy_unit: str, neighboring: str, entries: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a ledger's JSON values with the schema's name and a checksum."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "epsilon": "inf" if epsilon == float("inf") else epsilon,
        "delta": delta,
        "privacy_unit": privacy_unit,
        "neighboring": neighboring,
        "entries": entries,
    }
    return {**content, "checksum": _checksum(content)}


def check(value: Any) -> Fields:
    """Return the fields of a sealed ledger; ``PrivacyError`` where schema, checksum or form is off."""
    if not isinstance(value, Mapping):
        raise PrivacyError("expected a ledger as a JSON object, but got something else.")
    content: dict[str, Any] = dict(value)
    checksum = content.pop("checksum", None)
    schema = content.get("schema")
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith(_NAME):
            advice = "open it with the version of discreet that wrote it."
        else:
            advice = "give the path of a file that a Ledger wrote."
        raise PrivacyError(
            f"expected a ledger of schema {SCHEMA}, but it says {str(schema)[:40]!r}; {advice}"
        )
    if checksum != _checksum(content):
        raise PrivacyError(
            "the ledger's checksum does not fit its content: it was damaged or edited; restore it from a copy."
        )
    try:
        epsilon = float("inf") if content["epsilon"] == "inf" else content["epsilon"]
        entries = [(entry["event"], entry["purpose"]) for entry in content["entries"]]
        fields = Fields(epsilon, content["delta"], content["privacy_unit"], content["neighboring"], entries)
    except (KeyError, TypeError):
        raise PrivacyError("the ledger lacks a field; restore it from a copy.") from None
    if not all(isinstance(purpose, str) for _, purpose in entries):
        raise PrivacyError("a ledger's purposes must be text; restore it from a copy.")
    return fields


def read(path: Path) -> Any:
    """Return the JSON values in a ledger file."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_FILE + 1)
        if len(raw) > _LARGEST_FILE:
            raise PrivacyError(f"{path} is too large for a ledger; give the path of a ledger file.")
        return json.loads(raw)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise PrivacyError(
            f"{path} is not a ledger: its content is not JSON; restore it from a copy."
        ) from None


def write(path: Path, value: dict[str, Any]) -> None:
    """Write a ledger so that it is on the disk, whole, when this returns."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n"  # plain ASCII
    if len(text) > _LARGEST_FILE:
        raise PrivacyError(
            f"the ledger {path} would be larger than {_LARGEST_FILE >> 20} MiB; book repetitions as one event "
            "(discreet.privacy.accounting.events.composed)."
        )
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode(path))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _mode(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o644


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Keep other processes out while a ledger file is read, extended and written."""
    import fcntl

    try:
        with path.with_name(f".{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield  # closing the file lets go of the lock, also when the process dies
    except OSError as error:
        raise PrivacyError(
            f"the ledger {path} cannot be kept there: {error.strerror}; give another path."
        ) from error


def _checksum(content: dict[str, Any]) -> str:
    try:
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return ""
    return blake2b(canonical.encode(), digest_size=16).hexdigest()
