"""What all formats of counts share: what a reader is told, what it gives back, and the rows a writer writes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from discreet._progress import Callback
from discreet.corpus.check import Csr
from discreet.corpus.corpus import Corpus
from discreet.corpus.words.origin import UNKNOWN, WordOrigin

__all__ = ["CountReading", "Counted", "rows_of", "write_rows"]


class CountReading(NamedTuple):
    """Everything a reader of counts is told."""

    words: tuple[str, ...] | None = None
    encoding: str = "utf-8"
    delimiter: str | None = None
    zero_based: bool | None = None
    callback: Callback | None = None

    @property
    def n_words(self) -> int | None:
        """Number of words that were given."""
        return None if self.words is None else len(self.words)


class Counted(NamedTuple):
    """Counts that were read, not checked yet, and whatever else of a corpus the file holds."""

    counts: Csr
    vocabulary: Sequence[str] | None = None
    persons: Any = None
    labels: Any = None
    word_origin: WordOrigin = UNKNOWN
    cut: Mapping[str, Any] | None = None


def rows_of(corpus: Corpus) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the words and counts of each document."""
    indptr, indices, data = corpus.counts.indptr, corpus.counts.indices, corpus.counts.data
    for row in range(corpus.n_documents):
        part = slice(indptr[row], indptr[row + 1])
        yield indices[part].tolist(), data[part].tolist()


def write_rows(
    corpus: Corpus, file: IO[bytes], line: Callable[[int, list[int], list[int]], str], head: str = ""
) -> None:
    """Write a head, then what ``line(row, words, counts)`` returns for each document."""
    file.write(head.encode())
    for row, (words, counts) in enumerate(rows_of(corpus)):
        file.write(line(row, words, counts).encode())
