"""UCI bag-of-words: three header lines D, W, NNZ, then one ``document word count`` a line, numbers from 1.

The words are in a file of their own, one a line. Format: https://archive.ics.uci.edu/dataset/164/bag+of+words
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

_LONGEST_HEADER = 64


def read(path: PathLike, told: CountReading) -> Counted:
    """Read a ``docword`` file, in blocks: memory is 12 bytes an entry and a few megabytes."""
    with opened(path, told.callback) as (shape, blocks):
        return Counted(read_triples(blocks, shape))


@contextmanager
def opened(path: PathLike, callback: Callback | None) -> Generator[tuple[Shape, Iterator[NDArray[np.int64]]]]:
    """Open a file: what its header promises, and its lines, as :func:`read_blocks` yields them."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source:
        shape = Shape(*(_header(source.raw, number, problems.name) for number in (1, 2, 3)))
        how: dict[str, Any] = {"callback": callback, "progress": source.progress}
        yield shape, read_blocks(source.raw, shape, 4, problems, **how)


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write the three header lines, then a line for each count."""
    del target
    head = f"{corpus.n_documents}\n{corpus.n_words}\n{corpus.counts.nnz}\n"
    write_rows(corpus, file, show_triples, head)


def _header(raw: IO[bytes], number: int, name: str) -> int:
    line = raw.readline(_LONGEST_HEADER)
    if not line and number == 1:
        raise CorpusError(f"{name} is empty: expected a UCI bag-of-words file.")
    if not line.strip().isdigit():
        raise CorpusError(
            f"{name}, line {number}: expected the number of {('documents', 'words', 'entries')[number - 1]} "
            "and nothing else, as in a UCI bag-of-words file; for another format give ",
            Proposal("format"),
            ".",
        )
    return int(line)
