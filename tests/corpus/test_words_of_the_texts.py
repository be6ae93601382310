"""All words that were counted in private texts are no public list, whoever declares them to be one."""

import json

import pytest

from discreet import PrivateCountVectorizer, PrivateLDA
from discreet.cli.app import run
from discreet.corpus import (
    Corpus,
    ShardedCorpus,
    load_vocabulary,
    read_corpus,
    read_into_shards,
    write_corpus,
    write_shards,
)
from discreet.corpus.vocabulary import FROM_TEXT
from discreet.errors import CorpusError, PrivacyError
from discreet.release import Release

TEXTS = ["the nurse came early", "the bed was cold"] * 300 + ["Brannigan shouted"]
PUBLIC = ["bed", "cold", "early", "nurse"]
WAY_OUT = (
    r"counted from the texts themselves.*Count the texts with the public list, vocabulary=.*chosen privately"
)
LDA = {"n_topics": 2, "epsilon": 4.0, "allow_unlearnable": True, "random_state": 0}


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (tmp_path / "public.txt").write_text("\n".join(PUBLIC) + "\n")
    return file


def stored(tmp_path, name):
    write_corpus(Corpus.from_texts(TEXTS), tmp_path / name)
    return tmp_path / name


def texts_once():
    raise AssertionError("a text was read before the refusal")
    yield


