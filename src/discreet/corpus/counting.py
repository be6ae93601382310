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

from discreet._base.arrays import COUNT_THE_WORDS, Csr, as_csr, holds_text, no_matrix, refuse_nothing
from discreet._base.validate import rows_shown
from discreet.corpus.languages import Breaks
from discreet.corpus.tokenizer import Tokenizer, check_tokens
from discreet.errors import CorpusError

_CHUNK_TOKENS = 1 << 20
_LARGEST = 2**31 - 1


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
        How a text becomes tokens; of documents that come as tokens, only stop words and n-grams are its own.
    vocabulary : tuple of str or None
        Public words: others are not counted, and columns are in this order. None: every word met.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: tuple[str, ...] | None = None) -> None:
        #: Whether documents come as tokens, for whoever takes either, and no mixture; None before the first.
        self.listed: bool | None = None
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        # A word that does not count has number -1 and is dropped in bulk: the loop over tokens stays in C.
        # Of a list, texts in lower case have its words with capitals, too; documents that are tokens are as they are.
        self._number: dict[str, int] = defaultdict(count().__next__)
        self._of_tokens = self._number
        if vocabulary is not None:
            self._number = tokenizer.columns(vocabulary)
            self._of_tokens = {word: column for column, word in enumerate(vocabulary)}
        self._single = tokenizer.ngram_range == (1, 1)
        if self._single:
            for number in (self._number, self._of_tokens):
                number.update(dict.fromkeys(tokenizer.ignored, -1))
        self._tokens: list[int] = []
        self._lengths: list[int] = []
        self._data, self._indices = Int32Buffer(), Int32Buffer()
        self._sizes: list[NDArray[np.int64]] = []
        self._breaks = Breaks()
        self._came = hash("texts")

    def add(self, text: str) -> None:
        """Count one document."""
        self._came = hash((self._came, text))
        if self._tokenizer.by_default:
            self._breaks.see(text)
        cut = self._tokenizer.split if self._single else self._tokenizer.tokens
        self._count(cut(text), self._number)

    def add_tokens(self, tokens: Sequence[str]) -> None:
        """Count one document that was split into tokens already."""
        self._came = hash((self._came, *tokens))
        self._count(self._tokenizer.of_words(tokens), self._of_tokens)

    @property
    def texts_digest(self) -> str:
        """A digest of all documents as they came, before anything was left out, by Python's hash of this process."""
        return f"{self._came:x}"

    def _count(self, words: Iterable[str], number: dict[str, int]) -> None:
        before = len(self._tokens)
        if self._vocabulary is None:
            self._tokens.extend(map(number.__getitem__, words))
        else:
            self._tokens.extend(map(number.get, words, repeat(-1)))
        self._lengths.append(len(self._tokens) - before)
        if len(self._tokens) >= _CHUNK_TOKENS:
            self._put_away()

    def finish(self) -> tuple[Csr, tuple[str, ...]]:
        """Return the counts (n_documents, n_words), rows sorted by column, and the words."""
        self.check()
        if self._vocabulary is not None:
            return self.take(), self._vocabulary
        counts = self.take()
        words, column = self.columns()
        for start in range(0, len(counts.indices), _CHUNK_TOKENS):
            part = slice(start, start + _CHUNK_TOKENS)
            counts.indices[part] = column[counts.indices[part]]
        counts.has_sorted_indices = False
        counts.sort_indices()
        return counts, words

    def check(self) -> None:
        """Raise ``CorpusError`` where most of the first texts have no blanks between words, or none can have a word."""
        self._breaks.check()
        if self._vocabulary is not None and not self.listed:
            self._tokenizer.check_reach(self._vocabulary)

    @property
    def n_entries(self) -> int:
        """How much is held: different words of each document, of texts that are put away."""
        return len(self._data)

    def take(self) -> Csr:
        """Return the counts of the texts since the last call, by the numbers that words have now."""
        self._put_away()
        indptr = np.r_[0, np.cumsum(np.concatenate(self._sizes))]
        self._sizes.clear()
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices = self._indices.take().astype(kind, copy=False)
        met = self._number.values() if self._vocabulary is None else range(len(self._vocabulary))
        shape = (len(indptr) - 1, sum(number >= 0 for number in met))
        return sp.csr_matrix((self._data.take(), indices, indptr.astype(kind)), shape=shape)

    def columns(self) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """Return all words met in sorted order, and the column of each number; nothing can be counted after that."""
        words = [word for word, number in self._number.items() if number >= 0]
        self._number.clear()
        order = sorted(range(len(words)), key=words.__getitem__)  # words[i] has number i
        column = np.empty(len(words), np.int32)
        column[order] = np.arange(len(words), dtype=np.int32)
        return tuple(words[i] for i in order), column

    def _put_away(self) -> None:
        tokens, lengths = np.array(self._tokens, np.int32), np.array(self._lengths, np.int64)
        kept = tokens >= 0
        ends = np.r_[0, np.cumsum(kept)][np.r_[0, np.cumsum(lengths)]]
        tokens = tokens[kept]
        ones = np.ones(len(tokens), np.int32)
        rows = sp.csr_matrix((ones, tokens, ends.astype(np.int32)), shape=(len(lengths), _LARGEST))
        rows.sum_duplicates()
        self._data.append(rows.data)
        self._indices.append(rows.indices)
        self._sizes.append(np.diff(rows.indptr))
        self._tokens, self._lengths = [], []


