"""What a fit from Python says before it spends, and what it leaves where words show that the rest is no use."""

import random
import warnings

import numpy as np
import pandas as pd
import pytest

from discreet import (
    BudgetExceeded,
    Corpus,
    Ledger,
    ParameterError,
    PrivacyError,
    PrivateCountVectorizer,
    PrivateLDA,
    fit_topics,
)
from discreet.central import bring_topics, share_topics
from discreet.corpus import write_shards
from discreet.errors import CorpusError, CorpusWarning
from discreet.privacy.accounting import events

WORDS = "ward bed nurse storm coast law".split()
DRAWN = random.Random(0)
TEXTS = [" ".join(DRAWN.choices(WORDS, k=6)) for _ in range(600)]
GERMAN = "die und der nicht ist ein ich das mit es auf Zimmer Essen Schwester Warten".split()


def fit(texts=TEXTS, **how):
    return fit_topics(texts, **({"epsilon": 2.0, "n_topics": 2, "random_state": 0} | how))


@pytest.mark.parametrize("own", [True, False])
def test_more_topics_than_the_chosen_words_tell_apart_cost_no_more_than_the_words(own):
    ledger = None if own else Ledger(2.0)
    with (
        pytest.warns(
            CorpusWarning,
            match=r"About 6 words would be chosen, too few to tell 12 topics apart: ask for at most n_topics=3",
        ),
        pytest.raises(ParameterError) as caught,
    ):
        fit(n_topics=12, ledger=ledger)
    said = str(caught.value)
    assert said.startswith(
        "6 words cannot tell 12 topics apart, whatever the noise: ask for at most n_topics=3"
    )
    assert "Of epsilon 2, 0.432 is spent; another fit on these texts may spend about 1.9" in said
    if ledger is None:
        return
    assert [entry.purpose.split()[0] for entry in ledger.entries] == ["vocabulary"]
    assert fit(n_topics=3, epsilon=1.8, ledger=ledger).promise.epsilon <= 2.0 * (1 + 1e-9)


def test_where_no_word_is_chosen_the_topics_are_not_paid_for():
    ledger = Ledger(2.0)
    said = r"About 0 words would be chosen, .*how-to/few-texts.*words stays booked, at epsilon = 0\.02047\."
    with pytest.warns(CorpusWarning, match=said), pytest.raises(PrivacyError) as caught:
        fit(epsilon=0.1, ledger=ledger)
    assert "no word was chosen: too few documents share a word" in str(caught.value)
    assert "how-to/few-texts" in str(caught.value)
    assert "Of epsilon 2, 0.02047 is spent; another fit on these texts may spend about 1.9" in str(
        caught.value
    )
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("column", ["pandas", "polars", "numpy"])
def test_a_column_of_texts_is_looked_at_as_a_list_is(column):
    """A series of German texts was fitted without a word about the language."""
    kinds = {"numpy": lambda texts: np.array(texts, object)}
    kinds |= {name: pytest.importorskip(name).Series for name in {column} - {"numpy"}}
    ledger = Ledger(2.0)
    with pytest.raises(CorpusWarning, match="German list of stop words"):
        fit(kinds[column]([" ".join(GERMAN)] * 300), ledger=ledger)
    assert not ledger.entries


def test_a_warning_that_is_an_error_stops_before_anything_is_booked():
    ledger = Ledger(2.0)
    with pytest.raises(CorpusWarning, match="for you alone"):  # as the suite's filters make it
        fit(n_topics=12, ledger=ledger)
    assert not ledger.entries


