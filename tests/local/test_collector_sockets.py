"""What raw bytes on a socket can do to a collector: hold it up, be read in two ways, come all at once."""

import contextlib
import gzip
import http.client
import json
import logging
import resource
import socket
import threading
import time
import tracemalloc
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from tests.local.collector_calls import CHANNEL, WORDS, make_reports, raw

from discreet.local.collector.storage.store import ReportStore

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra collector")

HEAD, BODY, ANSWER = 0.6, 1.5, 0.8


@contextlib.contextmanager
def serving(app, most_connections=1_000, keep_alive=1, answer=ANSWER):
    """Serve on loopback with short deadlines; yield the port."""
    from discreet.local.collector.connections import bounded_protocol

    protocol = bounded_protocol(most_connections, head_seconds=HEAD, body_seconds=BODY, answer_seconds=answer)
    config = uvicorn.Config(app, http=protocol, log_level="error", timeout_keep_alive=keep_alive, ws="none")
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

    with serving(make_app(store, rate=0)) as found:
        yield found


def talk(port, data, wait=10.0):
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


def test_half_open_connections_shut_nobody_out(store):
    """A thousand heads without an end, no token needed, were 503 for everyone for as long as they liked."""
    from discreet.local.collector.app import make_app

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n = min(hard if hard > 0 else 4096, 4096) // 3
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard if hard > 0 else 4096, 4096), hard))
    made = []
    try:
        with serving(make_app(store, rate=0), most_connections=n - 100) as port:
            for i in range(n):
                made.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                made[-1].sendall(
                    (b"", b"POST /reports HTTP/1.1\r\nHost: x\r\n", request(b"x" * 50)[:-9])[i % 3]
                )
            assert healthy(port)
            assert codes(talk(port, request(raw(make_reports(3)), b"Connection: close"))) == [200]
            began = time.monotonic()
            for one in made:  # each is ended by its deadline at the latest
                one.settimeout(5)
                with contextlib.suppress(ConnectionResetError):
                    while one.recv(4096):
                        pass
            assert time.monotonic() - began < 4 * BODY
    finally:
        for one in made:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert store.n_reports == 3


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"P",
        b"\r\n",
        b"POST /reports HTTP/1.1\r\n",
        b"POST /reports HTTP/1.1\r\nHost: localhost\r\nX: ",
        request(b"x" * 100)[:-1],
        request(b"", b"Transfer-Encoding: chunked", length=False) + b"5\r\n",
        request(b"x" * 50, b"Authorization: Bearer none", path=b"/nothing")[
            :-1
        ],  # answered, and then trickled
    ],
)
def test_a_client_that_trickles_is_cut_off(port, first):
    """Each byte came in time for an idle timeout; what counts is when the head and the request are whole."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as made:
        made.sendall(first)
        try:
            while time.monotonic() < began + 10:
                made.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    if made.recv(4096) == b"":
                        break
                if first:
                    made.sendall(b"\r\n" if first == b"\r\n" else b"a")
        except OSError:
            pass
    assert time.monotonic() - began < BODY + HEAD + 2


def test_an_idle_connection_ends(port):
    began = time.monotonic()
    assert codes(talk(port, request(raw(make_reports(1))))) == [200]
    assert time.monotonic() - began < 5


def test_an_answer_nobody_takes_does_not_hold_a_connection():
    async def flood(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": bytes(2**25)})

    with serving(flood, keep_alive=60) as port, socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect(("127.0.0.1", port))
        made.sendall(request())
        time.sleep(ANSWER + 1)
        made.settimeout(5)
        found = 0
        with contextlib.suppress(ConnectionResetError):
            while part := made.recv(65536):
                found += len(part)
        assert found < 2**25


@contextlib.contextmanager
def asking(store, size, answer=ANSWER):
    """Serve a question of so many bytes, about which nothing else matters."""
    from discreet.local.collector.asking import Asking

    question = SimpleNamespace(digest=bytes(32), kind="words", place=0, vocabulary=())
    text = "x" * (size // 2 - 1) + "\N{EURO SIGN}" + "y" * (size // 2 - 2)
    asked = SimpleNamespace(
        to_json=lambda: text, question=question, ends=(1,), channel=SimpleNamespace(epsilon=1.0), guarantee=""
    )
    app = Starlette(routes=[Route("/question", Asking(store, asked).question)])
    with serving(app, keep_alive=60, answer=answer) as port:
        yield port, text.encode()


GET = b"GET /question HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_all_who_take_a_question_take_one_copy(store):
    """Whoever asks and never reads holds a window of it, and not for long."""
    with asking(store, 2**23, answer=30) as (port, text), contextlib.ExitStack() as held:
        tracemalloc.start()
        held.callback(tracemalloc.stop)
        for _ in range(20):
            made = held.enter_context(socket.socket())
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.connect(("127.0.0.1", port))
            made.sendall(GET)
        time.sleep(ANSWER / 2)
        assert tracemalloc.get_traced_memory()[1] < 2**23  # of 160 MiB
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as other:
            other.request("GET", "/question")
            answer = other.getresponse()
            assert int(answer.headers["Content-Length"]) == len(text)
            assert answer.read() == text


def test_a_question_that_is_taken_a_little_at_a_time_is_cut_off(store):
    """One deadline for the whole answer, not one for each piece of it."""
    with asking(store, 2**25) as (port, text), socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        made.connect(("127.0.0.1", port))
        made.sendall(GET)
        began, found = time.monotonic(), 0
        made.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            while part := made.recv(2**17):
                found += len(part)
                time.sleep(0.02)
        assert found < len(text)
        assert time.monotonic() - began < 3 * ANSWER + 3


REPORT = raw(make_reports(1, 7))
HIDDEN = request(raw(make_reports(1, 8)))
CHUNKED = b"Transfer-Encoding: chunked"


def chunks(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


AMBIGUOUS = {
    "length and chunks": request(chunks(REPORT), CHUNKED),
    "chunks and length": request(b"0\r\n\r\n" + HIDDEN, CHUNKED, b"Content-Length: 5", length=False),
    "two lengths": request(REPORT, b"Content-Length: 0") + HIDDEN,
    "two equal lengths": request(REPORT, b"Content-Length: %d" % len(REPORT)),
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
    "a folded field": request(REPORT, b"X-One: a\r\n b"),
    "a folded coding": request(chunks(REPORT), b"Transfer-Encoding:\r\n chunked", length=False),
    "a bare line feed": request(REPORT).replace(b"\r\n", b"\n", 2),
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
    "another server's address": request(REPORT, path=b"http://evil.example/reports"),
    "no path": request(REPORT, path=b"*", method=b"OPTIONS"),
    "a tunnel": request(b"", path=b"evil.example:80", method=b"CONNECT"),
    "HTTP/2 by prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/2.0": request(REPORT, version=b"2.0"),
    "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(100),
    "a head without end": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 300_000,
    "a path without end": b"GET /" + b"a" * 300_000,
    "a long head": request(REPORT, b"X: " + b"a" * 17_000),
    "fields without end": request(REPORT, *[b"X: a"] * 200),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_could_be_read_in_two_ways_is_refused_and_ends_the_connection(port, store, name):
    """One answer at most, a refusal; nothing of it counted; and what follows on the connection is not read."""
    answer = talk(port, AMBIGUOUS[name] + HIDDEN)
    assert codes(answer) in ([400], []), name
    assert store.n_reports == 0
    assert healthy(port)


def test_plain_and_chunked_bodies_count(port, store):
    assert codes(talk(port, request(REPORT))) == [200]
    assert codes(talk(port, request(chunks(raw(make_reports(1, 9))), CHUNKED, length=False))) == [200]
    split = raw(make_reports(1, 10))
    body = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in split) + b"0\r\n\r\n"
    assert codes(talk(port, request(body, CHUNKED, length=False))) == [200]
    assert store.n_reports == 3


def test_one_request_at_a_time(port, store):
    """Requests that come before the first is answered are not read: ten thousand of them cost nothing."""
    many = request(REPORT) + b"".join(request(raw(make_reports(1, i))) for i in range(100, 300))
    answer = talk(port, many + b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10_000)
    assert codes(answer) == [200]
    assert store.n_reports == 1
    # Nor does nonsense behind a good request take the place of its answer.
    answer = talk(port, request(raw(make_reports(1, 11))) + b"\0nonsense\r\n\r\n")
    assert codes(answer) == [200]
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"counted": 1, "repeated": 0}
    assert store.n_reports == 2


def test_one_connection_carries_many_requests(port, store):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    headers = {"Content-Type": "application/octet-stream"}
    with contextlib.closing(connection):
        for i in range(20):
            connection.request("POST", "/reports", raw(make_reports(1, 500 + i)), headers)
            found = connection.getresponse()
            assert (found.status, json.loads(found.read())["counted"]) == (200, 1)
        time.sleep(HEAD + 0.2)  # longer than a head may take: it has not begun
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
    assert store.n_reports == 20


def test_a_body_that_breaks_off_counts_nothing(port, store):
    with socket.create_connection(("127.0.0.1", port)) as made:
        made.sendall(request(raw(make_reports(2)))[:-1])
    broken = request(b"4a\r\n" + REPORT[:30] + b"\xff\xff\xff", CHUNKED, length=False)
    assert codes(talk(port, broken + b"zz" * 50)) in ([400], [])
    time.sleep(0.2)
    assert store.n_reports == 0


def test_an_offer_to_speak_another_protocol_is_not_taken_up(port, store):
    upgrade = (b"Connection: Upgrade", b"Upgrade: h2c")
    assert codes(talk(port, request(REPORT, *upgrade) + HIDDEN)) == [400]
    assert store.n_reports == 0
    asked = request(b"", *upgrade, method=b"GET", path=b"/status", length=False)
    assert codes(talk(port, asked + HIDDEN)) == [200]
    assert store.n_reports == 0
    websocket = (
        b"Connection: Upgrade",
        b"Upgrade: websocket",
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    assert codes(talk(port, request(b"", *websocket, method=b"GET", path=b"/status", length=False))) == [200]


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
