"""A JSON array of objects, or of texts, read one element at a time; or one object a line under the same ending."""

import io
import json
import os
from collections.abc import Iterator
from typing import IO, Any

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source, open_text
from discreet.corpus.formats.text import jsonl
from discreet.corpus.formats.text.records import Reading, gather, records_of_objects
from discreet.errors import CorpusError

__all__ = ["field_names", "read"]

_PIECE = 1 << 16
_LONGEST = 1 << 28
_decoder = json.JSONDecoder()


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read an array of objects, or of texts, which are then the field "text"; or one object a line."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source, decoded(source, path, reading.encoding) as file:
        start = _start(file)
        values = (
            jsonl.values_of(_lines(start, file))
            if start.lstrip().startswith("{")
            else _elements(start, file, problems)
        )
        records = records_of_objects(values, reading, problems)
        return gather(records, reading, problems, progress=source.progress)


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the fields of the first object."""
    with open_text(path, encoding) as file:
        start = _start(file)
        if not start.lstrip().startswith("{"):
            for _, value, fault in _elements(start, file, Problems("")):
                return [] if fault is not None else list(value)
            return []
    return jsonl.field_names(path, encoding)


def _lines(start: str, file: IO[str]) -> Iterator[str]:
    """Return all lines of a file of which the first piece has been read."""
    yield from io.StringIO(start + file.readline(), newline="\n")
    yield from file


def _start(file: IO[str]) -> str:
    """Return the first piece that is not all blank."""
    while piece := file.read(_PIECE):
        if piece.lstrip():
            return piece.lstrip("\ufeff")
    return ""


def _elements(
    held: str, file: IO[str], problems: Problems
) -> Iterator[tuple[int, dict[str, Any], str | None]]:
    """Yield the line, the object and what is wrong with it, for each element."""
    place = len(held) - len(held.lstrip())
    line = 1 + held.count("\n", 0, place)
    if not held:
        raise CorpusError(f"{problems.name} is empty: expected a JSON array.")
    if held[place] != "[":
        raise CorpusError(f"{problems.name}, line {line}: expected an array of objects, [{{...}}, ...].")
    place += 1
    size, ended, comma = _PIECE, False, True
    while True:
        value, stop, fault = _next(held, place, comma)
        if stop >= 0:
            line += held.count("\n", place, stop)
            if fault == "]":
                if held[stop:].strip() or file.read(_PIECE).strip():
                    problems.add(f"line {line}", "something stands behind the end of the array")
                return
            yield line, *_object(value)
            held, place, comma, size = held[stop:], 0, False, _PIECE
            continue
        piece = "" if len(held) - place > _LONGEST else file.read(size)
        ended = not piece
        if ended:
            line += held.count("\n", place, len(held) - len(held[place:].lstrip(" \t\r\n,")))
            problems.add(
                f"line {line}", "broken JSON: an element that begins here, or the array, does not end"
            )
            return
        held, place, size = held[place:] + piece, 0, min(2 * size, _LONGEST)


def _next(held: str, place: int, comma: bool) -> tuple[Any, int, str | None]:
    """Return the element that begins at a place and where it ends; -1 where it does not end."""
    while place < len(held) and (held[place] in " \t\r\n" or (held[place] == "," and not comma)):
        comma = comma or held[place] == ","
        place += 1
    if place < len(held) and held[place] == "]":
        return None, place + 1, "]"
    if not comma or place >= len(held):
        return None, -1, None
    try:
        value, stop = _decoder.raw_decode(held, place)
    except (ValueError, RecursionError):  # the error would show what it found
        return None, -1, None
    # A number may go on in the next piece; what it is does not matter, because it is no document.
    return value, stop, None


def _object(value: Any) -> tuple[dict[str, Any], str | None]:
    if isinstance(value, str):
        return {"text": value}, None
    if isinstance(value, dict):
        return value, None
    return {}, f"expected an object or a text, found {type(value).__name__}"
