"""The whole way in one call: what it costs, when it books, what it refuses, and that the command is the same."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from discreet import (
    BudgetExceeded,
    Corpus,
    CorpusError,
    Ledger,
    ParameterError,
    PrivacyError,
    PrivateCountVectorizer,
    PrivateLDA,
    PrivateSVILDA,
    Release,
    fit_topics,
)
from discreet.central import HybridGibbsLDA, _fit_topics
from discreet.cli.app import run
from discreet.errors import CorpusWarning

RNG = np.random.default_rng(0)
WORDS = [[f"{topic}{letter}" for letter in "abcdefgh"] for topic in ("sea", "law")]
TEXTS = [" ".join(RNG.choice(WORDS[RNG.integers(2)], 12)) for _ in range(1200)]
PERSONS = np.arange(1200) // 3
SMALL = {"n_topics": 2, "random_state": 0}


@pytest.mark.parametrize("method", ["weighted_gaussian", "sips"])
def test_words_and_topics_together_cost_what_was_asked_for(method):
    release = fit_topics(TEXTS, epsilon=2.0, vocabulary_method=method, **SMALL)
    assert [entry.purpose.split()[0] for entry in release.ledger.entries] == ["vocabulary", "topics"]
    assert release.promise.delta == 1e-6
    assert 2.0 * (1 - 2e-3) <= release.promise.epsilon <= 2.0 * (1 + 1e-12)
    assert {word[:3] for word in release.vocabulary} == {"sea", "law"}
    tops = [{word[:3] for word in words} for words in release.top_words(8)]
    assert sorted(map(tuple, tops)) == [("law",), ("sea",)]


def test_public_words_leave_everything_to_the_topics():
    words = [word for block in WORDS for word in block]
    corpus = Corpus.from_texts(TEXTS, vocabulary=words, words_are_public=True)
    assert corpus.words_are_public
    found = [
        fit_topics(TEXTS, epsilon=2.0, vocabulary=words, words_are_public=True, **SMALL),
        fit_topics(corpus, epsilon=2.0, **SMALL),
        PrivateLDA(2, epsilon=2.0, random_state=0).fit(corpus).release_,
    ]
    for release in found:
        assert len(release.ledger.entries) == 1
        assert release.vocabulary == tuple(words)
        assert np.array_equal(release.topic_word, found[0].topic_word)


def test_without_privacy_it_is_the_same_way():
    release = fit_topics(TEXTS, epsilon=float("inf"), **SMALL)
    assert np.isinf(release.promise.epsilon)
    assert len(release.vocabulary) == 16


def test_people_are_the_unit_where_they_are_known():
    release = fit_topics(TEXTS, epsilon=4.0, privacy_unit="person", persons=PERSONS, **SMALL)
    assert release.promise.privacy_unit == "person"
    assert release.n_units_noisy == pytest.approx(400, rel=0.2)
    with pytest.raises(PrivacyError, match="pass persons="):
        fit_topics(TEXTS, epsilon=4.0, privacy_unit="person", **SMALL)


# ---- booked at once, before a text is read


class Watched:
    """Texts that write down what the ledger held when they were first read."""

    def __init__(self, ledger):
        self.ledger, self.booked = ledger, None

    def __iter__(self):
        self.booked = len(self.ledger.entries)
        return iter(TEXTS)


@pytest.mark.parametrize("public", [False, True])
def test_what_reads_the_texts_is_booked_before_a_text_is_read(public):
    ledger = Ledger(4.0, 1e-6)
    texts = Watched(ledger)
    how = {"vocabulary": WORDS[0], "words_are_public": True} if public else {}
    fit_topics(texts, epsilon=2.0, ledger=ledger, **how, **SMALL)
    assert texts.booked == 1
    assert len(ledger.entries) == (1 if public else 2)
    assert ledger.spent().epsilon == pytest.approx(2.0, rel=2e-3)


def test_what_the_ledger_cannot_pay_to_the_end_is_not_begun():
    ledger = Ledger(2.0, 1e-6)
    fit_topics(TEXTS, epsilon=1.2, ledger=ledger, **SMALL)
    texts = Watched(ledger)
    with pytest.raises(BudgetExceeded):  # the words alone could have been paid
        fit_topics(texts, epsilon=1.8, ledger=ledger, **SMALL)
    assert texts.booked is None
    assert len(ledger.entries) == 2
    assert ledger.remaining().epsilon > 0.25 * 1.8


def test_all_faults_are_told_at_once_under_the_names_of_this_call():
    texts = Watched(Ledger(1, 1e-6))
    with pytest.raises(PrivacyError) as caught:
        fit_topics(
            texts,
            epsilon=-1,
            delta=3,
            n_topics=0,
            privacy_unit="word",
            vocabulary=["sea"],
            vocabulary_share=2,
            vocabulary_method="best",
            max_words=0,
            token_pattern="(",
            allow_unlearnable=3,
            random_state=-1,
            n_jobs=0,
            doc_topic_prior="much",
            ledger=7,
        )
    assert sorted(caught.value.parameters) == sorted(
        "epsilon delta n_topics privacy_unit vocabulary vocabulary_share vocabulary_method max_words token_pattern "
        "allow_unlearnable random_state n_jobs doc_topic_prior ledger".split()
    )
    for name in caught.value.parameters:
        assert str(caught.value).count(f"{name} ") >= 1
    assert texts.booked is None
    for wrong in ("one text", np.ones((3, 2)), 5):
        with pytest.raises(CorpusError):
            fit_topics(wrong, epsilon=1.0, ledger=texts.ledger)
    assert not texts.ledger.entries


def test_words_must_be_said_to_be_public():
    with pytest.raises(PrivacyError, match="words_are_public=True"):
        fit_topics(TEXTS, epsilon=1.0, vocabulary=WORDS[0], **SMALL)


def test_topics_paid_by_the_sum_of_epsilons_would_be_noticed(monkeypatch):
    """Planted: what composing by hand would leave to the topics."""
    monkeypatch.setattr(
        _fit_topics, "left_for_topics", lambda words, topics, book=None: 0.75 * topics.epsilon
    )
    assert fit_topics(TEXTS, epsilon=2.0, **SMALL).promise.epsilon < 1.7


# ---- the command is this function


def test_the_command_makes_the_same_release(tmp_path, capsys):
    corpus = Corpus.from_texts(TEXTS, persons=[f"a{person}" for person in PERSONS])
    fields = {"epsilon": 3.0, "delta": 1e-5, "max_words": 12, "random_state": 4, "n_topics": 2}
    ours = fit_topics(corpus, privacy_unit="person", **fields)
    path = tmp_path / "texts.jsonl"
    path.write_text(
        "".join(
            f'{{"body": "{text}", "who": "a{person}"}}\n' for text, person in zip(TEXTS, PERSONS, strict=True)
        )
    )
    options = (
        "--text body --person who --epsilon 3 --delta 1e-5 --set max_words=12 --seed 4 --topics 2 --quiet"
    )
    assert run(["fit", str(path), "--out", str(tmp_path / "model"), *options.split()]) == 0, (
        capsys.readouterr()
    )
    theirs = Release.load(tmp_path / "model")
    assert np.array_equal(theirs.topic_word, ours.topic_word)
    assert theirs.ledger == ours.ledger


# ---- what a fit would cost, before any data


@pytest.mark.parametrize(
    "model",
    [
        PrivateLDA(2, epsilon=1.5, allow_unlearnable=True),
        PrivateLDA(2, epsilon=float("inf"), allow_unlearnable=True),
        PrivateSVILDA(2, epsilon=1.5, sampling_rate=0.5),
        HybridGibbsLDA(2, epsilon=8.0, n_sweeps=2),
        HybridGibbsLDA(2, epsilon_noise=1.0, n_sweeps=2),
        PrivateCountVectorizer(epsilon=1.5),
        PrivateCountVectorizer(epsilon=1.5, method="sips"),
    ],
    ids=lambda model: f"{type(model).__name__}",
)
def test_the_planned_event_is_what_a_fit_books(model):
    unit = getattr(model, "privacy_unit", "word") or "document"
    ledger = Ledger(np.inf, 1e-6, privacy_unit=unit, neighboring=model.neighboring)
    model.set_params(ledger=ledger, random_state=0)
    event = model.planned_event()
    assert not ledger.entries
    assert not hasattr(model, "release_")
    X = TEXTS if isinstance(model, PrivateCountVectorizer) else RNG.poisson(1.0, (300, 6))
    model.fit(X)
    (entry,) = ledger.entries
    assert entry.event == event


def test_the_planned_event_of_faulty_parameters_is_refused():
    with pytest.raises(ParameterError) as caught:
        PrivateLDA(0, n_rounds=-1).planned_event()
    assert caught.value.parameters == ("n_topics", "n_rounds")
    assert (
        PrivateCountVectorizer(epsilon=1.0, vocabulary=["sea"], words_are_public=True).planned_event() is None
    )


def test_a_pipeline_can_use_all_of_its_budget():
    ledger = Ledger(2.0, 1e-6)
    words = PrivateCountVectorizer(epsilon=0.5, ledger=ledger)
    rest = ledger.remaining(words.planned_event()).epsilon
    topics = PrivateLDA(2, epsilon=rest, ledger=ledger)
    tried = ledger.rehearsal()
    for estimator in (words, topics):
        tried.reserve(estimator.planned_event(), "as the pipeline will")
    assert 2.0 * (1 - 1e-6) < tried.spent().epsilon <= 2.0
    more = PrivateLDA(2, epsilon=rest * 1.001)
    tried = ledger.rehearsal()
    tried.reserve(words.planned_event(), "words")
    with pytest.raises(BudgetExceeded):
        tried.reserve(more.planned_event(), "more than is left")


@pytest.mark.parametrize(
    ("vectors", "match"),
    [
        (np.ones((20, 4)), "must name their words"),
        ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "must name their words"),
        ({"nurse": [1.0, 2.0], "night": [1.0]}, "shape"),
        ({"nurse": [1.0, np.nan]}, "finite"),
        ((["nurse", "night"], np.ones((3, 2))), "3 rows for 2 words"),
    ],
)
def test_vectors_that_cannot_be_used_are_refused_before_words_are_chosen(vectors, match):
    ledger = Ledger(4.0, 1e-5)
    with pytest.raises(ParameterError, match=match):
        fit_topics(TEXTS, epsilon=2.0, ledger=ledger, word_vectors=vectors, **SMALL)
    assert ledger.entries == ()


@pytest.mark.parametrize("source", [list, lambda texts: pd.DataFrame({"text": texts})])
def test_a_vocabulary_that_no_text_can_have_is_refused_before_booking(source):
    ledger = Ledger(4.0)
    given = {"epsilon": 2.0, "words_are_public": True, "privacy_unit": "document", **SMALL}
    given["allow_unlearnable"] = True
    with pytest.raises(CorpusError, match="2 of 2 words of the vocabulary can never be found"):
        fit_topics(source(["Lohn und Gehalt"] * 50), vocabulary=["Lohn!", "Ge-halt"], ledger=ledger, **given)
    assert not ledger.entries
    tokens = pd.DataFrame({"text": [["Lohn", "Gehalt"]] * 50})  # words as they are: nothing is cut
    fit_topics(tokens, vocabulary=["Lohn", "Gehalt"], **given)


@pytest.mark.parametrize(
    "source", [list, iter, lambda texts: pd.DataFrame({"text": texts})], ids=["list", "iterator", "frame"]
)
def test_a_public_list_may_write_words_with_capitals(source):
    given = {"epsilon": math.inf, "n_topics": 2, "words_are_public": True, "random_state": 0}
    given |= {"privacy_unit": "document", "allow_unlearnable": True}
    texts = ["Lohn und Gehalt", "Helm und LÄRM"] * 50
    written = ["Lohn", "Gehalt", "Helm", "Lärm"]
    release = fit_topics(source(texts), vocabulary=written, **given)
    assert release.vocabulary == tuple(written)
    same = fit_topics(source(texts), vocabulary=[word.lower() for word in written], **given)
    np.testing.assert_array_equal(release.topic_word, same.topic_word)
    np.testing.assert_array_equal(release.transform(texts), same.transform(texts))


@pytest.mark.parametrize(
    "source",
    [list, Corpus.from_texts, lambda texts: pd.DataFrame({"text": texts})],
    ids=["list", "corpus", "frame"],
)
def test_a_public_list_of_another_language_is_told_of_before_anything_is_booked(source):
    texts, words = ["Lohn und Gehalt", "Helm und Lärm"] * 50, ["wage", "salary", "helmet", "noise"]
    given = {"epsilon": 2.0, "n_topics": 2, "words_are_public": True, "privacy_unit": "document"}
    ledger = Ledger(4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CorpusWarning)
        with pytest.raises(CorpusError, match=r"no document has a word of the list: expected texts in its"):
            fit_topics(source(texts), vocabulary=words, ledger=ledger, **given)
        assert not ledger.entries
        plenty = [*words[:2], "lohn", "gehalt", "helm", "lärm"]
        fit_topics(source(texts * 20), vocabulary=plenty, ledger=ledger, **given)


def test_texts_that_are_none_cost_nothing_beside_a_public_list():
    ledger = Ledger(4.0)
    given = {"epsilon": 2.0, "n_topics": 2, "words_are_public": True, "ledger": ledger}
    with pytest.raises(CorpusError, match="expected str, found float"):
        fit_topics([*TEXTS, float("nan")], vocabulary=WORDS[0], **given)
    assert not ledger.entries