def test_the_language_of_the_texts_is_held_against_the_stop_words():
    texts = [" ".join(DRAWN.choices(GERMAN, k=9)) for _ in range(600)]
    with pytest.warns(CorpusWarning, match=r"German list .* Leave them out: stop_words='german'"):
        fit(texts)
    fit(texts, stop_words="german")
    italian = "la il una da si le ma lui noi che di per non della camera letto notte infermiera".split()
    drawn = [" ".join(DRAWN.choices(italian, k=9)) for _ in range(600)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit(drawn)
    of_lists = [str(one.message) for one in told if "list of stop words" in str(one.message)]
    assert len(of_lists) == 1  # and not of Romanian, whose list shares words
    assert "stop_words='italian'" in of_lists[0]
    fit()  # a warning would be an error


def test_who_goes_on_all_the_same_is_not_warned():
    fit(n_topics=12, allow_unlearnable=True)
    fit(n_topics=12, epsilon=float("inf"))


def test_faults_in_a_list_of_texts_cost_nothing():
    ledger = Ledger(2.0)
    with pytest.raises(ValueError, match="str"):
        fit([*TEXTS, 5], ledger=ledger)
    assert not ledger.entries


def test_a_run_whose_topics_another_run_paid_for_says_that_its_words_are_booked():
    ledger = Ledger(1.05)

    def another(stage, done, total):
        if stage == "choosing words" and len(ledger.entries) == 1:
            ledger.reserve(events.gaussian(6.0), "another run")

    with pytest.raises(BudgetExceeded, match="'topics") as caught:
        fit(epsilon=1.0, ledger=ledger, callback=another)
    assert [entry.purpose.split()[0] for entry in ledger.entries] == ["vocabulary", "another"]
    assert "Nothing was booked" not in str(caught.value)
    assert str(caught.value).endswith("The words stay booked, at epsilon = 0.25.")
    assert ledger.spent().epsilon <= 1.05


def test_a_run_that_stops_after_its_words_leaves_nothing_beside_its_shards(tmp_path):
    shards = write_shards(Corpus.from_texts(TEXTS), tmp_path / "shards")
    with pytest.raises(ParameterError, match="6 words cannot tell 4 topics apart") as caught:
        fit(shards, n_topics=4)
    assert caught.tb is not None  # which holds the frames, so that nothing is collected
    assert [each.name for each in tmp_path.iterdir()] == ["shards"]


def test_a_ledger_grants_the_first_of_two_bookings_only_where_the_second_fits():
    ledger = Ledger(1.0)
    small, large = events.gaussian(20.0), events.gaussian(1.0)
    with pytest.raises(BudgetExceeded, match=r"'first' .* and 'second'"):
        ledger.plan([(small, "first")], then=[(large, "second")])
    assert not ledger.entries
    ledger.plan([(small, "first")], then=[(small, "second")])
    assert [entry.purpose for entry in ledger.entries] == ["first"]


def test_persons_are_looked_at_however_they_are_given(tmp_path):
    """Those beside a file, a frame or a corpus were forgotten: each document had a person of its own."""
    persons = [f"p{row % 40}" for row in range(600)]
    frame = pd.DataFrame({"text": TEXTS, "patient": persons})
    frame.to_csv(tmp_path / "notes.csv", index=False)
    file = tmp_path / "notes.csv"
    by_column, beside = {"person": "patient"}, {"persons": persons}
    ways = [(frame, by_column), (frame, beside), (frame, {"persons": frame["patient"]}), (file, by_column)]
    ways += [(file, beside), (TEXTS, beside), (frame["text"], beside), (Corpus.from_texts(TEXTS), beside)]
    told = []
    for source, whose in ways:
        with pytest.warns(CorpusWarning) as warned, pytest.raises(PrivacyError, match="no word was chosen"):
            fit(source, epsilon=0.5, **whose)
        told.append([str(one.message) for one in warned])
    assert len(told[0]) == 1
    assert "About 0 words would be chosen" in told[0][0]
    assert told[1:] == told[:1] * 7


NOTHING = {
    "list": [],
    "tuple": (),
    "series": pd.Series([], dtype=str),
    "array": np.array([], dtype=object),
    "corpus": Corpus.from_texts(TEXTS).take([]),
    "counts": np.zeros((0, 6)),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_nothing_is_booked_where_there_are_no_texts(kind):
    """A file without texts cost nothing, and a list without any what its words cost."""
    nothing, ledger = NOTHING[kind], Ledger(4.0)
    public, topics = {"vocabulary": WORDS, "words_are_public": True}, bring_topics({"a": WORDS, "b": WORDS})
    fits = [
        lambda: fit(nothing, ledger=ledger),
        lambda: fit(nothing, ledger=ledger, **public),
        lambda: PrivateCountVectorizer(ledger=ledger).fit(nothing),
        lambda: share_topics(nothing, topics, epsilon=1.0, ledger=ledger),
    ]
    if kind == "counts":
        fits = [lambda: PrivateLDA(ledger=ledger).fit(nothing, **public)]
    for each in fits:
        with pytest.raises(CorpusError, match="expected at least one document"):
            each()
    assert not ledger.entries
