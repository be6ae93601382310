r"""The three questions, which one a client answers, and how questions and answers are sent.

A question turns the set of a document's words into a vector of whole numbers, by public tables
(:mod:`discreet.lda.questions`). Of *squares* it is the square that is asked: the channel is two-sided.

A question is named by a digest of its kind, its tables and its vocabulary, which keys the codebook and stands in every
report.

*Which question a client answers* is decided by its number alone, before it is asked anything: 16 public random bytes,
drawn once without looking at the document. The first 32 bits of SHA-256("discreet question", number) say in which part
of the clients it is (:func:`question_of`); whoever receives a report can check that. Where the parts end is the
server's word: that a document answers once, whatever it says, is the work of the client's memory
(:class:`discreet.local.ReportMemo`). Later questions are made of the answers to earlier ones, which are other clients':
each client's loss is that of its one report.

*A question as it is published.* Whoever asks is not trusted. All of it is judged before a document is looked at, so
that nothing a server publishes makes some documents answer and others fall silent (:class:`Question` bounds its numbers
over all words); and what an answer loses is the channel's, which the writer compares with what was agreed.

*An answer as bytes*: versioned, length-checked, the same from Python and from a browser.

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

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.files import read_json
from discreet._base.validate import is_whole
from discreet.corpus.vocabulary import check_words
from discreet.errors import CorpusError, ParameterError
from discreet.lda import questions
from discreet.lda.questions import DOC_TOPIC_PRIOR, STEPS, Asked
from discreet.local.whole_document.codebook import LARGEST_SCORE, MOST_CODEWORDS, MOST_SIGNS, CodebookChannel
from discreet.local.wire import vocabulary_digest

_ONE = 2**32
_NO_QUESTION = "this is not a question of whole documents; take the text that to_json() gave."


@dataclass(frozen=True, eq=False)
class Question(Asked):
    """What is asked of a part of the clients; all of it is public. Impossible ones are refused when they are made.

    Parameters
    ----------
    kind : {"words", "squares", "topics"}
    place : int
        Which part of the clients it is for, from 0.
    vocabulary : tuple of str
    table : array of shape (n_words, n), int64
        Directions of the words ("squares") or topics, positive ("topics"); none ("words").
    weights : array of shape (n_words,), int64
        Of words ("topics").
    """

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise CorpusError(f"this is not a question of whole documents: {fault}.")

    def _fault(self) -> str:
        """Say what is wrong, from the question alone: no document may decide whether its client answers.

        Numbers are bounded by the sum over *all* words, so that the scores of every document are exact.
        """
        n = len(self.vocabulary)
        if self.kind not in ("words", "squares", "topics") or not 0 <= self.place < 100 or n == 0:
            return "it is of no known kind, for no part of the clients, or about no words"
        if (
            self.table.ndim != 2
            or len(self.table) != n
            or (self.kind == "words") != (self.table.shape[1] == 0)
        ):
            return "its table must have one row for each word"
        topics = self.kind == "topics"
        if self.weights.shape != ((n,) if topics else (0,)):
            return "it must have one weight for each word where it asks about topics, and else none"
        if topics and (self.table.min() < 1 or self.weights.min() < 1):
            return "topics and weights must be positive"
        if self.dimension > MOST_SIGNS:
            return f"an answer may have {MOST_SIGNS} numbers at most"
        sizes = np.abs(self.table.astype(np.float64))
        numbers = self.weights.astype(np.float64).sum() + self.dimension if topics else max(sizes.sum(), n)
        signs = max(MOST_CODEWORDS, 1 << (self.dimension - 1).bit_length())
        if numbers * signs >= LARGEST_SCORE or sizes.max(initial=0.0) >= LARGEST_SCORE:
            return "its numbers are too large"
        return ""

    @property
    def two_sided(self) -> bool:
        """Whether the square of the answer is asked."""
        return self.kind == "squares"

    @cached_property
    def digest(self) -> bytes:
        """Name of the question, 32 bytes."""
        head = f"discreet question {self.kind} {self.place} {self.table.shape[1]} {DOC_TOPIC_PRIOR} {STEPS}\n"
        parts = (
            head.encode(),
            vocabulary_digest(self.vocabulary),
            *(x.astype("<i8").tobytes() for x in (self.table, self.weights)),
        )
        return sha256(b"".join(parts)).digest()

    def answers(self, counts: Any) -> NDArray[np.int64]:
        """Return the answers of documents: rows of counts to rows of ``dimension`` whole numbers. Private."""
        rows: Any = sp.csr_matrix(counts)
        if rows.shape[1] != len(self.vocabulary):
            raise CorpusError(
                f"expected rows of {len(self.vocabulary)} words, but they have {rows.shape[1]}."
            )
        return questions.answers(self, rows)

    def as_json(self) -> dict[str, Any]:
        """Return what a published question says of it."""
        return {
            "kind": self.kind,
            "place": self.place,
            "vocabulary": self.vocabulary,
            "table": self.table.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def of_json(cls, found: Any) -> Question:
        """Read what :meth:`as_json` gave; ``CorpusError`` where it is none."""
        fault = CorpusError(_NO_QUESTION)
        try:
            words, kind = found["vocabulary"], found["kind"]
            table, weights = _whole(found["table"]), _whole(found["weights"])
            place = found["place"]
        except (ValueError, KeyError, TypeError, OverflowError):
            raise fault from None
        texts = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not texts or not is_whole(place):
            raise fault
        return cls(kind, place, tuple(words), table, weights)


def thresholds(shares: Sequence[float]) -> tuple[int, ...]:
    """Return where the parts of the clients end, in 2^-32; the last part ends at 2^32."""
    if not shares or min(shares) <= 0:
        raise ParameterError("each question needs a positive share of the clients.")
    ends = np.cumsum(shares) / sum(shares)
    return (*(int(end * _ONE) for end in ends[:-1]), _ONE)


def question_of(number: bytes, ends: Sequence[int]) -> int:
    """Return which question the client of that public number answers, from 0."""
    place = int.from_bytes(sha256(b"discreet question" + number).digest()[:4], "little")
    return next(i for i, end in enumerate(ends) if place < end)


def _whole(values: Any) -> NDArray[np.int64]:
    found = np.asarray(values)
    if found.size and (found.dtype.kind not in "iu" or found.max() >= 2**63):
        raise ValueError("not whole, or too large to be kept as it is")
    return found.astype(np.int64)


_FORM = struct.Struct("<4sBB2sIIQII32s32s16s")
#: What a report begins with.
MAGIC = b"DSCW"
#: Where the answer and the number of its client stand.
ANSWER, CLIENT_NUMBER = slice(28, 32), slice(96, 112)
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


#: Bytes of a file: what a question may ask about at most fits in.
_LARGEST = 64 * 2**20
_NUMBERS = ("codewords", "chosen", "member", "other")
_NOT_ONE = "this is not a published question; take what WholeDocumentLDA.published() or `discreet ask` gave"


@dataclass(frozen=True, eq=False)
class PublishedQuestion:
    """A question with its channel, and whose turn it is.

    Parameters
    ----------
    question : Question
    channel : CodebookChannel
    ends : tuple of int
        Where the parts of the clients end, in 2^-32: growing, the last one 2^32. Part ``question.place`` is asked.
    """

    question: Question
    channel: CodebookChannel
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise CorpusError(f"{_NOT_ONE}: {fault}.")

    def _fault(self) -> str:
        steps = [after - before for before, after in pairwise((0, *self.ends))]
        if not steps or min(steps) < 1 or self.ends[-1] != _ONE:
            return "the parts of the clients must grow, and end at 2^32"
        if self.question.place >= len(steps):
            return "it is for a part of the clients that is not there"
        if self.channel.two_sided != self.question.two_sided:
            return "a channel is two-sided where squares are asked, and nowhere else"
        return ""

    @classmethod
    def of(cls, question: Question, channel: CodebookChannel, shares: Sequence[float]) -> PublishedQuestion:
        """Return the question for parts of the clients of these sizes."""
        return cls(question, channel, thresholds(shares))

    @property
    def shares(self) -> tuple[int, ...]:
        """Sizes of the parts of the clients, as :meth:`discreet.local.ReportMemo.answer` takes them."""
        return tuple(after - before for before, after in pairwise((0, *self.ends)))

    def asks(self, number: bytes) -> bool:
        """Whether the client of that public number is asked."""
        return question_of(number, self.ends) == self.question.place

    def blank(self) -> CodebookReport:
        """Return a report that answers it, with nothing in it."""
        question = self.question
        return CodebookReport(
            self.channel, vocabulary_digest(question.vocabulary), question.digest, bytes(16), 0
        )

    @property
    def guarantee(self) -> str:
        """What one answer promises, in words."""
        return (
            f"Local differential privacy of one answer: epsilon {self.channel.epsilon:.4g}, pure, for any whole "
            "document replaced by any other. Each document answers one question, once."
        )

    def to_json(self) -> str:
        """Return the text to publish; ``discreet-client.js`` takes it as it is."""
        channel = self.channel
        told = {
            "question": self.question.as_json(),
            "channel": {
                "codewords": channel.n_codewords,
                "chosen": channel.n_chosen,
                "member": channel.member_weight,
                "other": channel.other_weight,
                "twoSided": channel.two_sided,
            },
            "ends": self.ends,
        }
        return json.dumps(told, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> PublishedQuestion:
        """Read what a server published.

        Raises
        ------
        CorpusError
            Where it is no question: from the text alone, before any document is looked at.
        """
        try:
            found = read_json(text)
            asked, told, ends = (found[name] for name in ("question", "channel", "ends"))
            (n, chosen, member, other), two_sided = (told[name] for name in _NUMBERS), told["twoSided"]
        except (ValueError, KeyError, TypeError):
            raise CorpusError(f"{_NOT_ONE}.") from None
        if not isinstance(ends, list) or not all(map(is_whole, ends)) or not isinstance(two_sided, bool):
            raise CorpusError(f"{_NOT_ONE}.")
        try:
            channel = CodebookChannel(n, chosen, member, other, two_sided)
        except ParameterError as error:
            raise CorpusError(f"{_NOT_ONE}: {error}") from None
        question = Question.of_json(asked)
        check_words(question.vocabulary, "the question's vocabulary: position")
        return cls(question, channel, tuple(ends))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PublishedQuestion:
        """Read a file that a server published; as :meth:`from_json`."""
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST + 1)
        return cls.from_json(raw if len(raw) <= _LARGEST else "")
