"""Bounded contributions, slow and obvious: exact rationals, and integer square roots by comparison."""

from fractions import Fraction
from math import isqrt


def norm_l2_at_most(vector: list[int], bound: int) -> bool:
    """Whether the L2 norm of an integer vector is at most an integer, with no floating-point."""
    return sum(entry * entry for entry in vector) <= bound * bound


def place_l2(values: list[float], bits: int, normalise: bool) -> list[int]:
    """Scale exactly, then truncate. May differ from the fast one by one step where the quotient is whole."""
    exact = [Fraction(value) for value in values]
    squares = sum(value * value for value in exact)
    if squares == 0:
        return [0] * len(values)
    if not normalise and squares <= 1:
        return [truncate(value * 2**bits) for value in exact]
    return [scaled_by_root(value * 2**bits, squares) for value in exact]


def place_l1(values: list[float], bits: int, normalise: bool) -> list[int]:
    exact = [Fraction(value) for value in values]
    total = sum(abs(value) for value in exact)
    if total == 0:
        return [0] * len(values)
    scale = 1 / total if normalise or total > 1 else Fraction(1)
    return [truncate(value * scale * 2**bits) for value in exact]


def truncate(value: Fraction) -> int:
    magnitude = abs(value.numerator) // value.denominator
    return magnitude if value > 0 else -magnitude


def scaled_by_root(value: Fraction, squares: Fraction) -> int:
    """Truncate value / sqrt(squares): the largest n with n^2 <= value^2 / squares."""
    quotient = value * value / squares
    magnitude = isqrt(quotient.numerator // quotient.denominator)
    return magnitude if value > 0 else -magnitude
