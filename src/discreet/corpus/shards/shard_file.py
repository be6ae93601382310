"""A folder of shards: its manifest, and one shard, rows of counts in one safetensors file.

A shard is checked against its digest before a number of it is used. A file is read whole, not mapped: of a mapped file
that somebody cuts short under a running fit the system makes a signal that ends the process, and its pages would count
as memory of the fit. Numbers are stored in the smallest unsigned type that holds them. A digest is only as honest as
whoever wrote the manifest, so the counts then pass the gate of all matrices, and what is said of them must be what the
manifest says, each time that a shard is read.

The manifest of a folder of shards
==================================
One JSON file, written last, so that a half-written folder does not open. It holds the sizes, the unit, where the words
come from, how texts were cut into them, and of each shard the digest and the persons. Persons are numbers that ascend
within a shard and from shard to shard, so two lines of the manifest show that nobody is in two shards; that a shard
keeps to its line is checked when it is read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import Csr
from discreet._base.files import write_whole
from discreet._base.sealed import Seal
from discreet.corpus.counting import canonical_counts
from discreet.corpus.formats.table import MANIFEST
from discreet.corpus.vocabulary import WordOrigin, check_words
from discreet.errors import CorpusError

_KINDS = (np.uint8, np.uint16, np.uint32)


class Rows(NamedTuple):
    """Documents, as a shard or a part of a stream holds them: persons ascend in a shard."""

    counts: Csr
    persons: NDArray[np.int64] | None = None
    labels: NDArray[Any] | None = None

    def take(self, chosen: Any) -> "Rows":
        """Return some rows, in the order chosen."""
        return Rows(*(None if part is None else part[chosen] for part in self))

    @classmethod
    def join(cls, parts: Sequence["Rows"]) -> "Rows":
        """Return rows one after another; all parts have persons or labels, or none."""
        if len(parts) == 1:
            return parts[0]
        counts, persons, labels = zip(*parts, strict=True)
        said: list[Any] = [None if side[0] is None else np.concatenate(side) for side in (persons, labels)]
        return cls(sp.vstack(counts, format="csr"), *said)


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

    @classmethod
    def of(cls, file: str, raw: bytes, rows: Rows) -> "ShardEntry":
        """Say what a manifest says of a file that holds these rows."""
        counts, persons = rows.counts, rows.persons
        n = n_units = int(counts.shape[0])
        first, last = 0, -1
        if persons is not None:
            first, last = int(persons[0]), int(persons[-1])
            n_units = 1 + int(np.count_nonzero(persons[1:] != persons[:-1]))
        n_tokens = int(counts.data.sum(dtype=np.int64))
        return cls(file, sha256(raw).hexdigest(), n, n_units, len(counts.data), n_tokens, first, last)


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
        arrays["labels"] = json_bytes(rows.labels.tolist())
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
    first_unit : int
        Units in the shards before this one.
    """

    folder: str
    entry: ShardEntry
    n_words: int
    owned: bool
    first_unit: int = 0

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
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise CorpusError(
                f"shard {path} cannot be read: {error.strerror or type(error).__name__}; a shard must lie at this path "
                "on every machine that works on it."
            ) from None
        if sha256(raw).hexdigest() != self.entry.sha256:
            raise _damaged(f"shard {path} is not the file that was written: its digest is another")
        rows = _parse(raw, self)
        if rows is None:
            raise _damaged(f"shard {path} holds something else than its manifest says")
        return rows if self.owned else rows._replace(persons=None)


def _damaged(what: str) -> CorpusError:
    return CorpusError(f"{what}; write the folder anew.")


def _parse(raw: bytes, shard: Shard) -> Rows | None:
    """Return the rows of a file, or None where they are not what its entry says."""
    from safetensors.numpy import load

    try:
        arrays = load(raw)
        sizes, words, data = (arrays[name] for name in ("sizes", "words", "counts"))
        if any(values.ndim != 1 or values.dtype.type not in _KINDS for values in (sizes, words, data)):
            return None  # a negative number, or a sum that wraps, would point anywhere
        ends = np.r_[0, np.cumsum(sizes, dtype=np.int64)]
        counts = canonical_counts(sp.csr_matrix((data, words, ends), shape=(len(sizes), shard.n_words)))
        labels = labels_of(arrays["labels"]) if "labels" in arrays else None
        persons = arrays.get("persons")
        rows = Rows(counts, persons, labels)
        fitting = labels is None or len(labels) == len(sizes)
        if persons is not None:
            fitting &= persons.dtype == np.int64 and persons.shape == sizes.shape
            fitting &= bool((persons[1:] >= persons[:-1]).all())
        return rows if fitting and ShardEntry.of(shard.entry.file, raw, rows) == shard.entry else None
    except Exception:  # damage shows in many ways, and what is said of it may hold what was found
        return None


