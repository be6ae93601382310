"""However people's ids are written, taking one person away moves every sum by at most what is booked: 1."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.test_persons import ids, representations
from tests.marks import quick
from tests.naive.corpus import same_person

from discreet import Corpus, PrivateCountVectorizer, PrivateLDA
from discreet._base.persons import number_persons
from discreet.central.sums.units import count_sum, group_units, unigram_sum
from discreet.central.vocabulary.methods import even_weights
from discreet.central.vocabulary.units import count_documents, rank_words, sum_even_weights
from discreet.corpus import Tokenizer
from discreet.errors import CorpusError
from discreet.privacy.mechanism import BITS

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
STEPS = 2**14


@st.composite
def owned_texts(draw):
    """Texts, the true id of each, and the id as it is written there."""
    people = draw(st.lists(ids, min_size=1, max_size=4))
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from(people), st.sets(st.sampled_from(WORDS), min_size=1)),
            min_size=1,
            max_size=8,
        )
    )
    persons = [person for person, _ in rows]
    written = [draw(st.sampled_from(representations(person))) for person in persons]
    return [" ".join(sorted(words)) for _, words in rows], persons, written


def even_sum(texts, written):
    read = count_documents(texts, Tokenizer(), written, WORDS)
    units = rank_words(read.counts, read.persons, np.arange(len(WORDS), dtype=np.uint64))
    return sum_even_weights(units, even_weights(len(WORDS), 14)) / STEPS


def grouped(texts, written):
    counts = sp.csr_matrix(count_documents(texts, Tokenizer(), None, WORDS).counts, dtype=np.int32)
    return group_units(counts, number_persons(written, len(texts)))


def word_shares(texts, written):
    return unigram_sum(grouped(texts, written)) / 2**BITS


def number_of_people(texts, written):
    return count_sum(grouped(texts, written)) / 2**BITS


SUMS = {
    "even weights": (even_sum, 2), "shares of words": (word_shares, 2),
    "number of people": (number_of_people, 2),
}  # fmt: skip


def moves(total, norm, texts, persons, written):
    """The largest move of a sum when one person's documents go, all of them, however the person is written."""
    everything, worst = total(texts, written), 0.0
    for person in persons:
        left = [row for row, other in enumerate(persons) if not same_person(person, other)]
        rest = total([texts[row] for row in left], [written[row] for row in left]) if left else 0 * everything
        worst = max(worst, float(np.linalg.norm(np.ravel(everything - rest), norm)))
    return worst


@pytest.mark.parametrize("name", quick(SUMS, "even weights", "number of people"))
@settings(max_examples=120, deadline=None)
@given(corpus=owned_texts())
def test_taking_one_person_away_moves_a_sum_by_at_most_one(name, corpus):
    total, norm = SUMS[name]
    assert moves(total, norm, *corpus) <= 1 + 1e-9


def joined_by_floats(persons, n):
    del n
    return np.unique([float(person) for person in persons], return_inverse=True)[1]


def parted_by_kind(persons, n):
    del n
    return np.unique([f"{type(person).__name__} {person}" for person in persons], return_inverse=True)[1]


# The number of people does not even see somebody leave who was joined with another; that is the others' to catch.
CAUGHT = [(name, parted_by_kind) for name in SUMS]
CAUGHT += [(name, joined_by_floats) for name in SUMS if name != "number of people"]


@pytest.mark.parametrize(("name", "mistake"), CAUGHT)
def test_the_test_catches_people_that_are_joined_or_parted(name, mistake, monkeypatch):
    total, norm = SUMS[name]
    texts = ["alpha", "beta beta beta beta beta gamma delta epsilon zeta", "gamma", "beta"]
    persons = [2**53, 2**53 + 1, 7, 7] if mistake is joined_by_floats else [1, 1, 7, 7]
    written = [np.int64(person) for person in persons] if mistake is joined_by_floats else [1, "1", 7.0, "7"]
    assert moves(total, norm, texts, persons, written) <= 1
    monkeypatch.setattr("discreet._base.persons.number_persons", mistake)
    monkeypatch.setattr(f"{__name__}.number_persons", mistake)
    assert moves(total, norm, texts, persons, written) > 1.05


def test_vectorizer_and_estimator_refuse_the_same_persons():
    texts = ["alpha beta gamma"] * 300
    good = [f"p{i // 3}" for i in range(300)]
    for nobody in (None, math.nan, "", " ", "nan", 1.5, True, b"p1", object()):
        persons = [*good[:5], nobody, *good[6:]]
        for model, X in (
            (PrivateCountVectorizer(epsilon=2.0, privacy_unit="person"), texts),
            (
                PrivateLDA(2, epsilon=4.0, privacy_unit="person", allow_unlearnable=True),
                np.ones((300, 3), int),
            ),
        ):
            with pytest.raises(CorpusError, match=r"row 6 .counted from 1. has"):
                model.fit(X, persons=persons)
        with pytest.raises(CorpusError, match=r"row 6 .counted from 1. has"):
            Corpus.from_texts(texts, persons=persons)
