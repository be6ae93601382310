"""Whose document each row is, and how it is labelled: the one place that takes this together with the rows.

The promise for a person holds only if all documents of a person are one unit, and no two people are. So every entrance
that takes ``persons`` or ``labels`` beside texts or counts passes :func:`check_persons` and :func:`check_labels`:

* *Said once.* A corpus that knows whose its documents are takes no persons beside it.
* *Of these rows.* A pandas object says which row each value belongs to. Where rows and what is said of them are such
  objects with different indexes, nobody knows which of row number and index was meant, and they are refused.
* *One for each row*, and each names somebody.

When two ids are one person
---------------------------
* Whole numbers are compared as numbers, exactly, of any size: ``7``, ``7.0``, ``numpy.uint8(7)``, ``Decimal(7)`` and
  the texts ``"7"``, ``"7.0"`` (as pandas writes a column of numbers with a gap; ``"7,0"`` with a decimal comma) are one
  id. A float is taken only where it is whole and so small that no other whole number could have been rounded to it
  (below 10^15 for float64, as spreadsheets keep 15 digits; 2^24 for float32).
* Text is compared letter by letter, without what is not seen around it (blanks, control and format characters, such
  as a byte order mark), after Unicode
  normalisation to NFC: a name in composed and in decomposed letters is one id. Nothing else is made equal:
  case, leading zeros (``"007"``), look-alikes and compatibility forms stay different ids.
* What names nobody is refused, with its row: None, NaN, NaT, ``<NA>``, empty or blank text; and the texts that a
  missing value becomes when it is written, such as "nan", "NA" or "NULL", in small letters or large, and the errors of
  spreadsheets, such as "#REF!".
* Text that may be two ids is refused: ``"1.23457E+11"``, as a spreadsheet writes a long number without its last
  digits, and ``"7.000"``, which is 7 or 7000 by country.
* Fractions, truth values, bytes, dates and other objects are refused: how they are written is not one thing.

Neither mistake is safe. Let each unit add at most C to a sum, and let one person's documents be removed. If the person
was *parted* into k ids, k units go, and the sum moves by up to k C. If the person was *joined* with others under one
id, a unit stays with other documents in it, as if one unit went and another came: the sum moves by up to 2 C, however
many were joined (by the root of 2 times C where contributions are not negative and bounded in L2, because then
|x - y|^2 <= |x|^2 + |y|^2). So to join costs a person at most two units, and to part costs as many as there are ids;
the promise is of one. Ids are therefore made equal only where one person is by far the likelier reason that both
writings exist, and refused where it is not clear.

The numbers that come of it mean nothing but "the same": whole numbers that fit in int64 stay what they are, and
otherwise persons are numbered 0, 1, ... in the order of their ids.
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence, Sized
from decimal import Decimal
from typing import Any
from unicodedata import category, normalize

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import carried
from discreet._base.lazy import is_sharded
from discreet._base.validate import is_whole, rows_shown
from discreet.errors import CorpusError, Parameter, PrivacyError, Proposal

#: What programs write for a missing value, or one that could not be computed; "\\N" is that of databases.
_MADE_TEXT = re.compile(
    r"none|-?nan|nat|<na>|na|n/a|#n/a|#nv|null|\(null\)|<null>|\\n|#\W?[\w/]+ ?[!?]", re.IGNORECASE
)
#: What is not seen of what may stand before or after an id, beside blanks: control and format characters.
_UNSEEN = ("Cc", "Cf")
_WHOLE = re.compile("(-?(?:0|[1-9][0-9]{0,3999}))(?:[.,]0+)?")
#: Without its last digits, or of thousands as well as of a fraction.
_TWO_READINGS = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?[eE][+][0-9]+|-?[1-9][0-9]{0,2}[.,]000")
_LARGEST_BITS = 10_000


def person_key(person: object) -> str | None:
    """Return the text by which a person is compared, or None where it names nobody or could be more than one.

    Parameters
    ----------
    person : object
        One id, as it stands in a file, a frame or an array.
    """
    return _read(person)[0]


def why_nobody(person: object) -> str:
    """Say why :func:`person_key` is None for this person, without showing it."""
    return _read(person)[1]


def is_missing_person(person: object) -> bool:
    """Whether nothing is said of whose a document is, not even what could be read in two ways."""
    return why_nobody(person).startswith(("nothing", "empty text", "the text of a missing value"))


def _read(person: Any) -> tuple[str | None, str]:
    """Return the text by which a person is compared, or why there is none."""
    if isinstance(person, str):
        return _read_text(_seen(person))
    if isinstance(person, bool | np.bool_):
        return None, "true or false"
    if isinstance(person, np.datetime64 | np.timedelta64):
        return None, "nothing (NaT)" if np.isnat(person) else "a date or time"
    if isinstance(person, float | np.floating | Decimal):
        if person.is_nan() if isinstance(person, Decimal) else math.isnan(person):
            return None, "nothing (NaN)"
        if isinstance(person, Decimal):
            is_whole = (
                person.is_finite() and person.adjusted() <= 3000 and person == person.to_integral_value()
            )
        else:
            is_whole = not math.isinf(person) and person == np.floor(person)
            # The least that others may have been rounded to: by its kind, or before by a sheet.
            if is_whole and abs(person) >= min(1e15, 2.0 ** (int(np.finfo(type(person)).nmant) + 1)):
                return None, (
                    "a number so large that it may be rounded (take the ids as text from where they come, as whole "
                    "numbers, or, in a sheet, from a column stored as text: of numbers it keeps 15 digits)"
                )
        if not is_whole:
            return None, "a number that is not whole, or too large"
    elif not isinstance(person, int | np.integer):
        missing = person is None or str(type(person)).endswith(("NAType'>", "NaTType'>"))
        return None, "nothing" if missing else f"an object ({type(person).__name__})"
    whole = int(person)
    if whole.bit_length() > _LARGEST_BITS:
        return None, "a number of thousands of digits"
    return str(whole), ""


def _read_text(text: str) -> tuple[str | None, str]:
    if not text:
        return None, "empty text"
    if _MADE_TEXT.fullmatch(text):
        return None, "the text of a missing value"
    if _TWO_READINGS.fullmatch(text):
        return None, "a number that can be read in two ways"
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return str(int(whole[1])), ""
    return text if text.isascii() else normalize("NFC", text), ""


def _seen(person: str) -> str:
    """Return an id without what is not seen around it."""
    text = str.__str__(person).strip()
    for end in (0, -1):
        while text and category(text[end]) in _UNSEEN:
            text = text.strip(text[end]).strip()
    return text


def knows_persons(rows: object) -> bool:
    """Return whether a corpus knows whose its documents are. Reads none of them."""
    return carried(rows, "unit") == "person"


def check_persons(rows: object, persons: Any, n_rows: int | None = None) -> NDArray[np.int64] | None:
    """Return whose each row is, as :func:`number_persons`; None where nobody says it.

    Parameters
    ----------
    rows : object
        The documents: texts, counts, a frame, or a corpus, whose own persons are returned where it knows them.
    persons : array-like of shape (n_rows,), or None
        What is said beside them.
    n_rows : int, optional
        How many documents there are; by default as many as ``rows`` says, where it can.

    Raises
    ------
    PrivacyError
        Where both say whose the documents are, and do not agree.
    CorpusError
        Where persons have another index than the rows, another shape, or do not name somebody for each row.
    """
    known = carried(rows, "persons") if knows_persons(rows) else None
    if persons is None:
        return known
    if known is not None and not is_sharded(rows) and _are_same(known, rows, persons):
        return known  # in memory: each step of a pipeline is given them
    _check_beside(rows, persons)
    return number_persons(persons, n_rows_of(rows) if n_rows is None else n_rows)


def person_keys(rows: object, persons: Any, n_rows: int, *, first: int = 0) -> list[str]:
    """Return the text by which the person of each row is compared, for rows that are a part of a stream.

    Parameters and errors as of :func:`check_persons`; ``first`` is the number of the first row in the stream.
    """
    _check_beside(rows, persons)
    return _keys(_as_array(persons), persons, n_rows, first)


def check_labels(rows: object, labels: ArrayLike | Sequence[str] | None, n_rows: int) -> NDArray[Any] | None:
    """Return the labels of rows as int64, or as objects that are text; None where there are none.

    Parameters
    ----------
    rows : object
        As for :func:`check_persons`.
    labels : array-like of shape (n_rows,), or None
    n_rows : int

    Raises
    ------
    CorpusError
        Where labels have another index than the rows, another shape, or are neither all int nor all str.
    """
    if labels is None:
        return None
    check_same_rows(rows, labels, "labels")
    given: Any = labels
    # As objects, because np.asarray would turn ["a", 1] into text without a word.
    values: NDArray[Any] = given if isinstance(given, np.ndarray) else _as_objects(list(given))
    if values.shape != (n_rows,):
        raise CorpusError(f"labels must have shape ({n_rows},), one for each document, got {values.shape}.")
    listed: list[Any] = values.tolist()
    if values.dtype.kind in "iu" or (values.dtype.kind == "O" and all(map(is_whole, listed))):
        large = [row for row, label in enumerate(listed) if not -(2**63) <= label < 2**63]
        if large:
            raise CorpusError(f"numbers as labels must lie below 2^63, but row {rows_shown(large)} is not.")
        return values.astype(np.int64)
    wrong = [row for row, label in enumerate(listed) if not isinstance(label, str)]
    if wrong:
        raise CorpusError(f"labels must be all int or all str; row {rows_shown(wrong)} is neither.")
    return _as_objects(listed)  # one long label must not widen all the others


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
    # Where there is nothing to compare they are not looked at.
    rows = None if others is None else index_of(documents)
    if rows is not None and others is not None and not rows.equals(others):
        index = f"{of.removeprefix('the ')}.index"
        raise CorpusError(
            f"{name} has another index than {of}, so its values stand beside other rows than they belong to. "
            f"Take {name}.loc[{index}]; or {name}.to_numpy(), if they are in the same order all the same."
        )


def index_of(given: object) -> Any:
    """Return the index of the rows of a pandas object, or of counts that were counted from one; or None."""
    index: Any = getattr(given, "index", None)  # a list has a method of that name
    return index if not callable(index) and hasattr(index, "equals") else None


def _check_beside(rows: object, persons: Any) -> None:
    """Refuse persons beside rows that know theirs, or that have another index."""
    if knows_persons(rows):
        raise PrivacyError(
            "the corpus knows whose its documents are, and ",
            Parameter("persons"),
            " beside it say otherwise: leave ",
            Proposal("persons"),
            " out, or take the corpus without_persons().",
        )
    check_same_rows(rows, persons, "persons")


def _are_same(known: NDArray[np.int64], rows: object, persons: Any) -> bool:
    """Whether persons that come beside a corpus are those that it knows, whatever their numbers."""
    check_same_rows(rows, persons, "persons")
    given = number_persons(persons, len(known))
    pairs = {tuple(pair) for pair in np.stack([known, given], 1).tolist()}
    return len(pairs) == len(np.unique(known)) == len(np.unique(given))


def n_rows_of(rows: Any) -> int | None:
    """Return how many rows there are, where that can be seen without reading any."""
    shape = getattr(rows, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    return len(rows) if isinstance(rows, Collection) else None


def number_persons(persons: Any, n_documents: int | None = None) -> NDArray[np.int64]:
    """Return a number for each row: the same number, the same person.

    Parameters
    ----------
    persons : array-like of shape (n_documents,)
        Ids as text or whole numbers, in any representation (see the module).
    n_documents : int, optional
        Where it is known.

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
    if values is not None and values.ndim == 1 and n_documents in (None, len(values)):
        fits = values.dtype.kind == "i" or (values.dtype.kind == "u" and int(values.max(initial=0)) < 2**63)
        if fits and not np.ma.is_masked(persons):
            return values.astype(np.int64)
    return _numbers(_keys(values, persons, n_documents, 0))


