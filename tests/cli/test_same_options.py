"""Commands that read texts: the same options everywhere, and what is said of a file before anything is spent."""

import json

from tests.report.report_cases import release

from discreet.cli.app import app, run

MARK = "secretword"


def commands(group):
    for command in group.registered_commands:
        yield command.callback.__name__, set(command.callback.__annotations__)
    for inner in group.registered_groups:
        yield from commands(inner.typer_instance)


def test_every_command_that_reads_texts_takes_their_options(capsys):
    reading = {name for name, options in commands(app) if "read" in options}
    assert reading >= {
        "fit",
        "read",
        "transform",
        "prevalence",
        "evaluate",
        "audit",
        "perturb",
        "answer",
        "serve",
    }
    # A document that does not answer for what it says would tell it by its silence.
    for line in ("perturb a.jsonl --vocabulary w --out r", "answer a.jsonl --question q --memory m --out r"):
        assert run([*line.split(), "--epsilon", "1", "--read", "skip_empty=true"]) == 2
        assert "'skip_empty' is none of them" in capsys.readouterr().err


def test_what_is_given_by_name_is_named_where_it_is_wrong(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "ward bed"}\n')
    line = "fit a.jsonl --out m"
    for option, said in (
        ("--read skip", "--read takes NAME=VALUE"),
        ("--read encodng=x", "but 'encodng' is none of them"),
        ("--read encoding=klingon", "encoding 'klingon' is not known"),
        ("--set n_sweeps=3", "--set takes NAME=VALUE, with one of the names privacy_unit, vocabulary_share"),
        ("--set vocabulary_share=x", "--set vocabulary_share= must be"),
    ):
        assert run([*line.split(), *option.split()]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_read_leaves_out_documents_without_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release(words=("ward", "bed")).save("model")
    rows = [{"text": None}, {"text": "ward ward bed"}, {"text": " "}, {"text": "bed bed"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = "read model a.jsonl --topic 1 --least-words 1"
    assert run(line.split()) == 2
    assert "--skip-empty leaves out rows, " in capsys.readouterr().err
    assert run([*line.split(), "--read", "skip_empty=true"]) == 0
    told = capsys.readouterr().out
    assert "ward ward bed" in told
    assert "document 1: " in told  # as it stands in the file


def test_the_promise_names_the_fields_that_the_delimiter_parts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("patient;ward;note\n" + "1;A;bed ward pain\n2;B;nurse bed ward\n" * 30)
    line = "fit a.csv --read delimiter=; --text note --out m --epsilon 9 --delta 1e-3 --topics 2 --seed 0"
    run(line.split())
    assert "Fields seen: 'patient', 'ward', 'note'." in capsys.readouterr().err


def test_words_with_blanks_are_parted_by_commas(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release(words=("thanks dr", "dr")).save("model")
    assert run("topics model --words 60".split()) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "thanks dr," in told or ", thanks dr" in told
    release(words=("thanks", "dr")).save("plain")
    assert run("topics plain --words 60".split()) == 0
    told = capsys.readouterr().out
    assert "thanks" in told
    assert "thanks," not in told
    assert ", thanks" not in told
