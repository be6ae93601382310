"""Topics that are brought, and private shares of them: what a few hundred texts can pay for."""

import csv
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.reseal import reseal

from discreet import Ledger, PrivateLDA, TopicPrevalence
from discreet.central import bring_topics, share_topics
from discreet.central.prevalence.brought import read_topics
from discreet.central.prevalence.labelled import reach_in_points
from discreet.cli.app import run
from discreet.corpus import Corpus, Tokenizer
from discreet.errors import CorpusError, CorpusWarning, ParameterError, ReleaseError
from discreet.release import PrevalenceRelease

LISTS = {f"t{topic}": [f"w{topic}{letter}" for letter in "abc"] for topic in range(4)}


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    topic = rng.choice(4, 300, p=[0.4, 0.3, 0.2, 0.1])
    return [" ".join(rng.choice(LISTS[f"t{one}"], 5)) for one in topic]


def test_the_noise_in_a_share_is_what_was_told_beforehand(texts):
    topics = bring_topics(LISTS)
    corpus = Corpus.from_texts(texts, vocabulary=topics.vocabulary)
    exact = topics.transform(corpus).mean(0)
    made = [share_topics(corpus, topics, epsilon=1.0, random_state=seed).shares("raw") for seed in range(60)]
    missed = np.array([100 * (one.share[0] - exact) for one in made])
    told = reach_in_points(300, 1, 4, 1.0)[0] / 1.96
    assert np.sqrt((missed**2).mean()) == pytest.approx(told, rel=0.2)
    assert np.mean([(one.low[0] <= exact) & (exact <= one.high[0]) for one in made]) > 0.9


def test_shares_of_brought_topics_near_the_counts_of_their_texts(texts):
    exact = np.bincount([int(text[1]) for text in texts], minlength=4) / 300
    made = share_topics(texts, LISTS, epsilon=float("inf"))
    np.testing.assert_allclose(made.shares().share[0], exact, atol=0.02)
    assert made.topics == tuple(LISTS)


def test_texts_without_a_listed_word_are_in_no_group(texts):
    made = share_topics([*texts, *["nothing of it"] * 500], LISTS, epsilon=float("inf"))
    assert made.n_units == pytest.approx([300])


def test_persons_files_and_groups(texts, tmp_path):
    whose, wards = [f"p{row // 3}" for row in range(300)], ["north", "south"] * 150
    frame = pd.DataFrame({"text": texts, "who": whose})
    made = share_topics(frame, LISTS, person="who", epsilon=8.0, random_state=0)
    assert made.ledger.privacy_unit == "person"
    assert made.n_units == pytest.approx([100], abs=5)
    same = share_topics(texts, LISTS, persons=whose, epsilon=8.0, random_state=0)
    np.testing.assert_allclose(made.topic_totals, same.topic_totals)
    by_ward = share_topics(texts, LISTS, by=wards, groups=["north", "south"], epsilon=8.0, random_state=0)
    assert by_ward.groups == ("north", "south")
    assert by_ward.n_units == pytest.approx([150, 150], abs=5)


def test_the_card_says_that_the_topics_are_public_and_prevalence_takes_them(texts):
    topics = bring_topics(LISTS)
    assert topics.ledger.spent().epsilon == 0
    assert "Public topics that were brought" in topics.card()
    assert (
        "| words | those of public topics that were brought, as declared by whoever made this |"
        in topics.card()
    )
    corpus = Corpus.from_texts(texts, vocabulary=topics.vocabulary)
    ledger = Ledger(1.0)
    made = TopicPrevalence(topics, ["a"], epsilon=1.0, ledger=ledger).fit(corpus, by=["a"] * 300).release_
    card = made.card()
    assert "| the topics | public: brought, not made from these texts" in card
    fitted = PrivateLDA(2, epsilon=4.0, allow_unlearnable=True).fit(corpus, words_are_public=True).release_
    other = TopicPrevalence(fitted, ["a"], epsilon=1.0).fit(corpus, by=["a"] * 300).release_
    assert "| the topics | released at epsilon = 4" in other.card()


