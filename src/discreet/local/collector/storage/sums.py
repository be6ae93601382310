"""The moments of the reports that a store keeps: brought up to date, written, and made smaller when reports go.

Committed reports are added in the order of their row numbers, and now and then the moments are written in one
transaction with the last row number they contain. A crash between two such writes means adding the rows since then
again, to the moments of before: no report counts twice.

Reports that are withdrawn or have grown old are subtracted. Moments are sums of integers, so what is left is exactly
the moments of the others, as if those had never come. Deleting the bits and writing the smaller moments is one
transaction, made while nobody else can write and after every committed row was added: a crash leaves both or
neither.
"""

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.storage.kept import Tally
from discreet.local.collector.storage.tables import Tables, Withdrawal

__all__ = ["Blocks", "ReportsLeftError", "Sums"]

Packed = NDArray[np.uint8]
#: Gives packed reports, a block at a time.
Blocks = Callable[[], Iterator[Packed]]

#: Reports added to the moments, or taken from them, in one go.
TOGETHER = 16_384


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
            self.moments.add_batch(self._packed([bits for _, bits in rows]), packed=True, n_jobs=1)
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
                yield self._packed([bits for _, bits in rows])

        return moments, blocks

    def save(self) -> None:
        """Write the moments, unless they are written or of the past. The lock is the caller's."""
        if self.last == self.saved:
            return
        with self._using:
            try:
                self._tables.begin()
                if self._tables.generation() == self.generation:
                    self._tables.save(self.moments, self.last, self.generation)
                    self.saved = self.last
                self._tables.commit()
            except BaseException:
                self._tables.rollback()
                raise

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
        with self._using:
            try:
                self._tables.begin()
                self._tables.mark_day(today)
                found = self._tables.last_by(day)
                self._tables.commit()
            except BaseException:
                self._tables.rollback()
                raise
        return found

    def scrub(self) -> bool:
        """Leave no copy of what was taken away, and return True; False where another program still reads it."""
        with self.lock, self._using:
            self.scrubbed = self._tables.scrub()
        return self.scrubbed

    def _take(self, take: Callable[[], list[bytes]]) -> int:
        with self.lock:
            self.fold()  # nearly all, before anybody has to wait
            with self._using:
                try:
                    self._tables.begin()
                    self.fold()  # nobody can write now: these are all
                    bits = take()
                    left = self.moments
                    if bits:
                        left = self.moments.copy().subtract_batch(self._packed(bits), packed=True, n_jobs=1)
                        self._tables.save(left, self.last, self.generation + 1)
                    self._tables.commit()
                except BaseException:
                    self._tables.rollback()
                    raise
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
