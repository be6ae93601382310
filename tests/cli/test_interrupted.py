"""Ctrl-C: what was booked is said, and what to do; typer alone ends without a word."""

import importlib
import json
import re
import shlex
import sys
from contextlib import suppress

import pytest

from discreet import Ledger
from discreet._base import progress
from discreet.cli import display
from discreet.cli.app import run
from discreet.errors import ReleaseError
from discreet.privacy.accounting import events


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.jsonl"
    rows = [{"text": "nurse ward bed"}, {"text": "storm coast law"}] * 300
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fit(notes, *more):
    line = ["fit", notes, "--epsilon", 20, "--topics", 2, "--out", notes.parent / "m", "--quiet", *more]
    return run([str(part) for part in line])


def test_what_was_booked_is_said(notes, tmp_path, monkeypatch, capsys):
    book = tmp_path / "ledger.json"

    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.central._fit_topics.fit_booked", interrupted)  # after the bookings
    assert fit(notes, "--ledger", book) == 130
    said = capsys.readouterr().err
    assert "interrupted: no result was written." in said
    assert f"{book} has booked 20 for this run, which stays spent" in said
    assert "What is left may not pay for the same again" in said
    large = tmp_path / "large.json"
    assert fit(notes, "--ledger", large, "--budget", 50) == 130
    said = capsys.readouterr().err
    assert "run the same command again" in said
    told = float(re.findall(r"may spend about ([\d.]+):", said)[0])
    assert told > 30  # as the next question says: more than 50 - 20
    assert told == pytest.approx(Ledger.open(large).remaining().epsilon, rel=0.005)
    assert Ledger.open(book).spent().epsilon == pytest.approx(20, rel=1e-3)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("raised", "code", "first"),
    [
        (KeyboardInterrupt(), 130, "interrupted. The result was written"),
        (OSError(28, "No space left on device", "r.html"), 2, "cannot use r.html: No space left on device"),
        (ReleaseError("r.html exists already."), 2, "r.html exists already. The result was written"),
    ],
)
def test_a_result_that_stands_is_not_called_lost(notes, tmp_path, monkeypatch, capsys, raised, code, first):
    def fails(*given, **more):
        raise raised

    book, shares = tmp_path / "ledger.json", tmp_path / "s.json"
    report = ["--report", tmp_path / "r.html", "--ledger", book]
    with monkeypatch.context() as patch:
        patch.setattr("discreet.Release.to_html", fails)
        patch.setattr("discreet.release.PrevalenceRelease.to_html", fails)
        assert fit(notes, *report, "--budget", 30) == code
        of_topics = capsys.readouterr().err
        line = ["prevalence", tmp_path / "m", notes, "--out", shares, "--quiet", "--epsilon", 1, *report]
        assert run([str(part) for part in line]) == code
        of_shares = capsys.readouterr().err
    for said, place in ((of_topics, tmp_path / "m"), (of_shares, shares)):
        assert first in said
        assert "no result" not in said
        assert "larger budget" not in said
        assert f"written before that, whole, to {place};" in said
        assert f"{book}: Of epsilon 30, 2" in said
        advice = re.findall(r"`(discreet report .*) --out FILE`", said)[0]
        page = tmp_path / f"{place.stem}.html"
        assert run([*shlex.split(advice)[1:], "--out", str(page)]) == 0
        assert page.exists()
    with monkeypatch.context() as patch:
        patch.setattr("discreet.cli.files.write_whole", fails)
        line = ["prevalence", tmp_path / "m", notes, "--out", tmp_path / "t.json", "--quiet"]
        assert run([str(part) for part in line]) == code  # the card
    assert f"whole, to {tmp_path / 't.json'};" in capsys.readouterr().err
    assert fit(notes.with_name("none")) == 2  # what was written before is another run's
    assert "written before" not in capsys.readouterr().err


def test_a_refused_run_leaves_no_ledger_behind_that_would_fix_a_unit(notes, tmp_path, capsys):
    book = tmp_path / "ledger.json"
    assert fit(notes, "--ledger", book, "--budget", 1) == 2  # epsilon is 20
    assert "budget" in capsys.readouterr().err
    assert not book.exists()
    Ledger.open(book, 1.0, privacy_unit="person")
    assert fit(notes, "--ledger", book) == 2  # of another unit; somebody else made it, and it stays
    assert Ledger.open(book).privacy_unit == "person"
    used = Ledger.open(tmp_path / "used.json", 1.0)
    used.reserve(events.gaussian(10.0), "something")
    used.discard_if_unused()
    assert (tmp_path / "used.json").exists()


def test_where_nothing_was_booked_that_is_said(notes, tmp_path, monkeypatch, capsys):
    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.central._fit_topics.book_together", interrupted)
    assert fit(notes, "--ledger", tmp_path / "ledger.json") == 130
    assert "Nothing was booked on" in capsys.readouterr().err
    assert fit(notes) == 130
    assert "No ledger in a file was open" in capsys.readouterr().err


def test_nothing_was_booked_where_it_is_still_loading(monkeypatch, capsys):
    class Pressed:
        @staticmethod
        def find_spec(name, *where):
            if name == "discreet.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "discreet.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Pressed, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        importlib.reload(sys.modules["discreet.cli"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "discreet: interrupted: nothing was read or booked.\n"


def test_a_message_stands_on_a_line_of_its_own_below_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    with suppress(KeyboardInterrupt), display.progress() as callback:
        callback("reading", 0, 9)
        raise KeyboardInterrupt
    assert re.fullmatch(r"\rreading .* 0/9  0 s\n", capsys.readouterr().err)
    with display.progress() as callback:
        callback("reading", 9, 9)
    assert capsys.readouterr().err.count("\n") == 1
