"""Counting words of a stream of texts in bounded memory.

A token becomes a number at once; of the text nothing is kept. Numbers of about a million tokens are gathered,
summed by document, and put away as compressed rows: 8 bytes for each different word of each document.
Numbers are given in order of first appearance and replaced at the end, so that the words stand in sorted
order and a corpus does not depend on the order in which its words were met.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.validate import first_few
from discreet.corpus.check import Csr
from discreet.corpus.letters import Breaks
from discreet.corpus.tokenizer import Tokenizer, check_tokens
from discreet.errors import CorpusError

_CHUNK_TOKENS = 1 << 20
_MOST_WORDS = 2**31 - 1


class Int32Buffer:
    """A growing array of int32 that becomes a NumPy array without a copy.

    A list of pieces has to be joined, which needs the memory twice, and the freed pieces rarely go back to the
    system. ``array.array`` grows by reallocation, which for large blocks moves pages and not bytes.
    """

    def __init__(self) -> None:
        self._held = array("i")

    def __len__(self) -> int:
        return len(self._held)

    def append(self, values: NDArray[Any]) -> None:
        """Append integers, which must fit in int32."""
        self._held.frombytes(np.ascontiguousarray(values, np.int32).data.cast("B"))

    def take(self) -> NDArray[np.int32]:
        """Return all numbers as a writable array, and start anew."""
        held, self._held = self._held, array("i")
        return np.frombuffer(held, np.int32) if len(held) else np.zeros(0, np.int32)


class RowChunks:
    """Rows of counts, appended piece by piece."""

    def __init__(self) -> None:
        self._data = Int32Buffer()
        self._indices = Int32Buffer()
        self._sizes: list[NDArray[np.int64]] = []

    def __len__(self) -> int:
        return len(self._data)

    def add(self, data: NDArray[Any], indices: NDArray[Any], sizes: NDArray[Any]) -> None:
        """Append rows: counts, columns, and the number of stored entries of each row."""
        self._data.append(data)
        self._indices.append(indices)
        self._sizes.append(sizes.astype(np.int64, copy=False))

    def matrix(self, n_words: int) -> Csr:
        """Return all rows, and start anew."""
        indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *self._sizes]))
        self._sizes.clear()
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices = self._indices.take().astype(kind, copy=False)
        shape = (len(indptr) - 1, n_words)
        return sp.csr_matrix((self._data.take(), indices, indptr.astype(kind)), shape=shape)


class TextCounter:
    """Counts the tokens of one text after another.

    Parameters
    ----------
    tokenizer : Tokenizer
        How a text becomes tokens.
    vocabulary : tuple of str or None
        Public words: others are not counted, and columns are in this order. None: every word met.
    split_already : bool, default False
        Whether documents come as tokens: then of the tokenizer only phrases, stop words and n-grams are used.
    """

    def __init__(
        self, tokenizer: Tokenizer, vocabulary: tuple[str, ...] | None = None, *, split_already: bool = False
    ) -> None:
        self.split_already = split_already
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        # A word that does not count has number -1 and is dropped in bulk: the loop over tokens stays in C.
        self._number: dict[str, int] = {}
        if vocabulary is None:
            self._number = defaultdict(count().__next__)
        else:
            self._number.update((word, column) for column, word in enumerate(vocabulary))
        self._single = tokenizer.ngram_range == (1, 1)
        if self._single:
            self._number.update(
                dict.fromkeys(tokenizer.stop_words if split_already else tokenizer.ignored, -1)
            )
        self._tokens = array("i")
        self._lengths = array("q")
        self._chunks = RowChunks()
        self._breaks = Breaks()
        self._by_default = tokenizer.by_default

    def add(self, text: str) -> None:
        """Count one document."""
        if self._by_default:
            self._breaks.see(text)
        self._count(self._tokenizer.split(text) if self._single else self._tokenizer.tokens(text))

    def add_tokens(self, tokens: Sequence[str]) -> None:
        """Count one document that was split into tokens already."""
        self._count(self._tokenizer.of_words(tokens))

    def _count(self, words: Iterable[str]) -> None:
        before = len(self._tokens)
        if self._vocabulary is None:
            self._tokens.extend(map(self._number.__getitem__, words))
        else:
            self._tokens.extend(map(self._number.get, words, repeat(-1)))
        self._lengths.append(len(self._tokens) - before)
        if len(self._tokens) >= _CHUNK_TOKENS:
            self._put_away()

    def finish(self) -> tuple[Csr, tuple[str, ...]]:
        """Return the counts (n_documents, n_words), rows sorted by column, and the words."""
        self.check()
        self._put_away()
        if self._vocabulary is not None:
            return self._chunks.matrix(len(self._vocabulary)), self._vocabulary
        words, column = self.columns()
        counts = self._chunks.matrix(len(words))
        for start in range(0, len(counts.indices), _CHUNK_TOKENS):
            part = slice(start, start + _CHUNK_TOKENS)
            counts.indices[part] = column[counts.indices[part]]
        counts.has_sorted_indices = False
        counts.sort_indices()
        return counts, words

    def check(self) -> None:
        """Raise ``CorpusError`` where most of the first texts have no blanks between words."""
        self._breaks.check()

    @property
    def n_entries(self) -> int:
        """How much is held: different words of each document, of texts that are put away."""
        return len(self._chunks)

    def take(self) -> Csr:
        """Return the counts of the texts since the last call, by the numbers that words have now."""
        self._put_away()
        return self._chunks.matrix(len(self._number) if self._vocabulary is None else len(self._vocabulary))

    def columns(self) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """Return all words met in sorted order, and the column of each number; nothing can be counted after that."""
        words = [word for word, number in self._number.items() if number >= 0]
        if len(words) > _MOST_WORDS:
            raise CorpusError(
                f"{len(words)} different words were found, at most {_MOST_WORDS} can be counted."
            )
        self._number.clear()
        order = sorted(range(len(words)), key=words.__getitem__)  # words[i] has number i
        column = np.empty(len(words), np.int32)
        column[order] = np.arange(len(words), dtype=np.int32)
        return tuple(words[i] for i in order), column

    def _put_away(self) -> None:
        tokens = np.frombuffer(self._tokens, np.int32) if len(self._tokens) else np.zeros(0, np.int32)
        lengths = np.frombuffer(self._lengths, np.int64) if len(self._lengths) else np.zeros(0, np.int64)
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), lengths]))
        kept = tokens >= 0
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)])[ends]
        tokens = tokens[kept]
        width = int(tokens.max()) + 1 if len(tokens) else 1
        rows = sp.csr_matrix(
            (np.ones(len(tokens), np.int32), tokens, ends.astype(np.int32)), shape=(len(lengths), width)
        )
        rows.sum_duplicates()
        self._chunks.add(rows.data, rows.indices, np.diff(rows.indptr))
        self._tokens, self._lengths = array("i"), array("q")


def only_texts(texts: Iterable[Any]) -> Iterator[str]:
    """Yield texts; at the first that is none, look through the others and name all that are none."""
    entries = enumerate(texts)
    for number, text in entries:
        if isinstance(text, str):
            yield text
            continue
        others = [(row, other) for row, other in entries if not isinstance(other, str)]
        rows = [number, *(row for row, _ in others)]
        kinds = list(dict.fromkeys(type(each).__name__ for each in (text, *(other for _, other in others))))
        what = f"text {first_few(rows)}: expected str, found {', '.join(kinds)}"
        raise CorpusError(
            f"{what}; {len(rows)} in all: decode them, or leave them out, with their persons: "
            "[text for text in texts if isinstance(text, str)]."
        )


def count_texts(
    texts: Iterable[Any], tokenizer: Tokenizer, vocabulary: tuple[str, ...] | None
) -> tuple[Csr, tuple[str, ...]]:
    """Count texts held in memory: see :meth:`Corpus.from_texts`."""
    counter = TextCounter(tokenizer, vocabulary)
    for text in only_texts(texts):
        counter.add(text)
    return counter.finish()


def count_tokens(
    documents: Iterable[Any], tokenizer: Tokenizer, vocabulary: tuple[str, ...] | None
) -> tuple[Csr, tuple[str, ...]]:
    """Count documents that were split into tokens already: see :meth:`Corpus.from_tokens`."""
    counter = TextCounter(tokenizer, vocabulary, split_already=True)
    for number, document in enumerate(documents):
        tokens = check_tokens(document)
        if isinstance(tokens, str):
            raise CorpusError(f"document {number}: {tokens}.")
        counter.add_tokens(tokens)
    return counter.finish()
