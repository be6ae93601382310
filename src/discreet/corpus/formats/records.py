"""What all readers of raw text share: a record, its checks, and the loop that counts.

A reader yields one :class:`Record` a document. Nothing is kept of it but counts, the number of its person and
its label, so memory grows with the number of different words in each document and not with the text.
"""

import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from discreet._base.persons import is_missing_person, person_key, why_nobody
from discreet._base.progress import Callback, tell
from discreet._base.validate import first_few, nearest, quoted, shown
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import TextCounter
from discreet.corpus.files import Problems, is_field_name
from discreet.corpus.shards.shard_file import Rows
from discreet.corpus.shards.spill import Spill
from discreet.corpus.tokenizer import Tokenizer, check_tokens
from discreet.corpus.vocabulary import FROM_TEXT
from discreet.errors import CorpusError, ParameterError

_TELL_EVERY = 1000
_SPILL_EVERY = 1 << 21
_MOST_NAMES = 30
#: Dates, times and numbers with a point or a comma, which name no field; "," may have been taken for the delimiter.
_VALUE = re.compile(r"(^|;)\d+([-./:,]\d+)+([T ]\d.*)?($|;)")
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([T ]\d.*)?")


class Record(NamedTuple):
    """One document as a reader finds it; person and label are unchecked."""

    where: int
    text: object
    person: object = None
    label: object = None


class Fields(NamedTuple):
    """Names of the fields to use; None where a field is not wanted."""

    text: str
    person: str | None
    label: str | None

    @property
    def wanted(self) -> list[str]:
        """Each name once."""
        return list(dict.fromkeys(field for field in self if field is not None))


