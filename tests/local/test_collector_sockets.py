"""What raw bytes on a socket can do to a collector: hold it up, be read in two ways, come all at once."""

import contextlib
import gzip
import http.client
import json
import logging
import socket
import threading
import time

import pytest
from tests.local.collector_calls import CHANNEL, WORDS, make_reports, raw

from discreet.local.collector.store import ReportStore

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra collector")


@contextlib.contextmanager
def serving(app):
    """Serve on loopback; yield the port."""
    from discreet.local.collector.app import server_config

    config = server_config(app)
    config.timeout_keep_alive = 1
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def store(tmp_path):
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
        yield opened


@pytest.fixture
def port(store):
    from discreet.local.collector.app import make_app

    with serving(make_app(store)) as found:
        yield found


def talk(port, data, wait=2.0):
    """Send bytes, and read until the other side ends or says nothing more for a while."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as made:
        made.sendall(data)
        found = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while part := made.recv(65536):
                found += part
        return found


def codes(answer):
    return [int(line.split()[1]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


def request(
    body=b"", *fields, method=b"POST", path=b"/reports", version=b"1.1", host=b"localhost", length=True
):
    lines = [method + b" " + path + b" HTTP/" + version, *([b"Host: " + host] if host else [])]
    lines += [b"Content-Type: application/octet-stream", *fields]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def healthy(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200


REPORT = raw(make_reports(1, 7))
HIDDEN = request(raw(make_reports(1, 8)))
CHUNKED = b"Transfer-Encoding: chunked"


def chunks(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


AMBIGUOUS = {
    "length and chunks": request(chunks(REPORT), CHUNKED),
    "chunks and length": request(b"0\r\n\r\n" + HIDDEN, CHUNKED, b"Content-Length: 5", length=False),
    "two lengths": request(REPORT, b"Content-Length: 0") + HIDDEN,
    "a list of lengths": request(REPORT, b"Content-Length: 5, 5", length=False),
    "a signed length": request(REPORT, b"Content-Length: +%d" % len(REPORT), length=False),
    "a length in letters": request(REPORT, b"Content-Length: 0x4a", length=False),
    "a negative length": request(REPORT, b"Content-Length: -1", length=False),
    "a space before the colon": request(REPORT, b"Content-Length : %d" % len(REPORT), length=False),
    "a length beyond 64 bits": request(REPORT, b"Content-Length: 99999999999999999999", length=False),
    "another coding": request(chunks(REPORT), b"Transfer-Encoding: xchunked", length=False),
    "two codings": request(chunks(REPORT), b"Transfer-Encoding: gzip, chunked", length=False),
    "coding identity": request(chunks(REPORT), b"Transfer-Encoding: identity", length=False),
    "codings twice": request(chunks(REPORT), CHUNKED, CHUNKED, length=False),
    "a hidden coding": request(chunks(REPORT), b"Transfer-Encoding: \x0bchunked", length=False),
    "chunks in HTTP/1.0": request(chunks(REPORT), CHUNKED, version=b"1.0", length=False),
    "a folded coding": request(chunks(REPORT), b"Transfer-Encoding:\r\n chunked", length=False),
    "a bare carriage return": request(REPORT, b"X: a\rContent-Length: 0"),
    "a zero byte": request(REPORT, b"X: a\0b"),
    "a field without a name": request(REPORT, b": b"),
    "a space in a name": request(REPORT, b"X Y: b"),
    "a field before any": request(REPORT).replace(b"\r\nHost", b"\r\n Host", 1),
    "a chunk of no size": request(b"zz\r\n" + REPORT, CHUNKED, length=False),
    "a chunk beyond 64 bits": request(b"fffffffffffffffff\r\n" + REPORT, CHUNKED, length=False),
    "a chunk longer than told": request(b"5\r\n" + REPORT + b"\r\n0\r\n\r\n", CHUNKED, length=False),
    "chunks of bare line feeds": request(chunks(REPORT).replace(b"\r\n", b"\n"), CHUNKED, length=False),
    "fields after the body": request(
        chunks(REPORT)[:-2] + b"Authorization: Bearer x\r\n\r\n", CHUNKED, length=False
    ),
    "two hosts": request(REPORT, b"Host: evil.example"),
    "no host": request(REPORT, host=b""),
    "HTTP/2 by prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(100),
    "a head without end": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 300_000,
    "a path without end": b"GET /" + b"a" * 300_000,
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_could_be_read_in_two_ways_is_refused_and_ends_the_connection(port, store, name):
    """One answer at most, a refusal; nothing of it counted; and what follows on the connection is not read."""
    answer = talk(port, AMBIGUOUS[name] + HIDDEN)
    assert codes(answer) in ([400], [411], [413], [422], []), name
    assert store.n_reports == 0
    assert healthy(port)


def test_chunks_are_not_read(port, store):
    """In chunks of one byte a body costs a hundred times what it does whole: without a token, and for everybody."""
    before, began = time.process_time(), time.monotonic()
    for path in (b"/reports", b"/withdraw"):
        head = request(b"", CHUNKED, path=path, length=False)
        answer = talk(port, head + chunks(REPORT))
        assert codes(answer) == [411]
        assert b"Content-Length" in answer
        with socket.create_connection(("127.0.0.1", port), timeout=10) as made, contextlib.suppress(OSError):
            made.sendall(head)
            assert made.recv(4096).startswith(b"HTTP/1.1 411")
            for _ in range(2_000):  # the connection has ended
                made.sendall(b"1\r\nx\r\n" * 10_000)
    assert time.monotonic() - began < 20
    assert time.process_time() - before < 10  # of 40 MB, in this process: both sides
    assert healthy(port)
    assert store.n_reports == 0


def test_connections_are_bounded(store, monkeypatch):
    from discreet.local.collector import app

    monkeypatch.setattr(app, "_MOST_CONNECTIONS", 10)
    with serving(app.make_app(store)) as port:
        with contextlib.ExitStack() as held:
            for _ in range(10):
                held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            assert codes(talk(port, request(REPORT))) == [503]
        end = time.monotonic() + 10
        while not healthy(port):
            assert time.monotonic() < end
        assert codes(talk(port, request(REPORT))) == [200]


def test_one_connection_carries_many_requests(port, store):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    headers = {"Content-Type": "application/octet-stream"}
    with contextlib.closing(connection):
        for i in range(20):
            connection.request("POST", "/reports", raw(make_reports(1, 500 + i)), headers)
            found = connection.getresponse()
            assert (found.status, json.loads(found.read())["counted"]) == (200, 1)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
    assert store.n_reports == 20


def test_a_body_that_breaks_off_counts_nothing(port, store):
    with socket.create_connection(("127.0.0.1", port)) as made:
        made.sendall(request(raw(make_reports(2)))[:-1])
    broken = request(b"4a\r\n" + REPORT[:30] + b"\xff\xff\xff", CHUNKED, length=False)
    assert codes(talk(port, broken + b"zz" * 50)) in ([400], [411], [])
    time.sleep(0.2)
    assert store.n_reports == 0


def test_bodies_under_way_are_bounded_together(port, store, monkeypatch):
    from discreet.local.collector import intake

    monkeypatch.setattr(intake, "_MOST_UNDER_WAY", 5_000)
    body = raw(make_reports(50))
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(request(body)[:-1])
        time.sleep(0.3)
        refused = talk(port, request(body, b"Connection: close"))
        assert codes(refused) == [503]
        slow.sendall(body[-1:])
        assert codes(slow.recv(4096)) == [200]
    assert codes(talk(port, request(body, b"Connection: close"))) == [200]
    assert store.n_reports == 50


def test_a_compressed_bomb_stays_small(port, store):
    bomb = gzip.compress(bytes(10**7))
    assert codes(talk(port, request(bomb, b"Content-Encoding: gzip"))) == [415]
    assert codes(talk(port, request(bomb))) == [422]
    assert store.n_reports == 0


def test_nothing_of_this_is_logged(port, caplog, capsys):
    with caplog.at_level(logging.DEBUG):
        for raw_request in AMBIGUOUS.values():
            talk(port, raw_request)
    said = caplog.text + "".join(capsys.readouterr())
    assert "evil.example" not in said
    assert "DSCR" not in said
    assert len(said) < 2_000
