"""`discreet report`: one offline HTML file that shows a release."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Force, Model, check_output_file
from discreet.errors import ReleaseError

if TYPE_CHECKING:
    from discreet.audit import AuditReport

__all__ = ["report"]


def report(
    model: Model,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    audit: Annotated[
        Path | None,
        typer.Option(
            help="Also show this audit (`discreet audit --json`). Such a page must not be published."
        ),
    ] = None,
    fit: Annotated[
        Path | None,
        typer.Option(help="Also show how good the model is: what `discreet evaluate --epsilon` released."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a report that people can look at: one offline HTML file."""
    from discreet.release import Release
    from discreet.release.goodness_of_fit import FitRelease

    check_output_file(out, force=force)
    measured = None if fit is None else FitRelease.load(fit)
    Release.load(model).to_html(out, audit=None if audit is None else _read(audit), fit=measured)
    typer.echo(f"wrote {out}")


def _read(path: Path) -> "AuditReport":
    from discreet.audit import AuditReport

    try:
        return AuditReport.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ReleaseError(f"{path} is not an audit: make one by `discreet audit --json`.") from None
