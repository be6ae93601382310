"""Tables for people: columns as a data frame of whichever library is installed."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from discreet.errors import DiscreetError

__all__ = ["frame"]


def frame(columns: dict[str, list[Any]]) -> Any:
    """Return the columns as a frame of pandas, else of polars, else a table of pyarrow."""
    for library, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        if find_spec(library) is not None:
            module: Any = import_module(library)
            return getattr(module, make)(columns)
    raise DiscreetError("a data frame needs pandas, polars or pyarrow: pip install pandas.")
