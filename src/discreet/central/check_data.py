"""What the central estimators read, once its cost is booked: counts, authors where they are the unit, words."""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.corpus import check_counts
from discreet.errors import CorpusError

__all__ = ["check_data"]


def check_data(
    X: Any, owners: Any, vocabulary: Any, privacy_unit: str
) -> tuple[Any, NDArray[np.int64] | None, tuple[str, ...]]:
    """Read X.

    Returns
    -------
    counts : canonical CSR of shape (n_documents, n_words)
    authors : array of shape (n_documents,), int64, or None
        Where they are the unit.
    words : tuple of str

    Raises
    ------
    CorpusError
        Naming the first row, or the lengths, that are wrong.
    """
    counts = check_counts(X)
    authors = None
    if privacy_unit == "author":
        authors = _check_owners(getattr(X, "owners", None) if owners is None else owners, counts.shape[0])
    words = vocabulary if vocabulary is not None else getattr(X, "vocabulary", None)
    if words is None:
        names = getattr(X, "columns", None)
        words = [f"word_{column}" for column in range(counts.shape[1])] if names is None else list(names)
    words = tuple(str(word) for word in words)
    if len(words) != counts.shape[1]:
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but X has {counts.shape[1]} columns; they must agree."
        )
    if len(set(words)) != len(words):
        raise CorpusError("the words of the vocabulary must be distinct, but some are repeated.")
    return counts, authors, words


def _check_owners(owners: Any, n_documents: int) -> NDArray[np.int64]:
    # A list of text and NaN, made an array, would hold the text "nan".
    array = owners if hasattr(owners, "dtype") else np.asarray(owners, dtype=object)
    array = np.asarray(array)
    if array.shape != (n_documents,):
        raise CorpusError(
            f"owners must name one author for each of {n_documents} documents, but has shape {array.shape}."
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    names = [_name(owner) for owner in array.tolist()]
    # Nobody could be anybody: counting all of these as one author, or each as another, would promise protection
    # to people whose other documents stand under their name.
    missing = [row for row, name in enumerate(names) if not name]
    if missing:
        raise CorpusError(
            f"owners must name an author for each document, but {len(missing)} have none (the first in row "
            f"{missing[0]}); name them, or leave those documents out."
        )
    code_of = {name: code for code, name in enumerate(sorted(set(names)))}
    return np.array([code_of[name] for name in names], dtype=np.int64)


def _name(owner: Any) -> str:
    """Write an author down so that equal names are equal: 7, 7.0 and "7" are one author. Nobody is ""."""
    if isinstance(owner, str | int):
        return str(owner)
    if isinstance(owner, numbers.Real) and math.isfinite(owner) and float(owner).is_integer():
        return str(int(float(owner)))
    written = str(owner)
    return "" if written in ("None", "nan", "<NA>", "NaT") else written
