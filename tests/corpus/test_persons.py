"""One person is one unit: any two representations of an id are one, any two ids are two, and nobody is refused."""

import unicodedata
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.corpus import bare, same_person, two_readings

from discreet import fit_topics
from discreet._base.persons import number_persons, person_key
from discreet.corpus import Corpus, read_corpus
from discreet.errors import CorpusError, ParameterError

MISSING = (
    "None", "none", "nan", "NaN", "NAN", "NaT", "<NA>", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "-nan", "#NV",
    "(null)", "<NULL>", "\\N", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#\u00a1REF!", "#NOM ?",
)  # fmt: skip
INTEGERS = (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = {float: 10**15, np.float16: 2**11, np.float32: 2**24, np.float64: 10**15}
near_a_limit = st.sampled_from([7, 2**11, 2**24, 10**15, 2**53, 2**60, 2**63, 2**64, 10**30]).flatmap(
    lambda limit: st.integers(-3, 3).map(limit.__add__)
)
ids = st.one_of(
    st.integers(-12, 12),
    near_a_limit,
    near_a_limit.map(lambda number: -number),
    st.text(max_size=4),
    st.sampled_from(
        [
            "é",
            "e\u0301",
            "ａ",
            "a",
            "A",
            " a",
            "a ",
            "007",
            "7",
            "7.0",
            "7,00",
            "7.",
            "7.5",
            "70.000",
            "7.0000",
            "1e3",
            " 7 ",
            "NA ",
            "\ufeff7",
            "x\u200b",
            "\u200fx\u2060",
            "x\u200d\u00ad ",
            "\u200ex\x00",
            "+7",
            "-0",
            "0",
            "０",
            "ﬁ",
            "Å",
            "\u212b",
        ]
    ),
).filter(
    lambda person: (
        not isinstance(person, str)
        or (
            bare(person)
            and bare(person).casefold() not in map(str.casefold, MISSING)
            and not two_readings(person)
        )
    )
)


def representations(person):
    """Everything that may stand for this id."""
    if isinstance(person, str):
        forms = [unicodedata.normalize(form, person) for form in ("NFC", "NFD")]
        return [person, *forms, *map(np.str_, forms), f" {person}", f"{person}\u00a0\t"]
    found = [
        person,
        str(person),
        np.str_(person),
        Decimal(person),
        f"{person}.0",
        f"{person},00",
        f" {person}\n",
    ]
    found += [kind(person) for kind in INTEGERS if np.iinfo(kind).min <= person <= np.iinfo(kind).max]
    return found + [kind(person) for kind, limit in FLOATS.items() if abs(person) < limit]


@settings(max_examples=400, deadline=None)
@given(st.lists(ids, min_size=1, max_size=12), st.data())
def test_any_two_representations_are_one_person_and_any_two_ids_are_two(persons, data):
    written = [data.draw(st.sampled_from(representations(person))) for person in persons]
    numbers = number_persons(written, len(persons))
    assert numbers.dtype == np.int64
    for i, one in enumerate(persons):
        for j, other in enumerate(persons):
            assert (numbers[i] == numbers[j]) == same_person(one, other), (one, other)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1, max_size=8))
def test_containers_change_nothing(persons):
    expected = np.array(persons, np.int64)
    text = [str(person) for person in persons]
    given_as = [
        persons, tuple(persons), expected, expected.astype(object), list(expected), text, np.array(text),
        np.array(text, object), pd.Series(persons), pd.Series(persons, dtype="Int64"), pd.Series(text),
        pd.Series(persons).astype("category"), pd.Series(text).astype("category"), pd.array(text, dtype="string"),
        pl.Series(persons, dtype=pl.Int64), pl.Series(text), pl.Series(text, dtype=pl.Categorical),
        pa.array(persons, pa.int64()), pa.chunked_array([text]), pa.array(text).dictionary_encode(),
    ]  # fmt: skip
    for container in given_as:
        assert number_persons(container, len(persons)).tolist() == persons, type(container)


def test_numbers_follow_the_order_of_the_ids_and_nothing_else():
    assert number_persons(["b", 10**30, "a", 9, "b"], 5).tolist() == [3, 1, 2, 0, 3]
    assert number_persons(["10", "9"], 2).tolist() == [10, 9]
    assert number_persons(np.array([2**63 + 1, 2**63 + 2, 0], np.uint64), 3).tolist() == [1, 2, 0]
    assert number_persons([], 0).tolist() == []


