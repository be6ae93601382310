"""Documents grouped by the unit that is protected: one group a document, or one group a person.

Groups are what the kernels go through. Within a group the documents stand in an order that depends on their
content alone, so that sums of floats over a group are the same for any order in which the corpus was given.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Units", "group_units"]


class Units(NamedTuple):
    """A private corpus, grouped by unit. Nothing of it is ever released.

    Attributes
    ----------
    starts : array of shape (n_units + 1,), int64
        Unit u has the documents ``starts[u]`` to ``starts[u + 1]``.
    indptr : array of shape (n_documents + 1,), int64
        Document d has the entries ``indptr[d]`` to ``indptr[d + 1]``.
    words : array of shape (n_entries,), int32
    counts : array of shape (n_entries,), float32
    n_words : int
    first : int
        Number of the first unit in the whole corpus, of which this may be a shard.
    """

    starts: NDArray[np.int64]
    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    n_words: int
    first: int = 0

    @property
    def n_units(self) -> int:
        """Number of units. Private."""
        return len(self.starts) - 1

    @property
    def entry_starts(self) -> NDArray[np.int64]:
        """First entry of each unit, and one behind the last; for sharing units out evenly."""
        return self.indptr[self.starts]


def group_units(counts: Any, persons: NDArray[np.int64] | None) -> Units:
    """Group the rows of a matrix of counts.

    Parameters
    ----------
    counts : canonical CSR of shape (n_documents, n_words), int32
    persons : array of shape (n_documents,), int64, optional
        Person of each document; without it each document is a unit.
    """
    n_documents = counts.shape[0]
    if persons is None:
        starts = np.arange(n_documents + 1, dtype=np.int64)
    else:
        order = _by_person_and_content(counts, persons)
        counts = counts[order]
        sorted_persons = persons[order]
        first = np.flatnonzero(np.r_[n_documents > 0, sorted_persons[1:] != sorted_persons[:-1]])
        starts = np.r_[first, n_documents].astype(np.int64)
    return Units(
        starts,
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32, copy=False),
        counts.data.astype(np.float32),
        counts.shape[1],
    )


def _by_person_and_content(counts: Any, persons: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(persons[order]) != 0, True])
    indptr, indices, data = counts.indptr, counts.indices, counts.data

    def content(row: int) -> bytes:
        entries = slice(indptr[row], indptr[row + 1])
        return indices[entries].tobytes() + data[entries].tobytes()

    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if stop - start > 1:
            order[start:stop] = sorted(order[start:stop].tolist(), key=content)
    return order
