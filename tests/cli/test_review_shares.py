"""`discreet review --shares`: shares of topics leave with the reviewed words, and no others."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from tests.release.hostile_files import take_apart

from discreet import Ledger, Release
from discreet.cli.app import run
from discreet.errors import ReleaseError
from discreet.release import PrevalenceRelease
from discreet.release.edits import apply, parse, places, reviewed_shares
from discreet.release.numbers import mark_of
from discreet.report.wording import naming

THEMES = (
    ("okafor", "tablets", "dose", "blood"),
    ("theatre", "stitches", "wound", "scar"),
    ("tea", "cold", "meal"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Topics and their shares; a doctor's name is the word most used of the first theme."""
    folder, rng = tmp_path_factory.mktemp("fit"), np.random.default_rng(0)
    lines = []
    for row in range(1500):
        theme = THEMES[rng.integers(3)]
        words = [*rng.choice(theme, 9), *[theme[0]] * 4]
        lines.append(json.dumps({"note": " ".join(words), "ward": ("north", "south")[row % 2]}))
    (folder / "notes.jsonl").write_text("\n".join(lines))
    (folder / "words.txt").write_text("\n".join(word for theme in THEMES for word in theme))
    (folder / "wards.txt").write_text("north\nsouth\n")
    how = f"{folder}/notes.jsonl --text note --epsilon 8 --seed 1"
    words = f"--vocabulary {folder}/words.txt --vocabulary-is-public"
    where = f"--by ward --groups {folder}/wards.txt"
    assert run(f"fit {how} --topics 3 {words} --out {folder}/topics".split()) == 0
    assert run(f"prevalence {folder}/topics {how} {where} --out {folder}/wards.json".split()) == 0
    return folder


