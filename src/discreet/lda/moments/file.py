"""Moments in one file: an npz archive of seven plain arrays, no pickles, written whole or not at all.

``version`` (2), ``n``, ``channel`` (p, q), ``limit`` (words of a document that a writer keeps; 0: all),
``reproducible`` (1 where coins came from a seed), ``n_words`` and ``upper``: the upper triangle of the table of pairs,
row by row, int64.
"""

import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet._files import write_file
from discreet.errors import CorpusError

if TYPE_CHECKING:
    from discreet.lda.moments.moments import Moments

__all__ = ["load", "save"]

_VERSION = 2
_FORMS = {
    "version": ("<i8", 0),
    "n": ("<i8", 0),
    "n_words": ("<i8", 0),
    "channel": ("<f8", 1),
    "limit": ("<i8", 0),
    "reproducible": ("<i8", 0),
    "upper": ("<i8", 1),
}
#: Bytes that numpy's header may add to an array.
_HEADER = 4096


class _Channel(NamedTuple):
    p: float
    q: float
    limit: int | None
    reproducible: bool


def save(moments: "Moments", path: Path) -> None:
    """Write the moments; an existing file is replaced in one step."""
    fields: dict[str, Any] = {
        "version": np.int64(_VERSION),
        "n": np.int64(moments.n),
        "n_words": np.int64(moments.n_words),
        "channel": np.array([moments.p, moments.q]),
        "limit": np.int64(moments.limit or 0),
        "reproducible": np.int64(moments.reproducible),
        "upper": moments.second[np.triu_indices(moments.n_words)],
    }
    write_file(path, lambda file: np.savez(file, **fields))


def load(path: Path, kind: "type[Moments]", *, max_bytes: int) -> "Moments":
    """Read moments; ``CorpusError`` for anything that is not exactly a file of them."""
    try:
        fields = _read(path, max_bytes)
        made = _made(fields, kind, max_bytes)
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        if isinstance(error, FileNotFoundError):
            raise CorpusError(f"there are no moments at {path}.") from None
        raise CorpusError(
            f"{path} does not hold moments as Moments.save writes them ({type(error).__name__})."
        ) from None
    return made


def _read(path: Path, max_bytes: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if sorted(entries) != sorted(f"{name}.npy" for name in _FORMS) or len(entries) != len(
            archive.infolist()
        ):
            raise ValueError("other arrays")
        for entry in entries.values():
            if entry.file_size > max_bytes + _HEADER:
                raise ValueError("too large")
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                raise ValueError("compressed or encrypted")
        for name, (dtype, n_dimensions) in _FORMS.items():
            with archive.open(f"{name}.npy") as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
            if array.dtype != np.dtype(dtype) or array.ndim != n_dimensions:
                raise ValueError(name)
            fields[name] = array
    return fields


def _made(fields: dict[str, Any], kind: "type[Moments]", max_bytes: int) -> "Moments":
    n_words, n = int(fields["n_words"]), int(fields["n"])
    if int(fields["version"]) != _VERSION or fields["channel"].shape != (2,) or n < 0:
        raise ValueError("header")
    if n_words < 1 or len(fields["upper"]) != n_words * (n_words + 1) // 2:
        raise ValueError("shape")
    p, q = fields["channel"].tolist()
    if not (math.isfinite(p) and math.isfinite(q)):
        raise ValueError("channel")
    limit, reproducible = int(fields["limit"]), int(fields["reproducible"])
    if limit < 0 or reproducible not in (0, 1):
        raise ValueError("channel")
    made = kind(n_words, channel=_Channel(p, q, limit or None, bool(reproducible)), max_bytes=max_bytes)
    upper = np.zeros((n_words, n_words), np.int64)
    upper[np.triu_indices(n_words)] = fields["upper"]
    made.restore(n, upper)
    return made
