"""The public settings of a run, as they stand in what it releases."""

from typing import Any

from discreet._validate import is_number, is_whole
from discreet._version import __version__

__all__ = ["public_settings"]


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
