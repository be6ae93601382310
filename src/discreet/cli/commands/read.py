"""`discreet read`: the private documents behind a topic, for whoever holds them. Nothing of it may leave.

Every line that is printed says that it is private. The documents are read twice, and only those that are shown are
held. No file is written, no budget spent and no ledger asked: this is no release.
"""

import itertools
import shutil
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import typer

import discreet
from discreet.cli.options import PRIVATE, Count, OfRelease
from discreet.errors import CorpusError, ReleaseError

#: Characters that are shown of a document.
_LONGEST = 1500


def read(
    model: Path,
    corpus: Path,
    *,
    topic: Count,
    documents: Count = 5,
    least_words: Count = 10,
    how: OfRelease,
) -> None:
    """Print the documents in which a topic is strongest. Local only: this is private text, marked in every line.

    No promise covers what is shown. Whoever names a topic or drops words after reading here has used the texts: the
    release's promise does not cover that choice.

    --topic: Number of the topic, as `discreet topics` lists it.
    --documents -n: Documents to show.
    --least-words: Leave out documents with fewer words of the model.
    """
    from discreet.corpus.formats.table import TEXT_FORMATS
    from discreet.report.wording import naming

    release = discreet.Release.load(model)
    n_topics = len(release.topic_word)
    if topic > n_topics:
        raise ReleaseError(f"--topic must be from 1 to {n_topics}, but is {topic}.")
    known = how.format_of(corpus)
    if known not in TEXT_FORMATS:
        raise CorpusError("this file holds counts, not texts to read; name the file of texts.")
    options = how.options(known, stop_words=None, release=release)
    options["vocabulary"] = release.vocabulary
    found = discreet.read_corpus(corpus, known, **options)
    lengths = np.asarray(found.counts.sum(1)).ravel()
    shares = release.transform(found.counts, n_jobs=-1)[:, topic - 1]
    order = np.argsort(-shares, kind="stable")
    chosen: list[int] = order[lengths[order] >= least_words][:documents].tolist()
    texts = _texts(corpus, known, chosen, len(shares), options)
    _say(f"topic {topic}: {', '.join(naming(release, 8)[topic - 1])}")
    if not chosen:
        _say(f"no document has {least_words} words of the model; try --least-words 1")
    rows = np.arange(len(shares)) if found.rows is None else found.rows
    for number in chosen:
        _say()
        _say(
            f"document {rows[number]}: {100 * shares[number]:.0f} % of its {lengths[number]:.0f} words of the model"
        )
        _say(texts[number])


def _say(text: str = "") -> None:
    """Print text, each line marked, with nothing in it that moves a terminal's cursor."""
    from discreet.release.files import printable

    width = max(shutil.get_terminal_size((100, 24)).columns - len(PRIVATE), 20)
    for paragraph in text.splitlines() or [""]:
        for line in textwrap.wrap(printable(paragraph.replace("\t", " ")), width) or [""]:
            typer.echo(PRIVATE + line)


def _texts(
    corpus: Path, known: str, chosen: list[int], n_documents: int, options: dict[str, Any]
) -> dict[int, str]:
    """Read the documents again, and keep the first characters of those that are to be shown."""
    from discreet.corpus import Tokenizer

    kept: dict[int, str] = {}
    wanted, seen = set(chosen), itertools.count()

    def keep(text: str) -> list[str]:
        """See every text, in the order of the documents, and count none of its words."""
        number = next(seen)
        if number in wanted:
            kept[number] = text if len(text) <= _LONGEST else text[:_LONGEST] + " \u2026"
        return []

    again: dict[str, Any] = options | {"tokenizer": Tokenizer(tokenizer=keep, lowercase=False)}
    discreet.read_corpus(corpus, known, **again)
    if next(seen) != n_documents:
        raise CorpusError("the file was changed while it was read; try again.")
    return kept
