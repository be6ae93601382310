"""Every file is written whole or not at all: errors and kills at each step, and no word of Windows missing."""

import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import discreet
from discreet._base import files as module
from discreet._base.files import lock_beside, open_plain, write_file, write_files, write_whole

SOURCE = Path(discreet.__file__).parent
# What each writer is called with: (folder, whether it is the second time) -> the file that was written.
WRITERS = """
import json
from pathlib import Path
import numpy as np


def corpus(folder, second):
    from discreet.corpus import Corpus, write_corpus
    return write_corpus(Corpus([[1 + second, 2]], ["a", "b"], persons=[3]), folder / "x.mtx")[-1]


def moments(folder, second):
    from discreet.lda.moments.moments import Moments
    from discreet.local import BitChannel
    made = Moments(3, channel=BitChannel(3 << 30, 1 << 30))
    made.add_batch(np.eye(3, dtype=np.uint8)[: 2 + second])
    made.save(folder / "x.npz")
    return folder / "x.npz"


def memory(folder, second):
    from discreet.local.memo import ReportMemo
    ReportMemo(folder / "x.json").save()
    return folder / "x.json"


def reports(folder, second):
    from discreet.local import BitChannel
    from discreet.local.wire import Report, write_reports
    from discreet.privacy.noise.stream import SecureStream
    channel, stream = BitChannel(3 << 30, 1 << 30), SecureStream()
    bits = channel.report([0], stream, n_words=4)
    write_reports(folder / "x.reports", [Report(channel, b"v" * 32, b"n" * 16, bits)] * (1 + second))
    return folder / "x.reports"


def ledger(folder, second):
    from discreet import Ledger
    from discreet.privacy.accounting import events
    book = Ledger.open(folder / "x.json", 1.0, 1e-6, privacy_unit="document")
    if second:
        book.reserve(events.pure(0.1), "a test")
    return folder / "x.json"


def shares(folder, second):
    from discreet.cli.commands.transform import write_shares
    write_shares([np.full((2, 2 + second), 0.5)], folder / "x.csv")
    return folder / "x.csv"


def page(folder, second):
    from discreet._base.files import write_whole
    write_whole(b"<p>" * (1 + second), folder / "x.html", "the page")
    return folder / "x.html"


ALL = (corpus, moments, memory, reports, ledger, shares, page)
"""
made: dict = {}
exec(WRITERS, made)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".lock")}


class Broken:
    """The module ``os``, with one function that fails the n-th time."""

    def __init__(self, name: str, call: int) -> None:
        self.name, self.left, self.on_folder = name, call, False

    def __getattr__(self, name: str):
        real = getattr(os, name)
        if name != self.name:
            return real

        def fails(*arguments, **options):
            self.left -= 1
            if self.left == 0:
                place = arguments[0] if name == "open" else f"/proc/self/fd/{arguments[0]}"
                self.on_folder = name != "replace" and Path(place).is_dir()
                raise OSError(28, "No space left on device")
            return real(*arguments, **options)

        return fails


