"""Reports that are withdrawn, or kept for some days only: gone from the store, and from the moments, exactly."""

import contextlib
import functools
import json
import shutil
import sqlite3
import threading
import time
from concurrent.futures import wait

import numpy as np
import pytest
from tests.local.collector_calls import CHANNEL, SECRET, WORDS, call_app, make_reports, moments_of, raw, rows

from discreet.errors import ParameterError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.store import ReportStore, StoreBusyError, StoreFailedError
from discreet.local.collector.tables import ConflictError

DAY = 86_400


@pytest.fixture
def where(tmp_path):
    return tmp_path / "reports.db"


@pytest.fixture
def store(where):
    with ReportStore(where, WORDS, CHANNEL) as opened:
        yield opened


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("discreet.local.collector.store._ROUND", 0.02)
    monkeypatch.setattr("discreet.local.collector.store._LONG_HELD_UP", 2)


def saved(where):
    """Return the moments as whoever opens the store finds them, and how many reports there are."""
    with ReportStore(where, WORDS, CHANNEL) as again:
        return again.moments(), again.n_reports


@pytest.mark.integration
def test_what_is_withdrawn_is_as_if_it_had_never_come(store, where):
    reports = make_reports(60)
    store.add(rows(reports)).result(30)
    assert store.withdraw(rows(reports[10:25])).result(30) == (15, 0, 0)
    left = reports[:10] + reports[25:]
    assert store.n_reports == 45
    assert store.moments() == moments_of(left)
    assert saved(where)[0] == moments_of(left)
    # Again, with a report that never came, one twice in a request, and others.
    stranger = make_reports(1, 99)
    asked = rows(reports[20:27] + stranger + reports[26:27])
    assert store.withdraw(asked).result(30) == (2, 6, 1)
    assert store.moments() == moments_of(reports[:10] + reports[27:])
    assert kept_by(store) == store.n_reports == 43


def test_what_was_withdrawn_cannot_come_again_and_nobody_is_told(store):
    """A relay that repeats its batch gets the answer that it would have got: who withdrew is nobody's business."""
    reports = make_reports(5)
    store.add(rows(reports)).result(30)
    store.withdraw(rows(reports[:2])).result(30)
    assert store.add(rows(reports)).result(30) == (0, 5)
    assert store.moments() == moments_of(reports[2:])
    # What never came may still come.
    late = make_reports(1, 5)
    assert store.withdraw(rows(late)).result(30) == (0, 0, 1)
    assert store.add(rows(late)).result(30) == (1, 0)


@pytest.mark.parametrize("last", [1, 3, 20])
def test_the_last_report_of_all_may_be_withdrawn(store, where, last):
    """A database may give a row's number again once the row is gone; the next report would then never be counted."""
    first, second = make_reports(20), make_reports(7, 1)
    store.add(rows(first)).result(30)
    store.moments()
    store.withdraw(rows(first[-last:])).result(30)
    store.add(rows(second)).result(30)
    assert store.moments() == moments_of([*first[:-last], *second])
    store.close()
    with ReportStore(where, WORDS, CHANNEL) as again:
        assert again.n_reports == 27 - last
        assert again.moments() == moments_of([*first[:-last], *second])


def test_all_may_be_withdrawn(store, where):
    reports = make_reports(9)
    store.add(rows(reports)).result(30)
    assert store.withdraw(rows(reports)).result(30) == (9, 0, 0)
    assert store.moments().n == store.n_reports == 0
    store.close()
    with ReportStore(where, WORDS, CHANNEL) as again:
        assert again.n_reports == 0
        assert again.add(rows(make_reports(3, 1))).result(30) == (3, 0)
        assert again.moments() == moments_of(make_reports(3, 1))


