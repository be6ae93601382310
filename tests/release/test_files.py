"""A release as a folder: exact, whole or not at all, and refused when anything is off."""

import json
import math
import os
import pickle
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from tests.release.hostile_files import MODEL, VOCABULARY, rewrite, take_apart, with_entries, write_words
from tests.report.report_cases import HOSTILE, release

from discreet.errors import ReleaseError
from discreet.privacy import Ledger
from discreet.privacy.accounting import events
from discreet.privacy.ledger.filter import Standing
from discreet.privacy.ledger.reservation import Entry
from discreet.release import Release
from discreet.release import files as file_format

ODD_SETTINGS = {
    "epsilon": math.inf,
    "low": -math.inf,
    "text": "inf",
    "number": 1,
    "float": 1.0,
    "truth": True,
    "tiny": 5e-324,
    "third": 1 / 3,
    "odd \ud800 <name>": "\u2028 and \x00",
    "large": 2**63 - 1,
}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    release().save(path)
    return path


def refused(path, match=None):
    with pytest.raises(ReleaseError, match=match) as caught:
        Release.load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------------
# writing and reading


@pytest.mark.parametrize(
    "made",
    [
        release(),
        release(n_topics=1, n_words=1),
        release(weights=False, noise=None),
        release(reproducible=True, vocabulary_booked=True),
        release(epsilon=math.inf, noise=0.0),
        release(words=HOSTILE, settings=ODD_SETTINGS),
        release(settings={}),
    ],
    ids=["plain", "least", "bare", "seeded", "infinite", "hostile words", "no settings"],
)
def test_what_is_saved_is_loaded_to_the_last_bit(made, tmp_path):
    made.save(tmp_path / "model")
    found = Release.load(tmp_path / "model")
    assert found == made
    for name in ("topic_word", "topic_weight", "word_weight", "topic_word_noise"):
        mine, yours = getattr(made, name), getattr(found, name)
        assert (mine is None) == (yours is None)
        assert mine is None or mine.tobytes() == yours.tobytes()
    assert found.vocabulary == made.vocabulary
    assert [type(value) for value in found.configuration.values()] == [
        type(value) for value in made.configuration.values()
    ]
    assert (found.guarantee, found.determinism, found.card()) == (
        made.guarantee,
        made.determinism,
        made.card(),
    )
    found.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "model")


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_the_same_release_gives_the_same_bytes(tmp_path):
    settings = {"b": 1, "a": 2.5}
    release(settings=settings).save(tmp_path / "one")
    time.sleep(0.01)
    release(settings=dict(reversed(settings.items()))).save(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.integration
def test_other_processes_write_the_same_bytes(tmp_path):
    """Hashes of text are salted in each process; nothing may depend on their order."""
    code = "from tests.report.report_cases import HOSTILE, release; release(words=HOSTILE).save('{}')"
    for name in ("one", "two"):
        subprocess.run(
            [sys.executable, "-c", code.format(tmp_path / name)],
            check=True,
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "PYTHONHASHSEED": name.replace("one", "1").replace("two", "2")},
        )
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_folder_holds_three_files_that_others_may_read(folder):
    assert sorted(contents(folder)) == ["README.md", "model.safetensors", "vocabulary.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~umask
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_others_can_read_the_arrays_and_the_promise(folder):
    from safetensors import safe_open

    with safe_open(folder / MODEL, "np") as file:
        assert set(file.keys()) == {"topic_word", "topic_weight", "word_weight", "topic_word_noise"}
        assert list(file.metadata()) == ["discreet"]
        metadata = json.loads(file.metadata()["discreet"])
    promise = release().promise
    assert metadata["guarantee"] == {
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "privacy_unit": "document",
        "neighboring": "add_or_remove_one",
    }
    assert (folder / VOCABULARY).read_text().split("\n")[:2] == ["word00000", "word00001"]


def test_a_link_to_a_folder_can_be_loaded(folder, tmp_path):
    (tmp_path / "latest").symlink_to(folder)
    assert Release.load(tmp_path / "latest") == release()
    assert Release.load(str(folder) + "/") == release()


def test_reading_does_not_change_anything(folder):
    before = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}
    Release.load(folder)
    assert before == {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}


