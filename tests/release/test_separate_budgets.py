"""Fits on one text, each on a ledger of its own: what a warning says, and when there is none."""

import copy
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from discreet import (
    Corpus,
    GibbsLDA,
    Ledger,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    TopicPrevalence,
    fit_topics,
)
from discreet.corpus import Tokenizer
from discreet.errors import BudgetExceeded, CorpusError, SeparateBudgetsWarning
from discreet.privacy import composed_epsilon, events

RNG = np.random.default_rng(0)
EASY = {"n_topics": 2, "epsilon": 1.0, "allow_unlearnable": True}


def counts():
    """Nobody has fitted these before."""
    return RNG.poisson(1.0, (200, 5))


def texts():
    return [" ".join(RNG.choice(["ward", "night", "storm", "coast", "law"], 12)) for _ in range(400)]


def fit(X, **how):
    return PrivateLDA(**{**EASY, **how}).fit(X)


def warned(call):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in told if issubclass(w.category, SeparateBudgetsWarning)]


def test_a_second_ledger_for_the_same_counts_is_told_with_what_both_cost():
    X = counts()
    assert not warned(lambda: fit(X))
    (said,) = warned(lambda: fit(X.copy(), n_topics=3))
    event = PrivateLDA(**EASY).planned_event()
    together = composed_epsilon([event, event], 2e-6).epsilon
    assert 1.3 < together < 1.5
    told = float(re.search(r"epsilon = ([\d.]+) at delta = 2e-06", said)[1])
    assert together <= told <= together * 1.001
    assert "on 2 ledgers" in said
    assert "ledger=ledger" in said
    assert "choose_n_topics" in said
    (again,) = warned(lambda: fit(X))
    assert "on 3 ledgers" in again


def test_texts_are_known_again_though_other_words_were_chosen():
    documents = texts()
    assert not warned(lambda: fit_topics(documents, **{**EASY, "epsilon": 4.0}))
    (of_both,) = warned(lambda: fit_topics(tuple(documents), **{**EASY, "epsilon": 4.0}))
    assert "on 2 ledgers" in of_both
    (said,) = warned(lambda: PrivateCountVectorizer(epsilon=2.0).fit(documents))
    assert "on 3 ledgers" in said


FORMS = {
    "a list": (lambda rows: rows, {}),
    "a frame": (lambda rows: pd.DataFrame({"text": rows}), {"text": "text"}),
    "a corpus": (lambda rows: Corpus.from_texts(rows, tokenizer=Tokenizer(stop_words=None)), {}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "other",
    [{"stop_words": ["storm"]}, {"vocabulary": ["ward", "night", "coast"], "words_are_public": True}],
    ids=["stop words", "a public list"],
)
def test_texts_are_known_again_though_they_were_cut_otherwise(form, other):
    documents = texts()
    (make, how), easy = FORMS[form], {**EASY, "epsilon": 4.0}
    assert not warned(lambda: fit_topics(documents, **easy))
    assert not warned(lambda: fit_topics(make(documents[1:]), **how, **easy))
    if form == "a corpus":
        made = make(documents)
        other = {} if "vocabulary" in other else other
        assert copy.copy(made).texts_digest == made.take(range(9)).texts_digest == ""
    (said,) = warned(
        lambda: fit_topics(make(documents) if form != "a corpus" else made, **how, **easy, **other)
    )
    assert "on 2 ledgers" in said


def test_the_line_that_is_shown_is_the_callers():
    X, documents = counts(), texts()
    fit(X)
    fit_topics(documents, **{**EASY, "epsilon": 4.0})
    calls = [
        lambda: PrivateLDA(**EASY).fit(X),
        lambda: PrivateLDA(**EASY).fit_transform(X),
        lambda: fit_topics(documents, **{**EASY, "epsilon": 4.0}),
        lambda: PrivateCountVectorizer(epsilon=2.0).fit(documents),
    ]
    for call in calls:
        with pytest.warns(SeparateBudgetsWarning) as told:
            call()
        (shown,) = (one for one in told if issubclass(one.category, SeparateBudgetsWarning))
        library = "sklearn" if "fit_transform" in call.__code__.co_names else __file__
        assert library in shown.filename


def test_the_warning_can_be_made_an_error_that_ends_the_fit_before_anything_is_released():
    X, second = counts(), Ledger(1.0, 1e-6)
    fit(X)
    model = PrivateLDA(**EASY, ledger=second)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparateBudgetsWarning)
        with pytest.raises(SeparateBudgetsWarning, match="on 2 ledgers"):
            model.fit(X)
    assert not hasattr(model, "release_")
    assert len(second.entries) == 1  # booked before the text is read, by which it is known


