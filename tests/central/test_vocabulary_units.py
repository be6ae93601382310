"""From documents to ranked words of units: the order belongs to the unit alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.vocabulary import preferences, units_of

from discreet.central.vocabulary.units import first_words, passing, rank_words, secret_order

KEY = b"a key of a test"
LETTERS = tuple("abcdefgh")
texts = st.lists(st.text("abcdefgh", max_size=9).map(list), max_size=10)


def counted(documents):
    words = tuple(sorted({word for document in documents for word in document}))
    column = {word: i for i, word in enumerate(words)}
    indptr, indices, data = [0], [], []
    for document in documents:
        for word in sorted(set(document)):
            indices.append(column[word])
            data.append(document.count(word))
        indptr.append(len(indices))
    counts = sp.csr_matrix((data, indices, indptr), shape=(len(documents), len(words)), dtype=np.int32)
    return counts, words


def spelled(units, words):
    cuts = zip(units.indptr[:-1], units.indptr[1:], strict=True)
    return [[words[word] for word in units.words[start:stop]] for start, stop in cuts]


def ranked(documents, persons=None, *, key=KEY):
    counts, words = counted(documents)
    order = secret_order(words, key)
    named = None if persons is None else np.array(persons, np.int64)
    return spelled(rank_words(counts, named, order), words)


@settings(max_examples=150, deadline=None)
@given(texts, st.data())
def test_ranks_are_those_of_the_twin(documents, data):
    persons = data.draw(
        st.none() | st.lists(st.integers(-3, 3), min_size=len(documents), max_size=len(documents))
    )
    number = dict(zip(LETTERS, secret_order(LETTERS, KEY).tolist(), strict=True))
    units = units_of(documents, persons)
    assert sorted(ranked(documents, persons)) == sorted(preferences(unit, number) for unit in units)


@settings(max_examples=100, deadline=None)
@given(texts.filter(len), st.data())
def test_what_others_hold_changes_no_order(documents, data):
    gone = data.draw(st.integers(0, len(documents) - 1))
    whole = ranked(documents)
    without = ranked(documents[:gone] + documents[gone + 1 :])
    assert whole[gone] == ranked([documents[gone]])[0]
    assert whole[:gone] + whole[gone + 1 :] == without  # the rest stands in the same order, word for word


@settings(max_examples=50, deadline=None)
@given(texts, st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(documents, shuffler):
    mixed = list(documents)
    shuffler.shuffle(mixed)
    assert sorted(ranked(documents)) == sorted(ranked(mixed))


def test_an_order_by_numbers_of_words_is_caught():
    """Ranks drawn by column shift when another unit brings a new word: the plausible mistake."""

    def by_column(documents):
        counts, words = counted(documents)
        order = np.random.default_rng(0).integers(0, 2**63, len(words)).astype(np.uint64)
        return spelled(rank_words(counts, None, order), words)

    others = [list("bcdefgh")]
    assert ranked([*others, ["a"]]) in ([*ranked(others), ["a"]], [["a"], *ranked(others)])
    assert others[0] != by_column(others)[0]
    assert by_column(others)[0] not in by_column([*others, ["a"]])


def test_ties_are_random_and_shared():
    first = {ranked([list("abcdefgh")], key=bytes([i]))[0][0] for i in range(64)}
    assert len(first) >= 6
    same = ranked([list("abcdefgh"), list("abcdefgg")])
    assert [w for w in same[0] if w not in "gh"] == [w for w in same[1] if w not in "gh"]


def test_order_is_spread_evenly():
    numbers = secret_order(tuple(f"word{i}" for i in range(20_000)), KEY)
    assert len(np.unique(numbers)) == 20_000
    assert numbers.astype(float).mean() / 2**64 == pytest.approx(0.5, abs=0.01)
    assert not np.array_equal(numbers, secret_order(tuple(f"word{i}" for i in range(20_000)), b"another"))
    assert len(secret_order(("\ud800", "b"), KEY)) == 2  # half a character, as broken text has it


def test_first_words():
    counts, words = counted([list("aabbbc"), [], list("c"), list("dda")])
    units = rank_words(counts, None, np.arange(4).astype(np.uint64))
    assert sorted(spelled(units, words)) == [[], ["b", "a", "c"], ["c"], ["d", "a"]]
    two = first_words(units, 2)
    assert sorted(spelled(two, words)) == [[], ["b", "a"], ["c"], ["d", "a"]]
    done = np.array([False, True, False, False])
    assert sorted(spelled(first_words(units, 2, done), words)) == [[], ["a", "c"], ["c"], ["d", "a"]]
    assert units.even_weights(1, np.array([0, 5])).tolist() == [5 * (word in "bcd") for word in words]


def test_nothing_at_all():
    units = rank_words(sp.csr_matrix((0, 0), dtype=np.int32), None, np.zeros(0, np.uint64))
    assert len(units.even_weights(5, np.zeros(6, np.int64))) == len(first_words(units, 5).words) == 0
    empty = rank_words(sp.csr_matrix((3, 2), dtype=np.int32), np.array([1, 1, 2]), np.zeros(2, np.uint64))
    assert empty.sizes.tolist() == [0, 0]


def test_the_threshold_is_passed_strictly():
    choice = passing(np.array([3, 5, 8]), np.array([10, 11, 12]), 11, 0.5)
    assert choice.words.tolist() == [8]
    assert choice.weights.tolist() == [6.0]
