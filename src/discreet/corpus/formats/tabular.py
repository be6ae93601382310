"""Tables with a document a row: data frames in memory, Parquet, spreadsheets.

Frames of pandas, polars, pyarrow and whatever else narwhals knows are read through narwhals; Parquet by
pyarrow, a batch at a time; spreadsheets (Excel's of all ages, and OpenDocument's) by python-calamine.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

from discreet._base.arrays import is_frame
from discreet._base.persons import person_key
from discreet._base.validate import first_few, nearest, quoted
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, refuse_emptiness_of, unless_damaged
from discreet.corpus.formats.records import (
    Reading,
    Record,
    choose_fields,
    gather,
    is_field_name,
    records_of_rows,
    refuse_repeated,
    show_fields,
)
from discreet.errors import CorpusError

_ROWS = 4096
#: Rows of a sheet among which the one that names the columns is looked for.
_TITLE_ROWS = 20


# Frames


def holds_frames(source: Any) -> bool:
    """Whether this is a frame, gives frames, or holds some, and not names of files."""
    if isinstance(source, str | os.PathLike):
        return False
    if is_frame(source):
        return True
    if isinstance(source, Sequence):
        return bool(source) and not isinstance(source[0], str | os.PathLike)
    return isinstance(source, Iterator)


def read_frames(source: Any, reading: Reading) -> Corpus:
    """Count the documents of a frame or dataset, or of an iterable of them, of which one piece is held at a time.

    Parameters
    ----------
    source : data frame, pyarrow dataset, Dask data frame, or iterable of such
        Whatever narwhals knows; a dataset gives its batches, a Dask frame its partitions, a polars lazy frame what it
        collects in batches.
    reading : Reading
    """
    if hasattr(source, "to_frame") and not hasattr(source, "columns"):
        raise CorpusError(
            "expected a frame with a column of texts, found one column alone: pass the frame and text=, or "
            "Corpus.from_texts(column)."
        )
    wanted, sources = reading.fields.wanted, [source] if is_frame(source) else source
    pieces = (piece for one in sources for piece in _pieces(one, wanted))
    return _of_frames(pieces, reading, Problems("the frame (its rows counted from 1)"))


def _pieces(source: Any, wanted: list[str]) -> Iterator[Any]:
    if hasattr(source, "partitions") and hasattr(source, "npartitions"):  # Dask
        present = [name for name in wanted if name in list(source.columns)]
        for number in range(source.npartitions):
            yield source[present].partitions[number].compute()
    elif hasattr(source, "to_batches") and not hasattr(source, "column_names"):
        # pyarrow's datasets, not its tables
        present = [name for name in wanted if name in source.schema.names]
        yield from source.to_batches(columns=present)
    elif hasattr(source, "collect_batches") and set(wanted) <= set(source.collect_schema().names()):
        yield from source.select(wanted).collect_batches()  # polars' lazy frames
    else:
        yield source


def _of_frames(frames: Iterator[Any], reading: Reading, problems: Problems, n_rows: int = 0) -> Corpus:
    """Count the documents of one frame after another."""
    import narwhals as nw

    wanted, done = reading.fields.wanted, [0]

    def records() -> Iterator[Record]:
        for native in frames:
            table = _as_table(native, wanted)
            frame: Any = None
            try:
                frame = nw.from_native(table)
                names = frame.collect_schema().names()
            except nw.exceptions.DuplicateError:
                names = list(getattr(table, "column_names", table.columns))
                refuse_repeated(names, names, problems.name)
            choose_fields(reading, filter(lambda name: isinstance(name, str), names), problems)
            frame = frame.select(wanted)
            if isinstance(frame, nw.LazyFrame):
                frame = frame.collect()
            for start in range(0, len(frame), _ROWS):
                part = frame[start : start + _ROWS]
                values: dict[str, list[Any]] = {name: part[name].to_list() for name in wanted}
                columns = [[None] * len(part) if name is None else values[name] for name in reading.fields]
                for text, person, label in zip(*columns, strict=True):
                    done[0] += 1  # rows count from 1, as in files
                    yield Record(done[0], text, person, label)

    progress = (lambda: (done[0], n_rows)) if n_rows else None
    return gather(records(), reading, problems, place="row {}".format, progress=progress)


def _as_table(batch: Any, wanted: list[str]) -> Any:
    """Return a record batch of pyarrow, or the wanted columns of a dataset, as a table; anything else as it is."""
    of_dataset = hasattr(batch, "column_names") and not hasattr(batch, "columns")
    if not of_dataset and type(batch).__name__ != "RecordBatch":
        return batch
    if of_dataset and isinstance(batch.column_names, dict):
        raise CorpusError(
            f"this holds several datasets, {first_few(map(repr, batch.column_names))}: pass one of them."
        )
    pa = _pyarrow()
    if of_dataset:
        names = [name for name in wanted if name in batch.column_names]
        other = [pa.nulls(len(batch))] * (len(batch.column_names) - len(names))  # for their names alone
        others = [name for name in batch.column_names if name not in names]
        return pa.table([*(list(batch[name]) for name in names), *other], [*names, *others])
    return pa.Table.from_batches([batch])


# Parquet


def read_parquet(path: PathLike, reading: Reading) -> Corpus:
    """Read a Parquet file, a row a document, some thousand rows at a time."""
    parquet = _pyarrow("pyarrow.parquet")
    refuse_emptiness_of(path, "a Parquet file")
    problems = Problems(os.fspath(path))
    not_one = CorpusError(
        f"{problems.name} is not a Parquet file or is damaged; for another format give `format=`."
    )
    with unless_damaged(not_one, _pyarrow().ArrowException):
        file: Any = parquet.ParquetFile(path)
        names, n_rows = list(file.schema_arrow.names), int(file.metadata.num_rows)
    choose_fields(reading, names, problems)
    batches = file.iter_batches(batch_size=_ROWS, columns=reading.fields.wanted)
    corpus = _of_frames(_sound(batches, problems.name), reading, problems, n_rows)
    return corpus.read_as(fields=tuple(names)) if reading.spill is None else corpus


def _sound(batches: Iterable[Any], name: str) -> Iterator[Any]:
    """Yield batches held against what they should be."""
    damaged = CorpusError(f"{name} is damaged: its columns cannot be read; copy or write it again.")
    iterator = iter(batches)
    while True:
        with unless_damaged(damaged, _pyarrow().ArrowException):
            batch: Any = next(iterator, None)
            if batch is None:
                return
            batch.validate(full=True)  # text that is no UTF-8, offsets that lead nowhere
        yield batch


def _pyarrow(module: str = "pyarrow") -> Any:
    with suppress(ImportError):
        return import_module(module)
    raise CorpusError("Parquet needs pyarrow, which is not installed: pip install 'discreet[parquet]'.")


# Spreadsheets


def read_xlsx(path: PathLike, reading: Reading) -> Corpus:
    """Read a sheet of a workbook, whose first row that is not empty names the columns; empty rows are skipped.

    Titles may stand above: rows with fewer cells than a later one that has all columns asked for. Where no sheet is
    named, the one that has these columns is read, so that a cover sheet may stand before it. Of formulas, the values
    that were last computed are read.
    """
    problems = Problems(os.fspath(path))
    book = _workbook(path, problems.name)
    names: list[str] = list(book.sheet_names)
    if reading.sheet is not None and reading.sheet not in names:
        raise CorpusError(
            f"{problems.name} has no sheet {quoted(reading.sheet)}; its sheets are {show_fields(names)}."
            + nearest(reading.sheet, names)
        )
    wanted, looked_at = set(reading.fields.wanted), names if reading.sheet is None else [reading.sheet]
    sheets = {name: _rows(book, name, wanted) for name in looked_at}
    fitting = [name for name, (_, header, _) in sheets.items() if wanted <= set(header)]
    if reading.sheet is not None and not fitting:
        having = [name for name in names if wanted <= set(_rows(book, name, wanted)[1])]
        if having:
            raise CorpusError(
                f"{problems.name}: sheet {quoted(reading.sheet)} does not have the columns asked for; sheet "
                f"{quoted(having[0])} has them. Name it with `sheet=`."
            )
    if len(names) > 1 and len(fitting) != 1 and reading.sheet is None:
        listed = "; ".join(
            f"{name!r} (columns: {show_fields(header)})" for name, (_, header, _) in sheets.items()
        )
        columns = {column for _, header, _ in sheets.values() for column in filter(is_field_name, header)}
        found = (
            f"{'More than' if fitting else 'Not'} one sheet has the columns asked for: name it with `sheet=`."
        )
        for name, field in reading.fields._asdict().items():
            if field is not None and field not in columns:
                found = f"No sheet has a column for `{name}={quoted(field)}`."
                found += nearest(field, columns) or " Name one of these."
                break
        raise CorpusError(f"{problems.name} has {len(names)} sheets: {listed}. {found}")
    sheet = fitting[0] if fitting else next(iter(sheets))
    at, header, rows = sheets[sheet]
    if len(looked_at) > 1:
        problems.notes.append(f"sheet {sheet!r} is read")
    if at > 1:
        problems.notes.append(f"row {at} names the columns")
    if not header:
        raise CorpusError(f"{problems.name} is empty: expected names of columns and at least one document.")
    records = records_of_rows(header, rows, reading, problems)
    # Cells have types, a column has none: a number or a date among the texts is what somebody typed.
    records = (record._replace(text=None if record.text is None else str(record.text)) for record in records)
    return gather(records, reading, problems, place="row {}".format)


def _workbook(path: PathLike, name: str) -> Any:
    refuse_emptiness_of(path, "a spreadsheet")
    try:
        import python_calamine as calamine
    except ImportError:
        raise CorpusError(
            "spreadsheets need python-calamine, which is not installed: pip install 'discreet[xlsx]', or save the "
            "sheet as .csv."
        ) from None
    broken = CorpusError(
        f"{name} is not a spreadsheet, is encrypted or damaged; save it as .xlsx or .csv, or give `format=`."
    )
    with unless_damaged(broken, calamine.CalamineError), Path(path).open("rb") as raw:
        return calamine.CalamineWorkbook.from_filelike(raw)


def _rows(book: Any, sheet: str, wanted: set[str]) -> tuple[int, list[str], Iterator[tuple[int, list[Any]]]]:
    """Return the row that names the columns of a sheet, their names, none where it is empty, and the rows below."""
    damaged = CorpusError(f"sheet {quoted(sheet)} is damaged; save the workbook again.")
    with unless_damaged(damaged, import_module("python_calamine").CalamineError):
        cells: list[list[Any]] = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    rows = ((number, list(map(_value, row))) for number, row in enumerate(cells, 1))
    filled = ((number, row) for number, row in rows if any(cell is not None for cell in row))
    first = list(islice(filled, _TITLE_ROWS))
    if not first:
        return 0, [], filled
    sizes = [sum(cell is not None for cell in row) for _, row in first]
    showing = [place for place, (_, row) in enumerate(first) if wanted <= set(map(str, row))]
    wide = next((place for place, size in enumerate(sizes) if size > 1), 0)  # below a title
    below = next((place for place in showing if sizes[place] > max(sizes[:place], default=0)), wide)
    number, header = first[below]
    return number, ["" if cell is None else str(cell) for cell in header], chain(first[below + 1 :], filled)


def _value(cell: Any) -> Any:
    """Return what stands in a cell: None where it is empty, an int where a number is whole (all are floats).

    Those that may be rounded, which name no person, stay floats.
    """
    whole = isinstance(cell, float) and cell.is_integer() and person_key(cell)
    return int(cell) if whole else None if cell == "" else cell
