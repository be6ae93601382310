"""The manifest of a folder of shards: one JSON file, written last, so that a half-written folder does not open.

It holds the sizes, the unit, where the words come from, how texts were cut into them, and of each shard the digest and
the persons. Persons are numbers that ascend within a shard and from shard to shard, so two lines of the manifest show
that nobody is in two shards; that a shard keeps to its line is checked when it is read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from discreet._base.files import write_whole
from discreet.corpus.formats.table import MANIFEST
from discreet.corpus.shards.shard_file import ShardEntry
from discreet.corpus.vocabulary import WordOrigin, check_words
from discreet.errors import CorpusError

__all__ = ["VOCABULARY", "Manifest", "read_manifest", "write_manifest"]

VOCABULARY = "vocabulary.txt"
SCHEMA = "discreet.shards/1"
_FILE = re.compile(r"shard-[0-9]{5,9}\.safetensors")
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: A line of the manifest takes some 250 bytes: millions of shards.
_LARGEST = 2**30
_MOST_SETTINGS = 20
_NAME = re.compile(r"[a-z_]{1,30}")
_SIZES = ("n_documents", "n_units", "n_entries", "n_tokens")


class Manifest(NamedTuple):
    """A folder of shards, as its manifest says.

    Attributes
    ----------
    words : tuple of str
        One for each column.
    origin : WordOrigin
    unit : {"document", "person"}
        "person" where several documents may be one person's.
    entries : tuple of ShardEntry
    cut : mapping
        How texts were cut into words, as ``Tokenizer.settings()`` says it; empty where that is not known.
    """

    words: tuple[str, ...]
    origin: WordOrigin
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
        "schema": SCHEMA,
        "unit": manifest.unit,
        "n_words": len(manifest.words),
        "vocabulary_sha256": sha256(words).hexdigest(),
        "word_origin": manifest.origin.to_json(manifest.words),
        "cut": dict(manifest.cut),
        **{size: manifest.total(size) for size in _SIZES},
        "shards": [entry._asdict() for entry in manifest.entries],
    }
    text = json.dumps(value, indent=1, sort_keys=True) + "\n"
    write_whole(text.encode(), folder / MANIFEST, "the manifest", secret=True)


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a folder.

    Raises
    ------
    CorpusError
        Where there is none (the folder was not written to its end), it is damaged or of another version, the words
        are others than it says, or somebody's documents lie in two shards.
    """
    raw, words = _read(folder / MANIFEST), _read(folder / VOCABULARY)
    value: Any = None
    with suppress(ValueError, RecursionError):  # what is said of it would show what was found
        value = json.loads(raw)
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise CorpusError(
            f"{folder / MANIFEST} is not a manifest of shards of this version ({SCHEMA}); write the folder anew."
        )
    if value.get("vocabulary_sha256") != sha256(words).hexdigest():
        raise CorpusError(f"{folder / VOCABULARY} holds other words than the shards; write the folder anew.")
    listed = check_words(
        words.decode("utf-8", "replace").split("\n")[:-1], f"{folder / VOCABULARY}: line", first=1
    )
    origin = WordOrigin.from_json(value.get("word_origin"), listed)
    unit, shards, cut = value.get("unit"), value.get("shards"), value.get("cut", {})
    if (
        unit not in ("document", "person")
        or not isinstance(shards, list)
        or value.get("n_words") != len(listed)
        or not _is_cut(cut)
    ):
        raise CorpusError(f"{folder / MANIFEST} is damaged; write the folder anew.")
    entries = tuple(_entry(shard, number, folder) for number, shard in enumerate(shards))
    manifest = Manifest(listed, origin, unit, entries, cut)
    if any(value.get(size) != manifest.total(size) or manifest.total(size) >= 2**63 for size in _SIZES):
        raise CorpusError(
            f"{folder / MANIFEST}: its shards do not add up to its sizes; write the folder anew."
        )
    _refuse_promises(folder, manifest)
    _refuse_spanning(folder, manifest)
    return manifest


def _read(path: Path) -> bytes:
    what, raw = "does not exist", b""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
            what = "is too large" if len(raw) > _LARGEST else None
    except FileNotFoundError:
        pass
    except OSError as error:
        what = f"cannot be read: {error.strerror or type(error).__name__}"
    if what is not None:
        raise CorpusError(
            f"{path} {what}: expected a folder that write_shards wrote to its end (the manifest is written last)."
        )
    return raw


def _is_cut(cut: Any) -> bool:
    """Whether it can be what ``Tokenizer.settings()`` says; it goes on into releases."""
    return (
        isinstance(cut, dict)
        and len(cut) <= _MOST_SETTINGS
        and all(_NAME.fullmatch(name) for name in cut)
        and all(
            type(said) in (int, bool) or (type(said) is str and len(said) <= 1000) for said in cut.values()
        )
    )


def _entry(shard: Any, number: int, folder: Path) -> ShardEntry:
    names = ShardEntry._fields
    good = (
        isinstance(shard, dict)
        and set(shard) == set(names)
        and isinstance(shard["file"], str)
        and isinstance(shard["sha256"], str)
        and _FILE.fullmatch(shard["file"])
        and _DIGEST.fullmatch(shard["sha256"])
        and all(type(shard[name]) is int and -(2**63) <= shard[name] < 2**63 for name in names[2:])
        and all(shard[name] >= 0 for name in _SIZES)
        and shard["n_units"] <= shard["n_documents"]
        and shard["n_entries"] <= shard["n_tokens"]
    )
    if not good:
        raise CorpusError(
            f"{folder / MANIFEST}: shard {number} is not described as a shard is; write the folder anew."
        )
    return ShardEntry(**shard)


def _refuse_promises(folder: Path, manifest: Manifest) -> None:
    """Refuse sizes beyond what the files hold, before memory is asked for: a document takes a byte, an entry two."""
    held = sum(file.stat().st_size for file in folder.glob("shard-*.safetensors"))
    if manifest.total("n_documents") + 2 * manifest.total("n_entries") > held:
        raise CorpusError(
            f"{folder / MANIFEST} promises more documents or counts than its shards hold; write the folder anew."
        )


def _refuse_spanning(folder: Path, manifest: Manifest) -> None:
    """Refuse a folder in which somebody would be counted once a shard, and so move a sum by more than was booked."""
    entries: Sequence[ShardEntry] = manifest.entries
    if len({entry.file for entry in entries}) != len(entries):
        raise CorpusError(f"{folder / MANIFEST} names a shard twice; write the folder anew.")
    if manifest.unit == "document":
        return
    spans = [one.file for one in entries if one.first_person > one.last_person]
    spans += [one.file for one, next_one in pairwise(entries) if one.last_person >= next_one.first_person]
    if spans:
        raise CorpusError(
            f"{folder}: documents of one person may lie in {spans[0]} and in another shard, so that a person would be "
            "protected less than promised; write the folder anew with write_shards."
        )
