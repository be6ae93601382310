"""What all cards share: Markdown in which no text from elsewhere becomes markup, a link or a direction of writing."""

import json
import string
from typing import Any

from discreet.privacy.accounting import events
from discreet.release.booking.promised import Promised
from discreet.release.editing.details import is_detail
from discreet.release.files.words import printable, undirected
from discreet.report.wording import settings_told

__all__ = ["booked", "many", "plain", "settings", "table", "warning"]

_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in set(string.punctuation) - set(",;'?%/\"=")})


def warning(release: Promised, again: str) -> str:
    """Say first what must not leave; ``again`` is how to make one that may."""
    if not release.reproducible:
        return ""
    return f"**Reproducible, not for release.** {again} without a seed before anything leaves.\n\n"


def booked(release: Promised) -> str:
    """Return the table of everything that stands on the ledger."""
    return table(
        ("for", "as"),
        [(plain(entry.purpose), events.in_words(entry.event)) for entry in release.ledger.entries],
    )


def settings(release: Promised, **said: str | None) -> str:
    """Return the table of the public settings; ``said`` stands in place of those of its names, unless None."""
    public = {name: said.get(name) or value for name, value in settings_told(release).items()}
    return table(
        ("name", "value"),
        [(plain(name), _value(value)) for name, value in public.items() if not is_detail(name)],
    )


def many(count: int, thing: str) -> str:
    """Return a number of things."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    """Return a table of two columns, of text that is escaped already."""
    lines = [
        f"| {head[0]} | {head[1]} |",
        "| --- | --- |",
        *(f"| {left} | {right} |" for left, right in rows),
    ]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return plain(value) if isinstance(value, str) else json.dumps(value)


def plain(text: str) -> str:
    """Escape text so that it stays text, on one line."""
    return " ".join(undirected(printable(text)).translate(_MARKUP).split())
