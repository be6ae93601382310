"""What is told of a promise beside its numbers: the attack figure, a large delta, and whether a page may leave."""

import csv
import io
import math
import re
import stat
import warnings
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.prevalence.test_estimator import WARDS, X, trained
from tests.prevalence.test_page import release

from discreet import Ledger, PrivateFit, PrivateLDA, TopicPrevalence
from discreet.central.prevalence.estimator import booked_here
from discreet.errors import LargeDeltaWarning
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import attack_risk_of, best_true_positive_rate, percent
from discreet.report.prevalence_page import table_csv

MONTHS = [f"2024-{month:02d}" for month in range(1, 7)]
DATES = [MONTHS[row % 6] for row in range(len(X))]


def figure(text):
    return re.search(r"finds at most ([\d.]+ %)", text).group(1)


def test_months_that_each_pay_for_themselves_have_one_attack_figure():
    ledger, made = Ledger(0.5, 1e-6), []
    for month in MONTHS:
        model = TopicPrevalence(
            trained(), freq="month", start=month, end=month, epsilon=0.5, ledger=ledger, division="date"
        )
        made.append(model.fit(X, by=DATES).release_)
    assert {figure(one.card()) for one in made} == {figure(made[0].card())}
    (mu,) = {1 / leaf.event.noise_multiplier for leaf in events.leaves(ledger.entries[0].event)}
    assert figure(made[-1].card()) == percent(best_true_positive_rate(mu, 0.01))


def test_the_figure_is_that_of_the_part_that_paid_most():
    ledger = Ledger(9.0, 1e-6)
    ledger.reserve(events.gaussian(10.0), "a", division="month", touched=["1", "2"])
    ledger.reserve(events.gaussian(5.0), "b", division="month", touched=["2"])
    ledger.reserve(events.gaussian(8.0), "everybody")
    mu = math.sqrt(1 / 100 + 1 / 25 + 1 / 64)
    assert figure(attack_risk_of(ledger.guarantee(), ledger.entries)) == percent(
        best_true_positive_rate(mu, 0.01)
    )
    # A part that is touched for the first time has paid for everybody's bookings before, too.
    ledger.reserve(events.gaussian(3.0), "late", division="month", touched=["4"])
    late = math.sqrt(1 / 64 + 1 / 9)
    assert figure(attack_risk_of(ledger.guarantee(), ledger.entries)) == percent(
        best_true_positive_rate(late, 0.01)
    )
    ledger.reserve(events.pure(0.1), "c", division="month", touched=["3"])
    assert "whatever the noise" in attack_risk_of(ledger.guarantee(), ledger.entries)
    assert attack_risk_of(Ledger(1.0, 1e-6).guarantee(), ())


def test_a_delta_that_promises_hardly_anything_is_said():
    small, by = X[:400], [WARDS[row % 2] for row in range(400)]
    with pytest.warns(LargeDeltaWarning, match=r"delta = 0.05 is too large: there are about"):
        fit = PrivateFit(trained(), epsilon=1.0, delta=0.05).fit(small).release_
    with pytest.warns(LargeDeltaWarning, match=r"delta = 0.05 is too large"):
        shares = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, delta=0.05).fit(small, by=by).release_
    for made in (fit, shares):
        assert "**delta = 0.05 is too large" in made.card()
    assert "delta = 0.05 is too large" in shares.to_html()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LargeDeltaWarning)
        made = PrivateFit(trained(), epsilon=1.0, delta=1e-5).fit(small).release_
        PrivateFit(trained(), epsilon=math.inf, delta=0.05).fit(small)
    assert "too large" not in made.card()


@cache
def topics():
    return PrivateLDA(3, epsilon=8.0).fit(X).release_


def answers(page):
    plain = re.sub(
        r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<(style|script).*?</\1>", "", page, flags=re.S))
    )
    may, spent = plain.split("May it be published?")[1][:60], plain.split("What was spent?")[1][:700]
    return may.strip(), spent


@pytest.mark.parametrize(
    ("settings", "secret", "may"),
    [
        ({"epsilon": 0.1}, False, "It was made to be."),
        ({"epsilon": math.inf}, True, "Not with this page: how good the model is stands here"),
        ({"epsilon": 0.1, "random_state": 0}, False, "Not with this page: how good the model is was"),
    ],
)
def test_a_page_that_shows_what_may_not_leave_says_so_first(tmp_path, settings, secret, may):
    fit = PrivateFit(topics(), **settings).fit(X).release_
    assert topics().to_html(tmp_path / "page.html", fit=fit) is None
    assert answers((tmp_path / "page.html").read_text("utf-8"))[0].startswith(may)
    assert bool(stat.S_IMODE((tmp_path / "page.html").stat().st_mode) & 0o044) != secret


def test_what_a_fit_cost_is_counted_with_the_topics():
    ledger = Ledger(9.0, 1e-6)
    topics = PrivateLDA(3, epsilon=4.0, ledger=ledger).fit(X).release_
    together = PrivateFit(topics, epsilon=0.5, ledger=ledger).fit(X).release_
    apart = PrivateFit(topics, epsilon=0.5).fit(X).release_
    assert "on the same ledger, epsilon 4.0" in answers(topics.to_html(fit=together))[1]
    assert (
        "on another ledger, with epsilon 0.5: whoever reads this page has the cost of both"
        in (answers(topics.to_html(fit=apart))[1])
    )
    assert "How good" not in answers(topics.to_html())[1]


def test_a_notebook_looks_for_the_words_of_all_topics_once(monkeypatch):
    asked, found = [], type(topics()).top_words

    def counted(self, *arguments, **named):
        asked.append(arguments)
        return found(self, *arguments, **named)

    monkeypatch.setattr(type(topics()), "top_words", counted)
    shown = topics()._repr_html_()
    assert len(asked) <= 2
    for words in found(topics(), 8):
        assert " ".join(words) in shown


def test_no_page_or_table_holds_marks_that_move_a_cursor_or_turn_the_writing():
    hostile = ["\x1b[2J\x1b]0;evil\x07north", "so\u202eunth\u2066"]
    made = release([[0.9, 0.1], [0.1, 0.9]], groups=hostile).with_details(title="a\u202eb\x1b")
    for told in (
        made.to_html(),
        made.card(),
        table_csv(made),
        topics().with_details(title="a\u202eb").to_html(),
    ):
        assert not re.search("[\x1b\x07\u202e\u2066]", told)
    rows = list(csv.reader(io.StringIO(table_csv(made))))
    assert rows[1][0].endswith("north")


def test_words_that_turn_the_writing_are_not_shown_as_they_are():
    words = ["rea\u202elp", *[f"word{i}" for i in range(1, X.shape[1])]]
    page = replace(topics(), vocabulary=tuple(words)).to_html()
    assert "\u202e" not in page
    assert "rea\ufffdlp" in page
    assert np.isfinite(topics().topic_word).all()


def test_topics_are_counted_only_where_all_that_they_cost_stands_on_the_ledger():
    both, one = Ledger(9.0, 1e-6), Ledger(9.0, 1e-6)
    for ledger in (both, one):
        ledger.reserve(events.gaussian(10.0), "words")
    both.reserve(events.gaussian(5.0), "topics")
    topics, none = SimpleNamespace(ledger=both.snapshot()), SimpleNamespace(ledger=Ledger(1.0, 1e-6))
    both.reserve(events.gaussian(20.0), "something else")
    assert booked_here(topics, both)
    assert not booked_here(topics, one)
    assert not booked_here(none, both)
