"""The command, end to end on small text."""

import csv
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from discreet import Release, __version__
from discreet.cli.app import run
from discreet.privacy import gdp_epsilon
from discreet.privacy.accounting.planning import noise_of_events

THEMES = {
    "ward": "nurse ward night bed pain visit doctor".split(),
    "school": "teacher pupil class book exam lesson break".split(),
    "sea": "ship wave harbour sail crew storm captain".split(),
}


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A few hundred short letters about three plain themes, several from each writer."""
    folder = tmp_path_factory.mktemp("letters")
    rng = np.random.default_rng(8)
    path = folder / "letters.jsonl"
    with path.open("w") as file:
        for row in range(900):
            theme = list(THEMES.values())[row % 3]
            words = rng.choice(theme, size=12)
            file.write(json.dumps({"body": " ".join(words), "writer": f"w{row // 2}"}) + "\n")
    return path


@pytest.fixture(scope="module")
def model(letters):
    out = letters.parent / "model"
    report = letters.parent / "report.html"
    arguments = (
        f"fit {letters} --text body --epsilon 8 --topics 3 --seed 4 --out {out} --report {report} --quiet"
    )
    assert run(arguments.split()) == 0
    return out


def test_fit_finds_the_themes_and_states_the_guarantee(model):
    release = Release.load(model)
    tops = [set(words) for words in release.top_words(5)]
    for theme in THEMES.values():
        assert any(len(top & set(theme)) >= 4 for top in tops), tops
    assert "document" in release.guarantee
    assert release.determinism == "reproducible, not for release"
    assert release.ledger.spent().epsilon <= 8


def test_topics_prints_a_table_or_json(model, capsys):
    assert run(["topics", str(model)]) == 0
    table = capsys.readouterr().out
    assert "nurse" in table
    assert "epsilon" in table
    assert run(["topics", str(model), "--json", "-n", "4"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [len(words) for words in answer["topics"]] == [4, 4, 4]
    assert run(["topics", str(model), "--json", "-n", "4", "--by", "lift"]) == 0
    assert json.loads(capsys.readouterr().out)["topics"] == Release.load(model).top_words(4, by="lift")
    assert run(["topics", str(model), "--by", "chance"]) == 2
    assert '--by must be "probability" or "lift", but is' in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_transform_writes_shares_that_sum_to_one(model, letters, tmp_path, suffix, capsys):
    out = tmp_path / f"topics.{suffix}"
    assert run(f"transform {model} {letters} --text body --out {out}".split()) == 0
    assert "does not cover" in capsys.readouterr().err
    if suffix == "csv":
        with out.open(newline="") as file:
            rows = [list(map(float, row[1:])) for row in list(csv.reader(file))[1:]]
    else:
        rows = [list(json.loads(line).values())[1:] for line in out.read_text().splitlines()]
    shares = np.array(rows)
    assert shares.shape == (900, 3)
    assert np.allclose(shares.sum(1), 1)
    # Documents of one theme agree on their topic, and the three themes on different ones.
    strongest = [set(shares[start::3].argmax(1)) for start in range(3)]
    assert sorted(map(len, strongest)) == [1, 1, 1]
    assert len(set.union(*strongest)) == 3


def test_transform_says_how_many_documents_have_a_known_word(model, tmp_path, capsys):
    (tmp_path / "notes.jsonl").write_text('{"text": "nurse"}\n{"text": "cykelrum"}\n')
    assert run(f"transform {model} {tmp_path}/notes.jsonl --out {tmp_path}/a.csv".split()) == 0
    said = capsys.readouterr().err
    assert (
        "PRIVATE | 1 of 2 documents have a word of the topics; the others have equal shares of all." in said
    )
    (tmp_path / "notes.jsonl").write_text('{"text": "cykelrum"}\n')
    assert run(f"transform {model} {tmp_path}/notes.jsonl --out {tmp_path}/b.csv".split()) == 0
    assert "warning: none of 1 documents has a word of the release" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_transform_names_the_documents(model, tmp_path, suffix, capsys):
    notes, out = tmp_path / "notes.csv", tmp_path / f"topics.{suffix}"
    notes.write_text("id;body\na-1;nurse ward\nb-2;  \nc-3;nurse\n")
    command = f"transform {model} {notes} --text body --out {out} --id id --skip-empty".split()
    assert run([*command, "--read", "delimiter=;"]) == 0
    said = capsys.readouterr().err
    assert "PRIVATE | left out 1 document without text" in said
    if suffix == "csv":
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a-1", "c-3"]
    assert [int(row["document"]) for row in rows] == [0, 2]  # as they stand in the file
    for row in rows:
        shares = [float(row[f"topic_{topic}"]) for topic in (1, 2, 3)]
        assert all(share == round(share, 6) for share in shares)
        assert sum(shares) == pytest.approx(1, abs=2e-6)
    assert (
        run(f"transform {model} {notes} --text body --out {tmp_path}/other.{suffix} --id topic_1".split())
        == 2
    )
    assert "rename the field" in capsys.readouterr().err


def test_transform_refuses_an_ending_it_cannot_write(model, letters, capsys):
    assert run(f"transform {model} {letters} --text body --out topics.xlsx".split()) == 2
    assert "one of .csv, .jsonl" in capsys.readouterr().err


def test_report_is_one_file(model, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert run(f"report {model} --out {out.with_suffix('.pdf')}".split()) == 2
    assert not out.with_suffix(".pdf").exists()
    assert run(f"report {model} --out {out}".split()) == 0
    assert "nurse" in out.read_text()
    assert "wrote" in capsys.readouterr().out


def test_budget_explains(capsys):
    assert run("budget --epsilon 1 --delta 1e-6 --documents 2000 --with-word-vectors".split()) == 0
    assert "topics of the vectors alone" in capsys.readouterr().out
    assert run("budget --epsilon 1 --delta 1e-6 --documents 20000 --topics 20 --words 2000".split()) == 0
    words = capsys.readouterr().out
    assert "1 %" in words or "1%" in words
    assert run("budget --epsilon 1 --delta 1e-6 --json".split()) == 0
    assert json.loads(capsys.readouterr().out)


def test_the_share_found_is_one_number_everywhere(model, letters, capsys):
    """Before: 3.02 % by the budget, 7.39 % by card and report."""
    assert run("budget --epsilon 8".split()) == 0
    told = capsys.readouterr().out.split("with 1 % of false alarms, ")[1].split(" of true members")[0]
    sentence = f"wrongly accuses 1 % of outsiders finds at most {told} of those"
    assert sentence in (model / "README.md").read_text().replace("\\", "")
    assert sentence in (letters.parent / "report.html").read_text()


def test_figures_for_one_person_count_the_words_too(model, capsys):
    assert run("budget --epsilon 8 --json".split()) == 0
    told = json.loads(capsys.readouterr().out)
    booked = noise_of_events([entry.event for entry in Release.load(model).ledger.entries])
    assert (told["mu"], told["failure"]) == booked
    assert 0 < booked.failure < 1e-6
    assert told["group_epsilons"]["2"] > gdp_epsilon(2 * booked.mu, 1e-6)
    assert told["group_failures"]["10"] == pytest.approx(0.0140, rel=0.01)  # a name in ten notes
    assert told["group_epsilons"]["10"] == math.inf
    assert run("budget --epsilon 8".split()) == 0
    assert "listed with probability up to 0.014; apart from that, epsilon = 189" in capsys.readouterr().out
    assert run("budget --epsilon 8 --vocabulary-is-public".split()) == 0
    assert "10: epsilon = 189" in capsys.readouterr().out


def test_person_unit_and_shared_ledger_file(letters, tmp_path):
    arguments = (
        f"fit {letters} --text body --person writer --epsilon 6 --topics 3 --seed 1 --quiet "
        f"--out {tmp_path / 'm'} --ledger {tmp_path / 'budget.json'}"
    )
    assert run(arguments.split()) == 0
    release = Release.load(tmp_path / "m")
    assert "unit: person (add_or_remove_one)" in release.guarantee
    assert "person" in (tmp_path / "budget.json").read_text()


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"discreet {__version__}"
    assert run(["--help"]) == 0
    assert "budget" in capsys.readouterr().out


def test_files_that_exist_are_left_alone(letters, model, tmp_path, capsys):
    words = tmp_path / "words.txt"
    words.write_text("".join(f"{word}\n" for theme in THEMES.values() for word in theme))
    text = f"{letters} --text body"
    commands = [
        (f"report {model} --out", "mine.html"),
        (f"transform {model} {text} --out", "mine.csv"),
        (f"perturb {text} --vocabulary {words} --epsilon 1 --per word --out", "mine.bin"),
        (f"audit {text} --trainer variational --shadows 4 --topics 2 --json", "mine.json"),
        (f"fit {text} --epsilon 8 --topics 3 --out {tmp_path / 'model'} --report", "my.html"),
        (f"demo --out {tmp_path / 'other'} --report", "my.html"),
    ]
    for command, name in commands:
        mine = tmp_path / name
        mine.write_text("my thesis")
        assert run([*command.split(), str(mine)]) == 2, command
        assert f"{name} exists" in capsys.readouterr().err
        assert mine.read_text() == "my thesis"
        if not command.startswith("demo"):
            mine.unlink()
            assert run([*command.split(), str(mine)]) == 0, command
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_mistaken_value_is_told_with_what_came(capsys):
    assert run(["budget", "--epsilon", "two"]) == 2
    told = capsys.readouterr().err
    assert told.count("'two'") == 1
    assert told.endswith("; see `discreet budget --help`.\n")
    assert run(["budget", "--epsilon=two"]) == 2
    assert "'two'" in capsys.readouterr().err
    assert run(["bugdet"]) == 2
    assert "bugdet" in (said := capsys.readouterr().err)
    assert said.endswith("Did you mean 'budget'? See `discreet --help`.\n")
    assert run("budget --documents 0 --topics 3 --words 4".split()) == 2
    assert "--documents must be a positive whole number, but is 0" in capsys.readouterr().err


@pytest.mark.integration
def test_the_command_runs_as_a_module(letters):
    def module(*arguments):
        command = [sys.executable, "-m", "discreet", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = module("--version")
    assert (done.returncode, done.stdout.split()[-1]) == (0, __version__), done
    done = module("topics", str(letters.parent / "no-such-model"))
    assert done.returncode == 2, done
    assert "no-such-model" in done.stderr


def test_help_on_a_narrow_terminal_cuts_no_name_of_an_option(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["fit", "--help"]) == 0
    told = capsys.readouterr().out
    for option in (
        "--vocabulary-is-public",
        "--person",
        "--about",
        "other_spending",
        "--read NAME=VALUE",
        "--set NAME=VALUE",
    ):
        assert option in told
    assert run(["--help"]) == 0
    assert "…" not in told + (listed := capsys.readouterr().out)
    assert listed.count("...") == 1  # of the usage
