"""Pairs of neighbouring data that differ by one odd unit: heavy, short, empty, at a threshold."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._articles import with_article
from discreet.privacy.testing import usual_thresholds
from discreet.privacy.testing.subject import Subject

__all__ = ["Pair", "odd_pairs", "pairs", "threshold_pairs"]

_N_ORDINARY = 200
#: Documents of the person who is removed.
_PROLIFIC = 50
_MILLION = 1_000_000


class Pair(NamedTuple):
    """Two neighbouring data sets.

    Attributes
    ----------
    unit : str
        What one has and the other has not, in words.
    with_it, without_it : data
        X and its neighbour.
    persons, persons_without : array or None
        Who wrote each document; None where that is not asked for.
    """

    unit: str
    with_it: Any
    without_it: Any
    persons: NDArray[Any] | None
    persons_without: NDArray[Any] | None


def pairs(subject: Subject) -> Iterator[Pair]:
    """Yield all neighbours under the unit and the relation of an estimator, for fits that are played again.

    In texts every word is used by two at least: where words are chosen from them, sums of two neighbours differ in
    shape by the words that only one has, and delta is what that costs.
    """
    yield from odd_pairs(subject)
    yield from threshold_pairs(subject, least=1 if subject.takes_counts else 2)
    if subject.relation == "add_or_remove_one" and subject.unit in ("document", "person"):
        for how_many, X, without in usual_thresholds.at_sizes(subject.make):
            yield _single(subject, f"one {subject.unit} more than {how_many}", X, without)


def threshold_pairs(subject: Subject, least: int = 1) -> Iterator[Pair]:
    """Yield neighbours whose words stand at usual thresholds from ``least`` on; people have one document each."""
    X = subject.make(_N_ORDINARY)
    if subject.unit in ("word", "pair"):
        for unit, counts, moved in usual_thresholds.tokens_at_frequencies(X) if sp.issparse(X) else ():
            yield Pair(unit, counts, moved, None, None)
        return
    for which, others, odd, empty in (
        usual_thresholds.at_frequencies(X, least) if usual_thresholds.knows(X) else ()
    ):
        whose = f"a person whose document {which}" if subject.unit == "person" else f"a document that {which}"
        if subject.relation == "add_or_remove_one":
            yield _single(subject, whose, _stacked(others, odd), others)
        elif "empty" not in which:
            yield _single(subject, whose, _stacked(others, odd), _stacked(others, empty))


def odd_pairs(subject: Subject) -> Iterator[Pair]:
    """Yield neighbours that differ by one odd unit, a pair for each."""
    X = subject.make(_N_ORDINARY)
    if subject.unit in ("word", "pair"):
        yield from _moved_tokens(X)
        return
    of_one = _PROLIFIC if subject.unit == "person" else 1
    for name, rows in _odd_rows(subject, X, of_one):
        whose = f"a person of {of_one} documents, each {name}" if of_one > 1 else f"a document that is {name}"
        yield _pair(subject, whose, X, rows)
    if sp.issparse(X):
        others = X.tolil()
        others[:, 0] = 0
        own = np.zeros((of_one, X.shape[1]), X.dtype)
        own[:, 0] = 3
        yield _pair(
            subject,
            f"{with_article(subject.unit)} with a word of its own",
            others.tocsr(),
            sp.csr_matrix(own),
        )


def _odd_rows(subject: Subject, X: Any, n: int) -> Iterator[tuple[str, Any]]:
    """Yield names of odd units, and the rows of each."""
    if sp.issparse(X):
        wide, like = X.shape[1], X.dtype
        odd = np.zeros((4, wide), like)
        odd[0, 2] = _MILLION
        odd[1, :] = _MILLION // wide
        odd[2, 3] = 1
        names = ("a million tokens of one word", "a million tokens of all words", "one token", "empty")
        for name, row in zip(names, odd, strict=True):
            yield name, sp.csr_matrix(np.tile(row, (n, 1)))
    elif isinstance(X, list) and all(isinstance(text, str) for text in X):
        joined = " ".join(X)
        for name, text in (
            ("all texts, many times", f"{joined} " * (_PROLIFIC // n)),
            ("short", X[0][:5]),
            ("empty", ""),
        ):
            yield name, [text] * n
    more = subject.make(_N_ORDINARY + n)
    yield "like the others", more[_N_ORDINARY:]


def _pair(subject: Subject, unit: str, X: Any, rows: Any) -> Pair:
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    ordinary = np.arange(_N_ORDINARY) // 2
    mine = np.full(n, ordinary[-1] + 1)
    persons, without = np.concatenate([ordinary, mine]), ordinary
    others = X
    if subject.relation == "replace_one":
        others, without = _stacked(X, X[:n]), persons
    if subject.unit != "person":
        return Pair(unit, _stacked(X, rows), others, None, None)
    return Pair(unit, _stacked(X, rows), others, persons, without)


def _single(subject: Subject, unit: str, X: Any, without: Any) -> Pair:
    """Return a pair in which each person, where people are the unit, wrote one document."""
    n, n_without = (data.shape[0] if hasattr(data, "shape") else len(data) for data in (X, without))
    if subject.unit != "person":
        return Pair(unit, X, without, None, None)
    return Pair(unit, X, without, np.arange(n), np.arange(n_without))


def _moved_tokens(X: Any) -> Iterator[Pair]:
    """Yield counts in which one token is another word: in a heavy document, and in an ordinary one."""
    heavy, row = X.tolil(), 4
    heavy[row, int(X[row].indices[0])] = _MILLION
    for unit, counts in (("a token among a million", heavy.tocsr()), ("a token", X)):
        column, moved = int(X[row].indices[0]), counts.tolil()
        moved[row, column] -= 1
        moved[row, column + 1] += 1
        yield Pair(unit, counts, moved.tocsr(), None, None)


def _stacked(upper: Any, lower: Any) -> Any:
    if sp.issparse(upper):
        return sp.csr_matrix(sp.vstack([upper, lower]))
    if isinstance(upper, np.ndarray):
        return np.concatenate([upper, lower])
    return [*upper, *lower]
