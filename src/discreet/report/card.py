r"""Cards in Markdown for people: what a release is, what it promises and what was public.

One for a release, one for shares of topics in groups, one for how well topics fit. Names, words, settings and purposes
may come from anybody: no text from elsewhere becomes markup, a link or a direction of writing.
"""

import json
import math
import re
from typing import Any

from discreet._base.validate import is_number
from discreet.privacy.units import plural
from discreet.release.details import DETAILS, is_detail, topics_are_public
from discreet.release.files import clean
from discreet.release.numbers import FitRelease, NumbersRelease, Promised
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.release import Release
from discreet.report import wording

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
        said += f"\n\n**Without privacy, not for release.** {again} with an epsilon before anything leaves."
    if release.reproducible:
        said += f"\n\n**Reproducible, not for release.** {again} without a seed before anything leaves."
    return said


def about(release: Release | NumbersRelease) -> list[tuple[str, str]]:
    """Return what people said of a release; whom to write to may become a link."""
    said = [(name, plain(text)) for name, text in wording.said_of(release)]
    return [(name, text.replace("\\@", "@") if name == DETAILS["contact"] else text) for name, text in said]


def booked(release: Release | NumbersRelease) -> str:
    """Return the table of everything that stands on the ledger."""
    entries = wording.label_of(release)["entries"]
    return table(("for", "as"), [(plain(purpose), event) for purpose, event in entries])


def settings(release: Promised, **said: str | None) -> str:
    """Return the table of the public settings; ``said`` stands in place of those of its names, unless None."""
    public = {name: said.get(name) or value for name, value in wording.settings_in_words(release).items()}
    if isinstance(public.get("epsilon"), float):
        public["epsilon"] = wording.epsilon_shown(float(public["epsilon"]))
    return table(
        ("name", "value"),
        [(plain(name), _value(value)) for name, value in public.items() if not is_detail(name)],
    )


