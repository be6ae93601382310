"""WordCounts: what it carries, and where it drops it rather than be wrong."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array

from discreet.central import WordCounts
from discreet.errors import CorpusError, ParameterError

DENSE = np.array([[1, 0, 2], [0, 3, 0], [4, 5, 6], [0, 0, 0]], np.int32)
WORDS = ("a", "b", "c")


@pytest.fixture
def counts():
    return WordCounts(DENSE, WORDS, persons=[7, 7, 8, 9], word_weights=[0.5, 1.5, 2.5])


def test_it_is_a_csr_matrix_with_words(counts):
    assert isinstance(counts, sp.csr_matrix)
    assert counts.format == "csr"
    assert counts.dtype == np.int32
    assert counts.vocabulary == WORDS
    assert counts.persons.tolist() == [7, 7, 8, 9]
    assert counts.word_weights.tolist() == [0.5, 1.5, 2.5]
    assert WordCounts(DENSE).vocabulary is None


@pytest.mark.parametrize(
    "wrong", [{"vocabulary": ["a"]}, {"vocabulary": WORDS, "persons": [1]}, {"word_weights": [1.0]}]
)
def test_lengths_must_fit(wrong):
    with pytest.raises((ParameterError, CorpusError), match=r"must have (one entry for each|shape \(4,\))"):
        WordCounts(DENSE, **wrong)


def through_a_pickle(counts):
    """As joblib's cache of a pipeline does."""
    return pickle.loads(pickle.dumps(counts))  # noqa: S301  (our own bytes)


@pytest.mark.parametrize("keep", [copy.copy, copy.deepcopy, lambda x: x.copy(), through_a_pickle])
def test_copies_and_caches_keep_everything(counts, keep):
    kept = keep(counts)
    assert type(kept) is WordCounts
    assert kept.vocabulary == WORDS
    assert kept.persons.tolist() == [7, 7, 8, 9]
    assert kept.word_weights.tolist() == [0.5, 1.5, 2.5]
    assert (kept.toarray() == DENSE).all()


@pytest.mark.parametrize(
    "rows", [slice(1, 3), [2, 0], np.array([3, 3]), np.array([True, False, True, False]), range(2)]
)
def test_chosen_rows_keep_words_and_their_own_persons(counts, rows):
    chosen = counts[rows]
    assert chosen.vocabulary == WORDS
    assert chosen.persons.tolist() == np.array([7, 7, 8, 9])[rows].tolist()
    assert (chosen.toarray() == DENSE[rows]).all()


def test_one_row(counts):
    assert counts[1].vocabulary == WORDS
    assert counts[1].persons.tolist() == [7]
    assert counts[1:3, :].vocabulary == WORDS
    assert counts[-1].toarray().tolist() == [[0, 0, 0]]


def test_a_split_keeps_words(counts):
    train, test = train_test_split(counts, random_state=0)
    assert train.vocabulary == test.vocabulary == WORDS
    assert sorted([*train.persons, *test.persons]) == [7, 7, 8, 9]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[:, 1:],
        lambda x: x[:, [2, 1, 0]],
        lambda x: x[:, ::-1],
        lambda x: x[:, np.array([0, 1, 2])],
        lambda x: x[1:, :2],
        lambda x: x + x,
        lambda x: x - x,
        lambda x: x * 2,
        lambda x: x.multiply(2),
        lambda x: x @ sp.eye(3).tocsr(),
        lambda x: x.T,
        lambda x: x.T.tocsr(),
        lambda x: x.tocsc(),
        lambda x: x.tocsc()[:, [1, 0, 2]].tocsr(),
        lambda x: x.reshape((3, 4)),
        lambda x: x.power(2),
        abs,
        lambda x: sp.hstack([x, x]).tocsr(),
        lambda x: sp.vstack([x, x]).tocsr(),
        lambda x: TfidfTransformer().fit_transform(x),
        lambda x: x.getcol(0),
        lambda x: x[np.array([[0, 1]]), np.array([[1, 2]])],
    ],
)
def test_whatever_may_change_columns_drops_words(counts, change):
    changed = change(counts)
    assert getattr(changed, "vocabulary", None) is None
    assert getattr(changed, "word_weights", None) is None
    assert counts.vocabulary == WORDS  # and the original keeps them


def test_single_entries_are_numbers(counts):
    assert counts[2, 1] == 5


def test_resized_in_place(counts):
    counts.resize((2, 2))
    assert counts.vocabulary is None
    assert counts.persons is None
    counts.resize((4, 3))
    counts.data[:] = 1
    assert counts.shape == (4, 3)


def test_scikit_learn_takes_it(counts):
    checked = check_array(counts, accept_sparse="csr")
    assert (checked.toarray() == DENSE).all()
    assert check_array(counts, accept_sparse="csr").vocabulary == WORDS


def test_a_planted_mistake_is_caught():
    """A subclass that hands its attributes on with every result names wrong columns."""

    class Careless(sp.csr_matrix):
        vocabulary = None

        def __getitem__(self, key):
            chosen = super().__getitem__(key)
            chosen.vocabulary = self.vocabulary
            return chosen

    careless = Careless(DENSE)
    careless.vocabulary = WORDS
    assert careless[:, [2, 1, 0]].vocabulary == WORDS  # wrong, and what the test above would have seen
