"""What every method and operator of a sparse matrix makes carries the choice of columns, or is of another kind."""

import warnings
from inspect import isfunction

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import Corpus, PrivateCountVectorizer, PrivateLDA
from discreet.central import WordCounts
from discreet.corpus.words.chosen_counts import ChosenColumns, ChosenCsr, choices_of, with_choices
from discreet.corpus.words.column_choice import ColumnChoice
from discreet.corpus.words.origin import UNKNOWN

CHOICE = ColumnChoice("book", 0, "0" * 64)
OTHER = ColumnChoice("book", 1, "1" * 64)
DENSE = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 1]])
PUBLIC = ("apple", "lion", "mouse", "zebra")

#: What the documentation says loses the choice: other formats, dense matrices and arrays, numbers.
LOST = ("lil", "dok", "dia", "bsr")
COMPARISONS = ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__")
OPERATORS = sorted(
    name
    for name in dir(sp.csr_matrix)
    if name.startswith("__")
    and isfunction(getattr(sp.csr_matrix, name, None))
    and (name in COMPARISONS or not hasattr(object, name))
    and name not in ("__bool__", "__len__")  # which are errors
)
PUBLIC_NAMES = sorted(name for name in dir(sp.csr_matrix) if not name.startswith("_"))
#: What may be given to a method, in the order of trial.
ARGUMENTS = (
    (),
    (sp.csr_matrix(DENSE),),
    (2,),
    (0, 1),
    ((3, 3),),
    ("csc",),
    (DENSE,),
    (slice(0, 2), DENSE[:2]),
    (slice(None), slice(0, 2)),
    (float,),
    (0,),
    (np.array([1, 0]),),
)


def words_of(*choices):
    return WordCounts(DENSE, ["apple", "lion", "zebra"], word_origin=UNKNOWN.after(choices))


KINDS = {"WordCounts": words_of, "ChosenCsr": lambda *choices: with_choices(ChosenCsr(DENSE), choices)}


def results(matrix, name):
    """Return everything that this attribute gives, for any arguments that it takes."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in ARGUMENTS:
            one = matrix()
            try:
                value = getattr(one, name)
                found.append((one, value(*arguments) if callable(value) else value))
            except Exception:
                continue
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*PUBLIC_NAMES, *OPERATORS])
def test_what_scipy_makes_carries_the_choice(name, kind):
    made = results(lambda: KINDS[kind](CHOICE), name)
    assert made, "no arguments were found for this: add some"
    for matrix, result in made:
        assert choices_of(matrix) == (CHOICE,)
        if sp.issparse(result):
            assert choices_of(result) == (CHOICE,) if result.format not in LOST else not choices_of(result)
        for part in result if isinstance(result, tuple) else ():
            assert not sp.issparse(part)


def test_the_table_tries_what_makes_matrices():
    sparse = {
        name
        for name in [*PUBLIC_NAMES, *OPERATORS]
        if any(isinstance(result, ChosenColumns) for _, result in results(lambda: words_of(CHOICE), name))
    }
    assert sparse >= {
        "__gt__", "__ge__", "__lt__", "__le__", "__ne__", "__eq__", "__getitem__", "__matmul__", "__rmul__", "T",
        "astype", "copy", "deg2rad", "expm1", "max", "multiply", "real", "sin", "tanh", "tocsc", "tocoo", "transpose",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "way",
    [
        lambda A, B: A.multiply(B),
        lambda A, B: A + B,
        lambda A, B: A @ B,
        lambda A, B: A != B,
        lambda A, B: A.maximum(B),
        lambda A, B: set_to(A, B),  # noqa: PLW0108  (it stands below)
        lambda A, B: type(A)(B),
        lambda A, B: type(A)(B.tocsc()),
    ],
)
def test_the_choices_of_both_sides_are_carried(way, kind):
    make = KINDS[kind]
    assert OTHER in choices_of(way(make(CHOICE), make(OTHER)))
    assert choices_of(way(make(), make(OTHER))) == (OTHER,)
    assert choices_of(way(make(), make())) == ()


def set_to(A, B):
    A = A.copy()
    A[:2] = B[:2]
    return A


@pytest.mark.parametrize(
    "way",
    [lambda A, B: B + A, lambda A, B: B > A, lambda A, B: B != A, lambda A, B: B @ A],
)
def test_on_the_right_of_a_plain_matrix_the_choice_is_carried(way):
    assert choices_of(way(words_of(CHOICE), sp.csr_matrix(DENSE))) == (CHOICE,)


def test_what_is_said_to_be_lost_is_lost():
    """So that the page is mended where this changes."""
    A, plain = words_of(CHOICE), sp.csr_matrix(DENSE)
    for made in (
        sp.csr_matrix(A), sp.csr_array(A), A.tolil(), A.todok(), A.todia(), A.tobsr(), plain.multiply(A),
        plain.maximum(A), sp.hstack([A]), sp.vstack([A]), A.toarray(), sp.diags_array([1.0, 1.0, 1.0]) @ A,
        plain - A,
        WordCounts((A.data, A.indices, A.indptr)),
    ):  # fmt: skip
        assert not choices_of(made)


def test_no_comparison_makes_chosen_words_public():
    """Laid on a public list, whether each word is there told epsilon = 1, of words chosen without noise."""
    texts = ["apple lion apple", "zebra apple mouse", "lion zebra"] * 400
    counts = PrivateCountVectorizer(epsilon=float("inf"), max_words=2).fit_transform(texts)
    for there in (counts > 0, counts >= 1, counts != 0, counts._with_data(counts.data > 0)):
        corpus = Corpus(there.astype(int), counts.vocabulary).restrict(PUBLIC, words_are_public=True)
        assert choices_of(corpus) == counts.word_origin.choices
    release = PrivateLDA(2, epsilon=1, allow_unlearnable=True).fit(corpus).release_
    assert "No privacy is promised" in release.guarantee
