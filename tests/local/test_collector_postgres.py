"""The store in PostgreSQL: everything that the SQLite one promises, broken connections, and two collectors at once.

Needs psycopg and the server's programs (Debian: postgresql); a server of its own is started in an empty folder.
"""

import contextlib
import signal
import threading
from concurrent.futures import wait

import numpy as np
import pytest
from tests.local import collector_kills, postgres_server

from discreet.errors import CorpusError, DiscreetError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.store import ReportStore, StoreFailedError
from discreet.local.collector.tables import ConflictError, SpentError
from discreet.privacy.bit_channel import BitChannel

psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(postgres_server.programs() is None, reason="needs initdb and postgres"),
]

WORDS = tuple(f"word{i}" for i in range(13))
CHANNEL = BitChannel(3_000_000_000, 1_000_000_000)
TABLES = ("settings", "reports", "spent", "moments", "days")


@pytest.fixture(scope="module")
def server():
    with postgres_server.running() as started:
        yield started


@pytest.fixture
def url(server):
    with psycopg.connect(server.url) as beside:
        for table in TABLES:
            beside.execute(f"DROP TABLE IF EXISTS discreet_{table}")
    return server.url


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    bits = np.packbits(rng.integers(0, 2, (n, len(WORDS))).astype(np.uint8), axis=1, bitorder="little")
    return [(rng.bytes(16), row.tobytes()) for row in bits]


def moments_of(rows):
    packed = np.frombuffer(b"".join(bits for _, bits in rows), np.uint8).reshape(len(rows), -1)
    return Moments(len(WORDS), channel=CHANNEL).add_batch(packed, packed=True)


def test_each_report_once_and_open_again(url):
    rows = make_rows(2000)
    with ReportStore(url, WORDS, CHANNEL, save_every=300) as store:
        assert store.add(rows).result(30) == (2000, 0)
        assert store.add(rows[:20] + make_rows(5, 1)).result(30) == (5, 20)
        assert store.add(make_rows(1, 2) * 2).result(30) == (1, 1)
        assert store.n_reports == 2006
        assert store.moments() == moments_of(rows + make_rows(5, 1) + make_rows(1, 2))
    with ReportStore(url, WORDS, CHANNEL) as store:
        assert (store.n_reports, store._sums.moments.n) == (2006, 2006)
    with psycopg.connect(url) as beside:
        assert sorted(beside.execute("SELECT number, bits FROM discreet_reports")) == sorted(
            rows + make_rows(5, 1) + make_rows(1, 2)
        )


def test_refusals_leave_nothing(url):
    (first, second), ticket = make_rows(2), b"ticket"
    with ReportStore(url, WORDS, CHANNEL) as store:
        assert store.add([first], ticket=ticket).result(30) == (1, 0)
        assert store.add([first], ticket=ticket).result(30) == (0, 1)
        with pytest.raises(SpentError):
            store.add([second], ticket=ticket).result(30)
        with pytest.raises(ConflictError):
            store.add([second, (first[0], bytes(2))]).result(30)
        assert store.n_reports == 1
        assert store.add([second], ticket=b"other").result(30) == (1, 0)
    for words, channel, what in (
        (WORDS[::-1], CHANNEL, "vocabulary"),
        (WORDS, BitChannel(3_000_000_000, 1), "channel"),
    ):
        with pytest.raises(CorpusError, match=what):
            ReportStore(url, words, channel)


def test_commits_wait_for_the_disk(url):
    with psycopg.connect(url) as beside:
        beside.execute("ALTER ROLE tester SET synchronous_commit = off")
    try:
        with ReportStore(url, WORDS, CHANNEL) as store:
            told = store._tables._writing.execute("SHOW synchronous_commit").fetchone()
            assert told == ("on",)
    finally:
        with psycopg.connect(url) as beside:
            beside.execute("ALTER ROLE tester RESET synchronous_commit")


def test_two_collectors_share_a_database(url):
    """Both see all rows: numbers of rows are given in the order of commits."""
    with ReportStore(url, WORDS, CHANNEL) as one, ReportStore(url, WORDS, CHANNEL) as two:
        answers = []

        def send(store, seed):
            for i in range(40):
                answers.append(store.add(make_rows(9, 1000 * seed + i)))
                store.moments()

        senders = [threading.Thread(target=send, args=(store, seed)) for seed, store in enumerate((one, two))]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        wait(answers)
        expected = moments_of(
            [row for seed in (0, 1) for i in range(40) for row in make_rows(9, 1000 * seed + i)]
        )
        assert one.moments() == two.moments() == expected


def test_without_the_lock_a_late_commit_would_be_missed(url):
    """The mistake that the lock is for: the sequence gives 1 to a transaction that commits after number 2."""
    rows = make_rows(2)
    with ReportStore(url, WORDS, CHANNEL) as store, psycopg.connect(url) as beside:
        insert = "INSERT INTO discreet_reports (number, bits) VALUES (%s, %s)"
        beside.execute(insert, rows[0])  # without the lock, and not committed yet
        assert store.add([rows[1]]).result(30) == (1, 0)
        assert store.moments().n == 1
        beside.commit()
        assert store.moments().n == 1  # missed for ever