class Reading(NamedTuple):
    """Everything a reader of raw text is told."""

    fields: Fields
    tokenizer: Tokenizer
    vocabulary: tuple[str, ...] | None
    encoding: str
    delimiter: str | None
    callback: Callback | None
    skip_empty: bool = False
    spill: Spill | None = None
    keep_empty: bool = False
    sheet: str | None = None


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
        Empty where there is a spill, which then has the documents.
    """
    spill, fields = reading.spill, reading.fields
    if fields.person == fields.text:  # each text would be a person, and nobody's texts protected together
        raise ParameterError(f"`person` and `text` are one field, {shown(fields.text)}: name two.")
    counter = None if spill is None else spill.counter
    counter = counter or TextCounter(reading.tokenizer, reading.vocabulary)
    persons, labels, rows = list[Any](), list[int | str](), array("q")
    numbers, label_seen = dict[str, int](), dict[str, str]()  # each is held once
    n_records = n_skipped = 0
    # Rows that `skip_empty` would leave out. A text alone may be the name of its column.
    n_missing = n_blank = n_nobody = n_headers = 0
    names = list(map(str, fields[1:])) if len(fields.wanted) > 1 else None
    lacking = False

    def put_away(spill: Spill) -> None:
        # Labels become texts: nobody knows yet whether all are numbers.
        said = None if fields.label is None else np.array([str(label) for label in labels], object)
        spill.add(Rows(counter.take(), None, said), None if fields.person is None else persons)
        spill.counter = counter
        persons.clear()
        labels.clear()

    for record in records:
        n_records += 1
        nobody = fields.person is not None and is_missing_person(record.person)
        blank = _says_nothing(record.text)
        header = isinstance(record.text, str) and record.text == fields.text
        header = header and list(map(str, record[2:])) == names
        n_headers += header
        if reading.skip_empty and (nobody or blank or header):
            n_skipped += 1
            continue
        missing = _is_missing(record.text)
        n_missing += missing
        n_blank += blank and not missing
        n_nobody += nobody
        if reading.skip_empty:
            rows.append(n_records - 1)
        fault = _count(record.text, counter, reading, only_check=bool(problems.found))
        faults = [fault, "this repeats the names of the columns" if header else None]
        lacks = header or (fault is not None and missing)
        if fields.person is not None:
            person = person_key(record.person)
            if person is None:
                lacks |= nobody
                why = why_nobody(record.person)
                faults.append(f"field {fields.person!r} must name the person, found {why}")
            else:
                persons.append(numbers.setdefault(person, len(numbers)) if spill is None else person)
        if fields.label is not None:
            label: Any = "" if _is_missing(record.label) else record.label
            if isinstance(label, date):
                label = label.isoformat()[:10].replace("NaT", "")  # pandas calls a missing date one
            if isinstance(label, str):
                labels.append(label_seen.setdefault(label, label))
            elif isinstance(label, int):
                labels.append(int(label))
            else:
                kind = _kind(label)
                faults.append(
                    f"field {fields.label!r} must be text, a whole number or a date, or missing, found {kind}"
                )
        lacking |= lacks
        if lacking:
            kinds = {
                "without text": n_missing, "without a person": n_nobody, "like the header": n_headers,
                "of blanks alone (no problem in themselves)": n_blank,
            }  # fmt: skip
            told = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n)
            problems.advice = f"; `skip_empty=True` leaves out rows, {told}"
        for fault in filter(None, faults):
            problems.add(place(record.where), fault, empty=lacks)
        if progress is not None and n_records % _TELL_EVERY == 0:
            tell(reading.callback, "reading", *progress())
        if spill is not None and counter.n_entries > _SPILL_EVERY and not problems.found:
            put_away(spill)
    problems.check()
    if n_headers:
        problems.notes.append(f"of the rows left out, {n_headers:,} repeated the names of the columns")
    if numbers and all(map(_DATE.fullmatch, numbers)):
        problems.notes.append(f"the persons in {quoted(str(fields.person))} look like dates")
    if n_records == n_skipped:
        raise CorpusError(f"{problems.name} is empty: expected at least one document.")
    if progress is not None:
        total = progress()[1]
        tell(reading.callback, "reading", total, total)
    if spill is not None:
        counter.check()  # as `finish` does
        put_away(spill)
        return Corpus(np.zeros((0, 0)), ())
    counts, words = counter.finish()
    if not words:
        raise CorpusError(
            f"{problems.name}: no words in {n_records} document{'s' * (n_records != 1)}; look at the text and at "
            "`token_pattern`."
        )
    if label_seen:
        labels = [str(label) for label in labels]
    whose = None if fields.person is None else np.array(persons, np.int64)
    corpus = Corpus(counts, words, whose, None if fields.label is None else labels)
    corpus = corpus if reading.vocabulary is not None else corpus.with_word_origin(FROM_TEXT)
    return corpus.read_as(
        n_skipped=n_skipped,
        rows=np.frombuffer(rows, np.int64) if n_skipped else None,
        cut=reading.tokenizer.settings(),
        fields=tuple(problems.fields),
        notes=tuple(problems.notes),
        texts_digest=counter.texts_digest,
    )


def _count(document: Any, counter: TextCounter, reading: Reading, *, only_check: bool) -> str | None:
    """Count a document, a text or a list of tokens, or say what is wrong; all of a file are of one kind."""
    if reading.keep_empty and _is_missing(document):
        counter.add_tokens([])
        return None
    field, listed = reading.fields.text, _is_list(document)
    if not listed and not isinstance(document, str):
        return f"field {field!r} must be text, found {_kind(document)}"
    tokens = check_tokens(document) if listed else []
    if isinstance(tokens, str):
        return f"field {field!r}: {tokens}"
    if listed and counter.listed is None and reading.tokenizer.is_of_texts:
        return f"field {field!r} holds tokens: leave out tokenizer=, token_pattern= and lowercase="
    if counter.listed not in (None, listed):
        kinds = ("text", "a list of tokens")
        return f"field {field!r} holds {kinds[listed]}, but {kinds[not listed]} before"
    counter.listed = listed
    if listed and not only_check:  # after the first mistake in a file the rest is only checked
        counter.add_tokens(tokens)
    elif not only_check:
        counter.add(document)
    return None


def _is_list(document: Any) -> bool:
    return isinstance(document, list | tuple | np.ndarray)


def _is_missing(text: Any) -> bool:
    return text is None or (isinstance(text, float) and math.isnan(text))


def _says_nothing(text: Any) -> bool:
    """Whether a document has no text: missing, blank, or an empty list of tokens."""
    if _is_list(text):
        return len(text) == 0
    return _is_missing(text) or (isinstance(text, str) and not text.strip())


def records_of_rows(
    names: Sequence[str], rows: Iterable[tuple[int, Sequence[Any]]], reading: Reading, problems: Problems
) -> Iterator[Record]:
    """Return a record of each row, a number and a value for each of ``names``, which are looked at first."""
    choose_fields(reading, names, problems)
    places = [None if field is None else names.index(field) for field in reading.fields]
    return (
        Record(number, *(None if place is None else row[place] for place in places)) for number, row in rows
    )


def choose_fields(reading: Reading, found: Iterable[str], problems: Problems, place: str = "") -> None:
    """Note which fields a file has, and check that those wanted are there; the error says which fields exist."""
    names, file = list(found), f"{problems.name}{place}"
    problems.fields = names
    option = {name: field for name, field in reading.fields._asdict().items() if field is not None}
    absent = [f"`{name}={quoted(field)}`" for name, field in option.items() if field not in names]
    if absent:
        strange = next(field for field in option.values() if field not in names)
        near = _misread(strange, names) or nearest(strange, filter(is_field_name, names))
        found = f"its fields are {show_fields(names)}.{near or ' Name one of these.'}"
        if not near and any(map(_VALUE.search, names)):
            found = "its first line seems to hold data: put one of names, such as person;text, before it."
        raise CorpusError(f"{file} has no field for {', '.join(absent)}; {found}")
    refuse_repeated(option.values(), names, file)


def refuse_repeated(wanted: Iterable[Any], names: list[Any], file: str) -> None:
    """Refuse columns that are named alike, of those that are wanted."""
    twice = list(dict.fromkeys(field for field in wanted if names.count(field) > 1))
    if twice:
        raise CorpusError(
            f"{file} has more than one column named {first_few(map(repr, twice))}; rename them."
        )


def _misread(name: str, names: Iterable[str]) -> str:
    """Say, after a blank, where a field differs in letters beyond ASCII alone, as a wrong encoding makes them."""
    plain = name.encode("ascii", "ignore")
    if plain == name.encode() or plain not in [other.encode("ascii", "ignore") for other in names]:
        return ""
    return " One differs in letters beyond ASCII alone: is `encoding=` wrong, or was the file saved wrongly?"


def records_of_objects(
    values: Iterable[tuple[int, dict[str, Any], str | None]],
    reading: Reading,
    problems: Problems,
    place: str = "line {}",
) -> Iterator[Record]:
    """Yield a record of each JSON object; ``values`` says on which line it is, and what is wrong with it."""
    text, person, label = reading.fields
    first: dict[str, Any] | None = None
    labelled = False
    for number, value, fault in values:
        if fault is not None:
            problems.add(place.format(number), fault)
            continue
        if first is None:
            first = value
            problems.fields = list(first)
            if label is None or not {text, person} - {None} <= set(first):
                choose_fields(reading, first, problems, f", {place.format(number)},")
        labelled |= label in value
        missing = [field for field in (text, person) if field is not None and field not in value]
        if missing and (reading.skip_empty or (reading.keep_empty and missing == [text])):
            value = {**value, **dict.fromkeys(missing)}  # noqa: PLW2901  (a field left out is a missing one)
        elif missing:
            problems.add(place.format(number), f"no field {', '.join(map(repr, missing))}")
            continue
        yield Record(
            number,
            value[text],
            None if person is None else value[person],
            None if label is None else value.get(label),  # one left out is a missing one
        )
    if label is not None and first is not None and not labelled:
        choose_fields(reading, first, problems, ", in all documents,")


def show_fields(names: Iterable[str]) -> str:
    """List the names of fields, for whoever holds the file.

    Names so long that they may be text of a file without a header are only counted.
    """
    listed = list(names)
    known = [name for name in listed if is_field_name(name)]
    others = len(listed) - len(known)
    if not listed:
        return "none"
    if not known:
        return f"not shown ({others} in all), because names so long may be text: is there a header?"
    more = f" and {others} more, not shown, because names so long may be text" if others else ""
    return first_few(map(quoted, known), _MOST_NAMES) + more


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
