r"""Moments of randomised bits: all that inference needs to keep of any number of reports.

A report is a row y of V bits: with x the bits of a document (which of V public words it has), y_t = 1 with
probability p where x_t = 1 and q where x_t = 0, independently. Kept are

.. math:: n, \qquad \sum_d y_d, \qquad \sum_d y_d y_d^\top :

1 + V + V^2 integers, whatever n is. Batches are added and taken away, shards are merged, all exactly. Unbiased
for the rate u of each word and the rate C of each pair of words are

.. math:: \hat u = \frac{\bar y - q}{p - q}, \qquad
          \hat C_{ij} = \frac{\overline{y_i y_j} - q \bar y_i - q \bar y_j + q^2}{(p - q)^2} \quad (i \ne j),

because given x the bits are independent and :math:`E[y_i - q \mid x] = (p - q) x_i`. The diagonal is not: there
:math:`y_i^2 = y_i`, whose noise is not independent of itself; it carries no co-occurrence and is set to
:math:`\hat u`. Exact bits (a public corpus) are the channel p = 1, q = 0.

**Counting.** 64 rows become one machine word for each column; a pair's count is then the sum of
``popcount(column_i & column_j)`` over words, 64 rows an instruction (512 with AVX-512). Only the upper triangle
is counted. Everything is an integer, so blocks, tiles and threads cannot change the result.

**Bits in bytes**, in memory and on every wire: the first word in the lowest bit, zeros to fill up.

**The file** is an npz archive of seven plain arrays, no pickles, written whole or not at all: ``version`` (2), ``n``,
``channel`` (p, q), ``limit`` (words of a document that a writer keeps; 0: all), ``reproducible`` (1 where coins came
from a seed), ``n_words`` and ``upper``: the upper triangle of the table of pairs, row by row, int64.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import as_numbers, inside_its_shape
from discreet._base.files import write_file
from discreet._base.kernels import kernel
from discreet._base.threads import count_threads, share_out
from discreet._base.validate import check, whole
from discreet.errors import CorpusError, ParameterError
from discreet.lda.moments.estimates import Channel, Estimates, estimates, learnable


def packed_width(n_words: int) -> int:
    """Return how many bytes the bits of so many words take."""
    return -(-n_words // 8)


def pack_bits(bits: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack zeros and ones along the last axis."""
    return np.packbits(bits, axis=-1, bitorder="little")


def unpack_bits(packed: NDArray[np.uint8], n_words: int) -> NDArray[np.uint8]:
    """Return the zeros and ones of so many words, along the last axis."""
    return np.unpackbits(packed, axis=-1, count=n_words, bitorder="little")


def stray_bits(packed: NDArray[np.uint8], n_words: int) -> bool:
    """Whether a bit is set where no word is: such bytes are damaged."""
    used = n_words % 8
    return bool(used and (packed[..., -1] >> used).any())