# ---------------------------------------------------------------------------------------------------------------
# whole or not at all


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    mine = tmp_path / "model"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(
        ReleaseError, match=r"expected a new or empty folder, but .*/model is not; name another"
    ):
        release().save(mine)
    assert contents(mine) == {"thesis.tex": b"years of work"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_file_a_link_or_no_parent_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link", "dangling"):
        with pytest.raises(ReleaseError, match="expected a new or empty folder"):
            release().save(tmp_path / name)
    with pytest.raises(ReleaseError, match=r"the folder .*/no does not exist; make it first"):
        release().save(tmp_path / "no" / "model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "empty", "file", "link"]


def test_an_empty_folder_is_filled(tmp_path, monkeypatch):
    release().save(tmp_path)
    assert Release.load(tmp_path) == release()
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    (tmp_path / "inside" / "model").mkdir()
    release().save("model")
    assert Release.load("model") == release()


def test_who_comes_second_is_told(tmp_path, monkeypatch):
    made, path = release(), tmp_path / "model"
    rename = Path.rename

    def late(self, target):
        path.mkdir()
        (path / "other").write_text("first")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(ReleaseError, match="filled by somebody else meanwhile"):
        made.save(path)
    assert contents(path) == {"other": b"first"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    done = []

    def full(handle):
        done.append(handle)
        if len(done) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        release().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from tests.report.report_cases import release
from discreet.errors import ReleaseError
from discreet.release import Release, files

def careless(made, folder):
    '''The plausible mistake: write the files where they shall stand.'''
    made.save(folder.with_name("elsewhere"))
    folder.mkdir()
    for file in sorted(folder.with_name("elsewhere").iterdir(), reverse=True):
        with (folder / file.name).open("wb") as out:
            out.write(file.read_bytes()); out.flush(); os.fsync(out.fileno())

def dies_at(step, save, folder):
    '''Save in a child that is killed at its step-th change to the disk.'''
    child = os.fork()
    if child == 0:
        left = [step]
        def counted(function):
            def call(*arguments, **named):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*arguments, **named)
            return call
        for name in ("fsync", "rename", "mkdir"):
            setattr(os, name, counted(getattr(os, name)))
        save(made, folder)
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL

made, root = release(n_words=2000), Path(sys.argv[1])
made.guarantee
for save in (Release.save, careless):
    step, outcomes = 1, []
    while True:
        where = root / f"{save.__name__}{step}"
        where.mkdir()
        folder = where / "model"
        killed = dies_at(step, save, folder)
        if not folder.exists():
            outcomes.append("absent")
        else:
            try:
                outcomes.append("whole" if Release.load(folder) == made else "other")
            except ReleaseError:
                outcomes.append("broken")
        shutil.rmtree(where)
        if not killed:
            break
        step += 1
    print(save.__name__, *outcomes)
"""


@pytest.mark.integration
def test_kill_9_leaves_no_folder_or_a_whole_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    ours, careless = done.stdout.strip().split("\n")
    name, *outcomes = ours.split()
    assert name == "save"
    assert len(outcomes) >= 8
    assert set(outcomes) == {"absent", "whole"}
    assert outcomes == sorted(outcomes)  # once it is there, it stays
    assert "broken" in careless  # the same check finds the mistake


# ---------------------------------------------------------------------------------------------------------------
# hostile and damaged folders


def test_folders_that_hold_no_release(tmp_path, folder):
    refused(tmp_path / "nowhere", "expected a folder with a release, but .*nowhere does not exist")
    refused(folder / MODEL, "expected a folder with a release")
    refused("a\0b", "expected a folder with a release")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no release in .*empty: vocabulary.txt cannot be opened .No such")
    (folder / MODEL).unlink()
    refused(folder, "model.safetensors cannot be opened .No such file")


@pytest.mark.parametrize("name", [MODEL, VOCABULARY])
def test_links_pipes_and_folders_are_no_files(folder, name, tmp_path):
    right = tmp_path / "right"
    (folder / name).rename(right)
    (folder / name).symlink_to(right)
    refused(folder, "a symbolic link")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    start = time.monotonic()
    refused(folder, "no plain file")  # and does not wait for somebody to write into the pipe
    assert time.monotonic() - start < 5
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, "no plain file")
    (folder / name).rmdir()
    right.rename(folder / name)
    assert Release.load(folder) == release()


def test_a_file_without_permission_is_an_error_of_ours(folder):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (folder / MODEL).chmod(0)
    refused(folder, "Permission denied")


@pytest.mark.parametrize("name", [MODEL, VOCABULARY])
def test_other_formats_in_disguise_are_refused_unread(folder, name, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.savez(tmp_path / "a.npz", topic_word=release().topic_word)
    np.save(tmp_path / "a.npy", release().topic_word)
    for raw in (
        pickle.dumps(Trap()),
        (tmp_path / "a.npz").read_bytes(),
        (tmp_path / "a.npy").read_bytes(),
        b"",
        b"\0" * 8,
        b"\0" * 100,
        b"\xff" * 100,
        b"{}",
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x80\x81 not text",
    ):
        (folder / name).write_bytes(raw)
        refused(folder)
    assert not (tmp_path / "sprung").exists()


def test_files_cut_off_anywhere_are_refused(folder):
    whole = (folder / MODEL).read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for length in {*range(0, header, 97), header - 1, header, header + 1, len(whole) - 8, len(whole) - 1}:
        (folder / MODEL).write_bytes(whole[:length])
        refused(folder)
    (folder / MODEL).write_bytes(whole + b"\0")
    refused(folder)
    (folder / MODEL).write_bytes(whole)
    words = (folder / VOCABULARY).read_bytes()
    for length in range(0, len(words), 31):
        (folder / VOCABULARY).write_bytes(words[:length])
        refused(folder)


def test_sizes_are_bounded_before_anything_is_read(folder):
    """Sparse files of absurd size: nobody has that memory, so reading them would be noticed."""
    for name in (VOCABULARY, MODEL):
        right = (folder / name).read_bytes()
        with (folder / name).open("r+b") as file:
            file.truncate(2**42)
        refused(folder, "larger than a release can be")
        with (folder / name).open("wb") as file:
            file.write(right)
    with (folder / MODEL).open("r+b") as file:
        file.truncate(12 * 2**30)
    refused(folder, "bytes of numbers, but holds")
    with (folder / MODEL).open("r+b") as file:
        file.write((2**33).to_bytes(8, "little"))
    refused(folder, "not a safetensors file of discreet")


@pytest.mark.parametrize(
    "schema", ["discreet.release/1", "discreet.release/99", "other/1", None, 1, "x" * 10_000]
)
def test_other_schemas_say_what_is_understood(folder, schema):
    rewrite(folder, lambda metadata: {"schema": schema, "whatever": "it holds"})
    said = refused(
        folder, r"model.safetensors holds no release of schema discreet.release/2, which this version"
    )
    assert ("the version of discreet that wrote it" in said) == str(schema).startswith("discreet")


def test_a_later_schema_is_named_before_its_unknown_arrays(folder):
    rewrite(
        folder,
        lambda metadata: {**metadata, "schema": "discreet.release/3"},
        lambda header: {
            **{k: v for k, v in header.items() if k != "topic_weight"},
            "new": header["topic_weight"],
        },
    )
    refused(folder, "open it with the version of discreet that wrote it")


def entry(name, **changes):
    return lambda header: {**header, name: {**header[name], **changes}}


def repeats(place):
    """Return a change of a header's text after which one name comes twice, first with another value."""
    lie = '{"dtype": "F64", "shape": [1, 1], "data_offsets": [0, 8]}'
    return {
        "an array": lambda text: text.replace("{", '{"topic_word": ' + lie + ", ", 1),
        "the metadata": lambda text: text.replace("{", '{"__metadata__": {}, ', 1),
        "a shape": lambda text: text.replace('"shape":', '"shape":[1,1],"shape":', 1),
        "the metadata's key": lambda text: text.replace('"discreet":', '"discreet":"{}","discreet":', 1),
    }[place]


@pytest.mark.parametrize("place", ["an array", "the metadata", "a shape", "the metadata's key"])
def test_a_name_that_comes_twice_in_the_header_is_refused(folder, place):
    path = folder / MODEL
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + length].decode()
    changed = repeats(place)(header)
    assert json.loads(changed) == json.loads(header)
    assert changed != header
    path.write_bytes(len(changed.encode()).to_bytes(8, "little") + changed.encode() + raw[8 + length :])
    with pytest.raises(ReleaseError, match="holds a name twice"):
        Release.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: {k: v for k, v in h.items() if k != "__metadata__"}, "lacks the metadata key"),
        (lambda h: {**h, "__metadata__": {**h["__metadata__"], "format": "pt"}}, "or has others"),
        (lambda h: {**h, "__metadata__": {"discreet": 3}}, "lacks the metadata key"),
        (lambda h: {**h, "__metadata__": []}, "lacks the metadata key"),
        (
            lambda h: {k: v for k, v in h.items() if k != "topic_word"},
            "must hold topic_word and no arrays but",
        ),
        (lambda h: {**h, "documents": h["topic_word"]}, "must hold topic_word and no arrays but"),
        (lambda h: {**h, "topic_word": None}, "topic_word .* no shape"),
        (lambda h: {**h, "topic_word": []}, "topic_word .* no shape"),
        (entry("topic_word", dtype="F32"), "must be float64"),
        (entry("topic_word", dtype="I64"), "must be float64"),
        (entry("topic_word", dtype=7), "must be float64"),
        (entry("topic_word", shape=[60, 5]), "must have 5 words, one for each column, but has 60"),
        (entry("topic_word", shape=[300]), r"must have shape \(n_topics, n_words\)"),
        (entry("topic_word", shape=[5, 60, 1]), "impossible"),
        (entry("topic_word", shape=[5.0, 60]), "impossible"),
        (entry("topic_word", shape=[True, 60]), "impossible"),
        (entry("topic_word", shape=[-5, 60]), "impossible"),
        (entry("topic_word", shape=[0, 60]), "impossible"),
        (entry("topic_word", shape=[10**400, 60]), "impossible"),
        (entry("topic_word", shape=["5", 60]), "impossible"),
        (entry("topic_word", shape=[]), "impossible"),
        (entry("word_weight", shape=[59]), "bytes of numbers, but holds"),
        (entry("topic_weight", shape=[6]), "bytes of numbers, but holds"),
        (entry("topic_word", data_offsets=[0, 8]), None),
        (entry("topic_word", data_offsets=[-8, 2392]), None),
        (entry("topic_word", data_offsets=[2**63, 2**64]), None),
        (entry("topic_word", data_offsets="0"), None),
        (entry("topic_word", extra=1), None),
    ],
)
def test_headers_that_lie_are_refused(folder, change, message):
    rewrite(folder, None, change)
    refused(folder, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n[:-8] + np.float64(np.nan).tobytes(), "finite"),
        (lambda n: n[:-8] + np.float64(np.inf).tobytes(), "finite"),
        (lambda n: n[:-8] + np.float64(-0.1).tobytes(), "not negative"),
        (lambda n: n[:-8] + np.float64(0.9).tobytes(), "sum to 1"),
        (lambda n: b"\0" * len(n), "sum to 1"),
    ],
)
def test_numbers_that_are_no_probabilities_are_refused(folder, change, message):
    rewrite(folder, None, None, change)
    refused(folder, message)


