"""Ledgers in files, shared by threads and processes, after crashes and forks: always one budget."""

import concurrent.futures
import contextlib
import errno
import json
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.accounting.totals import composed_epsilon
from discreet.privacy.ledger import file as ledger_file
from discreet.privacy.ledger import ledger as ledger_module
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.ledger.reservation import Entry

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}


def release_of(epsilon, delta=1e-6):
    return events.gaussian(noise_multiplier_for(epsilon, delta))


# ---- files


def test_a_ledger_in_a_file_goes_on_where_it_was(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    ledger.reserve(release_of(0.8), "first run")
    again = Ledger.open(path)
    assert again == ledger
    with pytest.raises(BudgetExceeded):
        again.reserve(release_of(0.7), "second run")
    again.reserve(release_of(0.3), "second run")
    assert len(ledger.entries) == 2  # the first object sees what the second booked
    with pytest.raises(BudgetExceeded):
        ledger.reserve(release_of(0.5), "third")
    assert pickle.loads(pickle.dumps(ledger)).path == path  # noqa: S301
    with pytest.raises(PrivacyError, match=r"exists already; use Ledger\.open"):
        Ledger(1, 1e-6, path=path)
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.json"]


def test_opening_makes_a_ledger_only_with_a_budget(tmp_path):
    with pytest.raises(PrivacyError, match="give epsilon and delta"):
        Ledger.open(tmp_path / "none.json")
    made = Ledger.open(tmp_path / "new.json", 1, 1e-6, privacy_unit="person")
    made.reserve(release_of(0.5), "topics")
    with pytest.raises(PrivacyError, match="made with epsilon = 1, not 99"):
        Ledger.open(tmp_path / "new.json", 99, 1e-3)
    again = Ledger.open(tmp_path / "new.json", 1, 1e-6)
    assert (again.epsilon, again.delta, len(again.entries)) == (1, 1e-6, 1)
    for other in ({"privacy_unit": "document"}, {"neighboring": "replace_one"}):
        with pytest.raises(PrivacyError, match="use one unit for one ledger"):
            Ledger.open(tmp_path / "new.json", **other)
    with pytest.raises(PrivacyError, match="cannot be kept there"):
        Ledger(1, 1e-6, path=tmp_path / "no folder" / "ledger.json")


def test_all_names_of_a_file_are_one_ledger(tmp_path, monkeypatch):
    ledger = Ledger(1, 1e-6, path=tmp_path / "ledger.json")
    (tmp_path / "link.json").symlink_to("ledger.json")
    Ledger.open(tmp_path / "link.json").reserve(release_of(1), "through the link")
    assert (tmp_path / "link.json").is_symlink()
    with pytest.raises(BudgetExceeded):
        ledger.reserve(release_of(0.5), "direct")
    monkeypatch.chdir(tmp_path)
    relative = Ledger.open("ledger.json")
    monkeypatch.chdir("/")
    assert len(relative.entries) == 1
    monkeypatch.chdir(tmp_path)
    made = Ledger(1, 1e-6, path="other.json")
    monkeypatch.chdir("/")
    made.reserve(release_of(1), "from another folder")
    assert len(Ledger.open(tmp_path / "other.json").entries) == 1


def test_files_that_were_damaged_or_put_back_are_refused(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    ledger.reserve(release_of(0.5), "first")
    older = path.read_text()
    ledger.reserve(release_of(0.5), "second")
    newer = path.read_text()
    for damaged, match in [
        (newer.replace('"second"', '"sceond"'), "checksum"),
        (newer[:-30], "JSON that cannot be read"),
        ("\x00", "JSON that cannot be read"),
        ("[" * 100_000, "JSON that cannot be read"),
        (older, "lacks bookings"),
        (json.dumps(Ledger(5, 1e-6).to_json()), "replaced by another ledger"),
    ]:
        path.write_text(damaged)
        for read_or_book in (ledger.spent, lambda: ledger.reserve(release_of(0.1), "third")):
            with pytest.raises(PrivacyError, match=match):
                read_or_book()
    path.unlink()
    with pytest.raises(PrivacyError, match="is gone"):
        ledger.reserve(release_of(0.1), "third")
    path.write_bytes(b" " * (17 * 2**20))
    with pytest.raises(PrivacyError, match="too large"):
        Ledger.open(path)


def test_permissions_are_kept(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    path.chmod(0o664)
    ledger.reserve(release_of(0.5), "first")
    assert path.stat().st_mode & 0o777 == 0o664


def test_a_full_disk_books_nothing_and_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PrivacyError, match="No space left"):
        ledger.reserve(release_of(0.5), "topics")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.json"]


# ---- threads, processes, crashes


@pytest.mark.parametrize("in_file", [False, True])
def test_threads_share_one_budget(tmp_path, in_file):
    ledger = Ledger(1, 1e-6, path=tmp_path / "ledger.json" if in_file else None)
    part = events.gaussian(noise_multiplier_for(1, 1e-6, n_rounds=10))  # ten of them fit
    barrier = threading.Barrier(8)

    def book(_):
        barrier.wait()
        booked = 0
        for _ in range(3):
            try:
                ledger.reserve(part, "part")
            except BudgetExceeded:
                continue
            booked += 1
        return booked

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(book, range(8))) == 10
    assert len(ledger.entries) == 10
    assert ledger.spent().epsilon <= 1


BOOK_IN_ANOTHER_PROCESS = textwrap.dedent("""
    import sys
    from discreet.errors import BudgetExceeded
    from discreet.privacy import events
    from discreet.privacy.accounting.planning import noise_multiplier_for
    from discreet.privacy.accounting.totals import composed_epsilon
    from discreet.privacy.ledger.ledger import Ledger
    part = events.gaussian(noise_multiplier_for(1, 1e-6, n_rounds=10))
    ledger = Ledger.open(sys.argv[1], 1, 1e-6)
    booked = 0
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(8):
        try:
            ledger.reserve(part, "part")
            booked += 1
        except BudgetExceeded:
            pass
    print(booked, flush=True)
    sys.stdin.readline()
""")


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.integration
def test_processes_share_one_budget(tmp_path):
    path = tmp_path / "ledger.json"  # made by whoever comes first
    workers = [start(BOOK_IN_ANOTHER_PROCESS, path) for _ in range(3)]
    try:
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        booked = [int(worker.stdout.readline()) for worker in workers]
    finally:
        for worker in workers:
            worker.communicate("\n", timeout=60)
    assert sum(booked) == 10
    ledger = Ledger.open(path)
    assert len(ledger.entries) == 10
    assert ledger.spent().epsilon <= 1


CRASH = textwrap.dedent("""
    import sys
    from discreet.privacy import events
    from discreet.privacy.accounting.planning import noise_multiplier_for
    from discreet.privacy.accounting.totals import composed_epsilon
    from discreet.privacy.ledger.ledger import Ledger
    ledger = Ledger.open(sys.argv[1])
    reservation = ledger.reserve(events.gaussian(noise_multiplier_for(1, 1e-6)), "topics")
    print("reserved", flush=True)
    sys.stdin.readline()
    reservation.use(reservation.event)
""")


def test_a_crash_between_booking_and_use_leaves_it_spent(tmp_path):
    path = tmp_path / "ledger.json"
    Ledger(1, 1e-6, path=path)
    worker = start(CRASH, path)
    assert worker.stdout.readline() == "reserved\n"
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=60)
    assert worker.returncode == -signal.SIGKILL
    ledger = Ledger.open(path)
    assert [entry.purpose for entry in ledger.entries] == ["topics"]
    assert ledger.spent().epsilon == pytest.approx(1)
    with pytest.raises(BudgetExceeded):  # and the lock of the dead process is gone
        ledger.reserve(events.gaussian(50.0), "again")


