"""One gate for matrices of counts: whatever scikit-learn would take, checked, as canonical CSR int32."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import COUNT_THE_WORDS, Csr, as_numbers, inside_its_shape
from discreet._base.validate import first_few
from discreet.errors import CorpusError

_LARGEST = 2**31 - 1
_FREE, _FOR_EACH = 1_000_000, 100


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


def refuse_emptiness(name: str, what: str, size: int, n_entries: int) -> None:
    """Refuse a shape that is nearly all empty: a few bytes must not ask for gigabytes.

    Parameters
    ----------
    name : str
        The file.
    what : str
        "documents" or "words".
    size : int
        How many of them there are, or are promised.
    n_entries : int
        Counts that the file holds or promises.

    Raises
    ------
    CorpusError
        ``size`` is over a million and a hundred for each count.
    """
    if size > _FREE + _FOR_EACH * n_entries:
        many = "1 count" if n_entries == 1 else f"{n_entries} counts"
        raise CorpusError(
            f"{name} promises {size} {what}, but only {many}: nearly all {what} would be "
            "empty; check that its numbers are right."
        )
