"""Small files that list something, one entry a line: groups, names, words, edits, secrets.

One reader for all of them, so that what an editor of any system saves means the same everywhere: Windows Notepad puts a
byte-order mark first, which would else be a part of the first entry.
"""

import os
from pathlib import Path

from discreet._validate import path_shown
from discreet.errors import ParameterError, Part

__all__ = ["list_lines", "read_list"]

_LARGEST = 2**24


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
            fault = "must be UTF-8 text, one entry per line"
        if "\0" in text:
            fault = "must be UTF-8 text, one entry per line, but holds zero bytes"
    if fault:
        raise ParameterError(*called, f": {path_shown(path)} {fault}.")
    return [line.strip() for line in text.splitlines()]