def test_a_crash_leaves_both_or_neither(store, where):
    """The transaction breaks at each of its steps in turn; then the store is opened as a crash would leave it."""
    reports = make_reports(30)
    store.add(rows(reports)).result(30)
    store.moments()
    tables = store._tables
    failure = sqlite3.Error
    for step in ("begin", "withdraw", "commit"):

        def broken(*_):
            raise failure("broken off")

        plain = getattr(tables, step)
        setattr(tables, step, broken)
        with pytest.raises(StoreFailedError, match="the store failed"):
            store.withdraw(rows(reports[:4])).result(30)
        setattr(tables, step, plain)
        assert store.moments() == moments_of(reports)
        assert saved(where) == (moments_of(reports), 30)
    # And a commit that was made, whose answer got lost.
    plain = tables.commit

    def lost():
        plain()
        raise failure("connection lost")

    tables.commit = lost
    with pytest.raises(StoreFailedError):
        store.withdraw(rows(reports[:4])).result(30)
    tables.commit = plain
    assert store.moments() == moments_of(reports[4:])
    assert saved(where)[0] == moments_of(reports[4:])
    assert store.withdraw(rows(reports[:5])).result(30) == (1, 4, 0)
    assert store.moments() == moments_of(reports[5:])


def test_a_second_collector_notices(where):
    reports = make_reports(40)
    with ReportStore(where, WORDS, CHANNEL) as one, ReportStore(where, WORDS, CHANNEL) as two:
        one.add(rows(reports[:20])).result(30)
        assert two.moments() == moments_of(reports[:20])
        one.withdraw(rows(reports[:3])).result(30)
        assert two.moments() == moments_of(reports[3:20])
        two.add(rows(reports[20:])).result(30)
        assert two.moments() == moments_of(reports[3:])
        two.withdraw(rows(reports[30:])).result(30)
        assert one.moments() == moments_of(reports[3:30])
    assert saved(where)[0] == moments_of(reports[3:30])


def test_moments_end_while_another_collector_withdraws(where, monkeypatch):
    """Each withdrawal between two blocks of the count began it anew, for ever."""
    from discreet.local.collector import tables

    monkeypatch.setattr(tables, "TOGETHER", 5)
    reports = make_reports(200)
    with ReportStore(where, WORDS, CHANNEL) as one, ReportStore(where, WORDS, CHANNEL) as two:
        one.add(rows(reports)).result(30)
        plain, gone = Moments.add_batch, []

        def adding(self, *rest, **options):
            gone.append(reports[len(gone) % 200])
            assert len(gone) <= 100, "the count began anew with each withdrawal"
            two.withdraw(rows(gone[-1:])).result(30)
            return plain(self, *rest, **options)

        monkeypatch.setattr(Moments, "add_batch", adding)
        first = one.moments()
        monkeypatch.setattr(Moments, "add_batch", plain)
        assert first == moments_of(reports)
        assert one.moments() == moments_of(reports[len(gone) :])


def test_a_report_that_comes_and_goes_in_the_last_moment(where):
    """Another collector commits it after the moments were brought up to date, and before the transaction begins."""
    reports, late = make_reports(20), make_reports(2, 1)
    with ReportStore(where, WORDS, CHANNEL) as one, ReportStore(where, WORDS, CHANNEL) as two:
        one.add(rows(reports)).result(30)
        plain = one._tables.begin

        def begin():
            one._tables.begin = plain
            two.add(rows(late)).result(30)
            plain()

        one._tables.begin = begin
        assert one.withdraw(rows(late[:1] + reports[:1])).result(30) == (2, 0, 0)
        assert one.moments() == two.moments() == moments_of(reports[1:] + late[1:])
    assert saved(where)[0] == moments_of(reports[1:] + late[1:])


