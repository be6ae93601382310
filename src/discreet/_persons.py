"""Whose document each row is: one normaliser for every way in which an id can be written down.

The promise for a person holds only if all documents of a person are one unit, and no two people are: to part one
person, or to join two, moves a sum by more than was booked. So one rule stands for readers, the vectorizer, the
estimators and shards:

* Whole numbers are compared as numbers, exactly, of any size: ``7``, ``7.0``, ``numpy.uint8(7)``, ``Decimal(7)``
  and the text ``"7"`` are one id. A float is taken only where it is whole and so small that no other whole number
  could have been rounded to it (below 2^53 for float64, 2^24 for float32).
* Text is compared letter by letter, after Unicode normalisation to NFC: a name in composed and in decomposed
  letters is one id. Nothing else is made equal: case, blanks around it, leading zeros (``"007"``), ``"7.0"``,
  look-alikes and compatibility forms stay different ids.
* What names nobody is refused, with its row: None, NaN, NaT, ``<NA>``, empty or blank text; and the text "None",
  "nan", "NaT" and "<NA>", which is what a missing value becomes when it is made text.
* Fractions, truth values, bytes, dates and other objects are refused: how they are written is not one thing.

A pandas object also says which row each value belongs to. Where the documents and what is said about them are such
objects with different indexes, nobody knows which of row number and index was meant, and :func:`check_same_rows`
refuses them.

The numbers that come of it mean nothing but "the same": whole numbers that fit in int64 stay what they are, and
otherwise persons are numbered 0, 1, ... in the order of their ids.
"""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from discreet._validate import first_few
from discreet.errors import CorpusError, Parameter, PrivacyError, Proposal

__all__ = ["check_same_persons", "check_same_rows", "index_of", "number_persons", "person_key", "why_nobody"]

_MADE_TEXT = frozenset({"None", "nan", "NaT", "<NA>"})
_WHOLE = re.compile("0|-?[1-9][0-9]{0,3999}")
_LARGEST_BITS = 10_000


def person_key(person: object) -> str | None:
    """Return the text by which a person is compared, or None where it names nobody or could be more than one.

    Parameters
    ----------
    person : object
        One id, as it stands in a file, a frame or an array.
    """
    if isinstance(person, str):
        text = str.__str__(person)
        if text in _MADE_TEXT or not text or text.isspace():
            return None
        return text if text.isascii() else normalize("NFC", text)
    if isinstance(person, bool | np.bool_ | np.timedelta64):
        return None
    if isinstance(person, int | np.integer):
        whole = int(person)
    elif isinstance(person, float | np.floating):
        if not abs(person) < _first_rounded(type(person)) or person != np.floor(
            person
        ):  # also NaN and infinity
            return None
        whole = int(person)
    elif isinstance(person, Decimal):
        if not person.is_finite() or person.adjusted() > 3000 or person != person.to_integral_value():
            return None
        whole = int(person)
    else:
        return None
    return str(whole) if whole.bit_length() <= _LARGEST_BITS else None


def why_nobody(person: object) -> str:
    """Say why :func:`person_key` is None for this person, without showing it."""
    if person is None or str(type(person)).endswith(("NAType'>", "NaTType'>")):
        return "nothing"
    if isinstance(person, str):
        return "empty text" if not person or person.isspace() else "the text of a missing value"
    if isinstance(person, bool | np.bool_):
        return "true or false"
    if isinstance(person, np.datetime64 | np.timedelta64):
        return "nothing (NaT)" if np.isnat(person) else "a date or time"
    if isinstance(person, float | np.floating | Decimal):
        if person.is_nan() if isinstance(person, Decimal) else math.isnan(person):
            return "nothing (NaN)"
        if isinstance(person, Decimal) or abs(person) < _first_rounded(type(person)) or math.isinf(person):
            return "a number that is not whole, or too large"
        return "a float so large that it may be rounded (read the column as whole numbers or as text)"
    if isinstance(person, int | np.integer):
        return "a number of thousands of digits"
    return f"an object ({type(person).__name__})"


def check_same_rows(documents: object, beside: object, name: str, of: str = "the documents") -> None:
    """Raise ``CorpusError`` where both are pandas objects, and their indexes differ.

    Parameters
    ----------
    documents : object
        Texts, counts or a frame, one document a row.
    beside : object
        What is said about each document.
    name : str
        What ``beside`` is called.
    of : str, default "the documents"
        What ``documents`` are called.
    """
    others = index_of(beside)
    rows = (
        None if others is None else index_of(documents)
    )  # which are not looked at where there is nothing to compare
    if rows is not None and others is not None and not rows.equals(others):
        index = f"{of.removeprefix('the ')}.index"
        raise CorpusError(
            f"{name} has another index than {of}, so its values stand beside other rows than they belong to. "
            f"Take {name}.loc[{index}]; or {name}.to_numpy(), if they are in the same order all the same."
        )


