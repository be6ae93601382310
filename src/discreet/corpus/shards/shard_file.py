"""One shard: rows of counts in one safetensors file, checked against its digest before a number of it is used.

A file is read whole, not mapped: of a mapped file that somebody cuts short under a running fit the system makes a
signal that ends the process, and its pages would count as memory of the fit. Numbers are stored in the smallest
unsigned type that holds them. A digest is only as honest as whoever wrote the manifest, so what compiled code relies
on is looked at after it: lengths, kinds of numbers, and where rows and words point, each time that a shard is read.
The digest, and what needs a longer look, is verified again where the file's size, its times or its place on the disk
changed, or the manifest says something else of it.
"""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import Csr
from discreet.errors import CorpusError

__all__ = ["Rows", "Shard", "ShardEntry", "labels_bytes", "labels_of", "shard_bytes"]

_KINDS = (np.uint8, np.uint16, np.uint32)
_LARGEST = 2**31 - 1
_seen: dict[tuple[str, "ShardEntry", int, bool], tuple[int, ...]] = {}


class Rows(NamedTuple):
    """Documents, as a shard or a part of a stream holds them: persons ascend in a shard."""

    counts: Csr
    persons: NDArray[np.int64] | None = None
    labels: NDArray[Any] | None = None


class ShardEntry(NamedTuple):
    """What the manifest says of a shard; persons are numbers from ``first_person`` to ``last_person``."""

    file: str
    sha256: str
    n_documents: int
    n_units: int
    n_entries: int
    n_tokens: int
    first_person: int
    last_person: int


def shard_bytes(rows: Rows) -> bytes:
    """Return the file of a shard. The same rows give the same bytes."""
    from safetensors.numpy import save

    counts = rows.counts
    arrays: dict[str, Any] = {
        "sizes": _small(np.diff(counts.indptr)),
        "words": _small(counts.indices),
        "counts": _small(counts.data),
    }
    if rows.persons is not None:
        arrays["persons"] = np.ascontiguousarray(rows.persons, np.int64)
    if rows.labels is not None:
        arrays["labels"] = labels_bytes(rows.labels)
    return save(arrays)


def _small(values: NDArray[Any]) -> NDArray[Any]:
    largest = int(values.max(initial=0))
    return values.astype(next(kind for kind in _KINDS if largest <= np.iinfo(kind).max))


class Shard(NamedTuple):
    """Where a shard lies and what it must be; small, so that it can be sent where the file can be read.

    Attributes
    ----------
    folder : str
        As an absolute path.
    entry : ShardEntry
    n_words : int
    owned : bool
        Whether several documents may be one person's.
    first_document, first_unit, first_token : int
        What stands in the shards before this one.
    """

    folder: str
    entry: ShardEntry
    n_words: int
    owned: bool
    first_document: int = 0
    first_unit: int = 0
    first_token: int = 0

    @property
    def name(self) -> str:
        """File and digest: what tells this shard from every other."""
        return f"{self.entry.file}:{self.entry.sha256}"

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return self.entry.n_documents

    def read(self) -> Rows:
        """Read and check the shard.

        Raises
        ------
        CorpusError
            Where the file is gone or cannot be read, is not the one that the manifest names, or holds what no shard
            holds.
        """
        path = Path(self.folder, self.entry.file)
        what = None
        raw, mark = b"", ()
        try:
            with path.open("rb") as file:
                mark = _mark(os.fstat(file.fileno()))
                raw = file.read()
        except OSError as error:
            what = error.strerror or type(error).__name__
        if what is not None:
            raise CorpusError(
                f"shard {path} cannot be read: {what}; a shard must lie at this path on every machine that works on it."
            )
        known = (str(path), self.entry, self.n_words, self.owned)
        new = _seen.get(known) != mark
        if new and sha256(raw).hexdigest() != self.entry.sha256:
            raise CorpusError(
                f"shard {path} is not the file that was written: its digest is another; write the folder anew."
            )
        rows = _parse(raw, self)
        if rows is None or (new and not _holds(rows, self.entry)):
            raise CorpusError(
                f"shard {path} holds something else than its manifest says; write the folder anew."
            )
        _seen[known] = mark
        return rows


def _mark(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _parse(raw: bytes, shard: Shard) -> Rows | None:
    from safetensors.numpy import load

    try:
        arrays = load(raw)
        rows = _rows(arrays, shard.entry, shard.n_words)
        if rows is None or not shard.owned:
            return rows
        persons = arrays["persons"]
        good = persons.dtype == np.int64 and persons.shape == (shard.entry.n_documents,)
        return rows._replace(persons=persons) if good else None
    except Exception:  # damage shows in many ways, and what is said of it may hold what was found
        return None


def _rows(arrays: dict[str, NDArray[Any]], entry: ShardEntry, n_words: int) -> Rows | None:
    """Return counts whose index arrays point inside their shape, or None: compiled code follows them blindly."""
    sizes, words, data = (arrays[name] for name in ("sizes", "words", "counts"))
    if any(values.ndim != 1 or values.dtype.type not in _KINDS for values in (sizes, words, data)):
        return None  # a negative number, or a sum that wraps, would point anywhere
    n, n_entries = entry.n_documents, entry.n_entries
    if (len(sizes), len(words), len(data)) != (n, n_entries, n_entries):
        return None
    if int(sizes.sum(dtype=np.uint64)) != n_entries:  # 32 bits each, of fewer than 2^32 that fit in memory
        return None
    if n_entries and not (int(words.max()) < n_words and 1 <= int(data.min()) <= int(data.max()) <= _LARGEST):
        return None
    kind = np.int32 if max(n_entries, n_words) <= _LARGEST else np.int64
    indptr = np.zeros(n + 1, kind)
    np.cumsum(sizes, out=indptr[1:])
    counts = sp.csr_matrix((n, n_words), dtype=np.int32)
    counts.data, counts.indices, counts.indptr = data.astype(np.int32), words.astype(kind), indptr
    labels = labels_of(arrays["labels"]) if "labels" in arrays else None
    return Rows(counts, None, labels) if labels is None or len(labels) == n else None


def labels_bytes(labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Return labels, all of one kind, as the bytes of JSON."""
    return np.frombuffer(json.dumps(labels.tolist(), ensure_ascii=False).encode(), np.uint8)


def labels_of(member: NDArray[np.uint8]) -> NDArray[Any]:
    """Return what :func:`labels_bytes` was given."""
    listed = json.loads(member.tobytes())
    if not isinstance(listed, list):
        raise TypeError
    listed = list[Any](listed)
    if all(type(label) is int for label in listed):
        return np.array(listed, np.int64)
    if not all(isinstance(label, str) for label in listed):
        raise TypeError
    labels = np.empty(len(listed), object)
    labels[:] = listed
    return labels


def _holds(rows: Rows, entry: ShardEntry) -> bool:
    """Whether a shard is what its entry says, beyond its lengths: tokens, sorted words, and whose rows they are."""
    counts, persons = rows.counts, rows.persons
    n, entries = counts.shape[0], len(counts.indices)
    if int(counts.data.sum(dtype=np.int64)) != entry.n_tokens:
        return False
    rises = np.diff(counts.indices) > 0
    starts = counts.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < entries)] - 1] = True
    if not rises.all():
        return False
    if persons is None:
        return entry.n_units == n or entry.last_person >= entry.first_person
    return (
        n > 0
        and bool((persons[1:] >= persons[:-1]).all())
        and (int(persons[0]), int(persons[-1])) == (entry.first_person, entry.last_person)
        and 1 + int(np.count_nonzero(persons[1:] != persons[:-1])) == entry.n_units
    )
