"""`discreet read`: documents behind a topic, local only and marked in every line."""

import gzip
import json

import numpy as np
import pytest
from tests.report.report_cases import release

from discreet.cli.app import run

MARKER = "zzmarkerroe"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A model of 3 topics with 20 words each, and 90 documents, each of one of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    words = tuple(f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60))
    release(n_topics=3, n_words=60, words=words).save("model")
    rng = np.random.default_rng(0)
    with (tmp_path / "notes.jsonl").open("w") as file:
        for row in range(90):
            chosen = rng.choice(words[20 * (row % 3) : 20 * (row % 3) + 20], size=30)
            text = f"{MARKER}{row} " + " ".join(chosen) + "\n\x1b[31mred \u202e line"
            file.write(json.dumps({"note": text if row != 4 else ""}) + "\n")
    return tmp_path


def test_the_documents_of_the_topic_are_shown_and_every_line_is_marked(place, capsys):
    before = sorted(place.iterdir())
    assert run("read model notes.jsonl --text note --topic 2 -n 4".split()) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert all(line.startswith("PRIVATE | ") for line in lines)
    numbers = [int(line.split()[3].rstrip(":")) for line in lines if line.startswith("PRIVATE | document")]
    assert len(numbers) == 4
    assert all(number % 3 == 1 for number in numbers)
    for number in numbers:
        assert f"{MARKER}{number} " in shown.out  # the text is that document's, though one before it is empty
    assert "\x1b" not in shown.out
    assert max(map(len, lines)) <= 60
    assert MARKER not in shown.err
    assert sorted(place.iterdir()) == before


def test_what_is_shown_is_what_transform_ranks_first(place, capsys):
    assert run("transform model notes.jsonl --text note --out s.jsonl --quiet".split()) == 0
    shares = [json.loads(line)["topic_3"] for line in (place / "s.jsonl").read_text().splitlines()]
    best = [row for row in np.argsort(-np.array(shares), kind="stable").tolist() if row != 4][:3]
    assert run("read model notes.jsonl --text note --topic 3 -n 3".split()) == 0
    out = capsys.readouterr().out
    assert [int(line.split()[3].rstrip(":")) for line in out.splitlines() if "| document" in line] == best


def test_long_documents_are_cut_and_short_ones_left_out(place, capsys, monkeypatch):
    call = "read model notes.jsonl --text note --topic 1 -n 1"
    monkeypatch.setattr("discreet.cli.commands.read._LONGEST", 15)
    assert run(call.split()) == 0
    assert "\u2026" in capsys.readouterr().out
    assert run([*call.split(), "--least-words", "500"]) == 0
    out = capsys.readouterr().out
    assert "no document has 500 words" in out
    assert MARKER not in out


def test_other_formats_are_read_too(place, capsys):
    raw = (place / "notes.jsonl").read_bytes()
    (place / "notes.jsonl.gz").write_bytes(gzip.compress(raw))
    assert run("read model notes.jsonl.gz --text note --topic 1 -n 1".split()) == 0
    assert MARKER in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("read model notes.jsonl --text note --topic 4", "--topic must be from 1 to 3"),
        ("read model counts.npz --topic 1", "counts, not texts"),
        ("read model notes.jsonl --text body --topic 1", "body"),
    ],
)
def test_what_cannot_be_read_is_said_without_text(place, call, message, capsys):
    from discreet import Corpus
    from discreet.corpus import write_corpus

    counts = np.ones((3, 60), np.int32)
    write_corpus(Corpus(counts, release(n_topics=3, n_words=60).vocabulary), place / "counts.npz")
    assert run(call.split()) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert MARKER not in said.out + said.err
