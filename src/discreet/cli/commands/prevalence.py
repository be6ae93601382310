"""`discreet prevalence`: where and when the topics of a release stand in private documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.engine import Scheduler, TlsFolder, Workers, engine_for
from discreet.cli.groups import (
    Disjoint,
    End,
    Every,
    Groups,
    PrivateGroups,
    Start,
    Unlisted,
    check_field,
    shares_of,
)
from discreet.cli.options import (
    Author,
    Delta,
    Force,
    Model,
    Quiet,
    Seed,
    Threads,
    check_output_file,
)
from discreet.cli.text_options import NEW_WORDS, NOTHING_SAID, TextOptions, reads_texts

if TYPE_CHECKING:
    from discreet.privacy import Ledger
    from discreet.release import Release
    from discreet.release.prevalence import PrevalenceRelease

__all__ = ["prevalence"]

_MOST_SHOWN = 12
_NOTHING = "noise and chance may explain all of them"


@reads_texts(*NEW_WORDS)
def prevalence(
    model: Model,
    corpus: Annotated[Path, typer.Option(help="File that holds the private documents.")],
    by: Annotated[
        str, typer.Option(help="Field that names each document's group, or its date with --every.")
    ],
    out: Annotated[Path, typer.Option(help="New file for the release: .json.")],
    groups: Groups = None,
    every: Every = None,
    start: Start = None,
    end: End = None,
    disjoint: Disjoint = False,
    private_groups: PrivateGroups = False,
    unlisted: Unlisted = None,
    epsilon: Annotated[
        float, typer.Option(help="Privacy loss of the shares: smaller is more private.")
    ] = 0.25,
    delta: Delta = 1e-6,
    author: Author = None,
    how: TextOptions = NOTHING_SAID,
    ledger: Annotated[
        Path | None, typer.Option(help="File that keeps the budget; the one the topics were booked on, say.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a page to look at: .html.")] = None,
    table: Annotated[Path | None, typer.Option(help="Also write the shares as a table: .csv.")] = None,
    seed: Seed = None,
    threads: Threads = -1,
    workers: Workers = None,
    scheduler: Scheduler = None,
    tls: TlsFolder = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Release how much of each topic of MODEL stands in each group of private documents, or in each month.

    Groups are public: a list in a file, or the periods of a range; or their names are chosen privately. What is written
    may leave.
    """
    from discreet.central.prevalence.estimator import check_labels
    from discreet.cli.display import console, progress
    from discreet.cli.shards import open_shards
    from discreet.cli.small_releases import check_release_file, save_with_card
    from discreet.corpus import read_corpus
    from discreet.privacy import Ledger
    from discreet.release import Release

    check_release_file(out, force=force)
    for option, path, suffix in (("--report", report, ".html"), ("--table", table, ".csv")):
        if path is not None:
            check_output_file(path, (suffix,), option=option, force=force)
    known = how.format_of(corpus)
    check_field(corpus, known, by)
    release = Release.load(model)
    options = how.options(known, stop_words=None, release=release)
    options |= {} if author is None else {"author": author}
    documents: Any = open_shards(corpus, known, **options)[0] if known == "shards" else None
    owned = author is not None if documents is None else documents.owners is not None
    unit = "author" if owned else "document"
    book = None if ledger is None else Ledger.open(ledger, epsilon, delta, privacy_unit=unit)
    shares = shares_of(
        release,
        groups,
        every,
        private_groups,
        epsilon=epsilon,
        delta=delta,
        privacy_unit=unit,
        start=start,
        end=end,
        division=by if disjoint else None,
        unlisted=unlisted,
        random_state=seed,
        n_jobs=threads,
        ledger=book,
    )
    say = console(quiet=quiet)
    source = "the shards' owners" if author is None else f"field {author!r}"
    say.print(_promise(release, source if owned else None, book), markup=False)
    with (
        engine_for(workers, scheduler, tls, sharded=known == "shards") as engine,
        progress(quiet=quiet) as callback,
    ):
        if documents is None:
            documents = read_corpus(
                corpus, known, label=by, vocabulary=release.vocabulary, callback=callback, **options
            )
        shares.set_params(callback=callback, engine=engine)
        check_labels(shares, documents, None if known == "shards" else documents.labels)  # costs no budget
        shares.fit(documents)
    made = shares.release_
    written = save_with_card(made, out, force=force)
    if report is not None:
        made.to_html(report)
        written.append(report)
    if table is not None:
        _write_table(made, table)
        written.append(table)
    _show(made, say)
    say.print(made.guarantee, markup=False)
    say.print(f"wrote {', '.join(map(str, written))}", markup=False)


def _promise(release: "Release", known_by: str | None, book: "Ledger | None") -> str:
    """Say in one line whom these shares protect, and where the topics protect more."""
    if known_by is not None:
        named = (book or release.ledger).unit_name if release.promise.privacy_unit == "author" else ""
        return f"Protecting each {named or 'person'} ({known_by}), with all documents of one."
    if release.promise.privacy_unit == "author":
        return (
            "Protecting each document for itself, though the topics protect persons with all their documents: for the "
            "same here, use --person FIELD."
        )
    return "Protecting each document. Use --person FIELD if one person may have written several documents."


def _write_table(made: "PrevalenceRelease", path: Path) -> None:
    from discreet._files import write_whole
    from discreet.report.prevalence_page import table_csv

    write_whole(table_csv(made).encode(), path, "the table")


def _show(made: "PrevalenceRelease", say: Any) -> None:
    """Print what is certain, with intervals: what noise and chance may explain is no news."""
    import numpy as np
    from rich.markup import escape
    from rich.table import Table

    over_time, form = len(made.periods) > 1, "{:+.1f}"
    if len(made.groups) == 1:
        alone, form = made.shares(), "{:.1f}"
        parts, chosen = (alone.share, alone.low, alone.high), np.argsort(-alone.share.ravel(), kind="stable")
    else:
        found = made.growth() if over_time else made.against_rest()
        parts, sure = (found.difference, found.low, found.high), np.flatnonzero(found.certain)
        chosen = sure[np.argsort(-np.abs(found.difference.ravel()[sure]), kind="stable")]
        what = f"{_span(made)}, all topics" if over_time else "each group against all the others, all"
        counted = f"{len(sure)} of {found.certain.size} are certain" if len(sure) else _NOTHING
        say.print(f"Differences, {what} tested together: {counted}.", markup=False)
    if len(chosen):
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("group", "topic", "points", "95 % interval", "words")[over_time:]:
            shown.add_column(
                column, justify="left" if column in ("group", "words") else "right", overflow="fold"
            )
        for cell in chosen[:_MOST_SHOWN].tolist():
            group, topic = divmod(cell, len(made.topics))
            value, low, high = (form.format(100 * float(part.ravel()[cell])) for part in parts)
            cells = [made.groups[group], str(topic), value, f"{low} to {high}", made.topics[topic]]
            shown.add_row(*map(escape, cells[over_time:]))
        say.print(shown)
    say.print("All shares with their intervals: --table, --report.")


def _span(made: "PrevalenceRelease") -> str:
    """Return which periods are compared: "from 2024-01–2024-03 to 2024-10–2024-12"."""
    many = max(1, len(made.periods) // 4)
    ends = made.periods[:many], made.periods[-many:]
    return "from " + " to ".join("\u2013".join(dict.fromkeys((end[0], end[-1]))) for end in ends)
