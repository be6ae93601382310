"""Words as somebody else finds them, and runs of words; and the same again for new texts."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import corpus as naive

from discreet import Corpus, Ledger, PrivateCountVectorizer, Release, fit_topics
from discreet.cli.app import run
from discreet.corpus import Tokenizer, read_corpus, read_into_shards, tokenizer_like
from discreet.corpus import tokenizer as module
from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN
from discreet.errors import CorpusError, ParameterError

WORDS = ["heart", "attack", "shortness", "of", "breath", "the", "ward", "x", "Heart", "_"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


def lemmas(text):
    """A tokenizer of one's own: the first four letters of each word."""
    return [word[:4] for word in text.split()]


def broken(text):
    raise ValueError(f"cannot read {text}")


@given(text=TEXTS, ngrams=st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 3)]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_runs_agree_with_the_naive_twin(text, ngrams):
    tokenizer = Tokenizer(stop_words=["the", "of"], ngram_range=ngrams)
    expected = naive.tokens(text, DEFAULT_TOKEN_PATTERN, stop_words=["the", "of"], ngram_range=ngrams)
    assert sorted(tokenizer(text)) == sorted(expected)
    counted = Corpus.from_texts([text, "ward ward"], tokenizer=tokenizer)
    first = naive.as_documents(counted)[0]
    assert first == {word: expected.count(word) for word in set(expected)}
    # Lists of words become runs in the same way.
    words = naive.tokens(text, DEFAULT_TOKEN_PATTERN)
    assert sorted(tokenizer.runs([w for w in words if w not in ("the", "of")])) == sorted(expected)


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=5), one=TEXTS, ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)])
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_document_more_changes_no_other_row(texts, one, ngrams):
    """What the promise stands on: each row is a function of its own text."""
    tokenizer = Tokenizer(ngram_range=ngrams)
    texts = [*texts, "ward ward ward"]
    alone = naive.as_documents(Corpus.from_texts(texts, tokenizer=tokenizer))
    for place in (0, len(texts) // 2, len(texts)):
        more = [*texts[:place], one, *texts[place:]]
        found = naive.as_documents(Corpus.from_texts(more, tokenizer=tokenizer))
        assert found[:place] + found[place + 1 :] == alone


def test_runs_that_reach_into_the_next_document_would_be_caught(monkeypatch):
    # Planted mistake: a window of words that one text leaves for the next.
    left = []

    def runs(self, held):
        held = [*left, *held]
        left[:] = held[-1:]
        return iter([" ".join(pair) for pair in itertools.pairwise(held)])

    alone = naive.as_documents(Corpus.from_texts(["aa bb", "cc dd"], tokenizer=Tokenizer(ngram_range=(2, 2))))
    assert alone == [{"aa bb": 1}, {"cc dd": 1}]
    monkeypatch.setattr(module.Tokenizer, "runs", runs)
    assert (
        naive.as_documents(Corpus.from_texts(["aa bb", "cc dd"], tokenizer=Tokenizer(ngram_range=(2, 2))))
        != alone
    )


def test_runs_of_a_person_stay_in_each_document():
    words = PrivateCountVectorizer(
        epsilon=float("inf"), ngram_range=(2, 2), privacy_unit="person", random_state=0
    )
    texts = ["aa bb", "cc dd"] * 50
    words.fit(texts, persons=np.arange(100) // 2)
    assert set(words.vocabulary_) == {"aa bb", "cc dd"}


def test_the_bound_counts_runs_as_words():
    """With a cap of m words, a unit's runs share it: what one unit can give stays the same."""
    texts = [" ".join(f"w{i:02d}" for i in range(40))] * 300
    ledger = Ledger(epsilon=30.0, delta=1e-6)
    common = {"epsilon": 9.0, "max_words_per_unit": 30, "random_state": 0, "ledger": ledger}
    words = PrivateCountVectorizer(**common).fit(texts)
    pairs = PrivateCountVectorizer(ngram_range=(1, 2), **common).fit(texts)
    assert len(words.vocabulary_) == 30
    assert len(pairs.vocabulary_) == 30  # of 79
    assert str(words.planned_event()) == str(pairs.planned_event())


def test_a_callable_wherever_texts_are_read(tmp_path):
    texts = ["Hearts were beating", "the hearts and wards"]
    expected = ("and", "beat", "hear", "the", "ward", "were")
    lines = tmp_path / "x.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    pandas = pytest.importorskip("pandas")
    for corpus in (
        Corpus.from_texts(texts, tokenizer=lemmas),
        read_corpus(lines, tokenizer=lemmas),
        read_corpus(pandas.DataFrame({"text": texts}), tokenizer=lemmas),
        read_into_shards(lines, tmp_path / "shards", tokenizer=lemmas).to_corpus(),
        Corpus.from_texts(texts, tokenizer=Tokenizer(tokenizer=lemmas)),
    ):
        assert corpus.vocabulary == expected
    assert (
        Corpus.from_texts(texts, tokenizer=Tokenizer(tokenizer=lemmas, lowercase=False)).vocabulary[0]
        == "Hear"
    )
    mixed = read_corpus(lines, tokenizer=lemmas, stop_words=["the", "and"], ngram_range=(1, 2))
    assert "hear ward" in mixed.vocabulary
    chosen = PrivateCountVectorizer(epsilon=9.0, tokenizer=lemmas, random_state=0).fit(texts * 300)
    assert tuple(chosen.vocabulary_) == expected
    assert (
        tuple(
            PrivateCountVectorizer(epsilon=9.0, tokenizer=Tokenizer(tokenizer=lemmas), random_state=0)
            .fit(texts * 300)
            .vocabulary_
        )
        == expected
    )
    # Short words count, too: what a word is, is the callable's to say.
    short = Corpus.from_texts(["I saw a b"], tokenizer=str.split)
    assert short.vocabulary == ("a", "b", "i", "saw")
    assert Tokenizer(tokenizer=lambda text: iter([" ", "aa", "\n", ""]))("x") == ["aa"]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (broken, "failed on a document with a ValueError, which is not shown"),
        (lambda text: text, "as a list of str: expected a list of tokens, found str"),
        (lambda text: None, "found NoneType"),
        (lambda text: [3], "token 0 is no text but int"),
        (lambda text: [f"{text}\n{text}"], "token 0 is empty or holds a line break"),
        (lambda text: (broken(text) for _ in "x"), "with a ValueError"),
    ],
)
def test_no_text_in_the_errors_of_a_callable(own, message):
    for call in (
        lambda: Corpus.from_texts(["the secret"], tokenizer=own),
        lambda: fit_topics(["the secret"] * 9, epsilon=1.0, tokenizer=own, random_state=0),
        lambda: PrivateCountVectorizer(epsilon=1.0, tokenizer=own, random_state=0).fit(["the secret"]),
    ):
        with pytest.raises(CorpusError) as error:
            call()
        told = error.value
        assert message in str(told)
        assert "secret" not in str(told)
        assert told.__cause__ is None
        assert told.__context__ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenizer": 3}, "a callable on one text"),
        ({"tokenizer": lemmas, "token_pattern": r"\w+"}, "not both"),
        ({"ngram_range": (1, 1000)}, "longest <= 20"),
    ],
)
def test_refuses_what_cannot_be(options, message):
    with pytest.raises(ParameterError) as error:
        Tokenizer(**options)
    assert message in str(error.value)


