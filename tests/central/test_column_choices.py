"""A private choice of words goes with counts, whatever their columns are called later; what is released tells it."""

import copy
import json
import math
import pickle
import shutil
from collections import OrderedDict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.test_api import CLASSES, NO_LEDGER

from discreet import (
    Corpus,
    FederatedLDA,
    HybridGibbsLDA,
    Ledger,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    PrivateSVILDA,
    Release,
    TopicPrevalence,
    fit_topics,
)
from discreet._base.arrays import column_words
from discreet.cli.app import run
from discreet.cli.commands.convert import load
from discreet.corpus import read_corpus, write_corpus
from discreet.corpus.vocabulary import NUMBERED, UNKNOWN, ColumnChoice, WordOrigin, choices_of
from discreet.errors import CorpusError, PrivacyError, SeparateBudgetsWarning
from discreet.federated.silo import Silo
from discreet.release import private_estimator as separate_budgets

PUBLIC = ("apple", "lion", "mouse", "zebra")
TEXTS = ["apple apple"] * 600 + ["apple zebra"] * 301 + ["apple lion"] * 300
FORMATS = {
    "npz": "a.npz", "mtx": "a.mtx", "uci": "docword.a.txt",
}  # fmt: skip


def words(**how):
    return PrivateCountVectorizer(**{"epsilon": 8.0, "delta": 1e-6, "max_words": 2, **how})


def chosen(**how):
    return words(**how).fit_transform(TEXTS)


def on_public_list(corpus):
    return corpus.restrict(PUBLIC, words_are_public=True)


def lda(**how):
    return PrivateLDA(2, **{"epsilon": 1.0, "allow_unlearnable": True, **how})


@cache
def made():
    return lda().fit(on_public_list(Corpus.from_texts(TEXTS))).release_


@cache
def made_on_two():
    corpus = Corpus.from_texts(TEXTS).restrict(PUBLIC[:2], words_are_public=True)
    return lda(random_state=0).fit(corpus).release_


PLAIN = {
    "PrivateLDA": lda,
    "PrivateSVILDA": lambda **how: PrivateSVILDA(2, epsilon=1.0, sampling_rate=0.5, n_rounds=2, **how),
    "PrivateFit": lambda **how: PrivateFit(made(), epsilon=1.0, **how),
    "PrivateCountVectorizer": lambda **how: PrivateCountVectorizer(epsilon=1.0, **how),
}
ESTIMATORS = {name: lambda X, make=make, **how: make(**how).fit(X) for name, make in PLAIN.items()} | {
    "TopicPrevalence": lambda X, **how: TopicPrevalence(made(), ["a"], epsilon=1.0, **how).fit(X, ["a"] * len(TEXTS)),
    "fit_topics": lambda X, **how: fit_topics(X, epsilon=1.0, n_topics=2, allow_unlearnable=True, **how),
}  # fmt: skip
TOPICS = ("PrivateLDA", "PrivateSVILDA")


def released(found):
    return found if isinstance(found, Release) else getattr(found, "release_", None)


# ---- the attack: laid on a truly public list, what was not chosen is a column of zeros


LAID = {
    "restrict": on_public_list,
    "vectorizer": PrivateCountVectorizer(epsilon=1, vocabulary=PUBLIC, words_are_public=True).fit_transform,
    "vectorizer fitted before": PrivateCountVectorizer(epsilon=1, vocabulary=PUBLIC, words_are_public=True)
    .fit([])
    .transform,
    "twice": lambda corpus: on_public_list(corpus.restrict(PUBLIC[::-1])),
}


@pytest.mark.parametrize("way", LAID)
def test_a_choice_stays_on_a_public_list(way):
    laid = LAID[way](chosen())
    assert laid.word_origin.is_public
    (choice,) = laid.word_origin.choices
    assert choice.ledger == laid.ledger.identity
    release = lda().fit(laid).release_
    assert [entry.purpose.split()[0] for entry in release.ledger.entries] == ["vocabulary", "topics"]
    assert release.promise.epsilon > 5
    assert release.configuration["words"] == "public"
    assert release.configuration["columns"] == "chosen privately"
    exact = lda().fit(LAID[way](chosen(epsilon=math.inf))).release_
    assert math.isinf(exact.promise.epsilon)
    assert "No privacy is promised" in exact.guarantee


