"""Files of text: JSON, CSV, plain lines, folders of ``.txt`` files.

Each ``read_...(path, reading)`` hands a :class:`~discreet.corpus.formats.records.Record` a document to ``gather``.
Files are read as streams and nothing is held of them but counts; of ``.json`` alone the whole file is held.
"""

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any

from discreet._base.callers import warn_caller
from discreet._base.validate import first_few, is_there, path_shown
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source, read_text
from discreet.corpus.formats.records import (
    Reading,
    gather,
    is_field_name,
    records_of_objects,
    records_of_rows,
)
from discreet.corpus.formats.table import NOT_READ, TEXT_FORMATS
from discreet.errors import CorpusError, Proposal

#: The first line in which Excel is told what stands between the columns.
_OF_EXCEL = re.compile(r'"?sep=(.)"?\r?\n')
#: What may stand between the columns of CSV, and what it is called.
_BETWEEN = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: The module's limit of 131072 characters a field is global; it is only ever raised here.
_LONGEST_CELL = 2**31 - 1
#: Lines that a header may go over, within quotes.
_LONGEST_HEADER = 20
#: Objects as ``records_of_objects`` takes them: where each stands, the object, and what is wrong with it.
_Objects = Iterable[tuple[int, dict[str, Any], str | None]]


# JSON


def read_jsonl(path: PathLike, reading: Reading) -> Corpus:
    """Read one JSON object a line; blank lines are skipped."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source, decoded(source, path, reading.encoding) as lines:
        records = records_of_objects(_objects_of_lines(lines), reading, problems)
        return gather(records, reading, problems, progress=source.progress)


def read_json(path: PathLike, reading: Reading) -> Corpus:
    """Read an array of objects, or of texts, which are then the field "text"; or one object a line."""
    problems = Problems(os.fspath(path))
    content = read_text(path, reading.encoding)
    value, fault = _parse(content)
    if fault is None and isinstance(value, list):
        records = records_of_objects(_objects_of_array(value), reading, problems, place="element {}")
        return gather(records, reading, problems, place="element {}".format)
    if not content.strip():
        raise CorpusError(f"{problems.name} is empty: expected a JSON array.")
    if not content.lstrip("\ufeff \t\r\n").startswith("{"):
        fault = fault or "line 1: expected an array of objects, [{...}, ...]"
        raise CorpusError(f"{problems.name}, {fault}.")
    records = records_of_objects(_objects_of_lines(content.split("\n")), reading, problems)
    return gather(records, reading, problems)


def _objects_of_lines(lines: Iterable[str]) -> _Objects:
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        value, fault = _parse(line)
        if fault is not None:
            yield number, {}, fault.partition(": ")[2]
        elif not isinstance(value, dict):
            yield number, {}, f"expected one JSON object a line, found {type(value).__name__}"
        else:
            yield number, value, None


def _objects_of_array(values: list[Any]) -> _Objects:
    for number, value in enumerate(values, 1):
        if isinstance(value, str):
            yield number, {"text": value}, None
        elif isinstance(value, dict):
            yield number, value, None
        else:
            yield number, {}, f"expected an object or a text, found {type(value).__name__}"


def _parse(content: str) -> tuple[Any, str | None]:
    """Return what JSON holds, or what is wrong and where; a parser's own error holds the text, so it ends here."""
    try:
        return json.loads(content.removeprefix("\ufeff")), None
    except json.JSONDecodeError as error:
        return None, f"line {error.lineno}: broken JSON (column {error.colno}: {error.msg})"
    except (ValueError, RecursionError) as error:
        return None, f"line 1: broken JSON ({type(error).__name__})"


# CSV


