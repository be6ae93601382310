"""`discreet report`: one offline HTML file that shows a release."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Model, check_output_file

__all__ = ["report"]


def report(
    model: Model,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
) -> None:
    """Write a report that people can look at: one offline HTML file."""
    from discreet.release import Release

    check_output_file(out)
    Release.load(model).to_html(out)
    typer.echo(f"wrote {out}")
