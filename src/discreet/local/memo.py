"""A client's memory of its reports: whoever asks twice gets the same bytes.

Fresh coins for the same document would let averages show through: every further report costs the whole privacy loss
again. So the first report is kept. The file holds reports under keyed digests of what they are about (HMAC-SHA256
with a key of the file's own), never words; it is for its owner alone (mode 0600). The file is the budget of its
documents: one flipped bit could name another document, and cost a second report. So it is sealed
(:mod:`discreet._base.sealed`), and a damaged one is refused.

What is kept is tied to the document as it is. A document that changes gets a new report, and the writer then stands
behind two: for such documents give ``name``, and the first report stands for all versions.

A collector that publishes another channel, or another vocabulary, asks for another report, with fresh coins: one that
moves p by :math:`2^{-32}` each day would read the document out. So each document has an account with a budget over all
of its reports, by default what the first one loses. A document without a name is known by its words, and a vocabulary
that has other words of it would make it another document: one that leaves out other words each day would read it out
as well. So a memory that holds reports about one vocabulary makes reports about another one of named documents only.

Answers about whole documents (:meth:`ReportMemo.answer`) have accounts in the same way, and are of named documents
only: a report shows which documents have the same one, so that must follow from names, never from what they say. The
public number of a document's client is drawn once for each vocabulary, before a question about it is looked at, and
kept: it alone decides which question the document answers. Collectors that ask about other words see another.

Reports of bits (:meth:`ReportMemo.report`) may do without names. Documents with the same words of the vocabulary are
then one document, with one report, and whoever collects sees that they are alike: no epsilon covers that. Where a
memory is for more than one document, give names.

Threads of a program may share a memory: each of its calls is made alone. A fork of the program that a memory without a
file belongs to gets no report from its copy: each of the two would make a first one. Two programs that use one file at
the same time cannot both make the first report of a document: the second one to save is refused, and has nothing that
it may send.
"""

import hmac
import json
import math
import os
import secrets
import threading
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet._base.files import lock_beside, write_file
from discreet._base.sealed import Seal
from discreet._base.validate import shown
from discreet.errors import BudgetExceeded, ParameterError, PrivacyError, Proposal
from discreet.local.whole_document.codebook import CodebookChannel
from discreet.local.whole_document.questions import MAGIC, CodebookReport, Question, question_of, thresholds
from discreet.local.wire import Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_epsilon


class ReportKind(NamedTuple):
    """What a report is about, but for its document."""

    channel: BitChannel | CodebookChannel
    vocabulary: bytes
    #: Words of the vocabulary; of whole documents, the digest of the question.
    about: int | bytes

    @classmethod
    def of(cls, report: Report | CodebookReport) -> "ReportKind":
        """Return the form of a report."""
        about = report.question if isinstance(report, CodebookReport) else len(report.bits)
        return cls(report.channel, report.vocabulary, about)

    @property
    def loss(self) -> float:
        """What a document loses by one such report, as a whole."""
        if isinstance(self.channel, CodebookChannel):
            return self.channel.epsilon
        assert isinstance(self.about, int)
        return self.channel.guarantees(self.about).whole_report

    @property
    def tag(self) -> list[Any]:
        """The form, as it goes into digests."""
        channel = self.channel
        if isinstance(channel, BitChannel):
            return [channel.p_threshold, channel.q_threshold, channel.limit, self.vocabulary.hex()]
        assert isinstance(self.about, bytes)
        return [channel.n_codewords, channel.n_chosen, channel.member_weight, channel.other_weight,
                channel.two_sided, self.about.hex(), self.vocabulary.hex()]  # fmt: skip


_SEAL = Seal(
    "discreet.reports/2",
    "kept reports",
    PrivacyError,
    "restore it from a copy: new reports would cost anew",
    2**32,
)


