"""Reading tables with pyarrow: what all formats that need it share."""

import os
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, refuse_emptiness_of
from discreet.corpus.formats.text.records import Reading, Record, gather
from discreet.corpus.unpack import refuse_bomb
from discreet.errors import CorpusError, Proposal

__all__ = ["batches", "broken_table", "not_a_table", "open_parquet", "pyarrow", "read_columns"]

_ROWS = 1024
_ROW = 16  # bytes that a row takes at least, once read


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


def open_parquet(path: PathLike) -> Any:
    """Open a Parquet file; one that is none is an error of ours."""
    pa, pq = pyarrow()
    name = os.fspath(path)
    refuse_emptiness_of(path, "a Parquet file")
    try:
        file = pq.ParquetFile(path)
        _ = file.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # names of columns need not be UTF-8
        pass
    else:
        return file
    raise not_a_table(name, "a Parquet file")


def batches(file: Any, columns: list[str], rows: int, name: str) -> Iterator[Any]:
    """Yield some rows of a Parquet file at a time, held against what they should be."""
    pa, _ = pyarrow()
    _refuse_bomb(file.metadata, set(columns), name)
    try:
        for batch in file.iter_batches(batch_size=rows, columns=list(dict.fromkeys(columns))):
            batch.validate(full=True)  # text that is no UTF-8, offsets that lead nowhere
            yield batch
        return
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        pass
    raise broken_table(name)


def _refuse_bomb(metadata: Any, columns: set[str], name: str) -> None:
    """Refuse columns that unpack to more than texts and counts do, as the file says itself."""
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    grown = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.partition(".")[0] in columns)
    refuse_bomb(name, Path(name).stat().st_size, grown)


def not_a_table(name: str, kind: str) -> CorpusError:
    """Return the error for a file of another kind."""
    return CorpusError(
        f"{name} is not {kind} or is damaged; for another format give ", Proposal("format"), "."
    )


def broken_table(name: str) -> CorpusError:
    """Return the error for columns that cannot be read."""
    return CorpusError(f"{name} is damaged: its columns cannot be read; copy or write it again.")


def _plain(value: Any) -> Any:
    return value.as_py()


def read_columns(
    tables: Iterable[Any], reading: Reading, problems: Problems, n_rows: int | None = None
) -> Corpus:
    """Count the documents of record batches, a row each.

    One text may stand in many rows and take its room once (dictionaries, views, runs): rows are made one by one,
    and may not grow to more than a text does.
    """
    done, grown = [0], 0
    size = Path(problems.name).stat().st_size

    def records() -> Iterator[Record]:
        nonlocal grown
        for batch in tables:
            for start in range(0, batch.num_rows, _ROWS):
                part = batch.slice(start, _ROWS)
                columns = [
                    repeat(None, part.num_rows) if field is None else map(_plain, part.column(field))
                    for field in reading.fields
                ]
                for text, owner, label in zip(*columns, strict=True):
                    grown += _ROW + (len(text) if isinstance(text, str) else 0)
                    refuse_bomb(problems.name, size, grown)
                    yield Record(done[0], text, owner, label)
                    done[0] += 1

    return gather(
        records(), reading, problems, place="row {}".format, progress=lambda: (done[0], n_rows or done[0])
    )
