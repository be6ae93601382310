"""What is kept of shares and fits: what is written can be read, and what was changed is refused, whatever it holds."""

import math
import pickle
from dataclasses import fields, replace
from functools import cache

import pytest
from tests.prevalence.test_calls import CROSSED, QUARTER, WARD
from tests.prevalence.test_estimator import WARDS, X, trained
from tests.reseal import reseal

from discreet import Ledger, PrivateFit, TopicPrevalence
from discreet.central import share_topics
from discreet.errors import ReleaseError
from discreet.privacy.accounting import events
from discreet.release.prevalence import PrevalenceRelease


@cache
def crossed_shares():
    model = TopicPrevalence(trained(), groups=CROSSED, epsilon=1.0, random_state=0)
    return model.fit(X, by=(WARD, QUARTER)).release_


@cache
def brought_topics():
    return share_topics(
        ["soup"] * 30, {"food": ["soup", "meal"], "rest": ["bed"]}, epsilon=2.0, random_state=0
    )


@cache
def kept_fit():
    return PrivateFit(trained(), epsilon=1.0, random_state=0).fit(X).release_


@pytest.fixture(params=[crossed_shares, brought_topics, kept_fit], ids=["shares", "brought", "fit"])
def made(request):
    return request.param()


def changed(made, folder, **values):
    path = folder / "changed.json"
    path.unlink(missing_ok=True)
    made.save(path)
    reseal(path, made.SEAL, **values)
    return type(made).load(path)


#: Noise makes such numbers, too.
PLAUSIBLE = {
    "unit_count": (-1, 1),
    "gain_total": (-1, 1),
    "unigram_total": (-1, 1),
    "bound": (1,),
    "unigram_centre": (1,),
}


@pytest.mark.parametrize(
    "value",
    [10**400, -1, None, {"float": "inf"}, "x", True, [[1]], [], 1, 1e308, -1e308, "\x1b[2J", {"a": {"b": 1}}],
)
def test_no_value_of_a_field_gets_through_that_was_not_released(made, value, tmp_path):
    for name in (field.name for field in fields(made) if field.name != "reproducible"):
        if type(value) is int and value in PLAUSIBLE.get(name, ()):
            continue
        if name == "topic_words" and value == []:
            continue  # as of topics that were not brought
        if name == "configuration" and value == {"float": "inf"}:
            path = tmp_path / "float.json"
            replace(made, configuration=value).save(path)
            assert type(made).load(path).configuration == value  # a setting of that name, and no infinity
            path.unlink()
            continue
        with pytest.raises(ReleaseError):
            changed(made, tmp_path, **{name: value})


@pytest.mark.parametrize("value", [10**400, [1, [2]], {"a": {"float": "inf"}}, None])
def test_settings_are_text_numbers_or_truth_values(made, value, tmp_path):
    with pytest.raises(ReleaseError):
        changed(made, tmp_path, configuration={**made.configuration, "x": value})
    with pytest.raises(ReleaseError):
        changed(made, tmp_path, configuration={**made.configuration, "random_state": 3})
    with pytest.raises(ReleaseError):
        replace(made, configuration={**made.configuration, "x": math.nan})


def test_less_noise_than_was_booked_is_not_believed(made, tmp_path):
    assert changed(made, tmp_path) == made
    for wrong in (0.0, 0.5, made.noise * 0.999, made.noise * 1.001):
        with pytest.raises(ReleaseError, match="not booked"):
            changed(made, tmp_path, noise=wrong)
    with pytest.raises(ReleaseError, match="not booked"):
        changed(made, tmp_path, count_weight=0.25)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
@pytest.mark.parametrize("weight", [1e-3, 0.3, 100])
@pytest.mark.filterwarnings("ignore:Before anything is spent")
def test_whatever_is_released_can_be_read(epsilon, weight, tmp_path):
    fit = PrivateFit(trained(), epsilon=epsilon, count_weight=weight, contribution_bound=100).fit(X).release_
    shares = (
        TopicPrevalence(trained(), groups=WARDS, epsilon=epsilon, count_weight=weight)
        .fit(X, by=WARD)
        .release_
    )
    names = (
        TopicPrevalence(trained(), group_selection="private", epsilon=max(epsilon, 0.5))
        .fit(X, by=WARD)
        .release_
    )
    for number, made in enumerate((fit, shares, names)):
        made.save(tmp_path / f"{number}.json")
        assert type(made).load(tmp_path / f"{number}.json") == made
    fit.in_words()
    shares.to_html()


def test_what_could_not_be_read_is_not_written(tmp_path):
    ledger = Ledger(9.0, 1e-5)
    made = PrivateFit(trained(), epsilon=0.2, ledger=ledger).fit(X).release_
    for number in range(120):
        ledger.reserve(events.discrete_laplace(0.01, 1), f"pure {number}")
    later = replace(made, ledger=ledger)
    with pytest.raises(ReleaseError, match="2,000 steps to price"):
        later.save(tmp_path / "fit.json")
    assert not (tmp_path / "fit.json").exists()


def test_rows_and_columns_are_those_of_the_groups(tmp_path):
    shares = crossed_shares()
    assert changed(shares, tmp_path).table == shares.table == (tuple(WARDS), tuple(CROSSED[1]))
    for columns in (0, -1, 2, 4, 9, 1e9, True, "3"):
        with pytest.raises(ReleaseError, match=r"not the cells of a table|does not say"):
            changed(shares, tmp_path, configuration={**shares.configuration, "n_columns": columns})
    swapped = [shares.groups[1], shares.groups[0], *shares.groups[2:]]
    with pytest.raises(ReleaseError, match="not the cells of a table"):
        changed(shares, tmp_path, groups=swapped)


def test_halves_of_characters_are_no_names(tmp_path):
    flat = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0).fit(X, by=WARD).release_
    with pytest.raises(ReleaseError, match="halves of characters"):
        changed(flat, tmp_path, groups=["\ud800x", *WARDS[1:]])
    assert isinstance(changed(flat, tmp_path), PrevalenceRelease)


def test_a_copy_by_pickle_is_the_same(made):
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301
