"""What is said of slips of a first hour: what to type instead."""

import json
import re

import pytest

from discreet import BudgetExceeded, Corpus, Ledger, ParameterError, PrivateLDA
from discreet.cli.app import run
from discreet.corpus import Tokenizer
from discreet.privacy.accounting import events


@pytest.mark.parametrize("command", ["read", "transform", "evaluate"])
def test_an_option_that_is_given_by_name_here_is_written_so(command, capsys):
    for option, said in (
        ("--encoding", "--read encoding=VALUE"),
        ("--delimiter", "--read delimiter=VALUE"),
    ):
        assert run([command, "m", "f.csv", option]) == 2
        assert f"write {said};" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fit f.csv --sep ;", "write --read delimiter=VALUE;"),
        ("fit f.csv --random-state 1", "write --seed;"),
        ("fit f.csv -o m", "write --out;"),
        ("check f.csv --column body", "write --text;"),
        ("check f.csv --unit person", "write --person FIELD;"),
        ("topics m --format json", "write --json;"),
        ("prevalence m f.csv --freq month", "write --every;"),
        ("budget b.json", "argument(s) (b.json); a ledger is named by --ledger;"),
        ("budget b", "argument(s) (b); see"),
        ("topics m -o x", "No such option: -o; see"),  # it has no --out
    ],
)
def test_what_other_tools_call_an_option_is_understood(line, said, capsys):
    assert run(line.split()) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Possible options" not in told


def test_a_list_of_stop_words_that_is_not_there_is_said_to_be_missing(tmp_path, capsys):
    (tmp_path / "notes.csv").write_text("text\nbed\n")
    assert run(["check", str(tmp_path / "notes.csv"), "--stop-words", "english,mine.txt"]) == 2
    assert "--stop-words: mine.txt cannot be read (No such file" in capsys.readouterr().err


def test_a_file_where_a_folder_is_meant_is_not_said_to_be_missing(tmp_path, capsys):
    (tmp_path / "notes.csv").write_text("text\nbed\n")
    out = tmp_path / "notes.csv" / "model"
    assert run(["fit", str(tmp_path / "notes.csv"), "--out", str(out)]) == 2
    assert f"--out {out}: there is no folder {out.parent};" in capsys.readouterr().err


def test_what_is_left_on_a_ledger_is_shown(tmp_path, capsys):
    book = tmp_path / "budget.json"
    ledger = Ledger.open(book, 2.0, privacy_unit="person")
    ledger.reserve(events.gaussian(5.0), "topics of May")
    assert run(["budget", "--ledger", str(book)]) == 0
    said = capsys.readouterr().out
    assert "1  topics of May  Gaussian noise, multiplier 5" in said
    assert re.search(
        r"Of epsilon 2, 0\.8\d+ is spent; another fit on these texts may spend about 1\.\d", said
    )
    assert "Each person is protected, at delta = 1e-06." in said
    assert run(["budget", "--ledger", str(book), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["left"] == ledger.remaining().epsilon
    assert told["ledger"] == ledger.to_json()
    assert run(["budget", "--ledger", str(tmp_path / "none.json")]) == 2
    assert "none.json' does not exist" in capsys.readouterr().err


def test_files_of_shares_are_not_told_to_be_read_by_python_alone(tmp_path, capsys):
    (tmp_path / "s.json").write_text("{}")
    assert run(["compare", str(tmp_path / "s.json"), str(tmp_path / "s.json")]) == 2
    assert "of two folders; `discreet report` shows a file of shares" in capsys.readouterr().err


def test_a_slip_of_an_option_is_told_the_near_ones_alone(capsys):
    for line, said in (
        ("fit f.csv --topic 5", "(Possible options: --topics)"),
        ("prevalence m f.csv --group x", "(Possible options: --groups)"),
        ("prevalence m f.csv --topic x", "No such option: --topic; see"),
    ):
        assert run(line.split()) == 2
        assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path, capsys):
    assert run(["topics", str(tmp_path / "none.json")]) == 2
    assert "does not exist; check the path" in (said := capsys.readouterr().err)
    assert "PrevalenceRelease" not in said


def test_a_ledger_is_no_page(tmp_path, capsys):
    book = tmp_path / "budget.json"
    Ledger.open(book, 1.0)
    assert run(["report", str(book), "--out", str(tmp_path / "x.html")]) == 2
    assert "budget.json is a ledger" in capsys.readouterr().err
    fit = tmp_path / "ev.json"
    fit.write_text('{"ledger": {"schema": "discreet.ledger/3"}, "schema": "discreet.fit/3"}')
    assert run(["report", str(fit), "--out", str(tmp_path / "x.html")]) == 2
    assert f"report MODEL --fit {fit}" in "".join(capsys.readouterr().err.splitlines())


@pytest.mark.parametrize(
    ("typed", "meant"), [("fran\u00e7ais", "french"), ("Deutsch", "german"), ("germn", "german")]
)
def test_a_language_by_another_name_is_recognised(typed, meant):
    with pytest.raises(ParameterError, match=rf"Did you mean {meant}\?"):
        Tokenizer(stop_words=typed)


def test_a_ledger_of_which_nothing_is_left_says_so():
    ledger = Ledger(1.0)
    corpus = Corpus([[1, 2, 1]] * 400, ["ward", "bed", "law"], words_are_public=True)
    PrivateLDA(1, epsilon=1.0, ledger=ledger, allow_unlearnable=True, random_state=0).fit(corpus)
    with pytest.raises(BudgetExceeded, match=r"Nothing is left: only a larger budget"):
        PrivateLDA(1, epsilon=1.0, ledger=ledger).fit(corpus)
