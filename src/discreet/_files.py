"""Writing one file whole or not at all."""

import os
import tempfile
from pathlib import Path

from discreet.errors import ReleaseError

__all__ = ["write_whole"]


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
        Where the path is a folder, or its parent does not exist.
    """
    path = path.absolute()
    if path.is_dir():
        raise ReleaseError(f"cannot write {thing}: {path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise ReleaseError(f"cannot write {thing}: the folder {path.parent} does not exist; make it first.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner reads; what leaves is meant to be read.
        temporary.chmod(0o600 if secret else 0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
