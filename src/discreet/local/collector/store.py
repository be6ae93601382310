"""Reports kept exactly once, on the disk before anyone is told so.

One thread writes. It takes every batch that waits, writes all of them in one transaction that is on the disk when it
ends, and only then answers each: the cost of a commit is shared, and no answer is given for what a crash could lose.
A number that is there already is acknowledged and not counted; other bits under the same number are refused, with all
of their batch. Withdrawn reports go in the same transactions. Between them the thread keeps house: it takes old reports
away, and looks whether the store is still there.

Moments are in memory only, and made of the committed reports, in the order of their row numbers, when somebody asks:
what a crash leaves is reports, and each of them counts once. Reports that are withdrawn or have grown old are
subtracted. Moments are sums of integers, so what is left is exactly the moments of the others, as if those had never
come.
"""

import contextlib
import logging
import math
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import shown
from discreet.errors import CorpusError, DiscreetError, ParameterError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.tables import (
    TOGETHER,
    Receipt,
    StoreFailedError,
    Tables,
    Taken,
    Withdrawal,
    settings_of,
)
from discreet.local.whole_document.questions import PublishedQuestion
from discreet.privacy.bit_channel import BitChannel

Packed = NDArray[np.uint8]
#: Gives packed reports, a block at a time.
Blocks = Callable[[], Iterator[Packed]]


class ReportsLeftError(Exception):
    """Reports were taken away while they were read."""


class Sums:
    """Moments in memory, beside the reports they are of; there are none before somebody asks.

    Parameters
    ----------
    tables : Tables
    n_words : int
    channel : BitChannel
    """

    def __init__(self, tables: Tables, n_words: int, channel: Any) -> None:
        self._tables, self._n_words, self._channel = tables, n_words, channel
        #: Held while the moments, or the connection that reads, are used.
        self.lock = threading.Lock()
        self._moments: Moments | None = None
        self._last = self._generation = 0

    def _fold(self) -> tuple[Moments, bool]:
        """Add a block of committed reports; return the moments, and whether there may be more. Under the lock."""
        generation = self._tables.generation()
        if self._moments is None or generation != self._generation:  # another collector took reports away
            self._moments = Moments(self._n_words, channel=self._channel)
            self._last, self._generation = 0, generation
        rows = self._tables.after(self._last, TOGETHER)
        if rows:
            self._moments.add_batch(self._packed([bits for _, _, bits in rows]), packed=True, n_jobs=1)
            self._last = rows[-1][0]
        return self._moments, len(rows) == TOGETHER

    def snapshot(self) -> tuple[Moments, Blocks]:
        """Return a copy of the moments of all committed reports, and what gives exactly these reports."""
        while True:
            with self.lock:  # a block at a time: others wait for a block at most
                moments, more = self._fold()
                if not more:
                    moments, last, generation = moments.copy(), self._last, self._generation
                    break

        def blocks() -> Iterator[Packed]:
            after = 0
            while True:
                with self.lock:
                    if self._tables.generation() != generation:
                        raise ReportsLeftError
                    rows = [row for row in self._tables.after(after, TOGETHER) if row[0] <= last]
                if not rows:
                    return
                after = rows[-1][0]
                yield self._packed([bits for _, _, bits in rows])

        return moments, blocks

    def leave_out(self, taken: Taken) -> None:
        """Subtract reports that were taken away. Under the lock, since before they were."""
        counted = [bits for row, bits in taken.reports if row <= self._last]
        if self._moments is not None and counted:
            self._moments.subtract_batch(self._packed(counted), packed=True, n_jobs=1)
        if taken.generation == self._generation + 1:  # else another collector took some away before
            self._generation = taken.generation

    def _packed(self, rows: list[bytes]) -> Packed:
        width = self._tables.width
        packed = np.frombuffer(b"".join(rows), np.uint8)
        if len(packed) != width * len(rows):
            raise CorpusError(f"a report in the store has not its {width} bytes of bits; it was damaged.")
        return packed.reshape(-1, width)


_log = logging.getLogger(__name__)

_NUMBER = 16
_DAY = 86_400
#: 2025-01-01, in days since 1970: no clock that is right says less.
_FIRST_DAY = 20_089
#: Seconds between two rounds of keeping house, and between two looks at the calendar.
_ROUND, _CALENDAR = 0.5, 60.0
#: Seconds for which a failure to write is told to health checks; then only whoever sends can find out.
_REMEMBERED = 15.0
#: Seconds without a round after which something is wrong.
_STUCK = 120.0


class StoreBusyError(DiscreetError):
    """Too many reports wait to be written: try again."""


