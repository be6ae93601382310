"""The cards of shares and of fits: all of the promise, what must not leave first, and hostile names that stay text."""

import math
import re

import numpy as np
from tests.prevalence.test_page import HOSTILE, release

from discreet import Ledger, PrivateFit, PrivateLDA, TopicPrevalence
from discreet.cli.display import console
from discreet.cli.shares import show_shares
from discreet.privacy import events
from discreet.release.numbers import FitRelease
from discreet.release.prevalence import PrevalenceRelease
from discreet.report.wording import epsilon_shown

COUNTS = np.random.default_rng(0).poisson(
    np.where(np.arange(20) // 10 == np.arange(3000)[:, None] % 2, 1.0, 0.1)
)
WARDS = np.repeat(["north", "south", "west"], 1000)


def fitted(**how):
    ledger = Ledger(8.0, 1e-5, privacy_unit=how.get("privacy_unit", "document"))
    persons = {"persons": np.arange(3000) // 2} if ledger.privacy_unit == "person" else {}
    topics = PrivateLDA(2, epsilon=4.0, ledger=ledger, **how).fit(COUNTS, **persons).release_
    shares = TopicPrevalence(topics, ["north", "south", "west"], epsilon=1.0, ledger=ledger, **how)
    fit = PrivateFit(topics, epsilon=0.5, ledger=ledger, **how)
    return shares.fit(COUNTS, by=WARDS, **persons).release_, fit.fit(COUNTS, **persons).release_


def test_the_cards_tell_all_of_the_promise():
    for made in fitted():
        card = made.card()
        for part in [
            made.guarantee,
            "Whatever an attacker knows, a test that wrongly accuses 1 %",
            "| unit | one document |",
            "| neighbours | add or remove one |",
            f"| spent: epsilon | {epsilon_shown(made.promise.epsilon)} |",
            "| spent: delta | 1e-05 |",
            "| noise | drawn by the operating system |",
            f"| noise in each sum | Gaussian, with a standard deviation of {made.noise:.4g} documents |",
            "covered by the promise above",
            "limits what they tell of any one document",
        ]:
            assert part in card, part
        for entry in made.ledger.entries:  # the topics, too: they stand on the same ledger
            assert f"| {entry.purpose.split()[0]}" in card
            assert events.in_words(entry.event) in card
        assert "not for release" not in card
        assert card.endswith("\n")
        assert not re.search("None|nan", card)


def test_shares_tell_of_groups_and_who_declared_them():
    shares, fit = fitted(privacy_unit="person")
    card = shares.card()
    assert card.startswith("# Shares of 2 topics in 3 groups\n")
    assert "| groups | a public list, not made from these texts, as declared by whoever made this |" in card
    topics_alone = epsilon_shown(shares.configuration["topics_epsilon"])
    assert f"| the topics | released at epsilon = {topics_alone}, which is counted in the promise" in card
    assert "averaged over their documents, to a weight of one in all" in card
    for group, size in zip(shares.groups, shares.n_units, strict=True):
        assert f"| {group} | {size:,.0f} |" in card
    for number, name in enumerate(shares.topics, 1):
        assert f"\n{number}. {name}\n" in card
    low, high = fit.interval()
    assert f"{fit.gain:.4f} nats ({low:.4f} to {high:.4f} with 95 % confidence)" in fit.card()
    assert fit.in_words() in fit.card()
    assert fit.configuration["model"] in fit.card()
    months = release([[0.5, 0.5]] * 2, groups=["2024-01", "2024-02"], configuration={"freq": "month"}).card()
    assert "periods of a public range, 2024-01 to 2024-02" in months.replace("\\", "")
    chosen = release([[0.5, 0.5]], configuration={"group_selection": "private"}).card()
    assert "names chosen privately; the choice is booked" in chosen
    assert "may be empty" in release([[0.5, 0.5]], size=10.0).card()
    assert "may be empty" not in card


def test_the_size_of_a_group_is_called_a_weight_where_a_person_may_count_in_several(capsys):
    """300 who wrote in every one of three groups are a weight of 100 in each."""
    sentence = (
        "Each person with texts in several groups counts in every one of them by the share of their texts."
    )
    for unit, told in (("person", True), ("document", False)):
        made = fitted(privacy_unit=unit)[0]
        show_shares(made, console(quiet=False))
        terminal = " ".join(capsys.readouterr().err.split())
        for text in (made.card(), made.to_html(), terminal):
            assert (sentence in text) == told
            assert "persons, about" not in text
        for text in (made.card(), made.to_html()):
            assert ("weight in persons" in text) == told


def test_what_must_not_leave_says_so_first():
    for made in fitted(random_state=0):
        assert "**Reproducible, not for release.**" in made.card().split("Differential privacy")[0]
    topics = PrivateLDA(2, epsilon=math.inf).fit(COUNTS).release_
    exact = (
        TopicPrevalence(topics, ["north", "south", "west"], epsilon=math.inf).fit(COUNTS, by=WARDS).release_
    )
    for made in (exact, PrivateFit(topics, epsilon=math.inf).fit(COUNTS).release_):
        assert "do not publish" in made.card()
        assert "covered by the promise" not in made.card()
        assert "| noise in each sum | none |" in made.card()


def test_hostile_names_stay_text_and_files_give_the_same_card(tmp_path):
    made = release(
        [[0.9, 0.1]] * 4, groups=HOSTILE, configuration={"topics_epsilon": "<b>", "x|y": "[z](http://z)"}
    )
    card = made.card()
    assert "\u202e" not in card
    assert not re.search(r"(?<!\\)<(script|b)", card)
    assert not re.search(r"(?<!\\)\]\(|http:", card)
    made.save(tmp_path / "shares.json")
    assert PrevalenceRelease.load(tmp_path / "shares.json").card() == card
    fit = fitted()[1]
    fit.save(tmp_path / "fit.json")
    assert FitRelease.load(tmp_path / "fit.json").card() == fit.card()
