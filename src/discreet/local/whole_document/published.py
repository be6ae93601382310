r"""A question as it is published: what is asked, through which channel, and of whom.

Whoever asks is not trusted. All of it is judged before a document is looked at, so that nothing a server publishes
makes some documents answer and others fall silent (:class:`~discreet.local.whole_document.questions.Question` bounds
its numbers over all words); and what an answer loses is the channel's, which the writer compares with what was agreed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from discreet.corpus.words.vocabulary import check_words
from discreet.errors import CorpusError, ParameterError
from discreet.local.whole_document.questions import Question, question_of, thresholds
from discreet.local.whole_document.wire import CodebookReport
from discreet.local.wire import vocabulary_digest
from discreet.privacy.codebook_channel import CodebookChannel

__all__ = ["PublishedQuestion"]

_END = 2**32
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
        if not steps or min(steps) < 1 or self.ends[-1] != _END:
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
    def from_json(cls, text: str) -> PublishedQuestion:
        """Read what a server published.

        Raises
        ------
        CorpusError
            Where it is no question: from the text alone, before any document is looked at.
        """
        try:
            found = json.loads(text)
            asked, told, ends = (found[name] for name in ("question", "channel", "ends"))
            (n, chosen, member, other), two_sided = (told[name] for name in _NUMBERS), told["twoSided"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CorpusError(f"{_NOT_ONE}.") from None
        if not isinstance(ends, list) or not all(map(_whole, ends)) or not isinstance(two_sided, bool):
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
        try:
            text = raw.decode("utf-8") if len(raw) <= _LARGEST else ""
        except UnicodeDecodeError:
            text = ""
        return cls.from_json(text)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
