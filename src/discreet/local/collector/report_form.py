"""What may come: batches of reports, parsed and compared with what this collector takes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError
from discreet.local.collector.plausible import plausible_ones
from discreet.local.wire import HEADER_BYTES, NUMBER, Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel
from discreet.privacy.codebook_channel import CodebookChannel

__all__ = ["ReportForm", "check_each", "refuse_seeded"]


class ReportForm:
    """What every report of this collector looks like: all but its number and its bits is known beforehand.

    Parameters
    ----------
    words : tuple of str
    channel : BitChannel
        A report whose number of ones no document would give (see :mod:`discreet.local.collector.plausible`) is refused.
    most_words : int, optional
        Words of the vocabulary that any document has.
    """

    def __init__(self, words: tuple[str, ...], channel: BitChannel, *, most_words: int | None = None) -> None:
        blank = Report(channel, vocabulary_digest(words), bytes(16), np.zeros(len(words), np.uint8))
        self.size = len(blank.to_bytes())
        self._head = np.frombuffer(blank.to_bytes(), np.uint8)[: NUMBER.start]
        self.fewest, self.most = plausible_ones(channel, len(words), most_words=most_words)
        self._n_words = len(words)
        unused = -len(words) % 8
        self._unused = np.uint8((0xFF << (8 - unused)) & 0xFF if unused else 0)

    def split(self, raw: bytes, *, count: bool = True) -> list[tuple[bytes, bytes]]:
        """Return number and packed bits of each report; ``CorpusError`` says what is off, never the bits.

        ``count=False`` lets any number of ones pass: what was taken once may be taken back.
        """
        check_each(raw, self.size, self._good, self._explain)
        if count:
            self._count(raw)
        return [
            (raw[i + NUMBER.start : i + HEADER_BYTES], raw[i + HEADER_BYTES : i + self.size])
            for i in range(0, len(raw), self.size)
        ]

    def _good(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return (rows[:, : len(self._head)] == self._head).all(axis=1) & ((rows[:, -1] & self._unused) == 0)

    def _count(self, raw: bytes) -> None:
        packed = np.frombuffer(raw, np.uint8).reshape(-1, self.size)[:, HEADER_BYTES:]
        ones = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
        odd = (ones < self.fewest) | (ones > self.most)
        if odd.any():
            i = int(np.argmax(odd))
            raise CorpusError(
                f"report {i + 1} has {'more' if ones[i] > self.most else 'fewer'} ones than this channel gives: from "
                f"{self.fewest} to {self.most} of {self._n_words} bits, whatever the document is. Send what "
                "the client made, as it made it."
            )

    def _explain(self, raw: bytes, i: int) -> None:
        try:
            found = Report.from_bytes(raw)
        except CorpusError as error:
            raise CorpusError(f"report {i + 1}: {error}") from None
        refuse_seeded(found.channel, i)
        raise CorpusError(
            f"report {i + 1} is of another channel or vocabulary; use the ones that GET /status tells."
        )


def check_each(
    raw: bytes,
    size: int,
    good: Callable[[NDArray[np.uint8]], NDArray[np.bool_]],
    explain: Callable[[bytes, int], None],
) -> None:
    """Look at what came as reports of ``size`` bytes, and let the first one that is off be explained.

    Parameters
    ----------
    good : callable
        ``good(rows)``: which rows of bytes, a report each, may come.
    explain : callable
        ``explain(report, number)`` raises ``CorpusError``.
    """
    if not raw:
        raise CorpusError("expected one or more reports, but nothing came.")
    whole = len(raw) // size * size
    may_come = good(np.frombuffer(raw[:whole], np.uint8).reshape(-1, size))
    if not may_come.all():
        i = int(np.argmin(may_come))
        explain(raw[i * size : (i + 1) * size], i)
    if whole < len(raw):
        explain(raw[whole:], whole // size)


def refuse_seeded(channel: BitChannel | CodebookChannel, i: int) -> None:
    """Refuse a report whose channel says that it was made with a seed."""
    if channel.reproducible:
        raise CorpusError(
            f"report {i + 1} was made with a seed, for a simulation: whoever has the seed can take its noise off. "
            "Make reports without a seed."
        )
