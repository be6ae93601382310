"""Options that say what a release is about; `discreet fit` and `discreet review` have them."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from discreet.release import PrevalenceRelease, Release

__all__ = ["Contact", "OtherSpending", "Owner", "Period", "Title", "today", "with_details"]

Written = TypeVar("Written", "Release", "PrevalenceRelease")
Title = Annotated[str | None, typer.Option(help="Title of card and report.")]
Owner = Annotated[str | None, typer.Option(help="Who answers for the release.")]
Contact = Annotated[str | None, typer.Option(help="Where questions go.")]
Period = Annotated[str | None, typer.Option(help="When the texts were written.")]
OtherSpending = Annotated[
    str | None, typer.Option(help="What else was spent on these texts, outside this ledger.")
]


def today() -> str:
    """Return the date of today."""
    return datetime.now(UTC).date().isoformat()


def with_details(release: Written, **details: str | None) -> Written:
    """Return the release with the details that were given."""
    given = {name: text for name, text in details.items() if text is not None}
    return release.with_details(**given) if given else release
