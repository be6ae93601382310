"""Counts as a wide CSV table: a header of words, then a row of counts for each document."""

import os

import numpy as np

from discreet._progress import tell
from discreet.corpus.files import PathLike, Problems, decoded, open_source
from discreet.corpus.formats.counts.count_table import LARGEST
from discreet.corpus.formats.counts.counted import Counted, CountReading
from discreet.corpus.formats.text.csv_rows import csv_rows, separator
from discreet.corpus.tokens.counting import RowChunks
from discreet.errors import CorpusError

__all__ = ["read"]

#: Names of a first column that holds no counts: data frames write their index under none.
_INDEX = ("", "document", "doc", "doc_id", "id", "index", "unnamed: 0")
_TELL_EVERY = 1000


def read(path: PathLike, told: CountReading) -> Counted:
    """Read counts from CSV with a column for each word; other words than those given are dropped.

    A first column without a name, or called "document" or "id", is left out where it is the index of the rows.
    """
    problems, chunks, n_rows = Problems(os.fspath(path)), RowChunks(), 0
    with open_source(path) as source, decoded(source, path, told.encoding, newline="") as file:
        header, rows = csv_rows(file, problems, separator(path, told.delimiter))
        first = 1 if header[0].strip().lower() in _INDEX else 0
        words = tuple(header[first:])
        if not words:
            raise CorpusError(f"{problems.name}, line 1: expected a column for each word.")
        place = None
        if told.words is not None:
            column = {word: number for number, word in enumerate(told.words)}
            place = np.array([column.get(word, -1) for word in words], np.int64)
        for line, row in rows:
            n_rows += 1
            counts = _counts(row[first:])
            if isinstance(counts, str):
                problems.add(f"line {line}", counts)
            elif not problems.found:
                kept = np.flatnonzero(counts if place is None else (counts > 0) & (place >= 0))
                columns = kept if place is None else place[kept]
                order = np.argsort(columns, kind="stable")
                chunks.add(counts[kept][order], columns[order], np.array([len(kept)]))
            if n_rows % _TELL_EVERY == 0:
                tell(told.callback, "reading", *source.progress())
    problems.check()
    if n_rows == 0:
        raise CorpusError(f"{problems.name} is empty: expected at least one document.")
    given = words if told.words is None else told.words
    return Counted(chunks.matrix(len(given)), given)


def _counts(cells: list[str]) -> np.ndarray | str:
    """Return the counts of a row, or what is wrong with one of them."""
    try:
        values = np.array(list(map(float, cells)))
    except ValueError:
        empty = any(not cell.strip() for cell in cells)
        return "a cell is empty, expected 0" if empty else "a count is not a number"
    if not np.isfinite(values).all():
        return "a count is NaN or infinite, expected a whole number"
    if (values < 0).any():
        return "negative count"
    if (values > LARGEST).any():
        return f"count above {LARGEST}"
    if (values != np.floor(values)).any():
        return "a count is not a whole number"
    return values.astype(np.int64)
