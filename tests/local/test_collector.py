import contextlib
import dataclasses
import functools
import logging
import sqlite3
import threading
import time
from concurrent.futures import wait

import numpy as np
import pytest
from tests.local.collector_calls import (
    CHANNEL,
    SECRET,
    WORDS,
    call_app,
    make_reports,
    moments_of,
    raw,
    rows,
)

from discreet.errors import CorpusError, ParameterError
from discreet.local.collector.access import Secrets
from discreet.local.collector.intake import ReportForm
from discreet.local.collector.store import ReportStore, StoreBusyError, StoreFailedError
from discreet.local.collector.tables import ConflictError, SpentError
from discreet.local.wire import Report
from discreet.privacy.bit_channel import BitChannel


@pytest.fixture
def store(tmp_path):
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
        yield opened


@pytest.fixture
def call(store):
    return functools.partial(call_app, store)


def test_each_number_counts_once(store):
    reports = make_reports(50)
    assert store.add(rows(reports)).result(10) == (50, 0)
    assert store.add(rows(reports[:20] + make_reports(5, 1))).result(10) == (5, 20)
    assert store.n_reports == 55
    assert store.moments() == moments_of(reports + make_reports(5, 1))


def test_a_number_twice_in_one_batch_counts_once(store):
    report = make_reports(1)
    assert store.add(rows(report + report)).result(10) == (1, 1)


def test_other_bits_under_a_number_refuse_the_whole_batch(store):
    first, second = make_reports(2)
    assert store.add(rows([first])).result(10) == (1, 0)
    forged = Report(CHANNEL, first.vocabulary, first.number, 1 - first.bits)
    with pytest.raises(ConflictError):
        store.add(rows([second, forged])).result(10)
    assert store.n_reports == 1
    assert store.moments() == moments_of([first])
    assert store.add(rows([second])).result(10) == (1, 0)


def test_a_store_opens_again_with_the_same_moments(tmp_path):
    reports = make_reports(3000)
    path = tmp_path / "reports.db"
    for i in range(3):
        with ReportStore(path, WORDS, CHANNEL) as opened:
            opened.add(rows(reports[1000 * i : 1000 * i + 1000])).result(10)
    with ReportStore(path, WORDS, CHANNEL) as opened:
        assert opened.n_reports == 3000
        assert opened.moments() == moments_of(reports)


def test_many_senders_at_once(tmp_path):
    reports = make_reports(4000)
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
        answers = []

        def send(part):
            for i in range(0, len(part), 7):  # each sender's reports come twice
                answers.append(opened.add(rows(part[i : i + 7])))
                answers.append(opened.add(rows(part[i : i + 7])))

        senders = [threading.Thread(target=send, args=(reports[i::4],)) for i in range(4)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        wait(answers)
        assert sum(answer.result().counted for answer in answers) == 4000
        assert sum(answer.result().repeated for answer in answers) == 4000
        assert opened.moments() == moments_of(reports)
        assert opened.waiting == 0


def test_an_answer_comes_after_the_commit(store, tmp_path):
    reports = make_reports(10)
    beside = sqlite3.connect(tmp_path / "reports.db")
    beside.execute("BEGIN IMMEDIATE")  # nobody else can commit now
    answer = store.add(rows(reports))
    assert not wait([answer], timeout=0.3).done
    assert store.waiting == 10
    beside.execute("ROLLBACK")
    assert answer.result(10) == (10, 0)
    assert beside.execute("SELECT count(*) FROM reports").fetchone() == (10,)
    beside.close()


def test_a_full_queue_says_so_at_once(tmp_path):
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL, most_waiting=15) as opened:
        beside = sqlite3.connect(tmp_path / "reports.db")
        beside.execute("BEGIN IMMEDIATE")
        first = opened.add(rows(make_reports(10)))
        with pytest.raises(StoreBusyError):
            opened.add(rows(make_reports(10, 1)))
        beside.execute("ROLLBACK")
        beside.close()
        assert first.result(10) == (10, 0)
        assert opened.add(rows(make_reports(10, 1))).result(10) == (10, 0)


