"""`discreet choose-topics`: how many topics; on public text, or with --epsilon privately, on private text."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.files import ledger_for
from discreet.cli.options import (
    NOTHING_SAID,
    CorpusArgument,
    Person,
    Quiet,
    Set,
    TextOptions,
    VocabularyIsPublic,
    check_output_file,
    check_output_folder,
    named_values,
    reads_texts,
    refuse_given,
)
from discreet.errors import ParameterError, PrivacyError

_NEEDS_WORDS = (
    "words taken from private texts would leak: give a public list of words, and declare it public: "
    "--vocabulary FILE and --vocabulary-is-public."
)


@reads_texts()
def choose_topics(
    corpus: CorpusArgument,
    topics: Annotated[
        str, typer.Option(help="Numbers of topics to try, separated by commas.")
    ] = "5,10,20,50,100",
    out: Annotated[
        Path | None,
        typer.Option(help="Write the plot here: .html or .svg. With --epsilon: new folder for the release."),
    ] = None,
    how: TextOptions = NOTHING_SAID,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Words to count, or the word of each column, one per line.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Choose privately: the total cost of trying all numbers. Needs --out."),
    ] = None,
    delta: Annotated[float | None, typer.Option(help="With --epsilon: delta, by default 1e-6.")] = None,
    person: Person = None,
    vocabulary_is_public: VocabularyIsPublic = False,
    ledger: Annotated[
        Path | None, typer.Option(help="With --epsilon: file that keeps the budget over several runs.")
    ] = None,
    settings: Set = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed of folds and models, by default 0. With --epsilon: by default none; not for release.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compare numbers of topics by held-out perplexity and coherence, on PUBLIC text; or choose one privately.

    On private text the comparison, and the choice based on it, would leak: no noise is added and nothing is booked.
    With --epsilon, all numbers are trained privately, the best is chosen privately, and its topics are written.
    """
    candidates = numbers_of_topics(topics)
    known = how.format_of(corpus)
    options: dict[str, Any] = {**how.options(known), "vocabulary": vocabulary}
    if epsilon is None:
        private: dict[str, Any] = {"--delta": delta, "--person": person, "--ledger": ledger}
        private["--vocabulary-is-public"] = vocabulary_is_public or None
        refuse_given(private, "for choosing privately; add --epsilon.")
        chosen = named_values(settings, ("max_words", "n_folds", "n_sweeps"), "--set")
        most = chosen.pop("max_words", 2000)
        chosen |= {"random_state": seed or 0, "n_jobs": -1}
        _compare(corpus, known, options, candidates, most, chosen, out, as_json, quiet=quiet)
        return
    if out is None:
        raise ParameterError(
            "--epsilon pays for topics that are trained here: name a new folder for them, --out."
        )
    terms = {
        "epsilon": epsilon,
        "delta": 1e-6 if delta is None else delta,
        "random_state": seed,
        "n_jobs": -1,
    } | named_values(settings, ("allow_unlearnable", "doc_topic_prior", "n_rounds"), "--set")
    _choose(
        corpus,
        known,
        {**options, "person": person},
        candidates,
        terms,
        ledger,
        out,
        declared=vocabulary_is_public,
        as_json=as_json,
        quiet=quiet,
    )


def _choose(
    corpus: Path,
    known: str,
    options: dict[str, Any],
    candidates: list[int],
    settings: dict[str, Any],
    ledger: Path | None,
    out: Path,
    *,
    declared: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train all candidates privately, choose the best privately, and write it."""
    from discreet.central import choose_n_topics_privately
    from discreet.cli.display import console, hand_over, progress
    from discreet.cli.files import declare_public, load, say_skipped
    from discreet.corpus.formats.table import TEXT_FORMATS

    say = console(quiet=quiet)
    check_output_folder(out)
    if known in TEXT_FORMATS and not (declared and options["vocabulary"] is not None):
        raise PrivacyError(_NEEDS_WORDS)
    with progress(quiet=quiet) as callback:
        # Parsing comes first, so that a broken file costs no budget; no statistic is computed from it yet.
        documents, _ = load(corpus, known, callback=callback, **options)
        say_skipped(documents, say)
        if declared:
            documents = declare_public(documents, "choose-topics", listed=options["vocabulary"] is not None)
        if not documents.words_are_public and documents.word_origin.kind != "chosen":
            raise PrivacyError(_NEEDS_WORDS)
        unit = "document" if documents.persons is None else "person"
        book = ledger_for(ledger, documents, settings["epsilon"], settings["delta"], unit)
        found = choose_n_topics_privately(
            documents, candidates, privacy_unit=unit, ledger=book, callback=callback, **settings
        )
    release = found.release
    if as_json:
        told = (found.n_topics, list(found.candidates), release.guarantee)
        answer = dict(zip(("best", "candidates", "guarantee"), told, strict=True))
        typer.echo(json.dumps(answer, indent=1))
    else:
        typer.echo(f"{found.n_topics} topics, chosen among {', '.join(map(str, found.candidates))}")
    hand_over(release, out, None, say)


def _compare(
    corpus: Path,
    known: str,
    options: dict[str, Any],
    candidates: list[int],
    max_words: int,
    settings: dict[str, Any],
    out: Path | None,
    as_json: bool,
    *,
    quiet: bool,
) -> None:
    """Compare on exact counts, and show how each did."""
    from discreet._base.files import write_whole
    from discreet.cli.display import console, progress
    from discreet.cli.files import load, say_skipped
    from discreet.evaluate import choose_n_topics

    say = console(quiet=quiet)
    if out is not None:
        check_output_file(out, (".html", ".svg"))
    with progress(quiet=quiet) as callback:
        documents, _ = load(corpus, known, callback=callback, **options)
        say_skipped(documents, say)
        counts = _most_common(documents.counts, max_words)
        console().print("This compares models on exact counts: use it on public text only.")
        result = choose_n_topics(counts, candidates, callback=callback, **settings)
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
    from rich.table import Table

    from discreet.cli.display import console_of_results

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("topics", "perplexity", "±", "coherence", "±", "diversity"):
        table.add_column(name, justify="right")
    for row in result.table():
        mark = "*" if row["n_topics"] == result.best else " "
        forms = {"perplexity": ".1f", "perplexity_error": ".1f", "coherence": ".3f", "coherence_error": ".3f"}
        cells = [format(row[name], form) for name, form in (forms | {"diversity": ".2f"}).items()]
        table.add_row(f"{row['n_topics']:.0f}{mark}", *cells)
    out = console_of_results()
    out.print(table)
    out.print(f"words alone: perplexity {result.unigram_perplexity.mean():.1f}")
    out.print(f"* {result.best}: the smallest that no other beats by more than one standard error")
