"""Counts as Parquet with the columns document, word, count. Needs pyarrow."""

import os
from typing import IO, Any

import numpy as np

from discreet._progress import tell
from discreet._validate import is_number
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems
from discreet.corpus.formats.arrow import batches, open_parquet, pyarrow
from discreet.corpus.formats.counts.count_table import COLUMNS, LongTable, check_columns
from discreet.corpus.formats.counts.counted import Counted, CountReading
from discreet.errors import CorpusError

__all__ = ["read", "write"]

_ROWS_READ = 1 << 18
_ROWS_WRITTEN = 1 << 16


def read(path: PathLike, told: CountReading) -> Counted:
    """Read counts from Parquet with the columns document, word, count; other words than those given are dropped."""
    problems = Problems(os.fspath(path))
    file = open_parquet(path)
    check_columns(file.schema_arrow.names, problems.name)
    table = LongTable(told.words)
    start, total = 0, int(file.metadata.num_rows)
    for batch in batches(file, path, list(COLUMNS), _ROWS_READ):
        counts, faults = _counts(batch.column("count"))
        documents, rows = _coded(batch.column("document"))
        words, columns = _coded(batch.column("word"))
        faults |= {int(row): "no document" for row in np.flatnonzero(rows < 0)}
        if any(word is not None and not isinstance(word, str) for word in words):
            raise CorpusError(f"{problems.name}: column 'word' must hold text.")
        blank = np.array([not word for word in words], bool)
        wordless = (columns < 0) | (blank[columns] if len(words) else True)
        faults |= {int(row): "no word" for row in np.flatnonzero(wordless & (counts != 0))}
        for row in sorted(faults):
            problems.add(f"row {start + row}", faults[row])
        if not problems.found:
            row_of = np.array([table.row(document) for document in documents], np.int64)
            column_of = np.array([table.column(word) if word else -1 for word in words] or [-1], np.int64)
            table.extend(row_of[rows], np.where(wordless, -1, column_of[columns]), counts)
        start += batch.num_rows
        tell(told.callback, "reading", start, total)
    problems.check()
    return Counted(*table.finish(problems.name))


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a row for each count; a document without words takes one."""
    del target
    pa, pq = pyarrow()
    words = pa.array(corpus.vocabulary, pa.string())
    schema = pa.schema(
        [("document", pa.int64()), ("word", pa.dictionary(pa.int32(), pa.string())), ("count", pa.int32())]
    )
    counts = corpus.counts
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, corpus.n_documents, _ROWS_WRITTEN):
            part = counts[start : start + _ROWS_WRITTEN]
            sizes = np.diff(part.indptr)
            held = np.maximum(sizes, 1)  # a document without words takes one row, with no word and count 0
            documents = start + np.repeat(np.arange(len(sizes)), held)
            first = np.cumsum(held) - held
            empty = np.zeros(len(documents), bool)
            empty[first[sizes == 0]] = True
            numbers, amounts = np.zeros(len(documents), np.int32), np.zeros(len(documents), np.int32)
            numbers[~empty], amounts[~empty] = part.indices, part.data
            column = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32(), mask=empty), words)
            writer.write_table(pa.table([pa.array(documents), column, pa.array(amounts)], schema=schema))


def _coded(column: Any) -> tuple[list[Any], Any]:
    """Return the different values of a column, and for each row the number of its value (-1: none)."""
    import pyarrow as pa

    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def _counts(column: Any) -> tuple[Any, dict[int, str]]:
    values = column.to_pylist()
    faults: dict[int, str] = {}
    numbers = np.zeros(len(values), np.int64)
    try:
        exact = np.array(values)
        whole = exact.dtype.kind in "iu" and exact.size > 0
        simple = whole and int(exact.min()) >= 0 and int(exact.max()) <= 2**31 - 1
    except (ValueError, OverflowError, TypeError):
        exact, simple = numbers, False
    if simple:
        return exact.astype(np.int64), faults
    for row, value in enumerate(values):
        if not is_number(value):
            faults[row] = "the count is not a number"
        elif value < 0:
            faults[row] = "negative count"
        elif value > 2**31 - 1:
            faults[row] = "count above 2147483647"
        elif int(value) != value:
            faults[row] = "the count is not a whole number"
        else:
            numbers[row] = int(value)
    return numbers, faults