def test_without_a_declaration_the_choice_is_not_begun_anew():
    exact = chosen(epsilon=math.inf)
    restricted = exact.restrict(PUBLIC)
    assert restricted.word_origin.kind == "unknown"
    release = fit_topics(restricted, epsilon=1, n_topics=2, allow_unlearnable=True)
    assert math.isinf(release.promise.epsilon)
    assert [entry.purpose.split()[0] for entry in release.ledger.entries] == [
        "vocabulary",
        "vocabulary",
        "topics",
    ]
    release = fit_topics(chosen().restrict(PUBLIC), epsilon=1, n_topics=2, allow_unlearnable=True)
    assert release.promise.epsilon > 5
    assert exact.restrict(exact.vocabulary).word_origin == exact.word_origin


def test_both_choices_of_words_chosen_twice_are_carried():
    first = chosen()
    again = PrivateCountVectorizer(epsilon=1.0, max_words=1).fit_transform(first)
    assert [choice.booking for choice in again.word_origin.choices] == [1, 2]
    assert len(lda().fit(again).release_.ledger.entries) == 3


# ---- every estimator that books


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("way", ["restrict", "no longer known"])
def test_every_estimator_books_where_the_choice_is_or_refuses(name, way, tmp_path):
    if way == "no longer known" and name not in (
        "PrivateFit",
        "TopicPrevalence",
        "PrivateCountVectorizer",
        "fit_topics",
    ):
        pytest.skip("words that nobody vouches for are refused before")
    ledger = Ledger.open(tmp_path / "ledger.json", 20.0, 1e-5)
    make = on_public_list if way == "restrict" else lambda corpus: corpus.restrict(PUBLIC)
    X = make(chosen(ledger=ledger))
    found = ESTIMATORS[name](X)
    assert ledger.entries[0].purpose.startswith("vocabulary")
    assert len(ledger.entries) == (3 if (name, way) == ("fit_topics", "no longer known") else 2)
    if released(found) is not None:
        assert released(found).ledger.entries == ledger.entries
    before = ledger.entries
    other = Ledger(20.0, 1e-5)
    with pytest.raises(PrivacyError, match="chosen on another ledger"):
        ESTIMATORS[name](X, ledger=other)
    assert not other.entries
    stored = WordOrigin.from_json(X.word_origin.to_json(PUBLIC), PUBLIC)
    bare = Corpus(sp.csr_array(X.counts), PUBLIC).with_word_origin(stored)
    with pytest.raises(PrivacyError, match=r"not at hand.*Ledger\.open"):
        ESTIMATORS[name](bare)
    assert ledger.entries == before
    ESTIMATORS[name](bare, ledger=Ledger.open(tmp_path / "ledger.json"))
    assert len(ledger.entries) > len(before)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_older_state_of_the_ledger_is_refused(name, tmp_path):
    """A backup put back has the same identity, and not the choice."""
    path = tmp_path / "ledger.json"
    Ledger.open(path, 20.0, 1e-5)
    shutil.copy(path, tmp_path / "backup.json")
    X = on_public_list(chosen(ledger=Ledger.open(path)))
    stored = pickle.dumps(X)
    shutil.copy(tmp_path / "backup.json", path)
    for book in (Ledger.open(path), None):
        X = pickle.loads(stored)  # noqa: S301  (our own bytes)
        with pytest.raises(PrivacyError, match="older state"):
            ESTIMATORS[name](X, ledger=book)
    older = Ledger.open(path)
    PrivateCountVectorizer(epsilon=7.0, delta=1e-6, ledger=older).fit(TEXTS)  # the same number, another event
    with pytest.raises(PrivacyError, match="older state"):
        ESTIMATORS[name](X, ledger=older)
    assert len(older.entries) == 1
    shutil.copy(tmp_path / "backup.json", path)
    again = Ledger.open(path)
    assert (
        chosen(ledger=again).word_origin.choices != X.word_origin.choices
    )  # the same event and purpose, booked anew
    with pytest.raises(PrivacyError, match="older state"):
        ESTIMATORS[name](X, ledger=again)


