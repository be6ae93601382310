"""Bad input: one clear line, exit code 2, no traceback, nothing half-written, no budget lost."""

import gzip
import json
import re

import pytest

from discreet import fit_topics
from discreet.cli.app import run
from discreet.errors import CorpusError
from discreet.privacy import Ledger, noise_multiplier_for
from discreet.privacy.accounting.events import gaussian

WORDS = ["ward", "nurse", "night", "pain", "sleep", "visit", "tea", "bed", "letter", "garden"]


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.jsonl"
    lines = [
        json.dumps({"body": " ".join(WORDS[i % 7 : i % 7 + 4]), "patient": f"p{i % 11}"}) for i in range(60)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return path


def refused(capsys, *arguments) -> str:
    """Run the command, and return its one line."""
    assert run([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("discreet: ")]
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return lines[0]


def fit(path, tmp_path, *more):
    text = [] if path.suffix == ".gz" else ["--text", "body"]
    return ["fit", path, "--out", tmp_path / "model", *text, "--quiet", *more]


CASES = {
    "empty file": (b"", "empty"),
    "broken JSON": (b'{"body": "one two"}\n{"body": \n', "line 2"),
    "wrong field": (b'{"note": "one two", "id": 3}\n', "its fields are 'note', 'id'"),
    "binary": (bytes(range(256)) * 8, "binary"),
    "not UTF-8": (
        '{"body": "caf\u00e9 au lait"}\n'.encode("latin-1"),
        "not utf-8 text at byte 13; give --read encoding=, for example",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_file_is_refused_by_name_and_line(capsys, tmp_path, case):
    content, expected = CASES[case]
    path = tmp_path / "broken.jsonl"
    path.write_bytes(content)
    ledger = tmp_path / "ledger.json"
    line = refused(capsys, *fit(path, tmp_path, "--ledger", ledger))
    assert "broken.jsonl" in line
    assert re.search(expected, line)
    assert "lait" not in line, "an error message must not show text"
    assert not (tmp_path / "model").exists()
    assert not ledger.exists(), "a file that cannot be read costs nothing"


def test_a_missing_file(capsys, tmp_path):
    assert "absent.jsonl" in refused(capsys, *fit(tmp_path / "absent.jsonl", tmp_path))


def uci(tmp_path, body, header="2\n3\n2\n"):
    path = tmp_path / "docword.bad.txt.gz"
    path.write_bytes(gzip.compress((header + body).encode()))
    listed = tmp_path / "three.txt"
    listed.write_text("a\nb\nc\n")
    return path, listed


@pytest.mark.parametrize(
    ("body", "expected"),
    [("1 1 -4\n2 2 1\n", "line 4"), ("1 1 nan\n2 2 1\n", "line 4"), ("1 9 1\n2 2 1\n", "line 4|1 to 3")],
)
def test_bad_counts_name_their_line(capsys, tmp_path, body, expected):
    path, listed = uci(tmp_path, body)
    assert re.search(expected, refused(capsys, *fit(path, tmp_path, "--vocabulary", listed)))


def test_a_vocabulary_of_another_length(capsys, tmp_path):
    path, listed = uci(tmp_path, "1 1 1\n2 2 1\n")
    listed.write_text("a\nb\n")
    line = refused(capsys, *fit(path, tmp_path, "--vocabulary", listed))
    assert "2" in line
    assert "3" in line


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--delta", "0"),
        ("--delta", "1"),
        ("--epsilon", "0"),
        ("--epsilon", "-1"),
        ("--epsilon", "nan"),
    ],
)
def test_a_promise_that_means_nothing(capsys, tmp_path, notes, option, value):
    line = refused(capsys, *fit(notes, tmp_path, option, value))
    assert option.strip("-").removesuffix("s") in line
    assert value in line
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--set", "n_rounds=0"),
        ("--set", "doc_topic_prior=-1"),
        ("--set", "n_jobs=0"),
        ("--seed", "-4"),
        ("--set", "vocabulary_method=best"),
        ("--set", "vocabulary_share=2"),
        ("--stop-words", "klingon"),
        ("--report", "."),
    ],
)
def test_a_slip_in_a_setting_is_named_as_typed_and_costs_nothing(capsys, tmp_path, notes, option, value):
    """Words are paid for before topics are trained: settings of the topics must be looked at before."""
    ledger = tmp_path / "ledger.json"
    line = refused(capsys, *fit(notes, tmp_path, "--ledger", ledger, option, value))
    assert line.startswith(f"discreet: {option} ")
    assert not ledger.exists()
    assert not (tmp_path / "model").exists()


