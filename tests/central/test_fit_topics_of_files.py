"""`fit_topics` takes files, frames and datasets with their columns, and protects persons where it knows them."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from discreet import Corpus, Ledger, PrivateCountVectorizer, PrivateLDA, TopicPrevalence, fit_topics
from discreet.central import choose_n_topics_privately, share_topics
from discreet.corpus import read_corpus
from discreet.errors import CorpusError, CorpusWarning, ParameterError, PrivacyError

COLUMNS = {"text": "note", "person": "patient"}
HOW = {"epsilon": 20.0, "n_topics": 2, "allow_unlearnable": True, "random_state": 0}


class Dataset:
    """What a Hugging Face dataset shows of itself: columns by their names, no ``columns``."""

    features = ()
    shape = (600, 3)

    def __init__(self, columns):
        self._columns = columns

    @property
    def column_names(self):
        return list(self._columns)

    def __len__(self):
        return len(self._columns["note"])

    def __getitem__(self, name):
        return self._columns[name]


@pytest.fixture(scope="module")
def columns():
    notes = ["nurse ward bed", "storm coast law", "ward coast bed"] * 200
    return {"note": notes, "patient": [f"p{row // 3}" for row in range(600)], "ward": ["a"] * 600}


def sources(columns, folder):
    frame = pd.DataFrame(columns)
    frame.to_csv(folder / "notes.csv", index=False, quoting=csv.QUOTE_ALL)
    yield folder / "notes.csv", COLUMNS
    yield str(folder / "notes.csv"), COLUMNS
    yield frame, COLUMNS
    yield pl.DataFrame(columns), COLUMNS
    yield pa.table(columns), COLUMNS
    yield Dataset(columns), COLUMNS
    yield columns["note"], {"persons": columns["patient"]}
    yield frame, {"text": "note", "persons": columns["patient"]}
    yield folder / "notes.csv", {"text": "note", "persons": frame["patient"]}
    yield Corpus.from_texts(columns["note"], persons=columns["patient"]), {}


def test_whatever_holds_the_texts_persons_are_protected_and_the_release_is_the_same(columns, tmp_path):
    made = [fit_topics(source, **named, **HOW) for source, named in sources(columns, tmp_path)]
    assert {release.ledger.privacy_unit for release in made} == {"person"}
    assert len({release.vocabulary for release in made}) == 1
    for release in made[1:]:
        np.testing.assert_array_equal(release.topic_word, made[0].topic_word)


def test_that_each_document_is_protected_is_said_where_a_column_may_tell_whose_it_is(columns, tmp_path):
    """`discreet fit` said it, `fit_topics` nothing."""
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "notes.csv", index=False)
    for source in (frame, tmp_path / "notes.csv"):
        with pytest.warns(
            CorpusWarning, match=r"Protecting each document\. Pass person=, .*'document' says so\.$"
        ):
            made = fit_topics(source, text="note", **HOW)
        assert made.ledger.privacy_unit == "document"
    fit_topics(frame, text="note", privacy_unit="document", **HOW)  # no warning: here they are errors
    fit_topics(frame[["note"]], text="note", **HOW)
    fit_topics(frame, text="note", **HOW | {"epsilon": float("inf")})


def test_a_file_is_read_in_its_encoding_and_with_its_delimiter(columns, tmp_path):
    notes = [note.replace("storm", "ñandú") for note in columns["note"]]
    pd.DataFrame({"note": notes}).to_csv(tmp_path / "notes.csv", index=False, encoding="latin-1", sep="|")
    with pytest.raises(CorpusError, match=r"give encoding=, for example \"cp1252\""):
        fit_topics(tmp_path / "notes.csv", text="note", **HOW)
    made = fit_topics(tmp_path / "notes.csv", text="note", encoding="latin-1", delimiter="|", **HOW)
    assert made.vocabulary == fit_topics(notes, **HOW).vocabulary
    pd.DataFrame({"note": notes}).to_excel(tmp_path / "notes.xlsx", sheet_name="May", index=False)
    with pytest.raises(CorpusError, match="June"):
        fit_topics(tmp_path / "notes.xlsx", text="note", sheet="June", **HOW)
    with pytest.raises(ParameterError, match=r"^encoding: for a file or a frame only"):
        fit_topics(notes, encoding="latin-1", **HOW)


def test_a_column_in_place_of_its_name_and_a_name_in_place_of_persons(columns):
    frame, topics = pd.DataFrame(columns), {"a": ["ward"], "b": ["coast"]}
    for source, how in ((frame, {"text": "note"}), (columns["note"], {})):
        for call in (
            lambda given, **how: fit_topics(given, **how, **HOW),
            lambda given, **how: share_topics(given, topics, epsilon=1.0, **how),
        ):
            with pytest.raises(CorpusError, match=r"got str; of a file or a frame, person= takes the name"):
                call(source, persons="patient", **how)
    for column in (frame["patient"], columns["patient"], frame["patient"].to_numpy()):
        with pytest.raises(ParameterError, match=r"^person must be the name of a column \(persons= takes"):
            fit_topics(frame, text="note", person=column, **HOW)
        with pytest.raises(ParameterError, match=r"^text must be the name of a column"):
            fit_topics(frame, text=column, **HOW)
        with pytest.raises(ParameterError, match=r"^label must be the name of a column"):
            read_corpus(frame, text="note", label=column)


def test_groups_are_told_by_a_column_whose_rows_stay_with_the_texts(columns, tmp_path):
    wards = ["north", "south", None] * 200
    full = pd.DataFrame({"note": columns["note"], "ward": wards})
    gaps = pd.concat([pd.DataFrame({"note": [None, " "], "ward": ["south", "north"]}), full])
    gaps.to_csv(tmp_path / "notes.csv", index=False)
    how = HOW | {"text": "note", "privacy_unit": "document"}

    def shares(source, by, **more):
        model = TopicPrevalence(None, groups=["north", "south"], random_state=0)
        fit_topics(source, by=by, prevalence=model, **how, **more)
        return model.release_.topic_totals

    beside = shares(full, full["ward"])
    for source in (gaps, tmp_path / "notes.csv"):
        np.testing.assert_array_equal(shares(source, "ward", skip_empty=True), beside)
        with pytest.raises(CorpusError, match="no field for by='hospital'"):
            shares(source, "hospital", skip_empty=True)


def test_texts_in_place_of_counts_are_answered_with_the_call_that_counts_them(columns, tmp_path):
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "notes.csv", index=False)
    release = fit_topics(columns["note"], **HOW)
    for path in (tmp_path / "notes.csv", str(tmp_path / "notes.csv")):
        with pytest.raises(
            CorpusError, match=r"a file or folder.*read_corpus\(path, vocabulary=release\.voc"
        ):
            release.transform(path)
    assert "ward" in release.vocabulary  # a word, and a column
    for given in (frame, pl.DataFrame(columns)):
        with pytest.raises(CorpusError, match=r"columns of text, .* pass their column, frame\['note'\]"):
            release.transform(given)
        with pytest.raises(CorpusError, match=r"columns of text, .* read_corpus\(frame, text=\.\.\., vocab"):
            TopicPrevalence(release, groups=["a"]).fit(given, by=frame["ward"])
        model = PrivateLDA(epsilon=2.0)
        with pytest.raises(CorpusError, match=r"columns of text, .* fit_topics takes texts, a file or a fra"):
            model.fit(given)
        assert not hasattr(model, "release_")


def test_a_missing_text_is_named_wherever_it_stands_and_what_is_read_once_is_no_list(columns):
    notes = columns["note"]
    release = fit_topics(notes, **HOW)
    for missing in (None, float("nan")):
        for row, texts in ((1, [missing, *notes]), (2, [notes[0], missing])):
            for given in (texts, pd.Series(texts)):
                with pytest.raises(
                    CorpusError, match=rf"^text {row} \(counted from 1\): expected str, found"
                ):
                    release.transform(given)
    with pytest.raises(TypeError, match=r": pass a list\.$"):
        release.transform(iter(notes))


def test_shares_of_texts_are_those_of_their_counts(columns):
    frame = pd.DataFrame(columns)
    release = fit_topics(columns["note"], **HOW)
    groups = sorted(set(columns["ward"]))
    persons = [number // 2 for number in range(len(frame))]
    model = TopicPrevalence(release, groups=groups, privacy_unit="person", random_state=1)
    corpus = Corpus.from_texts(columns["note"], vocabulary=release.vocabulary)
    counted = model.fit(corpus, by=columns["ward"], persons=persons).release_.topic_totals
    for texts in (columns["note"], frame["note"], frame["note"].to_numpy()):
        model.fit(texts, by=frame["ward"], persons=persons)
        np.testing.assert_array_equal(model.release_.topic_totals, counted)


@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ({"text": "note", "person": "member"}, CorpusError, "'note', 'patient', 'ward'"),
        ({"text": "note", "person": "patient", "privacy_unit": "document"}, PrivacyError, "person"),
        ({}, CorpusError, "no field for text='text'"),
    ],
)
def test_columns_that_are_not_there_are_answered_before_anything_is_booked(columns, named, error, message):
    ledger = Ledger(20.0, privacy_unit="person" if "person" in named else "document")
    with pytest.raises(error, match=message):
        fit_topics(pd.DataFrame(columns), ledger=ledger, **named, **HOW)
    assert not ledger.entries


def test_columns_of_what_has_none_and_files_that_are_not_there(columns):
    ledger = Ledger(1.0)
    with pytest.raises(ParameterError, match="persons="):
        fit_topics(columns["note"], person="patient", **HOW)
    with pytest.raises(ParameterError, match="persons="):  # each text was protected for itself
        share_topics(
            columns["note"], {"a": ["bed"], "c": ["door"]}, person="patient", epsilon=1.0, ledger=ledger
        )
    assert not ledger.entries
    secret = "the patient in bed four"
    with pytest.raises(CorpusError, match="no file or folder") as told:
        fit_topics(secret, **HOW)
    assert secret not in str(told.value)
    with pytest.raises(CorpusError, match="'train', 'test'"):
        fit_topics(type("Several", (), {"column_names": {"train": ["text"], "test": ["text"]}})(), **HOW)


def test_persons_to_both_steps_of_a_pipeline_are_one_statement(columns):
    whose = np.array(columns["patient"])
    ledger = Ledger(20.0, privacy_unit="person")
    terms = {"privacy_unit": "person", "ledger": ledger, "random_state": 0}
    steps = (
        PrivateCountVectorizer(epsilon=8.0, **terms),
        PrivateLDA(2, epsilon=8.0, allow_unlearnable=True, **terms),
    )
    told = {"privatecountvectorizer__persons": whose, "privatelda__persons": whose}
    assert make_pipeline(*steps).fit(columns["note"], **told)[-1].release_.ledger.privacy_unit == "person"
    corpus = Corpus.from_texts(columns["note"], persons=columns["patient"], words_are_public=False)
    for other in (np.roll(whose, 1), np.arange(600), np.zeros(600, int)):
        with pytest.raises(PrivacyError, match="say otherwise"):
            PrivateCountVectorizer(privacy_unit="person").fit(corpus, persons=other)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["nurse", "ward"], ["storm"]], "holds text"),
        ([[1, 2], [1]], "different lengths"),
        (Dataset({"note": ["nurse"] * 3, "patient": ["a"] * 3}), "fit_topics"),
    ],
)
def test_what_are_no_counts_is_refused_before_anything_is_booked(given, message):
    ledger = Ledger(1.0)
    with pytest.raises(CorpusError, match=message):
        PrivateLDA(2, ledger=ledger).fit(given)
    assert not ledger.entries


def test_texts_are_transformed_as_those_that_were_fitted(columns):
    release = fit_topics(columns["note"], stop_words=["ward"], **HOW)
    texts = ["nurse ward bed bed", "storm storm law"]
    counts = Corpus.from_texts(texts, vocabulary=release.vocabulary)
    assert counts.n_tokens > 4
    for given in (texts, tuple(texts), pd.Series(texts), np.array(texts)):
        np.testing.assert_array_equal(release.transform(given), release.transform(counts))
    with pytest.raises(CorpusError, match=r"X is one text, .* pass a list of texts") as caught:
        release.transform("nurse ward")
    assert "nurse" not in str(caught.value)


def test_a_choice_of_topics_protects_persons_that_it_is_given():
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.where(np.arange(30) // 10 == rng.integers(3, size=(600, 1)), 0.8, 0.1))
    terms = {"epsilon": 8.0, "random_state": 0, "allow_unlearnable": True}
    made = choose_n_topics_privately(counts, [1, 3], persons=np.arange(600) // 2, **terms)
    assert made.release.ledger.privacy_unit == "person"
