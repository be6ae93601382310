"""JSON Lines: one JSON object a line, with the text in one of its fields."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source, open_text
from discreet.corpus.formats.text.records import Reading, gather, records_of_objects

__all__ = ["field_names", "read"]


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read one object a line; blank lines are skipped."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source, decoded(source, path, reading.encoding) as lines:
        return gather(
            records_of_objects(values_of(lines), reading, problems),
            reading,
            problems,
            progress=source.progress,
        )


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the fields of the first object."""
    with open_text(path, encoding) as file, suppress(ValueError, RecursionError):
        for line in file:
            if not line.isspace():
                return list(json.loads(line))
    return []


def values_of(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any], str | None]]:
    """Yield the number of a line, its object, and what is wrong with it."""
    for number, line in enumerate(lines, 1):
        if not line.isspace():
            yield number, *_parse(line)


def _parse(line: str) -> tuple[dict[str, Any], str | None]:
    """Return the object of a line, or what is wrong; parser errors hold the line, so they end here."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return {}, f"broken JSON (column {error.colno}: {error.msg})"
    except (ValueError, RecursionError) as error:
        return {}, f"broken JSON ({type(error).__name__})"
    if not isinstance(value, dict):
        return {}, f"expected one JSON object a line, found {type(value).__name__}"
    return value, None
