"""What is wrong with a call is told before it costs anything, and what can be understood is understood."""

import datetime
import math
import unicodedata

import numpy as np
import pandas as pd
import pytest
from tests.prevalence.test_estimator import WARDS, X, trained

from discreet import Ledger, PrivateFit, TopicPrevalence, fit_topics, read_corpus
from discreet.central.prevalence.groups import grouping, periods
from discreet.central.prevalence.labelled import place_in_groups, read_labels
from discreet.errors import CorpusError, DiscreetError, ParameterError, ReleaseError
from discreet.privacy.accounting import events

N = len(X)
WARD = [WARDS[row % 2] for row in range(N)]
QUARTER = [f"2024-Q{1 + row % 3}" for row in range(N)]
DAY = [f"2024-{1 + 3 * (row % 3):02d}-05" for row in range(N)]
QUARTERS = {"freq": "quarter", "start": "2024-01", "end": "2024-09"}
TEXTS = ["the senate passed a law", "a storm hit the coast"] * 300


def fails(message, by=WARD, *, ledger=None, counts=X, **parameters):
    ledger = Ledger(2.0, 1e-6) if ledger is None else ledger
    before = ledger.entries
    with pytest.raises(DiscreetError, match=message) as caught:
        TopicPrevalence(trained(), **parameters, epsilon=0.5, ledger=ledger).fit(counts, by=by)
    assert ledger.entries == before
    assert "stays booked" not in str(caught.value)


CROSSED = (WARDS, ["2024-Q1", "2024-Q2", "2024-Q3"])


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (WARD, "must be a pair"),
        ((WARD, QUARTER[:-1]), f"a label for each of {N} documents, but has {N - 1}"),
        (list(zip(WARD, QUARTER, strict=True)), "must be a pair.*list of pairs"),
        ((WARD, DAY), "3 values of by are not among the 3 groups"),
        (pd.DataFrame({"a": WARD, "b": WARD, "c": WARD}), "must be a pair"),
        ((WARD, 7), "must be a sequence with a label for each document, but is an int"),
    ],
)
def test_labels_of_a_cross_table_that_do_not_fit_cost_nothing(by, message):
    fails(message, by, groups=CROSSED)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (iter(WARD[:-1]), f"a label for each of {N}"),
        (pd.DataFrame({"a": WARD}), "must have one dimension"),
        (np.array([WARD, WARD]), "must have one dimension"),
        ({"a": 1}, "must be a sequence"),
        (None, "by must give the group of each document"),
        (["east"] * N, "1 value of by is not among the 3 groups"),
    ],
)
def test_labels_that_do_not_fit_cost_nothing(by, message):
    fails(message, by, groups=WARDS)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (
            ["08/02/2025"] * N,
            rf"all {N:,} values of by \(rows 1, 2, .* more, counted from 1 without a header\): with .*2025-02-08 or",
        ),
        (["2024"] * N, "spans more than one quarter"),
        (["2023-12-31"] * N, "1 value of by is not among the 3 groups.*Take a longer public range"),
        (pd.PeriodIndex(["2024"] * N, freq="Y"), "spans more than one quarter"),
    ],
)
def test_dates_that_do_not_fit_cost_nothing(by, message):
    fails(message, by, **QUARTERS)


def test_names_chosen_privately_need_one_label_each_before_they_cost():
    fails("a label for each of", WARD[:-1], group_selection="private")
    fails("one dimension", pd.DataFrame({"a": WARD, "b": WARD}), group_selection="private")


@pytest.mark.parametrize(
    "by",
    [
        (WARD, QUARTER),
        [WARD, QUARTER],
        (iter(WARD), (label for label in QUARTER)),
        (pd.Series(WARD), np.array(QUARTER)),
        pd.DataFrame({"ward": WARD, "quarter": QUARTER}),
        np.array([WARD, QUARTER]).T,
    ],
)
def test_labels_of_a_cross_table_come_in_many_forms(by):
    made = TopicPrevalence(trained(), groups=CROSSED, epsilon=math.inf).fit(X, by=by).release_
    exact = np.array(
        [
            [
                sum(w == ward and q == quarter for w, q in zip(WARD, QUARTER, strict=True))
                for quarter in CROSSED[1]
            ]
            for ward in WARDS
        ]
    )
    assert made.n_units == pytest.approx(exact.ravel(), rel=1e-4)
    assert made.table == (tuple(WARDS), tuple(CROSSED[1]))


