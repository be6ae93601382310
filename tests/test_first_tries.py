"""What people try first: refused before anything is booked, with the next call to make."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from discreet import (
    FederatedLDA,
    LocalLDA,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    PrivateSVILDA,
    fit_topics,
)
from discreet._base.arrays import holds_text
from discreet.corpus import Corpus, read_corpus
from discreet.errors import CorpusError, ParameterError, PrivacyError, ReleaseError
from discreet.evaluate import completion_perplexity
from discreet.local import BitChannel
from discreet.privacy import Ledger

COUNTS = np.random.default_rng(0).poisson(0.5, (60, 12))
TEXTS = ["tax rent bill"] * 60


@pytest.fixture(scope="module")
def release():
    return PrivateLDA(3, epsilon=float("inf"), allow_unlearnable=True, random_state=0).fit(COUNTS).release_


@pytest.mark.parametrize(
    "given",
    [
        sp.csr_matrix(COUNTS),
        COUNTS,
        pd.DataFrame(COUNTS),
        Corpus(COUNTS, tuple("abcdefghijkl")),
        [],
        iter([COUNTS]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_silos_that_are_no_list_are_refused_with_an_example(given):
    with pytest.raises(CorpusError, match=r"one for each silo, but got .*fit\(\["):
        FederatedLDA(3).fit(given)


@pytest.mark.parametrize("given", [[TEXTS], [pd.Series(TEXTS)], [COUNTS, COUNTS[0]]])
def test_silos_that_are_no_matrices_are_refused(given):
    with pytest.raises(CorpusError, match=r"holds text|Expected 2D array"):
        FederatedLDA(3).fit(given)


@pytest.mark.parametrize("counter", [CountVectorizer, TfidfVectorizer])
def test_words_that_a_pipeline_took_from_the_texts_are_refused_with_what_does_it_right(counter):
    ledger = Ledger(2.0)
    for model in (PrivateLDA(2, ledger=ledger), PrivateSVILDA(2, sampling_rate=0.5, ledger=ledger)):
        with pytest.raises(PrivacyError, match=r"fit_topics\(texts.*PrivateCountVectorizer\(epsilon=0.5"):
            make_pipeline(counter(), model).fit(TEXTS)
    assert not ledger.entries
    public = CountVectorizer(vocabulary=["tax", "rent", "bill", "law"])
    make_pipeline(public, PrivateLDA(2, epsilon=math.inf, ledger=Ledger(math.inf))).fit(TEXTS)


def test_a_frame_of_texts_is_told_to_give_its_column():
    ledger = Ledger(1, 1e-6)
    with pytest.raises(CorpusError, match="its column of texts"):
        PrivateCountVectorizer(epsilon=1, ledger=ledger).fit(pd.DataFrame({"body": TEXTS}))
    assert not ledger.entries


def test_texts_under_a_release_are_told_to_be_counted_in_its_words(release):
    advice = r"Corpus\.from_texts\(texts, vocabulary=release\.vocabulary\)"
    with pytest.raises(CorpusError, match=advice):
        release.transform(TEXTS)
    ledger = Ledger(1, 1e-6)
    with pytest.raises(CorpusError, match=advice):
        PrivateFit(release, epsilon=0.5, ledger=ledger).fit(TEXTS)
    assert not ledger.entries


def test_new_texts_are_counted_in_the_words_of_a_release_and_transformed():
    words = ["tax", "rent", "bill"]
    model = PrivateLDA(2, epsilon=float("inf"), allow_unlearnable=True, random_state=0)
    known = model.fit(COUNTS[:, :3], vocabulary=words, words_are_public=True).release_
    shares = known.transform(Corpus.from_texts(["a tax, a bill", "rent"], vocabulary=known.vocabulary))
    assert shares.shape == (2, 2)
    assert np.allclose(shares.sum(1), 1)


def test_a_release_in_place_of_its_topics_is_told_what_to_pass(release):
    with pytest.raises(TypeError, match="Release, of numbers: pass its topic_word"):
        completion_perplexity(release, COUNTS)


def test_counts_in_place_of_reports_are_told_of_the_channel():
    channel = BitChannel.for_replacement(4, 0.03)
    with pytest.raises(CorpusError, match=r"zeros and ones only.*BitChannel"):
        LocalLDA(3, channel=channel).fit(np.full((60, 12), 2))


def test_the_first_words_of_an_estimator_are_those_of_its_release():
    model = PrivateLDA(3, epsilon=float("inf"), allow_unlearnable=True, random_state=0)
    with pytest.raises(NotFittedError):
        model.top_words()
    model.fit(Corpus(COUNTS, tuple("abcdefghijkl")), words_are_public=True)
    for how in ({}, {"n": 4}, {"n": 4, "by": "lift"}):
        assert model.top_words(**how) == model.release_.top_words(**how)
    assert model.top_words(1) == [["abcdefghijkl"[row.argmax()]] for row in model.topic_word_]
    with pytest.raises(ReleaseError):
        model.top_words(by="relevance")


def test_what_a_reader_asks_for_is_said_where_it_is_taken(tmp_path):
    """`fit_topics` advised delimiter=";" and skip_empty=True, which it does not take."""
    path = tmp_path / "messages.csv"
    path.write_bytes("who;note\na;one tw\xf6\na;three\n".encode("latin-1"))
    with pytest.raises(CorpusError, match=r"give encoding=, for example \"cp1252\" \(Western Europe\)"):
        fit_topics(path, text="note", person="who", epsilon=1.0)
    frame = pd.DataFrame({"text": ["one two", None], "who": ["a", "b"]})
    with pytest.raises(CorpusError, match=r"skip_empty=True leaves out rows, 1 without text\.$"):
        fit_topics(frame, person="who", epsilon=1.0)


def test_rows_without_text_or_person_are_left_out_where_that_is_said(tmp_path):
    """`discreet fit` had --skip-empty, `fit_topics` nothing."""
    frame = pd.DataFrame(
        {
            "note": [*TEXTS, None, " ", TEXTS[0]],
            "who": [*(str(row // 2) for row in range(60)), "a", "b", None],
        }
    )
    frame.to_csv(tmp_path / "notes.csv", index=False)
    how = {"text": "note", "person": "who", "epsilon": 30.0, "n_topics": 1, "random_state": 0}
    how |= {"allow_unlearnable": True, "allow_large_epsilon": True, "vocabulary": ["tax", "rent"]}
    how |= {"words_are_public": True}
    whole = fit_topics(frame[:60], **how)
    for source in (frame, tmp_path / "notes.csv"):
        ledger = Ledger(30.0, privacy_unit="person")
        with pytest.raises(
            CorpusError,
            match="skip_empty=True leaves out rows, 1 without text, 1 without a person, 1 of blanks",
        ):
            fit_topics(source, ledger=ledger, **how)
        assert not ledger.entries
        made = fit_topics(source, skip_empty=True, **how)
        np.testing.assert_array_equal(made.topic_word, whole.topic_word)
    with pytest.raises(ParameterError, match=r"^skip_empty: for a file or a frame only"):
        fit_topics(TEXTS, skip_empty=True, epsilon=1.0)
    with pytest.raises(ParameterError, match="skip_empty must be"):
        fit_topics(frame, skip_empty="yes", epsilon=1.0)


@pytest.mark.parametrize(
    "model", [PrivateLDA(2, allow_unlearnable=True), PrivateSVILDA(2, sampling_rate=0.5)]
)
def test_counts_whose_columns_have_no_words_are_warned_of_before_anything_is_booked(model):
    """The counts of a CountVectorizer went through in silence, and topics read word_748."""
    ledger = Ledger(1.0)
    model.set_params(ledger=ledger)
    X = CountVectorizer().fit_transform(TEXTS)
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(UserWarning, match=r"word_0.*CountVectorizer.*fit_topics.*vocabulary=words"),
    ):
        model.fit(X)
    assert not ledger.entries
    free = PrivateLDA(2, epsilon=math.inf, allow_unlearnable=True)
    with warnings.catch_warnings(action="error"):
        free.fit(X)  # promises nothing
        PrivateLDA(1, epsilon=20.0, allow_unlearnable=True).fit(
            X, vocabulary=["bill", "rent", "tax"], words_are_public=True
        )


def test_a_frame_of_texts_is_no_counts(release):
    """It was told that 123 words are missing, and 4 unknown."""
    made = PrivateLDA(2, epsilon=math.inf, allow_unlearnable=True).fit(
        COUNTS[:, :3], vocabulary=["bill", "rent", "tax"], words_are_public=True
    )
    with pytest.raises(CorpusError, match=r"of texts, pass their column, frame\['note'\]"):
        made.release_.transform(pd.DataFrame({"note": TEXTS, "who": TEXTS}))
    frame = pd.DataFrame(COUNTS[:, :3], columns=["bill", "rent", "tax"])
    np.testing.assert_array_equal(made.release_.transform(frame), made.transform(COUNTS[:, :3]))


def test_text_below_the_first_rows_of_a_frame_is_seen():
    for texts in ([None] * 9 + ["a bill"], ["a bill"] + [None] * 9):
        for frame in (
            pd.DataFrame({"n": range(10), "note": texts}),
            pl.DataFrame({"n": range(10), "note": texts}),
        ):
            assert holds_text(frame)
            with pytest.raises(CorpusError, match="this frame has columns of text"):
                PrivateLDA(2).fit(frame)
    assert not holds_text(pd.DataFrame({"bill": [1, 2]}, dtype=object))
    assert not holds_text(pl.DataFrame({"bill": [1, 2]}))


def test_what_are_no_texts_in_an_order_is_refused_before_anything_is_booked():
    for given in ({"a": "bill"}, {"bill", "rent"}):
        ledger = Ledger(1.0)
        with pytest.raises(
            CorpusError, match=f"expected an iterable of texts or a Corpus, found {type(given).__name__}"
        ):
            fit_topics(given, epsilon=1.0, ledger=ledger)
        assert not ledger.entries


def test_a_misspelt_keyword_is_refused_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"^fit_topics\(\) got .* 'stopwords'\. Did you mean 'stop_words'\?"):
        fit_topics(TEXTS, epsilon=1.0, stopwords="english")
    public = ("vocabulary_is_public", "words_are_public")
    others = (("sep", "delimiter"), ("max_features", "max_words"), ("alpha", "doc_topic_prior"))
    for typed, meant in (("eps", "epsilon"), ("k", "n_topics"), public, *others):
        with pytest.raises(TypeError, match=rf"'{typed}'\. Did you mean '{meant}'\?"):
            fit_topics(TEXTS, **{"epsilon": 1.0, "n_topics": 2, typed: 1})
    with pytest.raises(
        TypeError, match=r"^PrivateLDA\.__init__\(\) .* 'n_components'\. Did you mean 'n_topics'"
    ):
        PrivateLDA(n_components=8)
    with pytest.raises(TypeError, match=r"^PrivateLDA\.__init__\(\) .* Did you mean 'epsilon'\?"):
        PrivateLDA(3, epsilom=1.0)
    cut = r"tokenizer=Tokenizer\(stop_words=\.\.\.\)"
    calls = ((fit_topics, "stop_words"), (read_corpus, "stop_words"), (Corpus.from_texts, cut))
    for call, meant in calls:
        for typed in ("language", "languages"):
            with pytest.raises(TypeError, match=rf"'{typed}'\. Did you mean '{meant}'\?"):
                call(TEXTS, **{typed: "french"})
    with pytest.raises(TypeError, match=rf"from_texts\(\) .* 'stop_words'\. Did you mean '{cut}'\?"):
        Corpus.from_texts(TEXTS, stop_words="french")
    of_columns = {"column": "text", "text_column": "text", "person_column": "person"}
    for typed, meant in of_columns.items():
        with pytest.raises(TypeError, match=rf"'{typed}'\. Did you mean '{meant}'\?"):
            fit_topics(TEXTS, epsilon=1.0, **{typed: "note"})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'stop_words'$"):
        PrivateSVILDA(3, stop_words="french")  # no topic_word_prior
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'colour'$"):
        fit_topics(TEXTS, epsilon=1.0, colour="red")
