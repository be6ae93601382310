"""The tables of a collector's SQLite file, and what opens them.

``reports`` holds each report's number (unique) and packed bits, numbered in the order they were committed; ``spent``
the digests of used tickets, without any order, so that a ticket cannot be told to belong to a report; ``moments`` one
row: the moments of all reports up to ``last_id``, in one piece with that number. Whatever a crash leaves, adding the
reports after ``last_id`` to the moments beside it gives the moments of all reports.
"""

import json
import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.errors import CorpusError
from discreet.lda.moments import Moments
from discreet.local.wire import vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

__all__ = ["open_tables", "read_settings", "restore_moments", "save_moments"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (id INTEGER PRIMARY KEY, number BLOB NOT NULL UNIQUE, bits BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS spent (ticket BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moments (
    one INTEGER PRIMARY KEY CHECK (one = 1), last_id INTEGER NOT NULL, n INTEGER NOT NULL, counts BLOB NOT NULL
);
"""
_VERSION = "1"


def connect(path: Path) -> sqlite3.Connection:
    """Open the file so that a commit is on the disk when it returns."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def read_settings(connection: sqlite3.Connection) -> dict[str, str]:
    """Return what the file says of its channel and vocabulary."""
    return dict(connection.execute("SELECT name, value FROM settings"))


def open_tables(path: Path, words: Sequence[str], channel: BitChannel) -> sqlite3.Connection:
    """Open or make the file; ``CorpusError`` where it holds other reports than these or is no such file."""
    wanted = {
        "version": _VERSION,
        "vocabulary": vocabulary_digest(words).hex(),
        "words": json.dumps(list(words), ensure_ascii=False),
        "channel": f"{channel.p_threshold},{channel.q_threshold},{channel.limit or 0}",
    }
    connection = None
    try:
        if not path.exists():
            path.touch(mode=0o600)  # SQLite gives the files beside it the same mode
        connection = connect(path)
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        found = read_settings(connection)
        if not found:
            connection.executemany("INSERT INTO settings VALUES (?, ?)", wanted.items())
            found = wanted
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise CorpusError(f"{path} cannot be used as a store of reports: {error}.") from None
    for name, what in (
        ("version", "version of the store"),
        ("channel", "channel"),
        ("vocabulary", "vocabulary"),
    ):
        if found.get(name) != wanted[name]:
            connection.close()
            raise CorpusError(
                f"{path} keeps reports of another {what}; give the one it was made with, or another --store."
            )
    return connection


def save_moments(connection: sqlite3.Connection, moments: Moments, last_id: int) -> None:
    """Write the moments of the reports up to ``last_id``; call it inside a transaction."""
    upper = moments.second[np.triu_indices(moments.n_words)].astype("<i8")
    connection.execute(
        "INSERT OR REPLACE INTO moments VALUES (1, ?, ?, ?)",
        (last_id, moments.n, zlib.compress(upper.tobytes(), 1)),
    )


def restore_moments(connection: sqlite3.Connection, moments: Moments) -> int:
    """Fill ``moments`` with what was written last; return the number of its last report (0: none)."""
    row = connection.execute("SELECT last_id, n, counts FROM moments").fetchone()
    if row is None:
        return 0
    last_id, n, counts = row
    second = np.zeros((moments.n_words, moments.n_words), np.int64)
    try:
        second[np.triu_indices(moments.n_words)] = np.frombuffer(zlib.decompress(counts), "<i8")
    except (zlib.error, ValueError):
        raise CorpusError(
            "the moments in the store are damaged; delete its row, and they are counted again."
        ) from None
    moments.restore(n, second)
    return int(last_id)