def metadata_with(**changes):
    return lambda metadata: {**metadata, **changes}


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: "no JSON", "JSON that cannot be read"),
        (lambda m: "[]", "must hold a JSON object"),
        (lambda m: "", "JSON that cannot be read"),
        (lambda m: nested(100_000), "JSON that cannot be read"),
        (lambda m: '{"a":' * 100_000 + "1" + "}" * 100_000, "JSON that cannot be read"),
        (lambda m: '{"schema": ' + "9" * 100_000 + "}", "JSON that cannot be read"),
        (lambda m: '{"schema": "a", "schema": "b"}', "holds a name twice"),
        (lambda m: json.dumps(m)[:-1] + ', "schema": "discreet.release/1"}', "holds a name twice"),
        (lambda m: json.dumps({**m, "n_units_noisy": math.nan}), "JSON that cannot be read"),
        (lambda m: json.dumps({**m, "n_units_noisy": math.inf}), "JSON that cannot be read"),
        (metadata_with(n_units_noisy=10**400), "n_units_noisy must be finite, or None"),
        (metadata_with(n_units_noisy="12"), "n_units_noisy must be finite, or None"),
        (metadata_with(n_units_noisy=[1]), "n_units_noisy must be finite, or None"),
        (metadata_with(n_units_noisy=1234), "does not match its own content"),
        (metadata_with(more=1), "does not match its own content"),
        (lambda m: {k: v for k, v in m.items() if k != "n_units_noisy"}, "does not match its own"),
        (lambda m: json.dumps(m, sort_keys=True, indent=1), "does not match its own"),
        (lambda m: json.dumps(dict(reversed(m.items()))), "does not match its own"),
        (metadata_with(configuration=[]), "settings .* must be a JSON object"),
        (metadata_with(configuration={"a": None}), "'a' is None"),
        (metadata_with(configuration={"a": {"float": "nan"}}), "'a' is None"),
        (metadata_with(configuration={"a": {"float": []}}), "'a' is None"),
        (metadata_with(configuration={"a": {"float": "inf", "b": 1}}), "does not match its own"),
        (lambda m: json.dumps(m).replace('"n_topics": 5', '"n_topics": 1e999'), "checksum does not fit"),
        (
            lambda m: json.dumps({**m, "guarantee": {**m["guarantee"], "epsilon": math.inf}}),
            "JSON that cannot be read",
        ),
        (
            lambda m: json.dumps({**m, "guarantee": {**m["guarantee"], "epsilon": math.nan}}),
            "JSON that cannot be read",
        ),
        (
            lambda m: json.dumps({**m, "guarantee": {**m["guarantee"], "delta": math.nan}}),
            "JSON that cannot be read",
        ),
        (lambda m: json.dumps(m).replace('"n_topics": 5', '"n_topics": 5.00'), "checksum does not fit"),
        (metadata_with(configuration={"seed": 5}), "a seed is secret"),
        (metadata_with(determinism=True), "does not match its own"),
        (metadata_with(determinism=None), "does not match its own"),
        (metadata_with(vocabulary_sha256="0" * 64), "not the one that belongs to"),
        (metadata_with(vocabulary_sha256=None), "not the one that belongs to"),
        (metadata_with(ledger=None), "ledger in model.safetensors cannot be read"),
        (metadata_with(ledger={}), "ledger in model.safetensors cannot be read"),
        (lambda m: {**m, "ledger": {**m["ledger"], "epsilon": 0.1}}, "checksum"),
        (metadata_with(guarantee=None), "must state its guarantee"),
        (metadata_with(guarantee="epsilon = 0"), "must state its guarantee"),
    ],
)
def test_metadata_that_are_off_are_refused(folder, change, message):
    rewrite(folder, change)
    refused(folder, message)