def check_same_persons(known: Any, persons: Any) -> None:
    """Raise ``PrivacyError`` where persons group the rows otherwise than those that come with the counts.

    Two statements of whose documents these are cannot both be true; and to follow the wrong one bounds what somebody
    else wrote. Only who is the same person is compared: names may be others.

    Parameters
    ----------
    known : array-like of shape (n_documents,), or None
        Persons that the counts carry.
    persons : array-like of shape (n_documents,), or None
        Persons given beside them.
    """
    if known is None or persons is None:
        return
    if not hasattr(persons, "__len__"):
        raise PrivacyError(
            Parameter("persons"), " must be a list or an array where the counts have persons, too."
        )
    one, other = number_persons(known, len(known)), number_persons(persons, len(known))
    pairs = np.unique(np.column_stack([one, other]), axis=0)
    if not len(pairs) == len(np.unique(one)) == len(np.unique(other)):
        raise PrivacyError(
            Parameter("persons"),
            " group the documents otherwise than the persons that came with them, so one of the two names the wrong "
            "people, or stands in another order. Leave ",
            Proposal("persons"),
            " out, and those of the counts are taken; or take the counts without theirs, without_persons().",
        )


def index_of(given: object) -> Any:
    """Return the index of the rows of a pandas object, or of counts that were counted from one; or None."""
    index: Any = getattr(given, "index", None)  # a list has a method of that name
    return index if not callable(index) and hasattr(index, "equals") else None


def number_persons(persons: Any, n_documents: int) -> NDArray[np.int64]:
    """Return a number for each row: the same number, the same person.

    Parameters
    ----------
    persons : array-like of shape (n_documents,)
        Ids as text or whole numbers, in any representation (see the module).
    n_documents : int

    Returns
    -------
    array of shape (n_documents,), int64
        The ids themselves where all are whole numbers that fit; else 0, 1, ... in the order of the ids.

    Raises
    ------
    CorpusError
        Where the shape is another, or a row names nobody; says in which rows, and never shows an id.
    """
    values = _as_array(persons)
    if values is None or values.shape != (n_documents,):
        found = type(persons).__name__ if values is None else f"shape {values.shape}"
        raise CorpusError(f"persons must have shape ({n_documents},), one for each document, got {found}.")
    missing = np.ma.getmaskarray(persons) if np.ma.isMaskedArray(persons) else np.zeros(n_documents, bool)
    fits = values.dtype.kind == "i" or (values.dtype.kind == "u" and int(values.max(initial=0)) < 2**63)
    if fits and not missing.any():
        return values.astype(np.int64)
    if values.dtype.kind in "Uiuf":  # each different one is looked at once
        distinct, place = np.unique(values, return_inverse=True)
        keys = [person_key(person) for person in distinct]
        numbers, nobody = _numbers(keys)[place], np.array([key is None for key in keys], bool)[place]
    else:
        keys = [person_key(person) for person in values]
        numbers, nobody = _numbers(keys), np.array([key is None for key in keys], bool)
    nobody |= missing
    if nobody.any():
        rows = np.flatnonzero(nobody).tolist()
        what = sorted({"nothing" if missing[row] else why_nobody(values[row]) for row in rows[:100]})
        raise CorpusError(
            f"persons must name whose document each row is, by text or whole numbers, but row {first_few(rows)} "
            f"{'has' if len(rows) == 1 else 'have'} {' or '.join(what)}; name them, or leave those documents out."
        )
    return numbers


def _first_rounded(kind: type) -> float:
    """Return the least whole number that other whole numbers are rounded to in a kind of float."""
    return 2.0**53 if issubclass(kind, float) else 2.0 ** (int(np.finfo(kind).nmant) + 1)


def _as_array(persons: Any) -> NDArray[Any] | None:
    """Return persons as an array that rounds none of them, or None where they have no order or are none."""
    if isinstance(persons, str | bytes | bytearray | dict | set | frozenset) or not isinstance(
        persons, Iterable
    ):
        return None
    if hasattr(persons, "dtype") or hasattr(persons, "__array__"):  # of numpy, pandas, polars, pyarrow
        try:
            return np.asarray(persons)
        except Exception:  # what a foreign object raises may show what it holds
            return None
    listed: list[Any] = list(persons)
    values = np.empty(len(listed), object)  # numpy would make one kind of them, by rounding or writing
    if any(isinstance(person, list | tuple | np.ndarray) for person in listed):
        return None
    for row, person in enumerate(listed):  # one by one: numpy would ask objects to become arrays
        values[row] = person
    return values


def _numbers(keys: list[str | None]) -> NDArray[np.int64]:
    different = {key for key in keys if key is not None}
    if all(_WHOLE.fullmatch(key) for key in different):
        whole = {key: int(key) for key in different}
        if all(-(2**63) <= number < 2**63 for number in whole.values()):
            return np.array([0 if key is None else whole[key] for key in keys], np.int64)
    number = {key: i for i, key in enumerate(sorted(different, key=_place))}
    return np.array([-1 if key is None else number[key] for key in keys], np.int64)


def _place(key: str) -> tuple[int, int, str]:
    """Sort whole numbers by their size, before all text."""
    return (0, int(key), "") if _WHOLE.fullmatch(key) else (1, 0, key)
