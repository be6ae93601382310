"""Lists of words of models without privacy: those of a release with the same topics, under the columns' names."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tests.report.report_cases import release

from discreet import Corpus, GibbsLDA, VariationalLDA
from discreet.errors import ParameterError
from discreet.lda.gibbs import estimator as gibbs

WORDS = ("bed", "ward", "nurse", "court", "law", "judge")
COUNTS = np.kron(np.eye(2, dtype=int), [[5, 3, 1], [4, 4, 2], [6, 2, 1], [3, 4, 1]])
MODELS = [GibbsLDA(2, random_state=0, n_sweeps=20), VariationalLDA(2, random_state=0, max_iter=20)]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return request.param


def test_words_are_those_of_a_release_with_these_topics(model):
    model.fit(COUNTS)
    shares = model.components_.sum(0) / model.components_.sum()
    made = release(2, 6, words=WORDS, noise=None)
    same = dataclasses.replace(made, vocabulary=WORDS, topic_word=model.topic_word_, word_weight=shares)
    for n in (1, 3, 99):
        for by in ("probability", "lift"):
            assert model.top_words(n, by=by, input_features=WORDS) == same.top_words(n, by=by)
    assert sorted(set(words) for words in model.top_words(3, input_features=WORDS)) == sorted(
        [set(WORDS[:3]), set(WORDS[3:])]
    )


def test_names_are_those_of_the_columns(model):
    model.fit(COUNTS)
    assert {word for words in model.top_words(6) for word in words} == {f"word_{i}" for i in range(6)}
    named = model.top_words(6, input_features=np.array(WORDS))
    for X in (Corpus(COUNTS, WORDS, words_are_public=True), pd.DataFrame(COUNTS, columns=WORDS)):
        model.fit(X)
        assert model.top_words(6) == model.top_words(6, input_features=WORDS) == named
        with pytest.raises(ParameterError, match="input_features are not the words of the columns"):
            model.top_words(input_features=WORDS[::-1])


def test_what_is_asked_for_wrongly_is_refused(model):
    model.fit(COUNTS)
    with pytest.raises(ParameterError, match="one word for each of 6 columns, but has 5"):
        model.top_words(input_features=WORDS[1:])
    for n in (0, 1.5, "3"):
        with pytest.raises(ParameterError, match="must be at least 1, but is"):
            model.top_words(n)
    with pytest.raises(ParameterError, match='"probability" or "lift", but is \'relevance\''):
        model.top_words(by="relevance")
    with pytest.raises(NotFittedError):
        type(model)().top_words()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("abcdef", "must be a list of texts in the order of the columns, but is a str"),
        (b"abcdef", "must be a list of texts"),
        (5, "must be a list of texts in the order of the columns, but is an int"),
        (set(WORDS), "must be a list of texts in the order of the columns, but is a set"),
        (dict.fromkeys(WORDS), "must be a list of texts in the order of the columns, but is a dict"),
        (dict.fromkeys(WORDS).keys(), "must be a list of texts"),
        ([1, None, 2.5, "law", "law", "judge"], "but is a list of other things"),
        ([[word] for word in WORDS], "but is a list of other things"),
        (np.array([WORDS]), "must be a list of texts"),
        (np.array("abcdef"), "must be a list of texts"),
        (["bed", "bed", "bed", "law", "law", "judge"], "must be different words, but 3 of them are repeated"),
        ([], "one word for each of 6 columns, but has 0"),
    ],
)
def test_what_is_no_list_of_words_is_refused(given, told):
    model = GibbsLDA(2, random_state=0, n_sweeps=5).fit(COUNTS)
    with pytest.raises(ParameterError, match=f"^input_features.*{told}"):
        model.top_words(input_features=given)


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Index, pd.Series, lambda words: np.array(words, dtype=object), iter]
)
def test_lists_of_words_of_any_kind_are_taken(kind):
    model = GibbsLDA(2, random_state=0, n_sweeps=5).fit(COUNTS)
    found = model.top_words(input_features=kind(WORDS))
    assert found == model.top_words(input_features=WORDS)
    assert {type(word) for words in found for word in words} == {str}


@pytest.mark.parametrize(("init", "n_sweeps"), [("fast", 100), ("auto", 200)])
def test_how_many_sweeps_there_are_is_told_also_above_the_most_tokens(init, n_sweeps, monkeypatch):
    monkeypatch.setattr(gibbs, "MOST_FAST_TOKENS", 3)
    told = []
    model = GibbsLDA(2, init=init, random_state=0, callback=lambda *said: told.append(said)).fit(COUNTS)
    assert told[0] == ("sweep", 1, n_sweeps)
    assert model.n_sweeps_ == n_sweeps
