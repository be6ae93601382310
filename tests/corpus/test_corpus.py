import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import corpus as naive

from discreet.corpus import Corpus, check_counts
from discreet.errors import CorpusError, ParameterError


@pytest.fixture
def corpus():
    counts = np.random.default_rng(0).poisson(0.4, (40, 12))
    counts[5] = 0
    return Corpus(counts, [f"w{i}" for i in range(12)], persons=np.arange(40) // 4, labels=["x", "yy"] * 20)


def test_sizes_and_canonical_form(corpus):
    assert (corpus.n_documents, corpus.n_words, corpus.n_units, len(corpus)) == (40, 12, 10, 40)
    assert corpus.n_tokens == corpus.counts.sum()
    assert corpus.counts.dtype == np.int32
    assert corpus.counts.has_canonical_format
    assert corpus.counts.data.min() > 0
    assert corpus.persons.dtype == np.int64
    assert corpus.labels[1] == "yy"
    assert corpus.word_origin.kind == "unknown"
    assert Corpus(corpus.counts, corpus.vocabulary).n_units == 40


def test_is_frozen_and_shows_sizes_only(corpus):
    with pytest.raises(AttributeError):
        corpus.counts = None
    with pytest.raises(AttributeError):
        corpus.anything = 1
    secret = Corpus.from_texts(["topsecretword here"])
    assert "topsecretword" not in repr(secret) + str(secret)
    assert "private words" in repr(secret)
    assert "10 persons, labels" in repr(corpus)


def test_never_changes_what_it_is_given():
    dense = np.array([[0, 2.0], [1, 0]])
    messy = sp.csr_matrix((np.array([1, 2, 0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = messy.data.copy(), messy.indices.copy()
    assert check_counts(messy).toarray().tolist() == [[0, 3], [0, 0]]
    assert np.array_equal(messy.data, before[0])
    assert np.array_equal(messy.indices, before[1])
    result = check_counts(dense)
    assert result.dtype == np.int32
    assert dense.dtype == np.float64


def test_shares_memory_where_it_can(corpus):
    again = check_counts(corpus.counts)
    assert np.shares_memory(again.data, corpus.counts.data)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, np.asarray, list])
def test_takes_what_scikit_learn_takes(make):
    values = [[0, 2, 1], [3, 0, 0]]
    got = check_counts(make(values))
    assert isinstance(got, sp.csr_matrix)
    assert got.toarray().tolist() == values
    assert check_counts(make(np.array(values, float).tolist())).dtype == np.int32


@pytest.mark.parametrize("kind", ["i2", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_takes_numbers_in_the_byte_order_of_any_machine(kind, order):
    """Of one order scipy made an error of its own, after the cost of a fit was booked."""
    given = np.array([[0, 2, 1], [3, 0, 0]]).astype(order + kind)
    got = check_counts(given)
    assert got.dtype == np.int32
    assert got.toarray().tolist() == [[0, 2, 1], [3, 0, 0]]
    assert given.dtype.str == order + kind


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, -1]], "Negative values in data passed to X in row 1 (counted from 1)"),
        ([[1, 0], [np.nan, 1]], "Input X contains NaN in row 2 (counted from 1)"),
        ([[1, 0], [np.inf, 1]], "infinity in row 2 (counted from 1)"),
        ([[1, 0.5]], "not whole numbers in row 1 (counted from 1)"),
        ([[2.0**31, 0]], "above 2147483647 in row 1 (counted from 1)"),
        ([1, 2], "Expected 2D array"),
        ([[]], "0 feature(s) (shape=(1, 0)) while a minimum of 1 is required."),
        (np.zeros((0, 3)), "0 sample(s)"),
        ([[1j, 0]], "Complex data not supported"),
        (
            sp.csr_matrix([[0, 1.5], [2, -3]]),
            "not whole numbers in row 1 (counted from 1); Negative values in data passed to X in row 2 (",
        ),
        (np.full((9, 2), -1), "in row 1, 2, 3, 4, 5 and 4 more (counted from 1)"),
    ],
)
def test_names_the_first_bad_rows(X, message):
    with pytest.raises(CorpusError) as error:
        check_counts(X)
    assert message in str(error.value)


def test_repeated_entries_that_overflow_are_an_error():
    X = sp.csr_matrix(
        (np.array([2**30, 2**30], np.int32), np.array([0, 0]), np.array([0, 0, 2])), shape=(2, 1)
    )
    with pytest.raises(CorpusError, match=r"row 2 .counted from 1.: repeated entries"):
        check_counts(X)


