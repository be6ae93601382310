"""Which group each document belongs to: a public list of names, a public range of periods, or a cross table of two.

The list of groups is public and stands before any data are read; or its names were chosen privately
(:mod:`discreet.central.prevalence.selection`), and are public from then on. A document belongs to one group, or to none
where its label is missing. This is a function of the document alone, on which the sensitivity of the statistic rests.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._numbers import as_texts
from discreet._validate import shown
from discreet.corpus.files import first_few
from discreet.errors import CorpusError, DiscreetError, Parameter, ParameterError, PrivacyError
from discreet.release.prevalence.record import OTHER

__all__ = [
    "FREQUENCIES",
    "OTHER",
    "Labels",
    "cross_names",
    "faults_of_division",
    "is_crossed",
    "label_texts",
    "periods",
    "place_crossed",
    "place_in_groups",
    "public_groups",
]

FREQUENCIES = ("decade", "year", "quarter", "month", "week", "day")
_MOST_PERIODS = 100_000
_MISSING = {"", "nan", "NaN", "None", "NaT", "<NA>"}

Labels = NDArray[np.int32]


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
        Where a date or the frequency is none, or the range is empty or endless.
    """
    _check_frequency(freq)
    first, last = _date(start), _date(end)
    if first is None or last is None:
        raise ParameterError(
            f"expected two dates such as 2024-01-31 or 2024-01, but got {shown(start)} and {shown(end)}; "
            "give the first and the last."
        )
    if last < first:
        raise ParameterError(f"the range ends ({last}) before it begins ({first}); swap them.")
    names: list[str] = []
    day = first
    while day <= last:
        name = _NAMES[freq](day)
        if not names or names[-1] != name:
            names.append(name)
        if len(names) > _MOST_PERIODS:
            raise ParameterError(
                f"from {first} to {last} there are more than {_MOST_PERIODS} periods; take longer ones."
            )
        step = {"decade": 300, "year": 300, "quarter": 28, "month": 28, "week": 1, "day": 1}[freq]
        day = min(day + datetime.timedelta(step), last) if day < last else last + datetime.timedelta(1)
    return tuple(names)


