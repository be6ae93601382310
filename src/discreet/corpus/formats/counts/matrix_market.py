"""Matrix Market coordinate files: documents are rows, words are columns.

Format: https://math.nist.gov/MatrixMarket/formats.html
"""

import os
from typing import IO

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, open_source
from discreet.corpus.formats.counts.counted import Counted, CountReading, write_rows
from discreet.corpus.formats.counts.number_triples import Shape, read_triples, show_triples
from discreet.errors import CorpusError, Proposal

__all__ = ["read", "write"]

_FIELDS = ("integer", "unsigned-integer", "real", "double", "pattern")


def read(path: PathLike, told: CountReading) -> Counted:
    """Read a matrix: ``coordinate``, ``general``, and integer, real (whole values) or pattern (all 1)."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source:
        field = _banner(source.raw, problems.name)
        shape, line = _sizes(source.raw, problems.name)
        counts = read_triples(
            source.raw,
            shape,
            line + 1,
            problems,
            allow_real=field in ("real", "double"),
            n_fields=2 if field == "pattern" else 3,
            least=0,
            comment=b"%",
            callback=told.callback,
            progress=source.progress,
        )
    return Counted(counts)


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
