"""Which fields a file of raw text has, for whoever decides whose presence is protected."""

from typing import Any

from discreet.corpus.files import PathLike, is_standard_input
from discreet.corpus.formats.table import FORMATS

__all__ = ["field_names"]

_LONGEST_NAME = 40


def field_names(
    path: PathLike,
    format: str,  # noqa: A002
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> tuple[list[str], int]:
    """Return the names of the fields of a file that was read: of its first record, its header or its columns.

    Ask only where a field was found by its name. A CSV file without a header has a document there, and a word of it may
    be the name asked for, so what is long or has several words is only counted.

    Parameters
    ----------
    path : path
    format : str
        As for :func:`read_corpus`; many have no fields of their own.
    encoding : str, default "utf-8"
    delimiter : str, optional
        Of CSV.

    Returns
    -------
    names : list of str
        Names of one word that can be printed on a line.
    n_others : int
        How many fields have other names.
    """
    if is_standard_input(path):  # it was read, and cannot be read again
        return [], 0
    module = FORMATS[format].load()
    given = (path, encoding, delimiter) if format == "csv" else (path, encoding)
    names: list[Any] = module.field_names(*given) if hasattr(module, "field_names") else []
    shown = [
        name for name in names if len(name) <= _LONGEST_NAME and name.isprintable() and len(name.split()) == 1
    ]
    return shown, len(names) - len(shown)
