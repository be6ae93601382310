"""One rule for documents counted with the words of a model in another order: they are put in its order, by name."""

from collections.abc import Iterable, Mapping, MappingView, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet._numbers import as_numbers
from discreet._sparse import inside_its_shape
from discreet.errors import CorpusError

__all__ = ["carried", "column_order", "column_words", "in_order", "known_words", "listed_texts", "names_of"]

_COUNT_ANEW = (
    "count with its words: Corpus.from_texts(texts, vocabulary=release.vocabulary), or read_corpus(path, ...) with "
    "the same vocabulary="
)


def carried(X: Any, name: str) -> Any:
    """Return what X carries by this name, or None. Only what its class declares: a frame may have any column."""
    return getattr(X, name) if hasattr(type(X), name) else None


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the words of the columns of a Corpus or frame; None where nobody names them."""
    for name in ("vocabulary", "column_names", "columns"):  # the columns of pyarrow are what stands in them
        words = carried(X, name)
        if words is not None:
            break
    else:
        return None
    names: tuple[Any, ...] = tuple(words)
    return names if names and all(isinstance(name, str) for name in names) else None


def column_words(n_words: int) -> tuple[str, ...]:
    """Return stand-ins for words nobody gave: ``word_0``, ``word_1``, ..."""
    return tuple(f"word_{column}" for column in range(n_words))


def known_words(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return words, or None where they only stand in for words nobody gave."""
    return None if words == column_words(len(words)) else words


def listed_texts(values: Any) -> list[str] | None:
    """Return texts in the order in which they are given; None for anything else, and for what gives them no order.

    A text is not taken for its letters, nor a mapping, one of its views or a set for a list.
    """
    if isinstance(values, str | bytes | Mapping | MappingView | Set) or not isinstance(values, Iterable):
        return None
    if isinstance(values, np.ndarray) and values.ndim != 1:
        return None
    try:
        items: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)  # type: ignore[reportUnknownArgumentType]
    except TypeError:  # iterable by its type alone, as an array of another library without dimensions
        return None
    return items if all(isinstance(item, str) for item in items) else None


def in_order(X: Any, words: tuple[str, ...] | None, what: str = "counts", advice: str = _COUNT_ANEW) -> Any:
    """Return documents with their columns in the order of ``words``.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, Corpus of shape (n_documents, n_words)
    words : tuple of str, optional
        The words of a model, distinct; None where it knows none.
    what, advice : str
        For errors: what X is, and what to do where its words are others.

    Returns
    -------
    X itself where the order is right, or where one of the two has no names; else a matrix without names.

    Raises
    ------
    CorpusError
        Where X is of other words.
    """
    order = column_order(X, words, what, advice)
    if order is None:
        return X
    matrix = (
        carried(X, "counts") if carried(X, "vocabulary") is not None and hasattr(type(X), "counts") else X
    )
    return inside_its_shape(matrix)[:, order] if sp.issparse(matrix) else as_numbers(matrix)[:, order]


def column_order(
    X: Any,
    words: tuple[str, ...] | None,
    what: str = "counts",
    advice: str = _COUNT_ANEW,
    *,
    drop_others: bool = False,
) -> list[int] | None:
    """Return the column of X that holds each of ``words``, as :func:`in_order`; None where the order is right.

    ``drop_others``: X may have further words.
    """
    found = names_of(X)
    if words is None or found is None or found == words:
        return None
    if not set(words) <= set(found) or (len(found) != len(words) and not drop_others):
        known, given = set(words), set(found)
        raise CorpusError(  # which words is not told: a model that is not private may hold private ones
            f"the {what} are of other words than the model: of its {len(known)} words {len(known - given)} are "
            f"missing, and of the {len(found)} given {len(given - known)} are unknown to it; {advice}."
        )
    column_of = {word: column for column, word in enumerate(found)}
    return [column_of[word] for word in words]
