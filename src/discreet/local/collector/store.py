"""Reports kept exactly once, on the disk before anyone is told so.

One thread writes. It takes every batch that waits, writes all of them in one transaction that is on the disk when it
ends, and only then answers each: the cost of a commit is shared, and no answer is given for what a crash could lose.
A number that is there already is acknowledged and not counted; other bits under the same number are refused, with all
of their batch. Withdrawn reports go in the same transactions. Between them the thread keeps house: it takes old reports
away, and looks whether the store is still there.

Moments are in memory only, and made of the committed reports, in the order of their row numbers, when somebody asks:
what a crash leaves is reports, and each of them counts once. All of it is read in one transaction, so that others may
write meanwhile. Reports that came since are added; where some were withdrawn or have grown old, all are counted anew.
"""

import contextlib
import logging
import math
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
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
    Snapshot,
    StoreFailedError,
    Tables,
    Withdrawal,
    settings_of,
)
from discreet.local.whole_document.questions import PublishedQuestion
from discreet.privacy.bit_channel import BitChannel

Packed = NDArray[np.uint8]
#: Gives packed reports, a block at a time.
Blocks = Callable[[], Iterable[Packed]]


_log = logging.getLogger(__name__)

_NUMBER = 16
_DAY = 86_400
#: 2025-01-01, in days since 1970: no clock that is right says less.
_FIRST_DAY = 20_089
#: Seconds between two rounds of keeping house, and between two looks at the calendar.
_ROUND, _CALENDAR = 0.5, 60.0
#: Seconds after which packing that failed is tried again: until the disk was full, it took long.
_PACK_AGAIN = 3600.0
#: Seconds for which a failure to write is told to health checks; then only whoever sends can find out.
_REMEMBERED = 15.0
#: Rounds for which what was taken away may stay in the log before that is told: longer than a fit of topics reads.
_LONG_HELD_UP = 150
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
        Reports that may wait to be written; a tenth as many may wait to be withdrawn, so that nobody who needs no token
        keeps reports out. Beyond, :meth:`add` and :meth:`withdraw` raise :class:`StoreBusyError`.
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
        #: By whether they are withdrawn: reports that may wait, and that do.
        self._most_waiting = {False: most_waiting, True: most_waiting // 10}
        self._waiting = {False: 0, True: 0}
        self._keep_days, self._calendar = keep_days, _Calendar()
        self._tables = Tables(where, settings_of(self.words, channel))
        #: Moments of the reports up to a row, while no more were taken away; none before somebody asks.
        self._moments, self._last, self._generation = None, 0, 0
        self._summing = threading.Lock()
        self.n_reports = self._tables.counters().reports
        #: The generation of which no copy of what was taken away is left; none is known when this process begins.
        self._scrubbed: int | None = None
        self._held_up = 0
        #: What is wrong with the store, in words, or None; and when reports could not be written last.
        self._trouble: str | None = None
        self._failed = -math.inf
        self._looked = time.monotonic()
        self._round_due = self._calendar_due = self._pack_due = 0.0
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._closed = False
        self._counting = threading.Lock()
        self._writer = threading.Thread(target=self._run, name="discreet-writer", daemon=True)
        self._writer.start()

    @property
    def waiting(self) -> int:
        """Reports that wait to be written, or withdrawn."""
        return sum(self._waiting.values())

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
            waiting = self._waiting[batch.leaves]
            if waiting and waiting + len(rows) > self._most_waiting[batch.leaves]:
                what = "withdrawn" if batch.leaves else "written"
                raise StoreBusyError(f"{waiting} reports wait to be {what}; try again in a second.")
            self._waiting[batch.leaves] += len(rows)
            self._batches.put(batch)
        return batch.answer

    def moments(self) -> Moments:
        """Return the moments of all reports that were committed before the call (a copy)."""
        with self.snapshot() as (moments, _):
            return moments

    @contextlib.contextmanager
    def snapshot(self, go_on: Callable[[], None] = lambda: None) -> Generator[tuple[Moments, Blocks]]:
        """Give the moments as :meth:`moments` does, and a function that gives the same reports, packed, in blocks.

        ``go_on`` is called before each block that is added to the moments, and may end that by an exception.
        """
        try:
            with contextlib.ExitStack() as opened:
                with self._summing:
                    seen = opened.enter_context(contextlib.closing(self._tables.snapshot()))
                    moments = self._fold(seen, go_on).copy()
                yield moments, lambda: map(self._packed, seen.reports())
        except (sqlite3.Error, DiscreetError) as error:
            raise StoreFailedError(f"the store cannot be read ({type(error).__name__}).") from error

    def _fold(self, seen: Snapshot, go_on: Callable[[], None]) -> Moments:
        """Return the moments of what is seen."""
        assert isinstance(self.channel, BitChannel)  # answers about whole documents have no moments
        generation = seen.generation()
        if self._moments is None or generation != self._generation:  # reports were taken away
            self._moments = Moments(len(self.words), channel=self.channel)
            self._last, self._generation = 0, generation
        for rows in seen.reports(self._last):
            go_on()
            self._moments.add_batch(self._packed(rows), packed=True, n_jobs=1)
            self._last = rows[-1][0]
        return self._moments

    def _packed(self, rows: list[tuple[int, bytes, bytes]]) -> Packed:
        width = self._tables.width
        packed = np.frombuffer(b"".join(bits for _, _, bits in rows), np.uint8)
        if len(packed) != width * len(rows):
            raise CorpusError(f"a report in the store has not its {width} bytes of bits; it was damaged.")
        return packed.reshape(-1, width)

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
        tables = self._tables
        batches = sorted(batches, key=lambda batch: batch.leaves)
        try:
            with tables.transaction():
                for batch in batches:
                    results.append(
                        tables.withdraw(batch.rows)
                        if batch.leaves
                        else tables.insert(batch.rows, batch.ticket)
                    )
            self._settle()
            self._failed = -math.inf
        except Exception as error:  # also of memory: without this thread nothing is written any more
            _log.warning("reports could not be written: %s", type(error).__name__)
            results = [StoreFailedError("the store failed; send the same reports again.")] * len(batches)
            self._failed = time.monotonic()
        with self._counting:
            for batch in batches:
                self._waiting[batch.leaves] -= len(batch.rows)
        for batch, result in zip(batches, results, strict=True):
            batch.tell(result)

    def _settle(self) -> bool:
        """Note how many reports there are, and leave no copy of what was taken away, whoever committed it.

        False while somebody reads what was before.
        """
        counters = self._tables.counters()
        self.n_reports = counters.reports
        if self._scrubbed != counters.generation and self._tables.scrub():
            self._scrubbed = counters.generation
        return self._scrubbed == counters.generation

    def _keep_house(self) -> None:
        """Look whether the store is there, leave no copy of what was taken away, and take old reports away."""
        try:
            self._tables.check()
            self._held_up = 0 if self._settle() else self._held_up + 1
            if self._held_up == _LONG_HELD_UP:
                _log.warning(
                    "a fit or another program reads the store: until it ends, the log still holds what was taken away"
                )
            if time.monotonic() >= self._calendar_due and self._expire_old():
                self._pack()
                self._calendar_due = time.monotonic() + _CALENDAR
            self._trouble = None
        except Exception as error:  # nothing is lost: it is tried again
            if self._trouble is None:
                _log.warning("the store is in trouble: %s", type(error).__name__)
            self._trouble = "the store cannot be used; it may have been moved, or the database stopped"
        self._looked = time.monotonic()

    def _expire_old(self) -> bool:
        """Delete some of what is older than reports are kept, and say whether it was all of it."""
        if self._keep_days is None:
            return True
        today = self._today()
        if today < _FIRST_DAY:  # a machine that does not know the time yet
            raise CorpusError("the machine's clock is wrong; no report is deleted by it.")
        with self._tables.transaction():
            self._tables.mark_day(today)
            deleted = self._tables.expire(self._tables.last_by(today - self._keep_days), TOGETHER)
        self._settle()
        return deleted < TOGETHER

    def _pack(self) -> None:
        """Pack the file where reports were deleted since it was packed; reports wait meanwhile."""
        if not self._tables.counters().unpacked or time.monotonic() < self._pack_due:
            return
        try:
            self._tables.pack()
            self._settle()
        except Exception as error:  # a disk or memory that is too small hinders nothing else
            self._scrubbed = None  # the log has grown
            self._pack_due = time.monotonic() + _PACK_AGAIN
            _log.warning("the file still holds parts of deleted reports: %s", type(error).__name__)

    def _today(self) -> int:
        return self._calendar.today()
