"""What all readers of raw text share: a record, its checks, and the loop that counts.

A reader yields one :class:`Record` a document. Nothing is kept of it but counts, the number of its owner and
its label, so memory grows with the number of different words in each document and not with the text.
"""

import math
from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from discreet._progress import Callback, tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import TextCounter
from discreet.corpus.files import Problems, first_few
from discreet.corpus.tokenizer import Tokenizer
from discreet.errors import CorpusError

__all__ = ["Fields", "Reading", "Record", "choose_fields", "gather", "show_fields"]

_TELL_EVERY = 1000
_LONGEST_NAME = 40


class Record(NamedTuple):
    """One document as a reader finds it; owner and label are unchecked."""

    where: int
    text: object
    owner: object = None
    label: object = None


class Fields(NamedTuple):
    """Names of the fields to use; None where a field is not wanted."""

    text: str
    owner: str | None
    label: str | None


class Reading(NamedTuple):
    """Everything a reader of raw text is told."""

    fields: Fields
    tokenizer: Tokenizer
    vocabulary: tuple[str, ...] | None
    encoding: str
    delimiter: str | None
    callback: Callback | None


def gather(
    records: Iterable[Record],
    reading: Reading,
    problems: Problems,
    *,
    place: Callable[[int], str] = "line {}".format,
    progress: Callable[[], tuple[int, int]] | None = None,
) -> Corpus:
    """Count the words of all records.

    Parameters
    ----------
    records : iterable of Record
        Read once. The reader notes in ``problems`` what it could not make a record of.
    reading : Reading
        Fields, tokenizer and vocabulary.
    problems : Problems
        Where mistakes are noted; raised together at the end.
    place : callable
        Turns ``Record.where`` into words for an error.
    progress : callable, optional
        Returns steps done and steps in all.

    Returns
    -------
    Corpus
    """
    counter = TextCounter(reading.tokenizer, reading.vocabulary)
    fields = reading.fields
    number_of_owner: dict[str, int] = {}
    owners = array("q")
    labels: list[int | str] = []
    label_seen: dict[str, str] = {}
    n_records = 0
    for record in records:
        n_records += 1
        text = record.text
        if not isinstance(text, str):
            problems.add(place(record.where), f"field {fields.text!r} must be text, found {_kind(text)}")
        elif not problems.found:  # after the first mistake the rest is only checked
            counter.add(text)
        if fields.owner is not None:
            owner = _owner_key(record.owner)
            if owner is None:
                problems.add(
                    place(record.where),
                    f"field {fields.owner!r} must name the author, found {_kind(record.owner)}",
                )
            else:
                owners.append(number_of_owner.setdefault(owner, len(number_of_owner)))
        if fields.label is not None:
            label = record.label
            if isinstance(label, str):
                labels.append(label_seen.setdefault(label, label))
            elif isinstance(label, int):
                labels.append(int(label))
            else:
                problems.add(
                    place(record.where), f"field {fields.label!r} must be str or int, found {_kind(label)}"
                )
        if progress is not None and n_records % _TELL_EVERY == 0:
            tell(reading.callback, "reading", *progress())
    problems.check()
    if n_records == 0:
        raise CorpusError(f"{problems.name} is empty: expected at least one document.")
    if progress is not None:
        total = progress()[1]
        tell(reading.callback, "reading", total, total)
    counts, words = counter.finish()
    if not words:
        raise CorpusError(
            f"{problems.name}: no words in {n_records} documents; look at the text and at token_pattern."
        )
    if any(isinstance(label, str) for label in labels):
        labels = [str(label) for label in labels]
    return Corpus(
        counts,
        words,
        np.frombuffer(owners, np.int64) if fields.owner is not None else None,
        labels if fields.label is not None else None,
        vocabulary_is_public=reading.vocabulary is not None,
    )


def choose_fields(reading: Reading, found: Iterable[str], file: str) -> None:
    """Check that the fields wanted are there; the error says which fields exist."""
    names = list(found)
    option = {"text": reading.fields.text, "author": reading.fields.owner, "label": reading.fields.label}
    absent = [
        f"{name}={field!r}" for name, field in option.items() if field is not None and field not in names
    ]
    if absent:
        raise CorpusError(
            f"{file} has no field for {', '.join(absent)}; its fields are {show_fields(names)}."
        )
    twice = sorted({field for field in option.values() if field is not None and names.count(field) > 1})
    if twice:
        raise CorpusError(
            f"{file} has more than one column named {', '.join(map(repr, twice))}; rename them."
        )


def show_fields(names: list[str]) -> str:
    """List names of fields for an error. What is too long for a name may be text, and is not shown."""
    if not names:
        return "none"
    shown = [
        repr(n) if len(n) <= _LONGEST_NAME and n.count(" ") <= 3 else f"<{len(n)} characters>" for n in names
    ]
    return first_few(shown, 20)


def _owner_key(value: object) -> str | None:
    """Return what identifies an author, or None.

    7 and "7" are one author: to join two people costs accuracy, to part one person would break the promise.
    """
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return None
    if isinstance(value, int | np.integer):
        return str(int(value))
    if (
        isinstance(value, float) and math.isfinite(value) and value.is_integer()
    ):  # a column with gaps, read as floats
        return str(int(value))
    return None


def _kind(value: Any) -> str:
    """Name what was found, never show it."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "empty text" if not value else "text"
    if isinstance(value, float) and math.isnan(value):
        return "nothing (NaN)"
    names = {bool: "true or false", int: "a number", float: "a number", dict: "an object", list: "a list"}
    return names.get(type(value), type(value).__name__)
