"""The model card: what a release is, what it promises and what was public, in Markdown for people."""

import json

from discreet.privacy import events
from discreet.privacy.explain import attack_risk_sentence
from discreet.release.record import Release

__all__ = ["card"]

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>()#+-!|&~"})


def card(release: Release) -> str:
    """Return the card of a release. The same release gives the same text."""
    guarantee = release.ledger.guarantee()
    topics, words = release.topic_word.shape
    bookings = "\n".join(
        f"| {_plain(entry.purpose)} | {_plain(events.in_words(entry.event))} |"
        for entry in release.ledger.entries
    )
    settings = "\n".join(
        f"| {_plain(name)} | {_plain(json.dumps(value) if not isinstance(value, str) else value)} |"
        for name, value in release.configuration.items()
    )
    listed = "\n".join(
        f"{topic}. {_plain(', '.join(top))}" for topic, top in enumerate(release.top_words(10))
    )
    units = (
        ""
        if release.n_units_noisy is None
        else (
            f"\nAbout {max(release.n_units_noisy, 0):.0f} {guarantee.privacy_unit}s (a noisy number, part of the release).\n"
        )
    )
    return f"""# A private topic model: {topics} topics, {words} words

{release.guarantee}

{attack_risk_sentence(guarantee)}

| | |
| --- | --- |
| unit | {guarantee.privacy_unit} |
| neighbours | {guarantee.neighboring} |
| epsilon | {guarantee.epsilon:.4g} |
| delta | {guarantee.delta:g} |
| found by | {_plain(guarantee.accountant)} |
| noise | {release.determinism} |

Public: the settings below, and the words unless their choice is booked.
{units}
## What was booked

| for | as |
| --- | --- |
{bookings}

## Settings

| name | value |
| --- | --- |
{settings}

## Topics

{listed}

## Use

```python
from discreet import Release

release = Release.load(".")
release.top_words(10)
release.topic_word       # {topics} x {words}, rows sum to 1
```
"""


def _plain(text: str) -> str:
    """Escape text, so that words of the vocabulary cannot become markup."""
    return " ".join(text.translate(_SPECIAL).split())
