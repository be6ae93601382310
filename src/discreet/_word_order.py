"""One rule for documents counted with the words of a model in another order: they are put in its order, by name."""

from typing import Any

import scipy.sparse as sp

from discreet._numbers import as_numbers
from discreet._sparse import inside_its_shape
from discreet.errors import CorpusError

__all__ = ["carried", "in_order", "names_of"]


def carried(X: Any, name: str) -> Any:
    """Return what X carries by this name, or None. Only what its class declares: a frame may have any column."""
    return getattr(X, name) if hasattr(type(X), name) else None


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the words of the columns of a Corpus, WordCounts or frame; None where nobody names them."""
    for name in ("vocabulary", "column_names", "columns"):  # the columns of pyarrow are what stands in them
        words = carried(X, name)
        if words is not None:
            break
    else:
        return None
    names: tuple[Any, ...] = tuple(words)
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
    matrix = (
        carried(X, "counts") if carried(X, "vocabulary") is not None and hasattr(type(X), "counts") else X
    )
    return inside_its_shape(matrix)[:, order] if sp.issparse(matrix) else as_numbers(matrix)[:, order]