def card_of(
    release: Release | NumbersRelease, heading: str, facts: list[tuple[str, str]], sections: dict[str, str]
) -> str:
    """Return a card: what is promised, facts as a table, and sections with a heading each."""
    label = wording.label_of(release)
    parts = [
        f"# {heading}",
        label["guarantee"],
        label["risk"],
        table(("", ""), facts),
        *(f"## {title}\n\n{text.strip()}" for title, text in sections.items() if text),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    """Return a table of two columns, of text that is escaped already."""
    return "\n".join(f"| {left} | {right} |" for left, right in (head, ("---", "---"), *rows))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return plain(value) if isinstance(value, str) else json.dumps(value)


def plain(text: str) -> str:
    """Escape text so that it stays text, on one line."""
    line = _MARKUP.sub(r"\\\g<0>", " ".join(clean(text).split()))
    return _NUMBERED.sub(r"\1\\\2", line)


_WORDS = 10


def card(release: Release) -> str:
    """Return the card of a release. The same release gives the same text."""
    topics, words = release.topic_word.shape
    facts = [
        *_promised(release),
        ("words", wording.words_origin(release, plain)),
        ("settings", "public"),
        *_numbers(release),
        *about(release),
        ("review of the words", plain(release.review or wording.NOT_REVIEWED)),
    ]
    listed = [
        f"{topic}. {_called(name)}{', '.join(plain(wording.shown(word)) for word in top)}"
        for topic, (name, top) in enumerate(
            zip(release.topic_names, release.top_words(_WORDS), strict=True), 1
        )
    ]
    title = release.details.get("title")
    size = f"{wording.many(topics, 'topic')}, {wording.many(words, 'word')}"
    what = f"""{_found(release)}: each topic gives a probability to each of
{wording.many(words, "word")}. {_may_leave(release)} Words of small probability may be noise alone; the array
`topic_word_noise`, where there is one, says how large the noise is in each cell."""
    use = f"""```python
from discreet import Release

release = Release.load("path/to/this/folder")
release.top_words(10)
release.topic_word           # {topics} x {words}, rows sum to 1
release.transform(counts)    # topics of other texts: as private as those texts
```

`vocabulary.txt` names the columns, one word a line."""
    heading = f"A private topic model: {size}" if title is None else plain(wording.shown(title))
    sections = {
        "What this is": what,
        "Public word vectors": _vectors(release),
        "What was booked": booked(release),
        "Settings": settings(release, forecast=wording.forecast_told(release)),
        "Topics": f"The {min(_WORDS, words)} most probable words of each.\n\n{chr(10).join(listed)}",
        "Use": use,
    }
    return card_of(release, f"{heading}{warning(release, 'Fit again')}", facts, sections)


def _called(name: str | None) -> str:
    return "" if name is None else f"**{plain(wording.shown(name))}**: "


def _may_leave(release: Release) -> str:
    unit = release.promise.called
    if math.isinf(release.promise.epsilon):
        return f"It was fitted without privacy, and may tell of any single {unit}: do not publish it."
    return (
        f"Everything in this folder is covered by the promise above, which limits what it can tell of a single {unit}, "
        f"and says how far: {wording.promised(release)}"
    )


def _numbers(release: Release) -> list[tuple[str, str]]:
    """How many units and reports there were, as far as that is told."""
    units, reports = plural(release.promise.called), wording.reports_counted(release)
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
    return f"""{said} They were taken to be public and
not trained on these texts: the promise above holds whatever they are, but says nothing of what the vectors themselves
may tell of texts that they were trained on. {f"{alone} " if alone else ""}`discreet evaluate --word-vectors` compares.
"""


def prevalence_card(release: PrevalenceRelease) -> str:
    """Return the card of shares of topics in groups. The same release gives the same text."""
    units = plural(release.promise.called)
    groups, topics = _groups(release), wording.many(len(release.topics), "topic")
    sizes = [
        (plain(wording.shown(group)), f"{max(size, 0.0):,.0f}{'' if sure else ' (may be empty)'}")
        for group, size, sure in zip(
            release.groups, release.n_units.tolist(), release.certain_groups.tolist(), strict=True
        )
    ]
    weight, counted = wording.weighed(release)
    sizes_table = table(("group" if groups else "", weight), sizes)
    facts = [
        *_promised(release),
        ("noise in each sum", _noise(release)),
        *([("groups", groups)] if groups else []),
        ("the topics", _topics(release)),
        ("review of their words", plain(release.review or wording.TOPICS_NOT_REVIEWED)),
        *about(release),
    ]
    title = release.details.get("title")
    where = f" in {wording.many(len(release.groups), 'group')}" if groups else ""
    what = f"Shares of {topics}{where}"
    heading = what if title is None else f"{plain(title)}\n\n{what}"
    words = [f": {plain(', '.join(map(wording.shown, one)))}" for one in release.topic_words]
    words = words or [""] * len(release.topics)
    named = enumerate(zip(release.topics, words, strict=True), 1)
    called = [f"{number}. {plain(wording.shown(name))}{own}" for number, (name, own) in named]
    this = f"""
Each document added its shares of the topics to {"the row of its group" if groups else "one row"}, and a
count; {_weight(release)}these sums were released with noise. {_numbers_may_leave(release)}
Everything else follows from them and costs nothing more: shares, their intervals, differences between groups, trends.

Each 95 % interval of a raw or projected share holds the exact share with that probability, whatever the others do; it
tells the noise. How far so many {units} vary by chance stands apart, as the sampling error. Among many intervals some
miss: `compare` and `growth` test all topics together."""
    use = """```python
from discreet.release import PrevalenceRelease

release = PrevalenceRelease.load("path/to/this/file.json")
release.to_frame()           # group, topic, share, low, high, ...
release.to_html("page.html")
```"""
    sections = {
        "What this is": this,
        "Groups" if groups else "Size": f"{counted}\n\n{sizes_table}" if counted else sizes_table,
        "Topics": "\n".join(called),
        "What was booked": booked(release),
        "Settings": settings(release),
        "Use": use,
    }
    return card_of(release, f"{heading}{warning(release, 'Count again')}", facts, sections)


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
    what = f"""
Each document was split in two by a public rule. Its topics were found from one half, and the other half was scored: by
how much the topics beat word frequencies alone, and what these alone give, in nats a token. Both were clipped and added
up with the number of {units}, and the sums were released with noise. {_numbers_may_leave(release)}
The interval is about the texts at hand, and holds the noise alone. On texts that the topics were trained on, the gain
is a little too good."""
    use = """```python
from discreet.privacy.units import plural
from discreet.release import FitRelease

release = FitRelease.load("path/to/this/file.json")
release.gain, release.interval(), release.perplexity_ratio
```"""
    heading = (
        f"How well topics describe private texts{warning(release, 'Measure again')}\n\n{release.in_words()}"
    )
    sections = {
        "What this is": what,
        "What was booked": booked(release),
        "Settings": settings(release),
        "Use": use,
    }
    return card_of(release, heading, facts, sections)


def _with_ends(value: float, ends: tuple[float, float]) -> str:
    return f"{value:,.1f} ({ends[0]:,.1f} to {ends[1]:,.1f} with 95 % confidence)"


def _promised(release: Release | NumbersRelease) -> list[tuple[str, str]]:
    label, spent = wording.label_of(release), "" if isinstance(release, Release) else "spent: "
    warned = label["large_delta"] and not label["no_privacy"]
    return [
        ("unit", f"one {label['unit']}"),
        ("neighbours", label["relation"]),
        (f"{spent}epsilon", label["epsilon"]),
        (f"{spent}delta", label["delta"]),
        *([("warning", f"**delta {label['large_delta']}**")] if warned else []),
        ("found by", label["accountant"]),
        ("noise", label["determinism"]),
    ]


def _noise(release: PrevalenceRelease | FitRelease) -> str:
    if release.noise == 0:
        return "none"
    return f"Gaussian, with a standard deviation of {release.noise:.4g} {plural(release.promise.called)}"


def _numbers_may_leave(release: NumbersRelease) -> str:
    unit = release.promise.called
    if math.isinf(release.promise.epsilon):
        return f"They were counted without privacy, and may tell of any single {unit}: do not publish them."
    return f"They are covered by the promise above, which limits what they tell of any one {unit}."


def _weight(release: PrevalenceRelease) -> str:
    if release.promise.privacy_unit == "document":
        return ""
    return f"what one {release.promise.called} added was averaged over their documents, to a weight of one in all; "


def _groups(release: PrevalenceRelease) -> str:
    """Say where the groups come from; "" where all texts are in one, as those of a user without groups are."""
    public = release.configuration
    if public.get("group_selection") == "private":
        return "names chosen privately; the choice is booked"
    if "freq" in public:
        first, last = plain(wording.shown(release.groups[0])), plain(wording.shown(release.groups[-1]))
        return f"periods of a public range, {first} to {last}, as declared by whoever made this"
    if len(release.groups) == 1:
        return ""
    return "a public list, not made from these texts, as declared by whoever made this"


def _found(release: Release) -> str:
    """Say where the topics come from."""
    if topics_are_public(release):
        return "Public topics that were brought: of lists of words, public text or public vectors, not of private texts"
    return "Topics found in a collection of private texts by latent Dirichlet allocation"


def _topics(release: PrevalenceRelease) -> str:
    epsilon = release.configuration.get("topics_epsilon")
    if topics_are_public(release):
        return (
            "public: brought, not made from these texts, as declared by whoever made this; they cost nothing"
        )
    if not is_number(epsilon):
        return "released apart; what they cost is not stated here"
    cost = f"released at epsilon = {wording.epsilon_shown(float(epsilon))}"
    if release.configuration.get("topics_booked_here") is True:
        return f"{cost}, which is counted in the promise: both stand on one ledger"
    return f"{cost}, which is not counted in the promise: for readers of both, the costs add up"