@pytest.mark.parametrize("name", ["PrivateLDA", "PrivateFit", "TopicPrevalence", "fit_topics"])
def test_a_seed_of_the_choice_marks_what_is_made_on_a_public_list(name):
    assert released(ESTIMATORS[name](on_public_list(chosen(random_state=0)))).reproducible
    assert not released(ESTIMATORS[name](on_public_list(chosen()))).reproducible


def test_choices_on_two_ledgers_are_refused_by_all():
    one, other = chosen(), chosen()
    X = on_public_list(one).with_word_origin(WordOrigin.public("me").after(other.word_origin.choices))
    for name, fit in ESTIMATORS.items():
        for book in (None, one.ledger, other.ledger):
            with pytest.raises(PrivacyError, match=r"several ledgers.*make all choices on one"):
                fit(X, ledger=book)
        assert len(one.ledger.entries) == len(other.ledger.entries) == 1, name


def test_no_estimator_with_a_ledger_is_left_out():
    asked = ESTIMATORS.keys() - {"fit_topics"}
    assert asked | {"HybridGibbsLDA"} == CLASSES.keys() - NO_LEDGER.keys()  # it refuses: below


def test_who_cannot_book_with_the_choice_refuses():
    X = on_public_list(chosen())
    for model in (HybridGibbsLDA(2, epsilon=4.0, n_sweeps=2),):
        with pytest.raises(PrivacyError, match="one promise cannot hold both"):
            model.fit(X)
    with pytest.raises(PrivacyError, match=r"chosen from the texts.*public vocabulary"):
        FederatedLDA(2).fit([X.counts * 0, X])
    with pytest.raises(PrivacyError, match="chosen from the texts"):
        Silo(X, Ledger(1.0, 1e-6), [{"n_clients": 2}])
    assert len(X.ledger.entries) == 1


# ---- where the choice goes along