def test_a_ledger_pays_for_words_only_where_it_can_pay_for_topics(capsys, tmp_path, notes):
    ledger = tmp_path / "ledger.json"
    earlier = Ledger.open(ledger, 2, 1e-6, failure_share=0.1)
    earlier.reserve(gaussian(noise_multiplier_for(1.5, 1e-6)), "an earlier release")
    before = ledger.read_bytes()
    hopeless = ["--set", "allow_unlearnable=true"]
    line = refused(capsys, *fit(notes, tmp_path, "--ledger", ledger, "--epsilon", "1.4", *hopeless))
    assert "does not cover 'vocabulary" in line
    assert ledger.read_bytes() == before
    # What it can pay for to the end is refused for another reason: so few texts share no word.
    line = refused(capsys, *fit(notes, tmp_path, "--ledger", ledger, "--epsilon", "0.2", *hopeless))
    assert "does not cover" not in line
    assert "About 0 words would be chosen" in line
    assert ledger.read_bytes() == before


def test_counts_without_words_are_not_worth_a_budget(capsys, tmp_path):
    path, listed = uci(tmp_path, "1 1 1\n2 2 1\n")
    ledger = tmp_path / "ledger.json"
    assert "--vocabulary" in refused(capsys, *fit(path, tmp_path, "--ledger", ledger))
    assert not ledger.exists()
    public = ["--vocabulary", listed, "--vocabulary-is-public"]
    line = refused(capsys, *fit(path, tmp_path, *public, "--epsilon", "0.1", "--topics", "5000"))
    assert "--set allow_unlearnable=true" in line
    assert "=True" not in line


def test_formats_are_asked_for_by_the_option_of_each_command(capsys, tmp_path, notes):
    strange = notes.rename(tmp_path / "notes.strange")
    assert "give --read format=, one of" in refused(capsys, *fit(strange, tmp_path))
    assert "give --from or --to, one of" in refused(capsys, "convert", strange, tmp_path / "out.npz")


def test_a_budget_for_several_runs(capsys, tmp_path, notes, words):
    ledger = tmp_path / "ledger.json"
    common = ["--vocabulary", words, "--vocabulary-is-public", "--epsilon", "1", "--topics", "2"]
    common += ["--set", "allow_unlearnable=true", "--budget"]
    assert "--ledger" in refused(capsys, *fit(notes, tmp_path, *common, "2"))
    assert run([str(a) for a in fit(notes, tmp_path, *common, "2", "--ledger", ledger)]) == 0
    capsys.readouterr()
    assert Ledger.open(ledger).epsilon == 2
    again = ["fit", notes, "--out", tmp_path / "second", "--text", "body", "--quiet", "--ledger", ledger]
    assert "made with epsilon = 2, not 3" in refused(capsys, *again, *common, "3")
    assert run([str(a) for a in [*again, *common, "2"]]) == 0
    assert 1 < Ledger.open(ledger).spent().epsilon < 2


def test_no_topics_at_all(capsys, tmp_path, notes):
    assert "--topics" in refused(capsys, *fit(notes, tmp_path, "--topics", "0"))


def test_a_folder_that_is_not_empty_is_left_alone(capsys, tmp_path, notes):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("mine")
    ledger = tmp_path / "ledger.json"
    assert "model" in refused(capsys, *fit(notes, tmp_path, "--ledger", ledger))
    assert [p.name for p in (tmp_path / "model").iterdir()] == ["thesis.txt"]
    assert not ledger.exists()


