r"""The three questions, and which one a client answers.

A question turns the set of a document's words into a vector of whole numbers, by public tables
(:mod:`discreet.lda.questions.asked`). Of *squares* it is the square that is asked: the channel is two-sided.

A question is named by a digest of its kind, its tables and its vocabulary, which keys the codebook and stands in every
report.

*Which question a client answers* is decided by its number alone, before it is asked anything: 16 public random bytes,
drawn once without looking at the document. The first 32 bits of SHA-256("discreet question", number) say in which part
of the clients it is (:func:`question_of`); whoever receives a report can check that. Where the parts end is the
server's word: that a document answers once, whatever it says, is the work of the client's memory
(:class:`discreet.local.ReportMemo`). Later questions are made of the answers to earlier ones, which are other clients':
each client's loss is that of its one report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.errors import CorpusError, ParameterError
from discreet.lda.questions import asked
from discreet.lda.questions.asked import DOC_TOPIC_PRIOR, STEPS, Asked, Kind
from discreet.local.wire import vocabulary_digest
from discreet.privacy.codebook import LARGEST_SCORE, MOST_CODEWORDS, MOST_SIGNS

__all__ = ["Kind", "Question", "question_of", "thresholds"]

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
    def dimension(self) -> int:
        """Length of an answer."""
        return asked.dimension(self)

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
            *(_bytes(x) for x in (self.table, self.weights)),
        )
        return sha256(b"".join(parts)).digest()

    def answers(self, counts: Any) -> NDArray[np.int64]:
        """Return the answers of documents: rows of counts to rows of ``dimension`` whole numbers. Private."""
        rows: Any = sp.csr_matrix(counts)
        if rows.shape[1] != len(self.vocabulary):
            raise CorpusError(
                f"expected rows of {len(self.vocabulary)} words, but they have {rows.shape[1]}."
            )
        return asked.answers(self, rows)

    def to_json(self) -> str:
        """Return the question as a client's program takes it."""
        return json.dumps(self.as_json(), ensure_ascii=False)

    def as_json(self) -> dict[str, Any]:
        """Return what :meth:`to_json` writes."""
        return {
            "kind": self.kind,
            "place": self.place,
            "vocabulary": self.vocabulary,
            "table": self.table.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_json(cls, text: str) -> Question:
        """Read a question; ``CorpusError`` where it is none."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise CorpusError(_NO_QUESTION) from None
        return cls.of_json(found)

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
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise fault
        if not isinstance(place, int) or isinstance(place, bool):
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


def _bytes(values: NDArray[np.int64]) -> bytes:
    return values.astype("<i8").tobytes()


def _whole(values: Any) -> NDArray[np.int64]:
    found = np.asarray(values)
    if found.size and (found.dtype.kind not in "iu" or found.max() >= 2**63):
        raise ValueError("not whole, or too large to be kept as it is")
    return found.astype(np.int64)
