"""Reports kept exactly once, on the disk before anyone is told so, with their moments beside them.

One thread writes. It takes every batch that waits, writes all of them in one transaction (SQLite, write-ahead log,
``synchronous = FULL``) and only then answers each: the cost of a commit is shared, and no answer is given for what a
crash could lose. A number that is there already is acknowledged and not counted; other bits under the same number
are refused, with all of their batch.

Moments lag behind: a second thread adds committed reports in the order of their row numbers and now and then writes
moments and last row number in one transaction. A crash between two such writes means adding the rows since then
again, to the moments of before: no report counts twice.
"""

import logging
import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.errors import CorpusError, DiscreetError
from discreet.lda.moments import Moments
from discreet.local.collector.tables import connect, open_tables, restore_moments, save_moments
from discreet.privacy.bit_channel import BitChannel

__all__ = ["ConflictError", "Receipt", "ReportStore", "SpentError", "StoreBusyError"]

_log = logging.getLogger(__name__)

#: Reports written in one transaction at most, and folded into the moments in one go.
_TOGETHER = 16_384
_NUMBER = 16
#: Takes reports apart that come as one blob, number and bits after number and bits.
_INSERT = """
INSERT OR IGNORE INTO reports (number, bits)
WITH RECURSIVE place (i) AS (
    SELECT 1 UNION ALL SELECT i + {stride} FROM place WHERE i + {stride} <= length(?1)
)
SELECT substr(?1, i, 16), substr(?1, i + 16, {bits}) FROM place
"""


class StoreBusyError(DiscreetError):
    """Too many reports wait to be written: come again."""


class ConflictError(CorpusError):
    """A report's number is there already with other bits."""


class SpentError(CorpusError):
    """The ticket was used before, for another report."""


class Receipt(NamedTuple):
    """What became of a batch: reports counted now, and ones that had been counted before."""

    counted: int
    repeated: int


@dataclass
class _Batch:
    rows: list[tuple[bytes, bytes]]
    ticket: bytes | None
    answer: "Future[Receipt]" = field(default_factory=Future)


