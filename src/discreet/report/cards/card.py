"""The model card: what a release is, what it promises and what was public, in Markdown for people.

Words, settings and purposes may come from anybody, and are escaped.
"""

import math

from discreet.privacy.accounting.explain import attack_risk_of
from discreet.privacy.units import large_delta, plural, round_up
from discreet.release.release import Release
from discreet.report.cards.markdown import about, booked, many, plain, settings, table, warning
from discreet.report.noisy_topics import forecast_told
from discreet.report.wording import (
    NOT_REVIEWED,
    epsilon_shown,
    promised,
    reports_counted,
    shown,
    words_origin,
)

__all__ = ["card"]

_WORDS = 10


def card(release: Release) -> str:
    """Return the card of a release. The same release gives the same text."""
    promise = release.promise
    topics, words = release.topic_word.shape
    facts = [
        ("unit", f"one {promise.called}"),
        ("neighbours", promise.neighboring.replace("_", " ")),
        ("epsilon", epsilon_shown(promise.epsilon)),
        ("delta", round_up(promise.delta)),
        *_large_delta(release),
        ("found by", promise.accountant),
        ("noise", release.determinism),
        ("words", words_origin(release, plain)),
        ("settings", "public"),
        *_numbers(release),
        *about(release),
        ("review of the words", plain(release.review or NOT_REVIEWED)),
    ]
    listed = [
        f"{topic}. {_called(name)}{', '.join(plain(shown(word)) for word in top)}"
        for topic, (name, top) in enumerate(zip(release.topic_names, release.top_words(_WORDS), strict=True))
    ]
    title = release.details.get("title")
    size = f"{many(topics, 'topic')}, {many(words, 'word')}"
    return f"""# {f"A private topic model: {size}" if title is None else plain(shown(title))}

{warning(release, "Fit again")}{release.guarantee}

{attack_risk_of(promise, release.ledger.entries)}

{table(("", ""), facts)}

## What this is

Topics found in a collection of private texts by latent Dirichlet allocation: each topic gives a probability to each of
{many(words, "word")}. {_may_leave(release)} Words of small probability may be noise alone; the array
`topic_word_noise`, where there is one, says how large the noise is in each cell.

{_vectors(release)}## What was booked

{booked(release)}

## Settings

{settings(release, forecast=forecast_told(release))}

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
    return "" if name is None else f"**{plain(shown(name))}**: "


def _may_leave(release: Release) -> str:
    unit = release.promise.called
    if math.isinf(release.promise.epsilon):
        return f"It was fitted without privacy, and may tell of any single {unit}: do not publish it."
    return (
        f"Everything in this folder is covered by the promise above, which limits what it can tell of a single {unit}, "
        f"and says how far: {promised(release)}"
    )


def _large_delta(release: Release) -> list[tuple[str, str]]:
    """Warn where delta allows to publish units as they are."""
    promise = release.promise
    said = large_delta(promise.delta, release.n_units_noisy, promise.called)
    return [] if said is None or math.isinf(promise.epsilon) else [("warning", f"**delta {said}**")]


def _numbers(release: Release) -> list[tuple[str, str]]:
    """How many units and reports there were, as far as that is told."""
    units, reports = plural(release.promise.called), reports_counted(release)
    told = [("number of reports", reports)] if reports else []
    if release.n_units_noisy is not None:
        noisy = f"about {max(release.n_units_noisy, 0):.0f} (a noisy number)"
        return [(f"number of {units}", noisy), *told]
    return told if told and units == "reports" else [(f"number of {units}", "not released"), *told]


def _vectors(release: Release) -> str:
    """Say what was assumed of public word vectors, where some were used."""
    public = release.configuration
    if "word_vectors" not in public:
        return ""
    name, digest, coverage, alone, used = (
        plain(str(public.get(f"word_vectors{part}", "")))
        for part in ("", "_digest", "_coverage", "_alone", "_used")
    )
    called = f"the public word vectors {name} ({digest}), which hold {coverage}"
    said = f"The topics lean on {called}.{f' They were used {used}.' if used else ''}"
    if used.startswith("not at all: "):
        said = f"T{called[1:]}, were given, but not used: {used.removeprefix('not at all: ')}."
    return f"""## Public word vectors

{said} They were taken to be public and
not trained on these texts: the promise above holds whatever they are, but says nothing of what the vectors themselves
may tell of texts that they were trained on. {f"{alone} " if alone else ""}`discreet evaluate --word-vectors` compares.

"""
