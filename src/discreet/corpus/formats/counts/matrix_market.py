"""Matrix Market coordinate files: documents are rows, words are columns.

Format: https://math.nist.gov/MatrixMarket/formats.html
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, open_source
from discreet.corpus.formats.counts.counted import Counted, CountReading, write_rows
from discreet.corpus.formats.counts.number_triples import Shape, read_blocks, read_triples, show_triples
from discreet.errors import CorpusError, Proposal

__all__ = ["opened", "read", "write"]

_FIELDS = ("integer", "unsigned-integer", "real", "double", "pattern")


def read(path: PathLike, told: CountReading) -> Counted:
    """Read a matrix: ``coordinate``, ``general``, and integer, real (whole values) or pattern (all 1)."""
    with opened(path, told.callback) as (shape, blocks):
        return Counted(read_triples(blocks, shape))


@contextmanager
def opened(path: PathLike, callback: Callback | None) -> Generator[tuple[Shape, Iterator[NDArray[np.int64]]]]:
    """Open a file: what its header promises, and its lines, as :func:`read_blocks` yields them."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source:
        field = _banner(source.raw, problems.name)
        shape, line = _sizes(source.raw, problems.name)
        how: dict[str, Any] = {
            "allow_real": field in ("real", "double"),
            "n_fields": 2 if field == "pattern" else 3,
            "least": 0,
            "comment": b"%",
            "callback": callback,
            "progress": source.progress,
        }
        yield shape, read_blocks(source.raw, shape, line + 1, problems, **how)


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write coordinate, general, and call the whole numbers real, without which gensim does not read them."""
    del target
    sizes = f"{corpus.n_documents} {corpus.n_words} {corpus.counts.nnz}\n"
    write_rows(corpus, file, show_triples, f"%%MatrixMarket matrix coordinate real general\n{sizes}")


def _banner(raw: IO[bytes], name: str) -> str:
    line = raw.readline(1024)
    if not line:
        raise CorpusError(f"{name} is empty: expected a Matrix Market file.")
    words = line.lower().split()
    if not words or words[0] != b"%%matrixmarket":
        raise CorpusError(
            f"{name}, line 1: expected %%MatrixMarket; for another format give ", Proposal("format"), "."
        )
    kinds = [word.decode("ascii", "replace") for word in words[1:5]]
    field = kinds[2] if len(kinds) == 4 else ""
    if kinds != ["matrix", "coordinate", field, "general"] or field not in _FIELDS:
        raise CorpusError(
            f'{name}, line 1: expected "matrix coordinate integer general" (or real, or pattern, for '
            "integer); write it as that."
        )
    return field


def _sizes(raw: IO[bytes], name: str) -> tuple[Shape, int]:
    """Return rows, columns and entries, and the number of their line."""
    number = 1
    for line in raw:
        number += 1
        if line.startswith(b"%") or line.isspace():
            continue
        parts = line.split()
        if len(parts) == 3 and all(part.isdigit() and len(part) <= 18 for part in parts):
            return Shape(*map(int, parts)), number
        break
    raise CorpusError(f"{name}, line {number}: expected three numbers: rows, columns and entries.")
