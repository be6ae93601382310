"""A release as a folder, ``model.safetensors``, ``vocabulary.txt`` and ``README.md``; and hostile bytes to an error.

``model.safetensors`` holds the arrays (float64) and one metadata key, ``discreet``: sorted JSON, sealed
(:mod:`discreet._base.sealed`), with the settings, the ledger, the figures of the guarantee, the determinism label, and
the SHA-256 of the arrays and of the vocabulary file.
``vocabulary.txt`` holds a word a line, as JSON text where a word could not stand there as it is. ``README.md`` is the
card, for people, and nothing is read back from it.

There is one way to write a release. Whatever is read is taken as hostile: it is checked, built, written again in
memory, and refused where that does not give the same metadata and words. The one exception is the guarantee: it is
computed anew from the ledger, and what the file says may lie above that (an older accountant), or below it by
rounding, but may name no other unit, relation or delta.

The same release gives the same bytes. A folder appears whole, in one step: it is written under another name, flushed to
the disk, and renamed. A crash at any moment leaves either no folder or one that loads, and at worst a hidden one beside
it whose name ends in ``.partial``, which can be deleted.
"""

import errno
import json
import math
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from discreet._base.files import flush_folder, open_plain, read_json
from discreet._base.sealed import Seal
from discreet._base.validate import is_folder, is_there, path_shown
from discreet.errors import DiscreetError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event
    from discreet.release.release import Release

VOCABULARY = "vocabulary.txt"
#: In bytes; the same when writing, so that what is written can be read.
LARGEST_VOCABULARY = 256 * 2**20
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_DIRECTIONS = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def _damaged(what: str) -> ReleaseError:
    return ReleaseError(f"{what}; restore it from a copy.")