def read_csv(path: PathLike, reading: Reading) -> Corpus:
    """Read CSV with a header line; where no delimiter is said, the header shows it."""
    problems, usual = Problems(os.fspath(path)), _separator(path, reading.delimiter)
    wanted, encoding = reading.fields.wanted, reading.encoding
    with open_source(path) as source, decoded(source, path, encoding, newline="", names=wanted) as file:
        start = _lines_of_header(file)
        if (told := _OF_EXCEL.fullmatch(start[0])) is not None:
            start = ["\n", *_lines_of_header(file)]  # lines are counted as they stand in the file
            usual = usual if reading.delimiter else told[1]
        delimiter = _delimiter_of(start, wanted, usual)
        if delimiter != usual and reading.delimiter is not None:
            absent = [field for field in wanted if field not in _names_of(start, delimiter)]
            kind = {";": "semicolons, as spreadsheets write them in much of Europe", "\t": "tabs"}
            either = f" (no column is named {' or '.join(map(repr, absent))}, either)" if absent else ""
            raise CorpusError(
                f"{problems.name}, line 1: its columns are separated by {kind.get(delimiter, repr(delimiter))}; give "
                f"`delimiter={delimiter!r}`{either}."
            )
        if delimiter != usual:
            problems.notes.append(f"columns are separated by {_BETWEEN[delimiter]}")
        rows = _csv_rows(_csv_reader(chain(start, file), delimiter), problems)
        header = next(rows, None)
        if header is None:
            problems.check()
            raise CorpusError(f"{problems.name} is empty: expected a header line and at least one document.")
        records = records_of_rows(header[1], rows, reading, problems)
        # An empty cell is how CSV says that nothing is there.
        records = (record._replace(text=record.text or None) for record in records)
        return gather(records, reading, problems, progress=source.progress)


def _separator(path: PathLike, delimiter: str | None) -> str:
    """Return the character between fields: as said, or a tab for ``.tsv``, or a comma."""
    if delimiter == "\\t":  # as it is typed
        return "\t"
    if delimiter is None:
        return "\t" if ".tsv" in Path(path).suffixes else ","
    if len(delimiter) != 1:
        raise CorpusError(f"delimiter must be one character, got {len(delimiter)}.")
    return delimiter


def _lines_of_header(file: IO[str]) -> list[str]:
    """Return the lines of a file up to the end of its header, blank ones before it included."""
    lines: list[str] = []
    while len(lines) < _LONGEST_HEADER:
        lines.append(file.readline())
        header = "".join(lines)
        if not lines[-1] or (header.strip() and header.count('"') % 2 == 0):
            break
    return lines


def _delimiter_of(lines: list[str], wanted: list[str], usual: str) -> str:
    """Return what separates the columns of a header: the usual, where all columns asked for then stand in it.

    Otherwise the only other that shows them all, or that alone takes a header apart that the usual leaves whole: its
    columns are then named in the refusal.
    """
    names = {one: _names_of(lines, one) for one in dict.fromkeys((usual, *_BETWEEN))}
    showing = [one for one, found in names.items() if set(wanted) <= set(found)]
    if usual in showing:
        return usual
    parting = [one for one, found in names.items() if len(found) > 1 and all(map(is_field_name, found))]
    others = showing or (parting if len(names[usual]) < 2 else [])
    return others[0] if len(others) == 1 else usual


def _names_of(lines: list[str], delimiter: str) -> list[str]:
    """Return the names in a header; none where it is broken under this delimiter."""
    try:
        return next(filter(None, _csv_reader(lines, delimiter)), [])
    except csv.Error:
        return []


