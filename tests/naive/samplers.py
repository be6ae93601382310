"""Slow, obvious twins of the exact samplers: plain rational arithmetic on the same random words.

A uniform is taken with 32 + 1024 digits (63 + 1024 for x) at once; nothing is lazy, nothing an interval, and
the thresholds come from ``decimal``. The layout of the words is written here a second time, on purpose.

``mistakes`` names plausible faults that tests plant, to show that their checks notice.
"""

from collections.abc import Callable, Collection
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import count
from math import floor

import numpy as np

from discreet.errors import PrivacyError

BLOCK = 8192
EXTENSION = 32


class Undecided(PrivacyError):
    """Even all digits there may be do not decide, or words beyond the limit would be needed."""


class Reader:
    """The words of one block, read in order."""

    def __init__(self, source, block, limit=2**14):
        self.source, self.block, self.position, self.left, self.limit = source, block, 0, limit, limit
        self.known = []

    def word(self):
        if self.left == 0:
            raise Undecided("words")
        while self.position >= len(self.known):
            self.known += self.source.read(self.block, 0, len(self.known), 4096).tolist()
        self.position += 1
        self.left -= 1
        return self.known[self.position - 1]

    def start_draw(self):
        self.left = self.limit

    def _digits(self, value, position):
        for word in self.source.read(self.block, position + 1, 0, EXTENSION).tolist():
            value = value << 32 | word
        return value

    def uniform(self):
        position = self.position
        return Fraction(self._digits(self.word(), position), 1 << (32 + 32 * EXTENSION))

    def uniform_and_sign(self):
        position = self.position
        both = self.word() << 32 | self.word()
        value = Fraction(self._digits(both >> 1, position), 1 << (63 + 32 * EXTENSION))
        return value, -1 if both & 1 else 1


#: The last digit that there is: two numbers nearer than this are not told apart.
TINY = Fraction(1, 1 << (32 + 32 * EXTENSION))


def is_below(left, right):
    if abs(left - right) < TINY:
        raise Undecided("digits")
    return left < right


@cache
def cumulative():
    """c_1, c_2, ... of the Gaussian's step 1, to 400 decimal places."""
    with localcontext() as context:
        context.prec = 400
        terms = [(Decimal(-i * i) / 2).exp() for i in range(60)]
        whole = sum(terms)
        return [Fraction(sum(terms[: j + 1]) / whole) for j in range(42)]


def accept(reader, x, halved, factor=2):
    """True with probability exp(-x), or where halved is set exp(-x * x / factor)."""
    previous = x
    for n in count():
        z = reader.uniform()
        if not is_below(z, previous):
            return n % 2 == 0
        if halved and not is_below(factor * reader.uniform(), x):
            return n % 2 == 0
        previous = z
    raise AssertionError


def gaussian_draw(reader, scale, mistakes: Collection[str] = ()):
    while True:
        u = reader.uniform()
        # That c_42 differs from 1 by less than TINY is why the list may end there.
        k = next((j for j, c in enumerate(cumulative()) if is_below(u, c)), None)
        if k is None:
            raise Undecided("tail")
        x, sign = reader.uniform_and_sign()
        if "k forgotten" not in mistakes and not all(accept(reader, x, False) for _ in range(k)):
            continue
        if accept(reader, x, True, 1 if "x^2 for x^2/2" in mistakes else 2):
            break
    y = scale * (k + x)
    magnitude = floor(y) if "toward zero" in mistakes else floor(y + Fraction(1, 2))
    return magnitude if "no sign" in mistakes else sign * magnitude


def laplace_draw(reader, scale, mistakes: Collection[str] = ()):
    while True:
        k = 0
        while True:
            x, sign = reader.uniform_and_sign()
            if accept(reader, x, False):
                break
            k += 1
        magnitude = floor(scale * (k + x) + (Fraction(1, 2) if "nearest" in mistakes else 0))
        if "no sign" in mistakes:
            return magnitude
        if magnitude or sign > 0 or "two zeros" in mistakes:
            return sign * magnitude


def coin_draw(reader, probability):
    return is_below(reader.uniform(), probability)


def draws(draw: Callable, size, source, *arguments):
    """``size`` draws, a list; each block of 8,192 from words of its own."""
    values = []
    for block in range(-(-size // BLOCK)):
        reader = Reader(source, block)
        for _ in range(min(BLOCK, size - block * BLOCK)):
            reader.start_draw()
            values.append(draw(reader, *arguments))
    return np.array(values)
