"""`discreet choose-topics`: how many topics, on public text."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.options import (
    Force,
    Quiet,
    Threads,
    check_output_file,
)
from discreet.cli.text_options import NOTHING_SAID, TextOptions, reads_texts
from discreet.errors import ParameterError

__all__ = ["choose_topics", "numbers_of_topics"]


@reads_texts()
def choose_topics(
    corpus: Annotated[Path, typer.Option(help="Public documents, of the kind of the private ones.")],
    topics: Annotated[str, typer.Option(help="Numbers of topics to try, with commas.")] = "5,10,20,50,100",
    out: Annotated[Path | None, typer.Option(help="Write the plot here: .html or .svg.")] = None,
    how: TextOptions = NOTHING_SAID,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Words to count, or the word of each column, one a line.")
    ] = None,
    max_words: Annotated[int, typer.Option(min=2, help="Keep the words of most documents.")] = 2000,
    folds: Annotated[int, typer.Option(min=2, help="Parts to hold out in turn.")] = 5,
    sweeps: Annotated[
        int | None,
        typer.Option(min=1, help="Gibbs sweeps of each model; without, as many as GibbsLDA takes."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and models.")] = 0,
    threads: Threads = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Compare numbers of topics by held-out perplexity and coherence, on PUBLIC text.

    On private text the comparison, and the choice made by it, would leak: no noise is added and nothing is booked.
    """
    from discreet._files import write_whole
    from discreet.cli.commands.convert import load, say_skipped
    from discreet.cli.display import console, progress
    from discreet.evaluate import choose_n_topics

    say = console(quiet=quiet)
    candidates = numbers_of_topics(topics)
    if out is not None:
        check_output_file(out, (".html", ".svg"), force=force)
    known = how.format_of(corpus)
    options = {**how.options(known), "vocabulary": vocabulary}
    with progress(quiet=quiet) as callback:
        documents, _ = load(corpus, known, callback=callback, **options)
        say_skipped(documents, say)
        counts = _most_common(documents.counts, max_words)
        say.print("This compares models on exact counts: use it on public text only.")
        result = choose_n_topics(
            counts,
            candidates,
            n_folds=folds,
            n_sweeps=sweeps,
            random_state=seed,
            n_jobs=threads,
            callback=callback,
        )
    if out is not None:
        if out.suffix.lower() == ".svg":
            write_whole(f"{result.to_svg()}\n".encode(), out, "the plot")
        else:
            result.to_html(out, corpus=f"{corpus.name}, {counts.shape[0]} documents, {counts.shape[1]} words")
    if as_json:
        alone = float(result.unigram_perplexity.mean())
        answer = {"best": result.best, "unigram_perplexity": alone, "candidates": result.table()}
        typer.echo(json.dumps(answer, indent=1))
    else:
        _show(result)
    if out is not None:
        say.print(f"wrote {out}", markup=False)


def numbers_of_topics(topics: str) -> list[int]:
    """Read ``--topics``: whole numbers with commas."""
    parts = [part.strip() for part in topics.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise ParameterError(f"--topics must be numbers with commas, such as 10,20,50, but is {topics!r}.")
    return [int(part) for part in parts]


def _most_common(counts: Any, most: int) -> Any:
    """Keep the words that stand in most documents: the text is public, so this costs nothing."""
    import numpy as np

    if counts.shape[1] <= most:
        return counts
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    return counts[:, np.sort(np.argsort(-frequency, kind="stable")[:most])]


def _show(result: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    from discreet.cli.display import whole_words

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("topics", "perplexity", "±", "coherence", "±", "diversity"):
        table.add_column(name, justify="right")
    for row in result.table():
        mark = "*" if row["n_topics"] == result.best else " "
        table.add_row(
            f"{row['n_topics']:.0f}{mark}",
            f"{row['perplexity']:.1f}",
            f"{row['perplexity_error']:.1f}",
            f"{row['coherence']:.3f}",
            f"{row['coherence_error']:.3f}",
            f"{row['diversity']:.2f}",
        )
    out = whole_words(Console(highlight=False))
    out.print(table)
    out.print(f"words alone: perplexity {result.unigram_perplexity.mean():.1f}")
    out.print(f"* {result.best}: the smallest that none beats by more than one standard error")
