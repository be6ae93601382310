"""The collector's web service: what comes in, what is told.

``POST /reports`` takes one or more reports, one after the other; it answers once they are on the disk. ``POST
/withdraw`` takes the same bytes and takes the reports away again. ``GET /status``, ``/topics`` and the
page ``/`` tell what the reports say together; they are post-processing of randomised reports, so the promise to
writers is the channel's, whoever reads them. Where whole documents are asked about, ``GET /question`` tells the
question, in the place of topics and page. ``/healthz`` says whether reports can be kept. Nothing here logs a report, a
token or a sender.
"""

from __future__ import annotations

import base64
import contextlib
import re
import signal
import socket
import threading
from collections.abc import AsyncGenerator
from hashlib import sha256
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.local.collector.access import PLAIN, HostCheck, Secrets
from discreet.local.collector.intake import Intake, later
from discreet.local.collector.store import ReportStore, StoreFailedError
from discreet.local.collector.topic_fits import TopicFits
from discreet.local.whole_document.questions import PublishedQuestion


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
    return await _refusal(request, later(503, str(error), 10))


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = {**PLAIN, **(error.headers or {})}
    return JSONResponse({"error": error.detail}, error.status_code, headers=headers)


def _topic_routes(fits: TopicFits) -> list[Route]:
    """Return what is told of reports of bits: how many topics can be learned, the topics, and a page of them."""
    text, policy = _page()

    async def status(request: Request) -> Response:
        return JSONResponse(await fits.status(), headers=PLAIN)

    async def topics(request: Request) -> Response:
        if request.query_params:
            raise HTTPException(422, "/topics takes no parameters; LocalLDA.fit_moments fits as wanted.")
        return JSONResponse(await fits.topics(), headers=PLAIN)

    async def page(request: Request) -> Response:
        return HTMLResponse(text, headers={**PLAIN, "Content-Security-Policy": policy})

    return [Route("/status", status), Route("/topics", topics), Route("/", page)]


def _question_routes(store: ReportStore, asked: PublishedQuestion) -> list[Route]:
    """Return what is told where whole documents are asked about: the question as clients take it, and how many did."""
    text, question = asked.to_json().encode(), asked.question
    fixed = {
        "question": question.digest.hex(),
        "kind": question.kind,
        "place": question.place,
        "questions": len(asked.ends),
        "n_words": len(question.vocabulary),
        "epsilon": asked.channel.epsilon,
        "guarantee": asked.guarantee,
    }

    async def tell_question(request: Request) -> Response:
        return Response(text, media_type="application/json", headers=PLAIN)

    async def status(request: Request) -> Response:
        told = {"reports": store.n_reports, "waiting": store.waiting, **fixed}
        return JSONResponse(told, headers=PLAIN)

    return [Route("/question", tell_question), Route("/status", status)]


def make_app(
    store: ReportStore,
    *,
    admission: Secrets | None = None,
    most_reports: int = 10_000,
    most_words: int | None = None,
    origins: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
) -> Starlette:
    """Return the ASGI application.

    Parameters
    ----------
    store : ReportStore
        Stays the caller's, who closes it.
    admission : Secrets, optional
        Who may send; by default everybody who reaches the service.
    most_reports : int, default 10,000
        In one request.
    most_words : int, optional
        Words of the vocabulary that any document has: a report with more ones than such a document gives is refused.
    origins : tuple of str
        Web pages (such as ``https://example.org``) whose scripts may send.
    names : tuple of str
        By which the service may be reached, beside addresses in figures and ``localhost``.
    """
    intake = Intake(store, admission, most_reports, most_words)
    fits: TopicFits | None = None
    if isinstance(store.channel, PublishedQuestion):
        told = _question_routes(store, store.channel)
    else:
        fits = TopicFits(store)
        told = _topic_routes(fits)

    async def health(request: Request) -> Response:
        trouble = store.trouble
        code = 200 if trouble is None else 503
        return JSONResponse({"ok": trouble is None, "trouble": trouble}, code, headers=PLAIN)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        yield
        if fits is not None:
            fits.stop()

    middleware: list[Any] = [Middleware(HostCheck, names=names, origins=origins)]
    if origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["POST"],
                allow_headers=["Authorization", "Content-Type"],
            )
        )
    app = Starlette(
        routes=[
            Route("/reports", intake.reports, methods=["POST"]),
            Route("/withdraw", intake.withdraw, methods=["POST"]),
            Route("/healthz", health),
            *told,
        ],
        middleware=middleware,
        exception_handlers={
            HTTPException: _refusal,
            StoreFailedError: _failure,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # a redirect would repeat the Host that was sent
    return app


#: Connections at once (of 1,024 files that most systems let a process open); beyond, requests are answered by 503.
_MOST_CONNECTIONS = 500
#: Bytes of a request's head.
_MOST_HEAD = 16_384


def run_server(app: Starlette, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are finished first.

    Parameters
    ----------
    app : Starlette
    host, port : str and int
        Port 0 takes a free one. The address is printed once the socket listens, and no request is ever logged.

    Raises
    ------
    DiscreetError
        Where nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(1024)
        except OSError as error:
            raise DiscreetError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; --host must be an address of this "
                "machine, and --port a free one (0 takes any)."
            ) from None
        shown = f"[{host}]" if ":" in host else host
        print(f"collecting on http://{shown}:{listening.getsockname()[1]}/", flush=True)
        if threading.current_thread() is threading.main_thread():
            # uvicorn finishes its requests and then raises the signal again; by default that ends the process before
            # the store is closed.
            signal.signal(signal.SIGTERM, lambda _signum, _frame: None)
        uvicorn.Server(server_config(app)).run(sockets=[listening])


def server_config(app: Any) -> uvicorn.Config:
    """Return how the application is served: no log of requests, and heads, connections and time bounded.

    What takes more than one machine's bounds, such as deadlines for slow clients and a limit for each address, is the
    proxy's work: ``deploy/nginx.conf``.
    """
    return uvicorn.Config(
        app,
        http="h11",
        h11_max_incomplete_event_size=_MOST_HEAD,
        limit_concurrency=_MOST_CONNECTIONS,
        access_log=False,
        log_level="critical",  # the rest is of single requests: whoever sends nonsense would fill the log
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
        proxy_headers=False,
        lifespan="on",
        ws="none",
    )
