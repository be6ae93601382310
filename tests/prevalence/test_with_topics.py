"""Words, topics and their shares in groups in one go: one booking, one budget, and refusals before it."""

import math

import numpy as np
import pytest

from discreet import Corpus, Ledger, PrivateCountVectorizer, TopicPrevalence, fit_topics
from discreet.errors import CorpusError, DiscreetError, ParameterError, PrivacyError
from discreet.report.wording import naming

RNG = np.random.default_rng(0)
WORDS = [[f"{topic}{letter}" for letter in "abcdefgh"] for topic in ("sea", "law")]
TEXTS = [" ".join(RNG.choice(WORDS[RNG.integers(2)], 12)) for _ in range(1200)]


def wards(n):
    return [("north", "south")[row % 2] for row in range(n)]


@pytest.mark.parametrize("way", ["chosen", "listed", "corpus"])
def test_shares_in_groups_are_released_in_one_go_on_one_budget(way):
    shares = TopicPrevalence(None, groups=["north", "south"], epsilon=0.5, random_state=0)
    ledger = Ledger(4.0, 1e-6)
    given = {"texts_or_corpus": TEXTS}
    if way == "listed":
        given |= {
            "vocabulary": sorted({word for text in TEXTS for word in text.split()}),
            "words_are_public": True,
        }
    if way == "corpus":
        words = PrivateCountVectorizer(epsilon=math.inf).fit(TEXTS)
        counts = words.transform(TEXTS).counts
        given = {
            "texts_or_corpus": Corpus(counts, list(words.get_feature_names_out()), words_are_public=True)
        }
    made = fit_topics(
        **given,
        epsilon=4.0,
        n_topics=2,
        random_state=0,
        ledger=ledger,
        prevalence=shares,
        by=wards(len(TEXTS)),
        allow_unlearnable=True,
    )
    # One booking of two or three parts, which costs exactly what was asked for.
    assert ledger.spent().epsilon == pytest.approx(4.0, rel=1e-3)
    assert {entry.booking for entry in ledger.entries} == {1}
    assert len(ledger.entries) == (3 if way == "chosen" else 2)
    assert shares.release_.promise.epsilon == pytest.approx(4.0, rel=1e-3)
    exact = made.transform(fit_counts(made)).reshape(-1, 2, 2).mean(0)
    assert np.abs(shares.release_.shares("raw").share - exact).max() < 0.1
    assert shares.release_.topics == tuple(", ".join(words) for words in naming(made))


def fit_counts(release):
    words = PrivateCountVectorizer(epsilon=1.0, vocabulary=release.vocabulary, words_are_public=True)
    return words.fit_transform(TEXTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": None}, "by must give the group"),
        ({"prevalence": None}, "which the topics do not use.*add prevalence="),
        ({"prevalence": "wards"}, "must be a TopicPrevalence"),
        ({"prevalence": TopicPrevalence(None, groups=["a"], privacy_unit="person")}, "protects each person"),
        ({"prevalence": TopicPrevalence(None, groups=["a"], epsilon=2.0)}, "leaves none for the topics"),
        ({"prevalence": TopicPrevalence(None, groups=[])}, "groups must be one or more distinct"),
        ({"prevalence": TopicPrevalence(None, groups=["a"], ledger=Ledger(1.0, 1e-6))}, "without a ledger"),
    ],
)
def test_shares_that_cannot_go_with_topics_book_nothing(change, message):
    ledger = Ledger(1.0, 1e-6)
    given = {"prevalence": TopicPrevalence(None, groups=["north", "south"]), "by": wards(len(TEXTS))}
    with pytest.raises(DiscreetError, match=message):
        fit_topics(TEXTS, epsilon=1.0, n_topics=2, ledger=ledger, **(given | change))
    assert not ledger.entries


