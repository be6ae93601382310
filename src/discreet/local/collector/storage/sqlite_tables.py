"""A store in one SQLite file: write-ahead log, and a commit that returns when it is on the disk.

A file that is removed while it is open goes on to exist for this process alone, and so does its log: what is written
then is lost when the process ends. So file and log are looked for, by their numbers in the file system, before each
transaction and after it, and nothing is acknowledged where they are gone.
"""

import sqlite3
from pathlib import Path
from typing import Any

from discreet.errors import CorpusError
from discreet.local.collector.storage.kept import Kept
from discreet.local.collector.storage.tables import Tables

__all__ = ["SqliteTables"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT, number BLOB NOT NULL UNIQUE, bits BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS spent (ticket BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moments (
    one INTEGER PRIMARY KEY CHECK (one = 1), last_id INTEGER NOT NULL, n INTEGER NOT NULL, counts BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS days (day INTEGER PRIMARY KEY, last_id INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS withdrawn ON reports (id) WHERE length(bits) = 0
"""
#: Takes reports apart that come as one blob, number and bits after number and bits.
_INSERT = """
INSERT OR IGNORE INTO reports (number, bits)
WITH RECURSIVE place (i) AS (
    SELECT 1 UNION ALL SELECT i + {stride} FROM place WHERE i + {stride} <= length(?1)
)
SELECT substr(?1, i, 16), substr(?1, i + 16, {bits}) FROM place
"""
#: Seconds to wait for others that write.
_BUSY_SECONDS = 30
#: In place of the numbers of a file that is not there.
_GONE = (0, 0)


class SqliteTables(Tables):
    """Tables in a file, which is made where there is none, for its owner alone."""

    failures = (sqlite3.Error,)
    _mark, _begin = "?", "BEGIN IMMEDIATE"

    def __init__(self, path: Path, kept: Kept, *, read_only: bool = False) -> None:
        # SQLite keeps its log beside the file that a link leads to.
        self._path = path.resolve()
        if self._path.exists() and self._path.stat().st_nlink > 1:
            raise CorpusError(
                f"{path} has another name (a hard link), by which it could be opened beside this store's log; copy it "
                "to a file of its own, and give that."
            )
        self._insert_all = _INSERT.format(stride=16 + kept.width, bits=kept.width)
        self._identity: list[tuple[int, int]] = []
        super().__init__(str(path), kept, read_only=read_only)
        if read_only:
            return
        self._identity = self._look()
        if _GONE in self._identity:
            self.close()
            raise CorpusError(
                f"the store {path} has no file or no log of its name; it was moved or removed meanwhile."
            )

    def _connect(self) -> sqlite3.Connection:
        if self._read_only:
            return sqlite3.connect(
                f"{self._path.as_uri()}?mode=ro", uri=True, check_same_thread=False, timeout=_BUSY_SECONDS
            )
        if not self._path.exists():
            self._path.touch(mode=0o600)  # SQLite gives the files beside it the same mode
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        return connection

    def _make(self) -> None:
        for statement in _SCHEMA.split(";\n"):
            self._writing.execute(statement)

    def begin(self) -> None:
        """Begin to write, into the file that has the store's name."""
        self.check()
        super().begin()

    def commit(self) -> None:
        """Return when what was written is on the disk, in the file that has the store's name."""
        super().commit()
        self.check()

    def check(self) -> None:
        """Raise where file or log were removed or replaced."""
        if self._identity and self._look() != self._identity:
            raise sqlite3.OperationalError("the store's file was removed or replaced")

    def scrub(self) -> bool:
        """Empty the write-ahead log, which may hold what was deleted, if nobody reads what was before; never wait."""
        self._writing.execute("PRAGMA busy_timeout = 0")
        try:
            ((held_up, _, _),) = self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._writing.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_SECONDS}")
        return not held_up

    def _look(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for path in (self._path, Path(f"{self._path}-wal")):
            try:
                there = path.stat()
            except OSError:
                found.append(_GONE)
            else:
                found.append((there.st_dev, there.st_ino))
        return found

    def _in_transaction(self) -> bool:
        return bool(self._writing.in_transaction)

    def _parts(self, joined: bytes) -> Any:
        return (joined,)
