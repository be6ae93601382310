"""Spreadsheets (.xlsx) with the text in one column of the first sheet. Needs openpyxl."""

import os
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, refuse_emptiness_of
from discreet.corpus.formats.text.records import Reading, Record, choose_fields, gather
from discreet.corpus.unpack import is_damage, refuse_bomb
from discreet.errors import CorpusError, Proposal

__all__ = ["field_names", "read"]

#: Of the format. openpyxl makes an empty row of each one that is missing, as many as a file says.
_LAST_ROW = 1 << 20


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read the first sheet, whose first row names the columns; empty rows are skipped.

    Of formulas, the values that were last computed are read.
    """
    problems = Problems(os.fspath(path))
    with _rows(path) as rows:
        header = _header(rows, problems.name)
        choose_fields(reading, header, problems.name)
        columns = [None if field is None else header.index(field) for field in reading.fields]

        def records() -> Iterator[Record]:
            for number, row in rows:
                if any(cell is not None for cell in row):
                    cells = [None if c is None or c >= len(row) else row[c] for c in columns]
                    yield Record(number, *cells)

        return gather(records(), reading, problems, place="row {}".format)


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the names in the first row."""
    del encoding
    with _rows(path) as rows:
        return _header(rows, os.fspath(path))


def _header(rows: Iterator[tuple[int, tuple[Any, ...]]], name: str) -> list[str]:
    for _, row in rows:
        return ["" if cell is None else str(cell) for cell in row]
    raise CorpusError(f"{name} is empty: expected names of columns and at least one document.")


@contextmanager
def _rows(path: PathLike) -> Generator[Iterator[tuple[int, tuple[Any, ...]]]]:
    openpyxl, name = _openpyxl(), os.fspath(path)
    refuse_emptiness_of(path, "a spreadsheet")
    _refuse_hostile(Path(path), name)
    # Opened here: openpyxl leaves a damaged book open.
    with Path(path).open("rb") as raw:
        book, sheet = None, None
        try:
            book = openpyxl.load_workbook(raw, read_only=True, data_only=True, keep_links=False)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what the file says of its size need not be true
        except Exception as error:  # in many ways, deep in zipfile, expat and openpyxl
            if not _is_damage(error):
                raise
            sheet = None
        if sheet is None:
            raise _broken(name)
        yield _guarded(sheet.iter_rows(values_only=True), name)


def _guarded(rows: Iterator[tuple[Any, ...]], name: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    number = 0
    while True:
        number += 1
        row: tuple[Any, ...] | None = None
        failed = False
        try:
            row = next(rows, None)
        except Exception as error:
            if not _is_damage(error):
                raise
            failed = True
        if failed:
            raise _broken(name)
        if row is None:
            return
        if number > _LAST_ROW:
            raise CorpusError(f"{name} is damaged: no sheet has a row below {_LAST_ROW}; save it again.")
        yield number, row


def _is_damage(error: Exception) -> bool:
    return is_damage(error) or type(error).__module__.startswith("openpyxl.")


def _broken(name: str) -> CorpusError:
    return CorpusError(
        f"{name} is not an .xlsx spreadsheet, is encrypted or damaged; save it as .xlsx or .csv, or give ",
        Proposal("format"),
        ".",
    )


def _refuse_hostile(path: Path, name: str) -> None:
    """A spreadsheet is a zip archive of XML, of which openpyxl holds the shared texts in memory."""
    grown = -1
    try:
        with zipfile.ZipFile(path) as archive:
            grown = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        pass
    if grown < 0:
        raise _broken(name)
    refuse_bomb(name, path.stat().st_size, grown)


def _openpyxl() -> Any:
    try:
        import openpyxl  # pyright: ignore[reportMissingModuleSource]
    except ImportError:
        pass
    else:
        return openpyxl
    raise CorpusError(
        ".xlsx needs openpyxl, which is not installed: pip install 'discreet[xlsx]', or save the sheet as .csv."
    )