def in_a_fork(call):
    """Return what ``call`` returns in a forked child: a short text, or an exception's type and message."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                answer = str(call())
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            os.write(writer, answer.encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return answer


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_is_no_second_budget(tmp_path):
    ledger = Ledger(1, 1e-6)
    reservation = ledger.reserve(release_of(0.5), "topics")
    answer = in_a_fork(lambda: ledger.reserve(release_of(0.1), "in the child"))
    assert answer.startswith("PrivacyError: this ledger was made in another process")
    answer = in_a_fork(lambda: reservation.use(release_of(0.5), **UNIT))
    assert answer.startswith("PrivacyError: the reservation for 'topics' was made in another process")
    reservation.use(release_of(0.5), **UNIT)
    in_file = Ledger(1, 1e-6, path=tmp_path / "ledger.json")
    assert "Reservation" in in_a_fork(lambda: in_file.reserve(release_of(1), "in the child"))
    with pytest.raises(BudgetExceeded):
        in_file.reserve(release_of(0.5), "in the parent")


def test_without_the_file_lock_two_would_get_the_whole(tmp_path, monkeypatch):
    """The planted mistake: what the tests above would let through if processes did not take turns."""
    path = tmp_path / "ledger.json"
    Ledger(1, 1e-6, path=path)
    barrier = threading.Barrier(2, timeout=30)

    def both_at_once(place, value, expected):
        barrier.wait()
        place.with_name(str(threading.get_ident())).write_text(json.dumps(value))
        place.with_name(str(threading.get_ident())).rename(place)

    monkeypatch.setattr(ledger_file, "lock_handle", lambda handle: contextlib.nullcontext())
    monkeypatch.setattr(ledger_file, "_replace", both_at_once)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        booked = list(pool.map(lambda _: Ledger.open(path).reserve(release_of(1), "all"), range(2)))
    assert len(booked) == 2
    assert len(Ledger.open(path).entries) == 1


def booked_while_somebody_reads(path, monkeypatch):
    """Book twice while a reader of the same object stands still between its look at the file and what it keeps."""
    ledger, paused, go = Ledger(1, 1e-6, path=path), threading.Event(), threading.Event()
    plain = ledger_module.begins_with

    def slow(entries, earlier):
        if threading.current_thread() is reader:
            paused.set()
            go.wait(30)
        return plain(entries, earlier)

    monkeypatch.setattr(ledger_module, "begins_with", slow)
    reader = threading.Thread(target=lambda: ledger.entries)
    reader.start()
    assert paused.wait(30)
    first = threading.Thread(target=lambda: ledger.reserve(events.gaussian(9.0), "first"))
    first.start()
    first.join(0.5)
    if first.is_alive():  # it waits for the reader
        go.set()
        first.join(30)
    standings = ledger_file.Storage.standings

    def go_on(self):
        go.set()
        reader.join(30)
        return standings(self)

    monkeypatch.setattr(ledger_file.Storage, "standings", go_on)
    ledger.reserve(events.gaussian(9.0), "second")
    return [entry.purpose for entry in Ledger.open(path).entries]


def test_a_thread_that_reads_takes_no_booking_back(tmp_path, monkeypatch):
    assert booked_while_somebody_reads(tmp_path / "ledger.json", monkeypatch) == ["first", "second"]


def test_without_the_lock_of_threads_a_reader_has_a_booking_refused(tmp_path, monkeypatch):
    """The planted mistake."""
    monkeypatch.setattr(ledger_file.Storage, "lock", contextlib.nullcontext())
    with pytest.raises(PrivacyError, match="book again"):
        booked_while_somebody_reads(tmp_path / "ledger.json", monkeypatch)


def test_threads_that_read_and_book_at_once_are_told_no_fault(tmp_path):
    ledger, done = Ledger(math.inf, 1e-6, path=tmp_path / "ledger.json"), threading.Event()

    def read(_):
        lengths = [0]
        while not done.is_set():
            lengths.append(len(ledger.entries))
        return lengths == sorted(lengths)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        readers = pool.map(read, range(3))
        for number in range(60):
            ledger.reserve(events.gaussian(30.0), str(number))
        done.set()
        assert all(readers)
    assert len(Ledger.open(ledger.path).entries) == 60


def test_a_booking_that_json_would_change_is_not_written(tmp_path, monkeypatch):
    """The planted mistake: a purpose of two surrogates, which are one letter when they are read."""
    ledger = Ledger(1, 1e-6, path=tmp_path / "ledger.json")
    monkeypatch.setattr(ledger_module, "check_purpose", lambda purpose: None)
    with pytest.raises(PrivacyError, match="cannot be read back from JSON"):
        ledger.reserve(release_of(0.1), "\ud83d\ude00")
    ledger.reserve(release_of(0.1), "topics")
    assert [entry.purpose for entry in Ledger.open(ledger.path).entries] == ["topics"]


# ---- names, copies, locks, forks and clocks


def test_a_hard_link_is_refused(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    os.link(path, tmp_path / "other.json")
    for name in ("ledger.json", "other.json"):
        with pytest.raises(PrivacyError, match=r"hard link|is a copy"):
            Ledger.open(tmp_path / name).reserve(release_of(1), "topics")
    (tmp_path / "other.json").unlink()
    ledger.reserve(release_of(1), "topics")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(release_of(1), "topics")


def test_a_copy_of_the_file_is_refused_while_the_original_is_there(tmp_path):
    path, copy = tmp_path / "ledger.json", tmp_path / "copy.json"
    ledger = Ledger(1, 1e-6, path=path)
    shutil.copy(path, copy)
    with pytest.raises(PrivacyError, match=r"is a copy of .*ledger\.json.*two budgets"):
        Ledger.open(copy)
    ledger.reserve(release_of(0.5), "topics")
    with pytest.raises(PrivacyError, match="is a copy of"):
        Ledger.open(copy)
    path.rename(tmp_path / "moved.json")  # a ledger may move
    moved = Ledger.open(tmp_path / "moved.json")
    moved.reserve(release_of(0.2), "more topics")
    assert json.loads((tmp_path / "moved.json").read_text())["path"] == str(tmp_path / "moved.json")
    Ledger(5, 1e-6, path=path)  # another one under the old name does not make it a copy
    assert len(Ledger.open(tmp_path / "moved.json").entries) == 2


@pytest.mark.parametrize("where", ["samefile", "open"])
def test_a_copy_is_refused_where_the_original_cannot_be_looked_at(tmp_path, monkeypatch, where):
    """The original is another user's: its folder, or it alone, is closed to whoever opens the copy."""
    path, copy, plain = tmp_path / "ledger.json", tmp_path / "copy.json", getattr(Path, where)
    Ledger(1, 1e-6, path=path).reserve(release_of(0.9), "topics")
    shutil.copy(path, copy)
    monkeypatch.setattr(ledger_file, "_homes", {})  # as in a process that never opened it

    def closed(self, *args, **kwargs):
        if self == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(Path, where, closed)
    with pytest.raises(PrivacyError, match=r"copy\.json may be a copy of .*ledger\.json.*Permission denied"):
        Ledger.open(copy)


