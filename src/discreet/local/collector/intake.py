"""Requests that bring reports or take them back: read within bounds, checked, and handed to the store."""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from discreet.errors import CorpusError
from discreet.local.collector.admission import Admission, Pace
from discreet.local.collector.answer_form import AnswerForm
from discreet.local.collector.border import PLAIN
from discreet.local.collector.report_form import ReportForm
from discreet.local.collector.storage.store import (
    ConflictError,
    ReportStore,
    SpentError,
    StoreBusyError,
    StoreFailedError,
)
from discreet.local.whole_document.published import PublishedQuestion

__all__ = ["Endpoint", "Intake", "later"]

#: Seconds for a body to arrive, and for the store to keep what came.
_SLOWEST, _SLOWEST_STORE = 30.0, 45.0
#: Bytes of bodies that may be under way at once, of all connections.
_MOST_UNDER_WAY = 256 * 2**20
_BEARER = "bearer "
_Told = TypeVar("_Told")
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass
class _Held:
    """Bytes of one request's body."""

    size: int = 0


class Intake:
    """What ``POST /reports`` and ``POST /withdraw`` do.

    Parameters
    ----------
    store, admission, rate, most_reports, most_words
        As for :func:`discreet.local.collector.make_app`.
    """

    def __init__(
        self,
        store: ReportStore,
        admission: Admission | None,
        rate: float,
        most_reports: int,
        most_words: int | None,
    ) -> None:
        self.store, self.admission, self.pace = store, admission, Pace(rate)
        if isinstance(store.channel, PublishedQuestion):
            self.form = AnswerForm(store.channel)
        else:
            self.form = ReportForm(store.words, store.channel, most_words=most_words)
        self.most_bytes = most_reports * self.form.size
        self.counts = {"counted": 0, "repeated": 0, "withdrawn": 0, "refused": 0, "busy": 0}
        self.under_way = 0

    async def reports(self, request: Request) -> Response:
        """Keep reports, each once."""
        ticket, sender = self._who(request)
        async with self._rows(request, sender) as rows:
            if ticket is not None and len(rows) != 1:
                raise HTTPException(422, f"a ticket admits one report, but {len(rows)} came.")
            receipt = await _kept(self.store.add(rows, ticket=ticket))
        self.counts["counted"] += receipt.counted
        self.counts["repeated"] += receipt.repeated
        return JSONResponse(receipt._asdict(), headers=PLAIN)

    async def withdraw(self, request: Request) -> Response:
        """Take reports back: whoever has the whole report may, even where its token is no longer valid."""
        async with self._rows(request, _address(request), count=False) as rows:
            if len(dict(rows)) < len(set(rows)):  # answers are few, and could all be tried at once
                raise HTTPException(
                    422, "one number came with several answers; send reports as they were sent."
                )
            told = await _kept(self.store.withdraw(rows))
        self.counts["withdrawn"] += told.withdrawn
        return JSONResponse(told._asdict(), headers=PLAIN)

    @contextlib.asynccontextmanager
    async def _rows(
        self, request: Request, sender: bytes, *, count: bool = True
    ) -> AsyncGenerator[list[tuple[bytes, bytes]]]:
        """Read a request's reports; whatever the store says of them becomes an answer."""
        kind = request.headers.get("content-type", "").split(";")[0].strip()
        if kind not in ("", "application/octet-stream"):  # a browser names none for bytes
            raise HTTPException(415, "send reports as application/octet-stream.")
        held = _Held()
        try:
            body = await self._body(request, held)
            try:
                rows = self.form.split(body, count=count)
                seconds = self.pace.wait(sender, len(rows))
                if seconds:
                    raise later(429, "too many reports at once; wait.", seconds)
                yield rows
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

    def counting(self, take: Endpoint) -> Endpoint:
        """Count what a request was refused for."""

        async def endpoint(request: Request) -> Response:
            try:
                return await take(request)
            except HTTPException as error:
                self.counts["busy" if error.status_code in (429, 503) else "refused"] += 1
                raise

        return endpoint

    def _who(self, request: Request) -> tuple[bytes | None, bytes]:
        """Return the ticket (where tickets are asked for) and whose share of the pace is used."""
        if self.admission is None:
            return None, _address(request)
        given = request.headers.get("authorization", "")
        secret = given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""
        known = self.admission.admits(secret)
        if known is None:
            raise HTTPException(
                401, "a known bearer token or ticket is needed.", {"WWW-Authenticate": "Bearer"}
            )
        return (known, _address(request)) if self.admission.once else (None, known)

    async def _body(self, request: Request, held: "_Held") -> bytes:
        too_large = HTTPException(
            413, f"at most {self.most_bytes // self.form.size} reports in one request; send several."
        )
        declared = request.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:16]) > self.most_bytes:
            raise too_large
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(_SLOWEST):
                async for part in request.stream():
                    held.size += len(part)
                    self.under_way += len(part)
                    if held.size > self.most_bytes:
                        raise too_large
                    if self.under_way > _MOST_UNDER_WAY:
                        raise later(503, "too much is being sent at once; try again later.", 1)
                    parts.append(part)
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive.") from None
        except ClientDisconnect:
            raise HTTPException(400, "the request was cut off.") from None
        return b"".join(parts)


def _address(request: Request) -> bytes:
    return (request.client.host if request.client else "").encode()


def later(code: int, told: str, seconds: float) -> HTTPException:
    """Return a refusal that says when to try again."""
    return HTTPException(code, told, {"Retry-After": str(max(1, math.ceil(seconds)))})


async def _kept(answer: "Future[_Told]") -> _Told:
    """Wait for the store, but not for ever: a database may hang."""
    try:
        async with asyncio.timeout(_SLOWEST_STORE):
            return await asyncio.wrap_future(answer)
    except TimeoutError:
        raise StoreFailedError("the store does not answer; send the same reports again.") from None
