"""Reports kept exactly once, on the disk before anyone is told so, with their moments beside them.

One thread writes. It takes every batch that waits, writes all of them in one transaction that is on the disk when it
ends, and only then answers each: the cost of a commit is shared, and no answer is given for what a crash could lose.
A number that is there already is acknowledged and not counted; other bits under the same number are refused, with all
of their batch.

A second thread keeps house twice a second: it brings the moments up to date, takes withdrawn and old reports away, and
looks whether the store is still there.

Committed reports are added to the moments in the order of their row numbers, and now and then the moments are written
in one transaction with the last row number they contain. A crash between two such writes means adding the rows since
then again, to the moments of before: no report counts twice. Reports that are withdrawn or have grown old are
subtracted. Moments are sums of integers, so what is left is exactly the moments of the others, as if those had never
come. Deleting the bits and writing the smaller moments is one transaction, made while nobody else can write and after
every committed row was added: a crash leaves both or neither.
"""

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
    Tally,
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
    """Moments in memory, beside the reports they are of.

    Parameters
    ----------
    tables : Tables
    moments : Moments or Tally
        Empty ones, of the store's channel; what was written is taken over.
    using : threading.Lock
        Held while the connection that writes is used.
    """

    def __init__(self, tables: Tables, moments: Moments | Tally, using: threading.Lock) -> None:
        self._tables, self._using, self._empty = tables, using, moments
        #: Held while the moments, or the connection that reads, are used. Taken before ``using``, never after it.
        self.lock = threading.Lock()
        #: Whether no copy of what was taken away is left. Of what was before this process began nobody knows.
        self.scrubbed = False
        self._load()

    def _load(self) -> None:
        moments = self._empty.copy()
        self.saved = self.last = self._tables.restore(moments)
        self.generation = self._tables.generation()
        self.moments = moments

    def fold(self, *, once: bool = False) -> None:
        """Add committed reports to the moments; with ``once``, a limited number. The lock is the caller's."""
        if self._tables.generation() != self.generation:  # another collector took reports away
            self._load()
        while True:
            rows = self._tables.after(self.last, TOGETHER)
            if not rows:
                return
            self.moments.add_batch(self._packed([bits for _, _, bits in rows]), packed=True, n_jobs=1)
            self.last = rows[-1][0]
            if once or len(rows) < TOGETHER:
                return

    def snapshot(self) -> tuple[Moments | Tally, Blocks]:
        """Return a copy of the moments of all committed reports, and what gives exactly these reports."""
        with self.lock:
            self.fold()
            moments, last, generation = self.moments.copy(), self.last, self.generation

        def blocks() -> Iterator[Packed]:
            after = 0
            while True:
                with self.lock:  # a block at a time: others wait for a block at most
                    if self._tables.generation() != generation:
                        raise ReportsLeftError
                    rows = [row for row in self._tables.after(after, TOGETHER) if row[0] <= last]
                if not rows:
                    return
                after = rows[-1][0]
                yield self._packed([bits for _, _, bits in rows])

        return moments, blocks

    def save(self) -> None:
        """Write the moments, unless they are written or of the past. The lock is the caller's."""
        if self.last == self.saved:
            return
        with self._using, self._tables.transaction():
            if self._tables.generation() == self.generation:
                self._tables.save(self.moments, self.last, self.generation)
                self.saved = self.last

    def withdraw(self, requests: Sequence[Sequence[tuple[bytes, bytes]]]) -> list[Withdrawal]:
        """Take reports away, by their numbers and bits; return what became of each request."""
        told: list[Withdrawal] = []

        def take() -> list[bytes]:
            bits: list[bytes] = []
            for rows in requests:
                taken, found = self._tables.withdraw(rows)
                bits += taken
                told.append(found)
            return bits

        self._take(take)
        return told

    def expire(self, last_id: int) -> tuple[int, bool]:
        """Take some of the first reports up to a row away; return how many, and whether there are more."""
        more: list[bool] = []

        def take() -> list[bytes]:
            bits, left = self._tables.expire(last_id, TOGETHER)
            more.append(left)
            return bits

        return self._take(take), more[0]

    def last_by(self, day: int, today: int) -> int:
        """Note what came by today, and return the last row that came by a day."""
        with self._using, self._tables.transaction():
            self._tables.mark_day(today)
            return self._tables.last_by(day)

    def scrub(self) -> bool:
        """Leave no copy of what was taken away, and return True; False where another program still reads it."""
        with self.lock, self._using:
            self.scrubbed = self._tables.scrub()
        return self.scrubbed

    def _take(self, take: Callable[[], list[bytes]]) -> int:
        with self.lock:
            self.fold()  # nearly all, before anybody has to wait
            with self._using:
                with self._tables.transaction():
                    self.fold()  # nobody can write now: these are all
                    bits = take()
                    left = self.moments
                    if bits:
                        left = self.moments.copy().subtract_batch(self._packed(bits), packed=True, n_jobs=1)
                        self._tables.save(left, self.last, self.generation + 1)
                if bits:
                    self.moments, self.saved, self.generation = left, self.last, self.generation + 1
                    self.scrubbed = self._tables.scrub()
            return len(bits)

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
#: Requests to withdraw that may wait.
_MOST_WITHDRAWALS = 1_000
#: Seconds between two rounds of keeping house: a withdrawal writes all moments, so many share one round. With many
#: words that takes long, and nobody can write meanwhile: withdrawals get that share of the time at most.
_ROUND, _SHARE = 0.5, 0.1
#: Seconds between two looks at the store, and at the calendar.
_LOOK, _CALENDAR = 2.0, 60.0
#: Seconds for which a failure to write is told to health checks; then only whoever sends can find out.
_REMEMBERED = 15.0
#: Seconds without a look after which something is wrong: each takes its deadline at most, and moments their time.
_STUCK = 120.0