def _keys(values: NDArray[Any] | None, persons: Any, n_documents: int | None, first: int) -> list[str]:
    """Return the key of each person; ``CorpusError`` where the shape is another, or a row names nobody."""
    if values is None or values.ndim != 1 or n_documents not in (None, len(values)):
        found = type(persons).__name__ if values is None else f"shape {values.shape}"
        named = "; of a file or a frame, `person=` takes the name of a column" * isinstance(persons, str)
        expected = "one dimension" if n_documents is None else f"shape ({n_documents},)"
        raise CorpusError(f"persons must have {expected}, one for each document, got {found}{named}.")
    listed: list[Any] = list(values)
    if np.ma.isMaskedArray(persons):
        missing = np.ma.getmaskarray(persons)
        listed = [None if missing[row] else person for row, person in enumerate(listed)]
    if values.dtype.kind in "Uiuf":  # each different one is looked at once
        distinct, place = np.unique(values, return_inverse=True)
        once = [person_key(person) for person in distinct]
        keys = [None if person is None else once[at] for person, at in zip(listed, place, strict=True)]
    else:
        keys = [person_key(person) for person in listed]
    nobody = [row for row, key in enumerate(keys) if key is None]
    if nobody:
        what = sorted({why_nobody(listed[row]) for row in nobody[:100]})
        raise CorpusError(
            f"persons must name whose document each row is, by text or whole numbers, but row "
            f"{rows_shown(first + row for row in nobody)} {'has' if len(nobody) == 1 else 'have'} "
            f"{' or '.join(what)}; name them, or leave those documents out."
        )
    return [key for key in keys if key is not None]


