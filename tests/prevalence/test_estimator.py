"""TopicPrevalence: the sums, their sensitivity, the groups, the file, and what is refused."""

import datetime
import math
import shutil
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import prevalence as naive
from tests.reseal import reseal

from discreet import Corpus, Ledger, PrivateLDA, TopicPrevalence
from discreet.central.prevalence.groups import cross_names, periods
from discreet.central.prevalence.labelled import contribution_bound, place_in_groups, prevalence_sum
from discreet.errors import (
    BudgetExceeded,
    CorpusError,
    CorpusWarning,
    ParameterError,
    PrivacyError,
    ReleaseError,
)
from discreet.release.prevalence import PrevalenceRelease

WARDS = ["north", "south", "west"]


def counts(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    topic = rng.integers(3, size=(n, 1))
    return rng.poisson(np.where(np.arange(24) // 8 == topic, 1.5, 0.05)), topic.ravel()


X, TOPIC = counts()


@cache
def trained():
    return PrivateLDA(3, epsilon=8.0, random_state=0).fit(X).release_


@pytest.fixture(scope="module")
def wards():
    rng = np.random.default_rng(1)
    return np.where(rng.random(len(X)) < 0.7, TOPIC, rng.integers(3, size=len(X)))


@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0.2, 0.5, 2.0]),
)
@settings(deadline=None, max_examples=60)
def test_the_sum_is_that_of_the_slow_twin(seed, by_person, weight):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    shares = rng.dirichlet(np.full(4, 0.3), n)
    group = rng.integers(-1, 3, n).astype(np.int32)
    people = rng.integers(0, 10, n) if by_person else None
    bound = contribution_bound(weight, "person" if by_person else "document")
    fast = prevalence_sum(shares, group, people, 3, weight, bound)
    slow = naive.prevalence_sum(shares, group, people, 3, weight, bound.bits)
    assert (
        np.abs(fast.values - np.array(slow)).max(initial=0) <= 2
    )  # the order of adding a person's documents up


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.1, 0.5, 3.0]))
@settings(deadline=None, max_examples=100)
def test_one_unit_moves_the_sum_by_no_more_than_the_sensitivity(seed, by_person, weight):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    shares = rng.dirichlet(np.full(4, 0.05), n)
    group = rng.integers(-1, 3, n).astype(np.int32)
    people = rng.integers(0, 5, n) if by_person else np.arange(n)
    bound = contribution_bound(weight, "person")
    gone = people != people[0]
    whole = prevalence_sum(shares, group, people, 3, weight, bound).values
    rest = prevalence_sum(shares[gone], group[gone], people[gone], 3, weight, bound).values
    assert int(((whole - rest) ** 2).sum()) <= bound.sensitivity**2


def test_the_bound_is_reached_and_a_forgotten_count_would_break_it():
    bound = contribution_bound(0.5, "document")
    pure = prevalence_sum(np.eye(3)[:1], np.zeros(1, np.int32), None, 1, 0.5, bound).values
    length = math.sqrt(int((pure**2).sum()))
    assert length == pytest.approx(bound.sensitivity, rel=1e-5)
    # Were the noise made for shares alone (norm 1), a document would move the sum by an eighth more than that.
    assert bound.contribution_bound == pytest.approx(math.sqrt(1.25))
    assert length * bound.step > 1.1


def test_clipping_the_sum_instead_of_each_person_would_be_noticed():
    people, weight = np.repeat([0, 1], [50, 1]), 0.5
    shares, group = np.tile([1.0, 0.0], (51, 1)), np.zeros(51, np.int32)
    bound = contribution_bound(weight, "person")
    whole = prevalence_sum(shares, group, people, 1, weight, bound).values
    unclipped = prevalence_sum(shares, group, None, 1, weight, bound).values
    assert math.sqrt(int((whole**2).sum())) <= 2 * bound.sensitivity
    assert math.sqrt(int((unclipped**2).sum())) > 50 * bound.sensitivity


def test_a_person_in_two_groups_counts_once_in_all():
    bound = contribution_bound(0.5, "person")
    shares = np.tile([0.5, 0.5], (2, 1))
    total = prevalence_sum(shares, np.array([0, 1], np.int32), np.zeros(2, np.int64), 2, 0.5, bound).values
    assert int((total**2).sum()) <= bound.sensitivity**2
    assert total[2] == total[5] > 0  # half of it in each


