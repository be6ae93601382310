"""A release as a folder: ``model.safetensors``, ``vocabulary.txt`` and ``README.md``.

What the first two hold is in :mod:`discreet.release.files.file_format` and :mod:`discreet.release.files.words`;
``README.md`` is the card, for people, and nothing is read back from it. The same release gives the same bytes.

A folder appears whole, in one step: it is written under another name, flushed to the disk, and renamed. A crash
at any moment leaves either no folder or one that loads, and at worst a hidden one beside it whose name ends in
``.partial``, which can be deleted.
"""

import errno
import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from discreet._files import flush_folder, open_plain
from discreet._validate import is_folder, path_shown
from discreet.errors import ReleaseError
from discreet.release.files import file_format
from discreet.release.files.file_format import MODEL
from discreet.release.files.words import LARGEST_VOCABULARY, VOCABULARY, read_words, vocabulary_bytes

if TYPE_CHECKING:
    from discreet.release.record import Release

__all__ = ["CARD", "load", "save"]

CARD = "README.md"


def save(release: "Release", card: str, folder: Path) -> None:
    """Write a release and its card to a new or empty folder, whole or not at all.

    Raises
    ------
    ReleaseError
        Where the folder holds something, or its parent does not exist. Nothing is written then.
    OSError
        Where the disk is full, or may not be written. Nothing is left behind then.
    """
    words = vocabulary_bytes(release.vocabulary)
    files = {
        MODEL: file_format.model_bytes(release, words),
        VOCABULARY: words,
        CARD: card.encode(),
    }
    folder = folder.absolute()
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()) or _holds_something(folder):
        raise ReleaseError(f"expected a new or empty folder, but {folder} is not; name another one.")
    if not folder.parent.is_dir():
        raise ReleaseError(
            f"cannot write {folder}: the folder {folder.parent} does not exist; make it first."
        )
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:100]}.", suffix=".partial"))
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
    """Read a release, made anew as a ``kind``.

    Raises
    ------
    ReleaseError
        Where anything is missing, unknown, damaged or inconsistent.
    """
    if not is_folder(folder):
        raise ReleaseError(
            f"expected a folder with a release, but {path_shown(folder)} is not one; give a folder that Release.save "
            "made. Files of shares and of a fit are read by PrevalenceRelease.load and FitRelease.load."
        )
    try:
        with _open(folder / VOCABULARY) as file:
            raw_words = _read(file, _size(file, LARGEST_VOCABULARY), VOCABULARY)
        words = read_words(raw_words)
        with _open(folder / MODEL) as file:
            size = _size(file, file_format.LARGEST_MODEL)
            length = file_format.header_length(file.read(8), size)
            n_data = size - 8 - length
            header = file_format.read_header(_read(file, length, MODEL), n_data, len(words))
            file.seek(0)
            model = _read(file, size, MODEL)
            return file_format.build(model, header, words, sha256(raw_words).hexdigest(), kind)
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


def _open(path: Path) -> BinaryIO:
    """Open a plain file: no link out of the folder, nothing that blocks or never ends."""
    try:
        return open_plain(path)
    except OSError as error:
        reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise ReleaseError(
            f"{path_shown(path)} cannot be opened ({reason}); give a folder that Release.save made."
        ) from None


def _size(file: BinaryIO, limit: int) -> int:
    size = os.fstat(file.fileno()).st_size
    if size > limit:
        raise ReleaseError(f"{file.name} is larger than a release can be; restore it from a copy.")
    return size


def _read(file: BinaryIO, size: int, name: str) -> bytes:
    raw = file.read(size)
    if len(raw) != size:
        raise ReleaseError(f"{name} was changed while it was read; try again.")
    return raw