@pytest.mark.parametrize(
    ("nobody", "what"),
    [
        (None, "nothing"), (float("nan"), "nothing (NaN)"), (np.float32("nan"), "nothing (NaN)"), ("", "empty text"),
        (" \t", "empty text"), ("nan", "missing value"), ("None", "missing value"), (np.str_("<NA>"), "missing value"),
        (" NULL", "missing value"), ("NA", "missing value"), ("1.23457E+11", "read in two ways"),
        ("1e+05", "read in two ways"), ("7.000", "read in two ways"), ("-123,000 ", "read in two ways"),
        (pd.NA, "nothing"), (pd.NaT, "nothing"), (np.datetime64("NaT"), "nothing (NaT)"), (Decimal("NaN"), "(NaN)"),
        (Decimal("sNaN"), "(NaN)"), (1.5, "not whole"), (float("inf"), "not whole, or too large"),
        (Decimal("7.5"), "not whole"), (Decimal("1e999999"), "too large"), (True, "true or false"),
        (np.True_, "true or false"), (b"P17", "an object (bytes)"), (1e15, "rounded"),
        (np.float32(2**24), "rounded"),
        (np.float16(2**11), "rounded"),
        pytest.param(10**5000, "thousands of digits", id="huge"), (np.datetime64("2020-01-01"), "a date"),
        (object(), "an object (object)"), ({}, "an object (dict)"),
        *((text, "missing value") for text in MISSING),
    ],
)  # fmt: skip
def test_what_names_nobody_is_refused_with_its_row(nobody, what):
    assert person_key(nobody) is None
    with pytest.raises(CorpusError, match=r"row 3 .counted from 1. has") as error:
        number_persons(["Jane Roe", 8, nobody, 8], 4)
    assert what in str(error.value)
    assert "Jane" not in str(error.value)
    assert error.value.__context__ is None


@pytest.mark.parametrize(
    "persons",
    [
        np.array([1.0, np.nan]), np.array(["a", "nan"]), np.ma.array([1, 2], mask=[0, 1]), pd.Series(["a", None]),
        pd.Series([1, None], dtype="Int64"), pd.Series(["a", None], dtype="category"), pl.Series([1, None]),
        pl.Series(["a", None]), pa.array(["a", None]), np.array(["2020-01-01", "NaT"], "M8[D]").astype(object),
    ],
)  # fmt: skip
def test_missing_persons_of_any_container_are_refused(persons):
    with pytest.raises(CorpusError, match=r"row (1, )?2 .counted from 1. ha"):
        number_persons(persons, 2)


@pytest.mark.parametrize(
    "persons",
    [
        "ab",
        b"ab",
        3,
        None,
        {"a": 1, "b": 2},
        {1, 2},
        iter([1, 2]),
        (person for person in "ab"),
        [1],
        [[1], [2]],
        np.ones((2, 1)),
        pd.DataFrame({"a": [1, 2]}),
    ],
)
def test_persons_must_be_a_row_each(persons):
    with pytest.raises(CorpusError, match=r"persons must have shape \(2,\)"):
        number_persons(persons, 2)


def test_readers_and_corpora_use_the_same_rule(tmp_path):
    written = ["7", "7.0", '"7"', '" 7.0 "', "8", '"e\\u0301"', '"\\u00e9"']
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(f'{{"text": "word", "who": {person}}}\n' for person in written))
    corpus = read_corpus(file, person="who")
    assert corpus.persons.tolist() == [0, 0, 0, 0, 1, 2, 2]
    names = tmp_path / "persons.txt"
    names.write_text("8\n07\n7\ne\u0301\né\n7.0\n 7\n", encoding="utf-8")
    by_row = read_corpus(file, persons=names).persons
    assert (
        by_row.tolist()
        == Corpus(corpus.counts, corpus.vocabulary, [8, "07", 7.0, "é", "é", "7", 7]).persons.tolist()
    )
    assert len(set(by_row.tolist())) == 4
    file.write_text('{"text": "word", "who": "Jane"}\n{"text": "word", "who": "nan"}\n')
    with pytest.raises(
        CorpusError, match="line 2: field 'who' must name the person, found the text of a missing"
    ) as error:
        read_corpus(file, person="who")
    assert "Jane" not in str(error.value)


def test_only_ways_to_write_one_name_or_number_are_made_equal():
    one = [
        ("é", "e\u0301"), ("\u212b", "Å"), ("\ud55c", "\u1112\u1161\u11ab"), ("7.0", 7), (" 7", "7"), ("7,0", "7.00"),
        ("-7.0", -7), ("-0", 0), ("1234.000", "1234"), ("0.000", 0), ("P7 ", "P7"), ("Jane\u00a0", "\tJane"),
        (f"{2**63}.0", 2**63), ("7.0000", 7), ("\ufeff7", 7), ("a\u200b", "a"),
        ("\u200ea", "a"), ("a\u2060 ", "a"), ("\u00ad a", "a"), ("a\u200d", "a"), ("\u200f7\u200f", 7), ("a\x00", "a"),
    ]  # fmt: skip
    assert all(same_person(*pair) and len(set(number_persons(pair, 2).tolist())) == 1 for pair in one)
    two = [
        ("a", "A"), ("a b", "a  b"), ("ａ", "a"), ("ﬁ", "fi"), ("007", "7"), ("007", "7.0"), ("+7", 7), ("７", 7),
        ("7.5", 7), ("7.0.0", 7), ("7.", 7), ("1,234", 1234), ("а", "a"), ("ß", "ss"), ("i", "ı"), ("a\u200bb", "ab"),
        (2**53, 2**53 + 1), (-7, 7), ("1e3", 1000),
    ]  # fmt: skip
    for pair in two:
        assert not same_person(*pair)
        assert len(set(number_persons(pair, 2).tolist())) == 2, pair


def test_the_text_is_nobodys_name(tmp_path):
    """Each text was a person of its own, and a fit said that it protected each person."""
    path = tmp_path / "notes.csv"
    path.write_text("text,who\na b,x\nc d,x\n")
    for source in (path, pd.read_csv(path)):
        with pytest.raises(ParameterError, match="are one field, 'text': name two"):
            fit_topics(source, person="text", epsilon=1.0)
