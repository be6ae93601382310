"""Cross tables: groups that are the cells of rows and columns, told by their names."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from discreet.errors import ReleaseError

__all__ = ["BETWEEN", "OTHER", "Table", "table_of"]

#: What documents of no listed group are put into.
OTHER = "other"
#: What stands between the names of a row and a column, in that of a cell.
BETWEEN = " | "


class Table(NamedTuple):
    """The rows and columns of a cross table, whose cells are groups, row by row."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]


def table_of(groups: tuple[str, ...], configuration: Mapping[str, Any]) -> Table | None:
    """Return the rows and columns that the names of cells tell; ``ReleaseError`` where they tell none."""
    width = configuration.get("n_columns")
    if width is None:
        return None
    cells = groups[:-1] if groups[-1] == OTHER else groups
    pairs = [tuple(name.split(BETWEEN)) for name in cells]
    if type(width) is int and 1 <= width <= len(pairs) and all(len(pair) == 2 for pair in pairs):
        rows, columns = tuple(pair[0] for pair in pairs[::width]), tuple(pair[1] for pair in pairs[:width])
        if [(row, column) for row in rows for column in columns] == pairs:
            return Table(rows, columns)
    raise ReleaseError(
        "the groups are not the cells of a table, row by row, of as many columns as n_columns says."
    )
