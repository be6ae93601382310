"""Cutting a stream of rows into shards, between two persons where it is known whose they are."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet._base.files import write_whole
from discreet.corpus.files import PathLike
from discreet.corpus.shards.shard_file import Rows, ShardEntry, shard_bytes
from discreet.errors import CorpusError

__all__ = ["NewFolder", "ShardCutter", "join", "take"]


class NewFolder:
    """A folder that did not exist, or was empty, and is taken away again where what fills it fails."""

    def __init__(self, folder: PathLike) -> None:
        self.path = Path(folder).absolute()
        what = None
        try:
            self._made = not self.path.exists()
            self.path.mkdir(mode=0o700, exist_ok=True)
            if any(self.path.iterdir()):
                what = "is not empty; name a new folder"
        except OSError as error:
            what = f"cannot be made: {error.strerror or type(error).__name__}; name a new folder"
        if what is not None:
            raise CorpusError(f"{self.path} {what}.")

    @contextmanager
    def filling(self) -> Generator[None]:
        """Leave nothing behind where this block fails; a full disk is one of our errors."""
        what = None
        try:
            yield
        except OSError as error:
            what = error.strerror or type(error).__name__
        except BaseException:
            self._remove()
            raise
        if what is not None:
            self._remove()
            raise CorpusError(f"{self.path} cannot be written: {what}. Nothing is left behind.")

    def _remove(self) -> None:
        with suppress(OSError):
            if self._made:
                shutil.rmtree(self.path)
            else:
                for file in self.path.iterdir():
                    file.unlink()


class ShardCutter:
    """Takes rows, persons ascending, and writes a shard whenever there are enough.

    Parameters
    ----------
    folder : Path
    shard_documents : int
    owned : bool
        Whether rows have persons; a shard then ends between two of them.
    """

    def __init__(self, folder: Path, shard_documents: int, owned: bool) -> None:
        self._folder, self._size, self._owned = folder, shard_documents, owned
        self._held: list[Rows] = []
        self._n_held = 0
        self._entries: list[ShardEntry] = []

    def add(self, rows: Rows) -> None:
        """Append documents."""
        self._held.append(rows)
        self._n_held += rows.counts.shape[0]
        if self._n_held > self._size:
            rows, start = join(self._held), 0
            while (end := self._end(rows, start)) is not None:
                self._write(take(rows, slice(start, end)))
                start = end
            rest = take(rows, slice(start, None))
            self._held, self._n_held = [rest], rest.counts.shape[0]

    def _end(self, rows: Rows, start: int) -> int | None:
        """Return where the shard that begins at ``start`` ends, or None where more may belong to it."""
        end, n = start + self._size, rows.counts.shape[0]
        if end >= n:
            return None
        if rows.persons is None:
            return end
        end = int(np.searchsorted(rows.persons, rows.persons[end - 1], side="right"))
        return end if end < n else None

    def finish(self) -> tuple[ShardEntry, ...]:
        """Write what is left and return all entries."""
        if self._n_held:
            self._write(join(self._held))
        return tuple(self._entries)

    def _write(self, rows: Rows) -> None:
        raw, counts, persons = shard_bytes(rows), rows.counts, rows.persons
        name = f"shard-{len(self._entries):05d}.safetensors"
        write_whole(raw, self._folder / name, "a shard", secret=True)
        n = int(counts.shape[0])
        n_units = n if persons is None else len(np.unique(persons))
        first, last = (0, -1) if persons is None else (int(persons[0]), int(persons[-1]))
        tokens = int(counts.data.sum(dtype=np.int64))
        entry = ShardEntry(name, sha256(raw).hexdigest(), n, n_units, len(counts.data), tokens, first, last)
        self._entries.append(entry)


def join(parts: list[Rows]) -> Rows:
    """Return rows one after another."""
    if len(parts) == 1:
        return parts[0]
    persons = None if parts[0].persons is None else np.concatenate([part.persons for part in parts])  # type: ignore[misc]
    labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])  # type: ignore[misc]
    return Rows(sp.vstack([part.counts for part in parts], format="csr"), persons, labels)


def take(rows: Rows, chosen: Any) -> Rows:
    """Return some rows, in the order chosen."""
    persons = None if rows.persons is None else rows.persons[chosen]
    return Rows(rows.counts[chosen], persons, None if rows.labels is None else rows.labels[chosen])
