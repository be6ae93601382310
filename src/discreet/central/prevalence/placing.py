"""Which group each document belongs to, by its label: one group, or none where it has no label.

This is a function of the document alone, on which the sensitivity of the statistic rests. Labels are private: no error
shows one, it only says in which rows to look. What is wrong with labels is found before anything is booked (the error
tells those who hold the labels, nobody else); only where they come with no length, from an object that reads them when
asked, are they looked at after the booking.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import first_few, kind_of
from discreet.central.prevalence.groups import OTHER, Grouping, written
from discreet.central.prevalence.periods import period_of
from discreet.errors import CorpusError, Parameter, Part, Proposal

__all__ = [
    "Labels",
    "label_texts",
    "n_documents_of",
    "place",
    "place_in_groups",
    "settled",
]

Labels = NDArray[np.int32]


def settled(by: Any, groups: Grouping | None, n_documents: int | None) -> Any:
    """Read labels and compare them with the groups, before anything is booked.

    Parameters
    ----------
    by : sequence of length n_documents; for a cross table a pair of them, or a frame or array of two columns
    groups : Grouping or None
        None where names are chosen privately, so that labels are looked at for their kind only.
    n_documents : int or None
        Where it is known by now.

    Returns
    -------
    list or pair of lists
        The labels; or, unread, what was given, where that has no length and reads them when asked.

    Raises
    ------
    CorpusError
        Where there is not one label for each document, or some are not listed; tells the rows of a few of those.
    """
    crossed = groups is not None and groups.crossed
    listed = tuple(map(_listed, _pair(by) if crossed else (by,)))
    if any(labels is None for labels in listed):
        return by
    values: list[list[Any]] = [labels for labels in listed if labels is not None]
    n_rows = len(values[0]) if n_documents is None else n_documents
    found = tuple(values) if crossed else values[0]
    if groups is None:
        label_texts(found, n_rows)
    else:
        place(found, groups, n_rows)
    return found


def place(by: Any, groups: Grouping, n_documents: int) -> Labels:
    """Return the number of each document's group, -1 where it has none; of a cross table, of its cell.

    Parameters
    ----------
    by : sequence of length n_documents, or for a cross table a pair of them
    groups : Grouping
    n_documents : int

    Raises
    ------
    CorpusError
        As for :func:`place_in_groups`.
    """
    if not groups.crossed:
        return place_in_groups(by, groups.names, n_documents, freq=groups.freq, unlisted=groups.unlisted)
    strict = "error" if groups.unlisted == "error" else "leave_out"
    rows, columns = (
        place_in_groups(labels, part, n_documents, freq=freq, unlisted=strict)
        for labels, part, freq in zip(_pair(by), groups.parts, (None, groups.freq), strict=True)
    )
    width = len(groups.parts[1])
    outside = len(groups.names) - 1 if groups.unlisted == "other" else -1
    return np.where((rows < 0) | (columns < 0), outside, rows * width + columns).astype(np.int32)


def place_in_groups(
    by: Any, groups: tuple[str, ...], n_documents: int, *, freq: str | None = None, unlisted: str = "error"
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
    name: Callable[[Any], str] = str if freq is None else partial(period_of, freq=freq)
    code_of = {group: code for code, group in enumerate(groups)}
    rest = code_of[OTHER] if unlisted == "other" else -1
    out = np.full(n_documents, -1, np.int32)
    strange: dict[str, int] = {}
    known: dict[Any, int] = {}
    for row, value in enumerate(values):
        key = (type(value), value) if isinstance(value, str | int) else None
        code = known.get(key) if key is not None else None
        if code is None:
            text = written(value)
            label = None if text is None else name(text if freq is None else value)
            code = -1 if label is None else code_of.get(label, rest)
            if label is not None and label not in code_of and unlisted == "error":
                strange.setdefault(label, row)
            if key is not None:
                known[key] = code
        out[row] = code
    if strange:
        raise _not_listed(list(strange.values()), len(groups), freq)
    return out


def label_texts(by: Any, n_documents: int) -> list[str | None]:
    """Return the label of each document as text, None where it has none; see :func:`place_in_groups`."""
    return [written(value) for value in _values(by, n_documents)]


def n_documents_of(X: Any) -> int | None:
    """Return how many documents there are, where that can be told without reading them."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    return len(X) if isinstance(X, Sized) else None


def _pair(by: Any) -> tuple[Any, Any]:
    """Return the labels of the rows and of the columns of a cross table."""
    columns: Any = getattr(by, "columns", None)
    if columns is not None and len(columns) == 2 and len(set(columns)) == 2:
        first, second = columns
        return by[first], by[second]
    if getattr(by, "ndim", 1) == 2 and by.shape[1] == 2 and isinstance(by, np.ndarray):
        return by[:, 0], by[:, 1]
    if isinstance(by, tuple | list) and len(by) == 2 and not any(isinstance(part, str) for part in by):
        return by[0], by[1]
    raise CorpusError(
        "for a cross table by must be a pair, the labels of the rows and those of the columns, or a frame of these "
        "two columns; by=tuple(zip(*pairs)) makes one of a list of pairs."
    )


def _listed(by: Any) -> list[Any] | None:
    """Return labels as a list; None where they come with no length, and are read when that is asked for."""
    if isinstance(by, str | bytes | Mapping) or not isinstance(by, Iterable):
        raise CorpusError(f"by must be a sequence with a label for each document, but is {kind_of(by)}.")
    if getattr(by, "ndim", 1) != 1 or hasattr(by, "columns"):
        raise CorpusError(
            "by must have one dimension: one label for each document; two are for a cross table, "
            "groups=(rows, columns)."
        )
    if not isinstance(by, Sized | Iterator):
        return None
    if isinstance(by, np.ndarray) and by.dtype.kind == "M":
        return [None if np.isnat(value) else value.astype("datetime64[D]").item() for value in by]
    array: Any = by
    return list(array.tolist() if hasattr(array, "tolist") else array)


def _values(by: Any, n_documents: int) -> list[Any]:
    values = by if isinstance(by, list) else _listed(by)
    values = list(by) if values is None else values
    if len(values) != n_documents:
        raise _other_length(n_documents, len(values))
    return values


def _other_length(n_documents: int, n_labels: int) -> CorpusError:
    return CorpusError(f"by must have a label for each of {n_documents} documents, but has {n_labels}.")


def _not_listed(rows: list[int], n_groups: int, freq: str | None) -> CorpusError:
    """Labels of documents are private: the error tells where to look, and shows none."""
    plural = "" if len(rows) == 1 else "s"
    what = f"label{plural} {'is' if len(rows) == 1 else 'are'} not among the {n_groups} group"
    cure: list[Part] = ["Add them to the public list"]
    if freq is not None:
        cure = ["Take a longer public range (", Parameter("start"), ", ", Parameter("end"), ")"]
    return CorpusError(
        f"{len(rows)} {what}{'' if n_groups == 1 else 's'} (first seen in row{plural} {first_few(rows)}). ",
        *cure,
        ", or choose ",
        Proposal("unlisted", "other"),
        " or ",
        Proposal("unlisted", "leave_out"),
        ".",
    )