def stated(**changes):
    return lambda metadata: {**metadata, "guarantee": {**metadata["guarantee"], **changes}}


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0.01},
        {"epsilon": 1},
        {"epsilon": -1.0},
        {"epsilon": "1"},
        {"epsilon": {"float": "nan"}},
        {"delta": 1e-9},
        {"privacy_unit": "person"},
        {"neighboring": "replace_one"},
        {"neighboring": ["add_or_remove_one"]},
    ],
)
def test_a_promise_that_the_ledger_does_not_prove_is_refused(folder, changes):
    rewrite(folder, stated(**changes))
    refused(folder, "that its ledger does not prove")


def test_the_promise_is_its_figures_and_nothing_else(folder):
    """No sentence beside them, which could claim more."""
    before = (folder / MODEL).read_bytes()
    for more in ({"words": "Nobody can learn anything about anybody."}, {"more": 1}):
        rewrite(folder, stated(**more))
        refused(folder, "must state its guarantee")
        (folder / MODEL).write_bytes(before)


def test_accounting_may_improve_without_making_old_files_unreadable(folder):
    """Another version proves a little less or much more: its own figure counts."""
    made = release()
    for epsilon in (made.promise.epsilon * 0.995, made.promise.epsilon * 3):
        rewrite(folder, stated(epsilon=epsilon))
        assert Release.load(folder) == made
        assert Release.load(folder).guarantee == made.guarantee


