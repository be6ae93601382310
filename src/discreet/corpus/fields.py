"""Which fields a file of raw text has, for whoever decides whose presence is protected."""

import json
from contextlib import suppress
from itertools import islice
from typing import Any

from discreet.corpus.files import PathLike, Problems, open_text
from discreet.corpus.formats.csv_text import csv_rows, separator

__all__ = ["field_names"]

_LONGEST_NAME = 40


def field_names(path: PathLike, format: str, *, encoding: str = "utf-8") -> list[str]:  # noqa: A002
    """Return the names of the fields of a file that was read: of its first record, its header or its columns.

    Ask only where a field was found by its name: a CSV file without a header has a document there.

    Parameters
    ----------
    path : path
    format : str
        "jsonl", "csv" or "parquet"; other formats have no fields of their own.
    encoding : str, default "utf-8"

    Returns
    -------
    list of str
        Names that can be printed on a line, shortened.
    """
    names: list[Any] = []
    if format == "jsonl":
        with open_text(path, encoding) as file, suppress(ValueError, RecursionError):
            names = [
                name
                for line in islice((line for line in file if line.strip()), 1)
                for name in json.loads(line)
            ]
    elif format == "csv":
        with open_text(path, encoding, newline="") as file:
            names = csv_rows(file, Problems(""), separator(path, None))[0]
    elif format == "parquet":
        from discreet.corpus.formats.parquet import pyarrow

        names = pyarrow()[1].read_schema(path).names
    return [
        name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        for name in names
        if name.isprintable()
    ]