OF_A_CORPUS = {
    "take": lambda c: c.take([0, 3, 5]),
    "split": lambda c: c.split(0.2, random_state=0)[0],
    "without_persons": lambda c: c.without_persons(),
    "pickle": lambda c: pickle.loads(pickle.dumps(c)),  # noqa: S301  (our own bytes)
    "unknown": lambda c: c.with_word_origin(UNKNOWN),
    "public": lambda c: c.with_word_origin(WordOrigin.public("me")),
    "restrict": lambda c: c.restrict(["lion"]),
    "read_as": lambda c: c.read_as(n_skipped=1),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", OF_A_CORPUS)
def test_what_is_derived_of_a_chosen_corpus_carries_the_choice(way):
    corpus = chosen(random_state=0)
    made = OF_A_CORPUS[way](corpus)
    assert made.word_origin.choices == corpus.word_origin.choices
    assert made.word_origin.seeded
    assert made.ledger is corpus.ledger or (way in ("pickle", "deepcopy") and made.ledger.closed)


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("through", ["read_corpus", "command", "convert"])
def test_files_carry_the_choice_whatever_words_they_are_read_with(format_name, through, tmp_path):
    corpus = on_public_list(chosen(random_state=0)).restrict(["zebra", "apple", "mouse"])
    path = tmp_path / FORMATS[format_name]
    write_corpus(corpus, path, format_name)
    choices = corpus.word_origin.choices
    if through == "convert":
        out = tmp_path / "b.npz"
        assert run(["convert", str(path), str(out), "--from", format_name]) == 0
        path, format_name = out, "npz"
    for vocabulary, kind in (
        (None, None),
        (list(corpus.vocabulary), "unknown"),
        (["one", "two", "three"], "unknown"),
    ):
        given = {} if vocabulary is None else {"vocabulary": vocabulary}
        found = [load(path, format_name, **given)[0]] if through == "command" else []
        found.append(read_corpus(path, format_name, **given))
        if vocabulary is not None:
            found.append(read_corpus(path, format_name, **given, words_are_public=True))
            assert found[-1].words_are_public
            found.pop(0)
        for got in found:
            assert got.word_origin.choices == choices
            assert got.word_origin.seeded
            if kind is not None and not got.words_are_public:
                assert got.word_origin.kind == kind


def test_text_carries_the_choice(tmp_path):
    corpus = chosen()
    write_corpus(corpus, tmp_path / "a.mtx")
    (tmp_path / "a.mtx.origin.json").rename(tmp_path / "a.txt.origin.json")
    (tmp_path / "a.txt").write_text(f"{' '.join(corpus.vocabulary)}\n")
    got = read_corpus(tmp_path / "a.txt", "lines")
    assert got.word_origin == WordOrigin("from text", choices=corpus.word_origin.choices)


def test_a_file_written_over_another_does_not_inherit_its_words(tmp_path):
    counts = sp.csr_matrix(np.eye(4, dtype=int))
    write_corpus(Corpus(counts, PUBLIC, words_are_public=True), tmp_path / "a.mtx")
    write_corpus(Corpus(counts, PUBLIC), tmp_path / "a.npz")  # which has nothing beside it
    assert (tmp_path / "a.mtx.origin.json").is_file()
    write_corpus(Corpus(counts, PUBLIC), tmp_path / "a.mtx")
    assert read_corpus(tmp_path / "a.mtx", vocabulary=list(PUBLIC)).word_origin == UNKNOWN


@pytest.mark.parametrize("other", ["x.mtx", "docword.x.txt"])
@pytest.mark.parametrize("public", [True, False])
def test_another_file_of_the_same_stem_does_not_speak_for_this_one(other, public, tmp_path):
    """A public corpus written to x.mtx replaced what x.uci said of its words: a choice was forgotten."""
    corpus = on_public_list(chosen())
    write_corpus(corpus, tmp_path / "x.uci")
    write_corpus(Corpus(np.eye(4, dtype=int), PUBLIC, words_are_public=public), tmp_path / other)
    got = read_corpus(tmp_path / "x.uci", vocabulary=list(PUBLIC), words_are_public=True)
    assert got.word_origin.choices == corpus.word_origin.choices


@pytest.mark.parametrize("names", [("x.uci", "x.uci.gz"), ("x.mtx.gz", "x.mtx")])
@pytest.mark.parametrize("public", [True, False])
def test_one_file_and_the_same_compressed_must_agree_on_their_words(names, public, tmp_path):
    corpus = on_public_list(chosen())
    first, second = (tmp_path / name for name in names)
    write_corpus(corpus, first)
    write_corpus(corpus, first)
    write_corpus(corpus, second)
    second.unlink()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CorpusError, match=r"stands there.*take another name"):
        write_corpus(Corpus(np.eye(4, dtype=int), PUBLIC, words_are_public=public), second)
    assert sorted(tmp_path.iterdir()) == before
    got = read_corpus(first, vocabulary=list(PUBLIC))
    assert got.word_origin.choices == corpus.word_origin.choices


@pytest.mark.parametrize("name", ["x.mtx", "x.npz"])
def test_the_command_wants_the_ledger_of_the_choice(name, tmp_path, capsys):
    ledger = tmp_path / "ledger.json"
    corpus = chosen(ledger=Ledger.open(ledger, 20.0, 1e-5)).restrict(PUBLIC[:2])
    source, public, out = tmp_path / name, tmp_path / "public.txt", tmp_path / "out"
    write_corpus(corpus, source)
    public.write_text("apple\nlion\n")
    order = f"fit {source} --vocabulary {public} --vocabulary-is-public --topics 2"
    order += f" --set allow_unlearnable=true --out {out}"
    assert run(order.split()) != 0
    assert "not at hand" in (told := capsys.readouterr().err)
    assert "--ledger" in told
    assert not out.exists()
    assert run([*order.split(), "--ledger", str(tmp_path / "other.json")]) != 0
    assert "another --ledger" in capsys.readouterr().err
    assert run([*order.split(), "--ledger", str(ledger)]) == 0
    release = Release.load(out)
    assert release.promise.epsilon > 5
    assert release.configuration["columns"] == "chosen privately"