def cross_names(rows: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the cells of a cross table, row by row: "ward 3 | 2024-01"."""
    return tuple(f"{row} | {column}" for row, column in product(rows, columns))


def place_in_groups(
    by: Any, groups: Sequence[str], n_documents: int, *, freq: str | None = None, unlisted: str = "error"
) -> Labels:
    """Return the number of each document's group, -1 where it has none.

    Parameters
    ----------
    by : sequence of length n_documents
        The label of each document: text, numbers or, with ``freq``, dates. None, NaN and "" are no label.
    groups : sequence of str
        Public.
    n_documents : int
    freq : str, optional
        Turn dates into periods first.
    unlisted : {"error", "leave_out", "other"}
        What becomes of a label that is not among ``groups``; for "other", ``groups`` must end with :data:`OTHER`.

    Raises
    ------
    CorpusError
        Where there is not one label for each document, or some are not listed; tells the rows of a few of those.
    """
    values = _values(by, n_documents)
    name: Callable[[Any], str | None] = _text
    if freq is not None:
        _check_frequency(freq)
        name = _period_namer(freq)
    code_of = {group: code for code, group in enumerate(groups)}
    rest = code_of[OTHER] if unlisted == "other" else -1
    out = np.full(n_documents, -1, np.int32)
    strange: dict[str, int] = {}
    known: dict[Any, int] = {}
    for row, value in enumerate(values):
        key = (type(value), value) if isinstance(value, str | int) else None
        code = known.get(key) if key is not None else None
        if code is None:
            label = name(value)
            code = -1 if label is None else code_of.get(label, rest)
            if label is not None and label not in code_of and unlisted == "error":
                strange.setdefault(label, row)
            if key is not None:
                known[key] = code
        out[row] = code
    if strange:
        # Labels of documents are private: an error tells where to look, and shows none.
        where = first_few(list(strange.values()))
        raise CorpusError(
            f"{len(strange)} labels are not among the {len(groups)} groups (first seen in rows {where}). Add them to "
            'the public list, or choose unlisted="other" or unlisted="leave_out".'
        )
    return out


def place_crossed(by: Any, groups: Sequence[Sequence[Any]], n_documents: int, *, unlisted: str) -> Labels:
    """Return the number of each document's cell in a cross table; parameters as for :func:`place_in_groups`.

    ``by`` is a pair of labels, and with ``unlisted="other"`` the last group is that of all other pairs.
    """
    if not isinstance(by, tuple | list) or len(by) != 2:
        raise CorpusError(
            "for a cross table by must be a pair: the labels of the rows and those of the columns."
        )
    names = [[str(name) for name in part] for part in groups]
    strict = "error" if unlisted == "error" else "leave_out"
    rows, columns = (
        place_in_groups(labels, part, n_documents, unlisted=strict)
        for labels, part in zip(by, names, strict=True)
    )
    neither = (rows < 0) | (columns < 0)
    outside = len(names[0]) * len(names[1]) if unlisted == "other" else -1
    return np.where(neither, outside, rows * len(names[1]) + columns).astype(np.int32)


def is_crossed(groups: Any) -> bool:
    """Whether groups are two sequences of names: the rows and the columns of a table."""
    return (
        groups is not None
        and len(groups) == 2
        and not any(isinstance(part, str | int | float) for part in groups)
    )


def public_groups(groups: Any, freq: str | None, start: Any, end: Any, *, other: bool) -> tuple[str, ...]:
    """Return the names of all groups, from what a caller said of them before any data were read.

    Raises
    ------
    ParameterError
        Where that is not a list of distinct names, or is missing, or there are two.
    """
    if groups is None:
        if freq is None or start is None or end is None:
            raise ParameterError(
                Parameter("groups"),
                " must be the public list of groups; or give freq, start and end for periods, as in "
                'freq="month", start="2024-01", end="2026-06"; or let names be chosen privately, '
                'group_selection="private".',
            )
        names = periods(start, end, freq)
    elif start is not None or end is not None:
        raise ParameterError(Parameter("groups"), " and a range of dates are two lists of groups; give one.")
    elif freq is None and is_crossed(groups):
        rows, columns = (as_texts(part, "groups") for part in groups)
        names = cross_names(rows, columns)
    else:
        names = as_texts(groups, "groups")
    if not names or not all(names) or len(set(names)) != len(names):
        raise ParameterError(Parameter("groups"), " must be one or more distinct names, none of them empty.")
    if not other:
        return names
    if OTHER in names:
        raise ParameterError(
            Parameter("unlisted"),
            f'="other" adds a group "{OTHER}", but there is one of that name; rename it.',
        )
    return (*names, OTHER)


def faults_of_division(
    division: Any, freq: str | None, groups: Any, unlisted: str | None, privacy_unit: str
) -> list[DiscreetError]:
    """Say what keeps periods from being paid for one by one."""
    name = Parameter("division")
    faults: list[DiscreetError] = []
    if not isinstance(division, str) or not division.strip():
        faults.append(
            ParameterError(
                name, " must name the date that is meant, of which each document has one: 'date received'."
            )
        )
    if freq is None or groups is not None:
        faults.append(ParameterError(name, " is for periods: give freq, start and end, and no groups."))
    if unlisted == "other":
        faults.append(ParameterError(name, ': documents of all other periods would be read for "other".'))
    if privacy_unit != "document":
        faults.append(
            PrivacyError(
                name,
                " makes months cost as one where each document has its month; one person may have written in "
                "several, and their costs add up. Leave it out.",
            )
        )
    return faults


def label_texts(by: Any, n_documents: int) -> list[str | None]:
    """Return the label of each document as text, None where it has none; see :func:`place_in_groups`."""
    return [_text(value) for value in _values(by, n_documents)]


def _values(by: Any, n_documents: int) -> list[Any]:
    values = _listed(by)
    if len(values) != n_documents:
        raise CorpusError(f"by must have a label for each of {n_documents} documents, but has {len(values)}.")
    return values


def _listed(by: Any) -> list[Any]:
    if isinstance(by, str) or not isinstance(by, Iterable):
        raise CorpusError(
            f"by must be a sequence with a label for each document, but is a {type(by).__name__}."
        )
    array: Any = by
    if getattr(array, "ndim", 1) != 1:
        raise CorpusError("by must have one dimension: one label for each document.")
    if isinstance(by, np.ndarray) and by.dtype.kind == "M":
        return [None if np.isnat(value) else value.astype("datetime64[D]").item() for value in by]
    return list(array.tolist() if hasattr(array, "tolist") else array)


def _text(value: Any) -> str | None:
    """Write a label so that equal labels are equal: 7, 7.0 and "7" are one. None where there is none."""
    if isinstance(value, str):
        written = value.strip()
    elif isinstance(value, float | np.floating):
        if math.isnan(value):
            return None
        written = str(int(value)) if float(value).is_integer() else str(value)
    else:
        (written,) = as_texts([value], "by")
    return None if written in _MISSING else written


def _period_namer(freq: str) -> Callable[[Any], str | None]:
    def name(value: Any) -> str | None:
        if _text(value) is None:
            return None
        day = _date(value)
        if day is None:
            raise CorpusError(
                f"a label is not a date such as 2024-01-31, but a {type(value).__name__}; with freq= every label "
                "must be a date, or missing."
            )
        return _NAMES[freq](day)

    return name


def _date(value: Any) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value.astype("datetime64[D]").item()
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    for padded in (text, f"{text}-01", f"{text}-01-01"):
        try:
            return datetime.datetime.fromisoformat(padded).date()
        except ValueError:
            continue
    return None


def _check_frequency(freq: Any) -> None:
    if freq not in FREQUENCIES:
        raise ParameterError(
            Parameter("freq"), f" must be one of {', '.join(FREQUENCIES)}, but is {shown(freq)}."
        )


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
