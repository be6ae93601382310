"""Ledgers of commands: kept in a file, and what they call a unit where nobody says it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.privacy import Ledger

__all__ = ["name_of_unit", "open_ledger"]


def name_of_unit(unit: str, given: str | None = None) -> str | None:
    """Return what a new ledger calls a unit: ``--person`` protects a person, unless another name is given."""
    return given or ("person" if unit == "author" else None)


def open_ledger(
    path: Path, epsilon: float, delta: float, unit: str, unit_name: str | None = None
) -> "Ledger":
    """Return the ledger kept in a file, made where there is none; one that exists keeps its name of a unit."""
    from discreet.privacy import Ledger

    called = unit_name if path.exists() else name_of_unit(unit, unit_name)
    return Ledger.open(path, epsilon, delta, privacy_unit=unit, unit_name=called)
