"""Words, topics and their shares in groups in one go: one booking, one budget, and refusals before it."""

import json
import math

import numpy as np
import pytest

from discreet import Corpus, Ledger, PrivateCountVectorizer, Release, TopicPrevalence, fit_topics
from discreet.cli.app import run
from discreet.errors import CorpusError, DiscreetError, ParameterError
from discreet.release.prevalence import PrevalenceRelease
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
        ({"prevalence": None}, "by, names groups|by names groups"),
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


def test_shares_alone_need_topics():
    with pytest.raises(ParameterError, match="release must be a Release; only fit_topics"):
        TopicPrevalence(None, groups=["a"]).fit(np.ones((3, 2), int), by=["a"] * 3)


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    with path.open("w") as file:
        for row, text in enumerate(TEXTS):
            ward = wards(len(TEXTS))[row] if row else ""
            file.write(json.dumps({"body": text, "ward": ward, "date": f"2024-0{1 + row % 3}-07"}) + "\n")
    return path


def call(notes, folder, *options):
    arguments = ["fit", str(notes), "--text", "body", "--topics", "2", "--epsilon", "4", "--seed", "0"]
    return run(
        [*arguments, "--out", str(folder / "model"), "--set", "allow_unlearnable=true", "--quiet", *options]
    )


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        (["--by", "ward", "--groups", "{}/wards.txt"], ("north", "south")),
        (["--by", "ward", "--private-groups", "--by-share", "0.5"], ("north", "south")),
        (
            ["--by", "date", "--every", "month", "--from", "2024-01", "--to", "2024-03"],
            ("2024-01", "2024-02", "2024-03"),
        ),
    ],
)
def test_the_command_does_it_in_one_go(notes, tmp_path, options, groups):
    (tmp_path / "wards.txt").write_text("north\nsouth\n")
    options = [option.format(tmp_path) for option in options]
    ledger = tmp_path / "budget.json"
    assert call(notes, tmp_path, *options, "--shares", str(tmp_path / "w.json"), "--ledger", str(ledger)) == 0
    made = PrevalenceRelease.load(tmp_path / "w.json")
    assert (tmp_path / "w.md").read_text() == made.card()
    assert "on the same ledger: what they cost is in the promise above." in made.card()
    assert "public before" not in made.card()
    assert made.groups == groups
    assert made.promise.epsilon == pytest.approx(4.0, rel=1e-3)
    assert Ledger.open(ledger).spent().epsilon == pytest.approx(4.0, rel=1e-3)
    assert len(Release.load(tmp_path / "model").topic_word) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "ward", "--groups", "{}/wards.txt"], "--shares FILE, a new file"),
        (["--shares", "{}/w.json"], "--by FIELD, which names the groups"),
        (["--by", "ward", "--shares", "{}/w.json"], "name the public groups"),
        (
            ["--by", "ward", "--shares", "{}/w.json", "--groups", "{}/wards.txt", "--by-share", "1"],
            "--by-share must be",
        ),
        (["--by", "ward", "--shares", "{}/w.json", "--groups", "{}/north.txt"], "not among the 1 group"),
        (
            ["--by", "ward", "--shares", "{}/w.json", "--private-groups", "--set", "unlisted=error"],
            "'unlisted' is none of them",
        ),
    ],
)
def test_the_command_refuses_before_it_spends(notes, tmp_path, capsys, options, message):
    (tmp_path / "wards.txt").write_text("north\nsouth\n")
    (tmp_path / "north.txt").write_text("north\n")
    options = [option.format(tmp_path) for option in options]
    ledger = tmp_path / "budget.json"
    assert call(notes, tmp_path, *options, "--ledger", str(ledger)) == 2
    assert message in capsys.readouterr().err
    assert not ledger.exists()
    assert not (tmp_path / "model").exists()