def test_a_tokenizer_says_all_of_it():
    with pytest.raises(ParameterError, match="a Tokenizer says all of it"):
        fit_topics(["aa"], epsilon=1.0, tokenizer=Tokenizer(), ngram_range=(1, 2))
    with pytest.raises(ParameterError, match="a Tokenizer says all of it"):
        PrivateCountVectorizer(epsilon=1.0, tokenizer=Tokenizer(), stop_words="english").fit(["aa"])
    with pytest.raises(ParameterError, match="ngram_range has no effect on a Corpus"):
        fit_topics(Corpus.from_texts(["aa bb"]), epsilon=1.0, ngram_range=(1, 2))


RNG = np.random.default_rng(1)
TOPICS = (["heart attack", "ward", "nurse", "pulse"], ["court", "heart", "law suit", "judge"])
NOTES = [" ".join(RNG.choice(TOPICS[RNG.integers(2)], 10)) + " of the" for _ in range(800)]
FIT = {"epsilon": 9.0, "n_topics": 2, "random_state": 0, "allow_unlearnable": True}


def test_a_release_says_how_its_texts_were_cut_and_new_ones_are_cut_alike():
    release = fit_topics(NOTES, ngram_range=(1, 2), **FIT)
    told = release.configuration
    assert (told["ngram_range"], told["stop_words"]) == ("1,2", "english (318)")
    assert {"heart attack", "law suit"} <= set(release.vocabulary)
    assert "1,2" in release.card()
    counted = Corpus.from_texts(NOTES, tokenizer=tokenizer_like(told))
    original = Corpus.from_texts(NOTES, tokenizer=Tokenizer(ngram_range=(1, 2), stop_words="english"))
    assert counted.vocabulary == original.vocabulary
    assert (counted.counts != original.counts).nnz == 0
    # A corpus that was counted that way says the same of itself, whatever is taken from it.
    again = fit_topics(original.take(np.arange(700)).without_persons(), **FIT)
    assert {name: again.configuration[name] for name in original.cut} == dict(original.cut)
    assert original.restrict(["ward"]).cut == original.cut
    with pytest.raises(ParameterError, match="stop_words must be those of this release"):
        tokenizer_like(told, stop_words=["ward"])


