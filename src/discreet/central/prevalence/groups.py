"""Which groups there are: a public list of names, a public range of periods, or a cross table of two of these.

The list stands before any data are read; or its names were chosen privately
(:mod:`discreet.central.prevalence.selection`), and are public from then on. Names are written as labels are
(:func:`written`), so that each can be matched; one that no label can ever match is refused before it costs anything.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from discreet._base.arrays import as_texts
from discreet._base.validate import kind_of
from discreet.central.prevalence.periods import check_frequency, is_period, periods
from discreet.errors import CorpusError, Parameter, ParameterError, Proposal
from discreet.release.files import printable
from discreet.release.prevalence.record import BETWEEN, OTHER

__all__ = ["OTHER", "Grouping", "cross_names", "grouping", "is_name", "written"]

_RANGE = (
    Proposal("freq", "month"),
    ", ",
    Proposal("start", "2024-01"),
    " and ",
    Proposal("end", "2026-06"),
)
_MISSING = {"", "nan", "NaN", "None", "NaT", "<NA>"}
_LONGEST = 1000


class Grouping(NamedTuple):
    """The groups of a release, all of it public.

    Attributes
    ----------
    names : tuple of str
        All groups in order; of a cross table row by row. The last is "other" where there is such a group.
    parts : tuple of tuple of str
        The names that labels are compared with: of the groups, or of the rows and of the columns.
    freq : str or None
        Labels, or those of the columns, are dates, and the groups periods of this frequency.
    unlisted : {"error", "leave_out", "other"}
        What becomes of documents whose label is not listed.
    """

    names: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    freq: str | None
    unlisted: str

    @property
    def crossed(self) -> bool:
        """Whether each document has two labels."""
        return len(self.parts) == 2


def grouping(groups: Any, freq: str | None, start: Any, end: Any, unlisted: str) -> Grouping:
    """Return the groups, from what a caller said of them before any data were read.

    Parameters
    ----------
    groups : sequence of str, pair of such sequences, or None
        A pair is a cross table.
    freq : str or None
        With ``start`` and ``end``: periods, which are the columns of a cross table where ``groups`` are given, too.
        Without: ``groups`` are names of periods.
    start, end : date or text, or None
    unlisted : {"error", "leave_out", "other"}

    Raises
    ------
    ParameterError
        Where that is not a list of distinct names which labels can have, or is missing, or says two things.
    """
    dated = start is not None or end is not None
    if freq is not None:
        check_frequency(freq)
    if dated and None in (freq, start, end):
        raise ParameterError(Parameter("freq"), " and both ends make periods: ", *_RANGE, ".")
    if groups is None:
        if freq is not None and not dated:
            raise ParameterError(Parameter("freq"), " needs a public range of dates: ", *_RANGE[2:], ".")
        if not dated:
            raise ParameterError(
                Parameter("groups"),
                " must be the public list of groups; or periods: ",
                *_RANGE,
                "; or let names be chosen privately: ",
                Proposal("group_selection", "private"),
                ".",
            )
        parts = (periods(start, end, str(freq)),)
    elif _is_crossed(groups):
        if freq is not None:
            raise ParameterError(
                Parameter("groups"),
                " are the rows and the columns of a table, so freq is one list too many. For groups by periods give "
                "the rows as groups, with ",
                *_RANGE,
                ".",
            )
        parts = (_names(groups[0]), _names(groups[1]))
    elif dated:
        parts = (_names(groups), periods(start, end, str(freq)))
    else:
        parts = (_names(groups),)
        if freq is not None and not all(is_period(name, freq) for name in parts[0]):
            raise ParameterError(
                Parameter("groups"),
                " must be names of periods with ",
                Proposal("freq", freq),
                f", such as {periods('2024-01', '2024-01', freq)[0]}; or give a range: ",
                *_RANGE[2:],
                ".",
            )
    names = parts[0] if len(parts) == 1 else cross_names(*parts)
    if unlisted == "other":
        if OTHER in names:
            raise ParameterError(
                Parameter("unlisted"),
                f'="other" adds a group "{OTHER}", but there is one of that name; rename it.',
            )
        names = (*names, OTHER)
    return Grouping(names, parts, freq, unlisted)


def cross_names(rows: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the cells of a cross table, row by row: "ward 3 | 2024-01"."""
    if any(BETWEEN in name for name in (*rows, *columns)):
        raise ParameterError(
            Parameter("groups"),
            f' of a cross table must not hold "{BETWEEN}", which stands between two names.',
        )
    if len(rows) * len(columns) < 2:
        raise ParameterError(
            Parameter("groups"), " are a cross table of one cell; a list of groups is one list of names."
        )
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


def _is_crossed(groups: Any) -> bool:
    """Whether groups are two sequences of names: the rows and the columns of a table."""
    return (
        isinstance(groups, Sized)
        and isinstance(groups, Iterable)
        and not isinstance(groups, str | bytes | Mapping)
        and len(groups) == 2
        and all(isinstance(part, Iterable) and not isinstance(part, str | bytes) for part in groups)
    )


def _names(given: Any) -> tuple[str, ...]:
    """Return the names of groups as labels are written; ``ParameterError`` where they are none."""
    name = Parameter("groups")
    if (
        isinstance(given, str | bytes | Mapping | Set)
        or not isinstance(given, Iterable)
        or not isinstance(given, Sized)
    ):
        raise ParameterError(name, f" must be a list of names in their order, but is {kind_of(given)}.")
    try:
        found = [written(value) for value in given]
    except CorpusError:
        raise ParameterError(name, " must be names, but one cannot be written as text.") from None
    names = [text for text in found if text is not None]
    if not names and not found:
        raise ParameterError(name, " must be one or more distinct names, but there is none.")
    if len(names) < len(found):
        raise ParameterError(
            name,
            ' must be names, none of them empty, "None", "nan", "NaN", "NaT" or "<NA>": such a label says that a '
            "document has no group.",
        )
    if not all(map(is_name, names)):
        raise ParameterError(
            name,
            f" must be names of one line, of at most {_LONGEST} characters, without control characters and halves of "
            "characters.",
        )
    if len(set(names)) < len(names):
        raise ParameterError(
            name, " must be one or more distinct names, but one is repeated (7, 7.0 and '7' are the same)."
        )
    return tuple(names)