class StoreBusyError(DiscreetError):
    """Too many reports wait to be written: try again."""


@dataclass
class _Batch:
    """Reports to be kept, with a ticket perhaps, or to be withdrawn; and where the answer is waited for."""

    rows: list[tuple[bytes, bytes]]
    ticket: bytes | None = None
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
        Reports that may wait to be written; beyond, :meth:`add` raises :class:`StoreBusyError`.
    save_every : int, default 200,000
        Reports after which the moments are written again (they also are on :meth:`close`).
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
        save_every: int = 200_000,
        keep_days: int | None = None,
    ) -> None:
        if keep_days is not None and keep_days < 1:
            raise ParameterError(
                f"keep_days must be a number of days from 1, or None, but is {shown(keep_days)}."
            )
        self.words, self.channel = tuple(words), channel
        self._most_waiting, self._save_every = most_waiting, save_every
        self._keep_days, self._expired, self._calendar = keep_days, 0, _Calendar()
        kept = settings_of(self.words, channel)
        self._width = kept.width
        self._tables = Tables(where, kept)
        # One at a time on the connection that writes: batches, or the moments.
        self._using = threading.Lock()
        try:
            self._sums = Sums(self._tables, kept.sums, self._using)
            self.n_reports = self._tables.count()
        except BaseException:
            self._tables.close()
            raise
        self._recount = self._held_up = False
        #: What is wrong with the store, in words, or None; and when reports could not be written last.
        self._trouble: str | None = None
        self._failed = -math.inf
        self._looked = time.monotonic()
        self._look_due = self._calendar_due = self._withdraw_due = 0.0
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._withdrawals: queue.SimpleQueue[_Batch] = queue.SimpleQueue()
        self._waiting, self._closed = 0, False
        self._counting = threading.Lock()
        self._stop = threading.Event()
        self._writer = threading.Thread(target=self._write, name="discreet-writer", daemon=True)
        self._keeper = threading.Thread(target=self._keep_house, name="discreet-keeper", daemon=True)
        self._writer.start()
        self._keeper.start()

    @property
    def waiting(self) -> int:
        """Reports that wait to be written."""
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
        self._check(rows)
        batch = _Batch(rows, ticket)
        with self._counting:
            if self._closed:
                raise StoreBusyError("the store is closing; try again later.")
            if self._waiting and self._waiting + len(rows) > self._most_waiting:
                raise StoreBusyError(f"{self._waiting} reports wait to be written; try again in a second.")
            self._waiting += len(rows)
            self._batches.put(batch)
        return batch.answer

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
        self._check(rows)
        asked = _Batch(rows)
        with self._counting:
            if self._closed or self._withdrawals.qsize() >= _MOST_WITHDRAWALS:
                raise StoreBusyError("too many withdrawals wait; try again later.")
            self._withdrawals.put(asked)
        return asked.answer

    def _check(self, rows: list[tuple[bytes, bytes]]) -> None:
        if not rows or any(len(number) != _NUMBER or len(bits) != self._width for number, bits in rows):
            raise CorpusError(f"expected numbers of {_NUMBER} bytes, each with {self._width} bytes of bits.")

    def moments(self) -> Moments:
        """Return the moments of all reports that were committed before the call (a copy)."""
        return self.moments_and_reports()[0]

    def moments_and_reports(self) -> tuple[Moments, Blocks]:
        """Return the moments as :meth:`moments` does, and a function that gives the same reports, packed, in blocks.

        While it does, it raises :class:`ReportsLeftError` where reports were taken away meanwhile: begin again.
        """
        try:
            moments, blocks = self._sums.snapshot()
        except sqlite3.Error as error:
            raise StoreFailedError(f"the store cannot be read ({type(error).__name__}).") from None
        assert isinstance(moments, Moments)  # of answers about whole documents nobody asks for moments
        return moments, blocks

    def close(self) -> None:
        """Write what waits and the moments, and stop."""
        with self._counting:
            if self._closed:
                return
            self._closed = True
        self._batches.put(None)
        self._writer.join()
        self._stop.set()
        self._keeper.join()
        try:
            while self._withdrawals.qsize():
                self._withdraw_waiting()
            with self._sums.lock:
                self._sums.fold()
                self._sums.save()
            self._scrub()
        except sqlite3.Error as error:
            raise StoreFailedError(
                f"the moments could not be written ({type(error).__name__}); they are made again from the reports."
            ) from None
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
            while batches[-1] is not None and n < TOGETHER:
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
                with tables.transaction():
                    results = [tables.insert(batch.rows, batch.ticket) for batch in batches]
                    total = tables.count(writing=True) if self._recount else None
                self._recount = False
            except sqlite3.Error as error:
                _log.warning("reports could not be written: %s", type(error).__name__)
                results = [StoreFailedError("the store failed; send the same reports again.")] * len(batches)
                # A commit may have succeeded whose answer never came.
                self._recount, self._failed = True, time.monotonic()
            else:
                self._failed = -math.inf
        with self._counting:
            self._waiting -= sum(len(batch.rows) for batch in batches)
            counted = sum(result.counted for result in results if isinstance(result, Receipt))
            self.n_reports = self.n_reports + counted if total is None else total
        for batch, result in zip(batches, results, strict=True):
            batch.tell(result)

    def _keep_house(self) -> None:
        while not self._stop.wait(_ROUND):
            try:
                self._withdraw_waiting()
                self._bring_up_to_date()
                self._scrub()
                self._look()
                self._expire_old()
                self._trouble, self._looked = None, time.monotonic()
            except (sqlite3.Error, CorpusError) as error:  # nothing is lost: it is tried again
                if self._trouble is None:
                    _log.warning("the store is in trouble: %s", type(error).__name__)
                self._trouble = "the store cannot be used; it may have been moved, or the database stopped"
                self._looked = time.monotonic()

    def _bring_up_to_date(self) -> None:
        sums = self._sums
        if self.n_reports - sums.moments.n >= TOGETHER or sums.last - sums.saved >= self._save_every:
            with sums.lock:
                sums.fold(once=True)
                if sums.last - sums.saved >= self._save_every:
                    sums.save()

    def _look(self) -> None:
        if time.monotonic() >= self._look_due or self._trouble:
            with self._sums.lock:
                self._tables.check()
            self._look_due = time.monotonic() + _LOOK

    def _withdraw_waiting(self) -> None:
        """Take away what was withdrawn, all that waits in one transaction; not sooner than its share of time allows."""
        if time.monotonic() < self._withdraw_due and not self._closed:
            return
        waiting: list[_Batch] = []
        while sum(len(asked.rows) for asked in waiting) < TOGETHER:
            try:
                waiting.append(self._withdrawals.get_nowait())
            except queue.Empty:
                break
        if not waiting:
            return
        began = time.monotonic()
        try:
            told = self._sums.withdraw([asked.rows for asked in waiting])
        except BaseException as error:
            for asked in waiting:
                asked.tell(StoreFailedError(f"nothing was withdrawn ({type(error).__name__}); ask again."))
            raise
        finally:
            self._withdraw_due = time.monotonic() + (time.monotonic() - began) * (1 / _SHARE - 1)
        self._count_less(sum(found.withdrawn for found in told))
        for asked, found in zip(waiting, told, strict=True):
            asked.tell(found)

    def _scrub(self) -> None:
        """Leave no copy of what was taken away; again and again, while another program reads what was before."""
        if self._sums.scrubbed:
            return
        if self._sums.scrub():
            self._held_up = False
        elif not self._held_up:
            self._held_up = True
            _log.warning(
                "another program reads the store: until it ends, the log still holds what was taken away"
            )

    def _expire_old(self) -> None:
        """Delete what is older than reports are kept."""
        if self._keep_days is None or time.monotonic() < self._calendar_due:
            return
        today = self._today()
        if today < _FIRST_DAY:  # a machine that does not know the time yet
            raise CorpusError("the machine's clock is wrong; no report is deleted by it.")
        last = self._sums.last_by(today - self._keep_days, today)
        more = last > self._expired
        while more and not self._stop.is_set():
            gone, more = self._sums.expire(last)
            self._count_less(gone)
        if not more:
            self._expired = max(last, self._expired)
            self._calendar_due = time.monotonic() + _CALENDAR

    def _today(self) -> int:
        return self._calendar.today()

    def _count_less(self, n: int) -> None:
        with self._counting:
            self.n_reports -= n