def test_what_is_told_never_falls_as_more_is_spent():
    """The sum of deltas grew with every ledger, and epsilon at the larger delta was less than what was told before."""
    X, told = counts(), []
    fit(X)
    for delta in (1e-6, 1e-5, 1e-3, 1e-7):
        (said,) = warned(lambda delta=delta: fit(X, delta=delta, epsilon=0.5))
        told.append(told_epsilon(said))
        assert "at delta = 2e-06 allows" in said
    assert told == sorted(told)
    assert told[0] < told[-1]


def test_what_is_told_never_falls_where_no_epsilon_holds_at_the_first_delta():
    """An entry that fails with more than the first delta: the sum of all deltas is told then, and no less epsilon."""
    X = counts()
    fit(X)
    (first,) = warned(lambda: fit(X))
    loose = Ledger(9.0, 0.1)
    loose.reserve(events.with_delta(events.pure(0.001), 0.01), "a mechanism that may fail")
    (said,) = warned(lambda: fit(X, ledger=loose, epsilon=0.01, allow_large_delta=True))
    assert told_epsilon(said) >= told_epsilon(first)
    assert "at delta = 0.100002 allows" in said


def told_epsilon(said):
    return float(re.search(r"epsilon = ([\d.]+) at delta", said)[1])


def test_all_bookings_of_all_ledgers_are_counted_at_each_booking():
    """Words first, topics after, on a second ledger: the topics count, too, and so does what comes after them."""
    documents, ledger = texts(), Ledger(4.0, 1e-6)
    together = fit_topics(documents, **{**EASY, "epsilon": 4.0}).ledger
    chooser = PrivateCountVectorizer(epsilon=2.0, ledger=ledger)
    (at_words,) = warned(lambda: chooser.fit(documents))
    chosen = chooser.transform(documents)
    estimator = PrivateLDA(**EASY, ledger=ledger)
    (at_topics,) = warned(lambda: estimator.fit(chosen))
    (at_shares,) = warned(lambda: PrivateFit(estimator.release_, epsilon=0.5, ledger=ledger).fit(chosen))
    events = [entry.event for book in (together, ledger) for entry in book.entries]
    cost = composed_epsilon(events, 2e-6).epsilon
    assert cost <= told_epsilon(at_shares) <= cost * 1.001
    assert told_epsilon(at_words) < told_epsilon(at_topics) < told_epsilon(at_shares)


def test_what_is_measured_on_the_same_counts_belongs_on_the_same_ledger():
    X, ledger = counts(), Ledger(4.0, 1e-5)
    release = fit(X, ledger=ledger).release_
    shared = [PrivateFit(release, epsilon=1.0, ledger=ledger), PrivateFit(release, epsilon=1.0)]
    assert [len(warned(lambda m=m: m.fit(X))) for m in shared] == [0, 1]
    groups = TopicPrevalence(release, [0, 1], epsilon=1.0)
    assert len(warned(lambda: groups.fit(X, np.arange(200) % 2))) == 1


@pytest.mark.parametrize(
    "how",
    [{"random_state": 0}, {"epsilon": math.inf}, {"ledger": Ledger(9.0, 1e-5)}],
    ids=["a seed", "a twin", "one ledger"],
)
def test_no_warning_where_nothing_leaves_or_one_ledger_counts_all(how):
    X = counts()
    assert not warned(lambda: [fit(X, **how) for _ in range(3)])


