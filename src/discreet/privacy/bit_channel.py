r"""The channel that randomises which words of a vocabulary a document has: one bit a word, exact coins.

Bit t of the report is 1 with probability p where the document has word t, and with probability q where it has not,
independently. Both are whole multiples of :math:`2^{-32}`, and a bit is 1 where a uniform 32-bit number lies below the
multiple: the coins are exact, and another language draws the very same ones.

Guarantee (local; each writer's own): four losses of a report, with their proofs in
:mod:`discreet.privacy.bit_channel`. The constructors round q up and p down, which makes every ratio of
probabilities smaller. A second report of the same document costs the same again: keep the first
(:class:`discreet.local.ReportMemo`).

What one report of randomised bits loses at most: four figures, from the two probabilities of a bit
===================================================================================================
Bit t of a report is 1 with probability p where the document has word t, and with probability q where it has not,
independently. *Unit*: one document. *Released*: its report. *Loss*: the largest
:math:`|\ln P(y \mid x) - \ln P(y \mid x')|` over all reports y, exact and pure, for neighbours x, x' of four kinds.
Write :math:`\epsilon_1 = \max(\ln p/q,\ \ln (1-q)/(1-p))` for one bit's largest loss, and
:math:`\epsilon_2 = \ln p/q + \ln (1-q)/(1-p)`.

*One word replaced by another*: one bit each way, :math:`\epsilon_2`.

*One word added or removed*: one bit, :math:`\epsilon_1`, where all words are kept. Where the client keeps L random
words of a longer document, an added word may displace a kept one. Let x have :math:`r \ge L` words and x' one more, w.
With probability :math:`L / (r+1)` what is kept of x' is w and a random L - 1 words of x, otherwise a random L words of
x. So, with A the law of reports of L random words of x, and B that of w and L - 1 random words of x,

.. math:: \frac{P(y \mid x')}{P(y \mid x)} = 1 - \frac{L}{r+1} + \frac{L}{r+1} \frac{B(y)}{A(y)} .

L random words are L - 1 random words and one further, and replacing that one by w changes the law by
:math:`e^{\pm\epsilon_2}` at most: so B/A lies between the two. The ratio is therefore largest at r = L, and there it is
reached by the report that has w and no word of x. Its inverse is no larger, because a mean of :math:`e^{X}` times a
mean of :math:`e^{-X}` is at least 1. Together with documents that are not full,

.. math:: \max\Big(\epsilon_1,\ \ln \frac{1 + L e^{\epsilon_2}}{L + 1}\Big) .

*A whole document of at most L words replaced by another such*: :math:`L \epsilon_2`, at most L bits each way. It holds
for longer documents too where the client keeps L words: the report is then a mixture, and a ratio of mixtures is at
most the largest ratio of their parts.

*A whole document, all its words kept*: :math:`V \epsilon_1`.

The event is pure; nothing is composed here: a second report of the same document costs the same again.
Logarithms are of exact fractions, rounded up.

References
----------
Zhao et al., "Latent Dirichlet allocation model training with differential privacy", arXiv:2010.04391 (symmetric bits;
its flip probability is f = 2q). Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency
estimation", USENIX Security 2017 (unequal p and q).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.arrays import Matrix, as_array
from discreet._base.validate import check, optional, shown, whole
from discreet.errors import ParameterError
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_epsilon, round_up

_ONE = 2**32
#: Gives that many uniform 32-bit numbers.
ReadWords = Callable[[int], NDArray[np.uint32]]


@dataclass(frozen=True)
class BitChannel:
    """Bits that are 1 with probability p for present words and q for absent ones.

    Made by :meth:`for_replacement` (an epsilon for a word replaced by another), :meth:`for_document` (for a whole
    document) or :meth:`symmetric` (for a word added or removed), rather than from thresholds.

    Parameters
    ----------
    p_threshold, q_threshold : int
        2^32 p and 2^32 q, 0 < q < p < 1.
    limit : int, optional
        Words of a document that the client keeps, drawn at random; all by default.
    reproducible : bool, default False
        Whether reports are known to have been made with a seed: whoever has it can take the noise off, and a release
        made of them says so. Channels that differ in nothing else are equal.
    """

    p_threshold: int
    q_threshold: int
    limit: int | None = None
    reproducible: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        check(
            p_threshold=(self.p_threshold, whole(0)),
            q_threshold=(self.q_threshold, whole(0)),
            limit=(self.limit, optional(whole(1, 2**31 - 1))),
        )
        if not 0 < self.q_threshold < self.p_threshold < _ONE:
            raise ParameterError(
                "a channel needs 0 < q < p < 1, on multiples of 2^-32, but has "
                f"p = {self.p_threshold} / 2^32, q = {self.q_threshold} / 2^32; give another epsilon."
            )
        for name in ("p_threshold", "q_threshold", "limit"):  # fractions of numpy's numbers overflow
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else int(value))

    @property
    def p(self) -> Fraction:
        """P(1 | word present), exactly."""
        return Fraction(self.p_threshold, _ONE)

    @property
    def q(self) -> Fraction:
        """P(1 | word absent), exactly."""
        return Fraction(self.q_threshold, _ONE)

    @classmethod
    def symmetric(cls, epsilon: float) -> BitChannel:
        """Flip bits with equal probability, q = 1 / (e^epsilon + 1): ``epsilon`` for one word added or removed."""
        q = 1 / (math.exp(min(_finite(epsilon), 700.0)) + 1)
        return cls._rounded(epsilon, (1 - q, q), lambda c: one_bit(c.p, c.q))

    @classmethod
    def for_replacement(cls, epsilon: float, density: float, *, limit: int | None = None) -> BitChannel:
        """Return the channel of least variance that costs ``epsilon`` for one word replaced by another.

        Parameters
        ----------
        epsilon : float
            ln p/q + ln (1-q)/(1-p).
        density : float
            Public guess of the share of the vocabulary's words that a document has, between 0 and 1.
        limit : int, optional
            Words of a document to keep.
        """
        from scipy.optimize import minimize_scalar

        epsilon = _finite(epsilon)
        if not 0 < density < 1:
            raise ParameterError(
                f"density must lie between 0 and 1, but is {shown(density)}; give mean words / n_words."
            )

        def rates(logit: float) -> tuple[float, float]:
            return 1 / (1 + math.exp(-logit - epsilon)), 1 / (1 + math.exp(-logit))

        def variance(logit: float) -> float:
            p, q = rates(logit)
            return (density * p * (1 - p) + (1 - density) * q * (1 - q)) / (p - q) ** 2

        best: Any = minimize_scalar(variance, bounds=(-epsilon / 2 - 12, 12 - epsilon / 2), method="bounded")
        return cls._rounded(epsilon, rates(float(best.x)), lambda c: one_bit_each_way(c.p, c.q), limit)

    @classmethod
    def for_document(cls, epsilon: float, limit: int, n_words: int) -> BitChannel:
        """Return the channel that costs ``epsilon`` for a whole document, of which it keeps ``limit`` words.

        Parameters
        ----------
        epsilon : float
            For any document replaced by any other.
        limit : int
            Words to keep, L.
        n_words : int
            Size of the vocabulary; the density is L / n_words.
        """
        if not whole(1, n_words - 1).holds(limit):
            raise ParameterError(
                f"limit must be a number of words from 1 to below {n_words}, but is {shown(limit)}."
            )
        return cls.for_replacement(_finite(epsilon) / limit, limit / n_words, limit=limit)

    @classmethod
    def _rounded(
        cls,
        epsilon: float,
        rates: tuple[float, float],
        ratio: Callable[[BitChannel], Fraction | None],
        limit: int | None = None,
    ) -> BitChannel:
        p, q = math.floor(rates[0] * _ONE), math.ceil(rates[1] * _ONE)
        p, q = min(p, _ONE - 1), max(q, 1)
        while q < p and log_up(ratio(cls(p, q))) > epsilon:  # a rounding of floats
            p, q = p - 1, q + 1
        if q >= p:
            raise ParameterError(
                f"epsilon = {shown(epsilon)} for a bit is below what 32-bit coins can tell apart; give a larger one."
            )
        return cls(p, q, limit)

    def guarantees(self, n_words: int) -> BitGuarantees:
        """Return the four losses of a report of ``n_words`` bits."""
        return losses_of_bits(self.p, self.q, self.limit, n_words)

    def report(
        self, words_or_row: Iterable[int] | Matrix, stream: SecureStream, *, n_words: int | None = None
    ) -> NDArray[np.uint8]:
        """Randomise one document.

        Parameters
        ----------
        words_or_row : array-like
            A row of counts or of presence, one entry a word of the vocabulary; or, where ``n_words`` is given, the
            numbers of the document's words (columns; a word may come more than once).
        stream : SecureStream
            Source of randomness; one key is taken from it.
        n_words : int, optional
            Size of the vocabulary.

        Returns
        -------
        array of shape (n_words,), uint8
            The report: zeros and ones. Ask once for each document, and keep the answer.
        """
        present = _presence(words_or_row, n_words)
        source = stream.spawn("report")
        return self.report_from(present, lambda n: source.words((n + 1) // 2).view("<u4")[:n])

    def report_from(self, present: NDArray[np.bool_], read: ReadWords) -> NDArray[np.uint8]:
        """Randomise with given uniform 32-bit numbers.

        Where there are more words than ``limit``, numbers choose among them first; then each bit takes one.
        """
        kept = present
        if self.limit is not None and np.count_nonzero(present) > self.limit:
            words = np.flatnonzero(present)
            for i in range(self.limit):  # the first steps of a shuffle
                j = i + _below(len(words) - i, read)
                words[i], words[j] = words[j], words[i]
            kept = np.zeros_like(present)
            kept[words[: self.limit]] = True
        thresholds = np.where(kept, np.uint32(self.p_threshold), np.uint32(self.q_threshold))
        return (read(len(present)) < thresholds).astype(np.uint8)

    def reports(self, counts: Matrix, stream: SecureStream) -> NDArray[np.uint8]:
        """Randomise every row of a matrix of counts, each with a key of its own: for simulations.

        Returns
        -------
        array of shape (n_documents, n_words), uint8
        """
        given: Any = counts
        rows = given.tocsr() if hasattr(given, "tocsr") else as_array(given, "the counts")
        out = np.empty(rows.shape, np.uint8)
        for d in range(rows.shape[0]):
            row = rows[d].toarray()[0] if hasattr(rows, "tocsr") else rows[d]
            out[d] = self.report(row, stream)
        return out


def _finite(epsilon: Any) -> float:
    found = check_epsilon(epsilon)
    if math.isinf(found):
        raise ParameterError(
            "epsilon of a channel must be finite: without randomising there is no report to send."
        )
    return found


def _below(n: int, read: ReadWords) -> int:
    """Return a uniform number below ``n``, refusing numbers of the last, incomplete round."""
    last = _ONE - _ONE % n
    while True:
        word = int(read(1)[0])
        if word < last:
            return word % n


def _presence(words_or_row: Any, n_words: int | None) -> NDArray[np.bool_]:
    if n_words is None:
        row = words_or_row.toarray()[0] if hasattr(words_or_row, "toarray") else words_or_row
        row = as_array(row, "the row")
        if row.ndim != 1 or row.dtype.kind not in "biuf" or not np.isfinite(row).all() or (row < 0).any():
            raise ParameterError(
                "expected one row of counts, none of them negative; for numbers of words give n_words= as well."
            )
        return row > 0
    numbers: Iterable[Any] = list(words_or_row)
    words = as_array(numbers, "the numbers of words")
    if words.size and (
        words.dtype.kind not in "iu" or words.ndim != 1 or not 0 <= words.min() <= words.max() < n_words
    ):
        raise ParameterError(
            f"expected numbers of words from 0 to {n_words - 1}, one for each word of the document."
        )
    present = np.zeros(n_words, bool)
    present[words.astype(np.int64)] = True
    return present


class BitGuarantees(NamedTuple):
    """The four losses of one report; none says enough alone, so they are always told together.

    Attributes
    ----------
    word_added_or_removed, word_replaced : float
        Epsilon of one word of a document.
    document : float or None
        Epsilon of the words that were kept of a document; None where their number has no limit.
    document_words : int or None
        That limit.
    document_without_limit : float
        Epsilon of all ``n_words`` bits.
    n_words : int
        Bits of a report.
    """

    word_added_or_removed: float
    word_replaced: float
    document: float | None
    document_words: int | None
    document_without_limit: float
    n_words: int

    @property
    def whole_report(self) -> float:
        """Loss of the whole report: of the words that were kept of a document, or of all bits."""
        return self.document_without_limit if self.document is None else self.document

    def in_words(self) -> str:
        """Return the four losses as one sentence, with four digits, rounded up."""
        if self.document is None:
            whole = "a whole document of at most L words replaced: L times the loss of one replaced word"
        else:
            whole = (
                f"a whole document of at most {self.document_words} words replaced: {round_up(self.document)}"
            )
        return (
            "Local differential privacy of one report, epsilon for one word added or removed: "
            f"{round_up(self.word_added_or_removed)}; one word replaced by another: {round_up(self.word_replaced)}; "
            f"{whole}; a whole document without limit, {self.n_words} bits: {round_up(self.document_without_limit)}."
        )


def losses_of_bits(p: Any, q: Any, limit: int | None, n_words: int) -> BitGuarantees:
    """Return the four losses of a report of ``n_words`` bits; none is below the exact one.

    p and q are P(1 | word present) and P(1 | word absent), 0 <= q < p <= 1; at 0 or 1 the losses are infinite. Of a
    document ``limit`` words are kept, or all.
    """
    p, q = Fraction(p), Fraction(q)
    bit, each_way = one_bit(p, q), one_bit_each_way(p, q)
    one, replaced = log_up(bit), log_up(each_way)
    unlimited = _up(n_words * one)
    if limit is None:
        return BitGuarantees(one, replaced, None, None, unlimited, n_words)
    displaced = None if each_way is None else (1 + limit * each_way) / (limit + 1)
    added = max(one, log_up(displaced)) if n_words > limit else one
    return BitGuarantees(added, replaced, min(_up(limit * replaced), unlimited), limit, unlimited, n_words)


def one_bit(p: Fraction, q: Fraction) -> Fraction | None:
    r"""Return :math:`e^{\epsilon_1}`; None where it is infinite."""
    return None if q == 0 or p == 1 else max(p / q, (1 - q) / (1 - p))


def one_bit_each_way(p: Fraction, q: Fraction) -> Fraction | None:
    r"""Return :math:`e^{\epsilon_2}`; None where it is infinite."""
    return None if q == 0 or p == 1 else p / q * (1 - q) / (1 - p)


def log_up(ratio: Fraction | None) -> float:
    """Return the natural logarithm of a fraction above 1, rounded up by a few units in the last place.

    Quotients of whole numbers are rounded correctly, and ``log1p`` keeps relative errors: near 1, too.
    """
    if ratio is None:
        return math.inf
    try:
        return _up(math.log1p(float(ratio - 1)))
    except OverflowError:  # above 1e308: up to a factor 2
        return (ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1) * math.log(2)


def _up(value: float) -> float:
    return value * (1 + 4 * math.ulp(1.0))
