"""What the command shows while it works. Nothing here can end a fit, and nothing here shows text."""

import json
import math
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet._base.progress import Bars, Callback
from discreet.cli.files import written
from discreet.release import Release
from discreet.release.files import clean
from discreet.release.numbers import NumbersRelease
from discreet.report.wording import by_share, mostly_noise, shown
from discreet.report.wording import told as noise_told

if TYPE_CHECKING:
    from discreet import Ledger
    from discreet.report.comparison import Comparison

_WIDE = 10_000
#: What a promise is worth that was made with a seed.
SEEDED = "Made with a seed: reproducible, not for release."
_UNFIT = "Do not publish this: "


def console(*, quiet: bool = False) -> Console:
    """Return a console on standard error, so that standard output stays clean; text is shown as it is."""
    return whole_words(Console(stderr=True, quiet=quiet, highlight=False, markup=False))


def console_of_results() -> Console:
    """Return a console on standard output, where results go."""
    return whole_words(Console(highlight=False, markup=False))


def print_json(answer: Any) -> None:
    """Print an answer as JSON, in which what a terminal would act on stands as a code."""
    told = json.dumps(answer, ensure_ascii=False, indent=1)
    plain = (one if one == "\n" or clean(one) == one else json.dumps(one)[1:-1] for one in told)
    typer.echo("".join(plain))


def whole_words(console: Console) -> Console:
    """Have lines break between words on a terminal, which would break them anywhere; and nowhere in a file or pipe."""
    if not console.is_terminal:
        console.width = _WIDE
    return console


def asks_before(yes: bool, quiet: bool) -> bool:
    """Return whether a command asks before it spends: on a terminal, unless it was told not to."""
    return not (yes or quiet) and sys.stdin.isatty() and sys.stderr.isatty()


def ask_to_spend(epsilon: float, book: "Ledger | None", say: Console) -> None:
    """Go on only if the person at the terminal says so."""
    left = "" if book is None else f" of {book.remaining().epsilon:.4g} that {book.path} has left"
    ask = f"Spend epsilon {epsilon:g}{left}?{'' if left else ' No --ledger remembers it.'}"
    if not typer.confirm(ask, default=False, err=True):
        say.print("Nothing was spent, and nothing written.")
        raise typer.Exit(1)


@contextmanager
def progress(*, quiet: bool = False) -> Generator[Callback]:
    """Show progress as bars on a terminal, else as a plain line a stage."""
    if quiet:
        yield lambda stage, done, total: None
    elif sys.stderr.isatty():
        with closing(Bars()) as bars:
            yield bars
    else:
        lines, last = console(), ("", 0, 0)

        def say(stage: str, done: int, total: int) -> None:
            nonlocal last
            if done == total and (stage, done, total) != last:  # a reader may say twice that it is done
                lines.print(f"{stage} {done}/{total}")
            last = (stage, done, total)

        yield say


def hand_over(release: Release, out: Path, report: Path | None, say: Console) -> None:
    """Write what a fit releases, and show it; a quiet console shows only what makes the promise void."""
    out = written(release.save, out)
    print_topics(release, 10, say)
    say.print()
    print_guarantee(release, say)
    if report is not None:
        release.to_html(report)
    say.print(f"wrote {out}" + (f" and {report}" if report is not None else ""))
    say.print(_what_next(release, out))


def _what_next(release: Release, out: Path) -> str:
    """Say what to do before a release is published, or that this one must not be."""
    if math.isinf(release.promise.epsilon):
        return "Do not publish this: it was made without privacy, for comparison only."
    if release.reproducible:
        return "Do not publish this: whoever knows the seed can subtract the noise. Run again without --seed."
    return (
        "Names and numbers that many documents share are not hidden. Review the words before you publish: "
        f"discreet review {out}"
    )


def print_guarantee(release: Release | NumbersRelease, say: Console) -> None:
    """Print what is promised, and who is quiet that it is not for release: else the promise says so."""
    say.print(release.guarantee)
    if say.quiet and not release.may_leave:
        seeded = release.determinism == release.REPRODUCIBLE
        console().print(SEEDED if seeded else _UNFIT + release.determinism)


def print_table(out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; a column whose name begins with > stands to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        right = name.startswith(">")
        table.add_column(
            name.lstrip(">"), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)


def print_topics(
    release: Release, n_words: int, out: Console, *, by: Literal["probability", "lift"] = "probability"
) -> None:
    """Print a table of topics, the heaviest first where the release knows their weights, mostly noise last."""
    words = release.top_words(n_words, by=by)
    weights, noisy = release.topic_weight, mostly_noise(release)
    apart = ", " if any(" " in word for row in words for word in row) else " "
    rows: list[list[str]] = []
    for topic in by_share(release):
        share = [] if weights is None else [f"{100 * weights[topic]:.1f} %"]
        name = release.topic_names[topic]
        called = "(mostly noise) " if noisy[topic] else "" if name is None else f"{shown(name)}: "
        rows.append([str(topic + 1), *share, called + apart.join(map(shown, words[topic]))])
    print_table(out, (">topic", *([] if weights is None else [">share"]), "words"), rows)
    if told := noise_told(release):
        out.print(f"{told}: fewer topics, more epsilon or more texts would help.")


def print_comparison(found: "Comparison", out: Console) -> None:
    """Print what two releases have in common, and what changed."""
    of_a, of_b = found.names()
    rows = [
        [
            str(pair.first),
            str(pair.second),
            *("" if share is None else f"{100 * share:.1f} %" for share in (pair.before, pair.after)),
            "yes" if pair.clear else "",
            of_b[pair.second - 1],
        ]
        for pair in found.pairs
    ]
    print_table(out, (">first", ">second", ">before", ">after", ">clear", "topic"), rows)
    out.print()
    for sentence in found.in_words():
        out.print(sentence)
    for topics, names, which in ((found.vanished, of_a, "first"), (found.appeared, of_b, "second")):
        for topic in topics:
            out.print(f"Only in the {which}: {names[topic - 1]}")
    if (found.vanished or found.appeared) and not found.by_review:
        out.print("Two fits of one text can differ by such topics, too.")
    noisy = len(found.noise_in_a), len(found.noise_in_b)
    if any(noisy):
        out.print(f"Left out as mostly noise: {noisy[0]} topics of the first, {noisy[1]} of the second.")
