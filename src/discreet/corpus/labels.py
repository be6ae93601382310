"""Labels of documents: whole numbers or text, one for each."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._validate import first_few, is_whole
from discreet.errors import CorpusError

__all__ = ["check_labels"]


def check_labels(labels: ArrayLike | Sequence[str] | None, n_documents: int) -> NDArray[Any] | None:
    """Return the labels of documents as int64, or as objects that are text; ``CorpusError`` where they are neither."""
    if labels is None:
        return None
    given: Any = labels
    # As objects, because np.asarray would turn ["a", 1] into text without a word.
    values: NDArray[Any] = given if isinstance(given, np.ndarray) else _as_objects(given)
    if values.dtype.kind == "O" and all(map(is_whole, values)):
        values = values.astype(np.int64)
    if values.shape != (n_documents,):
        raise CorpusError(
            f"labels must have shape ({n_documents},), one for each document, got {values.shape}."
        )
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    listed = values.tolist()
    wrong = [i for i, label in enumerate(listed) if not isinstance(label, str)]
    if wrong:
        raise CorpusError(f"labels must be all int or all str; row {first_few(wrong)} is neither.")
    result = np.empty(len(listed), object)  # as objects: one long label must not widen all the others
    result[:] = listed
    return result


def _as_objects(labels: Iterable[Any]) -> NDArray[Any]:
    listed = list(labels)
    values = np.empty(len(listed), object)
    for row, label in enumerate(listed):  # one by one: nothing is asked to become an array
        values[row] = label
    return values