# ---- steps between choice and training


def test_a_step_that_changes_counts_says_whose_choice_they_are():
    """Presence in place of counts: a corpus is made anew, and takes the choice over."""

    def presence(corpus):
        return Corpus(corpus.counts.minimum(1), corpus.vocabulary).with_word_origin(corpus.word_origin)

    release = (
        make_pipeline(words(random_state=0), FunctionTransformer(presence), lda()).fit(TEXTS)[-1].release_
    )
    assert release.promise.epsilon > 5
    assert release.reproducible
    assert release.configuration["words"] == "chosen"


def test_a_cached_choice_says_what_to_do(tmp_path):
    steps = [("words", words()), ("topics", lda())]
    pipeline = Pipeline(steps, memory=str(tmp_path))
    pipeline.fit(TEXTS)
    with pytest.raises(PrivacyError, match=r"cache of a pipeline.*ledger=Ledger\.open\(path"):
        pipeline.fit(TEXTS)
    ledger = Ledger.open(tmp_path / "ledger.json", 30.0, 1e-5)
    steps = [("words", words(ledger=ledger)), ("topics", lda(ledger=ledger))]
    pipeline = Pipeline(steps, memory=str(tmp_path))
    for _ in range(2):
        release = pipeline.fit(TEXTS)[-1].release_
    assert [entry.purpose.split()[0] for entry in release.ledger.entries] == [
        "vocabulary",
        "topics",
        "topics",
    ]


NO_ARRAY = {
    "FeatureUnion": lambda: FeatureUnion([("words", words())]).fit_transform(TEXTS),
    "ColumnTransformer": lambda: ColumnTransformer([("words", words(), "text")]).fit_transform(
        pd.DataFrame({"text": TEXTS})
    ),
    "hstack": lambda: sp.hstack([chosen()]),
    "csr_matrix": lambda: sp.csr_matrix(chosen()),
    "asarray": lambda: np.asarray(chosen()),
}


@pytest.mark.parametrize("way", NO_ARRAY)
def test_nothing_makes_a_matrix_of_chosen_columns_unasked(way):
    """Which would have lost the choice: a corpus is no matrix, and gives its counts only by name."""
    with pytest.raises((CorpusError, ValueError, TypeError)):
        NO_ARRAY[way]()


@pytest.mark.parametrize("bare", [lambda corpus: corpus.counts, lambda corpus: corpus.counts.toarray()])
@pytest.mark.parametrize("seed", [None, 0])
def test_bare_counts_of_chosen_columns_are_known_again_on_another_ledger(bare, seed, monkeypatch):
    ledger, two = Ledger(30.0, 1e-5), made_on_two()
    for transformed in (False, True):
        monkeypatch.setattr(separate_budgets, "_ledgers", OrderedDict())  # as in a new process
        chooser = words(ledger=ledger, random_state=seed)
        corpus = chooser.fit(TEXTS).transform(TEXTS[::-1]) if transformed else chooser.fit_transform(TEXTS)
        X = bare(corpus)
        assert not choices_of(X)
        lda(ledger=ledger).fit(X)
        for fit in (lda(), PrivateFit(two, epsilon=1.0)):
            with pytest.warns(SeparateBudgetsWarning, match="the same text was fitted on"):
                fit.fit(X)


def test_card_and_page_of_numbered_columns_say_who_vouches_for_them():
    release = lda(random_state=3).fit(chosen().counts).release_
    said = "to vouch that their number tells nothing, and that they were not chosen from the texts"
    for shown in (release.card().replace("\\", ""), release.to_html()):
        assert said in shown
        assert "public list" not in shown