@pytest.mark.parametrize(("m", "n_groups"), [(1, 1), (2, 1), (36, 1), (4, 12), (12, 12)])
def test_a_person_weighs_one_however_much_they_wrote(m, n_groups):
    rng = np.random.default_rng(0)
    shares, who = rng.dirichlet(np.ones(5), 100 * m), np.repeat(np.arange(100), m)
    group = np.tile(np.arange(m) % n_groups, 100).astype(np.int32)
    group[::7] = -1 if m > 7 else group[::7]
    bound = contribution_bound(0.5, "person")
    total = prevalence_sum(shares, group, who, n_groups, 0.5, bound).values.reshape(n_groups, 6) * bound.step
    assert total[:, 5].sum() / 0.5 == pytest.approx(100, abs=0.01)
    assert total[:, :5].sum() == pytest.approx(100, abs=0.01)


def test_blocks_and_threads_change_nothing(monkeypatch):
    from discreet.central.prevalence import labelled as statistic

    rng = np.random.default_rng(5)
    shares, group = rng.dirichlet(np.ones(4), 1000), rng.integers(-1, 3, 1000).astype(np.int32)
    for people in (None, rng.integers(0, 90, 1000)):
        bound = contribution_bound(0.5, "person")
        one = prevalence_sum(shares, group, people, 3, 0.5, bound).values
        monkeypatch.setattr(statistic, "_BLOCK", 37)
        assert np.array_equal(prevalence_sum(shares, group, people, 3, 0.5, bound, n_jobs=2).values, one)
        monkeypatch.undo()


def test_shares_are_found_and_the_promise_is_booked(wards):
    names = np.array(WARDS)[wards]
    exact = np.array([trained().transform(X)[wards == ward].mean(0) for ward in range(3)])
    ledger = Ledger(1.0, 1e-6)
    model = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, ledger=ledger, random_state=0).fit(
        X, by=names
    )
    frame = model.release_.to_frame()
    assert list(frame.columns)[:7] == ["group", "topic", "words", "share", "low", "high", "standard_error"]
    found = frame["share"].to_numpy().reshape(3, 3)
    assert np.abs(found - exact).mean() < 0.01
    assert np.allclose(found.sum(1), 1)
    assert model.release_.n_units == pytest.approx(np.bincount(wards), abs=60)
    assert ledger.spent().epsilon == pytest.approx(1.0, rel=1e-3)
    assert model.release_.reproducible
    with pytest.raises(BudgetExceeded):
        model.fit(X, by=names)


def test_without_privacy_the_shares_are_exact(wards):
    model = TopicPrevalence(trained(), groups=[0, 1, 2], epsilon=math.inf).fit(X, by=wards)
    exact = np.array([trained().transform(X)[wards == ward].mean(0) for ward in range(3)])
    assert np.allclose(model.release_.shares("raw").share, exact, atol=1e-5)
    assert model.groups_ == ("0", "1", "2")


def test_exact_shares_say_in_the_table_that_they_may_not_leave():
    model = TopicPrevalence(trained(), groups=["a", "b"], epsilon=math.inf)
    (label,) = set(model.fit(X[:20], by=["a", "b"] * 10).release_.to_columns()["label"])
    assert label == "without privacy, not for release; reproducible, not for release"  # of seeded topics


def test_a_document_without_a_group_adds_nothing(wards):
    labels = [WARDS[ward] if row % 2 else None for row, ward in enumerate(wards)]
    some = TopicPrevalence(trained(), groups=WARDS, epsilon=math.inf, ledger=Ledger(math.inf, 1e-6))
    with pytest.raises(
        CorpusWarning, match="1,500 of 3,000 documents with a word of the topics have no group"
    ):
        some.fit(X, by=labels)
    with pytest.raises(CorpusError, match=r"no document that counts has a group: by is missing there"):
        some.fit(X, by=[None] * len(X))
    assert not some.ledger.entries
    half = some.set_params(unlisted="leave_out").fit(X, by=labels).release_
    alone = TopicPrevalence(trained(), groups=WARDS, epsilon=math.inf)
    kept = np.arange(len(X)) % 2 == 1
    assert np.array_equal(
        half.topic_totals, alone.fit(X[kept], by=np.array(WARDS)[wards[kept]]).release_.topic_totals
    )


