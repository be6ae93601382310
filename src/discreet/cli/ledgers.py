"""Ledgers of commands: kept in a file, and what they call a unit where nobody says it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.privacy import Ledger
    from discreet.release import Release

__all__ = ["ledger_of_run", "name_of_unit", "open_ledger"]


def name_of_unit(unit: str, given: str | None = None, topics: "Release | None" = None) -> str | None:
    """Return what a new ledger calls a unit: as given, or as the topics call theirs."""
    if topics is not None and topics.promise.privacy_unit == unit:
        given = given or topics.ledger.unit_name
    return given


def open_ledger(
    path: Path, epsilon: float, delta: float, unit: str, unit_name: str | None = None
) -> "Ledger":
    """Return the ledger kept in a file, made where there is none; one that exists keeps its name of a unit."""
    from discreet.privacy import Ledger

    called = unit_name if path.exists() else name_of_unit(unit, unit_name)
    return Ledger.open(path, epsilon, delta, privacy_unit=unit, unit_name=called)


def ledger_of_run(
    documents: Any, epsilon: float, delta: float, unit: str, unit_name: str | None = None
) -> "Ledger | None":
    """Return the ledger of a run that keeps none in a file, where its units have a name; else the estimator makes one.

    Counts whose columns were chosen privately are booked where the choice is, so they get none here.
    """
    from discreet.corpus.words.chosen_counts import choices_of
    from discreet.privacy import Ledger

    called = name_of_unit(unit, unit_name)
    if called is None or choices_of(documents):
        return None
    return Ledger(epsilon, delta, privacy_unit=unit, unit_name=called)
