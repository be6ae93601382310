r"""Exact arithmetic for the draws that 64 bits leave undecided: lazily extended digits, and bounds on exp.

A :class:`Uniform` is a real number whose binary digits are read as they are needed. Its first digits are a
word of the block's lane 0; if that is word number :math:`j`, its further digits are the words of lane
:math:`j + 1`. So the whole infinite digit string is fixed by the key and by :math:`j`, however many digits
anybody reads and in whatever order. This is what makes a fast path that reads 64 digits and a slow path that
reads 1,000 agree.

:func:`exp_bounds` encloses :math:`e^{-t}`, :math:`t` rational, between two integers times :math:`2^{-bits}`,
by integer arithmetic with directed rounding.
"""

from fractions import Fraction

from discreet.errors import PrivacyError
from discreet.privacy.noise.stream import WordBlocks

#: Further 32-bit words of one uniform. A true random stream asks for more with probability below 2^-1000.
MAX_EXTENSION = 32
#: Words of lane 0 that one draw may use. A true random stream asks for more with probability below 2^-1000.
MAX_WORDS = 2**14
_CHUNK = 64


def not_random(what: str) -> PrivacyError:
    """Return the error for a stream that cannot be random."""
    return PrivacyError(
        f"{what}: random words do this with probability below 2^-1000, so the stream is broken; "
        "make a new SecureStream()."
    )


class Words:
    """The words of lane 0 that one draw uses, in order, from a given place on.

    Parameters
    ----------
    source : WordBlocks
    block : int
    start : int
        Number of the first word.
    """

    def __init__(self, source: WordBlocks, block: int, start: int) -> None:
        self.source = source
        self.block = block
        self.start = start
        self.position = start
        self._chunk: list[int] = []

    def take(self) -> int:
        """Return the next word."""
        used = self.position - self.start
        if used >= MAX_WORDS:
            raise not_random(f"one draw used up {MAX_WORDS} random words")
        if used % _CHUNK == 0:
            self._chunk = self.source.read(self.block, 0, self.position, _CHUNK).tolist()
        self.position += 1
        return self._chunk[used % _CHUNK]

    def uniform(self) -> "Uniform":
        """Return a uniform whose first 32 digits are the next word."""
        position = self.position
        return Uniform(self, position, self.take(), 32)

    def uniform_and_sign(self) -> tuple["Uniform", bool]:
        """Return a uniform whose first 63 digits are the next two words', and the bit that is left."""
        position = self.position
        high, low = self.take(), self.take()
        return Uniform(self, position, (high << 31) | (low >> 1), 63), bool(low & 1)


class Uniform:
    """A number in [0, 1] with lazily extended digits: from ``value`` to ``value + 1``, times ``2**-bits``."""

    def __init__(self, words: Words, position: int, value: int, bits: int) -> None:
        self.value = value
        self.bits = bits
        self._words = words
        self._position = position
        self._extended = 0

    def extend(self) -> None:
        """Read 32 more digits."""
        if self._extended >= MAX_EXTENSION:
            raise not_random(f"a comparison was undecided after {32 * MAX_EXTENSION} further random digits")
        words = self._words
        (word,) = words.source.read(words.block, self._position + 1, self._extended, 1).tolist()
        self._extended += 1
        self.value = (self.value << 32) | word
        self.bits += 32

    @property
    def low(self) -> Fraction:
        """Lower end of the interval that the digits read so far leave."""
        return Fraction(self.value, 1 << self.bits)

    @property
    def high(self) -> Fraction:
        """Upper end of the interval that the digits read so far leave."""
        return Fraction(self.value + 1, 1 << self.bits)


def less(left: Uniform, right: Uniform, factor: int = 1) -> bool:
    """Return whether ``factor * left < right``, reading digits until that is certain."""
    while True:
        if factor * left.high <= right.low:
            return True
        if factor * left.low >= right.high:
            return False
        (left if left.bits <= right.bits else right).extend()


def exact_exp(words: Words, x: Uniform) -> bool:
    """Return True with probability exp(-x)."""
    y, even = x, True
    while less(z := words.uniform(), y):
        y, even = z, not even
    return even


def floor_scaled(scale: Fraction, whole: int, part: Uniform, offset: Fraction) -> int:
    """Return ``floor(scale * (whole + part) + offset)``, reading digits of ``part`` until that is certain."""
    while True:
        low = scale * (whole + part.low) + offset
        high = scale * (whole + part.high) + offset
        if low.__floor__() == high.__floor__():
            return low.__floor__()
        part.extend()


def exp_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    r"""Enclose :math:`2^{bits} e^{-t}` between two integers.

    Parameters
    ----------
    exponent : Fraction
        t, not negative.
    bits : int
        Binary places.

    Returns
    -------
    low, high : int
        ``low <= 2**bits * exp(-t) <= high``. The gap is a few units in the last place, times the number of
        digits of t.

    Notes
    -----
    With :math:`t = n + r`, :math:`0 \le r < 1`: the Taylor sums of :math:`e^{-r}` alternate and
    their terms decrease, so two neighbouring partial sums enclose the limit; :math:`e^{-1}` is enclosed the
    same way and raised to the n-th power by squaring, where every product of lower bounds is rounded down and
    of upper bounds up.
    """
    if exponent == 0:
        return 1 << bits, 1 << bits
    whole = exponent.__floor__()
    low, high = _alternating(exponent - whole, bits)
    base_low, base_high = _alternating(Fraction(1), bits)
    while whole:
        if whole & 1:
            low, high = (low * base_low) >> bits, -((-high * base_high) >> bits)
        base_low, base_high = (base_low * base_low) >> bits, -((-base_high * base_high) >> bits)
        whole >>= 1
    return low, high


def _alternating(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``2**bits * exp(-t)``, t from 0 to 1: enclosed terms t^i / i! with alternating signs."""
    numerator, denominator = exponent.numerator, exponent.denominator
    one = 1 << bits
    term_low = term_high = low = high = one
    i = 0
    while term_high > 1:
        i += 1
        term_low = term_low * numerator // (denominator * i)
        term_high = -(-term_high * numerator // (denominator * i))
        if i % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    # What is left out is smaller than the last term, so than 1 unit, in either direction.
    return max(low - 1, 0), min(high + 1, one)
