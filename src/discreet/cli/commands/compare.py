"""`discreet compare`: two releases side by side."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import (
    Force,
    PageFile,
    check_output_file,
)

__all__ = ["compare"]


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a saved release, usually the earlier one.")],
    second: Annotated[Path, typer.Argument(help="Folder of the other.")],
    out: PageFile = None,
    force: Force = False,
) -> None:
    """Match the topics of two releases; say what grew, what vanished, and what noise alone explains.

    Computed from the releases alone, so it costs no privacy.
    """
    from rich.console import Console

    from discreet.cli.display import print_comparison, whole_words
    from discreet.release import Release
    from discreet.report.compare.comparison import compare

    if out is not None:
        check_output_file(out, (".html",), force=force)
    found = compare(Release.load(first), Release.load(second))
    if out is not None:
        short = (first.absolute().name, second.absolute().name)
        found.to_html(out, names=short if short[0] != short[1] else (str(first), str(second)))
    print_comparison(found, whole_words(Console(highlight=False)))
    if out is not None:
        typer.echo(f"wrote {out}")
