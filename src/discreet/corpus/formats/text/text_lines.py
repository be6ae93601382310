"""A text file with one document a line."""

import os

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, decoded, open_source
from discreet.corpus.formats.text.records import Reading, Record, choose_fields, gather

__all__ = ["read"]


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read the only field, ``text``, of each line; a blank line is an empty document."""
    choose_fields(reading, ["text"], os.fspath(path))
    problems = Problems(os.fspath(path))
    with open_source(path) as source, decoded(source, path, reading.encoding) as lines:
        records = (Record(number, line) for number, line in enumerate(lines, 1))
        return gather(records, reading, problems, progress=source.progress)