#: Rows looked at in one go: bounds the memory that adding a batch takes.
_BLOCK = 16_384
_RANDOMISE = "each writer's text becomes a report on the writer's side (BitChannel, discreet perturb)"
_LARGEST = 2**31
#: What numpy raises for a file that holds something else.
_DAMAGE = (OSError, ValueError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
#: Words of one column in a block (4,096 rows); a tile of columns stays in the first cache.
_WORDS = 64
_TILE = 32
_VERSION = 2
_NUMBERS = ("version", "n", "n_words", "limit", "reproducible")
_FORMS = dict.fromkeys(_NUMBERS, ("<i8", 0)) | {"channel": ("<f8", 1), "upper": ("<i8", 1)}


class Moments:
    """The sum of reports, of their bits and of their pairs of bits.

    Parameters
    ----------
    n_words : int
        Number of bits in a report.
    channel : object with ``p`` and ``q``, optional
        How the bits were randomised; by default not at all (p = 1, q = 0), as for a public corpus. Its ``limit`` (words
        of a document that a writer keeps) and its mark ``reproducible`` (coins from a seed) are kept where it has
        them. Only moments of equal channels can be merged; one marked part marks the whole.
    max_bytes : int, default 2**31
        Refuse to make the table of pairs (8 n_words^2 bytes) above this size.

    Attributes
    ----------
    n : int
        Number of reports.
    first : array of shape (n_words,), int64
        How many reports have each bit.
    second : array of shape (n_words, n_words), int64
        How many have both bits; symmetric, with ``first`` on the diagonal.

    Notes
    -----
    Memory: 8 n_words^2 bytes, twice that while a batch is added, and about 25 MB per 1,000 words for the batch's rows;
    it does not grow with n. ``first`` cannot be written to, ``second`` is a copy.

    Examples
    --------
    >>> moments = Moments(3).add_batch([[1, 1, 0], [0, 1, 0]])
    >>> moments.n, moments.first.tolist(), moments.second[0].tolist()
    (2, [1, 2, 0], [1, 1, 0])
    """

    def __init__(self, n_words: int, *, channel: Channel | None = None, max_bytes: int = _LARGEST) -> None:
        check(n_words=(n_words, whole()))
        needed = 8 * int(n_words) ** 2
        if needed > max_bytes:
            raise ParameterError(
                f"the moments of {n_words} words need a table of {needed:,} bytes, which is more than max_bytes = "
                f"{max_bytes:,}: take fewer words, or raise max_bytes."
            )
        self.p, self.q = (1.0, 0.0) if channel is None else (float(channel.p), float(channel.q))
        if not 0 <= self.q < self.p <= 1:
            raise ParameterError(
                f"a channel must have 0 <= q < p <= 1, but has p = {self.p} and q = {self.q}."
            )
        self.limit: int | None = getattr(channel, "limit", None)
        self.reproducible = bool(getattr(channel, "reproducible", False))
        self.n = 0
        self.max_bytes = int(max_bytes)
        # Only the upper triangle is kept up to date.
        self._upper = np.zeros((int(n_words), int(n_words)), np.int64)

    @property
    def n_words(self) -> int:
        """Number of bits in a report."""
        return len(self._upper)

    @property
    def first(self) -> NDArray[np.int64]:
        """How many reports have each bit, shape (n_words,)."""
        return self._upper.diagonal()

    @property
    def second(self) -> NDArray[np.int64]:
        """How many reports have each pair of bits, shape (n_words, n_words); a symmetric copy."""
        upper = np.triu(self._upper)
        return upper + np.triu(upper, 1).T

    def add_batch(self, reports: Any, *, packed: bool = False, n_jobs: int | None = None) -> Moments:
        """Add reports.

        Parameters
        ----------
        reports : array or sparse matrix of shape (n_reports, n_words) of 0 and 1
            Or, where ``packed``, uint8 of shape (n_reports, ceil(n_words / 8)), the first word in the lowest bit.
        packed : bool, default False
        n_jobs : int, optional
            Threads; the result does not depend on it.

        Returns
        -------
        self

        Raises
        ------
        CorpusError
            Where the reports are not bits of that many words. Nothing is added then.
        """
        return self.merge(self._of(reports, packed, n_jobs))

    def subtract_batch(self, reports: Any, *, packed: bool = False, n_jobs: int | None = None) -> Moments:
        """Take away reports that were added before, exactly; parameters as for :meth:`add_batch`."""
        return self.subtract(self._of(reports, packed, n_jobs))

    def merge(self, other: Moments) -> Moments:
        """Add the moments of other reports."""
        self._check_other(other)
        self._upper += other._upper
        self.n += other.n
        self.reproducible |= other.reproducible
        return self

    def subtract(self, other: Moments) -> Moments:
        """Take away moments that were merged before, exactly.

        Raises
        ------
        CorpusError
            Where they cannot have been part of these moments: some count would be negative, or larger than n.
        """
        self._check_other(other)
        left, n = self._upper - other._upper, self.n - other.n
        if n < 0 or left.min() < 0 or left.diagonal().max() > n:
            raise CorpusError(
                "what is to be subtracted was not part of these moments: counts would fall below 0 or exceed the "
                "number of reports."
            )
        self._upper, self.n = left, n
        return self

    def copy(self) -> Moments:
        """Return moments with the same content."""
        return Moments(self.n_words, channel=self, max_bytes=self.max_bytes).restore(self.n, self._upper)

    def restore(self, n: int, second: NDArray[np.int64]) -> Moments:
        """Take over counts that were kept elsewhere, instead of the present ones: of ``n`` reports, read on and above
        the diagonal.

        ``CorpusError`` where they cannot be that.
        """
        upper = np.triu(np.asarray(second))
        if upper.shape != self._upper.shape or upper.dtype != np.int64 or isinstance(n, bool) or n < 0:
            raise CorpusError(
                f"counts must be int64 of shape {self._upper.shape}, but are {upper.dtype} of shape {upper.shape}."
            )
        first = upper.diagonal()
        if first.max() > n or upper.min() < 0 or (upper > np.minimum.outer(first, first)).any():
            raise CorpusError(f"these counts cannot be those of {n} reports; they are damaged.")
        self._upper, self.n = upper, int(n)
        return self

    def estimates(self) -> Estimates:
        """Return unbiased rates of words and pairs (see the module)."""
        if self.n == 0:
            raise CorpusError("there is no report to estimate anything from; add a batch first.")
        return estimates(self.n, self.first, self.second, self)

    def learnable(self) -> int:
        """Return how many topics the noise lets through; see :mod:`discreet.lda.moments.estimates`."""
        return learnable(self.estimates())

    def save(self, path: str | Path) -> None:
        """Write the moments to one file (numpy's npz, without pickles)."""
        fields: dict[str, Any] = {
            "version": np.int64(_VERSION),
            "n": np.int64(self.n),
            "n_words": np.int64(self.n_words),
            "channel": np.array([self.p, self.q]),
            "limit": np.int64(self.limit or 0),
            "reproducible": np.int64(self.reproducible),
            "upper": self.second[np.triu_indices(self.n_words)],
        }
        write_file(Path(path), lambda file: np.savez(file, **fields))

    @classmethod
    def load(cls, path: str | Path, *, max_bytes: int = _LARGEST) -> Moments:
        """Read moments; ``CorpusError`` for a file that does not hold exactly them."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as fields:
                return _made(fields, cls, max_bytes)
        except FileNotFoundError:
            raise CorpusError(f"there are no moments at {path}.") from None
        except _DAMAGE as error:
            raise CorpusError(
                f"{path} does not hold moments as Moments.save writes them ({type(error).__name__})."
            ) from None

    def _of(self, reports: Any, packed: bool, n_jobs: int | None) -> Moments:
        made = Moments(self.n_words, channel=self, max_bytes=self.max_bytes)
        n_threads = count_threads(n_jobs)
        for block in read_bits(reports, self.n_words, packed=packed):
            add_pair_counts(block, made._upper, n_threads)
            made.n += len(block)
        return made

    def _check_other(self, other: Moments) -> None:
        if not self.same_reports(other):
            raise CorpusError(f"{self.of_what()} cannot go together with {other.of_what()}.")

    def same_reports(self, other: Moments) -> bool:
        """Tell whether both are of reports about equally many words, through equal channels."""
        return (self.n_words, self.p, self.q, self.limit) == (other.n_words, other.p, other.q, other.limit)

    def of_what(self) -> str:
        """Return, for messages, what the reports are like."""
        kept = "all words" if self.limit is None else f"at most {self.limit} words of a document"
        return f"moments of {self.n_words} words (p = {self.p:.6g}, q = {self.q:.6g}, {kept} kept)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return self.n == other.n and self.same_reports(other) and np.array_equal(self._upper, other._upper)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"Moments({self.n_words}, {self.n:,} reports, p={self.p:.4g}, q={self.q:.4g})"


def read_bits(reports: Any, n_words: int, *, packed: bool = False, block: int = _BLOCK) -> Any:
    """Yield rows of 0/1 bytes, a block at a time; ``CorpusError`` where reports are not that.

    ``reports`` as for :meth:`Moments.add_batch`, at most ``block`` rows at a time.
    """
    rows: Any
    if sp.issparse(reports):
        rows = inside_its_shape(reports)
    else:
        rows = as_numbers(reports, "the reports", _RANDOMISE)
    width = packed_width(n_words) if packed else n_words
    if rows.ndim != 2 or rows.shape[1] != width:
        what = f"{width} bytes (packed bits of {n_words} words)" if packed else f"{n_words} bits"
        raise CorpusError(f"each report must have {what}, but the reports have shape {rows.shape}.")
    if packed and rows.dtype != np.uint8:
        raise CorpusError(f"packed reports must be bytes (uint8), but are {rows.dtype}.")
    if rows.dtype.kind not in "biuf":
        raise CorpusError(f"a report must hold zeros and ones, but holds {rows.dtype} values.")
    for start in range(0, rows.shape[0], block):
        part = rows[start : start + block]
        if sp.issparse(part):
            part = part.toarray()
        if packed:
            if stray_bits(part, n_words):
                raise CorpusError(f"a packed report has bits beyond its {n_words} words; it is damaged.")
            yield unpack_bits(part, n_words)
            continue
        if part.dtype != np.bool_ and not ((part == 0) | (part == 1)).all():
            raise CorpusError(f"a report must hold zeros and ones only, no counts, NaN or inf: {_RANDOMISE}.")
        yield part.astype(np.uint8)


@kernel(inline="always")
def _ones(word: np.uint64) -> np.uint64:
    """Count the ones of a word (LLVM knows this form and emits its own instruction for it)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel()
def _pack(rows: NDArray[np.uint8], columns: NDArray[np.uint64]) -> None:
    """Turn up to 4,096 rows of 0/1 bytes into words, ``columns[t, w]`` holding rows 64 w to 64 w + 63."""
    n_rows, n_columns = rows.shape
    word = np.empty(n_columns, np.uint64)
    for w in range(columns.shape[1]):
        word[:] = 0
        for r in range(64 * w, min(64 * w + 64, n_rows)):
            shift = np.uint64(r - 64 * w)
            for t in range(n_columns):
                word[t] |= np.uint64(rows[r, t]) << shift
        for t in range(n_columns):
            columns[t, w] = word[t]


@kernel()
def _count(columns: NDArray[np.uint64], low: int, high: int, out: NDArray[np.int64]) -> None:
    """Add the counts of pairs (i, j), i from low to high and j >= i, to ``out``."""
    n_columns, n_words = columns.shape
    for start in range(low, n_columns, _TILE):
        stop = min(start + _TILE, n_columns)
        for i in range(low, min(high, stop)):
            for j in range(max(i, start), stop):
                total = np.uint64(0)
                for w in range(n_words):
                    total += _ones(columns[i, w] & columns[j, w])
                out[i, j] += np.int64(total)


def add_pair_counts(rows: NDArray[np.uint8], out: NDArray[np.int64], n_threads: int = 1) -> None:
    """Add how often columns i <= j of rows of zeros and ones are both 1 to the upper triangle of ``out``."""
    n_columns = rows.shape[1]
    tiles = [(low, min(low + _TILE, n_columns)) for low in range(0, n_columns, _TILE)]
    for start in range(0, len(rows), 64 * _WORDS):
        block = np.ascontiguousarray(rows[start : start + 64 * _WORDS])
        columns = np.empty((n_columns, -(-len(block) // 64)), np.uint64)
        _pack(block, columns)

        def work(tile: tuple[int, int], columns: NDArray[np.uint64] = columns) -> None:
            _count(columns, *tile, out)

        share_out(work, tiles, n_threads)


def _made(fields: Any, kind: type[Moments], max_bytes: int) -> Moments:
    """Make moments of what numpy reads, without pickles, one array after another."""
    if sorted(fields.files) != sorted(_FORMS):
        raise ValueError("other arrays")

    def field(name: str) -> Any:
        array, (dtype, n_dimensions) = fields[name], _FORMS[name]
        if array.dtype != np.dtype(dtype) or array.ndim != n_dimensions:
            raise ValueError(name)
        return array

    if int(field("version")) != _VERSION or field("channel").shape != (2,):
        raise ValueError("header")
    p, q = field("channel").tolist()
    limit, reproducible = int(field("limit")), int(field("reproducible"))
    if not (math.isfinite(p) and math.isfinite(q)) or limit < 0 or reproducible not in (0, 1):
        raise ValueError("channel")
    channel: Any = SimpleNamespace(p=p, q=q, limit=limit or None, reproducible=reproducible)
    made = kind(int(field("n_words")), channel=channel, max_bytes=max_bytes)
    upper, kept = np.zeros((made.n_words, made.n_words), np.int64), field("upper")
    if len(kept) != made.n_words * (made.n_words + 1) // 2:
        raise ValueError("upper")
    upper[np.triu_indices(made.n_words)] = kept
    return made.restore(int(field("n")), upper)
