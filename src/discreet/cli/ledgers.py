"""Ledgers that commands keep in files, and small releases that they write: a file, and its card beside it."""

import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._base.files import write_whole
from discreet.cli.options import check_output_file
from discreet.errors import PrivacyError, ReleaseError

if TYPE_CHECKING:
    from discreet.privacy import Ledger
    from discreet.release import FitRelease, PrevalenceRelease, Release

#: What this run wrote elsewhere than it was asked to.
_ELSEWHERE: list[str] = []
#: Ledgers in files that this run opened, with what was spent on each before; None for those that it made.
_OPENED: list[tuple["Ledger", float | None]] = []


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

    new = not path.exists()
    called = name_of_unit(unit, unit_name) if new else unit_name
    ledger = Ledger.open(path, epsilon, delta, privacy_unit=unit, unit_name=called)
    _OPENED.append((ledger, None if new else ledger.spent().epsilon))
    return ledger


def close_ledgers() -> None:
    """End a run: a ledger that it made, and on which nothing was booked, leaves no file, which would fix a unit."""
    for ledger, before in _OPENED:
        if before is None:
            with suppress(PrivacyError):  # somebody else took it away
                ledger.discard_if_unused()
    _OPENED.clear()
    _ELSEWHERE.clear()


def written_elsewhere() -> str:
    """Return what to say of files that are not where they were asked for; "" where all are."""
    return " ".join(_ELSEWHERE)


def after_interruption() -> str:
    """Say what a run that was interrupted has booked, and how to go on."""
    told: list[str] = []
    on = "To go on, run the same command again; it books anew."
    for ledger, spent in _OPENED:
        now, before = ledger.spent().epsilon, spent or 0.0
        left = max(round(ledger.epsilon - now, 4), 0.0)
        if left < now - before:
            on = (
                f"What is left, {left:g}, may not pay for the same again: run it with a smaller --epsilon, or "
                "decide on a larger budget, which is a weaker promise."
            )
        told.append(
            f"{ledger.path} has booked {now - before:.4g} for this run, which stays spent because the texts may have "
            f"been read: {now:.4g} of epsilon = {ledger.epsilon:g} in all."
            if now > before
            else f"Nothing was booked on {ledger.path}."
        )
    booked = " ".join(told) if told else "No ledger in a file was open, so none has booked anything."
    return f"interrupted: no result was written. {booked} {on}"


def ledger_of_run(
    documents: Any, epsilon: float, delta: float, unit: str, unit_name: str | None = None
) -> "Ledger | None":
    """Return the ledger of a run that keeps none in a file, where its units have a name; else the estimator makes one.

    Counts whose columns were chosen privately are booked where the choice is, so they get none here.
    """
    from discreet.corpus.vocabulary import choices_of
    from discreet.privacy import Ledger

    called = name_of_unit(unit, unit_name)
    if called is None or choices_of(documents):
        return None
    return Ledger(epsilon, delta, privacy_unit=unit, unit_name=called)


def check_release_file(path: Path, *, option: str = "--out") -> None:
    """Refuse a file that a release cannot be written to, or its card beside it."""
    check_output_file(path, (".json",), option=option)
    check_output_file(path.with_suffix(".md"), option=f"the card of {option},")


def written(save: Callable[[Path], None], place: Path) -> Path:
    """Write what was paid for where it was asked for, or else beside it, here, or among temporary files; say so.

    Parameters
    ----------
    save : callable
        Writes to the path that it is given, whole or not at all.
    place : Path

    Returns
    -------
    Path
        Where it is.
    """
    try:
        save(place)
    except (OSError, ReleaseError) as error:
        other = f"{place.stem}-{secrets.token_hex(3)}{place.suffix}"
        for folder in (place.absolute().parent, Path.cwd(), Path(tempfile.gettempdir())):
            with suppress(OSError, ReleaseError):
                save(folder / other)
                reason = getattr(error, "strerror", None) or error
                _ELSEWHERE.append(
                    f"{place} could not be written: {reason}. What was paid for is in {folder / other}."
                )
                return folder / other
        raise
    return place


def save_with_card(made: "PrevalenceRelease | FitRelease", path: Path) -> list[Path]:
    """Write a release and its card, ``wards.md`` beside ``wards.json``; return what was written."""
    from discreet.release.numbers import encoded

    def save(place: Path) -> None:
        if place.is_file() and place.stat().st_size == 0:  # as the check before the booking allows
            write_whole(encoded(made), place, "the release")
        else:
            made.save(place)

    path = written(save, path)
    card = path.with_suffix(".md")
    write_whole(made.card().encode(), card, "the card")
    return [path, card]
