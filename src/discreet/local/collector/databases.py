"""Where a collector's tables lie: a SQLite file, or a PostgreSQL database by its URL.

SQLite: a write-ahead log, and a commit that returns when it is on the disk. A file that is removed while it is
open goes on to exist for this process alone, and so does its log: what is written then is lost when the process ends.
So file and log are looked for, by their numbers in the file system, before each transaction and after it, and nothing
is acknowledged where they are gone.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import CorpusError, DiscreetError
from discreet.local.collector.tables import TOGETHER, StoreSettings, Tables, settings_of
from discreet.local.whole_document.questions import CodebookReport, PublishedQuestion

__all__ = ["SqliteTables", "collected_answers", "is_url", "open_tables"]

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
    _bytes, _row, _unordered = "BLOB", "INTEGER PRIMARY KEY AUTOINCREMENT", "WITHOUT ROWID"

    def __init__(self, path: Path, settings: StoreSettings, *, read_only: bool = False) -> None:
        # SQLite keeps its log beside the file that a link leads to.
        self._path = path.resolve()
        if self._path.exists() and self._path.stat().st_nlink > 1:
            raise CorpusError(
                f"{path} has another name (a hard link), by which it could be opened beside this store's log; copy it "
                "to a file of its own, and give that."
            )
        self._insert_all = _INSERT.format(stride=16 + settings.width, bits=settings.width)
        self._identity: list[tuple[int, int]] = []
        super().__init__(str(path), settings, read_only=read_only)
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


_POSTGRES = ("postgresql://", "postgres://")


def is_url(where: str | Path) -> bool:
    """Whether it names a database rather than a file."""
    return isinstance(where, str) and where.startswith(_POSTGRES)


def open_tables(where: str | Path, settings: StoreSettings, *, read_only: bool = False) -> Tables:
    """Open or make the tables in a SQLite file or, by URL, in a PostgreSQL database; or only read them.

    Raises
    ------
    CorpusError
        Where they hold reports of another channel or vocabulary, or cannot be used.
    """
    if is_url(where):
        try:
            from discreet.local.collector.postgres import PostgresTables
        except ImportError as error:
            raise DiscreetError(
                f"a PostgreSQL store needs {error.name}: pip install 'discreet[postgres]'."
            ) from None
        return PostgresTables(str(where), settings, read_only=read_only)
    return SqliteTables(Path(where), settings, read_only=read_only)


def collected_answers(where: str | Path, asked: PublishedQuestion) -> list[CodebookReport]:
    """Return the answers to a question that a collector keeps, each once; nothing is written there.

    Parameters
    ----------
    where : path or str
        A SQLite file, or the URL of a PostgreSQL database; a collector may be using it.
    asked : PublishedQuestion

    Raises
    ------
    CorpusError
        Where there is no such store, or one of other reports.
    """
    if not is_url(where) and not Path(where).is_file():
        raise CorpusError(f"there is no store of reports at {where}.")
    blank, found = asked.blank(), list[CodebookReport]()
    tables = open_tables(where, settings_of(asked.question.vocabulary, asked), read_only=True)
    try:
        last, more = 0, True
        while more:
            rows = tables.numbered(last, TOGETHER)
            found += [
                replace(blank, number=bytes(number), answer=int.from_bytes(bytes(answer), "little"))
                for _, number, answer in rows
            ]
            last, more = (rows[-1][0] if rows else last), len(rows) == TOGETHER
    except tables.failures as error:
        raise CorpusError(f"the store cannot be read ({type(error).__name__}).") from None
    finally:
        tables.close()
    return found