class ReportMemo:
    """Make reports, each once.

    Parameters
    ----------
    path : path, optional
        File to keep them in; only in memory by default.
    budget : float, optional
        Privacy loss that may be spent on each document, summed over all its reports through different channels or
        about different vocabularies; the loss of one is that of a whole document. By default that of its first
        report, so that there is no second one.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, budget: float | None = None) -> None:
        # A link is one more name of a memory, not one more memory.
        self.path = None if path is None else Path(path).resolve()
        self.budget = None if budget is None else check_epsilon(budget)
        self._key, self._kept = secrets.token_bytes(32), dict[str, str]()
        self._accounts = dict[str, list[str]]()
        self._vocabularies = set[bytes]()
        # Of clients that answer about whole documents.
        self._numbers = dict[str, str]()
        self._found: bytes | None = None
        # Held by every call from its first look at what is kept to the end: two that ask at once get one report.
        self._alone = threading.RLock()
        self._process = os.getpid()
        if self.path is not None and self.path.exists():
            _refuse_second_name(self.path)
            raw = _SEAL.read(self.path)
            with _SEAL.reading(raw, self.path) as content:
                self._key, self._kept = bytes.fromhex(content["key"]), content["reports"]
                self._accounts, self._numbers = content["accounts"], content["numbers"]
                self._vocabularies = {self._report(mark).vocabulary for mark in self._kept}
            self._found = sha256(raw).digest()

    def __len__(self) -> int:
        return len(self._kept)

    def report(
        self,
        channel: BitChannel,
        words: Sequence[int],
        vocabulary: Sequence[str],
        stream: SecureStream,
        *,
        name: str | None = None,
    ) -> Report:
        """Return the report of a document; the first one, whenever it was asked for before.

        Parameters
        ----------
        channel : BitChannel
            How to randomise.
        words : sequence of int
            Numbers of the document's words in the vocabulary.
        vocabulary : sequence of str
            The public words.
        stream : SecureStream
            Source of randomness.
        name : str, optional
            What the document is called, not empty; ways to write a letter with a mark are one (NFC). By default its
            words tell it from others: documents with the same words share one report, and whoever collects sees
            that they are alike.

        Raises
        ------
        BudgetExceeded
            Where the document was reported before in another form, and one report more would exceed the budget.
        PrivacyError
            Where reports are kept in a file and ``stream`` was made from a seed: they would be sent some day as if
            nobody could draw their coins again. Also where they are kept in memory only, and this is a fork; and for a
            document without a name, about another vocabulary than a report that is kept.
        """
        form = ReportKind(channel, vocabulary_digest(vocabulary), len(vocabulary))

        def make(columns: list[int]) -> Report:
            seen = replace(channel, reproducible=stream.reproducible)
            bits = seen.report(columns, stream, n_words=len(vocabulary))
            return Report(seen, form.vocabulary, stream.spawn("number").words(2).tobytes(), bits)

        with self._alone:
            found = self._first(form, self._whose(form, words, vocabulary, stream, name), make)
        assert isinstance(found, Report)
        return found

    def answer(
        self,
        channel: CodebookChannel,
        question: Question,
        words: Sequence[int],
        stream: SecureStream,
        *,
        shares: Sequence[float],
        name: str,
    ) -> CodebookReport | None:
        """Return a document's answer to a question; the first one, whenever it was asked for before.

        Parameters
        ----------
        channel : CodebookChannel
            As ``WholeDocumentLDA.channel(question)`` is.
        question : Question
        words : sequence of int
            Numbers of the document's words in the question's vocabulary.
        stream : SecureStream
            Source of randomness.
        shares : sequence of float
            Of the clients that get each question, as ``WholeDocumentLDA(shares=...)``; public.
        name : str
            What the document is called, not empty, and no other document is. Its words cannot tell it from others:
            which documents have one report would then show which ones are alike.

        Returns
        -------
        CodebookReport or None
            None where it is not this document's question, by its number: there is nothing to send.

        Raises
        ------
        BudgetExceeded, PrivacyError
            As for :meth:`report`.
        ParameterError
            Without a name.
        """
        if not name:
            raise ParameterError(
                "an answer needs the name of its document: else it shows which ones are alike."
            )
        vocabulary = question.vocabulary
        form = ReportKind(channel, vocabulary_digest(vocabulary), question.digest)
        with self._alone:
            whose = self._whose(form, words, vocabulary, stream, name)
            # Of one document and one vocabulary, and public.
            at = self._digest(["number", whose[2], form.vocabulary.hex()])
            if at not in self._numbers:
                self._numbers[at] = stream.spawn("number").words(2).tobytes().hex()
            number = bytes.fromhex(self._numbers[at])
            if question_of(number, thresholds(shares)) != question.place:
                return None

            def make(columns: list[int]) -> CodebookReport:
                seen = replace(channel, reproducible=stream.reproducible)
                row = np.zeros((1, len(vocabulary)), np.int32)
                row[0, columns] = 1
                codebook = channel.codebook(question.dimension, question.digest)
                sent = seen.report(question.answers(row)[0], number, codebook, stream)
                return CodebookReport(seen, form.vocabulary, question.digest, number, sent)

            found = self._first(form, whose, make)
        assert isinstance(found, CodebookReport)
        return found

    def loss_of(self, words: Sequence[int], vocabulary: Sequence[str], *, name: str | None = None) -> float:
        """Return what a document has lost by all of its reports and answers that are recorded here, added up.

        Parameters
        ----------
        words, vocabulary, name
            As for :meth:`report`; of a named document only the name counts.
        """
        with self._alone:
            marks = self._accounts.get(self._who(sorted({int(word) for word in words}), vocabulary, name), [])
            return math.fsum(ReportKind.of(self._report(mark)).loss for mark in marks)

    def _whose(
        self,
        form: ReportKind,
        words: Sequence[int],
        vocabulary: Sequence[str],
        stream: SecureStream,
        name: str | None,
    ) -> tuple[list[int], list[Any], str]:
        """Return a document's columns, what a report of it is about, and its account."""
        if name is not None and (not isinstance(name, str) or not name):
            raise ParameterError(f"a document's name must be a text that is not empty, but is {shown(name)}.")
        if self.path is None and os.getpid() != self._process:
            raise PrivacyError(
                "this memory was made in another process, which would make a first report of the same document, too: "
                "keep it in a file (ReportMemo(path)), or ask there."
            )
        if self.path is not None and stream.reproducible:
            raise PrivacyError(
                f"reports made with a seed must not be kept in {self.path}: leave out the seed, or the memory."
            )
        columns = sorted({int(word) for word in words})
        if columns and not 0 <= columns[0] <= columns[-1] < len(vocabulary):
            raise ParameterError(
                f"expected numbers of words from 0 to {len(vocabulary) - 1}, but one is not."
            )
        if name is None and not self._vocabularies <= {form.vocabulary}:
            raise PrivacyError(
                "this memory holds reports about another vocabulary, and without a name nothing tells which documents "
                "they are of: one could be reported twice. Give each document its name, or keep a memory for each "
                "collector's documents."
            )
        return columns, _called(name, columns), self._who(columns, vocabulary, name)

    def _who(self, columns: list[int], vocabulary: Sequence[str], name: str | None) -> str:
        """Return the name of a document's account."""
        return self._digest(["account", _called(name, sorted(vocabulary[column] for column in columns))])

    def _first(
        self,
        form: ReportKind,
        whose: tuple[list[int], list[Any], str],
        make: Callable[[list[int]], Report | CodebookReport],
    ) -> Report | CodebookReport:
        """Return the report that is kept, or else make one, if the document's budget has room for it."""
        columns, about, who = whose
        mark = self._digest([*form.tag, about])
        if mark not in self._kept:
            self._refuse_more(form, self._accounts.get(who, []))
            self._kept[mark] = b64encode(make(columns).to_bytes()).decode()
            self._accounts.setdefault(who, []).append(mark)
            self._vocabularies.add(form.vocabulary)
        return self._report(mark)

    def _report(self, mark: str) -> Report | CodebookReport:
        raw = b64decode(self._kept[mark], validate=True)
        return (CodebookReport if raw.startswith(MAGIC) else Report).from_bytes(raw)

    def _digest(self, tag: list[Any]) -> str:
        return hmac.new(self._key, json.dumps(tag).encode(), "sha256").hexdigest()

    def _refuse_more(self, form: ReportKind, marks: list[str]) -> None:
        """Raise where a report more would exceed the document's budget."""
        earlier = [ReportKind.of(self._report(mark)).loss for mark in marks]
        spent = math.fsum(earlier)
        budget = self.budget or (spent if earlier else form.loss)
        if math.fsum([*earlier, form.loss]) > budget:
            before = (
                f"another report of this document would bring its loss from {spent:.4g} to {spent + form.loss:.4g}, "
                f"above its budget of {budget:.4g}: it was reported before through another channel, or about other "
                "words. Send that report again, or, if the writer agrees to lose more, give a larger "
            )
            first = f"a report of this document loses {form.loss:.4g}, above its budget of {budget:.4g}; give a larger "
            raise BudgetExceeded(before if earlier else first, Proposal("budget"), ".")

    def save(self) -> None:
        """Write the file, whole or not at all; reports that were not saved must not be sent.

        Raises
        ------
        PrivacyError
            Where another program wrote the file after this one had read it. Then nothing was written, and the
            reports of this program must be thrown away.
        """
        if self.path is None:
            return
        with self._alone, lock_beside(self.path):
            _refuse_second_name(self.path)
            if _digest(self.path) != self._found:
                raise PrivacyError(
                    f"another program kept reports in {self.path} meanwhile; send nothing, and run this one again."
                )
            content = {
                "key": self._key.hex(),
                "reports": self._kept,
                "accounts": self._accounts,
                "numbers": self._numbers,
            }
            raw = _SEAL.to_bytes(content)
            write_file(self.path, lambda file: file.write(raw))
            self._found = sha256(raw).digest()


def _called(name: str | None, words: Any) -> list[Any]:
    """Return what tells a document from others: its name, or else its words."""
    return ["words", words] if name is None else ["name", unicodedata.normalize("NFC", name)]


def _refuse_second_name(path: Path) -> None:
    """Refuse a file with hard links: writing it anew would leave the other name with what was kept before."""
    if path.exists() and path.stat().st_nlink > 1:
        raise PrivacyError(
            f"{path} has another name (a hard link), which would miss what is kept from now on; send nothing, and "
            "remove one of the two names."
        )


def _digest(path: Path) -> bytes | None:
    return sha256(path.read_bytes()).digest() if path.exists() else None
