"""`discreet report`, `discreet topics`, `discreet compare`: ways to look at a release; they cost nothing."""

from pathlib import Path
from typing import Any

import typer

import discreet
from discreet.cli.options import PAGE, Count, check_output_file
from discreet.errors import ReleaseError


def report(
    model: Path,
    out: Path = Path("report.html"),
    audit: Path | None = None,
    fit: Path | None = None,
    table: Path | None = None,
) -> None:
    """Write a report that people can look at: one offline HTML file.

    It shows topics, or their shares in groups as `discreet prevalence` writes them.

    MODEL: Folder of a saved release, or a file of shares in groups (.json).
    --out: HTML file to write.
    --audit: Also show this audit (`discreet audit --json`). Such a page must not be published.
    --fit: Also show how good the model is: what `discreet evaluate --epsilon` released.
    --table: For shares in groups: also write them as a table (.csv).
    """
    from discreet.audit import AuditReport
    from discreet.release.numbers import FitRelease

    topics_of = None if model.is_file() else discreet.Release.load(model)  # what is to be shown first
    check_output_file(out, PAGE)
    if topics_of is None:
        _report_shares(model, out, audit or fit, table)
        return
    if table is not None:
        raise ReleaseError("--table is for shares in groups, a file; `discreet topics` lists topics.")
    measured = None if fit is None else FitRelease.load(fit)
    attacked = None if audit is None else AuditReport.from_json(audit.read_bytes(), audit)
    topics_of.to_html(out, audit=attacked, fit=measured)
    typer.echo(f"wrote {out}")


def _report_shares(path: Path, out: Path, beside: Path | None, table: Path | None) -> None:
    """Show shares that were released: nothing is read anew, and nothing spent."""
    from discreet.cli.display import console
    from discreet.cli.shares import show_shares, write_table
    from discreet.release.numbers import FitRelease
    from discreet.release.prevalence import PrevalenceRelease

    if beside is not None:
        raise ReleaseError(
            "--audit and --fit are about topics: they stand in the report of a model's folder."
        )
    check_output_file(table, (".csv",), option="--table")
    content = path.read_bytes()  # shares hold a copy of their ledger
    if FitRelease.SEAL.schema.encode() in content:
        raise ReleaseError(f"{path} says how good a model is: discreet report MODEL --fit {path}.")
    if b'"discreet.ledger/' in content and b'"discreet.prevalence/' not in content:
        raise ReleaseError(
            f"{path} is a ledger: it says what was spent, and shows no topics. Name the folder of a release, or a "
            "file of shares; `discreet budget --ledger` lists what was booked."
        )
    made = PrevalenceRelease.load(path)
    made.to_html(out)
    if table is not None:
        write_table(made, table)
    show_shares(made, console())
    typer.echo(f"wrote {out}" + ("" if table is None else f", {table}"))


def topics(model: Path, words: Count = 10, by: str = "probability", json_: bool = False) -> None:
    """Print the topics of a release, and its guarantee.

    --words -n: Words to show for each topic.
    --by: Order of the words: probability, or lift (words rare elsewhere move up).
    """
    from discreet.cli.display import console_of_results, print_json, print_topics

    order: Any = by
    release = discreet.Release.load(model)
    if json_:
        print_json({"guarantee": release.guarantee, "topics": release.top_words(words, by=order)})
        return
    out = console_of_results()
    print_topics(release, words, out, by=order)
    out.print()
    out.print(release.guarantee)


def compare(first: Path, second: Path, out: Path | None = None) -> None:
    """Match the topics of two releases; say what grew, what vanished, and what noise alone explains.

    Computed from the releases alone, so it costs no privacy.

    FIRST: Folder of a saved release, usually the earlier one.
    SECOND: Folder of the other.
    --out: Also write a page to look at: .html.
    """
    from discreet.cli.display import console_of_results, print_comparison
    from discreet.report import comparison

    if first.is_file() or second.is_file():
        raise ReleaseError(
            "topics are compared, of two folders; `discreet report` shows a file of shares by itself."
        )
    pair = discreet.Release.load(first), discreet.Release.load(second)
    check_output_file(out, PAGE)
    found = comparison.compare(*pair)
    print_comparison(found, console_of_results())
    if out is not None:
        short = (first.absolute().name, second.absolute().name)
        found.to_html(out, names=short if short[0] != short[1] else (str(first), str(second)))
        typer.echo(f"wrote {out}")