def test_months_come_from_a_public_range():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(i % 90) for i in range(len(X))]
    model = TopicPrevalence(
        trained(), freq="month", start="2024-01", end="2024-06", epsilon=1.0, random_state=0
    )
    release = model.fit(X, by=days).release_
    assert release.groups == ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06")
    assert release.certain_groups.tolist() == [True, True, True, False, False, False]
    assert release.trend().level.shape == (6, 3)
    with pytest.raises(
        CorpusError,
        match=r"1 value of by is not among the 2 groups \(first seen in row 61, counted from 1 without a header\)",
    ):
        TopicPrevalence(trained(), freq="month", start="2024-01", end="2024-02", epsilon=1.0).fit(X, by=days)
    ahead = TopicPrevalence(
        trained(), freq="month", start="2024-01", end="2024-02", unlisted="leave_out", epsilon=1.0
    )
    assert len(ahead.fit(X, by=days).release_.groups) == 2


@pytest.mark.parametrize(
    ("freq", "names"),
    [
        ("decade", ["1990s", "2000s"]),
        ("year", ["1999", "2000", "2001"]),
        ("quarter", ["1999-Q4", "2000-Q1"]),
        ("month", ["1999-12", "2000-01", "2000-02"]),
        ("week", ["1999-W52", "2000-W01"]),
        ("day", ["1999-12-31", "2000-01-01"]),
    ],
)
def test_names_of_periods(freq, names):
    edges = {
        "decade": ("1999-12-31", "2000"),
        "year": ("1999-12-31", "2001-01-01"),
        "quarter": ("1999-12-31", "2000-01-01"),
        "month": ("1999-12-31", "2000-02-01"),
        "week": ("2000-01-02", "2000-01-03"),
        "day": ("1999-12-31", "2000-01-01"),
    }[freq]
    assert list(periods(*edges, freq)) == names
    placed = place_in_groups(list(edges), names, freq=freq)
    assert placed.tolist() == [0, len(names) - 1]


FREQ = st.sampled_from(["week", "month", "quarter", "year"])


@given(
    st.dates(datetime.date(1950, 1, 1), datetime.date(2050, 1, 1)),
    st.integers(0, 2000),
    st.sampled_from(["week", "month", "quarter", "year"]),
)
@settings(deadline=None, max_examples=200)
def test_every_day_of_a_range_has_its_period(first, days, freq):
    last = first + datetime.timedelta(days)
    names = periods(first, last, freq)
    inside = [first + datetime.timedelta(d) for d in range(0, days + 1, 5)] + [last]
    assert (place_in_groups(inside, names, freq=freq) >= 0).all()
    assert len(set(names)) == len(names)


def test_a_cross_table(wards):
    years = np.where(np.arange(len(X)) % 2, 2024, 2025)
    names = np.array(WARDS)[wards]
    model = TopicPrevalence(trained(), groups=(WARDS, [2024, 2025]), epsilon=math.inf).fit(
        X, by=(names, years)
    )
    assert model.groups_ == cross_names(WARDS, ["2024", "2025"])
    cell = (names == "south") & (years == 2025)
    found = model.release_.shares("raw").share[model.groups_.index("south | 2025")]
    assert np.allclose(found, trained().transform(X)[cell].mean(0), atol=1e-5)


def test_labels_that_are_equal_are_one_group():
    placed = place_in_groups([7, 7.0, "7", " 7", np.int64(7), None, math.nan, ""], ["7"])
    assert placed.tolist() == [0, 0, 0, 0, 0, -1, -1, -1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"groups": None}, "groups must be the public list"),
        ({"groups": []}, "groups must be one or more distinct"),
        ({"groups": ["a", "a"]}, "one is repeated"),
        ({"groups": ["other"], "unlisted": "other"}, "adds a group"),
        ({"groups": None, "freq": "month", "start": "2024-02", "end": "2024-01"}, "ends"),
        ({"groups": None, "freq": "month", "start": "soon", "end": "2024-01"}, "two dates"),
        ({"freq": "fortnight"}, "freq must be"),
        ({"count_weight": 0}, "count_weight must be"),
        ({"epsilon": -1}, "epsilon"),
        ({"privacy_unit": "person"}, "persons"),
    ],
)
def test_bad_parameters_book_nothing(parameters, message, wards):
    ledger = Ledger(1.0, 1e-6, privacy_unit=parameters.get("privacy_unit", "document"))
    model = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, ledger=ledger).set_params(**parameters)
    with pytest.raises((ParameterError, PrivacyError), match=message):
        model.fit(X, by=wards)
    assert not ledger.entries


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["north"], "a label for each of 3000"),
        (
            ["north"] * 2999 + ["east"],
            r"1 value of by is not among the 3 groups \(first seen in row 3000, counted from 1 without a header\)",
        ),
        ("north", "by names a column"),
    ],
)
def test_bad_labels_are_named_and_cost_nothing(by, message):
    ledger = Ledger(1.0, 1e-6)
    with pytest.raises(CorpusError, match=message) as caught:
        TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, ledger=ledger).fit(X, by=by)
    assert not ledger.entries
    assert "stays booked" not in str(caught.value)