def halves(text: str) -> bool:
    """Whether text holds halves of characters, which no file can."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def printable(text: str) -> str:
    """Return text without control characters and halves of characters."""
    return _UNPRINTABLE.sub("\ufffd", text)


def clean(text: str) -> str:
    """Return text as it may be shown: :func:`printable`, and without marks that turn the direction of writing."""
    return _DIRECTIONS.sub("\ufffd", printable(text))


def vocabulary_bytes(words: tuple[str, ...]) -> bytes:
    """Return the vocabulary file that holds these words."""
    raw = "".join(to_line(word) + "\n" for word in words).encode()
    if len(raw) > LARGEST_VOCABULARY:
        raise ReleaseError(
            f"the vocabulary would take more than {LARGEST_VOCABULARY >> 20} MiB; use fewer words."
        )
    return raw


def read_words(raw: bytes) -> tuple[str, ...]:
    """Return the words of a vocabulary file; ``ReleaseError`` for anything that discreet does not write."""
    try:
        words = tuple(from_line(line) for line in raw.decode().removesuffix("\n").split("\n"))
    except UnicodeDecodeError:
        raise _damaged(f"{VOCABULARY} is not UTF-8") from None
    if vocabulary_bytes(words) != raw:
        raise _damaged(f"{VOCABULARY} is not as discreet writes it")
    return words


def to_line(word: str) -> str:
    """Write a word as it is, or as JSON where it is empty, has what cannot be printed, or looks like JSON."""
    plain = bool(word) and word.isprintable() and not word.startswith('"')
    return word if plain else json.dumps(word, ensure_ascii=True)


def from_line(line: str) -> str:
    """Read a word as it stands in a line of the vocabulary file."""
    if not line.startswith('"'):
        return line
    try:
        word = json.loads(line)
    except ValueError:
        word = None
    if not isinstance(word, str):
        raise _damaged(f"{VOCABULARY} has a line that is not a word")
    return word


SEAL = Seal("discreet.release/2", "release", ReleaseError)
MODEL = "model.safetensors"
#: Bounds in bytes, checked before anything is parsed; the same when writing, so that what is written can be read.
LARGEST_HEADER, LARGEST_MODEL = 16 * 2**20, 16 * 2**30
_ARRAYS = ("topic_word", "topic_weight", "word_weight", "topic_word_noise")
_ENTRY = {"dtype", "shape", "data_offsets"}
#: How much smaller the written epsilon may be than the one that the ledger proves now: rounding, or a
#: correction of an accountant too small to matter.
_SLACK = 0.01


#: How many steps a ledger may take to price: one for each event of a booking, and each part that the booking moves.
MOST_STEPS = 2_000
#: So many steps is an event without a closed form, which is priced on a grid.
_SLOW, _QUICK = 20, ("GaussianDpEvent", "FailureDpEvent")


def check_ledger(ledger: Ledger, next_event: "Event | None" = None, touched: tuple[str, ...] = ()) -> None:
    """Raise ``ReleaseError`` where a ledger, and what is about to be booked, take more than a few seconds to price.

    Parts of a division that went through the same bookings are priced once; those that did not, each by itself.
    """
    from discreet.privacy.accounting import events

    bookings = [(entry.event, entry.touched) for entry in ledger.entries]
    bookings += [] if next_event is None else [(next_event, touched)]
    parts: set[str] = set()
    slow: set[str] = set()
    steps = 0
    for event, moved in bookings:
        parts.update(moved)
        kinds = {repr(leaf.event): type(leaf.event).__name__ for leaf in events.leaves(event)}
        slow_here = {kind for kind, name in kinds.items() if name not in _QUICK}
        slow |= slow_here
        steps += (len(kinds) + (_SLOW - 1) * len(slow_here)) * (len(moved) or 1 + len(parts))
    if slow and parts and steps <= MOST_STEPS:
        told = [(repr(event), frozenset(moved)) for event, moved in bookings]
        histories = {tuple(each for each, moved in told if not moved or part in moved) for part in parts}
        steps += _SLOW * len(slow) * len(histories)
    if steps > MOST_STEPS:
        unread = " Nothing was booked: what this would release could not be read again." * (
            next_event is not None
        )
        raise ReleaseError(
            f"the ledger of a release may take {MOST_STEPS:,} steps to price (one for each event and each part that it "
            f"moves; {_SLOW} for one that is not Gaussian), but this one takes more; book repetitions as one event "
            f"(discreet.privacy.accounting.events.composed), or the same event for each part.{unread}"
        )


def model_bytes(release: "Release", words: bytes) -> bytes:
    """Return the model file of a release whose vocabulary file is ``words``. The same release gives the same bytes."""
    from safetensors.numpy import save

    text = _metadata(release, words, _guarantee(release))
    if len(text) > LARGEST_HEADER // 2:
        raise ReleaseError(
            f"settings and ledger would take more than {LARGEST_HEADER >> 21} MiB; book repetitions as one event "
            "(discreet.privacy.accounting.events.composed)."
        )
    check_ledger(release.ledger)
    arrays = {name: getattr(release, name) for name in _ARRAYS if getattr(release, name) is not None}
    if sum(array.nbytes for array in arrays.values()) > LARGEST_MODEL - LARGEST_HEADER:
        raise ReleaseError(
            f"the arrays would take more than {LARGEST_MODEL >> 30} GiB; use fewer topics or words."
        )
    return save(arrays, {"discreet": text})


def header_length(start: bytes, size: int) -> int:
    """Return the length of the header of a model file of ``size`` bytes that begins with these 8."""
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else LARGEST_HEADER
    if length >= LARGEST_HEADER or length > size - 8:
        raise _damaged(f"{MODEL} is not a safetensors file of discreet, or it is cut off")
    return length


def read_header(raw: bytes, n_data: int) -> str:
    """Check the header of a model file before its ``n_data`` bytes of numbers are read; return its metadata.

    That shapes fit one another and the words is for the release to say that is made of them.
    """
    entries = _json(raw)
    about = entries.pop("__metadata__", None)
    if not isinstance(about, dict) or set(about) != {"discreet"} or not isinstance(about["discreet"], str):
        raise ReleaseError(
            f"{MODEL} was not written by discreet: it lacks the metadata key 'discreet', or has others; "
            "give a folder that Release.save made."
        )
    SEAL.opened(_json(about["discreet"]), MODEL)
    if "topic_word" not in entries or not set(entries) <= {*_ARRAYS}:
        raise _damaged(f"{MODEL} must hold topic_word and no arrays but {', '.join(_ARRAYS)}")
    expected = 0
    for name, entry in entries.items():
        if not isinstance(entry, dict) or set(entry) != _ENTRY or not _is_shape(entry["shape"], n_data):
            raise _damaged(f"{name} in {MODEL} has no shape, or an impossible one")
        if entry["dtype"] != "F64":
            raise _damaged(f"{name} in {MODEL} must be float64, but is {_told(entry['dtype'], 20)}")
        expected += 8 * math.prod(entry["shape"])
    if expected != n_data:
        raise _damaged(
            f"{MODEL} should hold {expected} bytes of numbers, but holds {n_data}: it was cut off or changed"
        )
    return about["discreet"]


def _is_shape(value: Any, most: int) -> bool:
    return (
        isinstance(value, list)
        and 1 <= len(value) <= 2
        and all(type(n) is int and 0 < n <= most for n in value)
    )


def build(
    raw: bytes, told: str, words: tuple[str, ...], words_digest: str, kind: "type[Release]"
) -> "Release":
    """Return the release in a whole model file whose header, metadata and vocabulary were checked."""
    metadata = _json(told)
    if metadata.get("vocabulary_sha256") != words_digest:
        raise ReleaseError(
            f"{VOCABULARY} is not the one that belongs to {MODEL}; restore both from one copy."
        )
    try:
        ledger = Ledger.from_json(metadata.get("ledger"))
    except (DiscreetError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise ReleaseError(f"the ledger in {MODEL} cannot be read: {_told(error, 200)}") from None
    check_ledger(ledger)
    label = metadata.get("determinism")
    release = kind(
        vocabulary=words,
        ledger=ledger,
        configuration=settings_in(metadata.get("configuration")),
        reproducible=isinstance(label, str) and kind.REPRODUCIBLE in label,
        n_units_noisy=metadata.get("n_units_noisy"),
        **_arrays(raw),
    )
    stated = metadata.get("guarantee")
    _check_guarantee(stated, release)
    text = ""
    with suppress(ValueError):  # a promise of infinity, which JSON has no number for
        text = _metadata(release, vocabulary_bytes(words), stated)
    if text != told:
        raise _damaged(
            f"{MODEL} does not match its own content (numbers, settings, ledger, determinism): it was changed or is "
            "damaged"
        )
    return release


def _arrays(raw: bytes) -> dict[str, NDArray[np.float64]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(raw)
    except (SafetensorError, ValueError, TypeError, OverflowError, KeyError) as error:
        raise _damaged(f"{MODEL} cannot be read ({_told(error, 200)})") from None


def _digest_of_arrays(release: "Release") -> str:
    digest = sha256()
    for name in sorted(_ARRAYS):
        array = getattr(release, name)
        if array is not None:
            digest.update(f"{name} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array, "<f8").data)
    return digest.hexdigest()


def _metadata(release: "Release", words: bytes, guarantee: Any) -> str:
    metadata = {
        "configuration": {name: number_out(value) for name, value in release.configuration.items()},
        "arrays_sha256": _digest_of_arrays(release),
        "ledger": release.ledger.to_json(),
        "determinism": release.determinism,
        "guarantee": guarantee,
        "n_units_noisy": release.n_units_noisy,
        "vocabulary_sha256": sha256(words).hexdigest(),
    }
    return json.dumps(SEAL.close(metadata), sort_keys=True, ensure_ascii=True, allow_nan=False)


def _guarantee(release: "Release") -> dict[str, Any]:
    found = release.promise
    return {
        "epsilon": number_out(found.epsilon),
        "delta": found.delta,
        "privacy_unit": found.privacy_unit,
        "neighboring": found.neighboring,
    }


def _check_guarantee(stated: Any, release: "Release") -> None:
    try:
        with np.errstate(all="ignore"):  # absurd events overflow; infinity is then the right answer
            proved = _guarantee(release)
    except (DiscreetError, ArithmeticError, ValueError, MemoryError) as error:
        raise ReleaseError(f"the ledger in {MODEL} cannot be accounted for: {_told(error, 200)}") from None
    if not isinstance(stated, dict) or set(stated) != set(proved):
        raise _damaged(f"{MODEL} must state its guarantee")
    claimed, found = number_in(stated["epsilon"]), number_in(proved["epsilon"])
    different = [name for name in ("delta", "privacy_unit", "neighboring") if stated[name] != proved[name]]
    if different or type(claimed) is not float or not claimed >= found * (1 - _SLACK):
        raise ReleaseError(
            f"{MODEL} states a guarantee (epsilon = {_told(stated['epsilon'], 20)}, "
            f"delta = {_told(stated['delta'], 20)}, "
            f"{_told(stated['privacy_unit'], 20)}) that its ledger does not prove (epsilon = {proved['epsilon']}, "
            f"delta = {proved['delta']}, {proved['privacy_unit']}): do not rely on it; ask whoever published it."
        )


def settings_in(value: Any) -> dict[str, Any]:
    """Return settings as they stand in a file."""
    if not isinstance(value, dict):
        raise _damaged("the settings in the file must be a JSON object")
    return {name: number_in(entry) for name, entry in value.items()}


def number_out(value: Any) -> Any:
    """Write infinities, which JSON has no number for, as objects, so that they cannot be mistaken for text."""
    return {"float": str(value)} if isinstance(value, float) and math.isinf(value) else value


def number_in(value: Any) -> Any:
    """Read what :func:`number_out` wrote; None for another object."""
    if not isinstance(value, dict):
        return value
    return {"inf": math.inf, "-inf": -math.inf}.get(str(value.get("float")))


def _told(value: Any, limit: int) -> str:
    """Return what a file says, fit for a message: short, on one line, with nothing that moves a terminal's cursor."""
    return printable(str(value))[:limit]


