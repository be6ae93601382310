"""Word vectors in `fit` and `evaluate`: named in the release, compared with."""

import gzip
import io
import json
import re

import numpy as np
import pytest

from discreet.cli.app import run
from discreet.release import Release

WORDS = [f"w{i:02d}" for i in range(24)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(0)
    with (folder / "notes.jsonl").open("w") as file:
        for row in range(900):
            low = 12 * (row % 2)
            file.write(json.dumps({"text": " ".join(rng.choice(WORDS[low : low + 12], 10))}) + "\n")
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    with (folder / "glove.txt").open("w") as file:
        for number in range(400):
            word = WORDS[number // 10] if number % 10 == 0 and number < 230 else f"other{number}"
            side = -1.0 if number < 120 else 1.0
            file.write(f"{word} {side} {rng.normal():.3f} {rng.normal():.3f}\n")
    return folder


def discreet(*arguments):
    return run([str(argument) for argument in arguments])


def fit_with(place, vectors):
    """The command, with vectors as its last two arguments."""
    settings = "--epsilon 4 --topics 2 --seed 1 -q".split()
    return ("fit", place / "notes.jsonl", *settings, "--word-vectors", vectors)


def test_fit_and_evaluate(place, capsys):
    model = place / "model"
    fit = ("fit", place / "notes.jsonl", "--out", model, "--epsilon", 4, "--topics", 2, "--seed", 1, "-q")
    public = ("--vocabulary", place / "words.txt", "--word-vectors", place / "glove.txt")
    assert discreet(*fit, *public) == 0
    release = Release.load(model)
    assert release.configuration["word_vectors"] == "glove.txt"
    assert release.configuration["word_vectors_coverage"] == "23 of 24 words"
    assert "not trained on these texts" in (model / "README.md").read_text().replace("\n", " ")
    capsys.readouterr()
    evaluate = (
        "evaluate",
        model,
        place / "notes.jsonl",
        "--word-vectors",
        place / "glove.txt",
        "-q",
    )
    assert discreet(*evaluate, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert 10 < answer["public_alone"]["completion_perplexity"] < 24
    assert discreet(*evaluate) == 0
    assert "topics of glove.txt alone, without the texts" in capsys.readouterr().out


def test_fit_says_how_vectors_were_used(place, capsys):
    fit = ("fit", place / "notes.jsonl", "--out", place / "told", "--epsilon", 4, "--topics", 2, "--seed", 1)
    assert discreet(*fit, "--word-vectors", place / "glove.txt") == 0
    said = " ".join(capsys.readouterr().err.split())
    used = Release.load(place / "told").configuration["word_vectors_used"]
    assert f"Word vectors of glove.txt, for 23 of 24 words: used {used}." in said
    assert said.index("Word vectors of") > said.index("chosen privately: ")


def test_vectors_of_another_language_cost_no_budget(place, capsys):
    """Where the words are chosen privately, both bookings were made: training goes on without vectors."""
    other, book = place / "de.txt", place / "de.json"
    other.write_text("".join(f"wort{number} {number} 1.5 2\n" for number in range(30)))
    fit = fit_with(place, other)
    assert discreet(*fit, "--out", place / "de", "--ledger", book) == 0
    said = capsys.readouterr().err
    assert (
        said.count(
            "discreet: warning: de.txt holds a vector for none of the 24 words: training goes on without"
        )
        == 1
    )
    release = Release.load(place / "de")
    assert release.configuration["word_vectors_used"] == "not at all: none of the words has a vector"
    assert release.configuration["word_vectors_coverage"] == "0 of 24 words"
    assert "word_vectors_alone" not in release.configuration
    assert discreet(*fit[:-2], "--out", place / "bare", "--ledger", place / "bare.json") == 0
    assert np.array_equal(release.topic_word, Release.load(place / "bare").topic_word)
    public = ("--vocabulary", place / "words.txt", "--vocabulary-is-public", "--ledger", place / "no.json")
    assert discreet(*fit, "--out", place / "no", *public) == 2
    assert "holds a vector for none of the 24 words; are the vectors" in capsys.readouterr().err
    assert not (place / "no.json").exists()


def test_vectors_of_few_words_are_warned_of_once(place, capsys):
    few = place / "few.txt"
    few.write_text("".join(f"{word} {row} 1.5 2\n" for row, word in enumerate(["w03", "w15", "x", "y"])))
    fit = fit_with(place, few)
    public = ("--vocabulary", place / "words.txt", "--vocabulary-is-public")
    for name, more in (("a", public), ("b", ())):
        assert discreet(*fit, "--out", place / f"few {name}", *more) == 0
        said = capsys.readouterr().err
        assert (
            said.count("discreet: warning: few.txt holds a vector for 2 of the 24 words, fewer than a tenth")
            == 1
        )
    with few.open("a") as file:
        file.write("w04 1 2 3\n")
    assert discreet(*fit, "--out", place / "enough", *public) == 0
    assert "fewer than a tenth" not in capsys.readouterr().err


def as_npz(vectors):
    raw = io.BytesIO()
    np.savez(raw, words=np.array(["other0", "w00", "w01"]), vectors=np.array(vectors, np.float32))
    return raw.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("broken.txt", b"w00 1 2 3\nw01 1 2\n", "line 2: expected a word and 3 numbers"),
        (
            "broken.vec",
            b"other0 1 2 3\nw00 1 2 3\nw01 1 x 3\n",
            "line 3: expected a word and 3 finite numbers",
        ),
        ("cut.vec.gz", gzip.compress(b"w00 1 2 3\n" * 9000, mtime=0)[:-200], "cut short"),
        ("broken.npz", as_npz([[1, 2], [1, 2], [1, np.nan]]), "vector 3: expected 2 finite numbers"),
        ("cut.npz", as_npz(np.ones((3, 9000)))[:50_000], "is damaged"),
    ],
)
def test_a_broken_file_of_vectors_costs_nothing(name, content, expected, place, capsys):
    broken = place / name
    broken.write_bytes(content)
    book = place / "ledger.json"
    for more in ((), ("--vocabulary", place / "words.txt")):
        fit = (
            "fit",
            place / "notes.jsonl",
            "--out",
            place / "never",
            "--ledger",
            book,
            "--word-vectors",
            broken,
        )
        assert discreet(*fit, *more) == 2
        assert expected in capsys.readouterr().err
        assert not book.exists()


def test_budget_tells_what_vectors_are_expected_to_do(capsys):
    budget = ("budget", "--epsilon", 1, "--documents", 9000, "--topics", 4, "--words-a-document", 8)
    assert discreet(*budget, "--words", 24, "--vocabulary-is-public", "--with-word-vectors", "--json") == 0
    assert json.loads(capsys.readouterr().out)["forecast"]["algorithm"] == "PrivateLDA with word vectors"
    assert discreet(*budget, "--words", 24, "--vocabulary-is-public", "--with-word-vectors") == 0
    told = capsys.readouterr().out
    assert "topics of 24 words fit the texts" in told
    gap = float(re.search(r"about ([\d.]+) % \([\d.]+ to [\d.]+ %\) worse than without privacy", told)[1])
    both = re.search(
        r"lie ([\d.]+) % above a model without privacy with vectors, and ([\d.]+) % without", told
    )
    assert float(both[1]) == gap < float(both[2])
