"""The page of shares: noise is never drawn as news, hostile names stay text, and the table holds every number."""

import csv
import dataclasses
import io
import math
import re
from base64 import b64decode
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from tests.marks import quick

from discreet import Ledger
from discreet.cli.display import console
from discreet.cli.shares import show_shares
from discreet.errors import ParameterError
from discreet.privacy import events
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.prevalence.changes import differences
from discreet.release.prevalence.shares import overall
from discreet.report.prevalence_page import prevalence_page, shown_intervals, table_csv

HOSTILE = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", 'a"b', "\u202egnp.exe"]


def release(shares, size=1000.0, noise=10.0, groups=None, **how):
    shares = np.asarray(shares, dtype=float)
    ledger = Ledger(1.0, 1e-6)
    ledger.reserve(events.gaussian(noise / math.hypot(1.0, 0.5)), "shares of topics in groups")
    return PrevalenceRelease(
        topic_totals=shares * size,
        unit_counts=how.pop("unit_counts", np.full(len(shares), size / 2)),
        noise=noise,
        count_weight=0.5,
        groups=tuple(groups or [f"ward {i}" for i in range(len(shares))]),
        topics=tuple(f"word{k} other{k}" for k in range(shares.shape[1])),
        ledger=ledger,
        **how,
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_what_the_noise_explains_is_grey_and_no_news():
    page = release([[0.5, 0.5], [0.51, 0.49], [0.49, 0.51]]).to_html()
    assert "No single group differs from all the others" in page
    assert not re.search(r'<td class="(more|less)', page)
    told = release([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]).to_html()
    assert "ward 0: 60.0 points more of \u201cword0 other0\u201d than in all the others together (" in told
    assert "ward 1:" not in told.split("</ul>")[0]
    assert len(re.findall(r'<td class="more\d"', told)) == 2
    assert "Differences" not in told  # which the sentences say


def test_page_terminal_table_and_sentences_show_one_interval_for_a_difference(capsys):
    """All are tested together, and the interval is that of the test: it leaves out 0 where the difference is clear."""
    made = release([[0.60, 0.40], [0.5, 0.5], [0.47, 0.53], [0.5, 0.5]])
    found, page, columns = made.against_rest(), made.to_html(), made.to_columns()
    assert 0 < found.certain.sum() < found.certain.size
    for each in (found, made.compare("ward 0", "ward 2"), made.growth(made.groups)):
        assert ((each.low > 0) | (each.high < 0)).tolist() == each.certain.tolist()
    alone = differences(made.sums, made.sums).high - differences(made.sums, made.sums).difference
    assert np.mean(found.high - found.difference) > 1.1 * np.mean(alone) / math.sqrt(2)
    show_shares(made, console(quiet=False))
    told = capsys.readouterr().err
    assert "interval" in told
    assert "95 % interval" not in told
    for low, high in zip(found.low[found.certain], found.high[found.certain], strict=True):
        ends = f"{100 * low:+.1f} to {100 * high:+.1f}"
        assert ends in told
        least, most = sorted((100 * abs(low), 100 * abs(high)))
        assert f"({least:.1f} to {most:.1f})" in page
    assert columns["difference_low"] == found.low.ravel().tolist()
    assert columns["difference_high"] == found.high.ravel().tolist()


def test_where_no_difference_is_clear_the_terminal_says_that_shares_follow(capsys):
    made = release(np.tile([0.5, 0.3, 0.2], (6, 1)))
    show_shares(made, console(quiet=False))
    told = capsys.readouterr().err
    _, low, high = shown_intervals(made, made.against_rest())
    page = prevalence_page(made)
    for ends in zip(low[:, 0], high[:, 0], strict=True):  # the largest topic, on the page and here
        least, most = (f"{100 * end:.1f}" for end in ends)
        assert f"{least} to {most}" in told
        assert f"{least}\u2013{most}" in page
    assert "none is clear at 95 %" in told
    assert "12 of 18 shares, those that are surely largest first, each with its interval among all of" in told
    assert "share in %" in told
    assert "points" not in told
    sizes, counts = np.array([[2000.0], [2000.0], [100.0]]), np.array([1000.0, 1000.0, 50.0])
    made = np.array([[0.5, 0.5], [0.5, 0.5], [0.6, 0.4]]) * sizes
    noisy = release(made, size=1.0, unit_counts=counts, groups=["a", "b", "small"])
    show_shares(noisy, console(quiet=False))
    shown = re.findall("^(a|b|small) ", capsys.readouterr().err, re.M)
    assert shown[4:] == ["small", "small"]  # whose share is the largest, but hardly known
    show_shares(release([[0.9, 0.1]]), console(quiet=False))
    told = capsys.readouterr().err
    assert told.startswith("All shares, each with its own interval")
    assert "Differences" not in told


@pytest.mark.parametrize("seed", range(20))
def test_intervals_hold_the_shares_that_are_shown_of_the_smallest_groups_too(seed):
    """The raw shares of such a group are far from any shares that can be, and the differences are of raw ones."""
    rng = np.random.default_rng(seed)
    shares = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], rng.normal(0.01, 0.012, 3)])
    made = release(shares, unit_counts=np.array([500.0, 500.0, rng.normal(15, 10)]))
    rest, low, high = shown_intervals(made, made.against_rest())
    assert (low.clip(0, 1) <= made.shares().share + 1e-9).all()
    assert (high.clip(0, 1) >= made.shares().share - 1e-9).all()
    assert np.allclose(rest.sum(1), 1, atol=0.1)


