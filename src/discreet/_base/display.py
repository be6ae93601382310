"""What people are shown of any object: a small HTML table, a data frame, a page to look at in a browser.

A table is escaped, with no script and no style of its own; a frame is one of whichever library is installed.

A page is one offline file, with one style sheet and one policy. Whatever it shows may come from anybody. So each allows
nothing (``default-src 'none'``) but pictures that stand in it, its one style sheet, and its one script where it has
one, both named by their SHA-256. The same input gives the same bytes.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from discreet.errors import DiscreetError

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


def frame(columns: dict[str, list[Any]]) -> Any:
    """Return the columns as a frame of pandas, else of polars, else a table of pyarrow; a missing text is None."""
    for library, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        if find_spec(library) is not None:
            module: Any = import_module(library)
            if library == "pandas":  # which makes NaN of None among texts
                columns = {name: _texts(module, values) for name, values in columns.items()}
            return getattr(module, make)(columns)
    raise DiscreetError("a data frame needs pandas, polars or pyarrow: pip install pandas.")


def _texts(pandas: Any, values: list[Any]) -> Any:
    some = None in values and any(isinstance(value, str) for value in values)
    return pandas.Series(values, dtype=object) if some else values


@cache
def _style() -> str:
    return (files("discreet._base") / "page.css").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def document(title: str, body: str, script: str = "") -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
        Plain text; it is escaped here.
    body : str
        HTML in which everything that came from elsewhere is escaped already.
    script : str
        Runs at the end of the page; by default the policy allows none.
    """
    scripts = f"script-src '{_hash(script)}'; " if script else ""
    allowed = f"{scripts}style-src '{_hash(_style())}'; img-src data:"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{_style()}</style>
</head>
<body>
{body.strip()}
{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""
