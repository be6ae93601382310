"""Differences and trends with names: as frames, and in words."""

import numpy as np
import pytest
from tests.prevalence.test_page import release

from discreet import ParameterError
from discreet.release import PrevalenceRelease, Release

WARDS = release([[0.7, 0.3], [0.3, 0.7], [0.51, 0.49]], groups=["north", "south", "west"])
MONTHS = [f"2024-{month:02d}" for month in range(1, 9)]
RAMP = np.linspace(0.2, 0.8, 8)
TIMES = release(
    np.column_stack([RAMP, 1 - RAMP]), groups=[*MONTHS, "other"][:8], configuration={"freq": "month"}
)


def test_a_difference_has_the_names_of_its_groups_and_topics():
    found = WARDS.compare("north", "south")
    frame = found.to_frame()
    assert frame["group"].tolist() == ["north", "north"]
    assert frame["against"].tolist() == ["in south", "in south"]
    assert frame["words"].tolist() == list(WARDS.topics)
    assert frame["difference"].to_numpy() == pytest.approx(found.difference)
    assert frame["certain"].tolist() == [True, True]
    told = found.in_words()
    assert told[0].startswith("north: ")
    assert "north: 40.0 points more of \u201cword0 other0\u201d than in south (" in told[0] + told[1]
    assert "north: 40.0 points less of \u201cword1 other1\u201d than in south (" in told[0] + told[1]
    assert WARDS.compare("west", "west").in_words() == [
        "Nothing differs clearly: noise and chance may explain all differences."
    ]


def test_all_groups_against_the_rest_have_a_row_each():
    frame = WARDS.against_rest().to_frame()
    assert frame["group"].tolist() == [group for group in WARDS.groups for _ in range(2)]
    assert frame["topic"].tolist() == [1, 2] * 3
    assert frame["difference"].to_numpy() == pytest.approx(WARDS.against_rest().difference.ravel())
    assert not any(told.startswith("west") for told in WARDS.against_rest().in_words())


def test_growth_says_between_which_periods():
    found = TIMES.growth()
    assert set(found.groups) == {"2024-07\u20132024-08"}
    assert found.against == "in 2024-01\u20132024-02"
    assert (
        "2024-07\u20132024-08: 51.4 points more of \u201cword0 other0\u201d than in 2024-01\u20132024-02 ("
        in " ".join(found.in_words())
    )
    assert TIMES.growth(MONTHS[:4]).against == "in 2024-01"


def test_a_trend_has_the_names_of_its_periods():
    found = TIMES.trend()
    frame = found.to_frame()
    assert frame["group"].tolist() == [month for month in MONTHS for _ in range(2)]
    assert frame["level"].to_numpy() == pytest.approx(found.level.ravel())
    assert found.in_words()[0] == (
        "The share of \u201cword0 other0\u201d clearly moves between 2024-01 and 2024-08."
    )
    flat = release([[0.5, 0.5]] * 8, groups=MONTHS, configuration={"freq": "month"}).trend()
    assert flat.in_words() == [
        "No topic clearly moves between 2024-01 and 2024-08: noise and chance may explain it all."
    ]
    with pytest.raises(ParameterError, match="not periods"):
        WARDS.trend()


def test_shares_are_read_by_a_public_name(tmp_path):
    WARDS.save(tmp_path / "wards.json")
    assert PrevalenceRelease.load(tmp_path / "wards.json") == WARDS
    with pytest.raises(ValueError, match=r"PrevalenceRelease\.load"):
        Release.load(tmp_path / "wards.json")