def test_the_terminal_lists_no_shares_of_a_group_that_may_be_empty(capsys):
    """A group that nobody wrote from has shares of noise alone, which may be the largest of all."""
    shares = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.0, 0.0, 0.003]])
    made = release(shares, groups=["Bretagne", "Alsace", "Corse"], unit_counts=[500.0, 500.0, 1.0])
    assert made.certain_groups.tolist() == [True, True, False]
    assert made.shares().share[2].max() > 0.5
    show_shares(made, console(quiet=False))
    told = capsys.readouterr().err
    assert "Corse" not in told
    assert "All shares, without those of 1 group that may be empty, each with its interval" in " ".join(
        told.split()
    )
    assert not told.startswith("Differences")
    show_shares(release([[0.0, 0.003]] * 2, unit_counts=[1.0, 1.0]), console(quiet=False))
    told = capsys.readouterr().err
    assert "ward 0 *" in told
    assert "* may be empty" in told


def test_the_page_says_why_a_share_is_not_in_the_middle_of_its_interval():
    """The noise in the sum of all is shared out to the topics alike: every share moves the same way."""
    made = release([[0.42, 0.32, 0.22]], size=300.0)
    found, noisy = made.shares(), made.shares("raw")
    moved = found.share - noisy.share
    assert moved.min() > 0
    np.testing.assert_allclose(moved, moved[0, 0])
    assert (found.high - found.share < found.share - found.low).all()
    assert made.to_html().count("stays about the noisy share, so the share is seldom in its middle.") == 1


def test_intervals_of_the_table_are_those_of_the_test_behind_its_colours():
    made = release([[0.60, 0.40], [0.5, 0.5], [0.47, 0.53], [0.5, 0.5]])
    page, found, share = made.to_html(), made.against_rest(), made.shares().share
    cells = re.findall(r'<td class="(\w+?)\d?">[\d.]+\D*?<small>([\d.]+)\u2013([\d.]+)</small>', page)
    assert len(cells) == 8
    for (state, low, high), topic_group in zip(cells, np.ndindex(2, 4), strict=True):
        topic, group = topic_group
        rest = 100 * (share - found.difference)[group, topic]
        assert (state == "noise") == (float(low) - 0.06 <= rest <= float(high) + 0.06)
    assert "Where it differs clearly" in page
    assert "Where it differs clearly" not in release([[0.5, 0.5]] * 3).to_html()


def test_only_a_page_of_groups_speaks_of_their_list():
    """Topics that are counted in all texts have no groups."""
    sentence = "The list of groups was public before the texts were read."
    assert sentence not in release([[0.4, 0.6]]).to_html()
    assert sentence in release([[0.4, 0.6], [0.6, 0.4]]).to_html()


def test_the_page_needs_no_network_and_runs_nothing():
    page = release([[0.9, 0.1], [0.5, 0.5]], groups=HOSTILE[:2]).to_html()
    tags = Tags()
    tags.feed(page)
    names = {tag for tag, _ in tags.seen}
    assert not names & {"script", "link", "iframe", "img", "object"}
    assert not [value for _, attrs in tags.seen for value in attrs.values() if value and "http" in value]
    assert "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)" in page
    assert release([[0.9, 0.1]]).to_html() == release([[0.9, 0.1]]).to_html()


def test_labels_of_what_may_not_leave():
    assert "Reproducible, not for release." in release([[0.9, 0.1]], reproducible=True).to_html()
    assert "Reproducible" not in release([[0.9, 0.1]]).to_html()


