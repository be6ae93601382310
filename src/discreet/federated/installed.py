"""Which program a silo runs: a digest of the installed package, to be compared and pinned.

It is over every file of the package and its bytes, in the order of their names, wherever and whenever it was installed.
Compiled files (``__pycache__``) are left out, because Python writes them anew: whoever can write there can run
something else, as whoever can change Python itself can. So it tells silos that they run the same release of this
library, and notices an update that nobody agreed to; it is no defence against the administrator of the machine.
"""

from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import itemgetter

__all__ = ["digest_of", "package_digest"]


def package_digest() -> str:
    """Return the SHA-256 of the installed ``discreet``, as 64 hexadecimal digits."""
    return digest_of(files("discreet"))


def digest_of(folder: Traversable) -> str:
    """Return the SHA-256 of the names and bytes of all files in a folder but compiled ones."""
    whole = sha256()
    for name, file in sorted(_files_in(folder, ""), key=itemgetter(0)):
        content = file.read_bytes()
        # Lengths first: no two folders have the same sequence of bytes.
        whole.update(f"{len(name.encode())}:{len(content)}:".encode() + name.encode() + content)
    return whole.hexdigest()


def _files_in(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for item in folder.iterdir():
        if item.name == "__pycache__" or item.name.endswith(".pyc"):
            continue
        found += _files_in(item, f"{prefix}{item.name}/") if item.is_dir() else [(prefix + item.name, item)]
    return found
