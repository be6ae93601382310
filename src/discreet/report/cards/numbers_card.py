"""The cards of small releases, shares of topics in groups and how well topics fit, in Markdown for people.

Names of groups, words, settings and purposes may come from anybody, and are escaped.
"""

import math

from discreet._validate import is_number
from discreet.privacy.accounting.explain import attack_risk_of
from discreet.privacy.units import plural, round_up
from discreet.release.numbers import FitRelease, NumbersRelease
from discreet.release.prevalence import PrevalenceRelease
from discreet.report.cards.markdown import about, booked, many, plain, settings, table, warning
from discreet.report.wording import TOPICS_NOT_REVIEWED, epsilon_shown, shown

__all__ = ["fit_card", "prevalence_card"]


def prevalence_card(release: PrevalenceRelease) -> str:
    """Return the card of shares of topics in groups. The same release gives the same text."""
    units = plural(release.promise.called)
    groups, topics = many(len(release.groups), "group"), many(len(release.topics), "topic")
    sizes = [
        (plain(shown(group)), f"{max(size, 0.0):,.0f}{'' if sure else ' (may be empty)'}")
        for group, size, sure in zip(
            release.groups, release.n_units.tolist(), release.certain_groups.tolist(), strict=True
        )
    ]
    facts = [
        *_promised(release),
        ("noise in each sum", _noise(release)),
        ("groups", _groups(release)),
        ("the topics", _topics(release)),
        ("review of their words", plain(release.review or TOPICS_NOT_REVIEWED)),
        *about(release),
    ]
    title = release.details.get("title")
    what = f"Shares of {topics} in {groups}"
    heading = what if title is None else f"{plain(title)}\n\n{what}"
    called = [f"{number}. {plain(shown(name))}" for number, name in enumerate(release.topics)]
    return f"""# {heading}

{warning(release, "Count again")}{_guarantee(release)}

{table(("", ""), facts)}

## What this is

{_before(release)} Each document added its shares of them to the row of its group, and a count to the size of the
group; {_weight(release)}these sums were released with noise. {_may_leave(release)}
Everything else follows from them and costs nothing more: shares, their intervals, differences between groups, trends.

Each 95 % interval of a raw or projected share holds the exact share with that probability, whatever the others do; it
tells the noise. How far so many {units} vary by chance stands apart, as the sampling error. Among many intervals some
miss: `compare` and `growth` test all topics together.

## Groups

{table(("group", f"{units}, about"), sizes)}

## Topics

{chr(10).join(called)}

## What was booked

{booked(release)}

## Settings

{settings(release)}

## Use

```python
from discreet.release import PrevalenceRelease

release = PrevalenceRelease.load("path/to/this/file.json")
release.to_frame()           # group, topic, share, low, high, ...
release.to_html("page.html")
```
"""


def fit_card(release: FitRelease) -> str:
    """Return the card of how well topics fit private text. The same release gives the same text."""
    units = plural(release.promise.called)
    low, high = release.interval()
    facts = [
        *_promised(release),
        ("noise in each sum", _noise(release)),
        ("gain a token", f"{release.gain:.4f} nats ({low:.4f} to {high:.4f} with 95 % confidence)"),
        ("perplexity", _with_ends(release.perplexity, release.perplexity_interval())),
        (
            "perplexity of word frequencies alone",
            _with_ends(release.unigram_perplexity, release.unigram_interval()),
        ),
        (units, f"about {max(release.n_units, 0.0):,.0f}"),
        ("gains were clipped to", f"\u00b1{release.bound:g} nat a token"),
        ("measured with the topics", plain(str(release.configuration.get("model", "not stated")))),
    ]
    return f"""# How well topics describe private texts

{warning(release, "Measure again")}{release.in_words()}

{_guarantee(release)}

{table(("", ""), facts)}

## What this is

Each document was split in two by a public rule. Its topics were found from one half, and the other half was scored: by
how much the topics beat word frequencies alone, and what these alone give, in nats a token. Both were clipped and added
up with the number of {units}, and the sums were released with noise. {_may_leave(release)}
The interval is about the texts at hand, and holds the noise alone. On texts that the topics were trained on, the gain
is a little too good.

## What was booked

{booked(release)}

## Settings

{settings(release)}

## Use

```python
from discreet.privacy.units import plural
from discreet.release import FitRelease

release = FitRelease.load("path/to/this/file.json")
release.gain, release.interval(), release.perplexity_ratio
```
"""


def _with_ends(value: float, ends: tuple[float, float]) -> str:
    return f"{value:,.1f} ({ends[0]:,.1f} to {ends[1]:,.1f} with 95 % confidence)"


def _guarantee(release: NumbersRelease) -> str:
    risk = attack_risk_of(release.promise, release.ledger.entries)
    return f"{release.guarantee}\n\n{risk}"


def _promised(release: NumbersRelease) -> list[tuple[str, str]]:
    promise = release.promise
    return [
        ("unit", f"one {promise.called}"),
        ("neighbours", promise.neighboring.replace("_", " ")),
        ("spent: epsilon", epsilon_shown(promise.epsilon)),
        ("spent: delta", round_up(promise.delta)),
        *_large_delta(release),
        ("found by", promise.accountant),
        ("noise", release.determinism),
    ]


def _large_delta(release: NumbersRelease) -> list[tuple[str, str]]:
    """Warn where delta allows to publish units as they are."""
    return [] if release.large_delta is None else [("warning", f"**{release.large_delta}**")]


def _noise(release: PrevalenceRelease | FitRelease) -> str:
    if release.noise == 0:
        return "none"
    return f"Gaussian, with a standard deviation of {release.noise:.4g} {plural(release.promise.called)}"


def _may_leave(release: NumbersRelease) -> str:
    unit = release.promise.called
    if math.isinf(release.promise.epsilon):
        return f"They were counted without privacy, and may tell of any single {unit}: do not publish them."
    return f"They are covered by the promise above, and tell of no single {unit}."


def _weight(release: PrevalenceRelease) -> str:
    if release.promise.privacy_unit == "document":
        return ""
    return f"what one {release.promise.called} added was averaged over their documents, to a weight of one in all; "


def _groups(release: PrevalenceRelease) -> str:
    public = release.configuration
    if public.get("group_selection") == "private":
        return "names chosen privately; the choice is booked"
    if "freq" in public:
        first, last = plain(shown(release.groups[0])), plain(shown(release.groups[-1]))
        return f"periods of a public range, {first} to {last}, as declared by whoever made this"
    return "a public list, not made from these texts, as declared by whoever made this"


def _booked_here(release: PrevalenceRelease) -> bool:
    return release.configuration.get("topics_booked_here") is True


def _before(release: PrevalenceRelease) -> str:
    """Say what was there before the shares were counted."""
    if _booked_here(release):
        return "The topics were released before, on the same ledger: what they cost is in the promise above."
    return "The topics were released before."


def _topics(release: PrevalenceRelease) -> str:
    epsilon = release.configuration.get("topics_epsilon")
    if not is_number(epsilon):
        return "released apart; what they cost is not stated here"
    cost = f"released at epsilon = {epsilon_shown(float(epsilon))}"
    if _booked_here(release):
        return f"{cost}, which is counted in the promise: both stand on one ledger"
    return f"{cost}, which is not counted in the promise: for readers of both, the costs add up"
