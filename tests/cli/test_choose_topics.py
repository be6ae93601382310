"""`discreet choose-topics`: the table, the plot, and that it says for which text it is."""

import json

import numpy as np
import pytest

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
    common = ["choose-topics", "--corpus", letters, "--text", "body", "--folds", 2, "--sweeps", 40]
    return run([str(part) for part in (*common, *more)])


def test_a_table_a_plot_and_the_planted_number(letters, tmp_path, capsys):
    out = tmp_path / "k.html"
    assert choose(letters, "--topics", "1, 3,6", "--out", out) == 0
    captured = capsys.readouterr()
    assert "3*" in captured.out
    assert "public text only" in captured.err
    assert "letters.jsonl, 120 documents, 17 words" in out.read_text()
    assert choose(letters, "--topics", "1,3", "--json", "--quiet", "--out", tmp_path / "k.svg") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["best"] == 3
    assert [row["n_topics"] for row in answer["candidates"]] == [1, 3]
    assert (tmp_path / "k.svg").read_text().startswith("<svg")


def test_most_common_words_only(letters, tmp_path):
    out = tmp_path / "k.html"
    assert choose(letters, "--topics", "2", "--max-words", 5, "--out", out) == 0
    assert "5 words" in out.read_text()


@pytest.mark.parametrize("wrong", ["", "a", "3,,4", "0", "-2", "2.5", "\u00b2"])
def test_numbers_of_topics_that_are_none(letters, capsys, wrong):
    assert choose(letters, f"--topics={wrong}") == 2
    assert "--topics must be numbers" in capsys.readouterr().err


def test_a_plot_of_another_kind_is_refused_before_work(letters, capsys):
    assert choose(letters, "--out", "k.png") == 2
    assert ".html, .svg" in capsys.readouterr().err
