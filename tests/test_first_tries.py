"""What people try first: refused before anything is booked, with the next call to make."""

import math

import numpy as np
import pandas as pd
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
from discreet.corpus import Corpus
from discreet.errors import CorpusError, PrivacyError, ReleaseError
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
    path.write_text("who;note\na;one two\na;three\n")
    read = r"Read it first, fit_topics\(discreet\.corpus"
    said = rf"delimiter=';'\. {read}\.read_corpus\('.*', stop_words='english', delimiter=';'\), \.\.\.\)\."
    with pytest.raises(CorpusError, match=said):
        fit_topics(path, text="note", person="who", epsilon=1.0)
    frame = pd.DataFrame({"text": ["one two", None], "who": ["a", "b"]})
    with pytest.raises(CorpusError, match=rf"{read}\.from_frame\(frame, .*skip_empty=True\)"):
        fit_topics(frame, person="who", epsilon=1.0)
