"""Requests that bring reports or take them back: read within bounds, checked, and handed to the store."""

import asyncio
import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from discreet.errors import CorpusError
from discreet.local.collector.access import PLAIN, Secrets
from discreet.local.collector.invented_reports import plausible_ones
from discreet.local.collector.store import ReportStore, StoreBusyError, StoreFailedError
from discreet.local.collector.tables import ConflictError, SpentError
from discreet.local.whole_document.questions import ANSWER, CLIENT_NUMBER, CodebookReport, PublishedQuestion
from discreet.local.wire import HEADER_BYTES, NUMBER, Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel


class Form(ABC):
    """What every report of a collector looks like: all but its number and its content is known beforehand.

    Parameters
    ----------
    blank : Report or CodebookReport
        With nothing in it.
    number, content : slice
        Where these stand among its bytes.
    stray : str
        What errors say of a sound report of something else.
    """

    def __init__(self, blank: Report | CodebookReport, number: slice, content: slice, stray: str) -> None:
        raw = blank.to_bytes()
        self.size, self._blank = len(raw), np.frombuffer(raw, np.uint8)
        self._number, self._content, self._read, self._stray = number, content, type(blank).from_bytes, stray
        self._own = np.zeros(self.size, bool)
        self._own[number] = self._own[content] = True

    def split(self, raw: bytes, *, count: bool = True) -> list[tuple[bytes, bytes]]:
        """Return number and content of each report; ``CorpusError`` says what is off, never the content.

        ``count=False`` lets any number of ones pass: what was taken once may be taken back.
        """
        if not raw:
            raise CorpusError("expected one or more reports, but nothing came.")
        whole = len(raw) // self.size * self.size
        rows = np.frombuffer(raw[:whole], np.uint8).reshape(-1, self.size)
        contents = rows[:, self._content]
        may_come = ((rows == self._blank) | self._own).all(axis=1) & self._sound(contents)
        if not may_come.all():
            i = int(np.argmin(may_come))
            self._explain(raw[i * self.size : (i + 1) * self.size], i)
        if whole < len(raw):
            self._explain(raw[whole:], len(rows))
        found = [raw[i : i + self.size] for i in range(0, len(raw), self.size)]
        parts = [(one[self._number], one[self._content]) for one in found]
        self._check([number for number, _ in parts], contents, count)
        return parts

    @abstractmethod
    def _sound(self, contents: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Say which contents, a row each, a report can have."""

    @abstractmethod
    def _check(self, numbers: list[bytes], contents: NDArray[np.uint8], count: bool) -> None:
        """Raise ``CorpusError`` about a sound report of this form that must not come here."""

    def _explain(self, raw: bytes, i: int) -> None:
        """Raise ``CorpusError`` about a report that may not come."""
        try:
            found = self._read(raw)
        except CorpusError as error:
            raise CorpusError(f"report {i + 1}: {error}") from None
        if found.channel.reproducible:
            raise CorpusError(
                f"report {i + 1} was made with a seed, for a simulation: whoever has the seed can take its noise off. "
                "Make reports without a seed."
            )
        raise CorpusError(f"report {i + 1} {self._stray}.")


class ReportForm(Form):
    """The form of reports of bits.

    Parameters
    ----------
    words : tuple of str
    channel : BitChannel
        A report whose number of ones no document would give is refused: see
        :mod:`discreet.local.collector.invented_reports`.
    most_words : int, optional
        Words of the vocabulary that any document has.
    """

    def __init__(self, words: tuple[str, ...], channel: BitChannel, *, most_words: int | None = None) -> None:
        blank = Report(channel, vocabulary_digest(words), bytes(16), np.zeros(len(words), np.uint8))
        stray = "is of another channel or vocabulary; use the ones that GET /status tells"
        super().__init__(blank, NUMBER, slice(HEADER_BYTES, None), stray)
        self.fewest, self.most = plausible_ones(channel, len(words), most_words=most_words)
        self._n_words = len(words)
        unused = -len(words) % 8
        self._unused = np.uint8((0xFF << (8 - unused)) & 0xFF if unused else 0)

    def _sound(self, contents: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return (contents[:, -1] & self._unused) == 0

    def _check(self, numbers: list[bytes], contents: NDArray[np.uint8], count: bool) -> None:
        ones = np.bitwise_count(contents).sum(axis=1, dtype=np.int64)
        odd = (ones < self.fewest) | (ones > self.most)
        if count and odd.any():
            i = int(np.argmax(odd))
            raise CorpusError(
                f"report {i + 1} has {'more' if ones[i] > self.most else 'fewer'} ones than this channel gives: from "
                f"{self.fewest} to {self.most} of {self._n_words} bits, whatever the document is. Send what "
                "the client made, as it made it."
            )


class AnswerForm(Form):
    """The form of reports of whole documents.

    Parameters
    ----------
    question : PublishedQuestion
    """

    def __init__(self, question: PublishedQuestion) -> None:
        stray = "answers another question, or this one through another channel; answer the one that GET /question tells"
        super().__init__(question.blank(), CLIENT_NUMBER, ANSWER, stray)
        self._question = question

    def _sound(self, contents: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return contents.copy().view("<u4")[:, 0] < self._question.channel.n_codewords

    def _check(self, numbers: list[bytes], contents: NDArray[np.uint8], count: bool) -> None:
        for i, number in enumerate(numbers):
            if not self._question.asks(number):
                raise CorpusError(
                    f"report {i + 1} is of a client that another question is for, by its number; keep it for that one."
                )


#: Seconds for the store to keep what came. How long a body may take to arrive is the proxy's to say.
_SLOWEST_STORE = 45.0
#: Bytes of bodies that may be under way at once, of all connections.
_MOST_UNDER_WAY = 256 * 2**20
_BEARER = "bearer "
_CODES: dict[type[CorpusError], int] = {ConflictError: 409, SpentError: 403}
_Told = TypeVar("_Told")


@dataclass
class _Held:
    """Bytes of one request's body."""

    size: int = 0


class Intake:
    """What ``POST /reports`` and ``POST /withdraw`` do.

    Parameters
    ----------
    store, admission, most_reports, most_words
        As for :func:`discreet.local.collector.make_app`.
    """

    def __init__(
        self, store: ReportStore, admission: Secrets | None, most_reports: int, most_words: int | None
    ) -> None:
        self.store, self.admission = store, admission
        if isinstance(store.channel, PublishedQuestion):
            self.form = AnswerForm(store.channel)
        else:
            self.form = ReportForm(store.words, store.channel, most_words=most_words)
        self.most_bytes = most_reports * self.form.size
        self.under_way = 0

    async def reports(self, request: Request) -> Response:
        """Keep reports, each once."""
        ticket = self._ticket(request)
        async with self._rows(request) as rows:
            if ticket is not None and len(rows) != 1:
                raise HTTPException(422, f"a ticket admits one report, but {len(rows)} came.")
            receipt = await _kept(self.store.add(rows, ticket=ticket))
        return JSONResponse(receipt._asdict(), headers=PLAIN)

    async def withdraw(self, request: Request) -> Response:
        """Take reports back: whoever has the whole report may, even where its token is no longer valid."""
        async with self._rows(request, count=False) as rows:
            if len(dict(rows)) < len(set(rows)):  # answers are few, and could all be tried at once
                raise HTTPException(
                    422, "one number came with several answers; send reports as they were sent."
                )
            told = await _kept(self.store.withdraw(rows))
        return JSONResponse(told._asdict(), headers=PLAIN)

    @contextlib.asynccontextmanager
    async def _rows(
        self, request: Request, *, count: bool = True
    ) -> AsyncGenerator[list[tuple[bytes, bytes]]]:
        """Read a request's reports; whatever the store says of them becomes an answer."""
        kind = request.headers.get("content-type", "").split(";")[0].strip()
        if kind not in ("", "application/octet-stream"):  # a browser names none for bytes
            raise HTTPException(415, "send reports as application/octet-stream.")
        held = _Held()
        try:
            body = await self._body(request, held)
            try:
                yield self.form.split(body, count=count)
            except StoreBusyError as error:
                raise later(503, str(error), 1) from None
            except CorpusError as error:
                raise HTTPException(_CODES.get(type(error), 422), str(error)) from None
        finally:
            self.under_way -= held.size

    def _ticket(self, request: Request) -> bytes | None:
        """Return the ticket, where tickets are asked for; refuse whoever may not send."""
        if self.admission is None:
            return None
        given = request.headers.get("authorization", "")
        secret = given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""
        known = self.admission.admits(secret)
        if known is None:
            raise HTTPException(
                401, "a known bearer token or ticket is needed.", {"WWW-Authenticate": "Bearer"}
            )
        return known if self.admission.once else None

    async def _body(self, request: Request, held: _Held) -> bytes:
        too_large = HTTPException(
            413, f"at most {self.most_bytes // self.form.size} reports in one request; send several."
        )
        declared = request.headers.get("content-length", "")
        if "transfer-encoding" in request.headers or not (declared.isascii() and declared.isdigit()):
            # Chunks of one byte cost a hundred times what whole bodies do; the connection ends with this answer.
            told = "send a body with its Content-Length, not in chunks."
            raise HTTPException(411, told, {"Connection": "close"})
        if int(declared[:16]) > self.most_bytes:
            raise too_large
        parts: list[bytes] = []
        try:
            async for part in request.stream():
                held.size += len(part)
                self.under_way += len(part)
                if held.size > self.most_bytes:
                    raise too_large
                if self.under_way > _MOST_UNDER_WAY:
                    raise later(503, "too much is being sent at once; try again later.", 1)
                parts.append(part)
        except ClientDisconnect:
            raise HTTPException(400, "the request was cut off.") from None
        return b"".join(parts)


def later(code: int, message: str, seconds: float) -> HTTPException:
    """Return a refusal that says when to try again."""
    return HTTPException(code, message, {"Retry-After": str(max(1, math.ceil(seconds)))})


async def _kept(answer: Future[_Told]) -> _Told:
    """Wait for the store, but not for ever: a database may hang."""
    try:
        async with asyncio.timeout(_SLOWEST_STORE):
            return await asyncio.wrap_future(answer)
    except TimeoutError:
        raise StoreFailedError("the store does not answer; send the same reports again.") from None