def test_two_copies_without_the_original_are_one_budget_in_a_process(tmp_path):
    path, one, two = (tmp_path / f"{name}.json" for name in ("ledger", "one", "two"))
    Ledger(1, 1e-6, path=path)
    shutil.copy(path, one)
    shutil.copy(path, two)
    path.unlink()
    moved = Ledger.open(one)
    with pytest.raises(PrivacyError, match=r"two\.json is a copy of .*one\.json: two budgets"):
        Ledger.open(two)
    moved.reserve(release_of(0.9), "topics")
    one.unlink()
    with pytest.raises(PrivacyError, match=r"two\.json is an older copy of .*one\.json, on which"):
        Ledger.open(two)


def test_a_ledger_that_moves_back_and_forth_is_one_budget(tmp_path):
    here, there, hidden = (tmp_path / f"{name}.json" for name in ("here", "there", "hidden"))
    first = Ledger(1, 1e-6, path=here)
    shutil.copy(here, hidden)
    here.rename(there)
    second = Ledger.open(there)
    hidden.rename(here)
    with pytest.raises(PrivacyError, match="is a copy of"):
        first.reserve(release_of(0.9), "topics")
    assert first.entries == ()
    second.reserve(release_of(0.5), "topics")
    there.replace(here)
    first.reserve(release_of(0.2), "more topics")  # moved back, with all that was booked
    assert [entry.purpose for entry in Ledger.open(here).entries] == ["topics", "more topics"]