def test_a_callable_is_named_and_asked_for_again():
    release = fit_topics(NOTES, tokenizer=lemmas, stop_words=[["nurs"]], **FIT)
    name = release.configuration["tokenizer"]
    assert name.endswith("test_own_words.lemmas")
    assert "nurs" not in release.vocabulary
    with pytest.raises(ParameterError, match="lemmas, which a file cannot hold"):
        tokenizer_like(release.configuration)
    with pytest.raises(ParameterError, match=r"is .*broken, but"):
        tokenizer_like(release.configuration, tokenizer=broken)
    assert tokenizer_like(release.configuration, tokenizer=lemmas)("heartbeat") == ["hear"]
    assert Tokenizer(tokenizer=partial(lemmas)).settings()["tokenizer"] == "functools.partial"
    runs = fit_topics(NOTES, ngram_range=(1, 2), stop_words=[["of"]], **FIT)
    with pytest.raises(ParameterError, match=r"a list \(1\): its runs of words depend on them"):
        tokenizer_like(runs.configuration)
    assert tokenizer_like(runs.configuration, stop_words=[["of"]]).ngram_range == (1, 2)


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in NOTES))
    (tmp_path / "stopped.txt").write_text("nurse\n")
    return file


def test_the_command_counts_runs_and_transforms_alike(notes, tmp_path, capsys):
    stopped = ["--read", f"stop_words={tmp_path / 'stopped.txt'}"]
    common = ["--epsilon", "9", "--topics", "2", "--seed", "0", "--set", "allow_unlearnable=true", "--quiet"]
    model = str(tmp_path / "model")
    assert run(["fit", str(notes), "--out", model, "--read", "ngram_range=1,2", *stopped, *common]) == 0
    release = Release.load(model)
    expected = fit_topics(NOTES, ngram_range=(1, 2), stop_words=[["nurse"]], **FIT)
    assert release.vocabulary == expected.vocabulary
    assert release.configuration["stop_words_digest"] == expected.configuration["stop_words_digest"]
    shares = tmp_path / "shares.jsonl"
    assert run(["transform", model, str(notes), "--out", str(shares), "--quiet"]) == 2
    assert "--read stop_words= must be those of this release" in capsys.readouterr().err
    assert run(["transform", model, str(notes), "--out", str(shares), *stopped, "--quiet"]) == 0
    found = [json.loads(line)["topic_1"] for line in shares.read_text().splitlines()]
    counts = Corpus.from_texts(
        NOTES,
        tokenizer=tokenizer_like(release.configuration, stop_words=["nurse"]),
        vocabulary=release.vocabulary,
    )
    assert np.allclose(found, release.transform(counts)[:, 0], atol=1e-6)
    assert run(["evaluate", model, str(notes), *stopped, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["corpus"]["tokens_dropped"] < 1000
    assert run(["read", model, str(notes), "--topic", "1", "-n", "1", *stopped]) == 0
    assert run(["fit", str(notes), "--out", f"{model}2", "--read", "ngram_range=2", *common]) == 2
    assert "--read ngram_range= must be (shortest, longest)" in capsys.readouterr().err
