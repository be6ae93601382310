"""Every release of topics says how its texts became words, where its counts know it."""

import copy
import json

import pytest

from discreet import Corpus, PrivateCountVectorizer, PrivateLDA, PrivateSVILDA, fit_topics
from discreet.central import choose_n_topics_privately
from discreet.cli.app import run
from discreet.corpus import Tokenizer, read_corpus, read_into_shards, tokenizer_like, write_shards
from discreet.errors import ParameterError

WORDS = ["kidney", "dialysis", "kidney dialysis", "ward bed", "ward", "bed", "nurse", "cough"]
TEXTS = ["kidney dialysis ward bed", "fever cough nurse fever kidney", "ward bed fever dialysis"] * 200
HOW = {"ngram_range": (1, 2), "stop_words": [["fever"]]}
CUT = Tokenizer(**HOW)


def public_corpus():
    return Corpus.from_texts(TEXTS, tokenizer=CUT, vocabulary=WORDS, words_are_public=True)


def chosen_counts():
    return PrivateCountVectorizer(epsilon=5.0, random_state=0, **HOW).fit_transform(TEXTS)


def transformed_counts():
    return PrivateCountVectorizer(epsilon=1.0, vocabulary=WORDS, words_are_public=True, **HOW).fit_transform(
        TEXTS
    )


def says_how(release):
    expected = CUT.settings()
    assert {name: release.configuration.get(name) for name in expected} == expected
    with pytest.raises(ParameterError, match="stop_words"):
        tokenizer_like(release.configuration)
    alike = tokenizer_like(release.configuration, stop_words=HOW["stop_words"])
    assert alike("kidney dialysis ward") == CUT("kidney dialysis ward")


def _rows():
    return chosen_counts().take(range(500))


def _copy():
    return copy.copy(chosen_counts())


@pytest.mark.parametrize("counts", [public_corpus, chosen_counts, transformed_counts, _rows, _copy])
def test_topics_of_counts_say_how_texts_were_cut(counts):
    X = counts()
    public = {} if X.word_origin.kind == "chosen" else {"words_are_public": True}
    says_how(PrivateLDA(2, epsilon=2.0, random_state=0).fit(X, **public).release_)


@pytest.mark.parametrize("model", [PrivateSVILDA])
def test_so_does_every_model(model):
    says_how(model(2, epsilon=20.0, random_state=0).fit(public_corpus()).release_)


def test_shards_keep_how_their_texts_were_cut(tmp_path):
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    streamed = read_into_shards(
        tmp_path / "notes.jsonl",
        tmp_path / "a",
        vocabulary=WORDS,
        words_are_public=True,
        shard_documents=250,
        tokenizer=CUT,
    )
    written = write_shards(public_corpus(), tmp_path / "b", shard_documents=250)
    pieces = write_shards([public_corpus(), public_corpus()], tmp_path / "c")
    for shards in (streamed, written, pieces, write_shards(written, tmp_path / "d")):
        says_how(PrivateLDA(2, epsilon=2.0, random_state=0).fit(shards).release_)
    assert [part.cut for part in streamed] == [CUT.settings()] * 3
    assert read_corpus(tmp_path / "a").cut == streamed.to_corpus().cut == CUT.settings()
    chosen = fit_topics(
        read_into_shards(tmp_path / "notes.jsonl", tmp_path / "e", tokenizer=CUT),
        n_topics=2,
        epsilon=6.0,
        random_state=0,
    )
    says_how(chosen)
    bare = Corpus(public_corpus().counts, WORDS, words_are_public=True)
    assert write_shards([public_corpus(), bare], tmp_path / "f").cut == {}


def test_so_do_all_candidates():
    found = choose_n_topics_privately(public_corpus(), [1, 2], epsilon=4.0, random_state=0)
    for release in found.releases:
        says_how(release)


def test_counts_that_know_nothing_say_nothing():
    X = transformed_counts()
    for bare in (X.counts[:, ::-1], X.counts.toarray()):
        told = (
            PrivateLDA(2, epsilon=2.0, random_state=0)
            .fit(bare, vocabulary=WORDS, words_are_public=True)
            .release_
        )
        assert not set(CUT.settings()) & set(told.configuration)


def test_the_command_that_chooses_tells_transform(tmp_path, capsys):
    notes, words, stopped = (tmp_path / name for name in ("notes.jsonl", "words.txt", "stopped.txt"))
    notes.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    words.write_text("\n".join(WORDS) + "\n")
    stopped.write_text("fever\n")
    cut, model = ["--read", "ngram_range=1,2", "--read", f"stop_words={stopped}"], tmp_path / "model"
    public = [
        "--vocabulary",
        str(words),
        "--vocabulary-is-public",
        "--seed",
        "0",
        "--set",
        "allow_unlearnable=true",
        "--quiet",
    ]
    chosen = [
        "choose-topics",
        str(notes),
        "--epsilon",
        "4",
        "--topics",
        "1,2",
        "--out",
        str(model),
    ]
    assert run([*chosen, *cut, *public]) == 0
    shares = ["transform", str(model), str(notes), "--out", str(tmp_path / "shares.csv"), "--quiet"]
    assert run(shares) == 2
    assert "stop_words" in capsys.readouterr().err
    assert run([*shares, "--read", f"stop_words={stopped}"]) == 0
    assert read_corpus(notes, vocabulary=WORDS, tokenizer=CUT).n_words == len(WORDS)