@pytest.mark.parametrize("n_groups", [1, 2, 40])
def test_over_time_there_are_lines(n_groups):
    shares = np.tile([0.7, 0.3], (n_groups, 1))
    page = release(shares, configuration={"freq": "month"}).to_html()
    assert page.count('<polyline class="line"') == 2
    assert "Each topic over time" in page


@pytest.mark.parametrize(
    ("n_groups", "how", "title", "where"),
    [
        (1, {}, "Shares of 2 topics", ""),
        (
            3,
            {"by": "moved in from"},
            "2 topics in 3 groups by moved in from",
            " in 3 groups by moved in from",
        ),
        (
            2,
            {"freq": "month"},
            "2 topics in 2 months, ward 0\u2013ward 1",
            " in 2 months, ward 0\u2013ward 1",
        ),
    ],
)
def test_the_title_and_the_first_sentence_tell_the_same_groups(n_groups, how, title, where):
    page = release(np.tile([0.7, 0.3], (n_groups, 1)), configuration=how).to_html()
    assert f"<h1>{title}</h1>" in page
    assert f"documents{where}: the largest of 2 topics" in page


def test_the_table_holds_every_number_and_no_formula():
    made = release([[0.9, 0.1], [0.5, 0.5]], groups=HOSTILE[:2])
    held = made.to_html().split("data:text/csv;charset=utf-8;base64,")[1].split('"')[0]
    assert b64decode(held).decode() == "\ufeff" + table_csv(made)  # spreadsheets tell UTF-8 by the mark
    rows = list(csv.DictReader(io.StringIO(table_csv(made))))
    assert len(rows) == 4
    assert [float(row["share"]) for row in rows] == pytest.approx(made.shares().share.ravel(), abs=1e-5)
    assert rows[2]["group"].startswith("'=cmd")
    assert all(float(row["low"]) <= float(row["high"]) for row in rows)


def test_the_page_shows_the_shares_that_its_table_holds_and_names_their_kind():
    made = release([[1.05, -0.04], [0.55, 0.45], [0.5, 0.5]], noise=60.0)
    assert np.abs(made.shares("raw").share - made.shares().share).max() > 0.01
    rows = list(csv.DictReader(io.StringIO(table_csv(made))))
    assert {row["kind"] for row in rows} == {"projected"}
    assert set(made.to_columns("raw")["kind"]) == {"raw"}
    page = made.to_html()
    assert "projected" in page
    raw = made.shares("raw").share.ravel()
    for row, unbent in zip(rows, raw.tolist(), strict=True):
        share, off, low, high = (
            100 * float(row[name]) for name in ("share", "difference", "difference_low", "difference_high")
        )
        rest = 100 * unbent - off  # differences are of raw shares
        low, high = max(rest + low, 0.0), min(rest + high, 100.0)
        row["shown"] = [f"{share:.1f}", f"{low:.1f}", f"{high:.1f}"]
        assert f"{row['group']}: {share:.1f} % ({low:.1f} to {high:.1f})" in page  # the chart
    cells = re.findall(
        r'<td class="(?:more|less|noise)\d?">([\d.]+)\D*?<small>([\d.]+)\u2013([\d.]+)</small>', page
    )
    by_topic = sorted(rows, key=lambda row: row["topic"])
    assert [list(cell) for cell in cells] == [row["shown"] for row in by_topic]


def test_what_was_made_with_a_seed_says_so_in_the_table():
    seeded, secure = (release([[0.9, 0.1], [0.5, 0.5]], reproducible=seed) for seed in (True, False))
    assert seeded.to_columns()["label"] == ["reproducible, not for release"] * 4
    assert "reproducible, not for release" in table_csv(seeded)
    assert "label" in seeded.to_frame().columns
    assert "label" not in table_csv(secure)
    hidden = release([[0.9, 0.1], [0.5, 0.5]], groups=["\ufeff=1+1", "\uff1d1"])
    assert {row["group"] for row in csv.DictReader(io.StringIO(table_csv(hidden)))} == {
        "'\ufffd=1+1",
        "'\uff1d1",
    }


def months(first, last, noise=10.0, n=12):
    shares = np.linspace(first, last, n)
    return release(
        shares,
        noise=noise,
        configuration={"freq": "month"},
        groups=[f"2024-{i:02d}" for i in range(1, n + 1)],
    )


