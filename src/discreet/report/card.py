"""The model card: what a release is, what it promises and what was public, in Markdown for people.

Words, settings and purposes may come from anybody. They are escaped, so that none of them can become markup, a
link or a direction of writing.
"""

import json
import math
import re
import string
from typing import Any

from discreet.privacy.accounting import events
from discreet.privacy.accounting.explain import attack_risk_sentence
from discreet.release import details
from discreet.release.record import Release
from discreet.release.words import printable
from discreet.report.wording import NOT_REVIEWED, epsilon_shown, reports_counted, shown, words_origin

__all__ = ["card"]

_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in set(string.punctuation) - set(",;'?%/\"=")})
_DIRECTIONS = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_WORDS = 10


def card(release: Release) -> str:
    """Return the card of a release. The same release gives the same text."""
    promise = release.promise
    topics, words = release.topic_word.shape
    facts = [
        ("unit", f"one {promise.privacy_unit}"),
        ("neighbours", promise.neighboring.replace("_", " ")),
        ("epsilon", epsilon_shown(promise.epsilon)),
        ("delta", f"{promise.delta:g}"),
        ("found by", promise.accountant),
        ("noise", release.determinism),
        ("words", words_origin(release, _plain)),
        ("settings", "public"),
        *_numbers(release),
        *((details.DETAILS[name], _plain(text)) for name, text in release.details.items() if name != "title"),
        ("review of the words", _plain(release.review or NOT_REVIEWED)),
    ]
    bookings = [(_plain(entry.purpose), events.in_words(entry.event)) for entry in release.ledger.entries]
    settings = [
        (_plain(name), _value(value))
        for name, value in release.configuration.items()
        if not details.is_detail(name)
    ]
    listed = [
        f"{topic}. {_called(name)}{', '.join(_plain(shown(word)) for word in top)}"
        for topic, (name, top) in enumerate(zip(release.topic_names, release.top_words(_WORDS), strict=True))
    ]
    title = release.details.get("title")
    size = f"{_many(topics, 'topic')}, {_many(words, 'word')}"
    return f"""# {f"A private topic model: {size}" if title is None else _plain(shown(title))}

{_warning(release)}{release.guarantee}

{attack_risk_sentence(promise, [entry.event for entry in release.ledger.entries])}

{_table(("", ""), facts)}

## What this is

Topics found in a collection of private texts by latent Dirichlet allocation: each topic gives a probability to each of
{_many(words, "word")}. {_may_leave(release)} Words of small probability may be noise alone; the array
`topic_word_noise`, where there is one, says how large the noise is in each cell.

{_vectors(release)}## What was booked

{_table(("for", "as"), bookings)}

## Settings

{_table(("name", "value"), settings)}

## Topics

The {min(_WORDS, words)} most probable words of each.

{chr(10).join(listed)}

## Use

```python
from discreet import Release

release = Release.load("path/to/this/folder")
release.top_words(10)
release.topic_word           # {topics} x {words}, rows sum to 1
release.transform(counts)    # topics of other texts: as private as those texts
```

`vocabulary.txt` names the columns, one word a line.
"""


def _called(name: str | None) -> str:
    return "" if name is None else f"**{_plain(shown(name))}**: "


def _warning(release: Release) -> str:
    if not release.reproducible:
        return ""
    return "**Reproducible, not for release.** Fit again without a seed before anything leaves.\n\n"


def _may_leave(release: Release) -> str:
    unit = release.promise.privacy_unit
    if math.isinf(release.promise.epsilon):
        return f"It was fitted without privacy, and may tell of any single {unit}: do not publish it."
    return (
        f"Everything in this folder is covered by the promise above; nothing in it tells of a single {unit}."
    )


def _numbers(release: Release) -> list[tuple[str, str]]:
    """How many units and reports there were, as far as that is told."""
    unit, reports = release.promise.privacy_unit, reports_counted(release)
    told = [("number of reports", reports)] if reports else []
    if release.n_units_noisy is not None:
        noisy = f"about {max(release.n_units_noisy, 0):.0f} (a noisy number)"
        return [(f"number of {unit}s", noisy), *told]
    return told if told and unit == "report" else [(f"number of {unit}s", "not released"), *told]


def _vectors(release: Release) -> str:
    """Say what was assumed of public word vectors, where some were used."""
    public = release.configuration
    if "word_vectors" not in public:
        return ""
    name, digest, coverage, alone = (
        _plain(str(public.get(f"word_vectors{part}", ""))) for part in ("", "_digest", "_coverage", "_alone")
    )
    return f"""## Public word vectors

The topics lean on the public word vectors {name} ({digest}), which hold {coverage}. They were taken to be public and
not trained on these texts: the promise above holds whatever they are, but says nothing of what the vectors themselves
may tell of texts that they were trained on. {alone} `discreet evaluate --word-vectors` compares.

"""


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [
        f"| {head[0]} | {head[1]} |",
        "| --- | --- |",
        *(f"| {left} | {right} |" for left, right in rows),
    ]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return _plain(value) if isinstance(value, str) else json.dumps(value)


def _plain(text: str) -> str:
    """Escape text so that it stays text, on one line."""
    return " ".join(_DIRECTIONS.sub("\ufffd", printable(text)).translate(_MARKUP).split())
