"""Counts: of a stream of texts, in bounded memory; and one gate for matrices of them.

A token becomes a number at once; of the text nothing is kept. Numbers of about a million tokens are gathered,
summed by document, and put away as compressed rows: 8 bytes for each different word of each document.
Numbers are given in order of first appearance and replaced at the end, so that the words stand in sorted
order and a corpus does not depend on the order in which its words were met.

Matrices are whatever scikit-learn would take; they are checked, and come out as canonical CSR of int32.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import COUNT_THE_WORDS, Csr, as_numbers, inside_its_shape
from discreet._base.validate import first_few
from discreet.corpus.languages import Breaks
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
        self._data, self._indices = Int32Buffer(), Int32Buffer()
        self._sizes: list[NDArray[np.int64]] = []
        self._breaks = Breaks()
        self._by_default = tokenizer.by_default
        self._came = hash("texts")

    def add(self, text: str) -> None:
        """Count one document."""
        self._came = hash((self._came, text))
        if self._by_default:
            self._breaks.see(text)
        self._count(self._tokenizer.split(text) if self._single else self._tokenizer.tokens(text))

    def add_tokens(self, tokens: Sequence[str]) -> None:
        """Count one document that was split into tokens already."""
        self._came = hash((self._came, *tokens))
        self._count(self._tokenizer.of_words(tokens))

    @property
    def texts_digest(self) -> str:
        """A digest of all documents as they came, before anything was left out, by Python's hash of this process."""
        return f"{self._came:x}"

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
            return self._matrix(len(self._vocabulary)), self._vocabulary
        words, column = self.columns()
        counts = self._matrix(len(words))
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
        return len(self._data)

    def take(self) -> Csr:
        """Return the counts of the texts since the last call, by the numbers that words have now."""
        self._put_away()
        return self._matrix(len(self._number) if self._vocabulary is None else len(self._vocabulary))

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

    def _matrix(self, n_words: int) -> Csr:
        """Return the rows that are put away, and start anew."""
        indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *self._sizes]))
        self._sizes.clear()
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices = self._indices.take().astype(kind, copy=False)
        shape = (len(indptr) - 1, n_words)
        return sp.csr_matrix((self._data.take(), indices, indptr.astype(kind)), shape=shape)

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
        self._data.append(rows.data)
        self._indices.append(rows.indices)
        self._sizes.append(np.diff(rows.indptr).astype(np.int64, copy=False))
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
) -> tuple[Csr, tuple[str, ...], str]:
    """Count texts held in memory, and tell their digest: see :meth:`Corpus.from_texts`."""
    counter = TextCounter(tokenizer, vocabulary)
    for text in only_texts(texts):
        counter.add(text)
    return *counter.finish(), counter.texts_digest


def count_tokens(
    documents: Iterable[Any], tokenizer: Tokenizer, vocabulary: tuple[str, ...] | None
) -> tuple[Csr, tuple[str, ...], str]:
    """Count documents that were split into tokens already, and tell their digest: see :meth:`Corpus.from_tokens`."""
    counter = TextCounter(tokenizer, vocabulary, split_already=True)
    for number, document in enumerate(documents):
        tokens = check_tokens(document)
        if isinstance(tokens, str):
            raise CorpusError(f"document {number}: {tokens}.")
        counter.add_tokens(tokens)
    return *counter.finish(), counter.texts_digest


# The gate

_LARGEST = 2**31 - 1


def check_counts(X: Any, *, n_words: int | None = None, advice: str = COUNT_THE_WORDS) -> Csr:
    """Check a document-word matrix and return it as canonical CSR with int32 counts.

    Parameters
    ----------
    X : Corpus, sparse matrix or array, or array-like of shape (n_documents, n_words)
        Counts: not negative, finite, whole numbers, at most 2147483647. Floats that are whole are taken.
    n_words : int, optional
        Number of columns that is expected.
    advice : str
        What to do where X holds text.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_documents, n_words), int32
        Columns sorted, duplicates summed, no stored zeros. Shares memory with ``X`` where ``X`` already was
        that; ``X`` itself is never changed.

    Raises
    ------
    CorpusError
        Names the first rows where something is wrong; all kinds of mistakes in one message. Text is refused
        without being shown.
    TypeError
        Where entries are neither numbers nor text.
    """
    known: Any = getattr(X, "counts", None)  # a Corpus: its counts were checked when it was made
    counts: Csr = known if isinstance(known, sp.csr_matrix) else canonical_counts(X, advice)
    if counts.shape[1] == 0:
        raise CorpusError(
            f"Found array with 0 feature(s) (shape={counts.shape}) while a minimum of 1 is required."
        )
    if counts.shape[0] == 0:
        raise CorpusError(
            f"Found array with 0 sample(s) (shape={counts.shape}) while a minimum of 1 is required."
        )
    if n_words is not None and counts.shape[1] != n_words:
        raise CorpusError(
            f"X has {counts.shape[1]} features, but {n_words} words are expected; "
            "count with the same vocabulary: read_corpus(..., vocabulary=...)."
        )
    return counts


