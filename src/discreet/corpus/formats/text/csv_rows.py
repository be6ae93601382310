"""Rows of a CSV file with a header line, whatever they hold."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from discreet.corpus.files import PathLike, Problems
from discreet.errors import CorpusError, Proposal

__all__ = ["csv_rows", "refuse_other_delimiter", "separator"]


def separator(path: PathLike, delimiter: str | None) -> str:
    """Return the character between fields: as said, or a tab for ``.tsv``, or a comma."""
    if delimiter == "\\t":  # as it is typed
        return "\t"
    if delimiter is None:
        return "\t" if ".tsv" in Path(path).suffixes else ","
    if len(delimiter) != 1:
        raise CorpusError(f"delimiter must be one character, got {len(delimiter)}.")
    return delimiter


def csv_rows(
    file: IO[str], problems: Problems, delimiter: str
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the header and an iterator of (line, fields); rows of another length are noted as problems."""
    # The module's limit of 131072 characters a field is global; it is only ever raised here.
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    rows = _numbered(reader, problems)
    for _, header in rows:
        return header, _same_length(rows, len(header), problems)
    problems.check()
    raise CorpusError(f"{problems.name} is empty: expected a header line and at least one document.")


def refuse_other_delimiter(header: list[str], wanted: Sequence[str], used: str, name: str) -> None:
    """Name the delimiter of a file whose header was not taken apart: a semicolon in much of Europe."""
    if all(field in header for field in wanted):
        return
    line = used.join(header)
    for other in ";\t|,":
        if other != used and all(field in line.split(other) for field in wanted):
            kind = {";": "semicolons, as spreadsheets write them in much of Europe", "\t": "tabs"}
            raise CorpusError(
                f"{name}, line 1: its columns are separated by {kind.get(other, repr(other))}; give ",
                Proposal("delimiter", other),
                ".",
            )


def _numbered(reader: Any, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(f"line {line}", f"broken CSV ({error}; a quote that is not closed?)")
            return
        if row:  # a blank line
            yield line, row


def _same_length(
    rows: Iterator[tuple[int, list[str]]], length: int, problems: Problems
) -> Iterator[tuple[int, list[str]]]:
    for line, row in rows:
        if len(row) == length:
            yield line, row
        else:
            problems.add(f"line {line}", f"{len(row)} fields, the header has {length}")