def test_shares_of_months_in_one_go_with_topics_do_not_say_that_each_pays_for_itself():
    dates = {"freq": "month", "start": "2024-01", "end": "2024-02", "division": "date received"}
    shares = TopicPrevalence(None, **dates, epsilon=0.5)
    ledger = Ledger(4.0, 1e-6)
    by = [f"2024-0{1 + row % 2}-03" for row in range(len(TEXTS))]
    made = fit_topics(
        TEXTS, epsilon=4.0, n_topics=2, ledger=ledger, prevalence=shares, by=by, allow_unlearnable=True
    )
    assert {entry.touched for entry in ledger.entries} == {()}
    assert not any("pays for itself" in entry.purpose for entry in ledger.entries)
    apart = TopicPrevalence(made, **dates, ledger=Ledger(1.0, 1e-6)).fit(fit_counts(made), by=by)
    (entry,) = apart.release_.ledger.entries
    assert "each month of the date received pays for itself" in entry.purpose
    assert len(entry.touched) == 2


def test_a_label_that_is_not_listed_is_told_before_topics_are_trained():
    stages = []
    with pytest.raises(CorpusError, match="not among the 1 group"):
        fit_topics(
            TEXTS,
            epsilon=4.0,
            n_topics=2,
            prevalence=TopicPrevalence(None, groups=["north"]),
            by=wards(len(TEXTS)),
            callback=lambda stage, *_: stages.append(stage),
            allow_unlearnable=True,
        )
    assert not stages


@pytest.mark.parametrize("groups", [{"groups": ["north", "south"]}, {"group_selection": "private"}])
def test_shares_protect_persons_where_persons_are_known(groups):
    """The call of fit_topics' docstring was refused: each document, but the topics each person."""
    persons = np.arange(len(TEXTS)) // 2
    shares = TopicPrevalence(None, **groups, epsilon=1.5, random_state=0)
    given = {"epsilon": 6.0, "n_topics": 2, "random_state": 0, "allow_unlearnable": True}
    made = fit_topics(TEXTS, persons=persons, prevalence=shares, by=wards(len(TEXTS)), **given)
    assert shares.privacy_unit is None
    assert shares.groups_ == ("north", "south")
    assert shares.release_.promise.privacy_unit == "person"
    assert shares.release_.configuration["privacy_unit"] == "person"
    known = Corpus.from_texts(TEXTS, vocabulary=made.vocabulary, persons=persons)
    alone, said = (
        TopicPrevalence(made, **groups, epsilon=1.5, random_state=0, privacy_unit=unit)
        for unit in (None, "person")
    )
    assert alone.planned_event() == said.planned_event()
    totals = [one.fit(known, by=wards(len(TEXTS))).release_.topic_totals for one in (alone, said)]
    np.testing.assert_array_equal(*totals)
    assert alone.get_params()["privacy_unit"] is None
    ledger = Ledger(2.0, 1e-6, privacy_unit="person")
    for book in (None, ledger):
        model = TopicPrevalence(made, **groups, epsilon=1.5, ledger=book)
        with pytest.raises(PrivacyError, match="needs to know the people; pass persons= to fit"):
            model.fit(known.without_persons(), by=wards(len(TEXTS)))
    assert not ledger.entries


def test_labels_that_are_missing_everywhere_cost_no_topics():
    """A join that found nothing was paid for, and gave a table of nothing."""
    ledger = Ledger(4.0, 1e-6)
    with pytest.raises(CorpusError, match="no document that counts has a group: by is missing there"):
        fit_topics(
            TEXTS, epsilon=4.0, n_topics=2, ledger=ledger, by=[None] * len(TEXTS),
            prevalence=TopicPrevalence(None, groups=["north"]),
        )  # fmt: skip
    assert not ledger.entries


def test_shares_alone_need_topics():
    with pytest.raises(ParameterError, match="release must be a Release; only fit_topics"):
        TopicPrevalence(None, groups=["a"]).fit(np.ones((3, 2), int), by=["a"] * 3)