def test_a_seed_cannot_be_denied(tmp_path):
    seeded = Ledger(2, 1e-6)
    seeded.reserve(events.gaussian(5.0), "topics (5 topics, reproducible, not for release)")
    made = release()
    Release(made.topic_word, made.vocabulary, seeded).save(tmp_path / "model")
    rewrite(tmp_path / "model", metadata_with(determinism="secure"))
    refused(tmp_path / "model", "does not match its own content")


def test_more_caution_than_needed_is_kept(folder):
    rewrite(folder, metadata_with(determinism="reproducible, not for release"))
    assert Release.load(folder).reproducible


def gaussian(multiplier):
    return {"kind": "gaussian", "noise_multiplier": multiplier}


def repeated(count, event):
    return {"kind": "repeated", "count": count, "event": event}


def sampled(rate, event):
    return {"kind": "poisson_sampled", "sampling_rate": rate, "event": event}


@pytest.mark.parametrize(
    "bookings",
    [
        [gaussian(1e-300)],
        [gaussian(5e-324)],
        [repeated(2**53, repeated(2**53, repeated(2**53, gaussian(1.0))))],
        [sampled(0.5, gaussian(1e-5))],
        [sampled(1e-300, gaussian(1e-300))],
        [{"kind": "discrete_laplace", "noise_parameter": 1e300, "sensitivity": 1}],
        [{"kind": "discrete_laplace", "noise_parameter": 1e-3, "sensitivity": 10**15}],
        [{"kind": "failure", "delta": 0.5}],
        [gaussian(math.nan)],
        [gaussian("1")],
        [gaussian(True)],
        [gaussian(10**400)],
        [{"kind": "gaussian"}],
        [{"kind": ["gaussian"]}],
        [{"kind": "composed", "events": {}}],
        [{"kind": "composed", "events": [1]}],
        [repeated(0, gaussian(1.0))],
        [repeated(10**400, gaussian(1.0))],
        [sampled(2.0, gaussian(1.0))],
        [sampled(0.5, sampled(0.5, gaussian(1.0)))],
        [None],
        [[]],
        pytest.param([gaussian(1.0 + i / 1e6) for i in range(100_000)], marks=pytest.mark.integration),
        [repeated(2, {"kind": "discrete_laplace", "noise_parameter": 3.0, "sensitivity": 2**31})],
        [{"kind": "discrete_laplace", "noise_parameter": 3.0, "sensitivity": 2**21 + i} for i in range(3)],
        [sampled(0.01, gaussian(1.0 + i / 1e6)) for i in range(500)],
        [{"kind": "discrete_laplace", "noise_parameter": 1 + i / 1e6, "sensitivity": 1} for i in range(5000)],
    ],
    ids=lambda bookings: f"{len(bookings)} {str(bookings[0])[:60]}",
)
def test_absurd_ledgers_are_refused_soon(folder, bookings):
    rewrite(folder, lambda metadata: with_entries(metadata, bookings))
    start = time.process_time()
    refused(folder)
    assert time.process_time() - start < 10


