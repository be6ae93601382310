"""Routing of rows by person, over files on disk: all rows of a person come out together, whenever they came in.

Rows are put into spill files by a tag of their owner; at the end each file is sorted by tag. The tag is the keyed
BLAKE2b of the person's one text (:mod:`discreet._base.persons`), 128 bits, under a key that is drawn for this writing
and forgotten: names are never written, and that any two of 10^9 people share a tag has a probability below 10^-20.
Spill files are as private as the text: mode 0600, and removed.

A stream of rows is cut into shards between two persons where it is known whose they are.
"""

import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import Csr
from discreet._base.files import write_whole
from discreet._base.persons import person_keys
from discreet.corpus.counting import TextCounter
from discreet.corpus.files import PathLike
from discreet.corpus.shards.shard_file import Rows, ShardEntry, json_bytes, labels_of, shard_bytes
from discreet.errors import CorpusError

_FILES = 128
_HELD_ENTRIES = 1 << 22


class Spill:
    """Files of rows, by person.

    Parameters
    ----------
    folder : Path
        Where they lie until they are read.
    owned : bool, default True
        Whether rows have persons; without, they come out in the order in which they came.
    """

    def __init__(self, folder: Path, owned: bool = True) -> None:
        self._folder, self._owned = folder, owned
        self._key = secrets.token_bytes(32)
        self._held: list[tuple[Rows, NDArray[np.uint64]]] = []
        self._n_held = 0
        self.n_documents = 0
        #: What counts the texts of all files of a stream; made for the first.
        self.counter: TextCounter | None = None

    def add(self, rows: Rows, persons: Any, documents: Any = None) -> None:
        """Put rows away. Persons are ids in any way in which they can be written down, beside what they were given."""
        n = rows.counts.shape[0]
        tags = self._tags(documents, persons, n) if self._owned else np.zeros((n, 2), np.uint64)
        self._held.append((rows, tags))
        self.n_documents += n
        self._n_held += rows.counts.nnz + rows.counts.shape[0]
        if self._n_held > _HELD_ENTRIES:
            self._put_away()

    def _tags(self, documents: Any, persons: Any, n_documents: int) -> NDArray[np.uint64]:
        tags = b"".join(
            blake2b(key.encode(errors="surrogatepass"), key=self._key, digest_size=16).digest()
            for key in person_keys(documents, persons, n_documents, first=self.n_documents)
        )
        return np.frombuffer(tags, ">u8").astype(np.uint64).reshape(-1, 2)

    def _put_away(self) -> None:
        for rows, tags in self._held:
            place = (tags[:, 0] % np.uint64(_FILES)).astype(np.int64)
            order = np.argsort(place, kind="stable")
            cuts = np.searchsorted(place[order], np.arange(_FILES + 1))
            for number in np.unique(place).tolist():
                chosen = order[cuts[number] : cuts[number + 1]]
                counts: Csr = rows.counts[chosen]
                said = rows.labels
                labels = np.zeros(0, np.uint8) if said is None else json_bytes(said[chosen].tolist())
                opened = os.open(self._path(number), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(opened, "ab") as file:
                    for array in (tags[chosen], np.diff(counts.indptr), counts.indices, counts.data, labels):
                        np.save(file, array, allow_pickle=False)
        self._held, self._n_held = [], 0

    def _path(self, number: int) -> Path:
        return self._folder / f"spill-{number:03d}"

    def rows(self, n_words: int, columns: NDArray[np.int32] | None = None) -> Iterator[Rows]:
        """Yield all rows, persons numbered so that they ascend, and remove the files.

        Parameters
        ----------
        n_words : int
        columns : array of int32, optional
            The column of each word, where words were numbered otherwise while rows were added.
        """
        self._put_away()
        first = 0
        for number in range(_FILES):
            path = self._path(number)
            if not path.exists():
                continue
            with path.open("rb") as file:
                stream = _blocks(file, n_words, path.stat().st_size, columns)
                if not self._owned:
                    yield from (rows for _, rows in stream)
                    path.unlink()
                    return
                blocks = list(stream)
            path.unlink()
            tags = np.concatenate([tags for tags, _ in blocks])
            order = np.lexsort((tags[:, 1], tags[:, 0]))
            tags = tags[order]
            new = np.r_[False, (tags[1:] != tags[:-1]).any(1)]
            persons = first + np.cumsum(new)
            first = int(persons[-1]) + 1
            yield Rows.join([rows for _, rows in blocks]).take(order)._replace(persons=persons)


def _blocks(
    file: IO[bytes], n_words: int, size: int, columns: NDArray[np.int32] | None
) -> Iterator[tuple[NDArray[np.uint64], Rows]]:
    while file.tell() < size:
        tags, sizes, words, data, labels = (np.load(file, allow_pickle=False) for _ in range(5))
        indptr = np.r_[0, np.cumsum(sizes)]
        words = words if columns is None else columns[words]
        counts = sp.csr_matrix((data, words, indptr), shape=(len(sizes), n_words))
        counts.sort_indices()
        yield tags, Rows(counts, None, labels_of(labels) if len(labels) else None)


@contextmanager
def new_folder(folder: PathLike) -> Generator[Path]:
    """Make a folder that did not exist, or was empty; where this block fails, nothing of it is left behind."""
    path = Path(folder).absolute()
    try:
        made = not path.exists()
        path.mkdir(mode=0o700, exist_ok=True)
        full = any(path.iterdir())
    except OSError as error:
        what = error.strerror or type(error).__name__
        raise CorpusError(f"{path} cannot be made: {what}; name a new folder.") from None
    if full:
        raise CorpusError(f"{path} is not empty; name a new folder.")
    try:
        yield path
    except BaseException as error:
        with suppress(OSError):
            for file in path.iterdir():
                file.unlink()
            if made:
                path.rmdir()
        if not isinstance(error, OSError):
            raise
        what = error.strerror or type(error).__name__  # a full disk
        raise CorpusError(f"{path} cannot be written: {what}. Nothing is left behind.") from None


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
        self.folder, self.owned, self._size = folder, owned, shard_documents
        self._held: list[Rows] = []
        self._n_held = 0
        self._entries: list[ShardEntry] = []

    def add(self, rows: Rows) -> None:
        """Append documents."""
        self._held.append(rows)
        self._n_held += rows.counts.shape[0]
        if self._n_held > self._size:
            rows, start = Rows.join(self._held), 0
            while (end := self._end(rows, start)) is not None:
                self._write(rows.take(slice(start, end)))
                start = end
            rest = rows.take(slice(start, None))
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
            self._write(Rows.join(self._held))
        return tuple(self._entries)

    def _write(self, rows: Rows) -> None:
        raw, name = shard_bytes(rows), f"shard-{len(self._entries):05d}.safetensors"
        write_whole(raw, self.folder / name, "a shard", secret=True)
        self._entries.append(ShardEntry.of(name, raw, rows))
