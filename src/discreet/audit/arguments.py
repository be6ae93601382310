"""Checks of what audits are called with, before hours of training and not after.

A promise that is not a number, or a confidence of 2, makes every comparison false: an audit that let them pass
would say "not broken" of anything. Nothing here is private or promises anything.
"""

import math
from typing import Any

from discreet._validate import Rule, check, number, optional, whole

__all__ = ["check_confidence", "check_promise", "check_seed", "check_train", "check_whole"]


def check_whole(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least ``least``, or raise a ParameterError."""
    check(**{name: (value, whole(least))})
    return int(value)


def check_confidence(confidence: Any) -> float:
    """Return a number strictly between 0 and 1, or raise a ParameterError."""
    check(confidence=(confidence, number(above=0, below=1)))
    return float(confidence)


def check_promise(epsilon: Any, delta: Any) -> None:
    """Raise a ParameterError unless epsilon is from 0 and delta from 0 and below 1; None stands for no promise."""
    check(
        epsilon=(epsilon, optional(number(least=0, most=math.inf))),
        delta=(delta, optional(number(least=0, below=1))),
    )


def check_seed(random_state: Any) -> int | None:
    """Return a whole number of at least 0 or None, or raise a ParameterError."""
    check(random_state=(random_state, optional(whole(0))))
    return None if random_state is None else int(random_state)


def check_train(train: Any) -> None:
    """Raise a ParameterError unless this can be called."""
    check(train=(train, Rule("a function of counts and seed that returns topics", callable)))
