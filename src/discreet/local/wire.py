"""Reports as bytes: versioned, length-checked, the same from Python and from a browser.

============  ======  ==================================================================
bytes         length  content, numbers little-endian
============  ======  ==================================================================
0 to 3        4       ``DSCR``
4             1       version: 1, or 2 for a report with marks
5             1       marks: 1 for a report made with a seed, whose noise whoever knows the seed can take off; zero in
                      version 1
6 to 7        2       zero
8 to 11       4       V, bits of a report
12 to 15      4       words that the client kept at most; 0: all
16 to 23      4 + 4   2^32 p and 2^32 q
24 to 55      32      SHA-256 of the vocabulary: its words, each followed by a line feed, in UTF-8
56 to 71      16      number of the report, drawn at random with it, to tell a repeated one from a second one
72 on         V / 8   the bits, lowest bit of a byte first; unused bits zero
============  ======  ==================================================================

A file of reports is one after the other, all of one channel and one vocabulary. What a browser sends is laid out in
``discreet-client.js``; both are held to the vectors in ``tests/local/vectors.json``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet._base.files import write_file
from discreet.errors import CorpusError, ParameterError
from discreet.lda.moments.moments import pack_bits, packed_width, stray_bits, unpack_bits
from discreet.privacy.bit_channel import BitChannel

_HEADER = struct.Struct("<4sBB2sIIII32s16s")
HEADER_BYTES = _HEADER.size
#: Where a report's number stands.
NUMBER = slice(HEADER_BYTES - 16, HEADER_BYTES)
_MAGIC = b"DSCR"
_PLAIN, _MARKED = 1, 2
_SEEDED = 1
#: More words than anybody keeps pairs of; bounds what a header may ask for.
_MOST_WORDS = 2**20


def vocabulary_digest(words: Sequence[str]) -> bytes:
    """Return the SHA-256 of a vocabulary, 32 bytes: order and spelling count."""
    return sha256("".join(f"{word}\n" for word in words).encode()).digest()


@dataclass(frozen=True)
class Report:
    """One randomised document.

    Parameters
    ----------
    channel : BitChannel
        What randomised it; ``channel.reproducible`` where its coins came from a seed.
    vocabulary : bytes
        :func:`vocabulary_digest` of the words, 32 bytes.
    number : bytes
        16 random bytes, drawn once with the report.
    bits : array of shape (n_words,), uint8
        Zeros and ones.
    """

    channel: BitChannel
    vocabulary: bytes
    number: bytes
    bits: NDArray[np.uint8]

    def to_bytes(self) -> bytes:
        """Return the wire form: 72 bytes and one bit a word."""
        channel = self.channel
        limit = channel.limit or 0
        version, marks = (_MARKED, _SEEDED) if channel.reproducible else (_PLAIN, 0)
        head = _HEADER.pack(
            *(_MAGIC, version, marks, bytes(2)),
            *(len(self.bits), limit, channel.p_threshold, channel.q_threshold),
            *(self.vocabulary, self.number),
        )
        return head + pack_bits(self.bits).tobytes()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Report:
        """Parse one report; ``CorpusError`` says what is off. The bits are never shown."""
        report, used = _parse(raw, 0)
        if used != len(raw):
            raise CorpusError(f"a report of {len(report.bits)} bits has {used} bytes, but {len(raw)} came.")
        return report


def _parse(raw: bytes, start: int) -> tuple[Report, int]:
    if len(raw) - start < HEADER_BYTES:
        raise CorpusError(
            f"a report begins with {HEADER_BYTES} bytes, but {len(raw) - start} came; it was cut off."
        )
    magic, version, marks, zeros, n_words, limit, p, q, vocabulary, number = _HEADER.unpack_from(raw, start)
    if magic != _MAGIC:
        raise CorpusError("expected a report, which begins with DSCR, but something else came.")
    if (version, marks) not in ((_PLAIN, 0), (_MARKED, _SEEDED)) or any(zeros):
        raise CorpusError(
            f"expected a report of version {_PLAIN} or {_MARKED}, but got version {version} with marks {marks}; use "
            "the client's own version."
        )
    if not 1 <= n_words <= _MOST_WORDS:
        raise CorpusError(f"a report has from 1 to {_MOST_WORDS} bits, but this one says {n_words}.")
    end = start + HEADER_BYTES + packed_width(n_words)
    if len(raw) < end:
        raise CorpusError(f"a report of {n_words} bits has {end - start} bytes, but {len(raw) - start} came.")
    try:
        channel = BitChannel(p, q, limit or None, reproducible=version == _MARKED)
    except ParameterError as error:
        raise CorpusError(f"the report names no valid channel: {error}") from None
    packed = np.frombuffer(raw, np.uint8, end - start - HEADER_BYTES, start + HEADER_BYTES)
    if stray_bits(packed, n_words):
        raise CorpusError("the unused bits of a report must be zero, but are not; it was damaged.")
    return Report(channel, vocabulary, number, unpack_bits(packed, n_words)), end


class Sent(Protocol):
    """What can be sent."""

    def to_bytes(self) -> bytes:
        """Return the wire form."""
        ...


def write_reports(path: str | os.PathLike[str], reports: Iterable[Sent]) -> int:
    """Write reports one after the other, whole or not at all; return how many.

    Parameters
    ----------
    path : path
        New or replaced.
    reports : iterable of Report or CodebookReport
    """
    count = 0

    def write(file: IO[bytes]) -> None:
        nonlocal count
        for report in reports:
            file.write(report.to_bytes())
            count += 1

    write_file(Path(path), write, mode=None)
    return count


def read_reports(
    path: str | os.PathLike[str], *, vocabulary: Sequence[str] | None = None
) -> tuple[BitChannel, NDArray[np.uint8]]:
    """Read a file of reports.

    Parameters
    ----------
    path : path
        As :func:`write_reports` or ``discreet perturb`` wrote it, or several such files one after the other.
    vocabulary : sequence of str, optional
        The words; reports about others are refused.

    Returns
    -------
    channel : BitChannel
        ``reproducible`` where one of the reports was made with a seed: a release made of them is then marked as not
        for release. So give the estimator this channel, not an equal one of your own.
    bits : array of shape (n_reports, n_words), uint8
        Repeated reports (same number) count once. What :meth:`discreet.LocalLDA.fit` takes.

    Raises
    ------
    CorpusError
        Names the first report that is damaged or of another channel or vocabulary.
    """
    raw, start = Path(path).read_bytes(), 0
    found: list[Any] = []
    seen: set[bytes] = set()
    first: tuple[Any, ...] | None = None
    seeded = False
    expected = None if vocabulary is None else vocabulary_digest(vocabulary)
    while start < len(raw):
        place = f"{os.fspath(path)}, report {len(seen) + 1}"
        try:
            report, start = _parse(raw, start)
        except CorpusError as error:
            raise CorpusError(f"{place}: {error}") from None
        kind = (report.channel, report.vocabulary, len(report.bits))
        first = first or kind
        seeded |= report.channel.reproducible
        if kind != first:
            raise CorpusError(
                f"{place}: its channel or vocabulary differs from the first report's; keep them apart."
            )
        if expected is not None and report.vocabulary != expected:
            raise CorpusError(f"{place}: it is about another vocabulary; give the one that the writers had.")
        if report.number not in seen:
            seen.add(report.number)
            found.append(report.bits)
    if first is None:
        raise CorpusError(f"{os.fspath(path)} is empty: expected reports, as `discreet perturb` writes them.")
    return replace(first[0], reproducible=seeded), np.array(found, np.uint8)