def test_what_grew_is_named_and_what_stood_is_grey():
    page = months([0.1, 0.6, 0.3], [0.5, 0.2, 0.3]).to_html()
    grew, fell = (
        re.search(rf"<strong>{word}:</strong>(.*?)</p>", page).group(1) for word in ("Grew", "Fell")
    )
    assert "word0" in grew
    assert "word1" in fell
    assert "word2" not in grew + fell
    assert "From 2024-01\u20132024-03 to 2024-10\u20132024-12" in page
    assert page.count('<svg class="moves"') == 2
    assert page.count('<svg class="flat"') == 1
    rows = re.findall(r'<tr class="(more|less|noise)"><th scope="row">(\d)', page)
    assert rows == [("more", "1"), ("noise", "3"), ("less", "2")]


def test_noise_alone_is_grey_and_named_nowhere():
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(40):
        shares = np.tile([0.3, 0.3, 0.4], (8, 1)) + rng.normal(0, 0.05, (8, 3))
        page = release(shares, noise=50.0, configuration={"freq": "month"}).to_html()
        named += "Grew:" in page or "Fell:" in page
    assert named <= 6  # at most one in twenty, and by chance a few more


def test_growth_adds_up_quarters_with_their_noise():
    made = months([0.1, 0.9], [0.5, 0.5])
    found = made.growth()
    first, last = made.topic_totals[:3].sum(0), made.topic_totals[9:].sum(0)
    assert found.difference == pytest.approx((last - first) / 3000, abs=1e-3)
    alone = made.compare("2024-12", "2024-01")
    assert (found.standard_error < alone.standard_error).all()
    assert made.growth(level=0.5).high[0] < found.high[0]


@pytest.mark.integration
def test_growth_is_not_invented_where_quarters_of_noise_are_added_up():
    rng = np.random.default_rng(1)
    alarms, n = 0, 400
    for _ in range(n):
        shares = np.tile([0.3, 0.3, 0.4], (16, 1)) + rng.normal(0, 0.2, (16, 3))
        alarms += release(shares, noise=200.0, configuration={"freq": "month"}).growth().certain.any()
    assert alarms <= 0.05 * n + 3 * np.sqrt(0.05 * 0.95 * n)


def alike(n_groups, n_full, n, seed, shares=(0.05,) * 20, **how):
    """Groups all alike in truth, of which few hold texts: noise, and nothing else, makes them differ."""
    rng, sizes = np.random.default_rng(seed), np.zeros(n_groups)
    sizes[:n_full] = n
    made = release(
        np.tile(shares, (n_groups, 1)), groups=[f"g{i}" for i in range(n_groups)], noise=17.0, **how
    )
    totals = sizes[:, None] * shares + rng.normal(0, 17, made.topic_totals.shape)
    return dataclasses.replace(made, topic_totals=totals, unit_counts=sizes / 2 + rng.normal(0, 17, n_groups))


@pytest.mark.parametrize(
    ("n_groups", "n_full", "n"),
    quick([(20, 20, 600), (100, 4, 2000), (30, 1, 2700), (12, 2, 3000)], (20, 20, 600), (12, 2, 3000)),
)
def test_groups_that_are_alike_stay_grey_whatever_their_sizes(n_groups, n_full, n):
    named = 0
    for seed in range(60):
        found = alike(n_groups, n_full, n, seed).against_rest()
        named += found.certain.any()
    assert named <= 8  # 3 expected; 8 is beyond 1 in 100
    grey = next(
        made
        for made in (alike(n_groups, n_full, n, seed) for seed in range(60))
        if not made.against_rest().certain.any()
    )
    page = grey.to_html()
    assert "No single group differs" in page
    assert not re.search(r'class="(more|less)', page)


@pytest.mark.integration
def test_a_page_can_be_made_where_most_of_a_long_list_is_empty():
    for seed in range(3):
        page = alike(365, 2, 5000, seed).to_html()
        assert "may be empty" in page
    empty = alike(5, 0, 0, 0)
    assert not empty.certain_groups.any()
    assert "No single group differs" in empty.to_html()


def test_the_overall_share_leaves_groups_out_that_may_be_empty():
    errors = [np.abs(overall(alike(365, 2, 5000, seed).sums) - 0.05).max() for seed in range(5)]
    assert max(errors) < 0.02  # with the noise of all 365: 0.04 and more


def test_none_of_many_empty_groups_is_called_surely_there():
    wrong = sum(alike(1000, 0, 0, seed, shares=(0.5, 0.5)).certain_groups.any() for seed in range(40))
    assert wrong <= 6
    assert alike(1000, 3, 2000, 0, shares=(0.5, 0.5)).certain_groups[:3].all()


