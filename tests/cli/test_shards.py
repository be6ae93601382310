"""The commands over shards: convert streams into them, fit goes through them."""

import json
from typing import NamedTuple

import numpy as np
import pytest

from discreet import Release
from discreet.cli.app import run as command
from discreet.corpus import ShardedCorpus, read_corpus
from discreet.release.prevalence import PrevalenceRelease

TOPICS = [[f"{letter}{i}" for i in range(8)] for letter in "abc"]


class Done(NamedTuple):
    exit_code: int
    output: str


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = command([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Done(code, " ".join((told.out + told.err).split()))

    return call


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        lines = [
            {"text": " ".join(rng.choice(TOPICS[rng.integers(3)], 9)), "who": f"p{rng.integers(150)}"}
            for _ in range(900)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


FIT = ("--topics", "3", "--epsilon", "6", "--seed", "1", "--set", "allow_unlearnable=true", "--quiet")


def fitted(run, path, out, *options):
    done = run("fit", path, "--out", out, *FIT, *options)
    assert done.exit_code == 0, done.output
    return Release.load(out)


@pytest.mark.parametrize("person", [[], ["--person", "who"]])
def test_several_files_become_one_folder_of_shards_and_a_fit_of_it_is_that_of_memory(run, files, person):
    one, two, together = files / "one.jsonl", files / "two.jsonl", files / "all.jsonl"
    together.write_text(one.read_text() + two.read_text())
    shards = files / "shards"
    done = run(
        "convert", one, two, shards, "--shard-documents", "400", "--read", "stop_words=english", *person
    )
    assert done.exit_code == 0, done.output
    assert "1800 documents" in done.output
    assert "No stop words" not in done.output
    assert ShardedCorpus(shards).unit == ("person" if person else "document")
    expected = fitted(run, together, files / "memory", *person)
    found = fitted(run, shards, files / "release")
    assert found.vocabulary == expected.vocabulary
    assert found.topic_word.tobytes() == expected.topic_word.tobytes()
    assert not [file for file in files.iterdir() if file.name.startswith(".")]


def test_the_command_says_that_no_stop_words_were_left_out(run, files):
    done = run("convert", files / "one.jsonl", files / "shards", "--shard-documents", "200")
    assert done.exit_code == 0
    assert "No stop words were left out" in done.output


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.filterwarnings("ignore")
def test_topics_of_shards_are_written_shard_by_shard(run, files, suffix):
    shards, found, expected = files / "shards", files / f"found.{suffix}", files / f"expected.{suffix}"
    assert run("convert", files / "one.jsonl", shards, "--shard-documents", "90").exit_code == 0
    release = fitted(run, shards, files / "release", "--set", "max_words=20")
    assert len(release.vocabulary) == 20  # of 24: words that the release does not know are left out
    done = run("transform", files / "release", shards, "--out", found)
    assert done.exit_code == 0, done.output
    assert "900 documents" in done.output
    assert run("transform", files / "release", files / "one.jsonl", "--out", expected).exit_code == 0
    assert found.read_bytes() == expected.read_bytes()


def test_shares_in_groups_of_labelled_shards_are_those_of_the_file(run, files):
    shards, people = files / "shards", files / "people.txt"
    people.write_text("".join(f"p{i}\n" for i in range(150)))
    told = ("--shard-documents", "200", "--label", "who")
    assert run("convert", files / "one.jsonl", shards, *told).exit_code == 0
    fitted(run, shards, files / "release")
    found = []
    for corpus, by in ((shards, "label"), (files / "one.jsonl", "who")):
        out = files / f"{by}.json"
        how = (corpus, "--by", by, "--groups", people, "--seed", "1", "--out", out)
        done = run("prevalence", files / "release", *how)
        assert done.exit_code == 0, done.output
        found.append(PrevalenceRelease.load(out).topic_totals)
    assert np.array_equal(*found)
    other = (shards, "--by", "who", "--groups", people, "--out", files / "other.json")
    done = run("prevalence", files / "release", *other)
    assert done.exit_code == 2
    assert "pass --by label" in done.output


def test_counts_become_shards_too(run, files):
    (files / "words.txt").write_text("\n".join(read_corpus(files / "one.jsonl").vocabulary))
    public = ("--vocabulary", files / "words.txt", "--vocabulary-is-public")
    assert run("convert", files / "one.jsonl", files / "one.npz", *public).exit_code == 0
    done = run("convert", files / "one.npz", files / "shards", "--shard-documents", "100")
    assert done.exit_code == 0, done.output
    assert ShardedCorpus(files / "shards").words_are_public
    done = run("convert", files / "shards", files / "again", "--shard-documents", "500")
    assert done.exit_code == 0, done.output
    assert len(ShardedCorpus(files / "again").shards) == 2
    done = run("convert", files / "again", files / "back.npz")
    assert done.exit_code == 0, done.output
    assert "900 documents" in done.output


def test_counts_are_read_with_the_files_beside_them(run, files):
    assert run("convert", files / "one.jsonl", files / "docword.one.txt", "--person", "who").exit_code == 0
    done = run(
        "convert",
        files / "docword.one.txt",
        files / "s",
        "--shard-documents",
        "100",
        "--vocabulary-is-public",
    )
    assert done.exit_code == 2
    assert "words were counted from the texts themselves" in done.output
    assert not (files / "s").exists()
    public = ("--vocabulary", files / "vocab.one.txt", "--vocabulary-is-public")
    done = run("convert", files / "docword.one.txt", files / "s", "--shard-documents", "100", *public)
    assert done.exit_code == 0, done.output
    shards = ShardedCorpus(files / "s")
    assert (shards.unit, len(shards)) == ("person", 900)
    assert shards.word_origin.declared_by == "--vocabulary-is-public of discreet convert"
    (files / "vocab.one.txt").write_text("".join(f"other{i}\n" for i in range(shards.n_words)))
    done = run("convert", files / "docword.one.txt", files / "t", "--shard-documents", "100")
    assert done.exit_code == 2
    assert "Write the corpus again" in done.output
    assert not (files / "t").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "one.jsonl", "two.jsonl", "x.npz"], "--shard-documents 100000"),
        (
            ["convert", "one.jsonl", "s", "--shard-documents", "9", "--read", "sheet=a"],
            "--read sheet=: cannot be",
        ),
        (["fit", "shards", "--out", "r", "--text", "body"], "--text: shards hold counts"),
    ],
)
def test_what_cannot_work_is_refused(run, files, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    assert run("convert", "one.jsonl", "shards", "--shard-documents", "500").exit_code == 0
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert not (files / "r").exists()