def _as_array(persons: Any) -> NDArray[Any] | None:
    """Return persons as an array that rounds none of them, or None where they have no order or are none."""
    unordered = isinstance(persons, str | bytes | bytearray | dict | set | frozenset)
    if unordered or not isinstance(persons, Iterable):
        return None
    if hasattr(persons, "dtype") or hasattr(persons, "__array__"):  # of numpy, pandas, polars, pyarrow
        try:
            return np.asarray(persons)
        except Exception:  # what a foreign object raises may show what it holds
            return None
    if not isinstance(persons, Sized):
        return None  # it can be read once, and is looked at before a cost is booked and after
    listed: list[Any] = list(persons)
    if any(isinstance(person, list | tuple | np.ndarray) for person in listed):
        return None
    return _as_objects(listed)


def _as_objects(listed: list[Any]) -> NDArray[Any]:
    """Return an array of what is listed as it is: numpy would make one kind of them, by rounding or writing."""
    values = np.empty(len(listed), object)
    for row, one in enumerate(listed):  # one by one: numpy would ask objects to become arrays
        values[row] = one
    return values


def _numbers(keys: list[str]) -> NDArray[np.int64]:
    different = set(keys)
    if all(_WHOLE.fullmatch(key) for key in different):
        whole = {key: int(key) for key in different}
        if all(-(2**63) <= number < 2**63 for number in whole.values()):
            return np.array([whole[key] for key in keys], np.int64)
    number = {key: i for i, key in enumerate(sorted(different, key=_place))}
    return np.array([number[key] for key in keys], np.int64)


def _place(key: str) -> tuple[int, int, str]:
    """Sort whole numbers by their size, before all text."""
    return (0, int(key), "") if _WHOLE.fullmatch(key) else (1, 0, key)
