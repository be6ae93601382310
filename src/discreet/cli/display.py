"""What the command shows while it works. Nothing here can end a fit, and nothing here shows text."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet._progress import Callback
from discreet.release import Release

__all__ = ["console", "hand_over", "print_topics", "progress"]


def console(*, quiet: bool = False) -> Console:
    """Return a console on standard error, so that standard output stays clean for results."""
    return Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)


@contextmanager
def progress(*, quiet: bool = False) -> Generator[Callback]:
    """Show progress as bars on a terminal, as one plain line a stage elsewhere."""
    if quiet:
        yield lambda stage, done, total: None
    elif sys.stderr.isatty():
        columns = (
            TextColumn("{task.description:<36}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
        )
        with Progress(*columns, TimeElapsedColumn(), console=console(), transient=False) as bars:
            tasks: dict[str, TaskID] = {}

            def show(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(escape(stage), total=total)
                bars.update(tasks[stage], completed=done, total=total)

            yield show
    else:
        lines = console()

        def say(stage: str, done: int, total: int) -> None:
            if done == total or total <= 20:
                lines.print(f"{stage} {done}/{total}", markup=False)

        yield say


def hand_over(release: Release, out: Path, report: Path | None, say: Console) -> None:
    """Write what a fit releases, and show it; a quiet console shows nothing."""
    release.save(out)
    print_topics(release, 10, say)
    say.print()
    say.print(release.guarantee, markup=False)
    if report is not None:
        release.to_html(report)
    say.print(f"wrote {out}" + (f" and {report}" if report is not None else ""), markup=False)
    say.print(
        f"Names and numbers that many documents share are not hidden. Review the words before you publish: "
        f"discreet review {out}",
        markup=False,
    )


def print_topics(
    release: Release, n_words: int, out: Console, *, by: Literal["probability", "lift"] = "probability"
) -> None:
    """Print a table of topics, the heaviest first where the release knows their weights."""
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    table.add_column("topic", justify="right")
    weights = release.topic_weight
    if weights is not None:
        table.add_column("share", justify="right")
    table.add_column("words", overflow="fold")
    words = release.top_words(n_words, by=by)
    order = range(len(words)) if weights is None else (-weights).argsort(kind="stable")
    for topic in order:
        share = [] if weights is None else [f"{100 * weights[topic]:.1f} %"]
        table.add_row(str(int(topic)), *share, escape(" ".join(words[int(topic)])))
    out.print(table)
