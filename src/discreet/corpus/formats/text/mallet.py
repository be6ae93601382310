"""MALLET's import format: ``name label text`` on each line, separated by blanks."""

import os
from collections.abc import Iterator
from typing import IO

from discreet._validate import first_few
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source
from discreet.corpus.formats.counts.counted import write_rows
from discreet.corpus.formats.text.records import Reading, Record, choose_fields, gather
from discreet.errors import CorpusError

__all__ = ["read", "write"]


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read the fields ``name``, ``label`` and ``text`` of each line; blank lines are skipped."""
    choose_fields(reading, ["name", "label", "text"], os.fspath(path))
    problems = Problems(os.fspath(path))

    def records(lines: Iterator[str]) -> Iterator[Record]:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            parts = line.split(None, 2)
            if len(parts) < 2:
                problems.add(f"line {number}", "expected a name, a label and the text")
                continue
            values = {"name": parts[0], "label": parts[1], "text": parts[2] if len(parts) == 3 else ""}
            text, person, label = reading.fields
            yield Record(
                number,
                values[text],
                None if person is None else values[person],
                None if label is None else values[label],
            )

    with open_source(path) as source, decoded(source, path, reading.encoding) as lines:
        return gather(records(iter(lines)), reading, problems, progress=source.progress)


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write each document as its words, each as often as it is counted."""
    del target
    _check_blanks(corpus)
    vocabulary = corpus.vocabulary
    labels = None if corpus.labels is None else corpus.labels.tolist()

    def line(row: int, words: list[int], counts: list[int]) -> str:
        text = "".join(f" {vocabulary[word]}" * count for word, count in zip(words, counts, strict=True))
        return f"{row} {'-' if labels is None else labels[row]}{text}\n"

    write_rows(corpus, file, line)


def _check_blanks(corpus: Corpus) -> None:
    """MALLET separates by blanks, so nothing may hold one."""
    for kind, values in (("word", corpus.vocabulary), ("label of row", corpus.labels)):
        bad = [
            i
            for i, value in enumerate([] if values is None else values)
            if str(value).split() != [str(value)]
        ]
        if bad:
            raise CorpusError(f'{kind} {first_few(bad)}: "mallet" cannot hold blanks; write another format.')
