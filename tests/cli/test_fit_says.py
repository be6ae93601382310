"""`discreet fit` says whom it protects before it trains, and uses what a file says of persons and words."""

import json

import numpy as np
import pytest

from discreet import Corpus, Release
from discreet.cli.app import run
from discreet.corpus import write_corpus

WORDS = [f"w{i:02d}" for i in range(30)]
COUNTS = np.random.default_rng(0).poisson(
    np.where(np.arange(30) // 15 == np.arange(900)[:, None] % 2, 0.6, 0.05)
)


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.jsonl"
    rows = [
        {"body": " ".join(np.repeat(WORDS, row)), "patient": i // 3, "ward": "A"}
        for i, row in enumerate(COUNTS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fit(capsys, path, out, *options):
    code = run(["fit", str(path), "--out", str(out), "--epsilon", "20", "--topics", "2", "--seed", "0",
                "--set", "allow_unlearnable=true", *map(str, options)])  # fmt: skip
    return code, capsys.readouterr().err


def test_the_promise_comes_first_in_one_line(capsys, notes, tmp_path):
    code, said = fit(capsys, notes, tmp_path / "people", "--text", "body", "--person", "patient")
    assert code == 0, said
    assert "Protecting each person (field 'patient'), with all that they wrote: epsilon = 20" in said
    assert said.index("Protecting") < said.index("choosing words")
    assert Release.load(tmp_path / "people").promise.privacy_unit == "person"
    code, said = fit(capsys, notes, tmp_path / "model", "--text", "body")
    assert (
        "Protecting each document: epsilon = 20, delta = 1e-06. Fields seen: 'body', 'patient', 'ward'. Use --person"
        in said
    )


def test_how_many_words_were_chosen_and_what_was_forecast_is_said(capsys, notes, tmp_path):
    _, said = fit(capsys, notes, tmp_path / "model", "--text", "body")
    release = Release.load(tmp_path / "model")
    assert f"Words that were chosen privately: {len(release.vocabulary)};" in said
    assert "".join(release.configuration["forecast"].split()) in "".join(said.split())  # lines are broken


def test_persons_in_a_file_are_used_and_words_are_private_unless_said(capsys, tmp_path):
    corpus = Corpus(COUNTS, WORDS, np.arange(900) // 3)
    for name in ("c.npz", "c.mtx"):
        write_corpus(corpus, tmp_path / name)
        _, said = fit(capsys, tmp_path / name, tmp_path / f"{name} chosen")
        assert "Protecting each person (the file's persons)" in said
        assert "chosen privately from" in said
        assert Release.load(tmp_path / f"{name} chosen").configuration["words"] == "chosen"
        fit(
            capsys,
            tmp_path / name,
            tmp_path / f"{name} public",
            "--vocabulary-is-public",
            "--set",
            "privacy_unit=document",
        )
        release = Release.load(tmp_path / f"{name} public")
        assert release.promise.privacy_unit == "document"
        assert release.configuration["words_declared_by"] == "--vocabulary-is-public of discreet fit"
        assert (
            run(["convert", str(tmp_path / name), str(tmp_path / f"d{name}"), "--vocabulary-is-public", "-q"])
            == 0
        )
        fit(capsys, tmp_path / f"d{name}", tmp_path / f"{name} told")
        release = Release.load(tmp_path / f"{name} told")
        assert release.configuration["words_declared_by"] == "--vocabulary-is-public of discreet convert"


def test_a_document_that_stands_in_the_header_is_not_shown(capsys, tmp_path):
    path = tmp_path / "headerless.csv"
    path.write_text(
        'body,"My manager Brannigan shouted at me when I came home",ward\n'
        + "apple bed,x,y\nbed lion,x,y\n" * 400
    )
    code, said = fit(capsys, path, tmp_path / "model", "--text", "body")
    assert code == 0, said
    assert (
        "Fields seen: 'body', 'ward' and 1 more, not shown, because names so long may be text. Use --person FIELD"
        in said
    )
    assert "Brannigan" not in said


def test_a_missing_field_is_called_as_its_option(capsys, notes, tmp_path):
    code, said = fit(capsys, notes, tmp_path / "model", "--text", "body", "--person", "who")
    assert code == 2
    assert "no field for --person who;" in said


def test_a_delta_too_large_is_refused_with_the_option_that_goes_on(capsys, notes, tmp_path):
    code, said = fit(capsys, notes, tmp_path / "m", "--text", "body", "--delta", "0.01")
    assert code == 2
    assert "--delta = 0.01 is too large: there are about " in said
    assert "Nothing was booked; --set allow_large_delta=true goes on" in said
    assert not (tmp_path / "m").exists()
    page = tmp_path / "page.html"
    more = ("--delta", "0.01", "--set", "allow_large_delta=true", "--report", page)
    assert fit(capsys, notes, tmp_path / "m", "--text", "body", *more)[0] == 0
    assert "1 over the number of documents is about 0.0011" in page.read_text()
    assert "Delta = 0.01 is too large" in page.read_text()


def test_the_name_of_a_unit_is_said_from_the_first_line_to_the_file(capsys, notes, tmp_path):
    who = ("--text", "body", "--person", "patient", "--unit-name", "patient", "--ledger", tmp_path / "l.json")
    code, said = fit(capsys, notes, tmp_path / "m", *who, "--budget", "60")
    assert code == 0, said
    assert "Protecting each patient (field 'patient'), with all that they wrote" in said
    assert "all documents of any one patient" in said
    assert Release.load(tmp_path / "m").promise.unit_name == "patient"
    code, said = fit(capsys, notes, tmp_path / "n", *who[:-4], "--unit-name", "Mrs. Smith")
    assert code == 2
    assert "--unit-name must say in one to three plain words" in said
    code, said = fit(capsys, notes, tmp_path / "n", *who[:4], "--unit-name", "client", *who[-2:])
    assert "--unit-name is 'client', but the ledger calls a unit 'patient'" in said
    assert fit(capsys, notes, tmp_path / "n", *who[:4], *who[-2:])[0] == 0
    assert "| unit | one patient |" in (tmp_path / "n" / "README.md").read_text()


def test_documents_are_not_called_patients(capsys, notes, tmp_path):
    code, said = fit(capsys, notes, tmp_path / "m", "--text", "body", "--unit-name", "patient")
    assert code == 2
    assert "the unit here is the document: the promise would be misstated" in said
    assert "Protecting each patient" not in said


def test_a_person_without_another_name_is_called_a_person_everywhere(capsys, notes, tmp_path):
    for name, more in (("m", ()), ("n", ("--ledger", tmp_path / "l.json"))):
        code, said = fit(capsys, notes, tmp_path / name, "--text", "body", "--person", "patient", *more)
        assert code == 0, said
        release = Release.load(tmp_path / name)
        assert release.promise.unit_name == ""
        assert "unit: person (add_or_remove_one)" in release.guarantee


def test_a_name_without_persons_is_refused_with_the_option_that_this_command_has(capsys, notes, tmp_path):
    code, said = fit(capsys, notes, tmp_path / "m", "--text", "body", "--unit-name", "patient")
    assert code == 2
    assert "or protect people: --person FIELD." in said
    assert "--unit person" not in said


def test_a_budget_is_explained_in_the_name_of_the_unit(capsys):
    of_persons = "budget --epsilon 2 --documents 8000 --topics 12 --words 400 --unit person".split()
    for unit, more in (("person", ()), ("patient", ("--unit-name", "patient"))):
        assert run([*of_persons, *more]) == 0
        said = capsys.readouterr().out
        assert f"unit: {unit} (add_or_remove_one)" in said
        assert f"everything but one {unit} can do" in said
        assert f"a group of several {unit}s" in said
        assert unit == "person" or "person" not in said
    assert run(["budget", "--unit-name", "patient"]) == 2
    assert "the unit here is the document" in capsys.readouterr().err


def test_words_of_a_public_list_that_no_text_can_have_are_told(capsys, notes, tmp_path):
    listed = tmp_path / "words.txt"
    listed.write_text("\n".join(["call", *WORDS, "interest"]) + "\n")
    public = ("--text", "body", "--vocabulary", listed, "--vocabulary-is-public")
    code, said = fit(capsys, notes, tmp_path / "model", *public)
    assert code == 0
    last = len(WORDS) + 2
    told = f"2 of {last} words of the vocabulary can never be found in texts that are cut like this: number 1, {last} "
    cure = "(counted from 1); stop words, which are left out: 2 (english (318))."
    assert told + cure in " ".join(said.split())  # no word is shown: who knows what a list was made of
    many = [f"{word}-x" for word in WORDS[:11]]
    listed.write_text("\n".join(["call", *WORDS, *many]) + "\n")
    _, said = fit(capsys, notes, tmp_path / "many", *public)
    told = "left out: 1 (english (318)); cut texts as those from which the vocabulary was made."
    assert told in " ".join(said.split())
    listed.write_text("\n".join([WORDS[0].title(), *WORDS[1:]]) + "\n")
    _, said = fit(capsys, notes, tmp_path / "capital", *public)
    assert "can never be found" not in said
    listed.write_text("Figueir-edo\nHosp.ital\n")
    ledger = tmp_path / "ledger.json"
    code, said = fit(capsys, notes, tmp_path / "none", *public, "--ledger", ledger)
    assert code == 2
    assert not ledger.exists()
    assert "2 of 2 words of the vocabulary can never be found" in " ".join(said.split())
    listed.write_text("\n".join(["call", *WORDS, "interest"]) + "\n")
    _, said = fit(capsys, notes, tmp_path / "kept", *public, "--stop-words", "none")
    assert "can never be found" not in said


def test_a_run_without_a_ledger_is_said_to_be_remembered_by_nothing(capsys, notes, tmp_path):
    told = "No --ledger was named, so nothing remembers what this run costs"
    assert told in " ".join(fit(capsys, notes, tmp_path / "m", "--text", "body")[1].split())
    _, said = fit(capsys, notes, tmp_path / "n", "--text", "body", "--ledger", tmp_path / "l.json")
    assert "nothing remembers" not in said
    code, said = fit(capsys, notes, tmp_path / "o", "--text", "body", "--epsilon", "inf")
    assert code == 0
    assert "nothing remembers" not in said  # nothing was promised
    (tmp_path / "t.txt").write_text("care: w00 w01\nmoney: w02\n")
    shares = [
        "prevalence",
        str(tmp_path / "t.txt"),
        str(notes),
        "--text",
        "body",
        "--out",
        str(tmp_path / "s.json"),
    ]
    assert run(shares) == 0
    assert told in " ".join(capsys.readouterr().err.split())