def test_a_file_put_back_and_booked_on_anew_is_another_ledger(tmp_path):
    path, copy = tmp_path / "ledger.json", tmp_path / "copy.json"
    ledger = Ledger(1, 1e-6, path=path)
    shutil.copy(path, copy)
    old = ledger.reserve(release_of(0.5), "topics").entry
    copy.replace(path)
    new = Ledger.open(path).reserve(release_of(0.5), "topics").entry
    assert (old, old.booking) == (new, new.booking)  # to the letter, and yet another booking
    assert old.digest != new.digest
    with pytest.raises(PrivacyError, match="lacks bookings"):
        ledger.spent()


def test_a_nonce_is_kept_with_the_ledger_and_left_out_of_records(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    ledger.plan([(release_of(0.3), "words"), (release_of(0.3), "topics")])
    again = Ledger.open(path)
    assert [e.digest for e in again.entries] == [e.digest for e in ledger.entries]
    assert len({e.digest for e in ledger.entries}) == 2
    memory = Ledger(1, 1e-6)
    memory.reserve(release_of(0.3), "words")
    for record in (ledger.to_json(), ledger.snapshot().to_json(), memory.snapshot().to_json()):
        assert all("nonce" not in entry for entry in record["entries"])
    for damaged in ("", "0" * 31, "g" * 32, 7, None, ["0" * 32]):
        values = json.loads(path.read_text())
        values["entries"][0]["nonce"] = damaged
        del values["checksum"]
        values["checksum"] = ledger_file.checksum_of(values)
        path.write_text(json.dumps(values))
        if damaged == "":  # as in a file from before there were any
            assert len(Ledger.open(path).entries) == 2
        else:
            with pytest.raises(PrivacyError, match="nonce"):
                Ledger.open(path)


def test_parts_of_a_division_tell_a_booking_from_another():
    how = {"booking": 1, "event": release_of(0.5), "purpose": "shares", "nonce": "0" * 32}
    entries = [
        Entry(**how),
        Entry(**how, division="month", touched=("May",)),
        Entry(**how, division="month", touched=("May", "June")),
        Entry(**how, division="year", touched=("May",)),
        Entry(**how | {"nonce": "1" * 32}),
    ]
    assert len({entry.digest for entry in entries}) == 5


def test_the_content_of_a_file_is_no_ledger_in_memory(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    with pytest.raises(PrivacyError, match=r"Ledger\.open"):
        Ledger.from_json(json.loads(path.read_text()))
    assert Ledger.from_json(ledger.to_json()).closed
    (tmp_path / "record.json").write_text(json.dumps(full_record()))
    with pytest.raises(PrivacyError, match="record of a release"):
        Ledger.open(tmp_path / "record.json")


def full_record():
    ledger = Ledger(1, 1e-6)
    ledger.reserve(release_of(0.5), "topics")
    return ledger.snapshot().to_json()


def book_while(during, path):
    """Book on a ledger in a file; run ``during`` while the lock is held, before the file is written."""
    replace = ledger_file._replace

    def interrupted(*arguments):
        during()
        replace(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_file, "_replace", interrupted)
        return Ledger.open(path).reserve(release_of(1), "first")


def test_a_file_that_is_replaced_during_a_booking_is_not_overwritten(tmp_path):
    path = tmp_path / "ledger.json"
    Ledger(1, 1e-6, path=path)

    def another_ledger():
        path.unlink()
        Path(tmp_path / "new.json").write_text("another")
        (tmp_path / "new.json").rename(path)

    with pytest.raises(PrivacyError, match="was replaced while a booking was made"):
        book_while(another_ledger, path)
    assert path.read_text() == "another"


def test_tidying_the_folder_lets_nobody_in(tmp_path):
    """A lock file beside the ledger could be deleted, and two processes then book the whole budget at once."""
    path = tmp_path / "ledger.json"
    Ledger(1, 1e-6, path=path)
    second = []

    def book():
        try:
            second.append(Ledger.open(path).reserve(release_of(1), "second"))
        except PrivacyError as error:
            second.append(error)

    thread = threading.Thread(target=book)

    def tidy():
        for file in tmp_path.iterdir():
            if file != path:
                file.unlink()
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()  # it waits

    book_while(tidy, path)
    thread.join(30)
    assert isinstance(second[0], BudgetExceeded)
    assert [entry.purpose for entry in Ledger.open(path).entries] == ["first"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_during_a_booking_does_not_keep_the_lock(tmp_path):
    path = tmp_path / "ledger.json"
    Ledger(2, 1e-6, path=path)
    children = []

    def fork():
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
        children.append(child)

    book_while(fork, path)
    done = []
    thread = threading.Thread(target=lambda: done.append(Ledger.open(path).reserve(release_of(0.1), "next")))
    thread.start()
    thread.join(15)
    os.kill(children[0], signal.SIGKILL)
    os.waitpid(children[0], 0)
    thread.join(15)
    assert len(done) == 1
    assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("in_file", [False, True])
def test_a_fork_reads_though_another_thread_held_the_lock(tmp_path, in_file):
    ledger = Ledger(1, 1e-6, path=tmp_path / "ledger.json" if in_file else None)
    ledger.reserve(release_of(0.5), "topics")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(ledger._storage.lock.acquire).result()
        assert in_a_fork(lambda: round(ledger.spent().epsilon, 9)) == "0.5"
        pool.submit(ledger._storage.lock.release).result()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forks_and_threads_that_book_at_once_get_one_budget(tmp_path):
    """Children are forked while threads of the parent book; grants are bookings, and all fit the budget."""
    path = tmp_path / "ledger.json"
    ledger, granted, children = Ledger(1, 1e-6, path=path), [], []

    def book():
        with contextlib.suppress(BudgetExceeded):
            while True:
                ledger.reserve(events.gaussian(30.0), "in a thread")
                granted.append(1)

    threads = [threading.Thread(target=book) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            mine = 0
            with contextlib.suppress(BaseException):
                for _ in range(2):
                    ledger.reserve(events.gaussian(30.0), "in a child")
                    mine += 1
            os._exit(mine)
        children.append(child)
    total = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    for thread in threads:
        thread.join(60)
    entries = Ledger.open(path).entries
    assert len(entries) == total + len(granted)
    assert len(entries) == math.floor(30.0**2 * gdp_mu(1, 1e-6) ** 2)  # as many as one process would get
    assert composed_epsilon([entry.event for entry in entries], 1e-6).epsilon <= 1


def test_a_file_that_cannot_be_replaced_where_it_is_mounted_books_nothing(tmp_path, monkeypatch):
    """A container that mounts the file itself, not its folder: the rename fails with "busy"."""
    path = tmp_path / "ledger.json"
    ledger = Ledger(1, 1e-6, path=path)
    before = path.read_bytes()

    def busy(source, target):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(PrivacyError, match=r"cannot be kept there: Device or resource busy"):
        ledger.reserve(release_of(0.5), "topics")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.json"]
    assert ledger.entries == ()


def test_no_clock_is_asked(tmp_path, monkeypatch):
    ledger = Ledger(1, 1e-6, path=tmp_path / "ledger.json")

    def broken():
        raise AssertionError("the ledger asked for the time")

    for name in ("time", "time_ns", "monotonic"):
        monkeypatch.setattr(time, name, broken)
    ledger.reserve(release_of(0.5), "topics")
    entries = Ledger.open(tmp_path / "ledger.json").entries
    monkeypatch.undo()
    assert len(entries) == 1
