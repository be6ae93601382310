"""Parquet: text in one column, or counts in columns document, word, count. Needs pyarrow."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet._progress import Callback, tell
from discreet.corpus.check import Csr
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, open_source
from discreet.corpus.formats.count_table import COLUMNS, LongTable, check_columns
from discreet.corpus.formats.records import Reading, Record, choose_fields, gather
from discreet.errors import CorpusError, Proposal

__all__ = ["pyarrow", "read_parquet", "read_parquet_counts"]

_TEXT_ROWS = 1024
_COUNT_ROWS = 1 << 18


def read_parquet(path: PathLike, reading: Reading) -> Corpus:
    """Read a corpus of raw text from Parquet, some rows at a time.

    Parameters
    ----------
    path : path
        The file.
    reading : Reading
        Names of the columns, tokenizer, vocabulary.

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusError
        Where pyarrow is not installed, a column is missing, or a row lacks text or author; names the rows.
    """
    problems = Problems(os.fspath(path))
    file = _open(path)
    choose_fields(reading, file.schema_arrow.names, problems.name)
    total = int(file.metadata.num_rows)
    done = [0]

    def records() -> Iterator[Record]:
        wanted = [field for field in reading.fields if field is not None]
        for batch in _batches(file, wanted, _TEXT_ROWS, problems.name):
            columns = [
                [None] * batch.num_rows if field is None else batch.column(field).to_pylist()
                for field in reading.fields
            ]
            for text, owner, label in zip(*columns, strict=True):
                yield Record(done[0], text, owner, label)
                done[0] += 1

    return gather(records(), reading, problems, place="row {}".format, progress=lambda: (done[0], total))


def read_parquet_counts(
    path: PathLike, vocabulary: tuple[str, ...] | None, callback: Callback | None = None
) -> tuple[Csr, tuple[str, ...]]:
    """Read counts from Parquet with the columns document, word, count.

    Parameters
    ----------
    path : path
        The file.
    vocabulary : tuple of str or None
        Public words: others are dropped.
    callback : callable, optional
        Told of progress.

    Returns
    -------
    counts : scipy.sparse.csr_matrix
    words : tuple of str

    Raises
    ------
    CorpusError
        Names the rows where a count is not a whole number from 0.
    """
    problems = Problems(os.fspath(path))
    file = _open(path)
    check_columns(file.schema_arrow.names, problems.name)
    table = LongTable(vocabulary)
    start, total = 0, int(file.metadata.num_rows)
    for batch in _batches(file, list(COLUMNS), _COUNT_ROWS, problems.name):
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
        tell(callback, "reading", start, total)
    problems.check()
    return table.finish(problems.name)


def pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``, or say how to install them."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        pass
    else:
        return pa, pq
    raise CorpusError("Parquet needs pyarrow, which is not installed: pip install 'discreet[parquet]'.")


def _open(path: PathLike) -> Any:
    pa, pq = pyarrow()
    name = os.fspath(path)
    with open_source(path) as source:
        if not source.raw.read(1):
            raise CorpusError(f"{name} is empty: expected a Parquet file.")
    try:
        file = pq.ParquetFile(path)
        _ = file.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # names of columns need not be UTF-8
        pass
    else:
        return file
    raise CorpusError(
        f"{name} is not a Parquet file, or is damaged; for another format give ", Proposal("format"), "."
    )


def _batches(file: Any, columns: list[str], rows: int, name: str) -> Iterator[Any]:
    pa, _ = pyarrow()
    try:
        for batch in file.iter_batches(batch_size=rows, columns=list(dict.fromkeys(columns))):
            batch.validate(full=True)  # text that is no UTF-8, offsets that lead nowhere
            yield batch
        return
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        pass
    raise CorpusError(f"{name} is damaged: its columns cannot be read; copy or write it again.")


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
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124
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
