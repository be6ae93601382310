"""Arrow files and streams, and Feather, with the text in one of their columns. Needs pyarrow."""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, refuse_emptiness_of
from discreet.corpus.formats.arrow import broken_table, not_a_table, pyarrow, read_columns
from discreet.corpus.formats.arrow_size import unpacked_size
from discreet.corpus.formats.text.records import Reading, choose_fields
from discreet.corpus.unpack import refuse_bomb

__all__ = ["field_names", "read"]

_KIND = "an Arrow file, or a Feather file of version 2,"


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read the IPC file format (Feather, version 2) or the IPC stream format, a batch at a time."""
    problems = Problems(os.fspath(path))
    with _open(path) as file:
        choose_fields(reading, file.schema.names, problems.name)
        return read_columns(_batches(file, problems.name), reading, problems)


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the names of the columns."""
    del encoding
    with _open(path) as file:
        return list(file.schema.names)


def _open(path: PathLike) -> Any:
    pa, _ = pyarrow()
    refuse_emptiness_of(path, "an Arrow file")
    name = os.fspath(path)
    grown = -1
    with Path(path).open("rb") as raw, suppress(ValueError, struct.error):
        grown = unpacked_size(raw)
    if grown < 0:
        raise not_a_table(name, _KIND)
    refuse_bomb(name, Path(path).stat().st_size, grown)
    for opened in (pa.ipc.open_file, pa.ipc.open_stream):
        try:
            file = opened(pa.OSFile(os.fspath(path)))
            _ = file.schema.names
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError):
            continue
        return file
    raise not_a_table(name, _KIND)


def _batches(file: Any, name: str) -> Iterator[Any]:
    pa, _ = pyarrow()
    try:
        if hasattr(file, "num_record_batches"):
            for number in range(file.num_record_batches):
                yield _checked(file.get_batch(number))
        else:
            for batch in file:
                yield _checked(batch)
        return
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError):
        pass
    raise broken_table(name)


def _checked(batch: Any) -> Any:
    batch.validate(full=True)  # text that is no UTF-8, offsets that lead nowhere
    return batch
