"""CSV with a header line, and the text in one of its columns."""

import os
from collections.abc import Iterator

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source, open_text
from discreet.corpus.formats.text.csv_rows import csv_rows, refuse_other_delimiter, separator
from discreet.corpus.formats.text.records import Reading, Record, choose_fields, gather

__all__ = ["field_names", "read"]


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read CSV with a header line; ``.tsv`` is separated by tabs."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source, decoded(source, path, reading.encoding, newline="") as file:
        delimiter = separator(path, reading.delimiter)
        header, rows = csv_rows(file, problems, delimiter)
        refuse_other_delimiter(header, [field for field in reading.fields if field], delimiter, problems.name)
        choose_fields(reading, header, problems.name)
        return gather(_records(header, rows, reading), reading, problems, progress=source.progress)


def field_names(path: PathLike, encoding: str, delimiter: str | None = None) -> list[str]:
    """Return the header."""
    with open_text(path, encoding, newline="") as file:
        return csv_rows(file, Problems(""), separator(path, delimiter))[0]


def _records(header: list[str], rows: Iterator[tuple[int, list[str]]], reading: Reading) -> Iterator[Record]:
    text, person, label = (None if name is None else header.index(name) for name in reading.fields)
    assert text is not None
    for line, row in rows:
        yield Record(
            line,
            row[text] or None,  # an empty cell is how CSV says that nothing is there
            None if person is None else row[person],
            None if label is None else row[label],
        )
