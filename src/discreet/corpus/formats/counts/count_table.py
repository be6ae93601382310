"""Counts as a table with the columns document, word, count: ``csv-counts`` and ``parquet-counts``.

Documents are numbered in order of first appearance of whatever stands in ``document``; rows of one document
may stand apart. A row with no word and count 0 is how an empty document is written.
"""

from array import array
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import count as counting
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.corpus.check import Csr
from discreet.corpus.formats.text.records import show_fields
from discreet.errors import CorpusError

__all__ = ["COLUMNS", "LARGEST", "LongTable", "check_columns"]

COLUMNS = ("document", "word", "count")
#: The largest count.
LARGEST = 2**31 - 1


class LongTable:
    """Takes rows (document, word, count) and becomes a matrix.

    Parameters
    ----------
    vocabulary : tuple of str or None
        Public words: others are dropped. None: every word met, in sorted order.
    """

    def __init__(self, vocabulary: tuple[str, ...] | None) -> None:
        self._vocabulary = vocabulary
        self._row: defaultdict[Hashable, int] = defaultdict(counting().__next__)
        self._column: dict[str, int] = defaultdict(counting().__next__)
        if vocabulary is not None:
            self._column = {word: i for i, word in enumerate(vocabulary)}
        self._rows, self._columns, self._counts = array("i"), array("i"), array("i")

    def row(self, document: Hashable) -> int:
        """Return the number of a document."""
        return self._row[document]

    def column(self, word: str) -> int:
        """Return the number of a word, -1 for one outside the vocabulary."""
        return self._column[word] if self._vocabulary is None else self._column.get(word, -1)

    def add(self, row: int, column: int, count: int) -> None:
        """Add one entry."""
        if column >= 0 and count:
            self._rows.append(row)
            self._columns.append(column)
            self._counts.append(count)

    def extend(self, rows: Any, columns: Any, counts: Any) -> None:
        """Add entries given as arrays of numbers."""
        kept = (columns >= 0) & (counts > 0)
        for held, values in ((self._rows, rows), (self._columns, columns), (self._counts, counts)):
            held.frombytes(values[kept].astype(np.int32).tobytes())

    def finish(self, name: str) -> tuple[Csr, tuple[str, ...]]:
        """Return the counts and the words."""
        if not self._row:
            raise CorpusError(f"{name} is empty: expected at least one row.")
        rows, columns = np.array(self._rows, np.int32), np.array(self._columns, np.int32)
        words = self._vocabulary
        if words is None:
            met = list(self._column)
            order = sorted(range(len(met)), key=met.__getitem__)
            place = np.empty(len(met), np.int32)
            place[order] = np.arange(len(met), dtype=np.int32)
            columns, words = place[columns] if met else columns, tuple(met[i] for i in order)
        if not words:
            raise CorpusError(f"{name}: no words in {len(self._row)} document{'s' * (len(self._row) != 1)}.")
        # int64: entries of one document and word are summed, and the sum is checked against int32 later.
        entries = np.array(self._counts, np.int64)
        return sp.coo_matrix((entries, (rows, columns)), shape=(len(self._row), len(words))).tocsr(), words


def check_columns(names: Sequence[str], name: str) -> None:
    """Refuse a table without the three columns."""
    absent = [column for column in COLUMNS if column not in names]
    if absent:
        raise CorpusError(
            f"{name} has no column {', '.join(absent)}; its columns are {show_fields(list(names))}. "
            "Counts stand in columns document, word, count; for raw text leave out -counts of the format."
        )
