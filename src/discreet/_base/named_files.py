"""Files that people name: written whole, with a message where that cannot be, and lists with one reader.

Small files that list something, one entry a line (groups, names, words, edits, secrets), have one reader, so that what
an editor of any system saves means the same everywhere: Windows Notepad puts a byte-order mark first, which would else
be a part of the first entry.
"""

import os
from pathlib import Path

from discreet._base.files import PRIVATE, write_file
from discreet._base.validate import path_shown
from discreet.errors import ParameterError, Part, ReleaseError

_LARGEST = 2**24


def write_whole(raw: bytes, path: Path, thing: str, *, secret: bool = False) -> None:
    """Write a file whole or not at all; an older file there is replaced.

    Parameters
    ----------
    raw : bytes
    path : Path
    thing : str
        What is written, for error messages.
    secret : bool, default False
        Let nobody but the owner read it, even where the older file could be read by others.

    Raises
    ------
    ReleaseError
        Where the path is a folder, or its parent does not exist or takes no new files.
    """
    path = path.absolute()
    if path.is_dir():
        raise ReleaseError(f"cannot write {thing}: {path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise ReleaseError(f"cannot write {thing}: the folder {path.parent} does not exist; make it first.")
    try:
        write_file(path, lambda file: file.write(raw), mode=PRIVATE if secret else None)
    except FileNotFoundError:  # of a folder that is there, such as /proc
        raise ReleaseError(
            f"cannot write {thing}: {path.parent} takes no new files; name another place."
        ) from None


def read_list(path: str | os.PathLike[str], *called: Part) -> list[str]:
    """Return the entries of a file: as :func:`list_lines`, without empty ones."""
    return [line for line in list_lines(path, *called) if line]


def list_lines(path: str | os.PathLike[str], *called: Part) -> list[str]:
    """Return the lines of a file, without blanks around them.

    Parameters
    ----------
    path : path
        A file of UTF-8 text, with or without a byte-order mark.
    *called : str or Parameter
        What was to be read from there, for errors.

    Raises
    ------
    ParameterError
        Where it cannot be read, is no UTF-8 text or takes more than 16 MiB; shows nothing that stands in it.
    """
    raw, fault = b"", ""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        fault = f"cannot be read ({error.strerror or type(error).__name__})"
    text = ""
    if not fault and len(raw) > _LARGEST:
        fault = "is too large for a list; name another file"
    elif not fault:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:  # which would show the bytes
            fault = "must be UTF-8 text, one entry per line; save it as UTF-8"
        if "\0" in text:
            fault = "must be UTF-8 text, one entry per line, but holds zero bytes"
    if fault:
        raise ParameterError(*called, f": {path_shown(path)} {fault}.")
    return [line.strip() for line in text.splitlines()]
