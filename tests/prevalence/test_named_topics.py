"""Names that a review gave to topics stand in shares, their page and their card."""

import re
from dataclasses import replace

import numpy as np
from tests.prevalence.test_estimator import WARDS, X, trained
from tests.prevalence.test_page import release as counted
from tests.report.test_noisy_topics import with_noise_topics

from discreet import Ledger, Release, TopicPrevalence
from discreet.cli.app import run
from discreet.release.edits import names_of
from discreet.release.prevalence import PrevalenceRelease
from discreet.report.wording import naming


def test_names_of_topics_are_those_of_the_review(tmp_path):
    named = trained().with_topic_names({2: "Night <ward>"})
    shares = TopicPrevalence(named, WARDS, epsilon=5.0, random_state=0).fit(
        X, by=np.array(WARDS)[np.arange(len(X)) % 3]
    )
    words = [", ".join(called) for called in naming(trained())]
    assert shares.release_.topics == (words[0], "Night <ward>", words[2])
    shares.release_.save(tmp_path / "shares.json")
    again = PrevalenceRelease.load(tmp_path / "shares.json")
    assert again.topics == shares.release_.topics
    assert "Night &lt;ward&gt;" in again.to_html()
    assert "Night" in again.card()


def test_a_topic_is_called_the_same_wherever_it_is_named(tmp_path, capsys, monkeypatch):
    """By words that are typical of it: "night" is the most probable word of all three, and would name none of them."""
    monkeypatch.chdir(tmp_path)
    own = [["playroom", "visit", "family"], ["tablet", "dose", "blood"], ["soup", "meal", "tea"]]
    words = ("night", *(word for each in own for word in each))
    topics = np.full((3, 10), 0.01)
    topics[:, 0] = 0.25
    for topic in range(3):
        topics[topic, 1 + 3 * topic : 4 + 3 * topic] = 0.2, 0.18, 0.16
    topics /= topics.sum(1, keepdims=True)
    made = Release(
        topics, words, Ledger(1.0, 1e-6), topic_weight=np.full(3, 1 / 3), word_weight=topics.mean(0)
    )
    names = [", ".join(each) for each in own]
    assert [first[0] for first in made.top_words(1)] == ["night"] * 3
    assert list(names_of(made)) == names
    page, map_of_notebook = made.to_html(), made._repr_html_()
    made.save("model")
    (tmp_path / "notes.csv").write_text("note\n" + "".join(f"{' '.join(each * 5)}\n" for each in own))
    assert run("review model --write-edits edits.txt".split()) == 0
    for topic, name in enumerate(names, 1):
        assert f'"name":"{name}"' in page
        assert name in map_of_notebook
        assert f"# name topic {topic} = {name}" in (tmp_path / "edits.txt").read_text()
        capsys.readouterr()
        assert run(f"read model notes.csv --text note --topic {topic}".split()) == 0
        assert f"topic {topic}: {name}" in capsys.readouterr().out


def test_topics_of_noise_are_called_that_and_stand_last():
    made, truth = with_noise_topics(word_weight=None)
    names = names_of(made.with_topic_names({truth.index(True) + 1: "Wards"}))
    assert [name.startswith("mostly noise: ") for name in names] == truth
    assert names[truth.index(True)] == "mostly noise: Wards"
    shares = replace_topics(names)
    charts = re.findall(r'<figure id="topic-(\d+)"( class="noisy")?>', shares.to_html())
    assert [bool(noisy) for _, noisy in charts] == sorted(truth)


def replace_topics(names):
    return replace(counted(np.full((2, len(names)), 1 / len(names))), topics=names)


def test_shares_of_reviewed_topics_say_so_and_whom_to_ask():
    """An officer reads in their card alone that the words were reviewed, by whom, and who answers for them."""
    word = trained().vocabulary[0]
    topics = (
        trained().without_words([word]).with_topic_names({1: "Meals"}).with_review("DPO", on="2026-01-02")
    )
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
    model = TopicPrevalence(trained(), WARDS, epsilon=5.0, random_state=0)
    shares = model.fit(X, by=np.array(WARDS)[np.arange(len(X)) % 3]).release_
    assert shares.review is None
    assert "none recorded here" in shares.card()