@pytest.mark.integration
def test_what_is_refused_when_reading_is_refused_when_writing(tmp_path):
    made = release()
    ledger = Ledger(math.inf, 1e-6)
    ledger.reserve(_many(101), "many")
    with pytest.raises(ReleaseError, match="book repetitions as one event"):
        Release(made.topic_word, made.vocabulary, ledger).save(tmp_path / "model")
    with pytest.raises(ReleaseError, match="settings and ledger would take more than"):
        made.with_settings(text="x" * file_format.LARGEST_HEADER).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    fits = Ledger(math.inf, 1e-6)
    fits.reserve(_many(20), "some")
    Release(made.topic_word, made.vocabulary, fits).save(tmp_path / "model")
    assert Release.load(tmp_path / "model").ledger == fits.snapshot()


def _divided(first, n_bits, part, n_later=0):
    """Return a ledger of 2**n_bits parts, no two of the same bookings, and of later ones that touch everybody."""
    ledger = Ledger(math.inf, 1e-6)
    if first is not None:
        ledger.reserve(first, "topics")
    for bit in range(n_bits):
        touched = [str(number) for number in range(2**n_bits) if number >> bit & 1]
        ledger._storage.entries += (Entry(part(bit), "shares", 2 + bit, "month", tuple(touched)),)
    ledger._storage.entries += tuple(Entry(part(0), "topics", 2 + n_bits + i) for i in range(n_later))
    return ledger.snapshot()