def test_a_budget_already_spent(capsys, tmp_path, notes, words):
    path = tmp_path / "ledger.json"
    common = [
        "--vocabulary",
        words,
        "--vocabulary-is-public",
        "--epsilon",
        "1",
        "--ledger",
        path,
        "--topics",
        "2",
        "--set",
        "allow_unlearnable=true",
    ]
    assert run([str(a) for a in fit(notes, tmp_path, *common)]) == 0
    capsys.readouterr()
    spent = path.read_bytes()
    again = ["fit", notes, "--out", tmp_path / "second", "--text", "body", "--quiet", *common]
    line = refused(capsys, *again)
    assert "left" in line
    assert path.read_bytes() == spent
    assert not (tmp_path / "second").exists()
    assert Ledger.open(path).spent().epsilon == pytest.approx(1, rel=1e-6)


def test_unknown_options_and_commands(capsys):
    assert "no such option" in refused(capsys, "budget", "--epsilom", "1").lower()
    assert "no such command" in refused(capsys, "fitt").lower()


def test_a_model_that_is_none(capsys, tmp_path):
    (tmp_path / "model").mkdir()
    refused(capsys, "topics", tmp_path / "model")
    refused(capsys, "report", tmp_path / "absent")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"\x80\x04\x95pickle")
    refused(capsys, "topics", tmp_path / "model")


def test_errors_call_parameters_as_the_command_does(capsys, tmp_path):
    (tmp_path / "c.uci").write_text("1\n1\n1\n1 1 1\n")
    (tmp_path / "t.jsonl").write_text('{"body": "a b"}\n')
    out = ["--out", str(tmp_path / "m")]
    assert run(["fit", str(tmp_path / "c.uci"), "--person", "who", *out]) == 2
    said = capsys.readouterr().err
    assert '--person cannot be used with format "uci": persons and labels' in said
    assert "=" not in said
    assert run(["fit", str(tmp_path / "t.jsonl"), "--text", "body", *out]) == 2
    assert "no words in 1 document; look at the text and at --read token_pattern=." in capsys.readouterr().err


def test_a_path_in_place_of_texts_is_told_how_files_are_read():
    with pytest.raises(
        CorpusError,
        match=r"notes\.jsonl is no file or folder that exists: pass the path of one, a frame, or a list of texts",
    ):
        fit_topics("notes.jsonl", epsilon=1.0)


def test_names_of_files_cannot_write_on_the_terminal(capsys, tmp_path):
    """A file's name may hold what clears a screen, or turns the direction of what follows."""
    path = tmp_path / "notes"
    path.mkdir()
    (path / "a\x1b]0;owned\x07\x1b[2J\x9b2J\u202eb.txt").write_bytes(b"\xe9 broken")
    told = refused(capsys, "fit", path, "--read", "format=txt", "--out", tmp_path / "model")
    assert "owned" in told
    assert "b.txt" in told
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", told)
    assert "line 1: not utf-8 text" in told


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("topics", "0", "give at least 1"),
        ("seed", "abc", "give a whole number"),
        ("epsilon", "x", "give a number"),
    ],
)
def test_a_number_that_is_none_is_asked_for_in_plain_words(notes, tmp_path, capsys, option, value, told):
    said = refused(capsys, *fit(notes, tmp_path, f"--{option}", value))
    assert f"Invalid value for '--{option}': {told} (it was {value!r});" in said
    assert "Input" not in said


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ("--set=n_topics=5", "Use the option --topics."),
        ("--set=random_state=1", "Use the option --seed."),
        ("--set=vocab_share=0.1", "Did you mean vocabulary_share?"),
        ("--read=encodng=latin-1", "Did you mean encoding?"),
    ],
)
def test_a_name_that_is_none_is_answered_with_the_one_that_was_meant(notes, tmp_path, capsys, given, instead):
    assert instead in refused(capsys, *fit(notes, tmp_path, given))
