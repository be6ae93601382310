r"""Which groups there are: a public list of names, a public range of periods, or a cross table of two of these.

The list stands before any data are read; or its names were chosen privately, and are public from then on. Names are
written as labels are (:func:`written`), so that each can be matched; one that no label can ever match is refused before
it costs anything.

Periods are decades, years, quarters, months, weeks and days.

Names of groups that are not public: chosen privately, as words are
-------------------------------------------------------------------
Free-text places, employers, diagnoses: the list of names is itself private. A name is released where enough units
have it: each unit gives :math:`1/\sqrt k` to each of its k names, Gaussian noise is added, and names above a threshold
are listed, in the order of the alphabet.

Guarantee
---------
*Unit, neighbours*: a document, which has one name, or a person, of whose names the m most used count
(``max_groups_per_unit``); added or removed. *Released*: the names above the threshold. *Sensitivity*: that of
:mod:`discreet.central.vocabulary.methods`, whose proof holds word for word with "name" for "word": a unit's
names are a function of that unit alone. *Event*: Gaussian noise, and the chance that a name which nobody else has
passes, set at a tenth of the run's delta. Sums in the chosen groups are a second Gaussian release: whatever names were
chosen, a unit's vector has norm at most :math:`\sqrt{1 + c^2}` (:mod:`discreet.central.prevalence.labelled`), and the
names are public by then. Both are booked as one event before a label is read, and priced together.

What a label that was not chosen adds depends on its own document alone: nothing, or to the group "other".
"""

import datetime
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet._base.arrays import as_texts
from discreet._base.validate import is_whole, kind_of, shown
from discreet.central.vocabulary.methods import GaussianChoice
from discreet.central.vocabulary.units import secret_order
from discreet.errors import CorpusError, ParameterError
from discreet.privacy.accounting.curves import sort_events
from discreet.privacy.accounting.totals import largest_gaussian
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.noise.stream import SecureStream
from discreet.release.files import printable
from discreet.release.prevalence.record import BETWEEN, OTHER

if TYPE_CHECKING:
    from discreet.central.prevalence.labelled import Labelled

_ENDS = "`start='2024-01'` and `end='2026-06'`"
_RANGE = f"`freq='month'`, {_ENDS}"
_MISSING = {"", "nan", "NaN", "None", "NaT", "<NA>"}
_LONGEST = 1000


class Grouping(NamedTuple):
    """The groups of a release, all of it public."""

    #: All groups in order; of a cross table row by row. The last is "other" where there is such a group.
    names: tuple[str, ...]
    #: The names that labels are compared with: of the groups, or of the rows and of the columns.
    parts: tuple[tuple[str, ...], ...]
    #: Labels, or those of the columns, are dates, and the groups periods of this frequency.
    freq: str | None
    #: {"error", "leave_out", "other"}: What becomes of documents whose label is not listed.
    unlisted: str
    #: Of dates such as 01/02/2025: whether the day is the first number; None where nobody said it.
    day_first: bool | None = None

    @property
    def crossed(self) -> bool:
        """Whether each document has two labels."""
        return len(self.parts) == 2


def grouping(groups: Any, freq: str | None, start: Any, end: Any, unlisted: str) -> Grouping:
    """Return the groups, from what a caller said of them before any data were read.

    ``groups``: a sequence of names, or a pair of them for a cross table. ``freq`` with ``start`` and ``end``: periods,
    which are the columns of a cross table where ``groups`` are given, too; without: ``groups`` are names of periods.
    ``ParameterError`` where that is not a list of distinct names which labels can have, or is missing, or says two
    things.
    """
    dated = start is not None or end is not None
    if dated and None in (freq, start, end):
        raise ParameterError(f"`freq` and both ends make periods: {_RANGE}.")
    if groups is None:
        if freq is not None and not dated:
            raise ParameterError(f"`freq` needs a public range of dates: {_ENDS}.")
        if not dated:
            raise ParameterError(
                f"`groups` must be the public list of groups; or periods: {_RANGE}; or let names be chosen privately: "
                "`group_selection='private'`."
            )
        parts = (periods(start, end, str(freq)),)
    elif _is_crossed(groups):
        if freq is not None:
            raise ParameterError(
                "`groups` are the rows and the columns of a table, so freq is one list too many. For groups by "
                f"periods give the rows as groups, with {_RANGE}."
            )
        parts = (_names(groups[0]), _names(groups[1]))
    elif dated:
        parts = (_names(groups), periods(start, end, str(freq)))
    else:
        parts = (_names(groups),)
        if freq is not None and not all(is_period(name, freq) for name in parts[0]):
            raise ParameterError(
                f"`groups` must be names of periods with `freq={freq!r}`, such as "
                f"{periods('2024-01', '2024-01', freq)[0]}; or give a range: {_ENDS}."
            )
    names = parts[0] if len(parts) == 1 else cross_names(*parts)
    if unlisted == "other":
        if OTHER in names:
            raise ParameterError(
                f'`unlisted="other"` adds a group "{OTHER}", but there is one of that name; rename it.'
            )
        names = (*names, OTHER)
    return Grouping(names, parts, freq, unlisted, _day_first(start, end))