def test_groups_and_a_range_of_dates_are_a_cross_table():
    model = TopicPrevalence(trained(), groups=WARDS, **QUARTERS, epsilon=math.inf)
    dated = model.fit(X, by=(WARD, DAY)).release_
    named = TopicPrevalence(trained(), groups=CROSSED, epsilon=math.inf).fit(X, by=(WARD, QUARTER)).release_
    assert dated.groups == named.groups
    assert np.array_equal(dated.topic_totals, named.topic_totals)
    assert dated.periods == ()  # cells have no order in time, though their columns have
    other = model.set_params(unlisted="other", end="2024-06").fit(X, by=(WARD, DAY)).release_
    assert other.groups[-1] == "other"
    assert other.n_units[-1] == pytest.approx(N / 3, rel=1e-3)
    assert other.table == (tuple(WARDS), ("2024-Q1", "2024-Q2"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"groups": CROSSED, "freq": "quarter"}, "one list too many"),
        ({"groups": CROSSED, **QUARTERS}, "one list too many"),
        ({"groups": WARDS, "freq": "quarter"}, "names of periods with freq='quarter', such as 2024-Q1"),
        ({"groups": WARDS, "start": "2024-01"}, "both ends make periods"),
        ({"freq": "month", "start": "2024-01"}, "both ends make periods"),
        ({"groups": [("a",), ("b",)]}, "a cross table of one cell"),
        ({"groups": (["a", "b | c"], ["d"])}, "must not hold"),
        ({"groups": ["None", "a"]}, "none of them empty"),
        ({"groups": ["nan"]}, "none of them empty"),
        ({"groups": [" ", "a"]}, "none of them empty"),
        ({"groups": ["a", " a"]}, "one is repeated"),
        ({"groups": ["7", 7.0]}, "one is repeated"),
        ({"groups": ["Z\u00fcrich", "Zu\u0308rich"]}, "one is repeated"),
        ({"groups": ["\ud800x", "b"]}, "halves of characters"),
        ({"groups": ["\x1b[2Jnorth"]}, "control characters"),
        ({"groups": ["a" * 1001]}, "1000 characters"),
        ({"groups": "north"}, "must be a list of names in their order, but is a str"),
        ({"groups": {"north", "south"}}, "must be a list of names in their order, but is a set"),
        ({"groups": iter(WARDS)}, "must be a list of names"),
        ({"groups": WARDS, "count_weight": 1e-12}, "count_weight must be at least 0.001 and at most 100"),
        ({"groups": WARDS, "count_weight": 1e300}, "count_weight must be"),
        ({"groups": [f"ward {i}" for i in range(300_000)]}, "1,000,000 shares in all"),
        (
            {"freq": "day", "start": "0001-01-01", "end": "9999-12-31"},
            "more than 100000 periods",
        ),
    ],
)
def test_groups_that_cannot_be_cost_nothing(parameters, message):
    fails(message, **parameters)


def test_texts_are_refused_by_their_kind():
    for texts in (TEXTS, pd.Series(TEXTS), np.array(TEXTS, object)):
        fails("count the words of the release", ["north"] * len(TEXTS), counts=texts, groups=WARDS)


