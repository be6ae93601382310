"""One rule for documents counted with the words of a model in another order: they are put in its order, by name."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.errors import CorpusError

__all__ = ["in_order", "names_of"]


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the words of the columns of a Corpus, WordCounts or frame; None where nobody names them."""
    words = getattr(X, "vocabulary", None)
    if words is None:
        words = getattr(X, "columns", None)
    if words is None:
        return None
    names = tuple(words)
    return names if names and all(isinstance(name, str) for name in names) else None


def in_order(X: Any, words: tuple[str, ...] | None) -> Any:
    """Return documents with their columns in the order of ``words``.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, WordCounts or Corpus of shape (n_documents, n_words)
    words : tuple of str, optional
        The words of a model, distinct; None where it knows none.

    Returns
    -------
    X itself where the order is right, or where one of the two has no names; else a matrix without names.

    Raises
    ------
    CorpusError
        Where X is of other words.
    """
    found = names_of(X)
    if words is None or found is None or found == words:
        return X
    if len(found) != len(words) or set(found) != set(words):
        known = set(words)
        n_other = sum(word not in known for word in found)
        raise CorpusError(
            f"the counts are of other words than the model: {n_other} of their {len(found)} are not among its "
            f"{len(words)}; count with its words: read_corpus(..., vocabulary=release.vocabulary)."
        )
    column_of = {word: column for column, word in enumerate(found)}
    order = [column_of[word] for word in words]
    matrix = X.counts if hasattr(X, "counts") and hasattr(X, "vocabulary") else X
    if sp.issparse(matrix):
        return sp.csr_matrix(matrix)[:, order]
    return np.asarray(matrix)[:, order]
