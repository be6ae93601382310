"""Checks of what audits are called with, before hours of training and not after.

A promise that is not a number, or a confidence of 2, makes every comparison false: an audit that let them pass
would say "not broken" of anything. Nothing here is private or promises anything.
"""

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet._base.arrays import as_array, as_numbers
from discreet._base.validate import Rule, check, choice, number, optional, whole
from discreet.errors import ParameterError

#: What is known of the noise behind a promise: nothing, or that all of it is Gaussian and nobody is sampled.
Noise = Literal["any", "gaussian"]

CONFIDENCE = number(above=0, below=1)
RATE = number(least=0, most=1)
#: Of randomness that repeats an audit.
SEED = optional(whole(0))
TRAIN = Rule("a function of counts and seed that returns topics", callable)


#: Of shadows, on either side of a document: one value has no spread.
_FEWEST = 2


def check_promise(epsilon: Any, delta: Any, noise: Any = "any") -> None:
    """Raise a ParameterError unless these can be a promise; None stands for none. Gaussian noise needs a delta."""
    check(
        epsilon=(epsilon, optional(number(least=0, most=math.inf))),
        delta=(delta, optional(number(least=0, below=1))),
        noise=(noise, choice(*get_args(Noise))),
    )
    if noise == "gaussian" and not delta:
        raise ParameterError(
            'noise="gaussian" proves an epsilon at a delta: pass the delta that was promised, such as 1e-6.'
        )


def as_members(members: Any, shape: tuple[int, ...], name: str = "members") -> NDArray[np.bool_]:
    """Return who was in, or raise a ParameterError unless these are booleans of this shape."""
    found = as_array(members, name)
    if found.shape != shape or found.dtype != np.bool_:
        raise ParameterError(
            f"{name} must be booleans of shape {shape}, but got {found.dtype.name} of shape {found.shape}."
        )
    return found


def check_statistics(
    statistics: Any, shadow_statistics: Any, shadow_members: Any, *, online: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return statistics of targets and shadows as arrays, or raise a ParameterError.

    Every document must be out of at least two shadows and, ``online``, in at least as many.
    """
    statistics = as_numbers(statistics, "statistics", "")
    shadow_statistics = as_numbers(shadow_statistics, "shadow_statistics", "")
    shadow_members = as_array(shadow_members, "shadow_members")
    shape, documents = np.shape(shadow_statistics), np.shape(statistics)[-1:]
    if len(shape) != 2 or np.shape(shadow_members) != shape or documents != shape[1:]:
        raise ParameterError(
            "shadow_statistics and shadow_members must have one shape, (n_shadows, n_documents), and statistics "
            f"n_documents columns, but they have {shape}, {np.shape(shadow_members)} and {np.shape(statistics)}."
        )
    if not (np.isfinite(statistics).all() and np.isfinite(shadow_statistics).all()):
        raise ParameterError("statistics must be finite numbers, but some are not.")
    shadow_members = as_members(shadow_members, shape, "shadow_members")
    inside = shadow_members.sum(axis=0)
    outside = len(shadow_members) - inside
    if (outside < _FEWEST).any() or (online and (inside < _FEWEST).any()):
        raise ParameterError(
            f"each document needs {_FEWEST} shadows that saw it and {_FEWEST} that did not: train more shadows "
            "(n_shadows)."
        )
    return statistics, shadow_statistics, shadow_members