def test_a_failing_disk_counts_nothing_and_says_so(store):
    store._tables._writing.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreFailedError):
        store.add(rows(make_reports(3))).result(10)
    store._tables._writing.execute("PRAGMA query_only = 0")
    assert store.n_reports == 0
    assert store.add(rows(make_reports(3))).result(10) == (3, 0)


def test_a_commit_whose_answer_got_lost_is_counted_once(store):
    """The database kept it and the connection broke: the sender repeats, and the number of reports is right again."""
    tables = store._tables
    commit = type(tables).commit

    def lost():
        commit(tables)
        raise sqlite3.OperationalError("connection lost")

    tables.commit = lost
    with pytest.raises(StoreFailedError):
        store.add(rows(make_reports(5))).result(10)
    del tables.commit
    end = time.monotonic() + 20
    while store.n_reports != 5:  # nobody needs to write again
        assert time.monotonic() < end
        time.sleep(0.02)
    assert store.add(rows(make_reports(5))).result(10) == (0, 5)
    assert store.n_reports == 5
    assert store.add(rows(make_reports(3, 1))).result(10) == (3, 0)
    assert store.n_reports == 8


def test_a_ticket_admits_one_report_and_its_repetition(store, tmp_path):
    first, second = make_reports(2)
    assert store.add(rows([first]), ticket=b"t").result(10) == (1, 0)
    assert store.add(rows([first]), ticket=b"t").result(10) == (0, 1)
    with pytest.raises(SpentError):
        store.add(rows([second]), ticket=b"t").result(10)
    assert store.n_reports == 1
    assert store.add(rows([second]), ticket=b"u").result(10) == (1, 0)
    beside = sqlite3.connect(tmp_path / "reports.db")  # nothing ties a ticket to a report
    columns = [row[1] for row in beside.execute("PRAGMA table_info(spent)")]
    beside.close()
    assert columns == ["ticket"]


@pytest.mark.parametrize(
    ("words", "channel", "what"),
    [
        (WORDS[::-1], CHANNEL, "vocabulary"),
        (WORDS, BitChannel(3_000_000_000, 1_000_000_001), "channel"),
        (WORDS, BitChannel(3_000_000_000, 1_000_000_000, 5), "channel"),
    ],
)
def test_a_store_keeps_one_channel_and_vocabulary(store, tmp_path, words, channel, what):
    with pytest.raises(CorpusError, match=what):
        ReportStore(tmp_path / "reports.db", words, channel)


def test_a_store_is_its_owners_alone_and_counts_its_moments_anew(tmp_path):
    path, reports = tmp_path / "reports.db", make_reports(9)
    with ReportStore(path, WORDS, CHANNEL) as opened:
        opened.add(rows(reports)).result(10)
    assert path.stat().st_mode & 0o077 == 0
    with ReportStore(path, WORDS, CHANNEL) as opened:
        assert opened.moments() == moments_of(reports)


