"""Parquet with the text in one of its columns. Needs pyarrow."""

import os

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems
from discreet.corpus.formats.arrow import batches, open_parquet, read_columns
from discreet.corpus.formats.text.records import Reading, choose_fields

__all__ = ["field_names", "read"]

_ROWS = 1024


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read columns of Parquet, some rows at a time."""
    problems = Problems(os.fspath(path))
    file = open_parquet(path)
    choose_fields(reading, file.schema_arrow.names, problems.name)
    wanted = [field for field in reading.fields if field is not None]
    tables = batches(file, path, wanted, _ROWS)
    return read_columns(tables, reading, problems, int(file.metadata.num_rows))


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the names of the columns."""
    del encoding
    return list(open_parquet(path).schema_arrow.names)
