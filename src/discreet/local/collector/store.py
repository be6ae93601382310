"""Reports kept exactly once, on the disk before anyone is told so, with their moments beside them.

One thread writes. It takes every batch that waits, writes all of them in one transaction that is on the disk when it
ends, and only then answers each: the cost of a commit is shared, and no answer is given for what a crash could lose.
A number that is there already is acknowledged and not counted; other bits under the same number are refused, with all
of their batch.

Moments lag behind: a second thread adds committed reports in the order of their row numbers and now and then writes
moments and last row number in one transaction. A crash between two such writes means adding the rows since then
again, to the moments of before: no report counts twice.
"""

import logging
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from discreet.errors import CorpusError, DiscreetError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.open_tables import open_tables
from discreet.local.collector.tables import (
    ConflictError,
    Receipt,
    SpentError,
    StoreFailedError,
)
from discreet.privacy.bit_channel import BitChannel

__all__ = ["ConflictError", "Receipt", "ReportStore", "SpentError", "StoreBusyError", "StoreFailedError"]

_log = logging.getLogger(__name__)

#: Reports written in one transaction at most, and folded into the moments in one go.
_TOGETHER = 16_384
_NUMBER = 16


class StoreBusyError(DiscreetError):
    """Too many reports wait to be written: come again."""


@dataclass
class _Batch:
    rows: list[tuple[bytes, bytes]]
    ticket: bytes | None
    answer: "Future[Receipt]" = field(default_factory=Future)


class ReportStore:
    """Reports of one channel and one vocabulary.

    Parameters
    ----------
    where : path or str
        A SQLite file, made where it does not exist, or the URL of a PostgreSQL database.
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
        where: str | Path,
        words: Sequence[str],
        channel: BitChannel,
        *,
        most_waiting: int = 100_000,
        save_every: int = 200_000,
    ) -> None:
        self.words, self.channel = tuple(words), channel
        self._most_waiting, self._save_every = most_waiting, save_every
        self._width = -(-len(self.words) // 8)
        self._moments = Moments(len(self.words), channel=channel)
        self._tables = open_tables(where, self.words, channel)
        try:
            self._saved = self._last = self._tables.restore(self._moments)
            self.n_reports = self._tables.count()
        except BaseException:
            self._tables.close()
            raise
        self._recount = False
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
            refused, and ``StoreFailedError`` where the database fails: then send the same reports again.
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
            try:
                self._fold()
            except self._tables.failures as error:
                raise StoreFailedError(f"the store cannot be read ({type(error).__name__}).") from None
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
            self._tables.close()

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
        results: list[Receipt | DiscreetError] = []
        tables, total = self._tables, None
        with self._using:
            try:
                tables.begin()
                results = [tables.insert(batch.rows, batch.ticket) for batch in batches]
                total = tables.count(writing=True) if self._recount else None
                tables.commit()
                self._recount = False
            except tables.failures as error:
                tables.rollback()
                _log.warning("reports could not be written: %s", type(error).__name__)
                results = [StoreFailedError("the store failed; send the same reports again.")] * len(batches)
                # A commit may have succeeded whose answer never came.
                self._recount = True
        with self._counting:
            self._waiting -= sum(len(batch.rows) for batch in batches)
            counted = sum(result.counted for result in results if isinstance(result, Receipt))
            self.n_reports = self.n_reports + counted if total is None else total
        for batch, result in zip(batches, results, strict=True):
            if not batch.answer.set_running_or_notify_cancel():
                continue  # whoever asked went away; the reports are kept
            if isinstance(result, Receipt):
                batch.answer.set_result(result)
            else:
                batch.answer.set_exception(result)

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
            except (
                self._tables.failures
            ) as error:  # nothing is lost: the reports are there, and it is tried again
                _log.warning("the moments could not be brought up to date: %s", type(error).__name__)

    def _fold(self, *, once: bool = False) -> None:
        """Add committed reports to the moments, in the order of their row numbers."""
        while True:
            rows = self._tables.after(self._last, _TOGETHER)
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
                self._tables.begin()
                self._tables.save(self._moments, self._last)
                self._tables.commit()
            except self._tables.failures:
                self._tables.rollback()
                raise
        self._saved = self._last
