"""What is said of slips of a first hour: what to type instead."""

import pytest

from discreet import BudgetExceeded, Corpus, Ledger, ParameterError, PrivateLDA
from discreet.cli.app import run
from discreet.corpus import Tokenizer


@pytest.mark.parametrize("command", ["read", "transform", "evaluate"])
def test_an_option_that_is_given_by_name_here_is_written_so(command, capsys):
    for option, said in (
        ("--encoding", "--read encoding=VALUE"),
        ("--delimiter", "--read delimiter=VALUE"),
    ):
        assert run([command, "m", "f.csv", option]) == 2
        assert f"write {said};" in capsys.readouterr().err


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