def test_a_look_without_privacy_is_no_part_of_what_leaves():
    """After one look at the twin, all later warnings told epsilon = inf."""
    texts = [f"the {word} hit the coast" for word in ("storm", "wave", "wind")] * 300
    how = {"n_topics": 2, "allow_unlearnable": True, "allow_large_delta": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_topics(texts, epsilon=float("inf"), **how)
        fit_topics(texts, epsilon=1.0, **how)
    with pytest.warns(SeparateBudgetsWarning, match=r"2 ledgers .* epsilon = [12]\.\d+ at"):
        fit_topics(texts, epsilon=1.0, **how)


def test_another_text_is_another_text():
    X = counts()
    fit(X)
    more = np.vstack([X, X[:1]])
    assert not warned(lambda: fit(more))


def test_a_grid_search_is_told_what_it_spends_and_what_to_do_instead():
    search = GridSearchCV(PrivateLDA(**EASY), {"n_topics": [2, 3]}, cv=2)
    told = warned(lambda: search.fit(counts()))
    assert len(told) == 2  # each fold, by the second candidate
    assert all("GridSearchCV" in said for said in told)


SEARCHES = {
    "a search": lambda model, X: GridSearchCV(model, {"n_topics": [2, 3]}, cv=2).fit(X),
    "a random search": lambda model, X: RandomizedSearchCV(model, {"n_topics": [2, 3]}, n_iter=2, cv=2).fit(
        X
    ),
    "scores": lambda model, X: cross_val_score(model, X, cv=2),
    "an estimator of scikit-learn": lambda _, X: LatentDirichletAllocation(2).fit(X),
    "NumPy": lambda _, X: np.asarray(X),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("model", [PrivateLDA(**EASY), GibbsLDA(2)], ids=["private", "not private"])
def test_a_corpus_is_refused_by_searches_with_what_to_do_instead(search, model):
    ledger = Ledger(9.0, 1e-5)
    model = model.set_params(ledger=ledger) if isinstance(model, PrivateLDA) else model
    corpus = Corpus(counts(), ["ward", "night", "storm", "coast", "law"], words_are_public=True)
    with pytest.raises(CorpusError, match=r"is no array: give its counts.*GridSearchCV.*choose_n_topics"):
        SEARCHES[search](model, corpus)
    assert ledger.entries == ()


def test_a_search_over_a_pipeline_of_texts_is_told_what_it_spends():
    texts = ["nurse bed ward pain", "ward bed sleep", "pain nurse"] * 30
    steps = make_pipeline(
        PrivateCountVectorizer(epsilon=9.0, delta=1e-4),
        PrivateLDA(2, epsilon=50.0, delta=1e-4, allow_unlearnable=True),
    )
    search = GridSearchCV(steps, {"privatelda__n_topics": [2, 3]}, cv=2, error_score="raise")
    told = warned(lambda: search.fit(texts))
    assert told
    assert all("GridSearchCV" in said for said in told)


def test_one_ledger_refuses_what_a_search_would_spend_beyond_it():
    """A clone has the same ledger, not a budget of its own."""
    ledger = Ledger(60.0, 1e-4)
    model = PrivateLDA(2, epsilon=50.0, delta=1e-5, ledger=ledger, allow_unlearnable=True)
    assert clone(model).ledger is ledger
    with pytest.raises(BudgetExceeded):
        GridSearchCV(model, {"n_topics": [2, 3]}, cv=2, error_score="raise").fit(counts())
    assert len(ledger.entries) == 1


def test_another_ledger_whose_file_was_exchanged_does_not_end_a_fit(tmp_path):
    X, path = counts(), tmp_path / "ledger.json"
    Ledger.open(path, 3.0, 1e-5)
    before = path.read_bytes()
    assert not warned(lambda: fit(X, ledger=Ledger.open(path)))
    path.write_bytes(before)
    (said,) = warned(lambda: fit(X))
    assert "on 2 ledgers" in said
