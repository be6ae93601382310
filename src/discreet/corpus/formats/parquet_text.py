"""Parquet with the text in one of its columns. Needs pyarrow."""

import os
from collections.abc import Iterator

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems
from discreet.corpus.formats.arrow import batches, open_parquet, pyarrow
from discreet.corpus.formats.records import Reading, Record, choose_fields, gather

__all__ = ["field_names", "read"]

_ROWS = 1024


def read(path: PathLike, reading: Reading) -> Corpus:
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
    file = open_parquet(path)
    choose_fields(reading, file.schema_arrow.names, problems.name)
    total = int(file.metadata.num_rows)
    done = [0]

    def records() -> Iterator[Record]:
        wanted = [field for field in reading.fields if field is not None]
        for batch in batches(file, wanted, _ROWS, problems.name):
            columns = [
                [None] * batch.num_rows if field is None else batch.column(field).to_pylist()
                for field in reading.fields
            ]
            for text, owner, label in zip(*columns, strict=True):
                yield Record(done[0], text, owner, label)
                done[0] += 1

    return gather(records(), reading, problems, place="row {}".format, progress=lambda: (done[0], total))


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the names of the columns."""
    del encoding
    return list(pyarrow()[1].read_schema(path).names)
