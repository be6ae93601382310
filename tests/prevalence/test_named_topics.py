"""Names that a review gave to topics stand in shares, their page and their card."""

import re
from dataclasses import replace

import numpy as np
from tests.prevalence.test_estimator import RELEASE, WARDS, X
from tests.prevalence.test_page import release as counted
from tests.report.test_noisy_topics import with_noise_topics

from discreet import TopicPrevalence
from discreet.release.edits import names_of
from discreet.release.prevalence import PrevalenceRelease


def test_names_of_topics_are_those_of_the_review(tmp_path):
    named = RELEASE.with_topic_names({1: "Night <ward>"})
    shares = TopicPrevalence(named, WARDS, epsilon=5.0, random_state=0).fit(
        X, by=np.array(WARDS)[np.arange(len(X)) % 3]
    )
    words = [" ".join(top) for top in RELEASE.top_words(3)]
    assert shares.release_.topics == (words[0], "Night <ward>", words[2])
    shares.release_.save(tmp_path / "shares.json")
    again = PrevalenceRelease.load(tmp_path / "shares.json")
    assert again.topics == shares.release_.topics
    assert "Night &lt;ward&gt;" in again.to_html()
    assert "Night" in again.card()


def test_topics_of_noise_are_called_that_and_stand_last():
    made, truth = with_noise_topics(word_weight=None)
    names = names_of(made.with_topic_names({truth.index(True): "Wards"}))
    assert [name.startswith("mostly noise: ") for name in names] == truth
    assert names[truth.index(True)] == "mostly noise: Wards"
    shares = replace_topics(names)
    charts = re.findall(r'<figure id="topic-(\d+)"( class="noisy")?>', shares.to_html())
    assert [bool(noisy) for _, noisy in charts] == sorted(truth)


def replace_topics(names):
    return replace(counted(np.full((2, len(names)), 1 / len(names))), topics=names)


def test_shares_of_reviewed_topics_say_so_and_whom_to_ask():
    """An officer reads in their card alone that the words were reviewed, by whom, and who answers for them."""
    word = RELEASE.vocabulary[0]
    topics = RELEASE.without_words([word]).with_topic_names({0: "Meals"}).with_review("DPO", on="2026-01-02")
    topics = topics.with_details(title="Notes", owner="Trust", contact="q@example.org", period="2020")
    model = TopicPrevalence(topics, WARDS, epsilon=5.0, random_state=0)
    shares = model.fit(np.delete(X, 0, axis=1), by=np.array(WARDS)[np.arange(len(X)) % 3]).release_
    assert shares.review == topics.review
    assert "reviewed by DPO on 2026-01-02: 1 word removed, 1 topic named" in shares.review
    assert shares.details == {"title": "Notes", "owner": "Trust", "contact": "q@example.org"}
    card = shares.card()
    assert card.startswith("# Notes\n\nShares of 3 topics in 3 groups\n")
    for said in ("reviewed by DPO", "1 topic named", "Trust"):
        assert said in card
        assert said in shares.to_html()
    assert shares.with_details(title="Wards").details["title"] == "Wards"


def test_shares_of_topics_that_nobody_reviewed_say_that():
    model = TopicPrevalence(RELEASE, WARDS, epsilon=5.0, random_state=0)
    shares = model.fit(X, by=np.array(WARDS)[np.arange(len(X)) % 3]).release_
    assert shares.review is None
    assert "none recorded here" in shares.card()
