"""Documents grouped by the unit that is protected: one group a document, or one group an author.

Groups are what the kernels go through. Within a group the documents stand in an order that depends on their
content alone, so that sums of floats over a group are the same for any order in which the corpus was given.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel

__all__ = ["Units", "content_order", "group_units"]


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


def group_units(counts: Any, owners: NDArray[np.int64] | None) -> Units:
    """Group the rows of a matrix of counts.

    Parameters
    ----------
    counts : canonical CSR of shape (n_documents, n_words), int32
    owners : array of shape (n_documents,), int64, optional
        Author of each document; without it each document is a unit.
    """
    n_documents = counts.shape[0]
    if owners is None:
        starts = np.arange(n_documents + 1, dtype=np.int64)
    else:
        order = _by_owner_and_content(counts, owners)
        counts = counts[order]
        sorted_owners = owners[order]
        first = np.flatnonzero(np.r_[n_documents > 0, sorted_owners[1:] != sorted_owners[:-1]])
        starts = np.r_[first, n_documents].astype(np.int64)
    return Units(
        starts,
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32, copy=False),
        counts.data.astype(np.float32),
        counts.shape[1],
    )


def _by_owner_and_content(counts: Any, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(owners[order]) != 0, True])
    indptr, indices, data = counts.indptr, counts.indices, counts.data

    def content(row: int) -> bytes:
        entries = slice(indptr[row], indptr[row + 1])
        return indices[entries].tobytes() + data[entries].tobytes()

    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if stop - start > 1:
            order[start:stop] = sorted(order[start:stop].tolist(), key=content)
    return order


def content_order(units: Units) -> NDArray[np.int64]:
    """Return the units in an order that depends on their content alone, shape (n_units,).

    Whatever is dealt out to units one by one (the coins of a sample) is dealt in this order, so that a seeded run
    gives the same bytes for any order in which the corpus came. Units of equal content may swap places, which
    changes nothing. The order is that of a 64-bit hash: should two different units share one, only the
    repeatability of seeded runs is at stake, not the guarantee.
    """
    hashes = np.empty(units.n_units, np.uint64)
    _hash_units(units.starts, units.indptr, units.words, units.counts, hashes)
    return np.argsort(hashes, kind="stable")


@kernel()
def _hash_units(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    out: NDArray[np.uint64],
) -> None:
    for unit in range(len(out)):
        value = np.uint64(starts[unit + 1] - starts[unit])
        for document in range(starts[unit], starts[unit + 1]):
            value = _mix(value, np.uint64(indptr[document + 1] - indptr[document]))
            for i in range(indptr[document], indptr[document + 1]):
                value = _mix(value, (np.uint64(words[i]) << np.uint64(32)) | np.uint64(counts[i]))
        out[unit] = value


@kernel()
def _mix(value: np.uint64, more: np.uint64) -> np.uint64:
    """One step of a multiply-and-shift hash (the constants are those of SplitMix64)."""
    value = (value ^ more) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