def _json(raw: bytes | str) -> dict[str, Any]:
    try:
        value = read_json(raw)
    except ValueError as error:
        raise _damaged(f"{MODEL} holds {error}") from None
    if not isinstance(value, dict):
        raise _damaged(f"{MODEL} must hold a JSON object")
    return value


CARD = "README.md"


def save(release: "Release", card: str, folder: Path) -> None:
    """Write a release and its card to a new or empty folder, whole or not at all; an error leaves nothing behind."""
    words = vocabulary_bytes(release.vocabulary)
    files = {MODEL: model_bytes(release, words), VOCABULARY: words, CARD: card.encode()}
    folder = folder.absolute()
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()) or _holds_something(folder):
        raise ReleaseError(f"expected a new or empty folder, but {folder} is not; name another one.")
    if not folder.parent.is_dir():
        raise ReleaseError(
            f"cannot write {folder}: the folder {folder.parent} does not exist; make it first."
        )
    try:
        made = tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:100]}.", suffix=".partial")
    except FileNotFoundError:  # of a folder that is there, such as /proc
        raise ReleaseError(f"{folder.parent} takes no new folders; name another place.") from None
    temporary = Path(made)
    try:
        # mkdtemp lets only the owner in; a folder made inside has the permissions that the user's umask gives.
        inner = temporary / "release"
        inner.mkdir()
        for name, content in files.items():
            with (inner / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        flush_folder(inner)
        _move(inner, folder)
        flush_folder(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load(folder: Path, kind: "type[Release]") -> "Release":
    """Read a release, made anew as a ``kind``; ``ReleaseError`` for what is missing, damaged or inconsistent."""
    if not is_there(folder):
        raise ReleaseError(
            f"expected a folder with a release, but {path_shown(folder)} does not exist; check the path."
        )
    if not is_folder(folder):
        raise ReleaseError(
            f"expected a folder with a release, but {path_shown(folder)} is not one; give a folder that Release.save "
            "made. Files of shares and of a fit are read by PrevalenceRelease.load and FitRelease.load."
        )
    try:
        with _open(folder / VOCABULARY, LARGEST_VOCABULARY) as (file, size):
            raw_words = _read(file, size, VOCABULARY)
        words = read_words(raw_words)
        with _open(folder / MODEL, LARGEST_MODEL) as (file, size):
            length = header_length(file.read(8), size)
            told = read_header(_read(file, length, MODEL), size - 8 - length)
            file.seek(0)
            return build(_read(file, size, MODEL), told, words, sha256(raw_words).hexdigest(), kind)
    except OSError as error:
        raise ReleaseError(f"{path_shown(folder)} cannot be read: {error.strerror or error}.") from None
    except MemoryError:
        raise ReleaseError(
            f"{folder} needs more memory than there is; load it on a larger machine."
        ) from None


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _move(inner: Path, folder: Path) -> None:
    try:
        inner.rename(folder)  # takes the place of an empty folder, and of no other
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        if error.errno == errno.EEXIST and folder.is_dir() and not _holds_something(folder):
            folder.rmdir()  # Windows renames onto no folder, not even an empty one
            inner.rename(folder)
            return
        raise ReleaseError(f"{folder} was filled by somebody else meanwhile; name another folder.") from None


@contextmanager
def _open(path: Path, limit: int) -> Generator[tuple[BinaryIO, int]]:
    """Open a plain file, and tell its size: no link out of the folder, nothing that blocks or never ends."""
    try:
        file = open_plain(path)
    except OSError as error:
        reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise ReleaseError(
            f"no release in {path_shown(path.parent)}: {path.name} cannot be opened ({reason}); Release.save makes one."
        ) from None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise _damaged(f"{path} is larger than a release can be")
        yield file, size


def _read(file: BinaryIO, size: int, name: str) -> bytes:
    raw = file.read(size)
    if len(raw) != size:
        raise ReleaseError(f"{name} was changed while it was read; try again.")
    return raw