def refuse_texts(X: Any, advice: str = COUNT_THE_WORDS) -> None:
    """Refuse what cannot be a matrix of counts for its kind alone: a text, a column or a list of them.

    Looks at the kind of X and of its first element, and reads nothing: it may be asked before anything is booked.

    Raises
    ------
    CorpusError
    """
    shape = getattr(X, "shape", None)
    first = X[0] if isinstance(X, list | tuple) and len(X) > 0 else None
    inner = first[0] if isinstance(first, list | tuple) and len(first) > 0 else None
    if any(isinstance(one, str | bytes) for one in (X, first, inner)):
        raise CorpusError(f"X holds text, but counts of words are expected: {advice}.")
    if (
        isinstance(first, list | tuple)
        and len({len(row) if isinstance(row, list | tuple) else -1 for row in X}) > 1
    ):
        raise CorpusError(
            "X is a list of lists of different lengths, but counts have a column for each word: pass a matrix; or if "
            "these are documents as numbers of words, Corpus.from_tokens."
        )
    if hasattr(type(X), "column_names") and hasattr(type(X), "features"):
        raise CorpusError(
            "X is a dataset with columns, but counts of words are expected: fit_topics(X, text=..., person=...) takes "
            "it as it is."
        )
    if isinstance(shape, tuple) and len(shape) != 2:
        raise CorpusError(
            f"Expected 2D array (documents x words), got an array of shape {shape} instead. If these are texts, "
            f"{advice}. Reshape your data: X.reshape(1, -1) is one document."
        )


def canonical_counts(X: Any, advice: str = COUNT_THE_WORDS) -> Csr:
    """Do what :func:`check_counts` does, but allow no documents and no words."""
    counts = _as_csr(X, advice)
    data = _whole(counts)
    counts: Csr = sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.data = counts.data.astype(np.int64)
        counts.sum_duplicates()
        if len(counts.data) and int(counts.data.max()) > _LARGEST:
            raise CorpusError(
                f"row {_row(counts, int(counts.data.argmax()))}: repeated entries add up to over 2^31 - 1."
            )
    if len(counts.data) and not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    counts.data = counts.data.astype(np.int32, copy=False)
    kind = np.int32 if counts.nnz <= _LARGEST and counts.shape[1] <= _LARGEST else np.int64
    counts.indices = counts.indices.astype(kind, copy=False)
    counts.indptr = counts.indptr.astype(kind, copy=False)
    return counts


def _as_csr(X: Any, advice: str) -> Any:
    if sp.issparse(X):
        if len(X.shape) != 2:
            raise CorpusError(
                f"expected a matrix (documents x words), got a sparse array of shape {X.shape}."
            )
        if X.dtype.kind == "c":
            raise CorpusError("Complex data not supported: counts are whole numbers.")
        return inside_its_shape(X)
    values = as_numbers(X, advice=advice)
    if values.dtype.kind == "c":
        raise CorpusError("Complex data not supported: counts are whole numbers.")
    if values.ndim != 2:
        raise CorpusError(
            f"Expected 2D array (documents x words), got an array of shape {values.shape} instead. "
            "Reshape your data: X.reshape(1, -1) is one document."
        )
    if values.dtype.char in "eg":  # scipy has no half precision, and none above double
        values = values.astype(np.float64)
    return sp.csr_matrix(values)  # stores what is not zero: NaN too


def _whole(counts: Any) -> NDArray[Any]:
    """Return the stored values as integers, or raise one error for everything that is wrong with them."""
    data: NDArray[Any] = counts.data
    if data.dtype.kind == "b":
        return data.astype(np.int32)
    if data.dtype.kind not in "iuf":
        data = data.astype(np.float64)
    faults: list[str] = []

    def note(bad: NDArray[np.bool_], what: str) -> None:
        if bad.any():
            rows = np.unique(_rows(counts, np.flatnonzero(bad)))
            faults.append(f"{what} (row {first_few(rows.tolist())})")

    if data.dtype.kind == "f":
        finite = np.isfinite(data)
        note(np.isnan(data), "Input X contains NaN")
        note(np.isinf(data), "Input X contains infinity")
        data = np.where(finite, data, 0)
        note(data != np.floor(data), "counts that are not whole numbers")
    note(data < 0, "Negative values in data passed to X")
    note(data > _LARGEST, "counts above 2147483647")
    if faults:
        raise CorpusError(
            f"X must hold counts of words, whole numbers from 0: {'; '.join(faults)}. "
            "Correct these rows or drop them."
        )
    return data if data.dtype == np.int32 else data.astype(np.int32)


def _rows(counts: Any, entries: NDArray[Any]) -> NDArray[Any]:
    return np.searchsorted(counts.indptr, entries, side="right") - 1


def _row(counts: Any, entry: int) -> int:
    return int(_rows(counts, np.array([entry]))[0])