def test_groups_and_labels_are_written_alike():
    by = ["7.0", "x ", "Zu\u0308rich", "8"] * (N // 4)
    made = TopicPrevalence(trained(), groups=["7.0", " x", "Z\u00fcrich", 8.0], epsilon=math.inf).fit(
        X, by=by
    )
    assert made.groups_ == ("7.0", "x", "Z\u00fcrich", "8")
    assert made.release_.n_units == pytest.approx(N / 4, rel=1e-3)
    crossed = TopicPrevalence(trained(), groups=([1.0, 2], [" x", "y"]), epsilon=math.inf)
    cells = crossed.fit(X, by=([1, 2] * (N // 2), ["x", "x", "y", "y"] * (N // 4))).release_
    assert cells.n_units == pytest.approx(N / 4, rel=1e-3)


def test_one_name_in_two_unicode_forms_is_one_private_group():
    forms = [unicodedata.normalize(form, "Z\u00fcrich") for form in ("NFC", "NFD")]
    model = TopicPrevalence(trained(), group_selection="private", epsilon=4.0, random_state=0)
    assert model.fit(X, by=forms * (N // 2)).groups_ == (forms[0],)


def test_a_private_name_that_cannot_be_shown_is_none():
    model = TopicPrevalence(trained(), group_selection="private", epsilon=math.inf)
    by = ["north", "\x1b[2Jwest", "half \ud800", "\u2028"] * (N // 4)
    assert model.fit(X, by=by).groups_ == ("north",)


@pytest.mark.parametrize(
    ("freq", "value", "name"),
    [
        ("year", 2024.0, "2024"),
        ("year", np.float64(2024), "2024"),
        ("decade", "1990s", "1990s"),
        ("quarter", "2024-Q2", "2024-Q2"),
        ("quarter", pd.Period("2024Q2"), "2024-Q2"),
        ("month", pd.Period("2024-05-31", freq="D"), "2024-05"),
        ("year", pd.Period("2024Q2"), "2024"),
        ("week", "2024-W10", "2024-W10"),
        ("month", "2024-W10", "2024-03"),
        ("day", datetime.datetime(2024, 5, 31, 23), "2024-05-31"),
    ],
)
def test_dates_come_in_many_forms(freq, value, name):
    values = [value, None, math.nan, pd.NaT]
    assert place_in_groups(values, (name,), freq=freq).tolist() == [0, -1, -1, -1]


@pytest.mark.parametrize(
    ("freq", "value"),
    [
        ("month", "2024"),
        ("month", 2024),
        ("day", "2024-05"),
        ("month", "2024-W05"),
        ("month", pd.Period("2024Q2")),
        ("year", 2024.5),
        ("year", True),
    ],
)
def test_a_date_that_does_not_tell_its_period_is_none(freq, value):
    """A year would otherwise be its January."""
    with pytest.raises(CorpusError, match=r"must be a date such as|spans more than one"):
        place_in_groups([value], periods("2024", "2024-12", freq), freq=freq)


@pytest.mark.parametrize("wrong", ["later", "2024", "Date"])
def test_a_few_labels_that_are_no_dates_are_named_or_left_out(wrong):
    """One such cell had been told how dates are written, and leave_out did not help."""
    months = periods("2024-01", "2024-03", "month")
    by = [*["2024-01-31", "2024-02-01"] * 10, wrong]
    with pytest.raises(CorpusError) as refused:
        place_in_groups(by, months, freq="month")
    assert "1 of 21 values of by (row 21, counted from 1" in str(refused.value)
    assert "correct it, or unlisted='leave_out'" in str(refused.value)
    assert "08.02.2025" not in str(refused.value)
    known = [0, 1] * 10
    assert place_in_groups(by, months, freq="month", unlisted="leave_out").tolist() == [*known, -1]
    places = place_in_groups(by, (*months, "other"), freq="month", unlisted="other").tolist()
    assert places == [*known, 3]
    with pytest.raises(CorpusError, match=r"4 of 24 values"):  # of so many, the column may be wrong
        place_in_groups([*by, *[wrong] * 3], months, freq="month", unlisted="leave_out")


def test_ranges_may_lie_at_the_end_of_time():
    assert periods("9999-12-30", "9999-12-31", "day") == ("9999-12-30", "9999-12-31")
    assert periods("9985", "9999-12-31", "decade") == ("9980s", "9990s")
    assert len(periods("0001-01-01", "9999-12-31", "decade")) == 1000
    assert place_in_groups(["9999-12-31", "9999-W52"], ("9999-12",), freq="month").tolist() == [0, 0]


def test_labels_that_are_read_when_asked_are_looked_at_before_the_booking():
    class Lazy:
        def __init__(self, labels):
            self.labels = labels

        def __iter__(self):
            return iter(self.labels)

    fails("1 value of by is not among", Lazy([*WARD[:-1], "east"]), groups=WARDS)
    fails("a label for each of", Lazy(WARD[:-1]), groups=WARDS)
    made = TopicPrevalence(trained(), groups=WARDS, epsilon=math.inf).fit(X, by=Lazy(WARD)).release_
    assert made.n_units[:2] == pytest.approx(N / 2, rel=1e-3)


# ---- with the topics, where a mistake costs the whole budget


@pytest.mark.parametrize(
    "by",
    [
        (["n", "s"] * 300, ["x", "x", "y", "y"] * 150),
        (iter(["n", "s"] * 300), (label for label in ["x", "x", "y", "y"] * 150)),
    ],
)
def test_a_cross_table_is_released_with_the_topics(by):
    shares = TopicPrevalence(None, groups=(["n", "s"], ["x", "y"]), epsilon=0.8, random_state=0)
    fit_topics(
        TEXTS, epsilon=4.0, n_topics=2, prevalence=shares, by=by, random_state=0, allow_unlearnable=True
    )
    assert shares.release_.table == (("n", "s"), ("x", "y"))
    assert shares.release_.n_units == pytest.approx(150, abs=50)


def test_a_generator_of_labels_is_released_with_the_topics():
    shares = TopicPrevalence(None, groups=["n", "s"], epsilon=0.8, random_state=0)
    by = (label for label in ["n", "s"] * 300)
    fit_topics(
        TEXTS, epsilon=4.0, n_topics=2, prevalence=shares, by=by, random_state=0, allow_unlearnable=True
    )
    assert shares.release_.n_units == pytest.approx(300, abs=50)


@pytest.mark.parametrize(
    ("groups", "by", "message"),
    [
        (["n", "s"], ["n", "s"] * 299 + ["n"], "a label for each of 600 documents, but has 599"),
        (["n", "s"], ["q"] * 600, "1 value of by is not among"),
        (["n", "s"], (["n"] * 600, ["s"] * 600), "a label for each of 600 documents, but has 2"),
        ((["n", "s"], ["x", "y"]), ["n"] * 600, "must be a pair"),
        ([f"ward {i}" for i in range(100_000)], ["ward 1"] * 600, "1,000,000 shares in all"),
    ],
)
def test_labels_that_do_not_fit_cost_no_topics(groups, by, message):
    ledger = Ledger(4.0, 1e-6)
    with pytest.raises(DiscreetError, match=message):
        fit_topics(
            TEXTS,
            epsilon=4.0,
            n_topics=20,
            ledger=ledger,
            by=by,
            allow_unlearnable=True,
            prevalence=TopicPrevalence(None, groups=groups, epsilon=0.8),
        )
    assert not ledger.entries


# ---- what is released can be kept and read


@pytest.mark.parametrize("bound", [1e300, 1e-300, 0, math.inf])
def test_a_bound_that_makes_no_sense_costs_nothing(bound):
    ledger = Ledger(1.0, 1e-6)
    with pytest.raises(ParameterError, match=r"bound must be at least 0\.001 and at most 100"):
        PrivateFit(trained(), epsilon=0.5, contribution_bound=bound, ledger=ledger).fit(X)
    with pytest.raises(ParameterError, match="count_weight must be"):
        PrivateFit(trained(), epsilon=0.5, count_weight=1e-300, ledger=ledger).fit(X)
    assert not ledger.entries


def test_a_ledger_too_long_to_be_read_again_is_refused_before_it_is_booked_on():
    ledger = Ledger(9.0, 1e-5)
    for number in range(99):
        ledger.reserve(events.discrete_laplace(0.01, 1), f"pure {number}")
    ledger.reserve(events.gaussian(100.0), "is no trouble")
    made = PrivateFit(trained(), epsilon=0.2, ledger=ledger).fit(X).release_
    assert made.ledger.entries == ledger.entries
    ledger.reserve(events.discrete_laplace(0.01, 1), "one too many")
    before = ledger.entries
    with pytest.raises(ReleaseError, match="Nothing was booked"):
        PrivateFit(trained(), epsilon=0.2, ledger=ledger).fit(X)
    with pytest.raises(ReleaseError, match="Nothing was booked"):
        TopicPrevalence(trained(), groups=WARDS, ledger=ledger).fit(X, by=WARD)
    assert ledger.entries == before


def test_more_parts_than_a_file_may_tell_of_cost_nothing():
    days = {"freq": "day", "start": "1870-01-01", "end": "2024-12-31", "division": "date"}
    fails("Nothing was booked", ["2024-01-05"] * N, **days)


def test_the_ends_of_the_range_show_whether_the_day_comes_first():
    """Dates such as 05-01-2024 were refused, with no way to say which number is the day."""
    for ends, dates, months in (
        (("01-01-2024", "31-12-2024"), ["05-01-2024", "31/12/2024", "5-1-2024 14:05"], [0, 11, 0]),
        (("01/01/2024", "12/31/2024"), ["05/01/2024", "12-31-2024", "2024-05"], [4, 11, 4]),
        (("01-2024", "12/2024"), ["05/2024", "1.5.2024", "2024-05-01"], [4, 4, 4]),
    ):
        made = grouping(None, "month", *ends, "error")
        assert (made.names[0], made.names[-1], len(made.names)) == ("2024-01", "2024-12", 12)
        assert read_labels(dates, made, 3).tolist() == months
    for date in ("13-13-2024", "12-31-2024", "1-2/2024"):
        with pytest.raises(CorpusError, match="must be a date such as"):
            read_labels([date], grouping(None, "month", "01-01-2024", "31-12-2024", "error"), 1)
    with pytest.raises(
        CorpusError, match="write start and end in the same way, one of them with a day above 12"
    ):
        read_labels(["31-12-2024"], grouping(None, "month", "2024-01", "2024-12", "error"), 1)
    for ends in (("01-02-2024", "01-03-2024"), ("31-01-2024", "12-31-2024")):
        with pytest.raises(ParameterError, match="the 31 shows which number is the day"):
            periods(*ends, "month")


def test_rows_of_labels_are_those_of_the_file(tmp_path):
    """Where rows were left out, the others were counted, and the row named was another."""
    (tmp_path / "a.csv").write_text("text,ward\nbed,north\n,north\n,north\nbed,east\n")
    corpus = read_corpus(tmp_path / "a.csv", label="ward", skip_empty=True, vocabulary=["bed"])
    topics = trained()
    with pytest.raises(CorpusError, match=r"first seen in row 4, counted from 1 without a header"):
        TopicPrevalence(topics, ["north", "south"], epsilon=0.5).fit(corpus.restrict(topics.vocabulary))


@pytest.mark.parametrize(
    ("freq", "value", "period"),
    [
        ("day", "31.12.2024", 365),
        ("month", "1.2.2024", 1),
        ("month", "02.2024", 1),
        ("month", "31.12.2024", 11),
        ("month", "2024. 12. 31.", 11),
        ("month", "2024.12.31", 11),
        ("month", "2024/12", 11),
    ],
)
def test_dates_with_dots_have_the_day_first(freq, value, period):
    assert place_in_groups([value], periods("01.2024", "31.12.2024", freq), freq=freq).tolist() == [period]
    with pytest.raises(CorpusError, match="must be a date such as"):
        place_in_groups(["31.13.2024"], periods("2024", "2024-12", freq), freq=freq)


@pytest.mark.parametrize(
    ("groups", "by", "cure"), [(["01", "02"], 1, "1, not 01"), (["1", "2"], "01", "01, not 1")]
)
def test_names_that_differ_by_a_leading_zero_are_told_how_to_be_written(groups, by, cure):
    fails(f"differ by a leading 0 alone: in the list write {cure}", [by] * N, groups=groups)
