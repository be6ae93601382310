"""Counts as CSV with the columns document, word, count."""

import csv
import io
import os
from typing import IO

from discreet._progress import tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source
from discreet.corpus.formats.counts.count_table import COLUMNS, LARGEST, LongTable, check_columns
from discreet.corpus.formats.counts.counted import Counted, CountReading, rows_of
from discreet.corpus.formats.text.csv_rows import csv_rows, refuse_other_delimiter, separator

__all__ = ["read", "write"]

_TELL_EVERY = 100_000


def read(path: PathLike, told: CountReading) -> Counted:
    """Read counts from CSV with the columns document, word, count; other words than those given are dropped."""
    problems = Problems(os.fspath(path))
    table = LongTable(told.words)
    with open_source(path) as source, decoded(source, path, told.encoding, newline="") as file:
        delimiter = separator(path, told.delimiter)
        header, rows = csv_rows(file, problems, delimiter)
        refuse_other_delimiter(header, COLUMNS, delimiter, problems.name)
        check_columns(header, problems.name)
        at, word_at, count_at = (header.index(column) for column in COLUMNS)
        for line, row in rows:
            fault = _add(table, row[at], row[word_at], row[count_at])
            if fault is not None:
                problems.add(f"line {line}", fault)
            if line % _TELL_EVERY == 0:
                tell(told.callback, "reading", *source.progress())
    problems.check()
    return Counted(*table.finish(problems.name))


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a line for each count; a document without words takes one, with no word and count 0."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator(target, None), lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, (words, counts) in enumerate(rows_of(corpus)):
        lines = [(row, corpus.vocabulary[word], count) for word, count in zip(words, counts, strict=True)]
        writer.writerows(lines or [(row, "", 0)])
    text.detach()


def _add(table: LongTable, document: str, word: str, count: str) -> str | None:
    digits = count.strip()
    if not document:
        return "no document"
    if digits.startswith("-"):
        return "negative count"
    if not (digits.isascii() and digits.isdigit()):
        return "the count is not a whole number"
    number = int(digits) if len(digits) <= 18 else LARGEST + 1
    if number > LARGEST:
        return "count above 2147483647"
    if not word and number:
        return "no word"
    row = table.row(document)
    if word:
        table.add(row, table.column(word), number)
    return None