def json_bytes(value: Any) -> NDArray[np.uint8]:
    """Return a value as the bytes of JSON."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)


def labels_of(member: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the labels, all of one kind, that were listed for :func:`json_bytes`."""
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


VOCABULARY = "vocabulary.txt"
_SEAL = Seal(
    "discreet.shards/2",
    "manifest of shards",
    CorpusError,
    "write the folder anew with write_shards",
    2**30,
)
_FILE = re.compile(r"shard-[0-9]{5,9}\.safetensors")
_SIZES = ("n_documents", "n_units", "n_entries", "n_tokens")


class Manifest(NamedTuple):
    """A folder of shards, as its manifest says.

    Attributes
    ----------
    words : tuple of str
        One for each column.
    word_origin : WordOrigin
    unit : {"document", "person"}
        "person" where several documents may be one person's.
    entries : tuple of ShardEntry
    cut : mapping
        How texts were cut into words, as ``Tokenizer.settings()`` says it; empty where that is not known.
    """

    words: tuple[str, ...]
    word_origin: WordOrigin
    unit: str
    entries: tuple[ShardEntry, ...]
    cut: Mapping[str, str | int | bool] = MappingProxyType({})

    def total(self, size: str) -> int:
        """Return the sum over shards of one of their sizes."""
        return sum(getattr(entry, size) for entry in self.entries)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the words and then the manifest, whole or not at all, to be read by their owner only."""
    words = "".join(f"{word}\n" for word in manifest.words).encode()
    write_whole(words, folder / VOCABULARY, "the words", secret=True)
    value = {
        "unit": manifest.unit,
        "vocabulary_sha256": sha256(words).hexdigest(),
        "word_origin": manifest.word_origin.to_json(manifest.words),
        "cut": dict(manifest.cut),
        "shards": [entry._asdict() for entry in manifest.entries],
    }
    write_whole(_SEAL.to_bytes(value), folder / MANIFEST, "the manifest", secret=True)


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a folder.

    Raises
    ------
    CorpusError
        Where there is none (the folder was not written to its end), it is damaged or of another version, the words
        are others than it says, or somebody's documents lie in two shards.
    """
    raw, words = _read(folder / MANIFEST), _read(folder / VOCABULARY)
    with _SEAL.reading(raw, folder / MANIFEST) as value:
        digest, unit, cut = value["vocabulary_sha256"], value["unit"], dict(value["cut"])
        told, shards = value["word_origin"], value["shards"]
    if digest != sha256(words).hexdigest():
        raise _damaged(f"{folder / VOCABULARY} holds other words than the shards")
    lines = words.decode("utf-8", "replace").split("\n")[:-1]
    listed = check_words(lines, f"{folder / VOCABULARY}: line", first=1)
    origin = WordOrigin.from_json(told, listed)
    entries = tuple(_entry(shard, number, folder) for number, shard in enumerate(shards))
    manifest = Manifest(listed, origin, unit, entries, cut)
    if any(manifest.total(size) >= 2**63 for size in _SIZES):
        raise _damaged(f"{folder / MANIFEST}: its shards are larger than any can be")
    _refuse_spanning(folder, manifest)
    return manifest


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        what = "does not exist" if gone else f"cannot be read: {error.strerror or type(error).__name__}"
        raise CorpusError(
            f"{path} {what}: expected a folder that write_shards wrote to its end (the manifest is written last)."
        ) from None


def _entry(shard: Any, number: int, folder: Path) -> ShardEntry:
    good = (
        isinstance(shard, dict)
        and {name: type(value) for name, value in shard.items()} == ShardEntry.__annotations__
        and _FILE.fullmatch(shard["file"])
        and 0 <= shard["n_units"] <= shard["n_documents"]
        and 0 <= shard["n_entries"] <= shard["n_tokens"]
    )
    if not good:
        raise _damaged(f"{folder / MANIFEST}: shard {number} is not described as a shard is")
    return ShardEntry(**shard)


def _refuse_spanning(folder: Path, manifest: Manifest) -> None:
    """Refuse a folder in which somebody would be counted once a shard, and so move a sum by more than was booked."""
    entries: Sequence[ShardEntry] = manifest.entries
    if len({entry.file for entry in entries}) != len(entries):
        raise _damaged(f"{folder / MANIFEST} names a shard twice")
    if manifest.unit == "document":
        return
    spans = [one.file for one in entries if one.first_person > one.last_person]
    spans += [one.file for one, next_one in pairwise(entries) if one.last_person >= next_one.first_person]
    if spans:
        raise CorpusError(
            f"{folder}: documents of one person may lie in {spans[0]} and in another shard, so that a person would be "
            "protected less than promised; write the folder anew with write_shards."
        )