@pytest.mark.parametrize("writer", made["ALL"], ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_an_error_leaves_the_old_file_or_the_new_one_and_nothing_else(tmp_path, monkeypatch, writer, step):
    (tmp_path / "whole").mkdir()
    writer(tmp_path / "whole", True)
    whole = contents(tmp_path / "whole")
    for call in range(1, 20):
        room = tmp_path / str(call)
        room.mkdir()
        target = writer(room, False)
        target.chmod(0o640)
        before = contents(room)
        broken = Broken(step, call)
        monkeypatch.setattr(module, "os", broken)
        try:
            if not fails(lambda: writer(room, True)):  # noqa: B023
                break
        finally:
            monkeypatch.setattr(module, "os", os)
        after = contents(room)
        assert after.keys() == before.keys()  # nothing is left beside it
        if not broken.on_folder:
            assert stat.S_IMODE(target.stat().st_mode) == 0o640
            assert after[target.name] == before[target.name]
            assert all(after[name] in (before[name], whole[name]) for name in before)
        elif writer.__name__ not in RANDOM:
            assert after == whole
    assert call > 1
    assert broken.left > 0, "the error was lost"


RANDOM = ("ledger", "memory", "reports")  # these draw at random, or know their place


def fails(act) -> bool:
    try:
        act()
    except (OSError, ValueError) as error:
        return "No space left" in str(error)
    return False


KILLED = """
import os, signal, sys
from discreet._base import files
from pathlib import Path
{writers}
folder, step, call = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


class Deadly:
    left = call

    def __getattr__(self, name):
        real = getattr(os, name)
        if name != step:
            return real

        def dies(*arguments, **options):
            Deadly.left -= 1
            if Deadly.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return dies


for writer in ALL:  # everything is loaded before the first fork
    (folder / writer.__name__).mkdir()
    writer(folder / writer.__name__, False)
for writer in ALL:
    room = folder / writer.__name__
    old = {{path.name: path.read_bytes() for path in room.iterdir()}}
    child = os.fork()
    if child == 0:
        files.os = Deadly()
        writer(room, True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    new = {{path.name: path.read_bytes() for path in room.iterdir() if not path.name.endswith((".partial", ".lock"))}}
    assert new.keys() == {{name for name in old if not name.endswith(".lock")}}, (writer, list(new))
    changed = [name for name in new if new[name] != old[name]]
    if step == "replace" and call == 1:
        assert os.WIFSIGNALED(status) and not changed, writer
    copy = folder / f"{{writer.__name__}}-again"
    copy.mkdir()
    for name in new:
        (room / name).rename(copy / name)
    if writer.__name__ not in {random}:
        whole = folder / f"{{writer.__name__}}-whole"
        whole.mkdir()
        writer(whole, True)
        for name in changed:
            assert new[name] == (whole / name).read_bytes(), (writer, name)
print("all whole")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 is for systems that have it")
@pytest.mark.parametrize(
    ("step", "call"), [("open", 1), ("fsync", 1), ("replace", 1), ("replace", 2), ("fsync", 2)]
)
@pytest.mark.integration
def test_a_process_killed_at_any_step_leaves_whole_files(tmp_path, step, call):
    script = KILLED.format(writers=WRITERS, random=RANDOM)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path), step, str(call)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "all whole\n", done.stderr


def test_planted_writing_in_place_is_seen(tmp_path, monkeypatch):
    def in_place(parts, *, mode=None, before=None):
        for path, writer in parts:
            with path.open("wb") as file:
                file.write(b"<p")
                module.os.fsync(file.fileno())
                writer(file)

    monkeypatch.setattr(module, "write_files", in_place)
    with pytest.raises(AssertionError):
        test_an_error_leaves_the_old_file_or_the_new_one_and_nothing_else(
            tmp_path, monkeypatch, planted_page, "fsync"
        )


def planted_page(folder, second):
    written = made["page"](folder, second)
    if second:
        assert written.read_bytes() == b"<p>" * 2, "half a file"
    return written


def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    steps = []

    class Watched:
        def __getattr__(self, name):
            real = getattr(os, name)
            if name not in ("fsync", "replace"):
                return real

            def told(*arguments):
                place = Path(f"/proc/self/fd/{arguments[0]}") if name == "fsync" else Path(arguments[1])
                steps.append((name, "folder" if place.is_dir() else "file"))
                return real(*arguments)

            return told

    monkeypatch.setattr(module, "os", Watched())
    write_files([(tmp_path / name, lambda file: file.write(b"1")) for name in ("one", "two")])
    assert steps == [("fsync", "file")] * 2 + [("replace", "file")] * 2 + [("fsync", "folder")]


def test_modes(tmp_path):
    old = os.umask(0o027)
    try:
        write_whole(b"1", tmp_path / "shown", "it")
        write_whole(b"1", tmp_path / "secret", "it", secret=True)
        (tmp_path / "kept").write_bytes(b"0")
        (tmp_path / "kept").chmod(0o604)
        (tmp_path / "was open").write_bytes(b"0")
        (tmp_path / "was open").chmod(0o666)
        write_whole(b"1", tmp_path / "kept", "it")
        write_whole(b"1", tmp_path / "was open", "it", secret=True)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"shown": 0o640, "secret": 0o600, "kept": 0o604, "was open": 0o600}


def test_all_are_complete_before_the_first_takes_its_place(tmp_path):
    (tmp_path / "one").write_bytes(b"old")

    def breaks(file):
        file.write(b"half")
        raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        write_files([(tmp_path / "one", lambda file: file.write(b"new")), (tmp_path / "two", breaks)])
    assert contents(tmp_path) == {"one": b"old"}
    with pytest.raises(KeyError):
        write_file(tmp_path / "one", lambda file: file.write(b"new"), before=lambda: {}["gone"])
    assert contents(tmp_path) == {"one": b"old"}


def test_a_long_name_has_room_for_the_other_one(tmp_path):
    name = "ä" * 120  # 240 bytes of at most 255
    write_file(tmp_path / name, lambda file: file.write(b"1"))
    assert contents(tmp_path) == {name: b"1"}


def test_a_plain_file_and_no_other(tmp_path):
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    with open_plain(tmp_path / "file") as file:
        assert file.read() == b"1"
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=r"symbolic links|no plain file"):
            open_plain(tmp_path / name)


def test_a_lock_beside_keeps_another_process_out(tmp_path):
    script = (
        "import sys; from pathlib import Path; from discreet._base.files import lock_beside\n"
        "with lock_beside(Path(sys.argv[1])): print('in')"
    )
    with lock_beside(tmp_path / "x"):
        other = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "x")], stdout=subprocess.PIPE, text=True
        )
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(2)
    assert other.communicate(timeout=60)[0] == "in\n"


def test_files_and_locks_are_made_in_one_place():
    words = re.compile(
        r"\b(mkstemp|NamedTemporaryFile|fcntl|msvcrt|O_NOFOLLOW|O_DIRECTORY|os\.replace|fchmod)\b|\.write_(?:text|bytes)\("
    )
    found = {
        path.relative_to(SOURCE).as_posix(): sorted(set(words.findall(path.read_text())))
        for path in SOURCE.rglob("*.py")
        if words.search(path.read_text())
    }
    assert found.keys() == {"_base/files.py", "privacy/ledger/file.py"}
    assert found["privacy/ledger/file.py"] == ["O_NOFOLLOW"]  # asked for by getattr, to lock what it opens


# What Windows lacks, or does otherwise, taken from this system before anything of ours is loaded.
WINDOWS = """
import errno, os, sys, types
import numpy, scipy.sparse, numba  # not ours to test

import signal, socketserver  # and what of Python's own library asks for them
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
real_open, real_replace, real_rename = os.open, os.replace, os.rename
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "fchmod", "fork"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("geteuid", "getuid", "getgid", "sched_getaffinity", "getloadavg", "killpg", "mkfifo", "chown"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM", "alarm", "setitimer"):
    if hasattr(signal, name):
        delattr(signal, name)
locked = []
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_LOCK, msvcrt.LK_UNLCK = 1, 0
msvcrt.locking = lambda handle, what, n: locked.append(what)
sys.modules["msvcrt"] = msvcrt


def is_open(path):
    try:
        wanted = os.stat(path)
    except FileNotFoundError:
        return False
    for handle in os.listdir("/proc/self/fd"):
        try:
            found = os.fstat(int(handle))
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False


def open_no_folder(path, *rest, **options):
    if not isinstance(path, int) and os.path.isdir(path):
        raise PermissionError(errno.EACCES, "a folder cannot be opened", os.fspath(path))
    return real_open(path, *rest, **options)


def replace(source, target, **options):
    if is_open(source) or is_open(target):
        raise PermissionError(errno.EACCES, "it is open", os.fspath(target))
    return real_replace(source, target, **options)


def rename(source, target, **options):
    if os.path.exists(target):
        raise FileExistsError(errno.EEXIST, "it exists", os.fspath(target))
    return real_rename(source, target, **options)


os.open, os.replace, os.rename = open_no_folder, replace, rename
"""


@pytest.mark.integration
def test_nothing_needs_what_windows_lacks(tmp_path):
    script = (
        WINDOWS
        + WRITERS
        + textwrap.dedent("""
        folder = Path(sys.argv[1])
        for writer in ALL:
            (folder / writer.__name__).mkdir()
            writer(folder / writer.__name__, False)
            writer(folder / writer.__name__, True)
        assert locked and locked.count(1) == locked.count(0)

        import discreet
        from discreet import Ledger, Release, PrivateLDA, Corpus, read_corpus
        rng = np.random.default_rng(0)
        (folder / "release").mkdir()
        counts = rng.poisson(1.0, (300, 12))
        corpus = Corpus(counts, [f"w{i}" for i in range(12)], words_are_public=True)
        book = Ledger.open(folder / "ledger.json", 60.0, 1e-6, privacy_unit="document")
        model = PrivateLDA(2, epsilon=50.0, delta=1e-7, ledger=book, allow_unlearnable=True).fit(corpus)
        assert len(Ledger.open(folder / "ledger.json").entries) == 1
        model.release_.save(folder / "release")
        loaded = Release.load(folder / "release")
        assert np.array_equal(loaded.topic_word, model.release_.topic_word)
        import importlib, pkgutil
        for found in pkgutil.walk_packages(discreet.__path__, "discreet."):
            if found.name != "discreet.__main__":  # which runs the command
                try:
                    importlib.import_module(found.name)
                except ModuleNotFoundError as error:  # an optional package; never one that Windows lacks
                    assert sys.modules.get(error.name, "") is not None, (found.name, error.name)
        print("done")
    """)
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-3000:]


def test_without_any_locks_nothing_is_booked(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with pytest.raises(discreet.PrivacyError, match="no locks"):
        discreet.Ledger.open(tmp_path / "x.json", 1.0, 1e-6, privacy_unit="document")
    assert not (tmp_path / "x.json").exists()