@pytest.mark.parametrize(
    "ledger",
    [
        lambda: _divided(events.pure(20.0), 7, lambda bit: events.gaussian(40.0 + bit)),
        lambda: _divided(_many(20), 4, lambda bit: events.gaussian(40.0 + bit)),
        lambda: _divided(None, 3, lambda bit: events.pure(20.0 + bit), 20),
        lambda: _divided(None, 10, lambda bit: events.gaussian(40.0 + bit)),
        lambda: _divided(None, 13, lambda _: events.gaussian(40.0)),
    ],
    ids=["slow histories", "slow events", "slow steps", "histories", "steps"],
)
def test_parts_cannot_decide_how_long_a_ledger_takes_to_price(ledger, folder, monkeypatch):
    """Each part that went through bookings of its own is priced by itself."""
    rewrite(folder, lambda metadata: {**metadata, "ledger": ledger().to_json()})
    with monkeypatch.context() as patch:
        patch.setattr(Standing, "after", lambda *_: pytest.fail("priced before it was refused"))
        refused(folder, "2,000 steps to price")


def test_a_ledger_of_many_months_alike_is_read(folder):
    ledger = Ledger(math.inf, 1e-6)
    ledger.reserve(events.pure(20.0), "topics")
    for number in range(200):
        ledger.reserve(events.gaussian(40.0), "shares", division="month", touched=[str(number)])
    file_format.check_ledger(ledger)  # one history for all of them
    file_format.check_ledger(_divided(events.pure(20.0), 4, lambda bit: events.gaussian(40.0 + bit)))


def _many(count):
    from dp_accounting import dp_event

    return dp_event.ComposedDpEvent([events.pure(1.0 + i / 1e6) for i in range(count)])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a\nb\n", "must have 60 words, one for each column"),
        (b"\n" * 60, "not as discreet writes it"),
        (b'""\n' * 60, "distinct"),
        (b"".join(b"w%d\r\n" % i for i in range(60)), "not as discreet writes it"),
        (b"".join(b"w%d\n" % i for i in range(60))[:-1], "not as discreet writes it"),
        (b"".join(b"w%d\n" % i for i in range(60)) + b"\n", "not as discreet writes it"),
        (b"".join(b'"w%d"\n' % i for i in range(60)), "not as discreet writes it"),
        (b"".join(b'"w%d\n' % i for i in range(60)), "a line that is not a word"),
        (b'"a" "b"\n' * 60, "a line that is not a word"),
        (b"\xff\n" * 60, "not UTF-8"),
        (b"\xed\xa0\x80\n" * 60, "not UTF-8"),
        (b"\xef\xbb\xbf" + b"".join(b"w%d\n" % i for i in range(60)), "not as discreet writes it"),
        (b"", "not as discreet writes it"),
    ],
)
def test_vocabularies_that_discreet_does_not_write_are_refused(folder, raw, message):
    write_words(folder, raw)
    refused(folder, message)


def test_words_of_another_release_are_refused(folder, tmp_path):
    release(words=("other",)).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / VOCABULARY, folder / VOCABULARY)
    refused(folder, "vocabulary.txt is not the one that belongs to model.safetensors")


def test_the_helpers_of_these_tests_change_nothing_by_themselves(folder):
    rewrite(folder, dict)
    assert Release.load(folder) == release()
    rewrite(folder, lambda metadata: {**metadata, "ledger": metadata["ledger"]})
    _, metadata, numbers = take_apart((folder / MODEL).read_bytes())
    assert metadata["schema"] == "discreet.release/2"
    assert len(numbers) == 8 * (2 * 5 * 60 + 5 + 60)
    write_words(folder, (folder / VOCABULARY).read_bytes())
    assert Release.load(folder) == release()
    rewrite(folder, lambda m: with_entries(m, [e["event"] for e in m["ledger"]["entries"]]))
    found = Release.load(folder)
    assert [entry.purpose for entry in found.ledger.entries] == ["x"]
    assert found.promise == release().promise
