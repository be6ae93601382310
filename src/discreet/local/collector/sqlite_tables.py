"""A store in one SQLite file: write-ahead log, and a commit that returns when it is on the disk."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.local.collector.tables import Tables
from discreet.privacy.bit_channel import BitChannel

__all__ = ["SqliteTables"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (id INTEGER PRIMARY KEY, number BLOB NOT NULL UNIQUE, bits BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS spent (ticket BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moments (
    one INTEGER PRIMARY KEY CHECK (one = 1), last_id INTEGER NOT NULL, n INTEGER NOT NULL, counts BLOB NOT NULL
)
"""
#: Takes reports apart that come as one blob, number and bits after number and bits.
_INSERT = """
INSERT OR IGNORE INTO reports (number, bits)
WITH RECURSIVE place (i) AS (
    SELECT 1 UNION ALL SELECT i + {stride} FROM place WHERE i + {stride} <= length(?1)
)
SELECT substr(?1, i, 16), substr(?1, i + 16, {bits}) FROM place
"""


class SqliteTables(Tables):
    """Tables in a file, which is made where there is none, for its owner alone."""

    failures = (sqlite3.Error,)
    _mark, _begin = "?", "BEGIN IMMEDIATE"

    def __init__(self, path: Path, words: Sequence[str], channel: BitChannel) -> None:
        self._path = path
        width = -(-len(words) // 8)
        self._insert_all = _INSERT.format(stride=16 + width, bits=width)
        super().__init__(str(path), words, channel)

    def _connect(self) -> sqlite3.Connection:
        if not self._path.exists():
            self._path.touch(mode=0o600)  # SQLite gives the files beside it the same mode
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        return connection

    def _make(self) -> None:
        for statement in _SCHEMA.split(";\n"):
            self._writing.execute(statement)

    def _in_transaction(self) -> bool:
        return bool(self._writing.in_transaction)

    def _parts(self, joined: bytes) -> Any:
        return (joined,)
