"""`discreet choose-topics`: the table, the plot, and that it says for which text it is."""

import json

import numpy as np
import pytest

from discreet import Release
from discreet.cli.app import run

THEMES = [
    "nurse ward night bed pain visit",
    "teacher pupil class book exam lesson",
    "ship wave sail crew storm",
]


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    path = tmp_path_factory.mktemp("public") / "letters.jsonl"
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(THEMES[row % 3].split(), 14)) for row in range(120)]
    path.write_text("".join(json.dumps({"body": text}) + "\n" for text in texts))
    return path


def choose(letters, *more) -> int:
    common = ["choose-topics", letters, "--text", "body", "--set", "n_folds=2", "--set", "n_sweeps=40"]
    return run([str(part) for part in (*common, *more)])


@pytest.mark.integration
def test_a_table_and_the_planted_number(letters, capsys):
    assert choose(letters, "--topics", "1, 3,6") == 0
    captured = capsys.readouterr()
    assert "3*" in captured.out
    assert "public text only" in captured.err
    assert choose(letters, "--topics", "1,3", "--json", "--quiet") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["best"] == 3
    assert [row["n_topics"] for row in answer["candidates"]] == [1, 3]


@pytest.mark.integration
def test_most_common_words_only(letters, capsys):
    for few, more in ((5, ["--set", "max_words=5"]), (17, [])):
        assert choose(letters, "--topics", "2", "--json", *more) == 0
        alone = json.loads(capsys.readouterr().out)["unigram_perplexity"]
        assert 0.8 * few < alone < few + 0.5


@pytest.mark.parametrize("wrong", ["", "a", "3,,4", "0", "-2", "2.5", "\u00b2"])
def test_numbers_of_topics_that_are_none(letters, capsys, wrong):
    assert choose(letters, f"--topics={wrong}") == 2
    assert "--topics must be numbers" in capsys.readouterr().err


def test_a_folder_is_for_choosing_privately(letters, capsys):
    assert choose(letters, "--out", "k") == 2
    assert "--out: for choosing privately; add --epsilon" in capsys.readouterr().err


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """Private notes of three themes, and the public list of their words."""
    folder = tmp_path_factory.mktemp("private")
    rng = np.random.default_rng(3)
    lines = [
        {"body": " ".join(rng.choice(THEMES[row % 3].split(), 12)), "patient": f"p{row // 2}"}
        for row in range(2400)
    ]
    (folder / "notes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "words.txt").write_text("\n".join(" ".join(THEMES).split()) + "\n")
    return folder


def privately(notes, *more) -> int:
    given = ["choose-topics", notes / "notes.jsonl", "--text", "body", "--epsilon", 8, *more]
    return run([str(part) for part in given])


def words(notes):
    return ["--vocabulary", notes / "words.txt", "--vocabulary-is-public"]


def test_persons_are_the_unit_without_a_ledger_file(notes, tmp_path):
    given = [*words(notes), "--topics", "1,2", "--person", "patient", "--out", tmp_path / "m"]
    assert privately(notes, *given) == 0
    assert Release.load(tmp_path / "m").promise.privacy_unit == "person"
    assert "any one person" in (tmp_path / "m" / "README.md").read_text()


@pytest.mark.parametrize("of_persons", [False, True])
@pytest.mark.integration
def test_privately_the_planted_number_is_chosen_booked_and_its_topics_are_written(
    notes, tmp_path, capsys, of_persons
):
    out, budget = tmp_path / "model", tmp_path / "budget.json"
    person = ["--person", "patient"] if of_persons else []
    given = [*words(notes), "--topics", "1,3", "--out", out, "--ledger", budget, *person]
    assert privately(notes, *given, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["best"], answer["candidates"]) == (3, [1, 3])
    release = Release.load(out)
    assert len(release.topic_word) == 3
    assert not release.reproducible
    assert release.promise.privacy_unit == ("person" if of_persons else "document")
    assert answer["guarantee"] == release.guarantee
    spent = json.loads(budget.read_text())
    purposes = [entry["purpose"].split(" (")[0] for entry in spent["entries"]]
    assert purposes == ["topics", "topics", "number of topics"]
    assert release.promise.epsilon == pytest.approx(8.0, rel=0.01)
    assert (
        privately(notes, *given[: -2 if of_persons else None], "--out", tmp_path / "again") == 2
    )  # the budget is spent
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--out", "m", "--set", "n_folds=3", "--set", "max_words=9"],
            "'n_folds' is none of them",
        ),
        (["--out", "m", "--set", "n_sweeps=3"], "'n_sweeps' is none of them"),
        ([], "name a new folder"),
        (["--out", "m", "--topics", "5"], "two or more numbers"),
        (["--out", "m", "--person", "nothing"], "nothing"),
    ],
)
def test_what_only_serves_public_text_is_refused_with_epsilon(
    notes, tmp_path, capsys, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    budget = ["--ledger", tmp_path / "budget.json"]
    assert privately(notes, *words(notes), *budget, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
    assert (
        not (tmp_path / "budget.json").exists()
        or not json.loads((tmp_path / "budget.json").read_text())["entries"]
    )


@pytest.mark.parametrize("said", [[], ["--vocabulary"], ["--vocabulary-is-public"]])
def test_private_text_needs_a_list_of_words_that_is_said_to_be_public(notes, tmp_path, capsys, said):
    given = [*said, notes / "words.txt"] if said == ["--vocabulary"] else said
    assert privately(notes, *given, "--topics", "1,3", "--out", tmp_path / "model") == 2
    assert "--vocabulary FILE and --vocabulary-is-public" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_what_is_private_needs_epsilon(letters, tmp_path, capsys):
    assert choose(letters, "--ledger", tmp_path / "b.json", "--delta", "1e-5", "--person", "body") == 2
    assert "--delta, --person, --ledger: for choosing privately; add --epsilon" in capsys.readouterr().err


def test_with_a_seed_the_choice_is_not_for_release(notes, tmp_path):
    given = [*words(notes), "--topics", "1,3", "--out", tmp_path / "model", "--seed", 0, "--quiet"]
    assert privately(notes, *given) == 0
    assert Release.load(tmp_path / "model").reproducible
