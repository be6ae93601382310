"""`discreet choose-topics`: how many topics; on public text, or with --epsilon privately, on private text."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.options import Texts, check_output_folder, named_values, refuse_given
from discreet.errors import ParameterError, PrivacyError

_NEEDS_WORDS = (
    "words taken from private texts would leak: give a public list of words, and declare it public: "
    "--vocabulary FILE and --vocabulary-is-public."
)


def choose_topics(
    corpus: Path,
    *,
    topics: str = "5,10,20,50,100",
    out: Path | None = None,
    how: Texts,
    vocabulary: Path | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    person: str | None = None,
    vocabulary_is_public: bool = False,
    ledger: Path | None = None,
    set_: list[str] | None = None,
    seed: Annotated[int | None, {"min": 0}] = None,
    json_: bool = False,
    quiet: bool = False,
) -> None:
    """Compare numbers of topics by held-out perplexity and coherence, on PUBLIC text; or choose one privately.

    On private text the comparison, and the choice based on it, would leak: no noise is added and nothing is booked.
    With --epsilon, all numbers are trained privately, the best is chosen privately, and its topics are written.

    --topics: Numbers of topics to try, separated by commas.
    --out: With --epsilon: new or empty folder for the release.
    --vocabulary: Words to count, or the word of each column, one per line.
    --epsilon: Choose privately: the total cost of trying all numbers. Needs --out.
    --delta: With --epsilon: delta, by default that of the ledger, or 1e-6.
    --ledger: With --epsilon: file that keeps the budget over several runs.
    --seed: Seed of folds and models, by default 0. With --epsilon: by default none; not for release.
    """
    from discreet.central import choose_n_topics_privately
    from discreet.cli.display import console, hand_over, print_json, progress
    from discreet.cli.files import declare_public, ledger_for, load, say_skipped
    from discreet.corpus.formats.table import TEXT_FORMATS
    from discreet.evaluate import choose_n_topics

    numbers, private = [part.strip() for part in topics.split(",")], epsilon is not None
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in numbers):
        raise ParameterError(f"--topics must be numbers with commas, such as 10,20,50, but is {topics!r}.")
    candidates = list(map(int, numbers))
    known, say = how.format_of(corpus), console(quiet=quiet)
    options: dict[str, Any] = {**how.options(known), "vocabulary": vocabulary, "person": person}
    if not private:
        said = {"--delta": delta, "--person": person, "--ledger": ledger, "--out": out}
        said["--vocabulary-is-public"] = vocabulary_is_public or None
        refuse_given(said, "for choosing privately; add --epsilon.")
    of_public = ("max_words", "n_folds", "n_sweeps")
    names = ("allow_unlearnable", "doc_topic_prior", "n_rounds") if private else of_public
    chosen: dict[str, Any] = {"n_jobs": -1, "random_state": seed if private else seed or 0}
    chosen |= named_values(set_, names, "--set")
    if private and out is None:
        raise ParameterError(
            "--epsilon pays for topics that are trained here: name a new folder for them, --out."
        )
    if out is not None:
        check_output_folder(out, ledger)
    if private and known in TEXT_FORMATS and not (vocabulary_is_public and vocabulary is not None):
        raise PrivacyError(_NEEDS_WORDS)
    with progress(quiet=quiet) as callback:
        # Parsing comes first, so that a broken file costs no budget; no statistic is computed from it yet.
        documents, _ = load(corpus, known, callback=callback, **options)
        say_skipped(documents, say)
        if epsilon is None:
            counts = _most_common(documents.counts, chosen.pop("max_words", 2000))
            console().print("This compares models on exact counts: use it on public text only.")
            found: Any = choose_n_topics(counts, candidates, callback=callback, **chosen)
        else:
            if vocabulary_is_public:
                documents = declare_public(documents, "choose-topics", listed=vocabulary is not None)
            if not documents.words_are_public and documents.word_origin.kind != "chosen":
                raise PrivacyError(_NEEDS_WORDS)
            unit = documents.unit
            book = ledger_for(ledger, documents, epsilon, delta, unit)
            chosen |= {"epsilon": epsilon, "delta": delta}
            found = choose_n_topics_privately(
                documents, candidates, privacy_unit=unit, ledger=book, callback=callback, **chosen
            )
    if epsilon is None:
        alone = float(found.unigram_perplexity.mean())
        if json_:
            print_json({"best": found.best, "unigram_perplexity": alone, "candidates": found.table()})
        else:
            _show(found, alone)
        return
    tried, release = list(found.candidates), found.release
    if json_:
        print_json({"best": found.n_topics, "candidates": tried, "guarantee": release.guarantee})
    else:
        typer.echo(f"{found.n_topics} topics, chosen among {', '.join(map(str, tried))}")
    assert out is not None  # refused above
    hand_over(release, out, None, say)


def _most_common(counts: Any, most: int) -> Any:
    """Keep the words that stand in most documents: the text is public, so this costs nothing."""
    import numpy as np

    if counts.shape[1] <= most:
        return counts
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    return counts[:, np.sort(np.argsort(-frequency, kind="stable")[:most])]


def _show(found: Any, alone: float) -> None:
    from discreet.cli.display import console_of_results, print_table

    forms = {"perplexity": ".1f", "perplexity_error": ".1f", "coherence": ".3f", "coherence_error": ".3f"}
    rows = [
        [
            f"{row['n_topics']:.0f}{'*' if row['n_topics'] == found.best else ' '}",
            *(format(row[name], form) for name, form in (forms | {"diversity": ".2f"}).items()),
        ]
        for row in found.table()
    ]
    out = console_of_results()
    print_table(out, (">topics", ">perplexity", ">±", ">coherence", ">±", ">diversity"), rows)
    out.print(f"words alone: perplexity {alone:.1f}")
    out.print(f"* {found.best}: the smallest that no other beats by more than one standard error")