def test_withdrawing_while_others_send(where):
    reports = make_reports(1200)
    with ReportStore(where, WORDS, CHANNEL) as store:
        answers = []

        def send(part):
            for i in range(0, len(part), 6):
                store.add(rows(part[i : i + 6])).result(30)
                if i % 24 == 0:
                    answers.append(store.withdraw(rows(part[i : i + 2])))

        senders = [threading.Thread(target=send, args=(reports[i::3],)) for i in range(3)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        wait(answers)
        assert all(answer.result() == (2, 0, 0) for answer in answers)
        gone = {
            n
            for part in (reports[i::3] for i in range(3))
            for i in range(0, 400, 24)
            for n, _ in rows(part[i : i + 2])
        }
        left = [report for report in reports if report.number not in gone]
        assert store.n_reports == len(left) == 1200 - 2 * len(answers)
        assert store.moments() == moments_of(left)
    assert saved(where)[0] == moments_of(left)


def test_bits_are_nowhere_in_the_files(tmp_path):
    """Overwritten where they were, and gone from the write-ahead log."""
    words = tuple(f"word{i}" for i in range(400))
    reports = make_reports(50, words=words)
    packed = [np.packbits(report.bits, bitorder="little").tobytes() for report in reports]

    def found():
        everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        return [bits in everything for bits in packed]

    with ReportStore(tmp_path / "reports.db", words, CHANNEL) as store:
        given = [(report.number, bits) for report, bits in zip(reports, packed, strict=True)]
        store.add(given).result(10)
        assert all(found())
        store.withdraw(given[::2]).result(10)
        assert found() == [False, True] * 25


def packed(report):
    return np.packbits(report.bits, bitorder="little").tobytes()


def kept_by(store):
    statement = "SELECT count(*) FROM reports WHERE length(bits) > 0"
    return store._tables._writing.execute(statement).fetchone()[0]


def holds(folder, bits):
    return any(bits in path.read_bytes() for path in folder.iterdir())


def test_a_program_that_reads_holds_nobody_up_and_the_bits_go_when_it_ends(tmp_path, monkeypatch, caplog):
    """A backup, say: a withdrawal waited for it for 30 s, nobody could write, and the bits stayed in the log."""
    words = tuple(f"word{i}" for i in range(800))
    given = [(report.number, packed(report)) for report in make_reports(30, words=words)]
    path, withdrawn = tmp_path / "own" / "reports.db", given[7]
    path.parent.mkdir()
    with ReportStore(path, words, CHANNEL) as store:
        store.add(given).result(10)
        with contextlib.closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM reports").fetchone()
            began = time.monotonic()
            assert store.withdraw([withdrawn]).result(60) == (1, 0, 0)
            late = [(bytes([i]) * 16, given[0][1]) for i in range(5)]
            for row in late:
                assert store.add([row]).result(60) == (1, 0)
                time.sleep(0.05)
            assert time.monotonic() - began < 10
            assert holds(path.parent, withdrawn[1])  # the reader could still be shown what was there before
            # A machine that stops now leaves the same files, and whoever opens them cleans up.
            shutil.copytree(path.parent, tmp_path / "copy")
        end = time.monotonic() + 20
        while holds(path.parent, withdrawn[1]):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert store.trouble is None
    assert caplog.text.count("a fit or another program reads the store") == 1
    with ReportStore(tmp_path / "copy" / "reports.db", words, CHANNEL) as store:
        end = time.monotonic() + 20
        while holds(tmp_path / "copy", withdrawn[1]):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert store.n_reports == 34


def until(reached):
    end = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("step", ["scrub", "commit"])
@pytest.mark.parametrize("leaves", ["withdrawn", "old"])
def test_what_a_failure_after_the_commit_left_in_the_log_goes(tmp_path, monkeypatch, step, leaves):
    """The log was thought clean, as it had been before, and kept number and bits."""
    words, day = tuple(f"word{i}" for i in range(400)), [25_000]
    given = [(report.number, packed(report)) for report in make_reports(3, words=words)]
    monkeypatch.setattr(ReportStore, "_today", lambda self: day[0])
    with ReportStore(tmp_path / "reports.db", words, CHANNEL, keep_days=1) as store:
        store.add(given).result(10)
        look(store)
        until(lambda: store._scrubbed is not None)
        plain, failed = getattr(store._tables, step), []

        def breaks_once():
            answer = plain() if step == "commit" else None
            if not failed and (step == "scrub" or not kept_by(store)):
                failed.append(True)
                raise sqlite3.OperationalError("disk I/O error")
            return plain() if step == "scrub" else answer

        setattr(store._tables, step, breaks_once)
        if leaves == "withdrawn":
            with pytest.raises(StoreFailedError):
                store.withdraw(given).result(10)
        else:
            day[0] += 9
            look(store)
        until(lambda: bool(failed) and not any(holds(tmp_path, bits) for _, bits in given))
        until(lambda: store.n_reports == kept_by(store) == 0)  # nobody needs to write again


@pytest.mark.parametrize("how", ["asked again", "withdrawn", "old"])
def test_what_a_killed_collector_left_in_the_log_goes_by_the_other(tmp_path, monkeypatch, how):
    """It was killed between its commit and the scrub; the other acknowledged the withdrawal, and the bits stayed."""
    words, day = tuple(f"word{i}" for i in range(400)), [25_000]
    given = [(report.number, packed(report)) for report in make_reports(9, words=words)]
    monkeypatch.setattr(ReportStore, "_today", lambda self: day[0])

    def left():
        return sum(holds(tmp_path, bits) for _, bits in given)

    with (
        ReportStore(tmp_path / "reports.db", words, CHANNEL, keep_days=1) as killed,
        ReportStore(tmp_path / "reports.db", words, CHANNEL) as other,
    ):
        other.add(given).result(10)
        look(killed)
        until(lambda: killed._scrubbed is not None and other._scrubbed is not None)
        killed._tables.scrub = lambda: True
        if how == "asked again":  # the answer comes after the scrub, not in a later round
            other._keep_house = lambda: None
        if how == "old":
            day[0] += 9
            look(killed)
        else:
            killed.withdraw(given[:3]).result(10)
        if how == "asked again":
            assert left() == 9
            assert other.withdraw(given[:3]).result(10) == (0, 3, 0)
            assert left() == 6
        else:
            gone = 9 if how == "old" else 3
            until(lambda: left() == other.n_reports == 9 - gone)


@pytest.mark.parametrize("seed", range(3))
def test_free_parts_of_pages_hold_no_bits_of_old_reports(tmp_path, monkeypatch, seed):
    """Where rows are deleted SQLite moves those beside them to other pages, and does not clear where they were."""
    words, day, rng = tuple(f"word{i}" for i in range(400)), [25_000], np.random.default_rng(seed)
    given = [(rng.bytes(16), rng.bytes(50)) for _ in range(4000)]
    some = [given[i] for i in rng.permutation(len(given))[:3600]]
    monkeypatch.setattr(ReportStore, "_today", lambda self: day[0])
    with ReportStore(tmp_path / "reports.db", words, CHANNEL, keep_days=2) as store:
        store.add(given).result(10)
        look(store)
        for i in range(0, len(some), 400):
            store.withdraw(some[i : i + 400]).result(10)
        plain = store._tables.pack
        store._tables.pack = lambda: _fail(sqlite3.OperationalError("database or disk is full"))
        day[0] += 9
        look(store)
        assert store.n_reports == 0
        assert store.trouble is None
        store._tables.pack, store._pack_due = plain, 0.0  # there is room again, an hour later
        look(store)
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [i for i, (_, bits) in enumerate(given) if bits in raw]


def _fail(error):
    raise error


def test_each_of_two_collectors_counts_what_the_other_does(where):
    reports = make_reports(50)
    with ReportStore(where, WORDS, CHANNEL) as one, ReportStore(where, WORDS, CHANNEL) as two:
        one.add(rows(reports)).result(30)
        until(lambda: two.n_reports == 50)
        two.withdraw(rows(reports[:3])).result(30)
        until(lambda: one.n_reports == two.n_reports == 47)
    with ReportStore(where, WORDS, CHANNEL) as again:
        assert again.n_reports == 47


@pytest.fixture
def kept(where, monkeypatch):
    """Open a store that keeps reports for three days, by a calendar of the test's."""

    @contextlib.contextmanager
    def opened(day, keep_days=3):
        monkeypatch.setattr(ReportStore, "_today", lambda self: day[0])
        with ReportStore(where, WORDS, CHANNEL, keep_days=keep_days) as store:
            yield store

    return opened


def look(store):
    """Let the calendar be looked at now, as it is once a minute."""
    store._calendar_due = 0.0
    end = time.monotonic() + 20
    while store._calendar_due == 0.0:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_reports_are_kept_for_as_long_as_told(kept):
    """On each day six reports come; when three days have begun since, they are gone."""
    day, reports = [25_000], make_reports(60)
    with kept(day) as store:
        for i in range(10):
            day[0] = 25_000 + i
            look(store)  # the calendar is looked at before the day's reports come,
            store.add(rows(reports[6 * i : 6 * i + 3])).result(30)
            store.add(rows(reports[6 * i + 3 : 6 * i + 6])).result(30)
            look(store)  # and after
            first = 6 * max(0, i - 2)
            assert store.moments() == moments_of(reports[first : 6 * i + 6])
            assert store.n_reports == 6 * min(i + 1, 3)
        day[0] += 50
        look(store)
        assert store.n_reports == 0
        assert store.moments().n == 0
        # It may come again, and then counts once.
        assert store.add(rows(reports[:1])).result(30) == (1, 0)
        assert store.moments() == moments_of(reports[:1])


def test_a_collector_that_was_off_catches_up(kept, where):
    day, reports = [25_000], make_reports(30)
    with kept(day) as store:
        store.add(rows(reports[:20])).result(30)
        look(store)
        store.withdraw(rows(reports[5:7])).result(30)
    day[0] += 9
    with kept(day) as store:
        look(store)
        assert store.n_reports == 0
        store.add(rows(reports[20:])).result(30)
        assert store.moments() == moments_of(reports[20:])
    with ReportStore(where, WORDS, CHANNEL) as plain:  # which keeps what is there
        assert plain.n_reports == 10
        assert plain.moments() == moments_of(reports[20:])


def test_a_clock_that_was_put_back_loses_nothing_and_keeps_nothing_for_ever(kept):
    day, reports = [30_000], make_reports(30)
    with kept(day) as store:
        look(store)
        store.add(rows(reports[:10])).result(30)
        look(store)
        day[0] = 25_000  # it was wrong by years
        look(store)
        assert store.n_reports == 10
        store.add(rows(reports[10:20])).result(30)
        day[0] = 25_002
        look(store)
        assert store.n_reports == 20
        day[0] = 25_003
        look(store)
        assert store.n_reports == 10
        day[0] = 25_005
        look(store)
        assert store.n_reports == 0


def test_a_machine_that_does_not_know_the_time_deletes_nothing(kept):
    """It begins in 1970, and is then told the right time: nothing grew old meanwhile."""
    day, reports = [25_000], make_reports(20)
    with kept(day) as store:
        store.add(rows(reports[:10])).result(30)
        look(store)
    day[0] = 3
    with kept(day) as store:
        store._calendar_due = 0.0
        store.add(rows(reports[10:])).result(30)
        end = time.monotonic() + 20
        while store.trouble is None:
            assert time.monotonic() < end
            time.sleep(0.02)
        day[0] = 25_001
        look(store)
        while store.trouble is not None:  # told right after the look
            assert time.monotonic() < end + 20
            time.sleep(0.02)
        assert store.n_reports == 20
        day[0] = 25_003
        look(store)
        assert store.moments() == moments_of(reports[10:])


def test_many_reports_go_a_piece_at_a_time(kept, monkeypatch):
    from discreet.local.collector import store as module

    monkeypatch.setattr(module, "TOGETHER", 7)
    day, reports = [25_000], make_reports(50)
    with kept(day, keep_days=1) as store:
        store.add(rows(reports[:40])).result(30)
        look(store)
        store.withdraw(rows(reports[12:30])).result(30)
        day[0] += 1
        look(store)
        assert store.n_reports == 0
        store.add(rows(reports[40:])).result(30)
        assert store.moments() == moments_of(reports[40:])


def test_what_was_withdrawn_never_counts_again(kept):
    """Also when all that came with it has grown old, and been deleted."""
    day, reports = [25_000], make_reports(4)
    with kept(day, keep_days=2) as store:
        store.add(rows(reports)).result(30)
        assert store.withdraw(rows(reports[1:2] + reports[3:])).result(30) == (2, 0, 0)
        for _ in range(4):
            look(store)
            day[0] += 1
        assert store.n_reports == 0
        assert store.add(rows(reports)).result(30) == (2, 2)
        assert store.moments() == moments_of(reports[:1] + reports[2:3])
        assert store.withdraw(rows(reports)).result(30) == (2, 2, 0)


def test_a_clock_put_forward_makes_no_report_old(where, monkeypatch):
    """A wrong answer of a time server, for one look: acknowledged reports were deleted."""
    ahead, passed, real = [0.0], [0.0], time.time()
    monkeypatch.setattr("discreet.local.collector.store._passed", lambda: passed[0])
    monkeypatch.setattr(time, "time", lambda: real + ahead[0])
    reports = make_reports(10)
    with ReportStore(where, WORDS, CHANNEL, keep_days=30) as store:
        store.add(rows(reports)).result(30)
        for wrong in (0.0, 365 * DAY, 0.0, -365 * DAY, 0.0, 29 * DAY):
            ahead[0] = wrong
            look(store)
            assert store.n_reports == 10
        for days in (28, 31):  # and days that pass do pass
            ahead[0] = passed[0] = days * DAY
            look(store)
            assert store.n_reports == (10 if days == 28 else 0)


def test_a_clock_that_was_set_late_is_believed(monkeypatch):
    """A machine that begins in 1970 and learns the time later; else no report would ever grow old."""
    from discreet.local.collector import store

    now, passed = [100.0], [0.0]
    monkeypatch.setattr(store, "_passed", lambda: passed[0])
    monkeypatch.setattr(time, "time", lambda: now[0])
    calendar = store._Calendar()
    assert calendar.today() == 0
    now[0] = 25_000.5 * DAY
    assert calendar.today() == 25_000
    now[0] += 10 * DAY
    assert calendar.today() == 25_000
    passed[0] += 10 * DAY
    assert calendar.today() == 25_010


def test_keep_days_is_a_number_of_days(where):
    with pytest.raises(ParameterError, match="keep_days"):
        ReportStore(where, WORDS, CHANNEL, keep_days=0)


def test_a_row_number_is_never_given_again(tmp_path):
    """The number of a last row that is deleted would else be the next one's, and whoever read it never see that."""
    with ReportStore(tmp_path / "r.db", WORDS, CHANNEL) as store:
        store.add(rows(make_reports(3))).result(10)
        store.moments()
        with contextlib.closing(sqlite3.connect(tmp_path / "r.db")) as beside:
            beside.execute("DELETE FROM reports")
            beside.commit()
        store.add(rows(make_reports(2, 1))).result(10)
        assert store.moments() == moments_of(make_reports(3) + make_reports(2, 1))


def test_withdrawing_over_http(store, tmp_path):
    from discreet.local.collector.access import Secrets

    call = functools.partial(call_app, store)
    reports = make_reports(6)
    assert call("POST", "/reports", raw(reports))[0] == 200
    code, body, _ = call("POST", "/withdraw", raw(reports[:2]))
    assert (code, json.loads(body)) == (200, {"withdrawn": 2, "withdrawn_before": 0, "unknown": 0})
    assert store.moments() == moments_of(reports[2:])
    # The report is proof enough: a token may have been taken away since. Whoever has none withdraws nothing.
    (tmp_path / "tokens").write_text(SECRET)
    tokens = Secrets(tmp_path / "tokens")
    assert call("POST", "/withdraw", raw(reports[2:3]), admission=tokens)[0] == 200
    told = json.loads(call("POST", "/withdraw", raw(make_reports(3, 8)))[1])
    assert told == {"withdrawn": 0, "withdrawn_before": 0, "unknown": 3}
    assert call("POST", "/withdraw", b"")[0] == 422
    assert call("POST", "/withdraw", b"x" * 500)[0] == 422
    assert call("GET", "/withdraw")[0] == 405
    assert call("POST", "/withdraw", raw(reports))[0] == 200
    assert store.n_reports == 0


def test_a_number_alone_withdraws_nothing(store):
    """Whoever saw a number elsewhere, and makes up the bits, is told what a stranger is told."""
    reports = make_reports(4)
    store.add(rows(reports)).result(30)
    forged = [(number, bytes(byte ^ 1 for byte in bits)) for number, bits in rows(reports)]
    assert store.withdraw(forged).result(30) == (0, 0, 4)
    assert store.moments() == moments_of(reports)
    first = reports[0]
    other = type(first)(CHANNEL, first.vocabulary, first.number, 1 - first.bits)
    body = raw([first, other])
    code, said, _ = call_app(store, "POST", "/withdraw", body)
    assert (code, "several answers" in json.loads(said)["error"]) == (422, True)
    code, said, _ = call_app(store, "POST", "/withdraw", body[len(body) // 2 :])
    assert (code, json.loads(said)) == (200, {"withdrawn": 0, "withdrawn_before": 0, "unknown": 1})
    assert store.n_reports == 4
    assert store.withdraw(rows(reports[:1])).result(30) == (1, 0, 0)


def test_withdrawals_that_wait_are_bounded(where):
    reports = make_reports(20)
    with ReportStore(where, WORDS, CHANNEL, most_waiting=15) as store:
        with contextlib.closing(sqlite3.connect(where)) as beside:
            beside.execute("BEGIN IMMEDIATE")  # nothing can be written
            waiting = store.withdraw(rows(reports[:10]))
            with pytest.raises(StoreBusyError):
                store.withdraw(rows(reports[10:]))
            beside.execute("ROLLBACK")
        assert waiting.result(30) == (0, 0, 10)


def test_withdrawals_that_wait_keep_no_report_out(where):
    """They need no token, and filled the queue that reports wait in."""
    with ReportStore(where, WORDS, CHANNEL, most_waiting=100) as store:
        with contextlib.closing(sqlite3.connect(where)) as beside:
            beside.execute("BEGIN IMMEDIATE")  # nothing can be written
            waiting = [store.withdraw(rows(make_reports(1, i))) for i in range(10)]
            with pytest.raises(StoreBusyError, match="10 reports wait to be withdrawn"):
                store.withdraw(rows(make_reports(1, 10)))
            kept = store.add(rows(make_reports(100, 11)))
            assert store.waiting == 110
            beside.execute("ROLLBACK")
        assert {answer.result(30) for answer in waiting} == {(0, 0, 1)}
        assert kept.result(30) == (100, 0)
        assert store.waiting == 0


@pytest.mark.parametrize("name", ["insert", "withdraw", "check"])
def test_want_of_memory_does_not_end_the_writer(store, name, caplog):
    reports = make_reports(3)
    store.add(rows(reports[:1])).result(30)

    def broken(*_):
        raise MemoryError("what was sent")

    setattr(store._tables, name, broken)
    for call in (store.add, store.withdraw):
        with contextlib.suppress(StoreFailedError):
            call(rows(reports[:1])).result(30)
    time.sleep(0.1)  # rounds of keeping house
    delattr(store._tables, name)
    assert store.add(rows(reports)).result(30).counted in (2, 3)
    assert "MemoryError" in caplog.text
    assert "what was sent" not in caplog.text


@pytest.mark.integration
def test_other_bits_under_a_number_are_refused_by_name(store):
    first, second, third = make_reports(3)
    store.add(rows([second])).result(30)
    forged = type(second)(CHANNEL, second.vocabulary, second.number, 1 - second.bits)
    with pytest.raises(ConflictError, match=f"report 2 of 3, number {second.number.hex()}, came before"):
        store.add(rows([first, forged, third])).result(30)
    code, body, _ = call_app(store, "POST", "/reports", raw([first, forged]))
    assert code == 409
    assert second.number.hex() in json.loads(body)["error"]
