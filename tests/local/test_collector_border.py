"""By which name, from which page and by which path a collector lets itself be asked."""

import functools
import logging

import pytest
from tests.local.collector_calls import CHANNEL, SECRET, WORDS, call_app, make_reports, raw

from discreet.local.collector.store import ReportStore

pytest.importorskip("starlette", reason="needs the extra collector")


@pytest.fixture
def store(tmp_path):
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
        yield opened


@pytest.fixture
def call(store):
    return functools.partial(call_app, store)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "http://127.0.0.1"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_pages_of_other_origins_send_and_ask_nothing(call, store, headers):
    """A page that somebody looks at could otherwise send reports in their name: browsers ask nobody for plain bytes."""
    # A browser names no type for bytes, so the request is a simple one, without a question beforehand.
    assert call("POST", "/reports", raw(make_reports(20)), headers={**headers, "content-type": ""})[0] == 403
    assert call("POST", "/withdraw", raw(make_reports(20)), headers=headers)[0] == 403
    assert call("GET", "/topics", headers=headers)[0] == 403
    assert store.n_reports == 0


def test_own_page_named_pages_programs_and_links_are_let_in(call):
    report = raw(make_reports(1))
    for headers in (
        {},  # a program
        {"origin": "http://localhost", "sec-fetch-site": "same-origin"},
        {"origin": "https://localhost", "sec-fetch-site": "same-origin"},  # behind a proxy that speaks TLS
        {"origin": "http://[::1]:8080", "host": "[::1]:8080"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
    ):
        assert call("POST", "/reports", report, headers=headers)[0] == 200
    # Somebody follows a link from elsewhere.
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert call("GET", "/", headers=followed)[0] == 200
    named = {"origin": "https://Example.org"}
    assert call("POST", "/reports", report, headers=named)[0] == 403
    code, _, _ = call("POST", "/reports", report, headers=named, origins=("https://example.org",))
    assert code == 200


def test_two_origins_or_hosts_are_refused(call):
    for headers in (
        [("host", "localhost"), ("origin", "http://localhost"), ("origin", "https://evil.example")],
        [("host", "localhost"), ("host", "evil.example")],
        [("content-type", "application/octet-stream")],
    ):
        assert call("POST", "/reports", raw(make_reports(1)), headers=headers)[0] == 400


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8080", "127.0.0.1.nip.io"]
)
def test_a_name_that_was_made_to_point_here_is_refused(call, store, host):
    """DNS rebinding: to the browser, the page and this service then are of one origin."""
    headers = {"host": host, "origin": f"http://{host}"}
    assert call("POST", "/reports", raw(make_reports(1)), headers=headers)[0] == 421
    assert call("GET", "/topics", headers={"host": host})[0] == 421
    assert store.n_reports == 0


@pytest.mark.parametrize(
    "host",
    ["", "a b", "user@localhost", "localhost/", "localhost:port", "[::1", "loc\xe4lhost", "%6cocalhost"],
)
def test_what_is_no_host_is_refused(call, host):
    assert call("GET", "/status", headers={"host": host})[0] == 400


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8080",
        "localhost.",
        "127.0.0.1:1",
        "[::1]:8080",
        "10.1.2.3",
        "Collect.Example.org",
    ],
)
def test_addresses_and_names_of_its_own_are_good(call, host):
    names = ("collect.example.org",)
    assert call("GET", "/healthz", headers={"host": host}, names=names)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/reports/",
        "//reports",
        "/./reports",
        "/status/../reports",
        "/%72eports",
        "/reports%00",
        "/REPORTS",
        "/reports;a=b",
        "/page.html",
        "/..%2f..%2fetc%2fpasswd",
    ],
)
def test_paths_are_taken_literally(call, store, path):
    code, _, headers = call("POST", path, raw(make_reports(1)))
    assert code == 404
    assert "location" not in headers
    assert store.n_reports == 0


def test_compressed_bodies_are_refused_unopened(call):
    import gzip

    bomb = gzip.compress(bytes(10**7))
    assert len(bomb) < 20_000
    for coding in ("gzip", "deflate", "br", "identity, gzip"):
        headers = {"content-encoding": coding}
        assert call("POST", "/reports", bomb, headers=headers)[0] == 415
    assert call("POST", "/reports", raw(make_reports(1)), headers={"content-encoding": "identity"})[0] == 200


def test_an_error_nobody_thought_of_shows_nothing(call, store, caplog):
    report = make_reports(1)

    def broken(*_, **__):
        raise RuntimeError(f"secret {SECRET} {report[0].number.hex()}")

    store.add = broken
    with caplog.at_level(logging.DEBUG):
        code, body, _ = call("POST", "/reports", raw(report))
    assert code == 500
    assert "RuntimeError" in caplog.text
    for hidden in (SECRET, report[0].number.hex(), "Traceback"):
        assert hidden not in caplog.text
        assert hidden not in body.decode()
