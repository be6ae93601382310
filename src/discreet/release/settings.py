"""The public settings of a run, as they stand in what it releases."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet._validate import is_number, is_whole
from discreet._version import __version__
from discreet.errors import ReleaseError

__all__ = ["Scalar", "checked_settings", "public_settings"]

#: What a setting can be.
Scalar = str | int | float | bool
#: Who knows the seed can subtract the noise, so it must not stand among public settings.
_SECRETS = frozenset({"random_state", "seed", "key"})
#: What new texts are read with must be usable: prior and pattern.
_LARGEST_PRIOR, _LONGEST_PATTERN = 1e100, 1_000


def public_settings(estimator: str, algorithm: str, **others: Any) -> dict[str, Any]:
    """Return the settings that every release states, and others, without those that are None.

    Parameters
    ----------
    estimator : str
        The class.
    algorithm : str
        What it did, in words.
    **others : str, bool, None, or numbers of any kind
    """
    named = {"estimator": estimator, "algorithm": algorithm, "version": __version__, **others}
    return {name: _plain(value) for name, value in named.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return a number of any kind as one of Python's, which a file can hold."""
    if is_whole(value):
        return int(value)
    return float(value) if is_number(value) else value


def checked_settings(configuration: Any) -> dict[str, Scalar]:
    """Return public settings, sorted by name; ``ReleaseError`` for what a file could not hold, or must not."""
    if not isinstance(configuration, Mapping):
        raise ReleaseError("the configuration must be a mapping of names to values.")
    settings: dict[str, Scalar] = {}
    for name, given in configuration.items():
        value = given.item() if isinstance(given, np.generic) else given
        if not isinstance(name, str) or not isinstance(value, Scalar):
            raise ReleaseError(
                f"a setting must be text, a number or a truth value, but {name!r} is {value!r}."
            )
        if name in _SECRETS:
            raise ReleaseError(
                f"{name!r} must not be among the settings: they are public, and a seed is secret."
            )
        if (isinstance(value, float) and math.isnan(value)) or (type(value) is int and abs(value) >= 2**63):
            raise ReleaseError(f"a setting must be a number that JSON can hold, but {name!r} is not one.")
        settings[name] = value
    prior, pattern = settings.get("doc_topic_prior", 0.1), settings.get("token_pattern", "")
    if isinstance(prior, bool | str) or not 0 < prior <= _LARGEST_PRIOR:
        raise ReleaseError(
            "the setting doc_topic_prior must be a number above 0: new texts are read with it."
        )
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        raise ReleaseError("the setting token_pattern must be a short text: new texts are cut by it.")
    return dict(sorted(settings.items()))