def test_the_card_of_shares_without_groups_speaks_of_no_list_of_them(texts):
    alone = share_topics(texts, LISTS, epsilon=1.0).card()
    assert alone.startswith("# Shares of 4 topics\n")
    assert "group" not in alone.partition("## What was booked")[0].replace("between groups", "")
    assert "a public list" not in alone
    assert (
        "| the topics | public: brought, not made from these texts, as declared by whoever made this" in alone
    )
    wards = share_topics(texts, LISTS, by=["a", "b"] * 150, groups=["a", "b"], epsilon=1.0).card()
    assert wards.startswith("# Shares of 4 topics in 2 groups\n")
    assert "| groups | a public list" in wards


def test_topics_of_public_text_are_an_array_and_words(texts):
    topics = bring_topics((np.array([[3.0, 1.0], [0.0, 2.0]]), ["w0a", "w1a"]), names=["zero", "one"])
    np.testing.assert_allclose(topics.topic_word, [[0.75, 0.25], [0, 1]])
    assert topics.topic_names == ("zero", "one")


@pytest.mark.parametrize(
    "topics",
    [
        {},
        {"a": ["x"]},
        {"a": ["x"], "b": []},
        {"a": "soup meal", "b": ["x"]},  # its letters would be the words
        [["x"], ["y"]],
        "topics.txt",
        (np.ones(3), ["a"]),
        (-np.eye(2), "ab"),
    ],
)
def test_what_are_no_topics_is_refused_with_an_example(texts, topics):
    ledger = Ledger(1.0)
    with pytest.raises(ParameterError, match="lists of words by the name of each topic"):
        share_topics(texts, topics, epsilon=1.0, ledger=ledger)
    assert not ledger.entries


