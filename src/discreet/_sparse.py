"""One gate for sparse matrices: compiled code, scipy's too, reads and writes wherever their index arrays point."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from discreet._numbers import as_numbers
from discreet.errors import CorpusError

__all__ = ["Csr", "Matrix", "inside_its_shape"]

#: A ``scipy.sparse.csr_matrix``. scipy ships no types, and what a checker infers from its source is wrong.
Csr = Any
#: What users may give where a table of numbers is expected; frames are array-like.
Matrix = ArrayLike | sp.sparray | sp.spmatrix


def inside_its_shape(X: Any) -> Csr:
    """Return a sparse matrix of any format as CSR whose index arrays point inside its shape.

    Parameters
    ----------
    X : scipy.sparse matrix or array, two-dimensional
        Of numbers; objects that are text are refused.

    Raises
    ------
    CorpusError, TypeError
        Where it points elsewhere, or holds no numbers (see :func:`discreet._numbers.as_numbers`).
    """
    if X.dtype.kind not in "biufc":
        as_numbers(X.data if X.format != "dok" else list(X.values()), "X")
    try:
        if not _is_broken(X):
            counts: Csr = X.tocsr()
            if X.format == "csr" or not _is_broken(counts):
                return _without_spare_room(counts)
    except Exception:  # foreign arrays of any type and length
        pass
    raise CorpusError(
        "the sparse matrix is broken: its index arrays point outside its shape; build it again."
    )


def _without_spare_room(counts: Csr) -> Csr:
    """Leave out entries behind the last row: room for more, which holds no counts."""
    n_stored = int(counts.indptr[-1])
    if n_stored == len(counts.data) == len(counts.indices):
        return counts
    parts = (counts.data[:n_stored], counts.indices[:n_stored], counts.indptr)
    return sp.csr_matrix(parts, shape=counts.shape)


def _is_broken(X: Any) -> bool:
    check = {"bsr": _bsr_is_broken, "lil": _lil_is_broken, "dok": _dok_is_broken, "dia": _dia_is_broken}
    if X.format in check:
        return check[X.format](X)
    if X.format == "coo":
        pairs = [(X.row, X.shape[0]), (X.col, X.shape[1])]
        broken = not len(X.row) == len(X.col) == len(X.data)
    else:
        n_lines, n_places = X.shape if X.format == "csr" else X.shape[::-1]
        indptr, pairs = X.indptr, [(X.indices, n_places)]
        broken = (
            len(indptr) != n_lines + 1
            or int(indptr[0]) != 0
            or int(indptr[-1]) > min(len(X.indices), len(X.data))
            or bool((indptr[1:] < indptr[:-1]).any())
        )
    outside = (len(at) > 0 and (int(at.min()) < 0 or int(at.max()) >= limit) for at, limit in pairs)
    return broken or any(outside)


def _bsr_is_broken(X: Any) -> bool:
    X.check_format(full_check=True)  # raises
    return False


def _lil_is_broken(X: Any) -> bool:
    if not X.rows.shape == X.data.shape == (X.shape[0],):
        return True
    return any(
        type(row) is not list
        or type(values) is not list
        or len(row) != len(values)
        or (row and not 0 <= min(row) <= max(row) < X.shape[1])
        for row, values in zip(X.rows, X.data, strict=True)
    )


def _dok_is_broken(X: Any) -> bool:
    places: Any = X.keys()  # to go through X itself would be to go through its rows
    return any(not (0 <= row < X.shape[0] and 0 <= column < X.shape[1]) for row, column in places)


def _dia_is_broken(X: Any) -> bool:
    offsets = np.asarray(X.offsets)
    return (
        X.data.ndim != 2
        or offsets.shape != (X.data.shape[0],)
        or offsets.dtype.kind not in "iu"
        or len(np.unique(offsets)) != len(offsets)
        or (len(offsets) > 0 and not -X.shape[0] < int(offsets.min()) <= int(offsets.max()) < X.shape[1])
    )
