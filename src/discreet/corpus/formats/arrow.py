"""Reading tables with pyarrow: what all formats that need it share."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, refuse_emptiness_of
from discreet.corpus.formats.parquet_size import VALUE, Growth, grown
from discreet.corpus.formats.text.records import Reading, Record, gather
from discreet.corpus.unpack import refuse_bomb
from discreet.errors import CorpusError, Proposal

__all__ = ["batches", "broken_table", "not_a_table", "open_parquet", "pyarrow", "read_columns"]

_ROWS = 1024
#: Bytes of a batch whose texts are laid out, each as long as it may be.
_BATCH = 1 << 25


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
    refuse_emptiness_of(path, "a Parquet file")
    try:
        file = pq.ParquetFile(path)
        _ = file.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # names of columns need not be UTF-8
        pass
    else:
        return file
    raise not_a_table(os.fspath(path), "a Parquet file")


def batches(file: Any, path: PathLike, columns: list[str], rows: int) -> Iterator[Any]:
    """Yield some rows of a Parquet file at a time, held against what they should be.

    Texts that the file has once, with their numbers in the rows, come so: laid out row by row, a few bytes of numbers
    fill any memory.
    """
    pa, pq = pyarrow()
    name = os.fspath(path)
    growth = _growth(file, path, set(columns))
    if growth is not None:
        refuse_bomb(name, Path(path).stat().st_size, growth.size)
        rows = max(1, min(rows, _BATCH // max(growth.longest, 1)))
        try:
            read = pq.ParquetFile(path, read_dictionary=growth.numbered)
            for batch in read.iter_batches(batch_size=rows, columns=list(dict.fromkeys(columns))):
                batch.validate(full=True)  # text that is no UTF-8, offsets that lead nowhere
                yield batch
            return
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            pass
    raise broken_table(name)


def _growth(file: Any, path: PathLike, columns: set[str]) -> Growth | None:
    """Return what the columns grow to, by their own headers; None where these lead nowhere."""
    with Path(path).open("rb") as raw, suppress(ValueError, TypeError, IndexError, KeyError, OverflowError):
        return grown(raw, file.metadata, columns)
    return None


def not_a_table(name: str, kind: str) -> CorpusError:
    """Return the error for a file of another kind."""
    return CorpusError(
        f"{name} is not {kind} or is damaged; for another format give ", Proposal("format"), "."
    )


def broken_table(name: str) -> CorpusError:
    """Return the error for columns that cannot be read."""
    return CorpusError(f"{name} is damaged: its columns cannot be read; copy or write it again.")


def read_columns(
    tables: Iterable[Any], reading: Reading, problems: Problems, n_rows: int | None = None
) -> Corpus:
    """Count the documents of record batches, a row each.

    One text may stand in many rows, or many times in a list, and take its room once (dictionaries, views, runs): rows
    are made one by one, and may not grow to more than a text does.
    """
    done, taken = [0], 0
    size = Path(problems.name).stat().st_size

    def spend(room: int) -> None:
        nonlocal taken
        taken += room
        refuse_bomb(problems.name, size, taken)

    def records() -> Iterator[Record]:
        for batch in tables:
            for start in range(0, batch.num_rows, _ROWS):
                part = batch.slice(start, _ROWS)
                columns = [
                    repeat(None, part.num_rows) if field is None else _values(part.column(field), spend)
                    for field in reading.fields
                ]
                for text, person, label in zip(*columns, strict=True):
                    spend(VALUE + (len(text) if isinstance(text, str) else 0))
                    yield Record(done[0], text, person, label)
                    done[0] += 1

    return gather(
        records(), reading, problems, place="row {}".format, progress=lambda: (done[0], n_rows or done[0])
    )


def _values(column: Any, spend: Callable[[int], None]) -> Iterator[Any]:
    """Yield the values of a column; of a list only where there is room for it, of what is no text that it is not."""
    types = pyarrow()[0].types
    kind = getattr(column.type, "storage_type", column.type)
    listed = any(of(kind) for of in (types.is_list, types.is_large_list, types.is_fixed_size_list))
    listed = listed or types.is_list_view(kind) or types.is_large_list_view(kind)
    for value in column:
        if not value.is_valid or not types.is_nested(kind):
            yield value.as_py()
        elif not listed or types.is_nested(value.values.type):
            yield [{}] if listed else {}
        else:
            yield list(_elements(value.values, spend))


def _elements(values: Any, spend: Callable[[int], None]) -> Iterator[Any]:
    for value in values:
        element = value.as_py()
        spend(VALUE + (len(element) if isinstance(element, str) else 0))
        yield element