def test_other_takes_what_is_not_listed(wards):
    names = np.array(["north", "south", "elsewhere"])[wards]
    model = TopicPrevalence(trained(), groups=["north", "south"], unlisted="other", epsilon=math.inf).fit(
        X, by=names
    )
    assert model.groups_ == ("north", "south", "other")
    assert model.release_.n_units == pytest.approx(np.bincount(wards), rel=1e-4)


def test_the_file_gives_the_same_release_and_changed_ones_are_refused(tmp_path, wards):
    made = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0).fit(X, by=np.array(WARDS)[wards]).release_
    made.save(tmp_path / "wards.json")
    found = PrevalenceRelease.load(tmp_path / "wards.json")
    assert found == made
    assert found.guarantee == made.guarantee
    assert found.reproducible  # the topics came from a seed, so these shares may not leave either
    with pytest.raises(ReleaseError, match="exists already"):
        made.save(tmp_path / "wards.json")
    for name, value in [
        ("noise", -1.0),
        ("guarantee", "epsilon = 0"),
        ("groups", ["north", "north", "west"]),
        ("topic_totals", [[1.0]]),
        ("topic_totals", [["a"] * 3] * 3),
        ("schema", "discreet.prevalence/9"),
        ("ledger", {}),
        ("count_weight", None),
    ]:
        shutil.copy(tmp_path / "wards.json", tmp_path / "changed.json")
        reseal(tmp_path / "changed.json", made.SEAL, **{name: value})
        with pytest.raises(ReleaseError):
            PrevalenceRelease.load(tmp_path / "changed.json")
    for raw in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
        (tmp_path / "changed.json").write_bytes(raw)
        with pytest.raises(ReleaseError):
            PrevalenceRelease.load(tmp_path / "changed.json")


def test_which_groups_are_told_does_not_depend_on_who_wrote():
    """Groups that were taken from the data would tell that somebody wrote from the south."""
    labels = np.array(["north"] * (len(X) - 1) + ["south"])
    model = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, random_state=0)
    whole, fewer = (model.fit(X[:n], by=labels[:n]).release_ for n in (len(X), len(X) - 1))
    assert whole.groups == fewer.groups == tuple(WARDS)
    assert whole.topic_totals.shape == fewer.topic_totals.shape
    assert not whole.certain_groups[1]


def test_one_document_in_all_and_none_with_a_group():
    model = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, random_state=0, unlisted="leave_out")
    for labels in (["north"], [None], [""], [math.nan]):
        with pytest.warns(CorpusWarning, match="noise will hide every share"):
            made = model.fit(X[:1], by=labels).release_
        assert not made.certain_groups.any()
        found = made.shares()
        assert np.allclose(found.share.sum(1), 1)
        assert ((found.low >= 0) & (found.high <= 1)).all()
        assert "No single group differs" in made.to_html()


def test_counts_of_other_words_are_refused():
    model = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0)
    labels = ["north"] * len(X)
    other = Corpus(sp.csr_matrix(X), [f"other{i}" for i in range(24)], words_are_public=True)
    for wrong in (X[:, :20], other):
        with pytest.raises(CorpusError):
            model.fit(wrong, by=labels)


@pytest.mark.parametrize("other", ["words", "width"])
def test_counts_of_other_words_are_refused_before_anything_is_booked(other):
    names, ledger = trained().vocabulary, Ledger(1.0, 1e-6)
    given = (
        Corpus(X, [f"x{word}" for word in names], words_are_public=True) if other == "words" else X[:, :-1]
    )
    model = TopicPrevalence(trained(), groups=WARDS, epsilon=1.0, ledger=ledger)
    with pytest.raises(CorpusError, match="words"):
        model.fit(given, by=[WARDS[0]] * len(X))
    assert not ledger.entries