@dataclass
class _Batch:
    """Reports to be kept, with a ticket perhaps, or to be withdrawn; and where the answer is waited for."""

    rows: list[tuple[bytes, bytes]]
    ticket: bytes | None = None
    leaves: bool = False
    answer: "Future[Any]" = field(default_factory=Future)

    def tell(self, result: Receipt | Withdrawal | DiscreetError) -> None:
        """Answer, unless whoever asked went away."""
        if not self.answer.set_running_or_notify_cancel():
            return
        if isinstance(result, DiscreetError):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)


class _Calendar:
    """Days as they pass since the machine's clock was read once: a clock set meanwhile makes no report old."""

    def __init__(self) -> None:
        self._began = time.time(), _passed()

    def today(self) -> int:
        """Return the day, from 1970."""
        if self._began[0] < _FIRST_DAY * _DAY:  # the machine did not know the time, and may know it now
            self._began = time.time(), _passed()
        then, passed = self._began
        return int((then + _passed() - passed) // _DAY)


def _passed() -> float:
    """Return seconds that nobody can set, those among them that the machine slept where the system tells them."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class ReportStore:
    """Reports of one channel and one vocabulary.

    Parameters
    ----------
    where : path
        A SQLite file, made where it does not exist.
    words : sequence of str
        The vocabulary.
    channel : BitChannel or PublishedQuestion
        How the reports were randomised; of whole documents, the question that they answer.
    most_waiting : int, default 100,000
        Reports that may wait to be written, or withdrawn; beyond, :meth:`add` and :meth:`withdraw` raise
        :class:`StoreBusyError`.
    keep_days : int, optional
        Days after which, at the latest, a report is deleted and taken out of the moments; by default never.
    """

    def __init__(
        self,
        where: str | Path,
        words: Sequence[str],
        channel: BitChannel | PublishedQuestion,
        *,
        most_waiting: int = 100_000,
        keep_days: int | None = None,
    ) -> None:
        if keep_days is not None and keep_days < 1:
            raise ParameterError(
                f"keep_days must be a number of days from 1, or None, but is {shown(keep_days)}."
            )
        self.words, self.channel = tuple(words), channel
        if isinstance(channel, BitChannel):
            Moments(len(self.words), channel=channel)  # refuses too many words, before a report is taken
        self._most_waiting = most_waiting
        self._keep_days, self._calendar = keep_days, _Calendar()
        self._tables = Tables(where, settings_of(self.words, channel))
        self._sums = Sums(self._tables, len(self.words), channel)
        self.n_reports = self._tables.count()
        #: Whether no copy of what was taken away is left. Of what was before this process began nobody knows.
        self._scrubbed = self._held_up = self._recount = False
        #: What is wrong with the store, in words, or None; and when reports could not be written last.
        self._trouble: str | None = None
        self._failed = -math.inf
        self._looked = time.monotonic()
        self._round_due = self._calendar_due = 0.0
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._waiting, self._closed = 0, False
        self._counting = threading.Lock()
        self._writer = threading.Thread(target=self._run, name="discreet-writer", daemon=True)
        self._writer.start()

    @property
    def waiting(self) -> int:
        """Reports that wait to be written, or withdrawn."""
        return self._waiting

    @property
    def trouble(self) -> str | None:
        """Why reports cannot be kept at present, or None: what a health check asks."""
        if self._closed or not self._writer.is_alive():
            return "the store is closed"
        if time.monotonic() - self._looked > _STUCK:
            return "the store does not answer"
        if time.monotonic() - self._failed < _REMEMBERED:
            return "reports could not be written"
        return self._trouble

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
        return self._queue(_Batch(rows, ticket))

    def withdraw(self, rows: list[tuple[bytes, bytes]]) -> "Future[Withdrawal]":
        """Queue the withdrawal of reports; the future is done once their bits are gone and the moments without them.

        Parameters
        ----------
        rows : list of (number, packed bits)
            The whole reports: whoever knows a number alone takes nothing away. One that is not here, or is here with
            other bits, is told as unknown, and may still come.

        Raises
        ------
        StoreBusyError
            Now, where too many wait. The future raises ``StoreFailedError`` where the database fails: then ask again.
        """
        return self._queue(_Batch(rows, leaves=True))

    def _queue(self, batch: _Batch) -> "Future[Any]":
        rows, width = batch.rows, self._tables.width
        if not rows or any(len(number) != _NUMBER or len(bits) != width for number, bits in rows):
            raise CorpusError(f"expected numbers of {_NUMBER} bytes, each with {width} bytes of bits.")
        with self._counting:
            if self._closed:
                raise StoreBusyError("the store is closing; try again later.")
            if self._waiting and self._waiting + len(rows) > self._most_waiting:
                raise StoreBusyError(f"{self._waiting} reports wait to be written; try again in a second.")
            self._waiting += len(rows)
            self._batches.put(batch)
        return batch.answer

    def moments(self) -> Moments:
        """Return the moments of all reports that were committed before the call (a copy)."""
        return self.moments_and_reports()[0]

    def moments_and_reports(self) -> tuple[Moments, Blocks]:
        """Return the moments as :meth:`moments` does, and a function that gives the same reports, packed, in blocks.

        While it does, it raises :class:`ReportsLeftError` where reports were taken away meanwhile: begin again.
        """
        try:
            return self._sums.snapshot()
        except sqlite3.Error as error:
            raise StoreFailedError(f"the store cannot be read ({type(error).__name__}).") from None

    def close(self) -> None:
        """Write what waits, and stop."""
        with self._counting:
            if self._closed:
                return
            self._closed = True
        self._batches.put(None)
        self._writer.join()
        self._tables.close()

    def __enter__(self) -> "ReportStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        more = True
        while more:
            batches, more = self._next()
            if batches:
                self._commit(batches)
            if not more or time.monotonic() >= self._round_due:
                self._keep_house()
                self._round_due = time.monotonic() + _ROUND

    def _next(self) -> tuple[list[_Batch], bool]:
        """Return batches that wait, none after a while, and whether more may come."""
        batches, n, patience = list[_Batch](), 0, _ROUND
        while n < TOGETHER:
            try:
                batch = self._batches.get(timeout=patience)
            except queue.Empty:
                break
            if batch is None:
                return batches, False
            batches.append(batch)
            n, patience = n + len(batch.rows), 0.0
        return batches, True

    def _commit(self, batches: list[_Batch]) -> None:
        results: list[Receipt | Withdrawal | DiscreetError] = []
        tables, total, leaving = self._tables, None, [batch for batch in batches if batch.leaves]
        try:
            with self._sums.lock if leaving else contextlib.nullcontext():
                with tables.transaction():
                    results += [
                        tables.insert(batch.rows, batch.ticket) for batch in batches if not batch.leaves
                    ]
                    taken, told = tables.withdraw([batch.rows for batch in leaving])
                    total = tables.count(writing=True) if self._recount else None
                self._leave_out(taken)
            if taken.reports:
                self._scrub()
            results += told
            self._recount, self._failed = False, -math.inf
        except (sqlite3.Error, CorpusError) as error:
            _log.warning("reports could not be written: %s", type(error).__name__)
            results = [StoreFailedError("the store failed; send the same reports again.")] * len(batches)
            # A commit may have succeeded whose answer never came.
            self._recount, self._failed = True, time.monotonic()
        more = sum(result.counted for result in results if isinstance(result, Receipt))
        less = sum(result.withdrawn for result in results if isinstance(result, Withdrawal))
        with self._counting:
            self._waiting -= sum(len(batch.rows) for batch in batches)
            self.n_reports = self.n_reports + more - less if total is None else total
        for batch, result in zip(sorted(batches, key=lambda batch: batch.leaves), results, strict=True):
            batch.tell(result)

    def _leave_out(self, taken: Taken) -> None:
        if taken.reports:
            self._sums.leave_out(taken)
            self._scrubbed = False

    def _keep_house(self) -> None:
        """Look whether the store is there, leave no copy of what was taken away, and take old reports away."""
        try:
            self._tables.check()
            self._scrub()
            self._expire_old()
            self._trouble = None
        except (sqlite3.Error, CorpusError) as error:  # nothing is lost: it is tried again
            if self._trouble is None:
                _log.warning("the store is in trouble: %s", type(error).__name__)
            self._trouble = "the store cannot be used; it may have been moved, or the database stopped"
        self._looked = time.monotonic()

    def _scrub(self) -> None:
        """Leave no copy of what was taken away; again and again, while another program reads what was before."""
        if self._scrubbed:
            return
        self._scrubbed = self._tables.scrub()
        if not self._scrubbed and not self._held_up:
            _log.warning(
                "another program reads the store: until it ends, the log still holds what was taken away"
            )
        self._held_up = not self._scrubbed

    def _expire_old(self) -> None:
        """Delete some of what is older than reports are kept."""
        if self._keep_days is None or time.monotonic() < self._calendar_due:
            return
        today = self._today()
        if today < _FIRST_DAY:  # a machine that does not know the time yet
            raise CorpusError("the machine's clock is wrong; no report is deleted by it.")
        with self._sums.lock:
            with self._tables.transaction():
                self._tables.mark_day(today)
                taken = self._tables.expire(self._tables.last_by(today - self._keep_days), TOGETHER)
            self._leave_out(taken)
        with self._counting:
            self.n_reports -= len(taken.reports)
        if len(taken.reports) < TOGETHER:
            self._calendar_due = time.monotonic() + _CALENDAR

    def _today(self) -> int:
        return self._calendar.today()
