"""What may come: batches of reports, parsed and compared with what this collector takes."""

import numpy as np

from discreet.errors import CorpusError
from discreet.local.collector.plausible import plausible_ones
from discreet.local.wire import HEADER_BYTES, NUMBER, Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

__all__ = ["ReportForm"]


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
        if not raw:
            raise CorpusError("expected one or more reports, but nothing came.")
        whole = len(raw) // self.size * self.size
        good = self._good(raw[:whole])
        if not good.all():
            i = int(np.argmin(good))
            self._explain(raw[i * self.size : (i + 1) * self.size], i)
        if whole < len(raw):
            self._explain(raw[whole:], whole // self.size)
        if count:
            self._count(raw)
        return [
            (raw[i + NUMBER.start : i + HEADER_BYTES], raw[i + HEADER_BYTES : i + self.size])
            for i in range(0, len(raw), self.size)
        ]

    def _good(self, raw: bytes) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        rows = np.frombuffer(raw, np.uint8).reshape(-1, self.size)
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
        if found.channel.reproducible:
            raise CorpusError(
                f"report {i + 1} was made with a seed, for a simulation: whoever has the seed can take its noise off. "
                "Make reports without a seed."
            )
        raise CorpusError(
            f"report {i + 1} is of another channel or vocabulary; use the ones that GET /status tells."
        )