def test_a_file_that_is_no_store_is_refused_and_kept(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("dear diary " * 100)
    with pytest.raises(CorpusError, match="cannot be used"):
        ReportStore(path, WORDS, CHANNEL)
    assert path.read_text() == "dear diary " * 100


def test_too_many_words_are_refused_before_a_report_is_taken(tmp_path):
    """Reports were acknowledged, and the status and the topics failed ever after."""
    with pytest.raises(ParameterError, match="need a table of"):
        ReportStore(tmp_path / "reports.db", tuple(f"w{i}" for i in range(30_000)), CHANNEL)
    assert list(tmp_path.iterdir()) == []


SETTINGS = "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)"


@pytest.mark.parametrize(
    "tables", [[SETTINGS], [SETTINGS, "INSERT INTO settings VALUES ('theme', 'dark')"], []]
)
def test_the_database_of_another_program_is_refused_and_kept(tmp_path, tables):
    """Its table of moments was deleted, and its settings were added to."""
    path = tmp_path / "photos.db"
    with contextlib.closing(sqlite3.connect(path)) as beside:
        for statement in [*tables, "CREATE TABLE moments (photo BLOB)", "INSERT INTO moments VALUES (x'01')"]:
            beside.execute(statement)
        beside.commit()
    before = path.read_bytes()
    with pytest.raises(CorpusError, match=r"another program|cannot be used"):
        ReportStore(path, WORDS, CHANNEL)
    assert path.read_bytes() == before


def test_a_store_that_is_refused_is_not_changed(tmp_path):
    path = tmp_path / "reports.db"
    ReportStore(path, WORDS, CHANNEL).close()
    with contextlib.closing(sqlite3.connect(path)) as beside:
        beside.execute("CREATE TABLE moments (one INTEGER)")
        beside.commit()
    before = path.read_bytes()
    with pytest.raises(CorpusError, match="vocabulary"):
        ReportStore(path, WORDS[::-1], CHANNEL)
    assert path.read_bytes() == before


def test_form_refuses_what_is_no_report_of_this_collector():
    form, good = ReportForm(WORDS, CHANNEL), make_reports(3)
    assert [number for number, _ in form.split(raw(good))] == [report.number for report in good]
    other = raw(make_reports(1, channel=BitChannel(3_000_000_001, 1_000_000_000)))
    seeded = dataclasses.replace(CHANNEL, reproducible=True)
    beyond = bytearray(raw(good))
    beyond[-1] |= 0x80  # an unused bit
    for bad, told in [
        (b"", "nothing came"),
        (raw(good)[:-1], "bytes"),
        (b"hello" * 30, "DSCR"),
        (raw(good) + other, "report 4 is of another channel"),
        (raw(make_reports(1, words=WORDS[::-1])), "another channel or vocabulary"),
        (bytes(beyond), "report 3: the unused bits"),
        (raw(good)[:200], "report 3: .* bytes"),
        (raw(make_reports(1, channel=seeded)), "report 1 was made with a seed"),
    ]:
        with pytest.raises(CorpusError, match=told):
            form.split(bad)


def test_secrets(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"# senders\n{SECRET}\nanother-long-secret-x\n")
    for once in (False, True):
        known = Secrets(path, once=once)
        assert known.admits(SECRET) != known.admits("another-long-secret-x")
        assert known.admits(SECRET) is not None
        assert known.admits(SECRET + "x") is None
        assert known.admits("") is None
    # Compared with all, each request of whoever has none took long, on the loop that answers everybody.
    assert isinstance(known._known, frozenset)
    path.write_text("short\n")
    with pytest.raises(ParameterError, match="16"):
        Secrets(path)


@pytest.mark.parametrize(("once", "called"), [(False, "tokens"), (True, "tickets")])
def test_a_missing_file_of_secrets_is_told_by_its_option(tmp_path, once, called):
    with pytest.raises(ParameterError, match=f"{called}: .*cannot be read") as caught:
        Secrets(tmp_path / "none", once=once)
    assert caught.value.told(lambda part: f"--{part.name}").startswith(f"--{called}: ")


def test_secrets_change_without_a_restart(tmp_path, monkeypatch, caplog):
    from discreet.local.collector import access

    monkeypatch.setattr(access, "_LOOK_AGAIN", 0.0)
    path, second = tmp_path / "secrets", "a-second-long-secret"
    path.write_text(f"{SECRET}\n")
    known = Secrets(path)
    path.write_text(f"{SECRET}\n{second}\n")
    assert known.admits(second) is not None
    assert known.admits(SECRET) is not None
    # Replaced, as careful editors do.
    (tmp_path / "new").write_text(f"{second}\n")
    (tmp_path / "new").replace(path)
    assert known.admits(SECRET) is None
    assert known.admits(second) is not None
    # A file that cannot be used changes nothing, and the log says so without what it holds.
    for spoil in (lambda: path.write_text("short\n"), lambda: path.write_bytes(b"\xff\xfe"), path.unlink):
        caplog.clear()
        spoil()
        assert known.admits(second) is not None
        assert "cannot be used" in caplog.text
        assert "short" not in caplog.text
    caplog.clear()
    assert known.admits(second) is not None
    assert caplog.text == ""  # said once
    path.write_text(f"{SECRET}\n")
    assert known.admits(second) is None
    assert known.admits(SECRET) is not None


def test_secrets_are_looked_at_once_a_second(tmp_path):
    path = tmp_path / "secrets"
    path.write_text(f"{SECRET}\n")
    known = Secrets(path)
    looks = []
    known._look = lambda: looks.append(1)
    for _ in range(100):
        known.admits(SECRET)
    assert not looks


def wait_for(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["removed", "replaced", "moved", "log removed"])
def test_a_store_that_is_gone_acknowledges_nothing(store, call, tmp_path, monkeypatch, how):
    """An open file that was removed is still written to, by this process alone: all of it was lost at its end."""
    monkeypatch.setattr("discreet.local.collector.store._ROUND", 0.02)
    path = tmp_path / "reports.db"
    assert store.add(rows(make_reports(3))).result(10) == (3, 0)
    assert call("GET", "/healthz")[:2] == (200, b'{"ok":true,"trouble":null}')
    if how == "removed":
        path.unlink()
    elif how == "moved":
        path.rename(tmp_path / "elsewhere.db")
    elif how == "replaced":
        (tmp_path / "copy").write_bytes(path.read_bytes())
        (tmp_path / "copy").replace(path)
    else:
        (tmp_path / "reports.db-wal").unlink()
    code, _, headers = call("POST", "/reports", raw(make_reports(2, 1)))
    assert (code, headers["retry-after"]) == (503, "10")
    wait_for(lambda: call("GET", "/healthz")[0] == 503)
    # Nobody has to send for it to be noticed.
    store._failed = -1e9
    wait_for(lambda: "moved" in (store.trouble or ""))
    store.close()


def test_a_store_named_by_a_link_is_the_file_it_leads_to(tmp_path):
    """SQLite's log lies beside the file, not beside the link: whoever looks beside the link misses its end."""
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "store.db", tmp_path / "link.db"
    link.symlink_to(real)
    store = ReportStore(link, WORDS, CHANNEL)
    assert store.add(rows(make_reports(3))).result(10) == (3, 0)
    real.with_name("store.db-wal").unlink()
    with pytest.raises(StoreFailedError):
        store.add(rows(make_reports(2, 1))).result(10)
    store.close()


def test_a_store_with_two_names_is_refused(tmp_path):
    ReportStore(tmp_path / "one.db", WORDS, CHANNEL).close()
    (tmp_path / "two.db").hardlink_to(tmp_path / "one.db")
    for name in ("one.db", "two.db"):
        with pytest.raises(CorpusError, match="hard link"):
            ReportStore(tmp_path / name, WORDS, CHANNEL)
    (tmp_path / "one.db").unlink()
    ReportStore(tmp_path / "two.db", WORDS, CHANNEL).close()


def test_a_store_removed_between_a_commit_and_its_answer(store, tmp_path):
    tables = store._tables
    begin, check = tables.begin, tables.check

    def removed():
        (tmp_path / "reports.db").unlink(missing_ok=True)
        check()

    def begun():
        begin()
        tables.check = removed

    tables.begin = begun
    with pytest.raises(StoreFailedError):
        store.add(rows(make_reports(2))).result(10)
    store.close()


def test_a_store_that_was_opened_again_is_not_taken_for_another(tmp_path):
    for i in range(3):
        with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
            assert opened.add(rows(make_reports(2, i))).result(10) == (2, 0)
            opened._scrubbed = None  # the writer empties the log anew
            end = time.monotonic() + 20
            while opened._scrubbed is None:
                assert time.monotonic() < end
                time.sleep(0.02)
            assert opened.add(rows(make_reports(2, 10 + i))).result(10) == (2, 0)
            assert opened.trouble is None


def test_health_tells_failures_to_write_for_a_while(store, call):
    store._tables._writing.execute("PRAGMA query_only = 1")
    assert call("POST", "/reports", raw(make_reports(3)))[0] == 503
    assert call("GET", "/healthz")[0] == 503
    store._tables._writing.execute("PRAGMA query_only = 0")
    assert call("POST", "/reports", raw(make_reports(3)))[0] == 200
    assert call("GET", "/healthz")[0] == 200
    store._looked -= 1000
    assert store.trouble == "the store does not answer"
    store.close()
    assert store.trouble == "the store is closed"


def test_a_store_that_hangs_is_told_after_a_while(call, tmp_path, monkeypatch):
    from discreet.local.collector import intake

    monkeypatch.setattr(intake, "_SLOWEST_STORE", 0.3)
    beside = sqlite3.connect(tmp_path / "reports.db")
    beside.execute("BEGIN IMMEDIATE")
    code, body, headers = call("POST", "/reports", raw(make_reports(2)))
    assert (code, headers["retry-after"]) == (503, "10")
    assert b"same reports again" in body
    beside.execute("ROLLBACK")
    beside.close()
    monkeypatch.undo()
    assert call("POST", "/reports", raw(make_reports(2)))[0] == 200


def test_posting_counts_and_repeats(call, store):
    body = raw(make_reports(30))
    assert call("POST", "/reports", body)[:2] == (200, b'{"counted":30,"repeated":0}')
    assert call("POST", "/reports", body)[:2] == (200, b'{"counted":0,"repeated":30}')
    assert store.n_reports == 30


def test_refusals_have_their_codes_and_show_no_report(call, tmp_path):
    good = make_reports(3)
    forged = Report(CHANNEL, good[0].vocabulary, good[0].number, 1 - good[0].bits)
    assert call("POST", "/reports", raw(good[:1]))[0] == 200
    assert call("POST", "/reports", raw([forged]))[0] == 409
    assert call("POST", "/reports", b"x" * 500)[0] == 422
    assert call("POST", "/reports", raw(good), headers={"content-type": "text/plain"})[0] == 415
    assert call("POST", "/reports", raw(good), most_reports=2)[0] == 413
    assert (
        call("POST", "/reports", raw(good), most_reports=2, headers={"content-length": "9999999"})[0] == 413
    )
    assert call("POST", "/reports", raw(good[1:]), headers={"content-type": ""})[0] == 200
    assert call("GET", "/reports")[0] == 405
    assert call("GET", "/topics?k=x")[0] == 422


def test_tokens_and_tickets_at_the_door(call, store, tmp_path):
    path = tmp_path / "secrets"
    path.write_text(SECRET)
    first, second = make_reports(2)
    carried = {"authorization": f"Bearer {SECRET}"}
    tokens, tickets = Secrets(path), Secrets(path, once=True)
    for admission in (tokens, tickets):
        for wrong in ({}, {"authorization": "Bearer guess"}, {"authorization": f"Basic {SECRET}"}):
            code, _, headers = call("POST", "/reports", raw([first]), admission=admission, headers=wrong)
            assert (code, headers["www-authenticate"]) == (401, "Bearer")
    assert store.n_reports == 0
    assert call("POST", "/reports", raw([first, second]), admission=tokens, headers=carried)[0] == 200
    third, fourth = make_reports(2, 5)
    assert call("POST", "/reports", raw([third, fourth]), admission=tickets, headers=carried)[0] == 422
    assert call("POST", "/reports", raw([third]), admission=tickets, headers=carried)[0] == 200
    assert call("POST", "/reports", raw([third]), admission=tickets, headers=carried)[0] == 200
    assert call("POST", "/reports", raw([fourth]), admission=tickets, headers=carried)[0] == 403
    assert store.n_reports == 3


def test_too_full_says_when_to_come_again(call, store):
    store._most_waiting[False] = store._waiting[False] = 3
    code, _, headers = call("POST", "/reports", raw(make_reports(5, 1)))
    store._waiting[False] = 0
    assert (code, headers["retry-after"]) == (503, "1")


def test_status_and_topics(call, tmp_path):
    import json

    code, body, _ = call("GET", "/status")
    told = json.loads(body)
    assert (code, told["reports"], told["learnable"]) == (200, 0, 0)
    assert json.loads(call("GET", "/topics")[1])["topics"] == []
    from discreet.local.collector.app import make_app

    words, channel = tuple(f"w{i}" for i in range(30)), BitChannel.symmetric(2.2)
    rng = np.random.default_rng(0)
    group = np.arange(30) // 10
    own = group == rng.integers(3, size=(9000, 1))  # each text has ten words of its own
    present = rng.random((9000, 30)) < np.where(own, 0.4, 0.02)
    bits = (rng.random((9000, 30)) < np.where(present, float(channel.p), float(channel.q))).astype(np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    with ReportStore(tmp_path / "wide.db", words, channel) as wide:
        wide.add([(rng.bytes(16), row.tobytes()) for row in packed]).result(30)
        app = make_app(wide)
        told = json.loads(call("GET", "/status", app=app)[1])
        while told["learnable"] is None:  # not computed yet
            told = json.loads(call("GET", "/status", app=app)[1])
        assert (told["reports"], told["learnable"], told["learnable_from"]) == (9000, 2, 9000)
        losses = channel.guarantees(30)
        assert told["guarantees"] == {**losses._asdict(), "in_words": losses.in_words()}
        found = json.loads(call("GET", "/topics", app=app)[1])
        assert (found["k"], found["reports"], len(found["topics"])) == (2, 9000, 2)
        tops = [[words.index(word) // 10 for word in topic["words"]] for topic in found["topics"]]
        assert any(len(set(top)) == 1 for top in tops)


def test_the_page_loads_nothing_from_elsewhere(call):
    code, body, headers = call("GET", "/")
    assert code == 200
    assert b"http" not in body.replace(b"http-equiv", b"")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


def test_other_origins_only_where_named(call):
    asking = {"origin": "https://example.org", "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in call("OPTIONS", "/reports", headers=asking)[2]
    found = call("OPTIONS", "/reports", headers=asking, origins=("https://example.org",))[2]
    assert found["access-control-allow-origin"] == "https://example.org"


def test_nothing_sent_is_logged(call, caplog, capsys, tmp_path):
    path = tmp_path / "secrets"
    path.write_text(SECRET)
    tokens, report = Secrets(path), make_reports(1)
    with caplog.at_level(logging.DEBUG):
        for token in (SECRET, "wrong-but-telling"):
            call(
                "POST",
                "/reports",
                raw(report),
                admission=tokens,
                headers={"authorization": f"Bearer {token}"},
            )
    said = caplog.text + "".join(capsys.readouterr())
    for hidden in (SECRET, "telling", "DSCR", report[0].number.hex()):
        assert hidden not in said


def test_two_collectors_share_a_store(tmp_path):
    """Both see all rows: numbers of rows are given in the order of commits."""
    where, numbers = tmp_path / "shared.db", range(40)
    with ReportStore(where, WORDS, CHANNEL) as one, ReportStore(where, WORDS, CHANNEL) as two:
        answers = []

        def send(store, seed):
            for i in numbers:
                answers.append(store.add(rows(make_reports(9, 1000 * seed + i))))
                store.moments()

        senders = [threading.Thread(target=send, args=(store, seed)) for seed, store in enumerate((one, two))]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        assert [answer.result(30) for answer in answers] == [(9, 0)] * 80
        sent = [report for seed in (0, 1) for i in numbers for report in make_reports(9, 1000 * seed + i)]
        assert one.moments() == two.moments() == moments_of(sent)


def test_the_url_of_a_database_is_no_store_and_its_password_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match="SQLite file, not the URL") as told:
        ReportStore("postgresql://someone:secret-word@host/base", WORDS, CHANNEL)
    assert "secret-word" not in str(told.value)
    assert not list(tmp_path.iterdir())
