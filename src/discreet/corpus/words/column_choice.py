"""Which private choices the columns of some counts went through, and where each is booked.

Counts of chosen words lack all other words, whatever the columns are called later: laid on a public list, the words
that were not chosen are columns of zeros, and which ones they are tells of the texts. So a choice goes with counts
wherever they go, apart from who says that their words are public, and what is released of them tells its cost, too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.errors import CorpusError

__all__ = ["ColumnChoice", "joined"]

_DIGEST = re.compile("[0-9a-f]{64}")
_LONGEST_NAME = 200
_MOST = 64
_NAMES = {"ledger", "booking", "entry", "seeded"}


@dataclass(frozen=True)
class ColumnChoice:
    """One private choice of words, as it is booked.

    Attributes
    ----------
    ledger : str
        Identity of the ledger.
    booking : int
        Number of the booking there.
    entry : str
        Digest of that booking, with its nonce.
    seeded : bool, default False
        Whether it was made with a seed, so that whoever knows it can undo the noise.
    book : Ledger, optional
        The ledger itself where it is at hand. Not stored, and not compared.
    """

    ledger: str
    booking: int
    entry: str
    seeded: bool = False
    book: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        named = isinstance(self.ledger, str) and 0 < len(self.ledger) <= _LONGEST_NAME
        noted = isinstance(self.entry, str) and _DIGEST.fullmatch(self.entry)
        counted = type(self.booking) is int and self.booking >= 0
        if not named or not noted or not counted or not isinstance(self.seeded, bool):
            raise CorpusError("this does not say how words were chosen: it was changed or is damaged.")

    def to_json(self) -> dict[str, Any]:
        """Return this as JSON values."""
        return {name: getattr(self, name) for name in sorted(_NAMES)}

    @classmethod
    def all_from_json(cls, values: Any) -> "tuple[ColumnChoice, ...]":
        """Return what :meth:`to_json` wrote of several; ``CorpusError`` where it is damaged."""
        known = isinstance(values, list) and len(values) <= _MOST
        if not known or not all(isinstance(value, dict) and set(value) == _NAMES for value in values):
            raise CorpusError("this does not say how words were chosen: it was changed or is damaged.")
        return joined(cls(**value) for value in values)


def joined(*several: Iterable[ColumnChoice]) -> tuple[ColumnChoice, ...]:
    """Return all choices, each once, in the order of their first appearance."""
    found: dict[ColumnChoice, ColumnChoice] = {}
    for choices in several:
        for choice in choices:
            known = found.setdefault(choice, choice)
            if known.book is None and choice.book is not None:
                found[choice] = replace(known, book=choice.book)
    return tuple(found.values())