def test_other_is_no_period():
    names = [*(f"2024-{i:02d}" for i in range(1, 13)), "other"]
    shares = [[0.3, 0.7]] * 12 + [[0.95, 0.05]]
    made = release(shares, groups=names, configuration={"freq": "month"})
    assert made.periods == tuple(names[:-1])
    assert not made.growth().certain.any()
    assert not made.moving().moves.any()
    assert made.trend().level.shape == made.against_rest().difference.shape == (12, 2)
    page = made.to_html()
    assert "Grew:" not in page
    assert "2024-01 to 2024-12" not in page.replace("\u2013", "-")
    assert page.count(">other<") + page.count(">other *<") == 1  # in the heat map only
    rows = list(csv.DictReader(io.StringIO(table_csv(made))))
    assert [row["difference"] for row in rows[-2:]] == ["", ""]
    assert all(row["difference"] for row in rows[:-2])


def test_groups_without_an_order_have_no_trend_unless_it_is_given():
    made = release([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    for ask in (made.trend, made.growth):
        with pytest.raises(ParameterError, match="name them in order"):
            ask()
        with pytest.raises(ParameterError, match="each once"):
            ask(["ward 1", "ward 1"])
        with pytest.raises(ParameterError, match="there is no group"):
            ask(["ward 1", "ward 7"])
    assert made.growth(made.groups[::-1]).difference[0] == pytest.approx(0.8, abs=1e-6)
    assert made.trend(["ward 2", "ward 0"]).level.shape == (2, 2)


def test_the_table_holds_the_differences_and_the_errors_of_sizes():
    made = release([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    columns, found = made.to_columns(), made.against_rest()
    assert columns["difference"] == found.difference.ravel().tolist()
    assert columns["differs"] == found.certain.ravel().tolist()
    assert set(columns["n_units_error"]) == {made.n_units_error}
    assert "difference" not in release([[0.9, 0.1]]).to_columns()
    assert "\u00b1" in made.to_html()


def test_a_page_of_one_group_compares_it_with_nothing():
    page = release([[0.9, 0.1]], noise=60.0).to_html()
    assert "Topics by share" in page
    assert "<figure" not in page
    assert "its 95&nbsp;% interval" in page
    for said in ("all the others", "differs clearly", "more than in the others"):
        assert said not in page


def test_no_interval_of_groups_that_are_there_is_cut_by_the_axis():
    page = release([[0.37, 0.63 / 2, 0.63 / 2]] * 5, size=200).to_html()
    ends = [float(x) for x in re.findall(r'class="interval" x1="[\d.]+" x2="([\d.]+)"', page)]
    assert max(ends) < 292


def test_names_of_wide_characters_are_broken_at_half_as_many():
    page = release([[0.9, 0.1], [0.1, 0.9]], groups=["\u75c5" * 19, "a" * 19]).to_html()
    lines = re.findall(r'<tspan x="118"[^>]*>([^<]+)</tspan>', page)
    assert lines[:4] == ["\u75c5" * 10, "\u75c5" * 9, "a" * 17, "aa"]


def test_three_sentences_say_what_it_comes_to():
    page = release([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]).to_html()
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.S)[1]
    assert "4 of 6 shares clearly differ from those of all the others together." in lead
    assert "nearly the same would have been published" in lead


@pytest.mark.parametrize(("n_groups", "listed"), [(4, 8), (8, 10)])
def test_the_sentences_list_all_that_differs_clearly_or_say_how_many_they_are(n_groups, listed):
    made = release(np.tile([[0.9, 0.1], [0.1, 0.9]], (n_groups // 2, 1)))
    page, clear = made.to_html(), 2 * n_groups
    assert f"{clear} of {clear} shares clearly differ" in page
    assert page.partition("<ul>")[2].partition("</ul>")[0].count("<li>") == listed
    assert (f"These 10 of {clear} are surely the largest" in page) == (clear > listed)


def test_a_long_name_of_a_group_stands_whole_in_lines_of_its_own():
    names = ["Computer graphics (software and algorithms)", "Mac hardware and peripherals", "Autos"]
    page = release([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], groups=names).to_html()
    svg = page.partition('aria-label="Shares by group">')[2].partition("</svg>")[0]
    lines = re.findall(r'<tspan x="\d+" y="([\d.]+)" dy=".35em">([^<]+)<', svg)
    assert " ".join(text for _, text in lines) == " ".join(names)
    heights = [float(y) for y, _ in lines]
    assert all(below - above >= 13 for above, below in pairwise(heights))
