"""A corpus is no array: whatever makes one of it is told what to give instead, before it does anything."""

from typing import Any, NoReturn

from discreet.errors import CorpusError

__all__ = ["NoArray"]


class NoArray:
    """Refuses to be an array, which NumPy and scikit-learn would make of one object."""

    __slots__ = ()  # a class with slots keeps no others only where its bases do

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse; scikit-learn's searches and estimators, which ask for an array first, end here."""
        raise CorpusError(
            "a Corpus is no array: give its counts, corpus.counts, to what wants one. Of private texts, GridSearchCV "
            "and cross_val_score fit many times, and no release states what that spends: choose on public texts "
            "(discreet.evaluate.choose_n_topics), or book every fit on one ledger."
        )
