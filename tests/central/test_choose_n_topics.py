"""The number of topics, chosen privately: what it costs, what it finds, what it refuses, how persons count."""

import math

import numpy as np
import pytest

from discreet import Corpus, Ledger, PrivateCountVectorizer
from discreet.central import choose_n_topics_privately
from discreet.central.choose_n_topics import _by_unit
from discreet.errors import BudgetExceeded, CorpusError, DiscreetError
from discreet.privacy import composed_epsilon

N = 4000


def corpus(n_topics=4, seed=0):
    rng = np.random.default_rng(seed)
    topic = rng.integers(n_topics, size=(N, 1))
    counts = rng.poisson(np.where(np.arange(40) % n_topics == topic, 1.0, 0.05))
    return Corpus(counts, [f"word{i}" for i in range(40)], words_are_public=True)


@pytest.mark.parametrize("planted", [3, 5])
def test_the_planted_number_is_found_and_all_of_it_is_paid_for(planted):
    ledger = Ledger(4.0, 1e-6)
    found = choose_n_topics_privately(
        corpus(planted), [2, planted, 1], epsilon=4.0, ledger=ledger, random_state=0
    )
    assert found.n_topics == planted
    assert found.candidates == (1, 2, planted)
    assert [len(release.topic_word) for release in found.releases] == [1, 2, planted]
    assert found.release is found.releases[found.candidates.index(planted)]
    # Three trainings and one choice, one booking; each release states all of it.
    assert [entry.purpose.split(" (")[0] for entry in ledger.entries] == ["topics"] * 3 + ["number of topics"]
    assert {entry.booking for entry in ledger.entries} == {1}
    assert 4.0 * 0.99 < ledger.spent().epsilon <= 4.0
    assert found.release.promise.epsilon == ledger.spent().epsilon
    # What forgot to pay for the candidates that were not chosen, or for the choice, would say much less.
    events = [entry.event for entry in ledger.entries]
    assert composed_epsilon(events[2:], 1e-6).epsilon < 0.75 * 4.0
    assert composed_epsilon(events[:3], 1e-6).epsilon < 0.96 * 4.0
    with pytest.raises(BudgetExceeded):
        choose_n_topics_privately(corpus(planted), [1, 2], epsilon=4.0, ledger=ledger)


def test_without_privacy_it_is_the_exact_choice():
    found = choose_n_topics_privately(corpus(3), [1, 3], epsilon=math.inf, random_state=0)
    assert found.n_topics == 3
    assert math.isinf(found.release.promise.epsilon)


def test_an_author_scores_once_however_much_they_wrote():
    scores = np.array([[0.9, 0.1], [0.5, 3.0], [-2.0, 0.4], [0.2, 0.2]])
    assert _by_unit(scores, None).max() <= 1.0
    rows = _by_unit(scores, np.array([5, 5, 5, 9]))
    assert rows == pytest.approx(np.array([[1.4 / 3, 0.5], [0.2, 0.2]]))
    owners = np.arange(N) // 4
    found = choose_n_topics_privately(
        corpus(), [1, 4], epsilon=6.0, privacy_unit="author", owners=owners, random_state=0
    )
    assert found.n_topics == 4
    assert found.release.promise.privacy_unit == "author"


def test_words_that_were_chosen_privately_stay_on_their_ledger():
    texts = ["sea ship wave", "law court judge"] * 1500
    counts = PrivateCountVectorizer(epsilon=2.0, random_state=0).fit_transform(texts)
    found = choose_n_topics_privately(counts, [1, 2], epsilon=4.0, random_state=0)
    assert found.n_topics == 2
    assert found.release.ledger.entries[0].purpose.startswith("vocabulary")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": [5]}, "two or more numbers"),
        ({"candidates": [5, 5]}, "two or more numbers"),
        ({"candidates": [0, 5]}, "two or more numbers"),
        ({"candidates": 5}, "two or more numbers"),
        ({"epsilon": -1}, "epsilon must"),
        ({"epsilon": "much"}, "epsilon must"),
        ({"selection_share": 1.0}, "selection_share must"),
        ({"bound": 0}, "bound must"),
        ({"privacy_unit": "author"}, "owners"),
        ({"doc_topic_prior": -1}, "doc_topic_prior must"),
    ],
)
def test_bad_calls_book_nothing(change, message):
    ledger = Ledger(4.0, 1e-6, privacy_unit=change.get("privacy_unit", "document"))
    given = {"candidates": [1, 4], "epsilon": 1.0, "ledger": ledger} | change
    with pytest.raises(DiscreetError, match=message):
        choose_n_topics_privately(corpus(), given.pop("candidates"), **given)
    assert not ledger.entries


def test_bad_counts_are_refused_after_booking():
    with pytest.raises(CorpusError):
        choose_n_topics_privately(np.full((5, 3), -1), [1, 2], epsilon=1.0)
