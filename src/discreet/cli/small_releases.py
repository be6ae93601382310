"""The card beside a small release: what folders hold as README.md stands next to a single file."""

from pathlib import Path

from discreet._files import write_whole
from discreet.cli.options import check_output_file
from discreet.release.numbers import FitRelease, encoded
from discreet.release.prevalence import PrevalenceRelease

__all__ = ["check_release_file", "save_with_card"]


def check_release_file(path: Path, *, option: str = "--out", force: bool = False) -> None:
    """Refuse a file that a release cannot be written to, or its card beside it."""
    check_output_file(path, (".json",), option=option, force=force)
    check_output_file(path.with_suffix(".md"), option=f"the card of {option},", force=force)


def save_with_card(made: PrevalenceRelease | FitRelease, path: Path, *, force: bool = False) -> list[Path]:
    """Write a release and its card, ``wards.md`` beside ``wards.json``; return what was written."""
    if force or (path.is_file() and path.stat().st_size == 0):  # as the check before the booking allows
        write_whole(encoded(made), path, "the release")
    else:
        made.save(path)
    card = path.with_suffix(".md")
    write_whole(made.card().encode(), card, "the card")
    return [path, card]