CALLS = {
    "from_texts": lambda notes: Corpus.from_texts(texts_once(), words_are_public=True),
    "from_tokens": lambda notes: Corpus.from_tokens(texts_once(), words_are_public=True),
    "read_corpus": lambda notes: read_corpus(notes, words_are_public=True),
    "read_corpus of npz": lambda notes: read_corpus(stored(notes.parent, "a.npz"), words_are_public=True),
    "read_into_shards": lambda notes: read_into_shards(notes, notes.parent / "s", words_are_public=True),
    "write_shards": lambda notes: write_shards(
        iter([Corpus.from_texts(TEXTS)]), notes.parent / "s", words_are_public=True
    ),
    "fit": lambda notes: PrivateLDA(**LDA).fit(Corpus.from_texts(TEXTS), words_are_public=True),
    "fit of shards": lambda notes: PrivateLDA(**LDA).fit(
        write_shards(Corpus.from_texts(TEXTS), notes.parent / "s"), words_are_public=True
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_flag_does_not_make_words_of_the_texts_public(name, notes):
    with pytest.raises(PrivacyError, match=WAY_OUT) as error:
        CALLS[name](notes)
    assert "brannigan" not in str(error.value).lower()
    if "shards" in name and "fit" not in name:
        assert not (notes.parent / "s").exists()


@pytest.mark.parametrize("source", ["notes.jsonl", "a.npz", "a.mtx"])
@pytest.mark.parametrize(
    "order", ["fit {} --topics 2 --epsilon 8 --set allow_unlearnable=true --out {}", "convert {} {}"]
)
def test_nor_does_the_command(order, source, notes, tmp_path, capsys):
    if source != notes.name:
        stored(tmp_path, source)
    out = tmp_path / ("pub.npz" if order.startswith("convert") else "out")
    order = [*order.format(tmp_path / source, out).split(), "--vocabulary-is-public"]
    assert run(order) == 2
    told = capsys.readouterr().err
    assert "counted from the texts themselves" in told
    assert "Count the texts with the public list, --vocabulary, or leave --vocabulary-is-public out" in told
    assert not out.exists()
    if order[0] == "fit" and source == notes.name:  # both ways out
        assert run([*order, "--vocabulary", str(tmp_path / "public.txt")]) == 0
        assert set(Release.load(out).vocabulary) == set(PUBLIC)
        order[order.index(str(out))] = str(tmp_path / "chosen")
        assert run(order[:-1]) == 0
        assert "brannigan" not in Release.load(tmp_path / "chosen").vocabulary


def test_nor_when_texts_become_shards(notes, tmp_path, capsys):
    order = ["convert", str(notes), str(tmp_path / "s"), "--shard-documents", "200", "--vocabulary-is-public"]
    assert run(order) == 2
    assert "with the public list, --vocabulary" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
    assert run([*order, "--vocabulary", str(tmp_path / "public.txt")]) == 0
    assert ShardedCorpus(tmp_path / "s").words_are_public


def test_a_list_that_is_given_can_be_public(notes):
    listed = {"vocabulary": PUBLIC, "words_are_public": True}
    assert Corpus.from_texts(TEXTS, **listed).words_are_public
    assert Corpus.from_tokens([text.split() for text in TEXTS], **listed).words_are_public
    assert read_corpus(notes, **listed).words_are_public
    assert Corpus.from_texts(TEXTS).restrict(PUBLIC, words_are_public=True).words_are_public
    exact = Corpus.from_texts(TEXTS)
    assert exact.word_origin == FROM_TEXT
    chosen = PrivateCountVectorizer(epsilon=8.0, random_state=0).fit(exact)
    assert "brannigan" not in chosen.get_feature_names_out().tolist()


def test_the_texts_are_no_list_of_words(tmp_path):
    note = "the patient asked for a second blanket at night and said that nobody came for more than an hour to see"
    notes = tmp_path / "notes.jsonl"
    notes.write_text(f'{{"text": "{note}"}}\n{{"text": "short note"}}\n')
    with pytest.raises(CorpusError, match="file of the documents itself"):
        read_corpus(notes, text="text", vocabulary=notes)
    with pytest.raises(CorpusError, match="file of the documents itself"):
        read_into_shards(notes, tmp_path / "shards", vocabulary=str(notes))
    copied = tmp_path / "words.txt"
    copied.write_bytes(notes.read_bytes())
    for given in (copied, [note, "blanket"]):
        with pytest.raises(CorpusError, match="a text and no word") as found:
            read_corpus(notes, text="text", vocabulary=given)
        assert "blanket" not in str(found.value)
    with pytest.warns(UserWarning, match="1 of 2 words of the vocabulary can never be found"):
        found = read_corpus(notes, text="text", vocabulary=["blanket", " ".join("a" * 20)])
    assert found.counts.sum() == 1


NO_WORDS = {"list": [], "tuple": (), "dictionary": {}, "iterator": iter(())}


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("listed", NO_WORDS.values(), ids=NO_WORDS)
def test_a_list_of_no_words_does_not_make_the_words_of_the_texts_public(listed, public, tmp_path):
    pieces = iter([Corpus.from_texts(TEXTS)])
    with pytest.raises(CorpusError, match="list holds no words"):
        write_shards(pieces, tmp_path / "s", vocabulary=listed, words_are_public=public)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("listed", [[], {}, set(), iter(())])
def test_a_list_of_no_words_is_refused_wherever_words_are_given(listed, notes):
    calls = (
        lambda: load_vocabulary(listed),
        lambda: Corpus.from_texts(TEXTS, vocabulary=listed, words_are_public=True),
        lambda: Corpus.from_tokens([["bed"]], vocabulary=listed, words_are_public=True),
        lambda: Corpus.from_texts(TEXTS).restrict(listed, words_are_public=True),
        lambda: read_corpus(notes, vocabulary=listed, words_are_public=True),
        lambda: read_into_shards(notes, notes.parent / "s", vocabulary=listed, words_are_public=True),
    )
    for call in calls:
        with pytest.raises(CorpusError, match="list holds no words"):
            call()


def test_a_stream_asks_whether_words_were_listed_and_not_how_many(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.corpus.shards.write.load_vocabulary", tuple)
    pieces = iter([Corpus.from_texts(TEXTS)])
    with pytest.raises(CorpusError, match="same words"):
        write_shards(pieces, tmp_path / "s", vocabulary=[], words_are_public=True)