def only_texts(texts: Iterable[Any]) -> Iterator[str]:
    """Yield texts; at the first that is none, look through the others and name all that are none."""
    entries = enumerate(texts)
    for number, text in entries:
        if isinstance(text, str):
            yield text
            continue
        others = [(number, text), *((row, other) for row, other in entries if not isinstance(other, str))]
        rows = [row for row, _ in others]
        kinds = ", ".join(dict.fromkeys(type(other).__name__ for _, other in others))
        cure = (
            "decode them, or leave them out, with their persons: [text for text in texts if isinstance(text, str)]; of "
            "a frame, with text=, `skip_empty=True` does"
        )
        if kinds in ("list", "tuple"):
            cure = "discreet.Corpus.from_tokens takes texts that are split into words"
        found = f"found {kinds}; {len(rows)} in all (a float may be NaN, a missing text)"
        raise CorpusError(f"text {rows_shown(rows)}: expected str, {found}: {cure}.")


def count_texts(
    documents: Iterable[Any],
    tokenizer: Tokenizer,
    vocabulary: tuple[str, ...] | None,
    *,
    listed: bool = False,
) -> tuple[Csr, tuple[str, ...], str]:
    """Count texts held in memory, or documents ``listed`` as tokens already; return counts, words and a digest."""
    counter = TextCounter(tokenizer, vocabulary)
    counter.listed = listed
    if listed:
        for number, document in enumerate(documents):
            tokens = check_tokens(document)
            if isinstance(tokens, str):
                raise CorpusError(f"document {rows_shown([number])}: {tokens}.")
            counter.add_tokens(tokens)
    else:
        for text in only_texts(documents):
            counter.add(text)
    return *counter.finish(), counter.texts_digest


def pick_words(counts: Csr, words: tuple[str, ...], wanted: tuple[str, ...]) -> Csr:
    """Return the columns of the words ``wanted``, in their order; empty for a word that is not there."""
    column = {word: i for i, word in enumerate(wanted)}
    target = np.array([column.get(word, -1) for word in words], np.int64)
    moved = target[counts.indices] if len(target) else np.zeros(0, np.int64)
    stays = moved >= 0
    ends = np.r_[0, np.cumsum(stays)][counts.indptr]
    shape = (len(ends) - 1, len(wanted))
    picked = sp.csr_matrix((counts.data[stays], moved[stays], ends), shape=shape)
    picked.sort_indices()
    return picked


# The gate


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
    refuse_nothing(*counts.shape)
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
    first = X[0] if isinstance(X, list | tuple) and X else None
    column = isinstance(shape, tuple) and len(shape) == 1 and shape[0]
    if column and getattr(getattr(X, "dtype", None), "kind", None) in ("O", "U"):
        first = next(iter(X))
    inner = first[0] if isinstance(first, list | tuple) and first else None
    if any(isinstance(one, str | bytes) for one in (X, first, inner)):
        raise CorpusError(f"X holds text, but counts of words are expected: {advice}.")
    if isinstance(first, list | tuple) and any(
        not isinstance(row, list | tuple) or len(row) != len(first) for row in X
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
    if holds_text(X):
        raise CorpusError(f"this frame has columns of text, but counts of words are expected: {advice}.")
    if isinstance(shape, tuple) and len(shape) != 2:
        raise no_matrix(shape, f"If these are texts, {advice}. ")


def canonical_counts(X: Any, advice: str = COUNT_THE_WORDS) -> Csr:
    """Do what :func:`check_counts` does, but allow no documents and no words."""
    counts = as_csr(X, advice)
    counts: Csr = sp.csr_matrix((_whole(counts), counts.indices, counts.indptr), shape=counts.shape)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.data = counts.data.astype(np.int64)
        counts.sum_duplicates()
        if counts.data.max(initial=0) > _LARGEST:
            row = int(_rows(counts, counts.data.argmax()))
            raise CorpusError(f"row {rows_shown([row])}: repeated entries add up to over 2^31 - 1.")
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    counts.data = counts.data.astype(np.int32, copy=False)
    kind = np.int32 if counts.nnz <= _LARGEST and counts.shape[1] <= _LARGEST else np.int64
    counts.indices = counts.indices.astype(kind, copy=False)
    counts.indptr = counts.indptr.astype(kind, copy=False)
    return counts


def _whole(counts: Any) -> NDArray[Any]:
    """Return the stored values as integers, or raise one error for everything that is wrong with them."""
    data: NDArray[Any] = counts.data
    if data.dtype.kind not in "biuf":
        data = data.astype(np.float64)
    faults: list[str] = []

    def note(bad: NDArray[np.bool_], what: str) -> None:
        if bad.any():
            rows = np.unique(_rows(counts, np.flatnonzero(bad)))
            faults.append(f"{what} in row {rows_shown(rows.tolist())}")

    if data.dtype.kind == "f":
        finite = np.isfinite(data)
        note(np.isnan(data), "Input X contains NaN")
        note(np.isinf(data), "Input X contains infinity")
        data = np.where(finite, data, 0)
        note(data != np.floor(data), "counts that are not whole numbers")
    note(data < 0, "Negative values in data passed to X")
    note(data > _LARGEST, "counts above 2147483647")
    if faults:
        cure = "Correct these rows or drop them."
        if data.any() and (data != np.floor(counts.data)).mean() > 0.5:
            cure = "These may be weights, such as those of TfidfVectorizer: CountVectorizer counts."
        raise CorpusError(f"X must hold counts of words, whole numbers from 0: {'; '.join(faults)}. {cure}")
    return data.astype(np.int32, copy=False)


def _rows(counts: Any, entries: Any) -> NDArray[Any]:
    return np.searchsorted(counts.indptr, entries, side="right") - 1
