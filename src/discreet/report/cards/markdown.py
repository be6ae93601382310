"""What all cards share: Markdown in which no text from elsewhere becomes markup, a link or a direction of writing."""

import json
import math
import re
from typing import Any

from discreet.privacy.accounting import events
from discreet.release.details import DETAILS, details, is_detail
from discreet.release.files import clean
from discreet.release.numbers import NumbersRelease, Promised
from discreet.release.release import Release
from discreet.report.wording import settings_told

__all__ = ["about", "booked", "many", "plain", "settings", "table", "warning"]

#: What some reader of Markdown acts on, where it stands; all else is left as people write it.
_MARKUP = re.compile(
    r"[\\`*\[\]<>|~$^{}@]"  # everywhere; an address with @ would become a link
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside n_topics it is a letter
    r"|&(?=\#?\w+;)"  # &amp;
    r"|:(?=//|[a-z][\w+-]*:)|(?<=[wW]{3})\."  # links, :smile:
    r"|(?<!\S)\#"
    r"|^[-+](?=\s)|^[-+=](?=[\s+=-]*$)"  # lists, lines under headings; --option is neither
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def warning(release: Promised, again: str) -> str:
    """Say first what must not leave; ``again`` is how to make one that may."""
    said = ""
    if math.isinf(release.promise.epsilon):
        said += f"**Without privacy, not for release.** {again} with an epsilon before anything leaves.\n\n"
    if release.reproducible:
        said += f"**Reproducible, not for release.** {again} without a seed before anything leaves.\n\n"
    return said


def about(release: Release | NumbersRelease) -> list[tuple[str, str]]:
    """Return what people said of a release; whom to write to may become a link."""
    said = [(name, plain(text)) for name, text in details(release).items() if name != "title"]
    return [(DETAILS[name], text.replace("\\@", "@") if name == "contact" else text) for name, text in said]


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
    line = _MARKUP.sub(r"\\\g<0>", " ".join(clean(text).split()))
    return _NUMBERED.sub(r"\1\\\2", line)
