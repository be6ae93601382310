"""Reports of a small vocabulary, and requests to a collector's application without a network."""

import asyncio

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra collector")

from discreet.lda.moments.moments import Moments
from discreet.local.collector.intake import ReportForm
from discreet.local.wire import Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

WORDS = tuple(f"word{i}" for i in range(13))
CHANNEL = BitChannel(3_000_000_000, 1_000_000_000)
SECRET = "0123456789abcdef-first"


def make_reports(n, seed=0, words=WORDS, channel=CHANNEL):
    rng = np.random.default_rng(seed)
    digest = vocabulary_digest(words)
    return [
        Report(channel, digest, rng.bytes(16), rng.integers(0, 2, len(words)).astype(np.uint8))
        for _ in range(n)
    ]


def raw(reports):
    return b"".join(report.to_bytes() for report in reports)


def rows(reports):
    return ReportForm(WORDS, CHANNEL).split(raw(reports))


def moments_of(reports):
    return Moments(len(WORDS), channel=CHANNEL).add_batch(np.array([report.bits for report in reports]))


def call_app(store, method, path, content=b"", app=None, headers=None, client="127.0.0.1", **options):
    """Send one request to an application over this store; return code, body and headers.

    Headers are a dict, or a list of pairs where one comes twice. One that is None is left out.
    """
    from discreet.local.collector.app import make_app

    usual = {
        "content-type": "application/octet-stream",
        "host": "localhost",
        "content-length": str(len(content)),
    }
    if not isinstance(headers, list):
        headers = [(k, v) for k, v in {**usual, **(headers or {})}.items() if v is not None]

    async def run():
        sent, parts = [], [content[i : i + 1000] for i in range(0, len(content), 1000)] or [b""]
        scope = {
            "type": "http",
            "method": method,
            "path": path.partition("?")[0],
            "raw_path": path.partition("?")[0].encode(),
            "query_string": path.partition("?")[2].encode(),
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in headers],
            "client": (client, 1),
            "server": ("127.0.0.1", 80),
            "scheme": "http",
            "root_path": "",
            "http_version": "1.1",
        }

        async def receive():
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def answer(message):
            sent.append(message)

        await (app or make_app(store, **options))(scope, receive, answer)
        found = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
        return sent[0]["status"], b"".join(m.get("body", b"") for m in sent[1:]), found

    return asyncio.run(run())
