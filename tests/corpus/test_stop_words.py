"""Public lists of stop words add up; which they are is said, never found from the texts."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from discreet import Corpus, Ledger, PrivateCountVectorizer, fit_topics
from discreet.corpus import Tokenizer, languages, read_corpus, write_shards
from discreet.corpus.languages import english_stop_words
from discreet.errors import CorpusError, ParameterError

LISTS = {"german": ["und", "der", "über"], "spanish": ["de", "la", "el"]}


@pytest.fixture
def library(monkeypatch):
    """A stand-in for the library of lists, without what we add to them."""
    monkeypatch.setattr("discreet.corpus.languages._added", dict)
    fake = types.ModuleType("stop_words")
    fake.get_stop_words = LISTS.__getitem__
    monkeypatch.setitem(sys.modules, "stop_words", fake)


@pytest.fixture
def names(tmp_path):
    file = tmp_path / "names.txt"
    file.write_text("\ufeffOkafor\nSmith Øst\n", encoding="utf-8")
    return file


def test_lists_add_up_however_they_are_named(library, names):
    english = english_stop_words()
    listed = {"okafor", "smith", "øst"}
    for given, expected in (
        (f"english,{names}", english | listed),
        (["english", names], english | listed),
        (["english", ["ward", "Bed"]], english | {"ward", "bed"}),
        ("english, spanish", english | set(LISTS["spanish"])),
        (["german", "spanish"], set(LISTS["german"] + LISTS["spanish"])),
        ("de,es", set(LISTS["german"] + LISTS["spanish"])),
        (["english", ["spanish"]], english | {"spanish"}),
        (names, listed),
        (["the", "it"], {"the", "it"}),
        (frozenset({"spanish", "the"}), {"spanish", "the"}),
        ([["english", "ward"]], {"english", "ward"}),
        ("none", set()),
        (None, set()),
    ):
        assert Tokenizer(stop_words=given).stop_words == expected, given


@pytest.mark.parametrize(
    ("language", "frequent"),
    [
        ("italian", "quando stata stato già così perché oppure quindi niente può sono della dell questa"),
        (
            "german",
            "deren neben zudem jemand wurde konnte schon mehr immer dabei nicht bitte waren möchte einen vom",
        ),
        ("french", "quoi toujours jamais rien toute déjà beaucoup dans est sont leurs avec puis aussi"),
        ("spanish", "dónde cuándo ustedes alguien también porque estaba desde hasta nosotros muy todo"),
        ("danish", "kan så må får gør ikke ved mere bare kun hvordan altid mellem uden andre blevet vores"),
        (
            "norwegian",
            "kan så må får gjør ikke ved mer bare kanskje hvordan aldri mellom uten andre blitt vårt",
        ),
        ("greek", "και το να του με την της για που από σε δεν θα είναι στο στην μου"),
        ("romanian", "și să că după când până într fără îi cât şi"),
        ("catalan", "del al ha més dels aquest aquesta són han això sobre tots"),
        ("hungarian", "is ha két miatt ők túl szerintem és nem hogy"),
        ("slovak", "veľmi nás vás po všetko teraz vždy okrem"),
        (
            "portuguese",
            "sendo cuja dessas hoje ainda sempre nunca assim tudo outra vai não também você pelo",
        ),
        (
            "dutch",
            "waardoor zodat heel elkaar waar wanneer worden moeten zullen zouden weer niet omdat deze",
        ),
        ("turkish", "kadar sonra değil olan olarak çok için gibi daha nasıl şey bütün ama"),
        ("swedish", "dessutom väldigt ändå medan och att det inte som jag har var med för men när"),
        ("czech", "bych bys by bychom byste aby kdyby jsem jsou který není"),
        ("polish", "nie się jest jak ale tylko przez dla który gdy może jeszcze"),
    ],
)
def test_lists_hold_the_function_words_that_lead_any_text(language, frequent):
    """The Italian list lacked "quando" and "stata", the Dutch one "waar" and "worden"."""
    assert set(frequent.split()) <= Tokenizer(stop_words=language).stop_words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (
            "Jeg kan ikke få det til at virke, så nu må jeg bare vente og se, om du kan gøre det i morgen",
            "danish",
        ),
        (
            "Jeg kan ikke få det til å virke, så nå må jeg bare vente og se om du kan gjøre det i morgen",
            "norwegian",
        ),
        ("Estou sempre à espera, e ainda não sei quando isto vai ser feito para nós", "portuguese"),
        ("Estoy siempre a la espera, y no sé cuándo esto va a ser hecho para nosotros", "spanish"),
        ("Teď už nevím, jak bych to měl udělat, ale všechny věci mi řekli až včera", "czech"),
        ("Teraz už neviem, ako by som to mal urobiť, ale všetky veci mi povedali až včera", "slovak"),
    ],
)
def test_of_related_languages_the_list_of_the_right_one_has_most(text, language):
    """Danish texts were told that they stand on the Norwegian list: the Danish one had no "kan", "så" or "må"."""
    corpus = Corpus.from_texts([text])
    shares = languages.language_shares(corpus.vocabulary, corpus.counts.sum(0).A1, 1)
    assert shares[0][0] == language
    assert shares[0][1] > shares[1][1]


def test_what_is_added_to_a_list_is_lacking_there():
    from stop_words import get_stop_words

    for language, listed in languages._added().items():
        assert listed == sorted(set(listed))
        assert not set(listed) & set(get_stop_words(language))


def test_auto_is_the_languages_that_are_named_and_english_otherwise(library):
    assert Tokenizer(stop_words="auto").stop_words == english_stop_words()
    auto = Tokenizer(stop_words="auto", languages=["de", "spanish"])
    assert auto.stop_words == set(LISTS["german"] + LISTS["spanish"])
    assert auto.stop_word_lists == ("german (3)", "spanish (3)")
    # A German text changes nothing: it is not looked at.
    assert Tokenizer(stop_words="auto")("und der Hund") == ["und", "der", "hund"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("klingon", "got 'klingon', which is none. Languages: arabic,"),
        ("english,none", "got 'none', which is none"),
        ("a whole private sentence", "got a str of 24 characters"),
        (["english", "ward"], 'holds words and the name "english"'),
        ([1], "an entry is not a str"),
        ([None], "an entry is not a str"),
        (3, "got 3"),
        (Path("absent.txt"), "cannot be read (No such file"),
    ],
)
def test_refuses_what_is_no_list(given, message):
    with pytest.raises(ParameterError) as error:
        Tokenizer(stop_words=given)
    assert message in str(error.value)


def test_a_file_that_is_no_text_is_named_and_not_shown(tmp_path):
    file = tmp_path / "x.txt"
    file.write_bytes(b"secret\xff")
    with pytest.raises(ParameterError, match="must be UTF-8") as error:
        Tokenizer(stop_words=file)
    assert error.value.__context__ is None
    assert error.value.__cause__ is None


def test_the_library_has_a_list_for_each_language_that_we_name():
    from discreet.corpus.languages import LANGUAGES

    for language in LANGUAGES.values():
        assert len(Tokenizer(stop_words=language).stop_words) > 20, language
    assert {"und", "der", "nicht"} <= Tokenizer(stop_words="german").stop_words


@pytest.mark.parametrize("languages", ["xx1", [], 3, "german,"])
def test_languages_must_be_names(languages):
    with pytest.raises(ParameterError, match="must"):
        Tokenizer(languages=languages)


RNG = np.random.default_rng(0)
WORDS = [[f"{topic}{letter}" for letter in "abcdefgh"] for topic in ("sea", "law")]
TEXTS = ["the of " + " ".join(RNG.choice(WORDS[RNG.integers(2)], 12)) for _ in range(900)]
FIT = {"epsilon": 9.0, "n_topics": 2, "random_state": 0, "allow_unlearnable": True}


def test_a_corpus_loses_their_columns_whatever_its_words_are():
    counted = Corpus.from_texts(TEXTS)
    assert "the" in fit_topics(counted, **FIT).vocabulary
    dropped = fit_topics(counted, stop_words=["english", ["seaa"]], **FIT)
    assert not {"the", "of", "seaa"} & set(dropped.vocabulary)
    # The same as if they had been left out when the texts were read.
    before = Corpus.from_texts(TEXTS, tokenizer=Tokenizer(stop_words=["english", ["seaa"]]))
    assert dropped.vocabulary == fit_topics(before, **FIT).vocabulary
    words = ("the", *WORDS[0], *WORDS[1])
    public = Corpus.from_texts(TEXTS, vocabulary=words, words_are_public=True)
    release = fit_topics(public, stop_words="english", **FIT)
    assert release.vocabulary == words[1:]
    assert release.configuration["words"] == "public"
    assert len(release.ledger.entries) == 1


def test_the_vectorizer_drops_them_from_a_corpus_and_keeps_the_choice_booked():
    counted = Corpus.from_texts(TEXTS)
    ledger = Ledger(epsilon=9.0, delta=1e-6)
    words = PrivateCountVectorizer(epsilon=2.0, stop_words="english", random_state=0, ledger=ledger)
    counts = words.fit_transform(counted)
    assert "the" not in counts.vocabulary
    assert "seaa" in counts.vocabulary
    again = words.transform(counted)
    assert (again.counts != counts.counts).nnz == 0
    release = fit_topics(counts, stop_words=[["seaa"]], **(FIT | {"epsilon": 3.0}))
    assert "seaa" not in release.vocabulary
    assert "lawa" in release.vocabulary
    assert [entry.purpose.split()[0] for entry in release.ledger.entries] == ["vocabulary", "topics"]


def test_what_is_about_texts_is_refused_of_a_corpus_before_anything_is_booked(tmp_path):
    counted = Corpus.from_texts(TEXTS)
    ledger = Ledger(epsilon=9.0, delta=1e-6)
    for options in ({"ngram_range": (1, 2)}, {"token_pattern": r"\w+"}, {"lowercase": False}):
        words = PrivateCountVectorizer(epsilon=2.0, ledger=ledger, **options)
        with pytest.raises(ParameterError, match="has no effect on a Corpus"):
            words.fit(counted)
    with pytest.raises(ParameterError, match="token_pattern has no effect"):
        fit_topics(counted, token_pattern=r"\w+", ledger=ledger, **FIT)
    shards = write_shards(counted, tmp_path / "shards")
    with pytest.raises(ParameterError, match="stop_words has no effect on a ShardedCorpus"):
        fit_topics(shards, stop_words="english", ledger=ledger, **FIT)
    assert not ledger.entries
    assert fit_topics(shards, **FIT).vocabulary  # "auto" says nothing of counts


def test_all_words_left_out_is_an_error():
    counted = Corpus.from_texts(["the of", "of the"])
    with pytest.raises(CorpusError, match="all words of the corpus are stop words"):
        fit_topics(counted, stop_words="english", **FIT)
    with pytest.raises(ParameterError, match="About 0 words would be chosen from 2 documents"):
        fit_topics(["the of", "of the"], **FIT)


def test_files_of_texts_and_the_command_take_several_lists(tmp_path, names, capsys):
    from discreet.cli.app import run

    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"text": "The ward and Okafor"}\n{"text": "the ward again"}\n')
    corpus = read_corpus(notes, stop_words=["english", names])
    assert corpus.vocabulary == ("ward",)
    for given in (
        ["--read", f"stop_words=english,{names}"],
        ["--read", "stop_words=english", "--read", f"stop_words={names}"],
        ["--read", f"stop_words={names}", "--read", "stop_words=auto"],
    ):
        out = tmp_path / "x.npz"
        assert run(["convert", str(notes), str(out), "--quiet", *given]) == 0
        assert read_corpus(out).vocabulary == ("ward",)
        for file in tmp_path.glob("x.*"):
            file.unlink()
    assert run(["convert", str(notes), str(tmp_path / "y.npz"), "--read", "stop_words=klingon"]) == 2
    assert "--read stop_words= must be the name of a language" in capsys.readouterr().err


def test_norwegian_goes_by_no_and_nynorsk_is_told_of_it():
    assert languages.collect_stop_words("no") == languages.collect_stop_words("norwegian")
    assert languages.language_names("no,nb") == ("norwegian",)
    for name in ("nynorsk", "nn"):
        with pytest.raises(ParameterError, match=r"Did you mean norwegian\?"):
            languages.collect_stop_words(name)


def test_the_page_of_languages_names_each_list_and_its_codes():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "languages.md").read_text()
    told = re.search(r"^(Arabic .*?)\.$", page, re.MULTILINE | re.DOTALL)
    listed = {}
    for entry in " ".join(told[1].split()).split(", "):
        name, codes = entry.split(" ")
        listed |= {code: name.lower() for code in re.findall(r"`(\w\w)`", codes)}
    assert listed == languages.LANGUAGES
