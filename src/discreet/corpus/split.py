"""Splitting a corpus at random, without tearing a person's documents apart."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import check, choice, is_number, is_whole, optional, shown
from discreet.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from discreet.corpus.corpus import Corpus

__all__ = ["split_rows"]


def split_rows(
    corpus: "Corpus",
    test_size: float | int,
    train_size: float | int | None,
    random_state: int,
    by: str | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to train on and the rows to test on; see :meth:`Corpus.split`."""
    check(by=(by, optional(choice("document", "person"))))
    persons = corpus.persons
    if by == "person" and persons is None:
        raise CorpusError(
            'by="person" needs a corpus with persons: read it with person=, or split by="document".'
        )
    if persons is None or by == "document":
        unit = np.arange(corpus.n_documents)
        name = "documents"
    else:
        unit = np.unique(persons, return_inverse=True)[1].astype(np.int64)
        name = "persons"
    n_units = int(unit.max()) + 1 if len(unit) else 0
    n_test = _amount(test_size, n_units, "test_size", round_up=True)
    n_train = (
        n_units - n_test if train_size is None else _amount(train_size, n_units, "train_size", round_up=False)
    )
    if n_test < 1 or n_train < 1 or n_test + n_train > n_units:
        raise ParameterError(
            f"{n_units} {name} cannot be split into {n_train} to train on and {n_test} to test on; "
            "both need at least one. Choose another test_size."
        )
    order = np.random.default_rng(random_state).permutation(n_units)
    side = np.zeros(n_units, np.int8)
    side[order[:n_test]] = 2
    side[order[n_test : n_test + n_train]] = 1
    of_row = side[unit]
    return np.flatnonzero(of_row == 1), np.flatnonzero(of_row == 2)


def _amount(size: Any, n_units: int, name: str, *, round_up: bool) -> int:
    if not is_number(size):
        raise ParameterError(
            f"{name} must be a share between 0 and 1 or a number of units, got {shown(size)}."
        )
    if is_whole(size):
        return int(size)
    if not 0 < size < 1:
        raise ParameterError(f"{name} must lie between 0 and 1 where it is a share, got {size}.")
    exact = size * n_units
    return math.ceil(exact) if round_up else math.floor(exact)
