"""Requests that bring reports or take them back: read within bounds, checked, and handed to the store."""

from __future__ import annotations

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
from discreet.local.whole_document.codebook import CodebookChannel
from discreet.local.whole_document.questions import ANSWER, CLIENT_NUMBER, CodebookReport, PublishedQuestion
from discreet.local.wire import HEADER_BYTES, NUMBER, Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel


class Form(ABC):
    """What every report of a collector looks like; ``size`` bytes each."""

    size: int

    def split(self, raw: bytes, *, count: bool = True) -> list[tuple[bytes, bytes]]:
        """Return number and content of each report; ``CorpusError`` says what is off, never the content.

        ``count=False`` lets any number of ones pass: what was taken once may be taken back.
        """
        if not raw:
            raise CorpusError("expected one or more reports, but nothing came.")
        whole = len(raw) // self.size * self.size
        may_come = self._good(np.frombuffer(raw[:whole], np.uint8).reshape(-1, self.size))
        if not may_come.all():
            i = int(np.argmin(may_come))
            self._explain(raw[i * self.size : (i + 1) * self.size], i)
        if whole < len(raw):
            self._explain(raw[whole:], whole // self.size)
        return self._parts([raw[i : i + self.size] for i in range(0, len(raw), self.size)], raw, count)

    @abstractmethod
    def _good(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Say which rows of bytes, a report each, may come."""

    @abstractmethod
    def _explain(self, raw: bytes, i: int) -> None:
        """Raise ``CorpusError`` about a report that may not come."""

    @abstractmethod
    def _parts(self, found: list[bytes], raw: bytes, count: bool) -> list[tuple[bytes, bytes]]:
        """Take good reports apart."""


class ReportForm(Form):
    """What every report of this collector looks like: all but its number and its bits is known beforehand.

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
        self.size = len(blank.to_bytes())
        self._head = np.frombuffer(blank.to_bytes(), np.uint8)[: NUMBER.start]
        self.fewest, self.most = plausible_ones(channel, len(words), most_words=most_words)
        self._n_words = len(words)
        unused = -len(words) % 8
        self._unused = np.uint8((0xFF << (8 - unused)) & 0xFF if unused else 0)

    def _parts(self, found: list[bytes], raw: bytes, count: bool) -> list[tuple[bytes, bytes]]:
        if count:
            self._count(raw)
        return [(one[NUMBER], one[HEADER_BYTES:]) for one in found]

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


def refuse_seeded(channel: BitChannel | CodebookChannel, i: int) -> None:
    """Refuse a report whose channel says that it was made with a seed."""
    if channel.reproducible:
        raise CorpusError(
            f"report {i + 1} was made with a seed, for a simulation: whoever has the seed can take its noise off. "
            "Make reports without a seed."
        )


class AnswerForm(Form):
    """As :class:`ReportForm`, for reports of whole documents.

    Parameters
    ----------
    asked : PublishedQuestion
    """

    def __init__(self, asked: PublishedQuestion) -> None:
        blank = asked.blank().to_bytes()
        self.size, self._asked = len(blank), asked
        self._blank = np.frombuffer(blank, np.uint8)
        self._own = np.zeros(len(blank), bool)
        self._own[ANSWER] = self._own[CLIENT_NUMBER] = True

    def _parts(self, found: list[bytes], raw: bytes, count: bool) -> list[tuple[bytes, bytes]]:
        for i, one in enumerate(found):
            if not self._asked.asks(one[CLIENT_NUMBER]):
                raise CorpusError(
                    f"report {i + 1} is of a client that another question is for, by its number; keep it for that one."
                )
        return [(one[CLIENT_NUMBER], one[ANSWER]) for one in found]

    def _good(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        below = rows[:, ANSWER].copy().view("<u4")[:, 0] < self._asked.channel.n_codewords
        return ((rows == self._blank) | self._own).all(axis=1) & below

    def _explain(self, raw: bytes, i: int) -> None:
        try:
            report = CodebookReport.from_bytes(raw)
        except CorpusError as error:
            raise CorpusError(f"report {i + 1}: {error}") from None
        refuse_seeded(report.channel, i)
        raise CorpusError(
            f"report {i + 1} answers another question, or this one through another channel; answer the one that "
            "GET /question tells."
        )


#: Seconds for the store to keep what came. How long a body may take to arrive is the proxy's to say.
_SLOWEST_STORE = 45.0
#: Bytes of bodies that may be under way at once, of all connections.
_MOST_UNDER_WAY = 256 * 2**20
_BEARER = "bearer "
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
            except StoreFailedError as error:
                raise later(503, str(error), 10) from None
            except ConflictError as error:
                raise HTTPException(409, str(error)) from None
            except SpentError as error:
                raise HTTPException(403, str(error)) from None
            except CorpusError as error:
                raise HTTPException(422, str(error)) from None
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


def later(code: int, told: str, seconds: float) -> HTTPException:
    """Return a refusal that says when to try again."""
    return HTTPException(code, told, {"Retry-After": str(max(1, math.ceil(seconds)))})


async def _kept(answer: Future[_Told]) -> _Told:
    """Wait for the store, but not for ever: a database may hang."""
    try:
        async with asyncio.timeout(_SLOWEST_STORE):
            return await asyncio.wrap_future(answer)
    except TimeoutError:
        raise StoreFailedError("the store does not answer; send the same reports again.") from None
