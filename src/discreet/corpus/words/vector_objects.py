"""Word vectors given as objects: their words and vectors, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._articles import kind_of
from discreet._word_order import listed_texts
from discreet.corpus.formats.vector_files import MOST_DIMENSIONS
from discreet.errors import Parameter, ParameterError

__all__ = ["named", "pairs_of"]

_EXPECTED = (
    "a path, a mapping of words to vectors, gensim's KeyedVectors, a data frame, (words, array), or an array of shape "
    f"(n_words, n_dimensions) with 1 to {MOST_DIMENSIONS} numbers for each word"
)
_Rows = tuple[str, Iterable[tuple[str, NDArray[np.float32]]], int]


def pairs_of(source: Any, words: list[str]) -> _Rows:
    """Words and vectors of an object, with its kind and the number of dimensions."""
    source = getattr(source, "wv", source)  # a gensim model holds its KeyedVectors there
    if hasattr(source, "key_to_index") and hasattr(source, "vectors"):
        places: Mapping[str, int] = source.key_to_index
        array = _matrix(source.vectors, "the vectors of KeyedVectors")
        return (
            "KeyedVectors",
            ((word, _checked(array[place])) for word, place in places.items()),
            array.shape[1],
        )
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, tuple | list):
        return "array", *_aligned(*(named(source) or (source, words)))
    if isinstance(source, np.ndarray):
        return "array", *_aligned(source, words)
    return _from_frame(source)


def _from_mapping(source: Mapping[Any, Any]) -> _Rows:
    if not source:
        raise ParameterError("word_vectors is an empty mapping; give words and their vectors.")
    first = np.shape(next(iter(source.values())))
    if len(first) != 1 or not 1 <= first[0] <= MOST_DIMENSIONS:
        raise ParameterError(
            f"word_vectors must map words to vectors of 1 to {MOST_DIMENSIONS} numbers, but the first has shape "
            f"{first}."
        )

    def rows() -> Iterator[tuple[str, NDArray[np.float32]]]:
        for word, vector in source.items():
            if np.shape(vector) != first:
                raise ParameterError(
                    f"all word vectors must have shape {first}, but one has {np.shape(vector)}."
                )
            yield str(word), _checked(np.asarray(vector))

    return "mapping", rows(), first[0]


def named(source: Sequence[Any]) -> tuple[Any, list[str]] | None:
    """Return the array and the words of (words, array), or of (array, words); None for anything else."""
    if len(source) == 2:
        for array, listed in (source[::-1], source):
            words = listed_texts(listed)
            if words:
                return array, words
        for part in source:
            if isinstance(part, Set | MappingView):
                raise ParameterError(
                    Parameter("word_vectors"),
                    " must be (words, array) with a list of words in the order of the rows, but they are in "
                    f"{kind_of(part)}, which promises no order: give a list.",
                )
    return None


def _aligned(array: Any, words: list[str]) -> tuple[Iterable[tuple[str, NDArray[np.float32]]], int]:
    matrix = _matrix(array, "word_vectors")
    if len(matrix) != len(words):
        raise ParameterError(
            f"word_vectors has {len(matrix)} rows for {len(words)} words; give one row for each word, or "
            "(words, array)."
        )
    known = np.flatnonzero(
        ~np.isnan(matrix.astype(np.float64)).all(1)
    )  # a row of NaN is a word without a vector
    rows = ((words[row], _checked(matrix[row])) for row in known)
    return rows, matrix.shape[1]


def _from_frame(source: Any) -> _Rows:
    import narwhals as nw

    try:
        frame: Any = nw.from_native(source, eager_only=True)
    except TypeError:
        raise ParameterError(f"word_vectors must be {_EXPECTED}, but is {kind_of(source)}.") from None
    # By place, not by name: pandas numbers columns that nobody named.
    columns = list(frame.iter_columns())
    numeric = [column for column in columns if column.dtype.is_numeric()]
    others = [column for column in columns if not column.dtype.is_numeric()]
    index = getattr(source, "index", None)
    if len(others) == 1:
        words = others[0].to_list()
    elif not others and index is not None and all(isinstance(word, str) for word in index):
        words = list(index)
    else:
        raise ParameterError(
            f"a frame of word vectors must have one column of words, but {len(others)} columns hold no numbers."
        )
    if not numeric:
        raise ParameterError("a frame of word vectors must have columns of numbers, but has none.")
    matrix = np.column_stack([column.to_numpy() for column in numeric])
    return "frame", *_aligned(matrix, [str(word) for word in words])


def _matrix(array: Any, what: str) -> NDArray[Any]:
    try:
        matrix = np.asarray(array)
    except (TypeError, ValueError):  # they may show what they could not convert
        matrix = None
    if matrix is None:
        raise ParameterError(
            f"{what} must be {_EXPECTED}, but is {kind_of(array)} whose rows differ in length."
        )
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not 1 <= matrix.shape[1] <= MOST_DIMENSIONS:
        raise ParameterError(
            f"{what} must be {_EXPECTED}, but is {kind_of(array)} of shape {matrix.shape} and type "
            f"{'text' if matrix.dtype.kind in 'US' else matrix.dtype.name}."
        )
    return matrix


def _checked(vector: NDArray[Any]) -> NDArray[np.float32]:
    if vector.dtype.kind not in "fiu" or not (np.abs(vector) < float(np.finfo(np.float32).max)).all():
        raise ParameterError("word vectors must be finite numbers below 3.4e38, but one is not.")
    return vector.astype(np.float32)