def test_one_command_makes_it(texts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [f"{name}: {', '.join(words).upper()}" for name, words in LISTS.items()]
    (tmp_path / "topics.txt").write_text("# ours\n\n" + "\n".join(lines))
    with (tmp_path / "n.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "who"], *([text, f"p{row}"] for row, text in enumerate(texts))])
    line = "prevalence topics.txt n.csv --person who --epsilon 1 --out s.json --ledger b.json"
    assert run(line.split()) == 0
    said = capsys.readouterr().err
    assert (
        "PRIVATE | 300 of 300 documents, of 300 persons, have a word of the topics: with the noise, one sh"
        in said
    )
    assert "The topics are public" in said
    made = PrevalenceRelease.load("s.json")
    page = made.to_html()
    assert made.review is None
    assert re.search(r"About \d+ persons with a word of the topics: the largest of 4 topics", page)
    assert "edited" not in page
    assert "The topics are public: they were brought, and cost nothing." in page
    assert "released before" not in page
    assert "in this map" not in page
    for share in made.shares().share[0]:  # one number for one share
        assert page.count(f"{100 * share:.1f}\u202f%<small>") == 1
    assert "% overall" not in page
    assert "<small>w0a, w0b, w0c</small>" in page
    assert (made.groups, made.topics) == (("all texts",), tuple(LISTS))
    assert Ledger.open("b.json").spent().epsilon == pytest.approx(1.0)
    assert read_topics("topics.txt").vocabulary == bring_topics(LISTS).vocabulary
    for bad, fault in (
        ("no colon here", "expected a topic, with"),
        ("food: meal here", "a topic of this name stands on an earlier line"),
        ('waiting: "a place here"', "leave out the quotes: each word counts by itself"),
        ("waiting: \u201ea place here\u201c", "leave out the quotes"),
    ):
        (tmp_path / "bad.txt").write_text(f"food: soup\n{bad}\n")
        assert run(line.replace("topics.txt", "bad.txt").replace("s.json", "t.json").split()) == 2
        said = capsys.readouterr().err
        assert f"bad.txt, line 2: {fault}" in said
        assert "here" not in said


def test_a_file_of_shares_holds_the_words_of_topics_that_were_brought(texts, tmp_path):
    lists = {"food": ["soup", "cold <b>"], "all": ["w0a", "w1a", "w2a", "w3a"]}
    with pytest.warns(UserWarning, match="1 of 6 words of the vocabulary can never be found"):
        made = share_topics(texts, lists, epsilon=2.0, random_state=0)
    assert made.topic_words == (("cold <b>", "soup"), ("w0a", "w1a", "w2a", "w3a"))
    made.save(tmp_path / "shares.json")
    assert PrevalenceRelease.load(tmp_path / "shares.json") == made
    assert "2. all: w0a, w1a, w2a, w3a" in made.card()
    page = made.to_html()
    assert "w0a, w1a, w2a, w3a" in page
    assert "cold <b>" not in page


def test_words_of_other_topics_are_refused(texts, tmp_path):
    made = share_topics(texts, LISTS, epsilon=2.0, random_state=0)
    path = tmp_path / "shares.json"
    made.save(path)
    reseal(path, made.SEAL, topic_words=made.topic_words[1:])
    with pytest.raises(ReleaseError, match="topic_words must be none, or those of each of 4 topics"):
        PrevalenceRelease.load(path)


def test_words_of_topics_that_were_not_brought_do_not_stand_in_the_file(texts):
    corpus = Corpus.from_texts(texts, vocabulary=bring_topics(LISTS).vocabulary)
    fitted = PrivateLDA(2, epsilon=4.0, allow_unlearnable=True, random_state=0).fit(
        corpus, words_are_public=True
    )
    made = TopicPrevalence(fitted.release_, ["a"], epsilon=1.0, random_state=0).fit(corpus, by=["a"] * 300)
    assert made.release_.topic_words == ()


@pytest.mark.parametrize("person", [False, True])
def test_texts_without_a_listed_word_are_told_of_and_not_forecast_with(
    texts, person, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.txt").write_text(
        "\n".join(f"{name}: {' '.join(words)}" for name, words in LISTS.items())
    )
    rows = [[text if row % 2 else "nothing of it", f"p{row // 2}"] for row, text in enumerate(texts * 2)]
    with (tmp_path / "n.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["text", "who"], *rows, *([["nothing", f"q{row}"] for row in range(300)])]
        )
    whose = " --person who" if person else ""
    assert run(f"prevalence topics.txt n.csv --text text{whose} --epsilon 1 --out s.json".split()) == 0
    said = capsys.readouterr().err
    of = ", of 300 persons," * person
    assert (
        f"PRIVATE | 300 of 900 documents{of} have a word of the topics: with the noise, one share by" in said
    )


def test_words_in_capitals_are_found_as_the_command_finds_them(tmp_path):
    texts = ["der Lohn, das Gehalt"] * 60 + ["Helm und Lärm"] * 40
    lists = {"pay": ["Lohn", "Gehalt"], "safety": ["Helm", "Lärm"]}
    made = share_topics(texts, lists, epsilon=float("inf"))
    np.testing.assert_allclose(made.shares().share[0], [0.6, 0.4], atol=0.02)
    (tmp_path / "topics.txt").write_text("pay: Lohn Gehalt\nsafety: Helm, Lärm\n")
    assert read_topics(tmp_path / "topics.txt").vocabulary == bring_topics(lists).vocabulary


@pytest.mark.parametrize("source", [list, lambda texts: pd.DataFrame({"text": texts})])
def test_lists_of_which_no_text_can_have_a_word_cost_nothing(texts, source):
    ledger = Ledger(1.0)
    with pytest.raises(ParameterError, match=r"topic 'a' has no word that a text can have, .*: 'b-c', 'x'"):
        share_topics(source(texts), {"a": ["b-c", "x"], "d": ["e-f", "y"]}, epsilon=1.0, ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize("words", [["cold soup"], ["e-mail", "x"]])
def test_a_topic_that_no_text_can_have_is_named(texts, words):
    """Its share was released, and told of nothing."""
    ledger, lists = Ledger(1.0), {"food": ["soup"], "odd": words}
    said = rf"topic 'odd' has no word that a text can have, as texts are cut: {sorted(words)[0]!r}"
    with pytest.raises(ParameterError, match=said):
        share_topics(texts, lists, epsilon=1.0, ledger=ledger)
    assert not ledger.entries
    cut = Tokenizer(token_pattern=r"[a-z-]+", ngram_range=(1, 2))
    known = Corpus.from_texts([*texts, *["e-mail cold soup"] * 300], tokenizer=cut)
    assert share_topics(known, lists, epsilon=1.0, ledger=ledger).shares().share[0, 1] > 0.3


def test_a_list_without_a_hit_is_told_of_before_shares_are_paid(texts):
    ledger, strange = Ledger(1.0), bring_topics({"a": ["lohn"], "b": ["helm"]})
    for make in (
        lambda: share_topics(texts, strange, epsilon=1.0, ledger=ledger),
        lambda: TopicPrevalence(strange, ["a"], epsilon=1.0, ledger=ledger).fit(texts, by=["a"] * 300),
    ):
        with pytest.raises(
            CorpusError, match=r"none of 300 documents has a word of these topics, .* right file"
        ):
            make()
    assert not ledger.entries
    share_topics(texts, LISTS, epsilon=1.0, ledger=ledger)


@pytest.mark.parametrize(
    ("persons", "epsilon", "told"),
    [
        (
            np.arange(300) // 100,
            0.5,
            "300 of 300 documents, of 3 persons, have a word of the topics, too few",
        ),
        (
            None,
            0.005,
            "300 of 300 documents have a word of the topics, too few for this epsilon: noise will hide",
        ),
    ],
)
def test_shares_that_noise_will_hide_are_told_of_by_whom_they_are_of(texts, persons, epsilon, told):
    """Three persons with 1,500 texts were counted as 1,500; and topics of another language, not at all."""
    ledger = Ledger(1.0, privacy_unit="document" if persons is None else "person")
    of_one = {"by": ["a"] * 300, "groups": ["a"]}
    for make in (
        lambda: share_topics(texts, LISTS, epsilon=epsilon, persons=persons, ledger=ledger),
        lambda: share_topics(texts, LISTS, epsilon=epsilon, persons=persons, ledger=ledger, **of_one),
        lambda: TopicPrevalence(bring_topics(LISTS), ["a"], epsilon=epsilon, ledger=ledger).fit(
            texts, by=["a"] * 300, persons=persons
        ),
    ):
        with pytest.raises(CorpusWarning, match=f"Before anything is spent, .*: {told}"):
            make()
    assert not ledger.entries


def test_what_a_frame_says_of_its_rows_is_taken_by_name(texts):
    whose, wards = np.arange(300) // 2, ["north", "south"] * 150
    frame = pd.DataFrame({"note": [None, *texts[1:]], "who": whose, "ward": wards})
    given = {"text": "note", "epsilon": 8.0, "random_state": 0, "skip_empty": True}
    groups = {"by": "ward", "groups": ["north", "south"]}
    made = share_topics(frame, LISTS, person="who", unit_name="patient", **groups, **given)
    kept = frame.iloc[1:]
    same = share_topics(
        list(kept.note), LISTS, persons=kept.who, by=list(kept.ward), groups=["north", "south"], epsilon=8.0,
        random_state=0,
    )  # fmt: skip
    np.testing.assert_array_equal(made.topic_totals, same.topic_totals)
    assert made.promise.called == "patient"
    with pytest.raises(ParameterError, match="by: for a file or a frame only"):
        share_topics(texts, LISTS, epsilon=1.0, **groups)
    with pytest.warns(CorpusWarning, match=r"Protecting each document. Pass person=, the column that says"):
        share_topics(frame, LISTS, **given)
    assert share_topics(frame, LISTS, privacy_unit="document", **given).ledger.privacy_unit == "document"


@pytest.mark.parametrize("more", [{}, {"skip_empty": True}])
def test_persons_of_other_rows_of_a_frame_are_refused(texts, more):
    """They were laid beside the rows by their position, so that one person's texts were those of many."""
    frame, ledger = (
        pd.DataFrame({"note": texts, "who": np.arange(300) // 3}),
        Ledger(1.0, privacy_unit="person"),
    )
    shuffled = frame.sample(frac=1, random_state=0).who
    with pytest.raises(
        (CorpusError, ParameterError), match=r"persons has another index|person=, label="
    ) as refused:
        share_topics(frame, LISTS, text="note", persons=shuffled, epsilon=1.0, ledger=ledger, **more)
    assert not ledger.entries
    assert isinstance(refused.value, ParameterError) == bool(more)


@pytest.mark.parametrize("unit", ["document", "person"])
def test_shares_that_protect_less_than_their_topics_are_told_of(texts, unit):
    corpus = Corpus.from_texts(texts, vocabulary=bring_topics(LISTS).vocabulary, persons=np.arange(300) // 3)
    given = {"epsilon": 4.0, "allow_unlearnable": True, "random_state": 0}
    topics = PrivateLDA(2, privacy_unit="person", **given).fit(corpus, words_are_public=True).release_
    shares = TopicPrevalence(topics, ["a"], epsilon=1.0, privacy_unit=unit, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shares.fit(corpus if unit == "person" else corpus.without_persons(), by=["a"] * 300)
    assert any("protect persons" in str(warned.message) for warned in told) == (unit == "document")
