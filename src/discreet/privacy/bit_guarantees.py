r"""What one report of randomised bits loses at most: four figures, from the two probabilities of a bit.

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
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.privacy.units import round_up

__all__ = ["BitGuarantees", "log_up", "losses_of_bits", "one_bit", "one_bit_each_way"]


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
    """Return the four losses of a report; none is below the exact one.

    Parameters
    ----------
    p, q : Fraction or float
        P(1 | word present) and P(1 | word absent), 0 <= q < p <= 1. At 0 or 1 the losses are infinite.
    limit : int or None
        L, the words that are kept of a document; None: all.
    n_words : int
        V, the bits of a report.
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