def test_a_matrix_that_points_outside_is_refused():
    for make in (sp.csr_matrix, sp.csc_matrix, sp.bsr_matrix):
        for wrong in (7, -1):
            X = make(np.eye(3))
            X.indices[1] = wrong
            with pytest.raises(CorpusError, match="outside its shape"):
                check_counts(X)
        X = make(np.eye(3))
        X.indptr[1] = 9
        with pytest.raises(CorpusError, match="outside its shape"):
            check_counts(X)
    X = sp.coo_matrix(np.eye(3))
    X.coords[0][1] = 7
    with pytest.raises(CorpusError, match="outside its shape"):
        check_counts(X)


def lil(rows=None, data=None):
    X = sp.lil_matrix(np.eye(3))
    if rows is not None:
        X.rows[0] = rows
    if data is not None:
        X.data[0] = data
    return X


def dok(place):
    X = sp.dok_matrix(np.eye(3))
    X._dict[place] = 1.0
    return X


def dia(offsets, width=3):
    X = sp.dia_matrix(np.eye(3))
    X.offsets, X.data = np.array(offsets), np.ones((1, width))
    return X


@pytest.mark.parametrize(
    "X",
    [
        lil([10**6], [1.0]), lil([-5], [1.0]), lil([0, 1], [1.0]), lil([0], [1.0, 2.0]), lil(["Jane Roe"], [1.0]),
        lil([0], ["Jane Roe"]), lil("ab", [1.0]), dok((0, 10**6)), dok((-1, 0)), dok((0,)), dok(("Jane Roe", 0)),
        dia([7]), dia([-9]), dia([0, 1]), dia(["Jane Roe"]),
    ],
)  # fmt: skip
def test_a_broken_matrix_of_any_format_is_refused_before_compiled_code_sees_it(X):
    with pytest.raises(CorpusError, match="outside its shape") as error:
        check_counts(X)
    assert error.value.__context__ is None


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_whole_matrices_of_any_format_are_taken(form):
    for kind in (sp.csr_matrix, sp.csr_array):
        X = kind(np.random.default_rng(0).poisson(0.4, (7, 5))).asformat(form)
        assert np.array_equal(check_counts(X).toarray(), X.toarray())


def test_a_flag_that_lies_about_order_is_not_believed():
    X = sp.csr_matrix((np.array([1, 2, 3]), np.array([2, 0, 0]), np.array([0, 3])), shape=(1, 3))
    X.has_sorted_indices = X.has_canonical_format = True
    assert check_counts(X).toarray().tolist() == [[5, 0, 1]]
    assert check_counts(X).indices.tolist() == [0, 2]


TEXTS = ["Jane Roe, HIV positive", "more text"]


@pytest.mark.parametrize(
    "X",
    [
        TEXTS[0], TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object), [TEXTS, TEXTS], [["3", 1], [2, 3]],
        [["Jane", "Roe"], ["HIV"]], np.array([[TEXTS[0], 1], [2, 3]], object), [TEXTS[0].encode()], np.array([b"Jane"]),
        pd.Series(TEXTS), pd.Series(TEXTS, dtype="category"), pd.DataFrame({"body": TEXTS, "n": [1, 2]}),
        pl.Series(TEXTS), pl.DataFrame({"body": TEXTS, "n": [1, 2]}), pa.table({"body": TEXTS}),
    ],
)  # fmt: skip
def test_text_is_refused_with_advice_and_never_shown(X):
    with pytest.raises(
        CorpusError, match=r"X holds text.*PrivateCountVectorizer.*words_are_public=True"
    ) as error:
        check_counts(X)
    assert error.value.__context__ is None
    assert not any(word in str(error.value) for word in ("Jane", "Roe", "HIV", "positive"))


class Talkative:
    """An object whose every way of becoming a number shows what it holds."""

    def __float__(self, *_):
        raise ValueError("Jane Roe")

    __array__ = __int__ = __index__ = __repr__ = __str__ = __float__


def talkative():
    X = np.ones((2, 2), object)
    X[1, 1] = Talkative()
    return X


@pytest.mark.parametrize(
    "X", [Talkative(), [[Talkative()]], talkative(), [{"Jane Roe": 1}], {"Jane Roe": 1},
          iter(["Jane Roe"]), [[1], [2, 3]], np.array([["2020-01-01"]], "M8[D]"), np.zeros(2, [("Jane Roe", int)]),
          np.ma.array([[1, 2]], mask=[[0, 1]]), [[None, 10**400]], pd.DataFrame({"a": [{"Jane Roe": 1}]})],
)  # fmt: skip
def test_other_objects_are_refused_for_their_kind_alone(X):
    with pytest.raises((CorpusError, TypeError)) as error:
        check_counts(X)
    assert error.value.__context__ is None
    assert "Jane" not in str(error.value)


def test_room_for_more_entries_is_not_counted():
    X = sp.csr_matrix((np.array([1, 2, -9]), np.array([0, 1, 77]), np.array([0, 1, 2])), shape=(2, 2))
    assert check_counts(X).toarray().tolist() == [[1, 0], [0, 2]]


