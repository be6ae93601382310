"""The collector's web service: what comes in, what is told.

``POST /reports`` takes one or more reports, one after the other; it answers once they are on the disk. ``GET
/status``, ``/topics``, ``/metrics`` and the page ``/`` tell what the reports say together; they are post-processing
of randomised reports, so the promise to writers is the channel's, whoever reads them. Nothing here logs a report, a
token or a sender.
"""

import asyncio
import base64
import math
import re
from hashlib import sha256
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from discreet.errors import CorpusError
from discreet.local.collector.admission import Admission, Pace, ReportForm, Tickets
from discreet.local.collector.answers import Answers
from discreet.local.collector.store import (
    ConflictError,
    ReportStore,
    SpentError,
    StoreBusyError,
    StoreFailedError,
)

__all__ = ["make_app"]

_PLAIN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_SLOWEST = 30.0
_BEARER = "bearer "


class _Collector:
    def __init__(self, store: ReportStore, admission: Admission | None, rate: float, most: int) -> None:
        self.store, self.admission, self.pace = store, admission, Pace(rate)
        self.form = ReportForm(store.words, store.channel)
        self.most_bytes = most * self.form.size
        self.answers = Answers(store)
        self.counts = {"counted": 0, "repeated": 0, "refused": 0, "busy": 0}

    async def reports(self, request: Request) -> Response:
        try:
            return await self._take(request)
        except HTTPException as error:
            self.counts["busy" if error.status_code in (429, 503) else "refused"] += 1
            raise

    async def _take(self, request: Request) -> Response:
        ticket, sender = self._who(request)
        kind = request.headers.get("content-type", "").split(";")[0].strip()
        if kind not in ("", "application/octet-stream"):  # a browser names none for bytes
            raise HTTPException(415, "send reports as application/octet-stream.")
        try:
            rows = self.form.split(await self._body(request))
        except CorpusError as error:
            raise HTTPException(422, str(error)) from None
        if ticket is not None and len(rows) != 1:
            raise HTTPException(422, f"a ticket admits one report, but {len(rows)} came.")
        seconds = self.pace.wait(sender, len(rows))
        if seconds:
            raise HTTPException(
                429, "too many reports at once; wait.", {"Retry-After": str(math.ceil(seconds))}
            )
        try:
            receipt = await asyncio.wrap_future(self.store.add(rows, ticket=ticket))
        except StoreBusyError as error:
            raise HTTPException(503, str(error), {"Retry-After": "1"}) from None
        except ConflictError as error:
            raise HTTPException(409, str(error)) from None
        except SpentError as error:
            raise HTTPException(403, str(error)) from None
        except StoreFailedError as error:
            raise HTTPException(503, str(error), {"Retry-After": "10"}) from None
        self.counts["counted"] += receipt.counted
        self.counts["repeated"] += receipt.repeated
        return JSONResponse(receipt._asdict(), headers=_PLAIN)

    def _who(self, request: Request) -> tuple[bytes | None, bytes]:
        """Return the ticket (where tickets are asked for) and whose share of the pace is used."""
        address = (request.client.host if request.client else "").encode()
        if self.admission is None:
            return None, address
        given = request.headers.get("authorization", "")
        secret = given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""
        known = self.admission.admits(secret)
        if known is None:
            raise HTTPException(
                401, "a known bearer token or ticket is needed.", {"WWW-Authenticate": "Bearer"}
            )
        return (known, address) if isinstance(self.admission, Tickets) else (None, known)

    async def _body(self, request: Request) -> bytes:
        too_large = HTTPException(
            413, f"at most {self.most_bytes // self.form.size} reports in one request; send several."
        )
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.most_bytes:
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(_SLOWEST):
                async for part in request.stream():
                    size += len(part)
                    if size > self.most_bytes:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive.") from None
        except ClientDisconnect:
            raise HTTPException(400, "the request was cut off.") from None
        return b"".join(parts)

    async def status(self, request: Request) -> Response:
        return JSONResponse(await self.answers.status(), headers=_PLAIN)

    async def topics(self, request: Request) -> Response:
        asked = request.query_params.get("k", "")
        if asked and not (asked.isascii() and asked.isdigit() and 2 <= int(asked[:9]) <= 1000):
            raise HTTPException(422, "k must be a number of topics from 2 to 1000, or left out.")
        return JSONResponse(await self.answers.topics(int(asked) if asked else None), headers=_PLAIN)

    async def metrics(self, request: Request) -> Response:
        lines = [
            "# HELP discreet_reports Reports in the store.",
            "# TYPE discreet_reports gauge",
            f"discreet_reports {self.store.n_reports}",
            "# HELP discreet_reports_waiting Reports that wait to be written.",
            "# TYPE discreet_reports_waiting gauge",
            f"discreet_reports_waiting {self.store.waiting}",
            "# HELP discreet_received_total Since the start: reports counted or repeated, requests refused or busy.",
            "# TYPE discreet_received_total counter",
            *(f'discreet_received_total{{outcome="{name}"}} {n}' for name, n in self.counts.items()),
        ]
        return PlainTextResponse("\n".join(lines) + "\n", headers=_PLAIN)


def _page() -> tuple[str, str]:
    """Return the page and the policy that lets it run its own script and style, and nothing else."""
    text = files("discreet.local.collector").joinpath("page.html").read_text("utf-8")
    hashes: dict[str, str] = {}
    for tag in ("script", "style"):
        found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert found is not None
        hashes[tag] = base64.b64encode(sha256(found.group(1).encode()).digest()).decode()
    policy = (
        f"default-src 'none'; connect-src 'self'; script-src 'sha256-{hashes['script']}'; "
        f"style-src 'sha256-{hashes['style']}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    return text, policy


async def _failure(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 503, headers={**_PLAIN, "Retry-After": "10"})


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(
        {"error": error.detail}, error.status_code, headers={**_PLAIN, **(error.headers or {})}
    )


def make_app(
    store: ReportStore,
    *,
    admission: Admission | None = None,
    rate: float = 10_000.0,
    most_reports: int = 10_000,
    origins: tuple[str, ...] = (),
) -> Starlette:
    """Return the ASGI application.

    Parameters
    ----------
    store : ReportStore
        Stays the caller's, who closes it.
    admission : Tokens or Tickets, optional
        Who may send; by default everybody who reaches the service.
    rate : float, default 10,000
        Reports a second of one sender (a token, or else an address); 0 for no limit.
    most_reports : int, default 10,000
        In one request.
    origins : tuple of str
        Web pages (such as ``https://example.org``) whose scripts may send.
    """
    collector = _Collector(store, admission, rate, most_reports)
    text, policy = _page()

    async def page(request: Request) -> Response:
        return HTMLResponse(text, headers={**_PLAIN, "Content-Security-Policy": policy})

    middleware: list[Any] = []
    if origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["POST"],
                allow_headers=["Authorization", "Content-Type"],
            )
        )
    return Starlette(
        routes=[
            Route("/reports", collector.reports, methods=["POST"]),
            Route("/status", collector.status),
            Route("/topics", collector.topics),
            Route("/metrics", collector.metrics),
            Route("/", page),
        ],
        middleware=middleware,
        exception_handlers={HTTPException: _refusal, StoreFailedError: _failure},
    )