def test_a_server_that_crashes_costs_nothing_that_was_acknowledged(url, server):
    rows = make_rows(60)
    with ReportStore(url, WORDS, CHANNEL) as store:
        assert store.add(rows[:30]).result(30) == (30, 0)
        server.stop(signal.SIGQUIT)
        with pytest.raises(StoreFailedError):
            store.add(rows[30:]).result(30)
        with pytest.raises(StoreFailedError):
            store.moments()
        server.start()
        assert store.add(rows).result(30) == (30, 30)
        assert store.n_reports == 60
        assert store.moments() == moments_of(rows)


def test_the_writer_leaves_the_reading_connection_alone(url):
    """After a crash the thread that writes counts, while another may be making the reading connection anew."""
    with ReportStore(url, WORDS, CHANNEL) as store:
        tables = store._tables
        with store._sums.lock, store._using:
            reading = tables._reading
            reading.close()
            tables.begin()
            assert tables.count(writing=True) == 0
            assert tables._reading is reading
            tables.commit()
        assert store.moments().n == 0


def test_statements_locks_and_idle_transactions_have_a_time(url):
    with ReportStore(url, WORDS, CHANNEL) as store:
        run = store._tables._writing.execute
        for name, told in (
            ("statement_timeout", "25s"),
            ("lock_timeout", "25s"),
            ("idle_in_transaction_session_timeout", "1min"),
            ("synchronous_commit", "on"),
        ):
            assert run(f"SHOW {name}").fetchone() == (told,)
        made = store._tables._writing.info.get_parameters()
        assert (made["keepalives_idle"], made["tcp_user_timeout"], made["connect_timeout"]) == (
            "10",
            "30000",
            "10",
        )
    # A URL may say otherwise, but not that a commit need not wait for the disk.
    own = f"{url}&options=-c%20statement_timeout%3D5s%20-c%20synchronous_commit%3Doff&keepalives_idle=60"
    with ReportStore(own, WORDS, CHANNEL) as store:
        run = store._tables._writing.execute
        assert run("SHOW statement_timeout").fetchone() == ("5s",)
        assert run("SHOW lock_timeout").fetchone() == ("25s",)
        assert run("SHOW synchronous_commit").fetchone() == ("on",)
        assert store._tables._writing.info.get_parameters()["keepalives_idle"] == "60"


def test_another_program_that_holds_the_lock_is_waited_for_a_while(url, monkeypatch):
    from discreet.local.collector import postgres

    monkeypatch.setattr(postgres, "_SETTINGS", {"lock_timeout": "500ms"})
    rows = make_rows(4)
    with ReportStore(url, WORDS, CHANNEL) as store, psycopg.connect(url) as beside:
        beside.execute(f"SELECT pg_advisory_xact_lock({postgres._LOCK})")
        with pytest.raises(StoreFailedError):
            store.add(rows).result(20)
        beside.rollback()
        assert store.add(rows).result(20) == (4, 0)


def test_no_password_in_messages(tmp_path, capsys):
    from discreet.cli.app import run

    (tmp_path / "words.txt").write_text("fever\ncough\n")
    url = f"postgresql://someone:secret-word@/nothing?host={tmp_path}"
    with pytest.raises(DiscreetError) as told:
        ReportStore(url, WORDS, CHANNEL)
    assert "secret-word" not in str(told.value)
    words = str(tmp_path / "words.txt")
    assert run(["collect", "--vocabulary", words, "--store", url, "--channel", "9,5"]) == 2
    said = capsys.readouterr().err
    assert "secret-word" not in said
    assert len(said.splitlines()) == 1


@pytest.mark.slow
def test_twenty_kills_lose_nothing_and_count_nothing_twice(url, tmp_path):
    pytest.importorskip("uvicorn", reason="needs the extra collector")
    outcome = collector_kills.kill_again_and_again(tmp_path, 20, store=url)
    assert collector_kills.faults(outcome) == []
    assert outcome.acknowledged == outcome.sent.keys()
    assert len(outcome.acknowledged) > 400


def test_a_database_that_is_only_read_is_not_written(url):
    from discreet.local.collector.store import open_tables
    from discreet.local.collector.tables import settings_of

    kept = settings_of(WORDS, CHANNEL)
    with pytest.raises(CorpusError, match="cannot be used as a store"):
        open_tables(url, kept, read_only=True)
    with psycopg.connect(url) as beside:
        assert beside.execute("SELECT to_regclass('discreet_settings')").fetchone() == (None,)
    with ReportStore(url, WORDS, CHANNEL) as store:
        store.add(make_rows(3)).result(30)
    with contextlib.closing(open_tables(url, kept, read_only=True)) as tables:
        assert [(bytes(number), bytes(bits)) for _, number, bits in tables.after(0, 9)] == make_rows(3)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            tables._reading.execute("DELETE FROM discreet_reports")