def test_n_words_is_checked(corpus):
    assert check_counts(corpus, n_words=12) is corpus.counts
    with pytest.raises(CorpusError, match="X has 12 features, but 13 words"):
        check_counts(corpus, n_words=13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": ["a"]}, "vocabulary has 1 words, but the counts have 2 columns"),
        ({"vocabulary": ["same", "same"]}, "1 (same as 0)"),
        ({"vocabulary": ["a", ""]}, "must not be empty"),
        ({"vocabulary": ["a", "b\n"]}, "line break"),
        ({"vocabulary": ["a", "b\u2028c"]}, "line break"),
        ({"vocabulary": ["a", "\ud800"]}, "lone surrogate"),
        ({"vocabulary": ["a", 1]}, "expected a word (str), found int"),
        ({"persons": [1]}, "persons must have shape (2,)"),
        ({"persons": [1.5, 2]}, "persons must name whose document each row is"),
        ({"persons": ["a", None]}, "row 2 (counted from 1) has nothing"),
        ({"labels": [1]}, "labels must have shape (2,)"),
        ({"labels": [None, "a"]}, "row 1 (counted from 1) is neither"),
        ({"labels": ["a", 1]}, "row 2 (counted from 1) is neither"),
        ({"vocabulary": "ab"}, "got one str"),
    ],
)
def test_parts_must_fit_together(options, message):
    with pytest.raises(CorpusError) as error:
        Corpus(**({"counts": [[1, 0], [0, 2]], "vocabulary": ["a", "b"]} | options))
    assert message in str(error.value)
    assert "same'" not in str(error.value)  # a word is not shown


def test_take(corpus):
    some = corpus.take([3, 1])
    assert np.array_equal(some.counts.toarray(), corpus.counts.toarray()[[3, 1]])
    assert some.persons.tolist() == [0, 0]
    assert corpus.take(corpus.persons == 2).n_documents == 4
    assert corpus.take([]).n_documents == 0
    for wrong in ([40], [-41], [0.5], [[1]], [True]):
        with pytest.raises(CorpusError):
            corpus.take(wrong)


@given(seed=st.integers(0, 1000), order=st.permutations(range(8)), kept=st.integers(1, 8))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_restrict_agrees_with_dictionaries(seed, order, kept):
    counts = np.random.default_rng(seed).poisson(0.5, (6, 8))
    corpus = Corpus(counts, [f"w{i}" for i in range(8)])
    words = [f"w{i}" for i in order[:kept]] + ["new"]
    got = corpus.restrict(words)
    assert got.vocabulary == tuple(words)
    assert got.counts.has_canonical_format
    expected = [{w: n for w, n in row.items() if w in words} for row in naive.as_documents(corpus)]
    assert naive.as_documents(got) == expected


def test_split_keeps_persons_whole(corpus):
    for seed in range(20):
        train, test = corpus.split(0.3, random_state=seed)
        assert not set(train.persons) & set(test.persons)
        assert len(set(test.persons)) == 3
        assert train.n_documents + test.n_documents == 40
    # Planted mistake: splitting by document tears persons apart, and this check would notice.
    train, test = corpus.split(0.3, random_state=0, by="document")
    assert set(train.persons) & set(test.persons)


def test_split_sizes_and_seed(corpus):
    train, test = corpus.split(7, random_state=1, by="document")
    assert (train.n_documents, test.n_documents) == (33, 7)
    again = corpus.split(7, random_state=1, by="document")
    assert np.array_equal(again[1].counts.toarray(), test.counts.toarray())
    other = corpus.split(7, random_state=2, by="document")
    assert not np.array_equal(other[1].counts.toarray(), test.counts.toarray())
    with pytest.raises(TypeError):
        corpus.split(0.2)  # no split without a seed
    for wrong in (0, 1.0, 0.0, 41, True, "half", -3):
        with pytest.raises(ParameterError):
            corpus.split(wrong, random_state=0)
    with pytest.raises(CorpusError, match="needs a corpus with persons"):
        Corpus(corpus.counts, corpus.vocabulary).split(0.2, random_state=0, by="person")
    with pytest.raises(ParameterError):
        corpus.split(0.2, random_state=0, by="ward")


def test_copies_for_worker_processes_are_the_same(corpus):
    again = pickle.loads(pickle.dumps(corpus))  # noqa: S301
    assert np.array_equal(again.counts.toarray(), corpus.counts.toarray())
    assert again.vocabulary == corpus.vocabulary


def test_from_texts_refuses_what_is_not_text():
    with pytest.raises(CorpusError, match=r"text 2 .counted from 1.: expected str, found bytes"):
        Corpus.from_texts(["fine text", b"bytes"])
    with pytest.raises(CorpusError, match=r"use \[text\]"):
        Corpus.from_texts("one text")
