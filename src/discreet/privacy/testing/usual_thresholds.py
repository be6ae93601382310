"""Neighbouring data on either side of a threshold: where exact numbers decide something, one unit tips it.

A word that is kept where at least 5 documents have it (``min_df=5``), and a size that is told as "about 200", hardly
ever depend on one unit; but where they do, they tell of it. So here each word stands at the edge of a usual threshold,
and so does the number of units.

* *The removed unit has every word.* Word j is used by k of 200 documents with it, and by k - 1 of 199 without it:
  thresholds in documents or people, in tokens (each word occurs once in a document), and as a share from below.
* *The removed unit is empty.* Word j is used by k of 200, then by k of 199: shares from above (``max_df``).
* *Ordinary units, one of which goes*, at numbers where rounding up, down or to the nearest 10, 50, 100 or 1000 turns
  over, and the powers of two and ten.

Other thresholds and roundings are not found.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["at_frequencies", "at_sizes", "knows", "tokens_at_frequencies"]

_N_UNITS = 200
_SMALL = (*range(1, 13), 15, 16, 20, 21, 25, 26, 30, 31, 35, 40, 41, 50, 51, 55, 60, 61, 75, 80, 81)
_LARGE = (100, 101, 105, 120, 121, 128, 140, 150, 151, 155, 160, 161, 180, 181, 190, 191, 195, 196, 199)
#: Documents that have a word, together with the one that is removed.
_FREQUENCIES = (*_SMALL, *_LARGE)
#: The same for a document that has none: half a percent, one percent, ... of 200.
_SHARES = (
    1,
    2,
    4,
    5,
    6,
    8,
    10,
    20,
    30,
    40,
    50,
    60,
    80,
    100,
    120,
    140,
    150,
    160,
    170,
    180,
    190,
    194,
    196,
    198,
)
#: Units with the one that is removed: rounded up, to tens, as a power of two, to fifties, hundreds, thousands.
_SIZES = (201, 215, 256, 275, 350, 1000, 1500)


def at_frequencies(X: Any, least: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield (what the odd document is like, 199 others, the odd one, an empty one), in the form of X."""
    n_words = X.shape[1] if hasattr(X, "shape") else len(_words_of(X))
    for name, in_odd, numbers in (("has every word", 1, _FREQUENCIES[least - 1 :]), ("is empty", 0, _SHARES)):
        # As many rounds as it takes; words that are left over in the last one begin again.
        for start in range(0, len(numbers) if n_words else 0, max(n_words, 1)):
            users = np.resize(np.array(numbers[start : start + n_words]), n_words)
            others = (np.arange(_N_UNITS - 1)[:, None] < users - in_odd).astype(np.int32)
            odd = np.full((1, n_words), in_odd, np.int32)
            yield f"{name} at a threshold of others", *(_as_in(X, rows) for rows in (others, odd, 0 * odd))


def tokens_at_frequencies(X: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield counts in which one token becomes another word: one that k documents had, another that now l have."""
    for left, joined in ((1, 2), (3, 5), (10, 20), (25, 50), (100, 150)):
        counts = np.array(X.toarray())
        counts[:, :2] = 0
        counts[:left, 0] = 1
        counts[1:joined, 1] = 1
        moved = counts.copy()
        moved[0, :2] = (0, 1)
        yield f"a token of a word that {left} documents have", _as_in(X, counts), _as_in(X, moved)


def at_sizes(make: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield (n, data of n + 1 units, the same without the last one), for n at which a rounding turns over."""
    for n in _SIZES:
        X = make(n)
        yield n - 1, X, X[:-1]


def knows(X: Any) -> bool:
    """Return whether data of this kind can be made here: a matrix of counts, or texts."""
    if isinstance(X, list):
        return all(isinstance(text, str) for text in X)
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2)


def _words_of(X: list[str]) -> list[str]:
    return sorted(set(" ".join(X).split()))


def _as_in(X: Any, rows: NDArray[np.integer[Any]]) -> Any:
    if sp.issparse(X):
        return sp.csr_matrix(rows.astype(X.dtype))
    if isinstance(X, np.ndarray):
        return rows.astype(X.dtype)
    words = _words_of(X)
    return [" ".join(word for word, n in zip(words, row, strict=True) if n) for row in rows]
