"""Which fields a file of raw text has, for whoever decides whose presence is protected."""

from typing import Any

from discreet.corpus.files import PathLike, is_standard_input
from discreet.corpus.formats.table import FORMATS

__all__ = ["field_names"]

_LONGEST_NAME = 40


def field_names(path: PathLike, format: str, *, encoding: str = "utf-8") -> list[str]:  # noqa: A002
    """Return the names of the fields of a file that was read: of its first record, its header or its columns.

    Ask only where a field was found by its name: a CSV file without a header has a document there.

    Parameters
    ----------
    path : path
    format : str
        As for :func:`read_corpus`; many have no fields of their own.
    encoding : str, default "utf-8"

    Returns
    -------
    list of str
        Names that can be printed on a line, shortened.
    """
    if is_standard_input(path):  # it was read, and cannot be read again
        return []
    module = FORMATS[format].load()
    names: list[Any] = module.field_names(path, encoding) if hasattr(module, "field_names") else []
    return [
        name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        for name in names
        if name.isprintable()
    ]
