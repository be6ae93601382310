"""Where a release is to be written is tried before anything is booked; what is paid for is not lost."""

import json
import os
import subprocess

import pytest

from discreet import Ledger, Release
from discreet.cli.app import run
from discreet.errors import ReleaseError
from discreet.release import release as releases

HOW = "--epsilon 20 --topics 2 --seed 0 --ledger b.json"


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"text": "nurse ward bed"}, {"text": "storm coast law"}] * 300
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.fixture
def full(notes):
    """Return a folder on a disk of a mebibyte."""
    folder = notes / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no small disk can be made here: mounting a tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("option", ["--out disk/m", "--out m --report disk/r.html"])
def test_a_full_disk_is_found_before_anything_is_booked(full, option, capsys):
    assert run(f"fit n.jsonl {HOW} {option}".split()) == 2
    said = capsys.readouterr().err
    assert "cannot be written: No space left on device. Nothing was booked" in said
    assert not (full.parent / "b.json").exists()
    assert not list(full.iterdir())


@pytest.mark.parametrize("place", ["file", "folder", "nowhere/m", "link", "dangling"])
def test_places_that_cannot_be_are_found_before_anything_is_booked(notes, place, capsys):
    (notes / "file").write_text("x")
    (notes / "folder").mkdir()
    (notes / "folder" / "x").write_text("x")
    (notes / "empty").mkdir()
    (notes / "link").symlink_to("empty")
    (notes / "dangling").symlink_to("ghost")
    assert run(f"fit n.jsonl {HOW} --out {place}".split()) == 2
    assert "--out" in capsys.readouterr().err
    assert not (notes / "b.json").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_found_before_anything_is_booked(notes, capsys):
    (notes / "closed").mkdir(mode=0o500)
    assert run(f"fit n.jsonl {HOW} --out closed/m".split()) == 2
    assert "cannot be written: Permission denied" in capsys.readouterr().err
    assert not (notes / "b.json").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ReleaseError("it is gone.")])
def test_what_cannot_be_written_where_it_was_asked_for_goes_beside(error, notes, monkeypatch, capsys):
    save = releases.Release.save

    def full_at_first(release, folder):
        if folder.name == "m":
            raise error
        save(release, folder)

    monkeypatch.setattr("discreet.release.release.Release.save", full_at_first)
    assert run(f"fit n.jsonl {HOW} --out m".split()) == 2
    said = capsys.readouterr().err
    reason = str(error.strerror if isinstance(error, OSError) else error).rstrip(".")
    assert f"m could not be written: {reason}. What was paid for is in " in said
    (beside,) = [path for path in notes.iterdir() if path.name.startswith("m-")]
    assert str(beside) in said
    assert Release.load(beside).vocabulary == ("bed", "coast", "law", "nurse", "storm", "ward")
    assert Ledger.open(notes / "b.json").entries
