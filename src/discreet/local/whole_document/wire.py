"""Reports of whole documents as bytes: versioned, length-checked, the same from Python and from a browser.

============  ======  ==================================================================
bytes         length  content, numbers little-endian
============  ======  ==================================================================
0 to 3        4       ``DSCW``
4             1       version: 1
5             1       marks: 1 for a report made with a seed, plus 2 where absolute scores counted
6 to 7        2       zero
8 to 15       4 + 4   M and m, codewords and chosen ones
16 to 23      8       R, weight of a chosen codeword
24 to 27      4       Q, weight of another
28 to 31      4       the answer: number of a codeword, below M
32 to 63      32      SHA-256 of the vocabulary, as in reports of bits
64 to 95      32      digest of the question
96 to 111     16      number of the client, the nonce of its codebook
============  ======  ==================================================================

A file of reports is one after the other.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from discreet.errors import CorpusError, ParameterError
from discreet.privacy.codebook_channel import CodebookChannel

__all__ = ["ANSWER", "MAGIC", "NUMBER", "CodebookReport", "read_codebook_reports"]

_FORM = struct.Struct("<4sBB2sIIQII32s32s16s")
#: What a report begins with.
MAGIC = b"DSCW"
#: Where answer and number stand.
ANSWER, NUMBER = slice(28, 32), slice(96, 112)
_VERSION = 1
_SEEDED, _TWO_SIDED = 1, 2


@dataclass(frozen=True)
class CodebookReport:
    """One document's answer to one question.

    Parameters
    ----------
    channel : CodebookChannel
    vocabulary : bytes
        Digest of the words, 32 bytes.
    question : bytes
        Digest of the question, 32 bytes.
    number : bytes
        Of the client, 16 bytes, public.
    answer : int
        Number of a codeword.
    """

    channel: CodebookChannel
    vocabulary: bytes
    question: bytes
    number: bytes
    answer: int

    def to_bytes(self) -> bytes:
        """Return the wire form: 112 bytes."""
        channel = self.channel
        marks = _SEEDED * channel.reproducible + _TWO_SIDED * channel.two_sided
        return _FORM.pack(
            *(MAGIC, _VERSION, marks, bytes(2)),
            *(channel.n_codewords, channel.n_chosen, channel.member_weight, channel.other_weight),
            *(self.answer, self.vocabulary, self.question, self.number),
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> CodebookReport:
        """Parse one report; ``CorpusError`` says what is off. The answer is never shown."""
        if len(raw) != _FORM.size:
            raise CorpusError(f"a report of a whole document has {_FORM.size} bytes, but {len(raw)} came.")
        magic, version, marks, zeros, n, m, member, other, answer, words, question, number = _FORM.unpack(raw)
        if magic != MAGIC:
            raise CorpusError(
                "expected a report of a whole document, which begins with DSCW, but something else came."
            )
        if version != _VERSION or marks & ~(_SEEDED | _TWO_SIDED) or any(zeros):
            raise CorpusError(
                f"expected a report of version {_VERSION}, but got version {version} with marks {marks}; use the "
                "client's own version."
            )
        try:
            channel = _channel(n, m, member, other, marks)
        except ParameterError as error:
            raise CorpusError(f"the report names no valid channel: {error}") from None
        if answer >= n:
            raise CorpusError(f"the answer must be one of {n} codewords, but is not; the report was damaged.")
        return cls(channel, words, question, number, answer)


@lru_cache(8)
def _channel(n: int, m: int, member: int, other: int, marks: int) -> CodebookChannel:
    """Return a channel, which all reports on a question share."""
    return CodebookChannel(n, m, member, other, bool(marks & _TWO_SIDED), reproducible=bool(marks & _SEEDED))


def read_codebook_reports(path: str | os.PathLike[str]) -> list[CodebookReport]:
    """Read a file of reports of whole documents, as :func:`discreet.local.write_reports` wrote it.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of CodebookReport

    Raises
    ------
    CorpusError
        Names the first report that is damaged.
    """
    raw, found = Path(path).read_bytes(), list[CodebookReport]()
    for start in range(0, len(raw), _FORM.size):
        try:
            found.append(CodebookReport.from_bytes(raw[start : start + _FORM.size]))
        except CorpusError as error:
            raise CorpusError(f"{os.fspath(path)}, report {len(found) + 1}: {error}") from None
    if not found:
        raise CorpusError(f"{os.fspath(path)} is empty: expected reports of whole documents.")
    return found
