"""The page of a cross table: a part for each row, whose columns have their own short names."""

import math
import re

import numpy as np
import pytest
from tests.prevalence.test_page import release

from discreet.errors import ReleaseError
from discreet.report import prevalence_page

WARDS, QUARTERS = ["Harbour and docks", "Hill"], [f"202{4 + q // 4}-Q{1 + q % 4}" for q in range(6)]
CELLS = [f"{ward} | {quarter}" for ward in WARDS for quarter in QUARTERS]
RAMP = np.linspace(0.2, 0.8, 6)
SHARES = np.concatenate([np.column_stack([RAMP, 1 - RAMP]), np.full((6, 2), 0.5)])


def crossed(shares=SHARES, groups=CELLS, **settings):
    return release(shares, groups=groups, configuration={"n_columns": 6, "freq": "quarter"} | settings)


def parts(page):
    swipe = r"(?:<p class=\"small swipe\">[^<]*</p>\s*)?"  # a line for narrow screens
    found = re.findall(
        rf"<h3>([^<]+)</h3>\s*{swipe}(<div class=\"charts\">.*?)(?=<h3>|</section>)", page, re.S
    )
    return dict(found)


def test_each_row_has_lines_over_its_columns_and_a_table_of_its_own():
    page = crossed().to_html()
    assert "<h1>2 topics in 2 groups by 6 quarters</h1>" in page
    charts = parts(page)
    assert list(charts) == WARDS
    assert [one.count("<figure") for one in charts.values()] == [2, 2]
    assert charts["Hill"].count('class="flat"') == 2
    assert charts["Harbour and docks"].count('class="moves"') == 2
    assert ">2024-Q1</text>" in charts["Hill"]
    assert "|" not in re.sub(r"<[^>]+>", "", charts["Hill"])
    tables = re.findall(
        r'<h3>([^<]+)</h3>\s*<p[^<]+</p>\s*<div class="scroll"><table class="heat">(.*?)</table>', page, re.S
    )
    assert [name for name, _ in tables] == WARDS
    for _, table in tables:
        assert re.findall(r'<th scope="col">([^<*]+)</th>', table)[1:] == QUARTERS
        assert table.count("<td class=") == 12
    assert 'class="noise"' in tables[1][1]
    assert re.search(r'class="(more|less)\d"', tables[0][1])
    assert not re.search(r'class="(more|less)\d"', tables[1][1].split("2024-Q1")[0])
    ids = re.findall(r'id="(topic-[^"]+)"', page)
    assert len(ids) == len(set(ids)) == 4


def test_columns_without_an_order_have_points():
    page = release(SHARES, groups=CELLS, configuration={"n_columns": 6}).to_html()
    charts = parts(page)
    assert "<polyline" not in page
    assert charts["Hill"].count("<circle") == 12
    assert "2024-Q1</tspan></text>" in charts["Hill"]
    assert "2 topics in 2 groups by 6 others" in page


def test_what_is_neither_row_nor_column_stands_apart():
    page = crossed(np.concatenate([SHARES, [[0.5, 0.5]]]), groups=[*CELLS, "other"]).to_html()
    assert page.count('<table class="heat">') == 3
    assert '<th scope="col">other</th>' in page
    assert list(parts(page)) == WARDS


def test_many_charts_are_left_to_the_table(monkeypatch):
    monkeypatch.setattr(prevalence_page, "_MOST_CHARTS", 3)
    page = crossed().to_html()
    assert "<figure" not in page
    assert page.count('<table class="heat">') == 2


@pytest.mark.integration
def test_nothing_is_coloured_where_nothing_moves():
    """Of 60 pages of 6 rows in which nothing differs, some 5 % may colour a line."""
    rng, coloured = np.random.default_rng(0), 0
    groups = [f"ward {ward} | {quarter}" for ward in range(6) for quarter in QUARTERS]
    for _ in range(60):
        shares = rng.binomial(1000, 0.5, 36) / 1000 + rng.normal(0, 0.01, 36)  # chance, and noise
        made = crossed(np.column_stack([shares, 1 - shares]), groups=groups)
        coloured += 'class="moves"' in made.to_html()
    assert coloured <= 6


@pytest.mark.parametrize(
    ("groups", "freq", "title"),
    [
        (
            [f"2024-{month:02d}" for month in range(1, 7)],
            "month",
            "2 topics in 6 months, 2024-01\u20132024-06",
        ),
        (["2024"], "year", "2 topics in 1 year, 2024"),
        (["1990s", "2000s"], "decade", "2 topics in 2 decades, 1990s\u20132000s"),
        (["north", "south"], None, "2 topics in 2 groups"),
    ],
)
def test_the_title_says_what_the_groups_are(groups, freq, title):
    settings = {} if freq is None else {"freq": freq}
    assert (
        f"<h1>{title}</h1>"
        in release([[0.5, 0.5]] * len(groups), groups=groups, configuration=settings).to_html()
    )


def test_what_people_say_of_shares_stands_on_page_and_card(tmp_path):
    made = release([[0.5, 0.5]] * 2, groups=["north", "south"], noise=10.0)
    told = made.with_details(title="Notes of <two> wards", owner="Quality office", contact="q@example.org")
    page, card = told.to_html(), told.card()
    assert "<h1>Notes of &lt;two&gt; wards</h1>" in page
    assert '<p class="hint"><span>2 topics in 2 groups</span> <span>' in page
    assert "owner: Quality office" in page
    assert card.startswith("# Notes of ")
    assert "| owner | Quality office |" in card
    assert "about.owner" not in card
    told.save(tmp_path / "wards.json")
    assert type(told).load(tmp_path / "wards.json").details == told.details
    assert np.array_equal(told.topic_totals, made.topic_totals)
    with pytest.raises(ReleaseError, match="name no others"):
        made.with_details(colour="red")
    assert math.isclose(told.noise, made.noise)


def test_lines_of_all_rows_share_one_axis():
    shares = np.array([[0.95, 0.05]] * 6 + [[0.5, 0.5]] * 6)
    charts = parts(crossed(shares).to_html())
    tops = {row: set(re.findall(r">(\d+)\u202f%</text>", drawn)) for row, drawn in charts.items()}
    assert tops["Hill"] == tops["Harbour and docks"]
