"""Sparse matrices that remember which private choices their columns went through.

A step between the choice of words and the training (a cast, another format, some columns, a clipped count) makes a new
matrix, which has no words any more. That its columns were chosen from the texts stays true of it, and what is released
of it is booked with that choice. So every public method and operator of scipy passes it on, from the matrix and from
its operands, where the result is a CSR, CSC or COO matrix.

What is no matrix of these classes does not carry it: other formats (``tolil``, ``todok``, ``todia``, ``tobsr``),
``csr_array``, ``csr_matrix(counts)``, ``toarray()``, a frame; nor does what a plain matrix makes of it
(``plain - counts``, ``plain.multiply(counts)``, ``plain.maximum(counts)``, ``diags @ counts``), what scipy puts
together anew (``sparse.hstack`` and ``vstack``, and with them ``FeatureUnion`` and ``ColumnTransformer``) or what is
made of bare arrays (``counts.data``). Whether such columns were chosen from the texts is the caller's to vouch for.
"""

from functools import wraps
from inspect import isfunction
from typing import Any

import scipy.sparse as sp

from discreet.corpus.words.column_choice import ColumnChoice, joined
from discreet.corpus.words.origin import NUMBERED, WordOrigin, carried

__all__ = ["ChosenColumns", "ChosenCoo", "ChosenCsc", "ChosenCsr", "choices_of", "with_choices"]

_COMPARISONS = ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__")


def _derives(cls: type, name: str) -> bool:
    """Whether this may make a matrix, or change one: all public methods and operators of scipy."""
    operator = name in ("__init__", *_COMPARISONS) or (name.startswith("__") and not hasattr(object, name))
    public = not name.startswith("_") or name in ("_with_data", "_real", "_imag")
    return (operator or public) and isfunction(getattr(cls, name, None))


def _passing_on(method: Any) -> Any:
    @wraps(method)
    def derive(self: Any, *args: Any, **options: Any) -> Any:
        made = method(self, *args, **options)
        given = (part for part in (*args, *options.values()) if isinstance(part, ChosenColumns))
        if made is None or made is self:  # the constructor, and what changes a matrix in place
            choices = joined(*(part.column_choices for part in given))
            if choices:
                self.column_choices = joined(self.column_choices, choices)
        elif isinstance(made, ChosenColumns) or type(made) in _KINDS:
            return with_choices(made, joined(*(part.column_choices for part in (self, *given))))
        return made

    return derive


class ChosenColumns:
    """What matrices of several formats have in common that carry the choices of their columns."""

    column_choices: tuple[ColumnChoice, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__bases__[0] is ChosenColumns:  # a format, and not what stands on it
            for name in dir(cls):
                if name not in vars(cls) and _derives(cls, name):
                    setattr(cls, name, _passing_on(getattr(cls, name)))

    @property
    def word_origin(self) -> WordOrigin | None:
        """The private choices of the columns, which have no words; None where none are known."""
        return NUMBERED.after(self.column_choices) if self.column_choices else None

    @property
    def ledger(self) -> Any:
        """The ledger on which the choices are booked, where it is at hand."""
        origin = self.word_origin
        return None if origin is None else origin.ledger


class ChosenCsr(ChosenColumns, sp.csr_matrix):
    """A ``csr_matrix`` of chosen columns."""


class ChosenCsc(ChosenColumns, sp.csc_matrix):
    """A ``csc_matrix`` of chosen columns."""


class ChosenCoo(ChosenColumns, sp.coo_matrix):
    """A ``coo_matrix`` of chosen columns."""


_KINDS: dict[type, type] = {
    sp.csr_matrix: ChosenCsr,
    sp.csc_matrix: ChosenCsc,
    sp.coo_matrix: ChosenCoo,
}


def choices_of(X: Any) -> tuple[ColumnChoice, ...]:
    """Return the private choices that the columns of X went through, as far as it carries them."""
    origin: WordOrigin | None = carried(X, "word_origin")
    return () if origin is None else origin.choices


def with_choices(matrix: Any, choices: tuple[ColumnChoice, ...]) -> Any:
    """Return a new matrix of a class that carries choices, and shares the arrays of this one; itself without any."""
    if not choices:
        return matrix
    chosen = matrix if isinstance(matrix, ChosenColumns) else _KINDS[type(matrix)](matrix)
    chosen.column_choices = joined(chosen.column_choices, choices)
    return chosen
