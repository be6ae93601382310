"""A release as files: a folder with ``model.safetensors``, ``vocabulary.txt`` and ``README.md``.

``model.safetensors`` holds the arrays (float64) and one metadata key, ``discreet``: sorted JSON with the
schema's name, the settings, the ledger, the determinism label, and the SHA-256 of the vocabulary file.
``vocabulary.txt`` has one word a line, as a JSON string where the word could not stand there as it is.
``README.md`` is the card, for people; nothing is read back from it.

The same release gives the same bytes. A folder appears whole, in one step: it is written under another name,
flushed to the disk, and renamed. Whatever is read is taken as hostile until it is checked.
"""

import json
import math
import os
import shutil
import struct
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError, ReleaseError
from discreet.privacy.ledger import Ledger
from discreet.release.record import Release

__all__ = ["SCHEMA", "load", "save"]

SCHEMA = "discreet.release/1"
MODEL, VOCABULARY, CARD = "model.safetensors", "vocabulary.txt", "README.md"
_LARGEST_HEADER = 64 * 2**20
_LARGEST_VOCABULARY = 512 * 2**20
_ARRAYS = ("topic_word", "topic_weight", "word_weight", "topic_word_noise")
_FIELDS = {
    "schema",
    "configuration",
    "ledger",
    "determinism",
    "guarantee",
    "n_units_noisy",
    "vocabulary_sha256",
}


def save(release: Release, folder: Path) -> None:
    """Write a release to a new or empty folder, whole or not at all.

    Raises
    ------
    ReleaseError
        Where the folder holds something, or its parent does not exist. Nothing is written then.
    """
    from safetensors.numpy import save as to_bytes

    if folder.is_symlink() or folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ReleaseError(f"expected a new or empty folder, but {folder} is not; name another one.")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise ReleaseError(f"cannot write {folder}: the folder {parent} does not exist; make it first.")
    words = "".join(_to_line(word) + "\n" for word in release.vocabulary).encode()
    metadata = {
        "schema": SCHEMA,
        "configuration": dict(release.configuration),
        "ledger": release.ledger.to_json(),
        "determinism": release.determinism,
        "guarantee": release.guarantee,
        "n_units_noisy": release.n_units_noisy,
        "vocabulary_sha256": sha256(words).hexdigest(),
    }
    arrays = {name: getattr(release, name) for name in _ARRAYS if getattr(release, name) is not None}
    written = json.dumps(_writable(metadata), sort_keys=True, ensure_ascii=True, allow_nan=False)
    files = {
        MODEL: to_bytes(arrays, {"discreet": written}),
        VOCABULARY: words,
        CARD: release.card().encode(),
    }
    temporary = Path(tempfile.mkdtemp(dir=parent, prefix=f".{folder.name}."))
    try:
        for name, content in files.items():
            with (temporary / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o755)
        temporary.rename(folder)  # replaces an empty folder, and no other
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def load(folder: Path) -> Release:
    """Read a release.

    Raises
    ------
    ReleaseError
        Where anything is missing, unknown, damaged or inconsistent.
    """
    if not folder.is_dir():
        raise ReleaseError(
            f"expected a folder with a release, but {folder} is none; give the folder that `save` made."
        )
    raw = _read(folder / MODEL, _file_size(folder / MODEL))
    metadata, arrays = _parse(raw)
    schema = metadata.get("schema")
    if schema != SCHEMA:
        raise ReleaseError(
            f"this version reads releases of schema {SCHEMA}, but the file says {str(schema)[:40]!r}; use the version "
            "of discreet that wrote it."
        )
    if set(metadata) != _FIELDS:
        raise ReleaseError(
            f"{MODEL} must hold exactly the fields of {SCHEMA}; the file was changed or is damaged."
        )
    words = _read(folder / VOCABULARY, _LARGEST_VOCABULARY)
    if sha256(words).hexdigest() != metadata["vocabulary_sha256"]:
        raise ReleaseError(
            f"{VOCABULARY} is not the one that belongs to {MODEL}; restore both from one copy."
        )
    try:
        ledger = Ledger.from_json(metadata["ledger"]).snapshot()
    except (PrivacyError, ValueError, TypeError, OverflowError) as error:
        raise ReleaseError(f"the ledger in {MODEL} cannot be read: {error}") from None
    release = Release(
        vocabulary=tuple(_from_line(line) for line in _lines(words)),
        ledger=ledger,
        configuration=_settings(metadata["configuration"]),
        reproducible=_label(metadata["determinism"]),
        n_units_noisy=_number_or_none(metadata["n_units_noisy"]),
        topic_word=arrays["topic_word"],
        topic_weight=arrays.get("topic_weight"),
        word_weight=arrays.get("word_weight"),
        topic_word_noise=arrays.get("topic_word_noise"),
    )
    if metadata["guarantee"] != release.guarantee:
        raise ReleaseError(
            f"the guarantee written in {MODEL} is not the one its ledger proves; the file was changed, or its "
            "version of discreet counted differently."
        )
    return release