def cross_names(rows: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the cells of a cross table, row by row: "ward 3 | 2024-01"."""
    if any(BETWEEN in name for name in (*rows, *columns)):
        raise ParameterError(
            f'`groups` of a cross table must not hold "{BETWEEN}", which stands between two names.'
        )
    if len(rows) * len(columns) < 2:
        raise ParameterError("`groups` are a cross table of one cell; a list of groups is one list of names.")
    return tuple(f"{row}{BETWEEN}{column}" for row, column in product(rows, columns))


def written(value: Any) -> str | None:
    """Write a label so that equal labels are equal: 7, 7.0 and "7" are one, and so is a name in any Unicode form.

    None where there is none.
    """
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value.strip())
    elif isinstance(value, float | np.floating):
        if math.isnan(value):
            return None
        text = str(int(value)) if float(value).is_integer() else str(value)
    else:
        (text,) = as_texts([value], "by")
    return None if text in _MISSING else text


def is_name(text: str) -> bool:
    """Whether a group can be called so: by one line, not too long, of whole characters that can be printed."""
    return bool(text) and len(text) <= _LONGEST and printable(text) == text and len(text.splitlines()) == 1


def _is_list(given: Any) -> bool:
    listed = isinstance(given, Sized) and isinstance(given, Iterable)
    return listed and not isinstance(given, str | bytes | Mapping)


def _is_crossed(groups: Any) -> bool:
    """Whether groups are two sequences of names: the rows and the columns of a table."""
    if not _is_list(groups) or len(groups) != 2:
        return False
    return all(isinstance(part, Iterable) and not isinstance(part, str | bytes) for part in groups)


def _names(given: Any) -> tuple[str, ...]:
    """Return the names of groups as labels are written; ``ParameterError`` where they are none."""
    if isinstance(given, Set) or not _is_list(given):
        raise ParameterError(f"`groups` must be a list of names in their order, but is {kind_of(given)}.")
    try:
        found = [written(value) for value in given]
    except CorpusError:
        raise ParameterError("`groups` must be names, but one cannot be written as text.") from None
    names = [text for text in found if text is not None]
    if not names and not found:
        raise ParameterError("`groups` must be one or more distinct names, but there is none.")
    if len(names) < len(found):
        raise ParameterError(
            '`groups` must be names, none of them empty, "None", "nan", "NaN", "NaT" or "<NA>": such a label says that '
            "a document has no group."
        )
    if not all(map(is_name, names)):
        raise ParameterError(
            f"`groups` must be names of one line, of at most {_LONGEST} characters, without control characters and "
            "halves of characters."
        )
    if len(set(names)) < len(names):
        raise ParameterError(
            "`groups` must be one or more distinct names, but one is repeated (7, 7.0 and '7' are the same)."
        )
    return tuple(names)


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
#: A day, or a month, with the year last. With dots the day comes first; with slashes and dashes it may be the month.
_YEAR_LAST = re.compile(
    r"(?:(\d\d?)([./-]))?(\d\d?)(?(2)\2|[./-])(\d{4})(?: \d\d?:\d\d(?::\d\d)?)?", re.ASCII
)


#: The same with the year first, written with dots or slashes.
_YEAR_FIRST = re.compile(r"(\d{4})[./] ?(\d\d?)(?:[./] ?(\d\d?))?\.?", re.ASCII)


class _Date(NamedTuple):
    """A first day, and the periods that hold all of what was written."""

    day: datetime.date
    within: tuple[str, ...] = FREQUENCIES


def periods(start: Any, end: Any, freq: str) -> tuple[str, ...]:
    """Return the names of all periods from the one that holds ``start`` to the one that holds ``end``.

    Parameters
    ----------
    start, end : date, datetime, numpy.datetime64, or text such as "2024-01", "2024-01-31" or "31/01/2024"
    freq : {"decade", "year", "quarter", "month", "week", "day"}
        Names are "1990s", "1990", "1990-Q1", "1990-01", "1990-W01" (ISO weeks) and "1990-01-01".

    Raises
    ------
    ParameterError
        Where a date or the frequency is not one, or the range is empty or endless.
    """
    if freq not in FREQUENCIES:
        raise ParameterError(f"`freq` must be one of {', '.join(FREQUENCIES)}, but is {shown(freq)}.")
    day_first = _day_first(start, end)
    ends = _date(start, day_first), _date(end, day_first)
    if ends[0] is None or ends[1] is None:
        raise ParameterError(
            f"expected two dates such as 2024-01-31 or 2024-01, but got {shown(start)} and {shown(end)}; "
            "give the first and the last. In 01-12-2024 and 31-12-2024 the 31 shows which number is the day."
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


def period_of(value: Any, freq: str, day_first: bool | None = None) -> str:
    """Return the name of the period that holds a date; ``CorpusError``, which shows nothing of it, where it is none.

    A date, datetime, numpy.datetime64, pandas.Period, or text such as "2024-01-31"; weeks, months and years where the
    period holds all of them; years also as whole numbers, and floats that are whole; and names of periods of this
    frequency. ``day_first`` is that of the :class:`Grouping`.
    """
    if isinstance(value, str) and freq in _NO_DATES and is_period(value.strip(), freq):
        return value.strip()
    found = _date(value, day_first)
    if found is None:
        raise CorpusError(
            "with `freq=` every label must be a date such as 2024-01-31, or missing. Write dates as 2025-02-08 or "
            "08.02.2025; where they are written 08-02-2025 or 08/02/2025, write `start` and `end` in the same way, one "
            "of them with a day above 12, such as 31-12-2025."
        )
    if freq not in found.within:
        raise CorpusError(
            f"with `freq={freq!r}` a label must not be a date that spans more than one {freq} (a week, a month or a "
            f"year): each must be precise enough to tell the {freq}."
        )
    return _NAMES[freq](found.day)


def is_period(name: str, freq: str) -> bool:
    """Whether a period of this frequency could be called so."""
    return re.fullmatch(_FORMS[freq], name, re.ASCII) is not None


def _day_first(*ends: Any) -> bool | None:
    """Whether the day is the first number in ends such as 01/12/2025 and 31/12/2025; None where they do not show it."""
    found = [_YEAR_LAST.fullmatch(end.strip()) for end in ends if isinstance(end, str)]
    pairs = [(int(end[1]), int(end[3])) for end in found if end is not None and end[2] in ("/", "-")]
    first, second = (any(pair[place] > 12 for pair in pairs) for place in (0, 1))
    return None if first == second else first


def _date(value: Any, day_first: bool | None = None) -> _Date | None:
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
    if found := _YEAR_FIRST.fullmatch(text):
        text = "-".join(part.zfill(2) for part in found.groups() if part)
    if found := _YEAR_LAST.fullmatch(text):
        first, between, second, year = found.groups()
        if between in ("/", "-") and day_first is None:
            return None
        day, month = (second, first) if between in ("/", "-") and not day_first else (first, second)
        text = "-".join(part.zfill(2) for part in (year, month, day) if part)
    for rest, within in _WRITTEN:
        try:
            day = datetime.datetime.fromisoformat(f"{text}{rest}").date()
        except ValueError:
            continue
        if _WEEK.fullmatch(text):
            seventh = day + datetime.timedelta(min(6, (datetime.date.max - day).days))
            return _Date(day, _holding_all(day, seventh))
        return _Date(day, within)
    return None


def _holding_all(first: datetime.date, last: datetime.date) -> tuple[str, ...]:
    return tuple(freq for freq in FREQUENCIES if _NAMES[freq](first) == _NAMES[freq](last))


def _of_period(value: Any) -> _Date | None:
    try:
        first, last = value.start_time.date(), value.end_time.date()
        return _Date(first, _holding_all(first, last))
    except (AttributeError, TypeError, ValueError):
        return None


_NAMES: dict[str, Callable[[datetime.date], str]] = {
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
    "year": lambda day: f"{day.year:04d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()),
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


#: Of the run's delta: the noise of the choice, and the chance that a name which only one unit has is chosen.
_DELTA_OF_NAMES = 0.1


def name_choice(
    epsilon: float, delta: float, share: float, max_groups: int, privacy_unit: str
) -> tuple[GaussianChoice, float]:
    """Split a run's budget between names and shares, from public numbers alone.

    Returns how names are chosen, and the largest epsilon of one Gaussian release with which both cost what the run may
    cost.
    """
    most = 1 if privacy_unit == "document" else max_groups
    method = GaussianChoice(share * epsilon, _DELTA_OF_NAMES * delta, most, privacy_unit)
    if math.isinf(epsilon):
        return method, epsilon
    return method, largest_gaussian(sort_events([method.event()], "add_or_remove_one"), epsilon, delta)


def choose_names(
    documents: "Labelled",
    method: GaussianChoice,
    stream: SecureStream,
    reservation: Reservation,
    n_jobs: int | None = None,
) -> tuple[str, ...]:
    """Choose the names that enough units have, sorted; the only place that sees all labels.

    None, NaN and "" stand for no label; the reservation is of the method's event, at least. Names that cannot stand on
    a line of their own, and "other", are never chosen.
    """
    names = documents.names()
    order = secret_order(names, stream.spawn("order").words(8).tobytes())
    units = documents.names_of_units(names, order)
    choice = method.choose(units, stream.spawn("noise"), reservation, n_jobs=n_jobs)
    return tuple(sorted(names[number] for number in choice.words.tolist()))
