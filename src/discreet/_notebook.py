"""What a notebook shows of an object: a small table, escaped, with no script and no style of its own."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["facts_html", "table_html"]

_CUT = 120


def facts_html(title: str, facts: Iterable[tuple[str, str]], *more: str) -> str:
    """Return a title and a table of facts; ``more`` is HTML that is ready.

    Parameters
    ----------
    title : str
    facts : iterable of (name, value)
    *more : str
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{_cell(name)}</th><td style="text-align:left">{_cell(value)}</td></tr>'
        for name, value in facts
    )
    return f"<div><strong>{_cell(title)}</strong><table>{rows}</table>{''.join(more)}</div>"


def table_html(head: Sequence[str], rows: Sequence[Sequence[str]], most: int = 50) -> str:
    """Return a table; of more than ``most`` rows the first, and how many there are."""
    top = "".join(f'<th style="text-align:left">{_cell(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{_cell(value)}</td>' for value in row) + "</tr>"
        for row in rows[:most]
    )
    rest = f"<div>and {len(rows) - most} more</div>" if len(rows) > most else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value: str) -> str:
    shown = "".join(character if character.isprintable() else "\ufffd" for character in value)
    return escape(shown if len(shown) <= _CUT else shown[: _CUT - 1] + "\u2026")
