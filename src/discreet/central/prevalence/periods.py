"""Periods of a public range, and the period of a date: decades, years, quarters, months, weeks and days."""

import datetime
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from discreet._base.validate import is_whole, kind_of, shown
from discreet.errors import CorpusError, Parameter, ParameterError

__all__ = ["FREQUENCIES", "check_frequency", "is_period", "period_of", "periods"]

FREQUENCIES = ("decade", "year", "quarter", "month", "week", "day")
_MOST_PERIODS = 100_000
#: Days that surely lead to the next period or stay in this one.
_STEP = {"decade": 300, "year": 300, "quarter": 28, "month": 28, "week": 1, "day": 1}
#: For a day, a month and a year as text: what follows in that of its first day, and which periods hold all of it.
_WRITTEN = (
    ("", FREQUENCIES),
    ("-01", ("decade", "year", "quarter", "month")),
    ("-01-01", ("decade", "year")),
)
#: Periods whose names are no dates.
_NO_DATES = ("decade", "quarter", "week")
_WEEK = re.compile(r"\d{4}-?W\d{2}", re.ASCII)


class _Date(NamedTuple):
    """A first day, and the periods that hold all of what was written."""

    day: datetime.date
    within: tuple[str, ...] = FREQUENCIES


def periods(start: Any, end: Any, freq: str) -> tuple[str, ...]:
    """Return the names of all periods from the one that holds ``start`` to the one that holds ``end``.

    Parameters
    ----------
    start, end : date, datetime, numpy.datetime64, or text such as "2024-01" or "2024-01-31"
    freq : {"decade", "year", "quarter", "month", "week", "day"}
        Names are "1990s", "1990", "1990-Q1", "1990-01", "1990-W01" (ISO weeks) and "1990-01-01".

    Raises
    ------
    ParameterError
        Where a date or the frequency is not one, or the range is empty or endless.
    """
    check_frequency(freq)
    ends = _date(start), _date(end)
    if ends[0] is None or ends[1] is None:
        raise ParameterError(
            f"expected two dates such as 2024-01-31 or 2024-01, but got {shown(start)} and {shown(end)}; "
            "give the first and the last."
        )
    first, last = ends[0].day, ends[1].day
    if last < first:
        raise ParameterError(f"the range ends ({last}) before it begins ({first}); swap them.")
    names = [_NAMES[freq](first)]
    day = first
    while day < last:
        day += datetime.timedelta(min(_STEP[freq], (last - day).days))
        name = _NAMES[freq](day)
        if names[-1] != name:
            names.append(name)
        if len(names) > _MOST_PERIODS:
            raise ParameterError(
                f"from {first} to {last} there are more than {_MOST_PERIODS} periods; take longer ones."
            )
    return tuple(names)


def period_of(value: Any, freq: str) -> str:
    """Return the name of the period that holds a date.

    Parameters
    ----------
    value : date, datetime, numpy.datetime64, pandas.Period, or text such as "2024-01-31", "2024-01" and "2024"
        Weeks, months and years where the period holds all of them, and names of periods of this frequency; years also
        as whole numbers, and floats that are whole.
    freq : {"decade", "year", "quarter", "month", "week", "day"}

    Raises
    ------
    CorpusError
        Where it is no date, or a week, a month or a year of which it holds a part. Shows nothing of it.
    """
    if isinstance(value, str) and freq in _NO_DATES and is_period(value.strip(), freq):
        return value.strip()
    found = _date(value)
    if found is None:
        raise CorpusError(
            f"a label is not a date such as 2024-01-31, but {kind_of(value)}; with freq= every label "
            "must be a date, or missing."
        )
    if freq not in found.within:
        raise CorpusError(
            f"a label is a date that spans more than one {freq} (a week, a month or a year); with "
            f'freq="{freq}" each label must be precise enough to tell the {freq}.'
        )
    return _NAMES[freq](found.day)


def is_period(name: str, freq: str) -> bool:
    """Whether a period of this frequency could be called so."""
    return re.fullmatch(_FORMS[freq], name, re.ASCII) is not None


def check_frequency(freq: Any) -> None:
    """Raise ``ParameterError`` for a frequency that is none."""
    if freq not in FREQUENCIES:
        raise ParameterError(
            Parameter("freq"), f" must be one of {', '.join(FREQUENCIES)}, but is {shown(freq)}."
        )


def _date(value: Any) -> _Date | None:
    if hasattr(value, "start_time") and hasattr(value, "end_time"):  # a Period of pandas, or its NaT
        return _of_period(value)
    if isinstance(value, datetime.datetime):
        return _Date(value.date())
    if isinstance(value, datetime.date):
        return _Date(value)
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _Date(value.astype("datetime64[D]").item())
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)  # a column of years with one gap
    if is_whole(value):
        value = str(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    for rest, within in _WRITTEN:
        try:
            day = datetime.datetime.fromisoformat(f"{text}{rest}").date()
        except ValueError:
            continue
        return _Date(day, _holding_all(day, _seventh(day))) if _WEEK.fullmatch(text) else _Date(day, within)
    return None


def _seventh(day: datetime.date) -> datetime.date:
    return day + datetime.timedelta(min(6, (datetime.date.max - day).days))


def _holding_all(first: datetime.date, last: datetime.date) -> tuple[str, ...]:
    return tuple(freq for freq in FREQUENCIES if _NAMES[freq](first) == _NAMES[freq](last))


def _of_period(value: Any) -> _Date | None:
    try:
        first, last = value.start_time.date(), value.end_time.date()
        return _Date(first, _holding_all(first, last))
    except (AttributeError, TypeError, ValueError):
        return None


def _week(day: datetime.date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


_NAMES: dict[str, Callable[[datetime.date], str]] = {
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
    "year": lambda day: f"{day.year:04d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "week": _week,
    "day": lambda day: day.isoformat(),
}
_FORMS = {
    "decade": r"\d{3}0s",
    "year": r"\d{4}",
    "quarter": r"\d{4}-Q[1-4]",
    "month": r"\d{4}-(0[1-9]|1[0-2])",
    "week": r"\d{4}-W(0[1-9]|[1-4]\d|5[0-3])",
    "day": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
}
