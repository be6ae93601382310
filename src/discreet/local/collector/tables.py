"""The tables of a collector's store, whatever database they lie in.

``reports`` holds each report's number (unique) and packed bits, numbered in the order they were committed; ``spent``
the digests of used tickets, without any order, so that a ticket cannot be told to belong to a report; ``moments`` one
row: the moments of all reports up to ``last_id``, in one piece with that number. Whatever a crash leaves, adding the
reports after ``last_id`` to the moments beside it gives the moments of all reports.

What the databases have in common is here; :mod:`discreet.local.collector.sqlite_tables` and
:mod:`discreet.local.collector.postgres_tables` add their connections and their dialect.
"""

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import CorpusError, DiscreetError
from discreet.lda.moments.moments import Moments
from discreet.local.wire import vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

__all__ = ["ConflictError", "Receipt", "SpentError", "StoreFailedError", "Tables"]

_VERSION = "1"


class ConflictError(CorpusError):
    """A report's number is there already with other bits."""


class SpentError(CorpusError):
    """The ticket was used before, for another report."""


class StoreFailedError(DiscreetError):
    """The database failed."""


class Receipt(NamedTuple):
    """What became of a batch: reports counted now, and ones that had been counted before."""

    counted: int
    repeated: int


class Tables(ABC):
    """Two connections to a store, one that writes and one that reads; each is used by one thread at a time.

    Parameters
    ----------
    where : str
        As messages name the store; no password.
    words : sequence of str
    channel : BitChannel
    """

    #: What the driver raises.
    failures: tuple[type[Exception], ...] = ()
    #: How the dialect marks a parameter, begins to write, and takes apart reports that come as one value.
    _mark, _begin, _insert_all, _prefix = "%s", "", "", ""
    _writing: Any
    _reading: Any

    def __init__(self, where: str, words: Sequence[str], channel: BitChannel) -> None:
        self.where, self.width = where, -(-len(words) // 8)
        wanted = {
            "version": _VERSION,
            "vocabulary": vocabulary_digest(words).hex(),
            "words": json.dumps(list(words), ensure_ascii=False),
            "channel": f"{channel.p_threshold},{channel.q_threshold},{channel.limit or 0}",
        }
        try:
            self._writing = self._reading = None
            self._writing = self._connect()
            self.begin()
            self._make()
            found = dict(self._run(self._writing, "SELECT name, value FROM {}settings").fetchall())
            if not found:
                for pair in wanted.items():
                    self._run(self._writing, "INSERT INTO {}settings VALUES (?, ?)", pair)
                found = wanted
            self.commit()
            self._reading = self._connect()
        except self.failures as error:
            self.close()
            raise CorpusError(f"{where} cannot be used as a store of reports: {error}.") from None
        for name, what in (
            ("version", "version of the store"),
            ("channel", "channel"),
            ("vocabulary", "vocabulary"),
        ):
            if found.get(name) != wanted[name]:
                self.close()
                raise CorpusError(
                    f"{where} keeps reports of another {what}; give the one it was made with, or another --store."
                )

    @abstractmethod
    def _connect(self) -> Any:
        """Open a connection."""

    @abstractmethod
    def _make(self) -> None:
        """Make the tables where they are missing."""

    @abstractmethod
    def _in_transaction(self) -> bool:
        """Whether the writing connection is inside a transaction."""

    def _run(self, connection: Any, statement: str, values: tuple[Any, ...] = ()) -> Any:
        return connection.execute(statement.replace("?", self._mark).replace("{}", self._prefix), values)

    def begin(self) -> None:
        """Begin to write, once nobody else does: row numbers are given in the order of commits."""
        for statement in self._begin.split("; "):
            self._writing.execute(statement)

    def commit(self) -> None:
        """Return when what was written since :meth:`begin` is on the disk."""
        self._writing.execute("COMMIT")

    def rollback(self) -> None:
        """Undo what was written since :meth:`begin`, if anything; never fails."""
        try:
            if self._in_transaction():
                self._writing.execute("ROLLBACK")
        except self.failures:
            self._writing.close()  # the database then undoes it

    def insert(self, rows: list[tuple[bytes, bytes]], ticket: bytes | None) -> Receipt | CorpusError:
        """Write a batch, all of it or nothing, and say what became of it; between begin and commit."""
        run = self._writing
        run.execute("SAVEPOINT batch")
        # One statement for all of them: Python's lock is given back once for a batch, not once for a report.
        counted = run.execute(self._insert_all, self._parts(b"".join(chain.from_iterable(rows)))).rowcount
        refused: CorpusError | None = None
        if counted < len(rows):
            for number, bits in rows:
                there = self._run(run, "SELECT bits FROM {}reports WHERE number = ?", (number,)).fetchone()
                if there[0] != bits:
                    refused = ConflictError(
                        "a report's number came before with other bits; make a new report, with a number of its own."
                    )
                    break
        # A repeated report needs no ticket of its own: its first answer may have been lost on the way.
        if refused is None and ticket is not None and counted:
            statement = "INSERT INTO {}spent VALUES (?) ON CONFLICT DO NOTHING"
            if not self._run(run, statement, (ticket,)).rowcount:
                refused = SpentError("this ticket was used before; ask for another one.")
        if refused is not None:
            run.execute("ROLLBACK TO SAVEPOINT batch")
        run.execute("RELEASE SAVEPOINT batch")
        return refused or Receipt(counted, len(rows) - counted)

    @abstractmethod
    def _parts(self, joined: bytes) -> Any:
        """Return what the dialect takes many reports as."""

    def count(self, *, writing: bool = False) -> int:
        """Return how many reports there are; with ``writing``, those written since :meth:`begin` among them."""
        connection = self._writing if writing else self._reading
        return int(self._run(connection, "SELECT count(*) FROM {}reports").fetchone()[0])

    def after(self, last_id: int, most: int) -> list[tuple[int, bytes]]:
        """Return row number and bits of the next committed reports, in order."""
        statement = "SELECT id, bits FROM {}reports WHERE id > ? ORDER BY id LIMIT ?"
        return self._run(self._reading, statement, (last_id, most)).fetchall()

    def save(self, moments: Moments, last_id: int) -> None:
        """Write the moments of the reports up to ``last_id``; between begin and commit."""
        upper = moments.second[np.triu_indices(moments.n_words)].astype("<i8")
        self._run(self._writing, "DELETE FROM {}moments")
        self._run(
            self._writing,
            "INSERT INTO {}moments VALUES (1, ?, ?, ?)",
            (last_id, moments.n, zlib.compress(upper.tobytes(), 1)),
        )

    def restore(self, moments: Moments) -> int:
        """Fill ``moments`` with what was written last; return the number of its last report (0: none)."""
        row = self._run(self._reading, "SELECT last_id, n, counts FROM {}moments").fetchone()
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

    def close(self) -> None:
        """Close both connections."""
        for connection in (self._reading, self._writing):
            if connection is not None:
                connection.close()