def test_card_and_page_say_the_same_of_words():
    ledger = Ledger(50.0, 1e-5)
    corpus = chosen(ledger=ledger)
    numbered = Corpus(corpus.counts, column_words(2)).with_word_origin(
        NUMBERED.after(corpus.word_origin.choices)
    )
    public = Corpus.from_texts(TEXTS).restrict(PUBLIC, words_are_public=True)
    told = {
        "chosen privately; the choice is booked": corpus,
        "only words that were chosen privately were counted, and the choice is booked": on_public_list(
            corpus
        ),
        "none: columns are numbered; they were chosen privately, and the choice is booked": numbered,
        "a public list, not made from these texts, as declared by: words_are_public=True in Corpus.restrict": public,
        "none: columns are numbered; it is for whoever made this to vouch": sp.csr_matrix(public.counts),
    }
    for said, X in told.items():
        release = lda(ledger=ledger).fit(X).release_
        assert said in release.card().replace("\\", "")
        assert said in release.to_html()


# ---- the record


@pytest.mark.parametrize(
    "wrong",
    [
        {"ledger": ""}, {"ledger": 3}, {"ledger": "x" * 201}, {"booking": -1}, {"booking": True}, {"booking": 1.0},
        {"entry": "ff"}, {"entry": None}, {"entry": "F" * 64}, {"seeded": 1}, {"more": 1},
    ],
)  # fmt: skip
def test_a_damaged_choice_is_refused(wrong):
    good = {"ledger": "a", "booking": 1, "entry": "f" * 64, "seeded": False}
    assert ColumnChoice.all_from_json([good]) == (ColumnChoice(**good),)
    with pytest.raises(CorpusError, match="changed or is damaged"):
        ColumnChoice.all_from_json([good | wrong])
    stored = UNKNOWN.after([ColumnChoice(**good)]).to_json(PUBLIC)
    with pytest.raises(CorpusError):
        WordOrigin.from_json({**stored, "choices": [good | wrong]}, PUBLIC, other_words=True)
    for damaged in (None, {}, "x", [good] * 65, [None]):
        with pytest.raises(CorpusError):
            ColumnChoice.all_from_json(damaged)
    assert json.loads(json.dumps(stored)) == stored


def test_words_cannot_be_said_to_be_numbers():
    corpus = Corpus(sp.csr_matrix(np.eye(4, dtype=int)), PUBLIC)
    with pytest.raises(CorpusError, match="these columns have words"):
        corpus.with_word_origin(NUMBERED)
    stored = NUMBERED.to_json(PUBLIC)
    with pytest.raises(CorpusError, match="these columns have words"):
        WordOrigin.from_json(stored, PUBLIC)


def test_a_record_tells_lists_of_words_apart_that_join_alike():
    stored = WordOrigin.public("me").to_json(["a\nb", "c"])
    with pytest.raises(CorpusError, match="other words"):
        WordOrigin.from_json(stored, ["a", "b\nc"])
    assert WordOrigin.from_json(stored, ["a\nb", "c"]).is_public


def test_the_ledger_itself_is_never_stored():
    choice = chosen().word_origin.choices[0]
    assert choice.book is not None
    assert set(choice.to_json()) == {"ledger", "booking", "entry", "seeded"}
    assert choice.to_json()["entry"] == choice.book.entries[0].digest
    assert Path(__file__).name not in repr(choice)


def test_a_list_of_the_very_words_that_were_chosen_is_the_callers_to_vouch_for():
    corpus = chosen(ledger=Ledger(20.0, 1e-5))
    for laid in (
        corpus.restrict(corpus.vocabulary, words_are_public=True),
        PrivateCountVectorizer(
            epsilon=1, vocabulary=list(corpus.vocabulary), words_are_public=True
        ).fit_transform(corpus),
    ):
        assert laid.word_origin.is_public
        assert laid.word_origin.choices == corpus.word_origin.choices != ()