def _csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _csv_rows(reader: Any, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    length = None
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(f"line {line}", f"broken CSV ({error}; a quote that is not closed?)")
            return
        if not row:  # a blank line
            continue
        length = len(row) if length is None else length
        if len(row) == length:
            yield line, row
        else:
            quotes = " (is a text with a delimiter in it not in quotes?)" if len(row) > length else ""
            problems.add(f"line {line}", f"{len(row)} fields, the header has {length}{quotes}")


# Lines


def read_lines(path: PathLike, reading: Reading) -> Corpus:
    """Read the only field, ``text``, of each line; a blank line is an empty document."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source, decoded(source, path, reading.encoding) as lines:
        rows = ((number, (line,)) for number, line in enumerate(lines, 1))
        records = records_of_rows(["text"], rows, reading, problems)
        return gather(records, reading, problems, progress=source.progress)


# A folder


_FOLDER_FIELDS = ("text", "file", "folder")
_TEXT_ENDINGS = (".txt", ".txt.gz")


def read_txt(path: PathLike, reading: Reading) -> Corpus:
    """Read every ``.txt`` and ``.txt.gz`` file of a folder, in the order of their paths.

    Where there is none, every file is a document, as in the folders of 20 Newsgroups and of Enron; hidden ones aside.
    The fields of a file are ``text``, ``file`` (its path below the folder) and
    ``folder`` (the folder it lies in), so that ``person="folder"`` is a folder for each person.
    """
    name = os.fspath(path)
    if not is_there(path):
        raise CorpusError(f"{path_shown(path)} does not exist; check the path.")
    problems = Problems(name)
    folder = Path(path)
    if not folder.is_dir():
        raise CorpusError(
            f'{name} is a file; format="txt" reads a folder of .txt files (unpack an archive of them), '
            'format="lines" a document a line.'
        )
    inside = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    names, ignored = _documents(inside)
    others = _named(ignored)
    if not names:
        found = f"only {others}; save them as .txt" if ignored else "nor any other"
        raise CorpusError(f"{name} holds no .txt file, {found}; expected one document per file.")
    if ignored:
        warn_caller(
            f"{name}: {others} ignored, for only .txt files are read; save them as .txt, or name a table."
        )
    done = [0]

    def rows() -> Iterator[tuple[int, tuple[str, str, str]]]:
        for number, file in enumerate(names):
            done[0] = number
            above = PurePosixPath(file).parent.as_posix()
            try:
                text = read_text(folder / file, reading.encoding)
            except CorpusError as error:
                if reading.encoding != "utf-8" or Proposal("encoding") not in error.args:
                    raise
                raise CorpusError(*error.args, _of_two_encodings(folder, names)) from None
            yield number, (text, file, "" if above == "." else above)

    place, n_files = names.__getitem__, len(names)
    records = records_of_rows(_FOLDER_FIELDS, rows(), reading, problems)
    return gather(records, reading, problems, place=place, progress=lambda: (done[0], n_files))


def _of_two_encodings(folder: Path, names: list[str]) -> str:
    """Say of a folder in which some files are UTF-8, and others are not, that no one encoding reads it; or nothing."""
    wide, other = 0, list[str]()
    for file in names:
        with open_source(folder / file) as source:
            text = source.raw.read()
        if not text.isascii():
            is_utf8 = text.decode("utf-8", "ignore").encode() == text
            wide += is_utf8
            other += [] if is_utf8 else [file]
    if not wide:
        return ""
    return (
        f" That would misread {wide} others, which are UTF-8 and have letters beyond ASCII: save the {len(other)} that "
        f"are not as UTF-8 ({first_few(other)})."
    )


def _documents(files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files that are documents, and those of word processors, or tables beside them, which are not."""
    found = sorted(files)
    shown = [name for name in found if not any(part.startswith(".") for part in name.split("/"))]
    texts = [name for name in found if name.endswith(_TEXT_ENDINGS)]
    others = (*NOT_READ, *chain(*TEXT_FORMATS.values())) if texts else NOT_READ
    ignored = [name for name in shown if name.lower().endswith(others)]
    return texts or [name for name in shown if name not in set(ignored)], ignored


def _named(files: list[str]) -> str:
    """Count files by their endings: "40 .docx files, 1 .pdf file"."""
    kinds = Counter(PurePosixPath(name).suffix.lower() for name in files)
    return ", ".join(f"{n} {kind} file{'s' * (n != 1)}" for kind, n in kinds.most_common())