@pytest.fixture
def fitted(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("topics", "wards.json", "wards.md"):
        (tmp_path / name).symlink_to(made / name)
    return tmp_path


def test_a_removed_word_stands_in_no_file_that_the_review_wrote(fitted):
    before = PrevalenceRelease.load("wards.json")
    assert "okafor" in " ".join(before.topics)
    call = "review topics --drop okafor --by Roe --shares wards.json --shares-out new.json --out reviewed"
    assert run(call.split()) == 0
    assert run("report reviewed --out r.html".split()) == 0
    assert run("report new.json --out new.html --table new.csv".split()) == 0
    files = [path for path in fitted.rglob("*") if path.is_file() and not path.is_symlink()]
    written = {path.relative_to(fitted).as_posix(): path.read_bytes() for path in files}
    assert {"new.json", "new.md", "new.html", "new.csv", "r.html", "reviewed/README.md"} <= set(written)
    assert [name for name, raw in written.items() if b"okafor" in raw.lower()] == []
    after = PrevalenceRelease.load("new.json")
    np.testing.assert_array_equal(after.topic_totals, before.topic_totals)
    assert after.promise == before.promise
    assert after.review.startswith("reviewed by Roe")
    for page in ("new.md", "new.html"):
        assert "reviewed by Roe" in (fitted / page).read_text()
    assert set(after.topics) == {", ".join(called) for called in naming(Release.load("reviewed"))}


def test_names_merges_and_removals_reach_the_right_columns(fitted):
    (fitted / "edits.txt").write_text(
        "name topic 3 = Meals\nmerge topics 1 3\ndrop topic 2\nrename word tea = drinks\n"
    )
    assert (
        run("review topics --edits edits.txt --by R --shares wards.json --shares-out new.json".split()) == 0
    )
    assert PrevalenceRelease.load("new.json").topics == (
        "Meals (part 1 of 2)",
        "(removed in review)",
        "Meals (part 2 of 2)",
    )
    assert not (fitted / "reviewed").exists()


@pytest.mark.parametrize(
    "edit", ["rename word okafor = doctor", "drop word okafor", "merge topics 1 3", "drop topic 2"]
)
def test_no_file_that_the_review_wrote_holds_a_digest_of_the_words_before(fitted, edit):
    (fitted / "edits.txt").write_text(edit)
    call = "review topics --edits edits.txt --by R --shares wards.json --shares-out new.json --out reviewed"
    assert run(call.split()) == 0
    _, metadata, _ = take_apart(Path("topics/model.safetensors").read_bytes())
    names = ["checksum"] if "topic" in edit else ["checksum", "vocabulary_sha256"]  # or else the words stay
    told = [metadata[name].encode() for name in names]
    topics = Release.load("topics")
    numbers = topics.topic_word.astype("<f8").tobytes()
    marked = sha256("\n".join(topics.vocabulary).encode() + numbers).hexdigest()[:16]
    assert Path("wards.json").read_text().count(mark_of(topics)) == 1
    before = [marked.encode(), *told]
    files = [path for path in fitted.rglob("*") if path.is_file() and not path.is_symlink()]
    held = [(path.name, mark) for path in files for mark in before if mark in path.read_bytes()]
    assert held == []


def test_shares_know_renamed_topics_again_and_no_others(fitted):
    call = "review {} --edits edits.txt --by R --shares {}.json --shares-out {}.json --out {}"
    (fitted / "edits.txt").write_text("rename word okafor = doctor\n")
    assert run(call.format("topics", "wards", "renamed", "doctors").split()) == 0
    after, before = PrevalenceRelease.load("renamed.json"), PrevalenceRelease.load("wards.json")
    assert after.configuration["model"] == mark_of(Release.load("doctors"))
    assert before.configuration["model"] == mark_of(Release.load("topics"))
    np.testing.assert_array_equal(after.topic_totals, before.topic_totals)
    (fitted / "edits.txt").write_text("drop word tea\n")
    assert run(call.format("doctors", "renamed", "again", "fewer").split()) == 0
    known = {mark_of(Release.load(topics)) for topics in ("fewer", "doctors", "topics")}
    assert PrevalenceRelease.load("again.json").configuration["model"] not in known


@pytest.mark.parametrize("merged", [[[0, 3]], [[1, 2], [4, 0]], []])
@pytest.mark.parametrize("gone", [[], [5], [6, 5]])
def test_places_are_where_the_release_puts_topics(merged, gone):
    rows = np.random.default_rng(0).dirichlet(np.ones(20), 7)
    release = Release(rows, [f"w{i}" for i in range(20)], Ledger(1, 1e-6))
    lines = [f"name topic {topic + 1} = T{topic}" for topic in range(7)]
    lines += [f"merge topics {a + 1} {b + 1}" for a, b in merged] + [
        f"drop topic {topic + 1}" for topic in gone
    ]
    edits = parse(lines)
    names = apply(release, edits).topic_names
    for topic, place in enumerate(places(7, edits)):
        head = min(next((group for group in merged if topic in group), [topic]))
        assert (place is None) == (topic in gone)
        assert place is None or names[place - 1] == f"T{head}"


def test_shares_of_other_topics_are_refused_before_anything_is_written(fitted, capsys):
    assert run("review topics --drop okafor --by R --out reviewed".split()) == 0
    call = "review reviewed --drop tea --by R --shares wards.json --shares-out new.json --out again"
    assert run(call.split()) == 2
    assert "shares of other topics" in capsys.readouterr().err
    assert not (fitted / "again").exists()
    assert not (fitted / "new.json").exists()
    assert run("review topics --drop okafor --by R --shares wards.json --out again".split()) == 2
    assert "--shares-out" in capsys.readouterr().err
    reviewed = Release.load("reviewed")
    with pytest.raises(ReleaseError, match="other topics"):
        reviewed_shares(PrevalenceRelease.load("wards.json"), reviewed, parse([]), reviewed)


def test_a_group_that_holds_a_removed_word_is_told(fitted, capsys):
    shares = PrevalenceRelease.load("wards.json")
    replace(shares, groups=("ward Okafor", "south")).save("named.json")
    call = "review topics --drop okafor --by R --shares named.json --shares-out new.json"
    assert run(call.split()) == 0
    assert "the group 1 of new.json still holds a word" in " ".join(capsys.readouterr().err.split())
