"""Checks of what audits are called with, before hours of training and not after.

A promise that is not a number, or a confidence of 2, makes every comparison false: an audit that let them pass
would say "not broken" of anything. Nothing here is private or promises anything.
"""

import math
from numbers import Integral, Real
from typing import Any

from discreet.errors import ParameterError

__all__ = ["check_confidence", "check_promise", "check_seed", "check_train", "check_whole"]


def check_whole(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least ``least``, or raise a ParameterError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, but got {value!r}.")
    return int(value)


def check_confidence(confidence: Any) -> float:
    """Return a number strictly between 0 and 1, or raise a ParameterError."""
    if not (_is_number(confidence) and 0.0 < confidence < 1.0):
        raise ParameterError(f"confidence must be between 0 and 1, but got {confidence!r}.")
    return float(confidence)


def check_promise(epsilon: Any, delta: Any) -> None:
    """Raise a ParameterError unless epsilon is from 0 and delta from 0 and below 1; None stands for no promise."""
    if not (epsilon is None or (_is_number(epsilon) and 0.0 <= epsilon <= math.inf)):
        raise ParameterError(f"epsilon must be a number of at least 0, but got {epsilon!r}.")
    if not (delta is None or (_is_number(delta) and 0.0 <= delta < 1.0)):
        raise ParameterError(f"delta must be at least 0 and below 1, but got {delta!r}.")


def check_seed(random_state: Any) -> int | None:
    """Return a whole number of at least 0 or None, or raise a ParameterError."""
    if random_state is None:
        return None
    return check_whole("random_state", random_state, 0)


def check_train(train: Any) -> None:
    """Raise a ParameterError unless this can be called."""
    if not callable(train):
        raise ParameterError(
            f"train must be a function of counts and seed that returns topics, but is a {type(train).__name__}."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