class ReportStore:
    """Reports of one channel and one vocabulary in a SQLite file.

    Parameters
    ----------
    path : path
        Made where it does not exist.
    words : sequence of str
        The vocabulary.
    channel : BitChannel
    most_waiting : int, default 100,000
        Reports that may wait to be written; beyond, :meth:`add` raises :class:`StoreBusyError`.
    save_every : int, default 200,000
        Reports after which the moments are written again (they also are on :meth:`close`).
    """

    def __init__(
        self,
        path: str | Path,
        words: Sequence[str],
        channel: BitChannel,
        *,
        most_waiting: int = 100_000,
        save_every: int = 200_000,
    ) -> None:
        self.words, self.channel = tuple(words), channel
        self._path, self._most_waiting, self._save_every = Path(path), most_waiting, save_every
        self._width = -(-len(self.words) // 8)
        self._insert_all = _INSERT.format(stride=_NUMBER + self._width, bits=self._width)
        self._moments = Moments(len(self.words), channel=channel)
        self._writing = open_tables(self._path, self.words, channel)
        self._reading = connect(self._path)
        try:
            self._saved = self._last = restore_moments(self._reading, self._moments)
        except CorpusError:
            self._reading.close()
            self._writing.close()
            raise
        self.n_reports = int(self._reading.execute("SELECT count(*) FROM reports").fetchone()[0])
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._waiting, self._closed = 0, False
        self._counting, self._folding = threading.Lock(), threading.Lock()
        # One at a time on the connection that writes: batches, or the moments.
        self._using = threading.Lock()
        self._stop = threading.Event()
        self._writer = threading.Thread(target=self._write, name="discreet-writer", daemon=True)
        self._folder = threading.Thread(target=self._fold_now_and_then, name="discreet-moments", daemon=True)
        self._writer.start()
        self._folder.start()

    @property
    def waiting(self) -> int:
        """Reports that wait to be written."""
        return self._waiting

    def add(self, rows: list[tuple[bytes, bytes]], *, ticket: bytes | None = None) -> "Future[Receipt]":
        """Queue reports; the future is done once they are on the disk.

        Parameters
        ----------
        rows : list of (number, packed bits)
        ticket : bytes, optional
            Digest of the one-time ticket that admits the one report.

        Raises
        ------
        StoreBusyError
            Now, where too many wait. The future raises ``ConflictError`` or ``SpentError`` where the batch is
            refused, and ``sqlite3.Error`` where the disk fails: then nothing of it was counted.
        """
        if not rows or any(len(number) != _NUMBER or len(bits) != self._width for number, bits in rows):
            raise CorpusError(f"expected numbers of {_NUMBER} bytes, each with {self._width} bytes of bits.")
        batch = _Batch(rows, ticket)
        with self._counting:
            if self._closed:
                raise StoreBusyError("the store is closing; come again.")
            if self._waiting and self._waiting + len(rows) > self._most_waiting:
                raise StoreBusyError(f"{self._waiting} reports wait to be written; come again in a second.")
            self._waiting += len(rows)
            self._batches.put(batch)
        return batch.answer

    def moments(self) -> Moments:
        """Return the moments of all reports that were committed before the call (a copy)."""
        with self._folding:
            self._fold()
            return self._moments.copy()

    def close(self) -> None:
        """Write what waits and the moments, and stop."""
        with self._counting:
            if self._closed:
                return
            self._closed = True
        self._batches.put(None)
        self._writer.join()
        self._stop.set()
        self._folder.join()
        try:
            with self._folding:
                self._fold()
                self._save()
        finally:
            self._reading.close()
            self._writing.close()

    def __enter__(self) -> "ReportStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self) -> None:
        more = True
        while more:
            batches, n = [self._batches.get()], 0
            while batches[-1] is not None and n < _TOGETHER:
                n += len(batches[-1].rows)
                try:
                    batches.append(self._batches.get_nowait())
                except queue.Empty:
                    break
            more = batches[-1] is not None
            self._commit([batch for batch in batches if batch is not None])

    def _commit(self, batches: list[_Batch]) -> None:
        results: list[Receipt | Exception] = []
        with self._using:
            try:
                self._writing.execute("BEGIN IMMEDIATE")
                results = [self._insert(batch) for batch in batches]
                self._writing.execute("COMMIT")
            except sqlite3.Error as error:
                if self._writing.in_transaction:
                    self._writing.execute("ROLLBACK")
                results = [error] * len(batches)
        with self._counting:
            self._waiting -= sum(len(batch.rows) for batch in batches)
            self.n_reports += sum(result.counted for result in results if isinstance(result, Receipt))
        for batch, result in zip(batches, results, strict=True):
            if not batch.answer.set_running_or_notify_cancel():
                continue  # whoever asked went away; the reports are kept
            if isinstance(result, Receipt):
                batch.answer.set_result(result)
            else:
                batch.answer.set_exception(result)

    def _insert(self, batch: _Batch) -> Receipt | Exception:
        run = self._writing
        run.execute("SAVEPOINT batch")
        # One statement for all of them: Python's lock is given back once for a batch, not once for a report.
        joined = b"".join(chain.from_iterable(batch.rows))
        counted = run.execute(self._insert_all, (joined,)).rowcount
        refused: Exception | None = None
        if counted < len(batch.rows):
            for number, bits in batch.rows:
                there = run.execute("SELECT bits FROM reports WHERE number = ?", (number,)).fetchone()
                if there[0] != bits:
                    refused = ConflictError(
                        "a report's number came before with other bits; make a new report, with a number of its own."
                    )
                    break
        # A repeated report needs no ticket of its own: its first answer may have been lost on the way.
        if refused is None and batch.ticket is not None and counted:
            spent = run.execute("INSERT OR IGNORE INTO spent VALUES (?)", (batch.ticket,)).rowcount
            if not spent:
                refused = SpentError("this ticket was used before; ask for another one.")
        if refused is not None:
            run.execute("ROLLBACK TO batch")
        run.execute("RELEASE batch")
        return refused or Receipt(counted, len(batch.rows) - counted)

    def _fold_now_and_then(self) -> None:
        while not self._stop.wait(0.5):
            behind, unsaved = self.n_reports - self._moments.n, self._last - self._saved
            if behind < _TOGETHER and unsaved < self._save_every:
                continue
            try:
                with self._folding:
                    self._fold(once=True)
                    if self._last - self._saved >= self._save_every:
                        self._save()
            except sqlite3.Error as error:  # nothing is lost: the reports are there, and it is tried again
                _log.warning("the moments could not be brought up to date: %s", type(error).__name__)

    def _fold(self, *, once: bool = False) -> None:
        """Add committed reports to the moments, in the order of their row numbers."""
        while True:
            rows = self._reading.execute(
                "SELECT id, bits FROM reports WHERE id > ? ORDER BY id LIMIT ?", (self._last, _TOGETHER)
            ).fetchall()
            if not rows:
                return
            packed = np.frombuffer(b"".join(bits for _, bits in rows), np.uint8).reshape(-1, self._width)
            self._moments.add_batch(packed, packed=True, n_jobs=1)
            self._last = rows[-1][0]
            if once or len(rows) < _TOGETHER:
                return

    def _save(self) -> None:
        if self._last == self._saved:
            return
        with self._using:
            try:
                self._writing.execute("BEGIN IMMEDIATE")
                save_moments(self._writing, self._moments, self._last)
                self._writing.execute("COMMIT")
            finally:
                if self._writing.in_transaction:
                    self._writing.execute("ROLLBACK")
        self._saved = self._last
