"""The proxy that `deploy/` ships, before a collector: what the collector leaves to it, it does."""

import http.client
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from tests.local.collector_calls import CHANNEL, WORDS, make_reports, raw
from tests.local.test_collector_sockets import CHUNKED, chunks, codes, request, serving, talk

from discreet.local.collector.app import make_app
from discreet.local.collector.store import ReportStore

NGINX = shutil.which("nginx")
pytestmark = [pytest.mark.integration, pytest.mark.skipif(NGINX is None, reason="needs nginx")]
DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = b"collect.example.org"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def store(tmp_path):
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
        yield opened


@pytest.fixture
def port(store, tmp_path):
    """Serve a collector behind the shipped configuration: without TLS, and with shorter deadlines."""
    with serving(make_app(store, names=(NAME.decode(),))) as behind:
        own, text = free_port(), (DEPLOY / "nginx.conf").read_text()
        for line, instead in (
            (r"listen 443 ssl;", f"listen 127.0.0.1:{own};"),
            (r"ssl_certificate(_key)? .*;", ""),
            (r"server 127\.0\.0\.1:8080;", f"server 127.0.0.1:{behind};"),
            (r"error_log .*;", f"error_log {tmp_path}/errors.log crit;"),
            (r"client_(header|body)_timeout 10s;", r"client_\1_timeout 1s;"),
        ):
            text, n = re.subn(line, instead, text)
            assert n, line
        paths = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/nginx.pid; events {{}}\nhttp {{\n{paths}{text}}}\n"
        )
        line = [NGINX, "-p", str(tmp_path), "-c", "nginx.conf", "-e", "errors.log"]
        subprocess.run([*line, "-t"], check=True, capture_output=True, timeout=30)
        running = subprocess.Popen(line)
        try:
            end = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", own), timeout=1).close()
                    break
                except OSError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
            yield own
        finally:
            running.terminate()
            running.wait(30)


def test_plain_and_chunked_bodies_count(port, store):
    assert codes(talk(port, request(raw(make_reports(1, 1)), host=NAME))) == [200]
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in raw(make_reports(1, 2))) + b"0\r\n\r\n"
    assert codes(talk(port, request(body, CHUNKED, host=NAME, length=False))) == [200]
    assert codes(talk(port, request(raw(make_reports(1, 2)), host=NAME, path=b"/withdraw"))) == [200]
    assert store.n_reports == 1


def test_slow_clients_are_cut_off_and_reach_nobody(port, store):
    for first in (b"POST /reports HTTP/1.1\r\n", request(raw(make_reports(9)), host=NAME)[:-1]):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as made:
            made.sendall(first)
            try:
                while made.recv(4096):
                    pass
            except ConnectionResetError:
                pass
        assert time.monotonic() - began < 10
    assert store.n_reports == 0


def test_what_could_be_read_in_two_ways_reaches_nobody(port, store):
    hidden = request(raw(make_reports(1, 8)), host=NAME)
    for both in (
        request(chunks(raw(make_reports(1))), CHUNKED, host=NAME),
        request(raw(make_reports(1)), b"Content-Length: 0", host=NAME),
        request(chunks(raw(make_reports(1))), b"Transfer-Encoding: xchunked", host=NAME, length=False),
        request(raw(make_reports(1)), b"Content-Length: +74", host=NAME, length=False),
    ):
        assert set(codes(talk(port, both + hidden))) <= {400, 501}
    assert store.n_reports == 0


def test_one_address_has_a_share(port, store):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    found = []
    for i in range(80):
        connection.request("POST", "/reports", raw(make_reports(1, i)), {"Host": NAME.decode()})
        answer = connection.getresponse()
        answer.read()
        found.append(answer.status)
    connection.close()
    assert found.count(429) > 0
    assert found.count(200) == store.n_reports >= 50


def test_topics_are_for_whoever_may_read_them_and_nothing_else_is_there(port):
    assert codes(talk(port, request(method=b"GET", path=b"/status", host=NAME))) == [200]
    assert codes(talk(port, request(method=b"GET", path=b"/other", host=NAME))) == [404]
    assert codes(talk(port, request(method=b"GET", path=b"/status", host=b"evil.example"))) == [421]