def _parse(raw: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Take a safetensors file apart: our metadata, and the arrays it should hold."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    if len(raw) < 8 or struct.unpack("<Q", raw[:8])[0] > min(len(raw) - 8, _LARGEST_HEADER):
        raise ReleaseError(f"{MODEL} is not a safetensors file, or it is cut off; restore it from a copy.")
    header = _json(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])
    about = header.pop("__metadata__", None)
    if not isinstance(about, dict) or set(about) != {"discreet"} or not isinstance(about["discreet"], str):
        raise ReleaseError(f"{MODEL} was not written by discreet: it lacks the metadata key 'discreet'.")
    if "topic_word" not in header or not set(header) <= set(_ARRAYS):
        raise ReleaseError(f"{MODEL} must hold topic_word and no arrays unknown to {SCHEMA}.")
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.get("dtype") != "F64":
            raise ReleaseError(f"{name} in {MODEL} must be float64.")
    try:
        arrays: dict[str, NDArray[np.float64]] = from_bytes(raw)
    except (SafetensorError, ValueError, TypeError, OverflowError, KeyError) as error:
        raise ReleaseError(f"{MODEL} cannot be read: {error}") from None
    return _json(about["discreet"].encode()), arrays


def _json(raw: bytes) -> dict[str, Any]:
    def refuse(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ReleaseError(f"{MODEL} repeats a name in its JSON; the file was changed or is damaged.")
        return found

    try:
        value = json.loads(raw, object_pairs_hook=refuse, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ReleaseError):
            raise
        raise ReleaseError(f"{MODEL} holds JSON that cannot be read; restore it from a copy.") from None
    if not isinstance(value, dict):
        raise ReleaseError(f"{MODEL} must hold a JSON object; restore it from a copy.")
    return value


def _refuse_constant(name: str) -> Any:
    raise ReleaseError(f"{MODEL} holds {name} in its JSON, which is no number; restore it from a copy.")


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path, limit: int) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise ReleaseError(f"{path} is missing or no plain file; give a folder that `save` made.")
    with path.open("rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise ReleaseError(f"{path} is larger than expected; restore it from a copy.")
    return raw


def _to_line(word: str) -> str:
    """A word as it is, or as a JSON string where it holds a control character, a line break, or looks like one."""
    plain = bool(word) and word.isprintable() and not word.startswith('"')
    try:
        word.encode()
    except UnicodeEncodeError:
        plain = False
    return word if plain else json.dumps(word, ensure_ascii=True)


def _from_line(line: str) -> str:
    if not line.startswith('"'):
        return line
    try:
        word = json.loads(line)
    except ValueError:
        word = None
    if not isinstance(word, str):
        raise ReleaseError(f"{VOCABULARY} has a line that is no word; restore it from a copy.")
    return word


def _lines(raw: bytes) -> list[str]:
    try:
        return raw.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise ReleaseError(f"{VOCABULARY} is not UTF-8; restore it from a copy.") from None


def _writable(metadata: dict[str, Any]) -> dict[str, Any]:
    settings = metadata["configuration"]
    safe = {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in settings.items()
    }
    return {**metadata, "configuration": safe}


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReleaseError(f"the settings in {MODEL} must be a JSON object.")
    return {
        name: math.inf if name == "epsilon" and entry == "inf" else entry for name, entry in value.items()
    }


def _label(value: Any) -> bool:
    if value not in (Release.SECURE, Release.REPRODUCIBLE):
        raise ReleaseError(f"{MODEL} must say how its noise was drawn; the file was changed or is damaged.")
    return value == Release.REPRODUCIBLE


def _number_or_none(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise ReleaseError(f"n_units_noisy in {MODEL} must be a number.")
    return float(value)
