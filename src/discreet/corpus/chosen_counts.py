"""Sparse matrices that remember which private choices their columns went through.

A step between the choice of words and the training (a cast, another format, some columns, a clipped count) makes a new
matrix, which has no words any more. That its columns were chosen from the texts stays true of it, and what is released
of it is booked with that choice. So these matrices pass it on to what scipy derives from them.

What scipy puts together anew, ``sparse.hstack`` and ``vstack`` and with them ``FeatureUnion`` and
``ColumnTransformer``, and what is no matrix of these classes (``csr_array``, ``toarray()``, a frame) does not carry it:
whether such columns were chosen from the texts is the caller's to vouch for.
"""

from functools import wraps
from typing import Any

import scipy.sparse as sp

from discreet.corpus.column_choice import ColumnChoice, joined
from discreet.corpus.words import NUMBERED, WordOrigin, carried

__all__ = ["ChosenColumns", "ChosenCoo", "ChosenCsc", "ChosenCsr", "choices_of", "with_choices"]

#: Methods of scipy that return another matrix, made from this one.
_DERIVING = (
    "__abs__",
    "__add__",
    "__getitem__",
    "__matmul__",
    "__mul__",
    "__neg__",
    "__pow__",
    "__radd__",
    "__rmatmul__",
    "__rmul__",
    "__round__",
    "__rsub__",
    "__sub__",
    "__truediv__",
    "asformat",
    "asfptype",
    "astype",
    "ceil",
    "conj",
    "conjugate",
    "copy",
    "dot",
    "floor",
    "getH",
    "getcol",
    "getrow",
    "log1p",
    "maximum",
    "minimum",
    "multiply",
    "power",
    "reshape",
    "rint",
    "sign",
    "sorted_indices",
    "sqrt",
    "tocoo",
    "tocsc",
    "tocsr",
    "transpose",
    "trunc",
)


def _passing_on(method: Any) -> Any:
    @wraps(method)
    def derive(self: Any, *args: Any, **options: Any) -> Any:
        made = method(self, *args, **options)
        known = made is not self and (isinstance(made, ChosenColumns) or type(made) in _KINDS)
        return with_choices(made, choices_of(self)) if known else made

    return derive


class ChosenColumns:
    """What matrices of several formats have in common that carry the choices of their columns."""

    column_choices: tuple[ColumnChoice, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__bases__[0] is ChosenColumns:  # a format, and not what stands on it
            for name in _DERIVING:
                if hasattr(cls, name) and name not in vars(cls):
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
