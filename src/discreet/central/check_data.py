"""What the central estimators read, once its cost is booked: counts, authors where they are the unit, words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.corpus import check_counts
from discreet.corpus.owners import number_owners
from discreet.errors import CorpusError

__all__ = ["check_data", "words_of"]


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
        authors = number_owners(getattr(X, "owners", None) if owners is None else owners, counts.shape[0])
    words = words_of(X, vocabulary)
    if words is None:
        words = tuple(f"word_{column}" for column in range(counts.shape[1]))
    if len(words) != counts.shape[1]:
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but X has {counts.shape[1]} columns; they must agree."
        )
    if len(set(words)) != len(words):
        raise CorpusError("the words of the vocabulary must be distinct, but some are repeated.")
    return counts, authors, words


def words_of(X: Any, vocabulary: Any) -> tuple[str, ...] | None:
    """Return the words of the columns, which are public, without reading X; None where nobody names them."""
    words = vocabulary if vocabulary is not None else getattr(X, "vocabulary", None)
    if words is None:
        words = getattr(X, "columns", None)
    return None if words is None else tuple(str(word) for word in words)
