"""What a notebook shows of a release: what is promised, whether it may leave, and its topics."""

import math

from discreet._base.display import facts_html, table_html
from discreet.privacy.units import plural, round_up
from discreet.release import details
from discreet.release.numbers import FitRelease, NumbersRelease
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.release import Release
from discreet.report.plain_words import mostly_noise
from discreet.report.wording import NOT_REVIEWED, epsilon_shown, shown, words_origin

__all__ = ["numbers_html", "release_html"]

_WORDS = 8
#: In the place of the words of a model without privacy: a notebook is saved with what it shows.
ASK = "not private: top_words() tells them"


def release_html(release: Release) -> str:
    """Return the release as HTML for a notebook."""
    topics, words = release.topic_word.shape
    promise = release.promise
    weight = release.topic_weight
    noisy = mostly_noise(release)
    order: list[int] = list(range(topics)) if weight is None else (-weight).argsort(kind="stable").tolist()
    private = math.isfinite(promise.epsilon)
    first = release.top_words(_WORDS) if private else [[ASK] for _ in range(topics)]
    names = [
        "mostly noise" if noise else "" if name is None else shown(name)
        for name, noise in zip(release.topic_names, noisy.tolist(), strict=True)
    ]
    rows = [
        (
            str(topic),
            "" if weight is None else f"{100 * weight[topic]:.1f} %",
            *([names[topic]] if any(names) else []),
            " ".join(map(shown, first[topic])),
        )
        for topic in sorted(order, key=lambda topic: bool(noisy[topic]))
    ]
    head = ("topic", "share", "name", "words") if any(names) else ("topic", "share", "words")
    facts = [
        (
            "promise",
            f"epsilon = {epsilon_shown(promise.epsilon)}, delta = {round_up(promise.delta)}, for each {promise.called}",
        ),
        ("noise", release.determinism),
        ("words", words_origin(release)),
        ("review", release.review or NOT_REVIEWED),
        *((details.DETAILS[name], text) for name, text in release.details.items() if name != "title"),
    ]
    title = release.details.get("title", "Release")
    return facts_html(
        f"{title}: {topics} topics, {words} words",
        facts,
        table_html(head, rows),
    )


def numbers_html(release: NumbersRelease) -> str:
    """Return shares of topics in groups, or how well topics fit, as HTML for a notebook."""
    promise = release.promise
    facts = [
        (
            "promise",
            f"epsilon = {epsilon_shown(promise.epsilon)}, delta = {round_up(promise.delta)}, for each {promise.called}",
        ),
        ("noise", release.determinism),
    ]
    if isinstance(release, FitRelease):
        low, high = release.interval()
        gain = f"{release.gain:.4f} nats a token over word frequencies ({low:.4f} to {high:.4f}, 95 %)"
        said = [
            ("gain", gain),
            (f"number of {plural(promise.called)}", f"about {max(release.n_units, 0):,.0f}"),
        ]
        return facts_html("How well topics fit", [*facts, *said])
    assert isinstance(release, PrevalenceRelease)
    shares = release.shares().share
    head = ("group", f"{plural(promise.called)}, about", *map(shown, release.topics))
    rows = [
        (shown(group), f"{max(size, 0.0):,.0f}", *(f"{100 * share:.1f} %" for share in row))
        for group, size, row in zip(release.groups, release.n_units.tolist(), shares.tolist(), strict=True)
    ]
    size = f"Shares of {len(release.topics)} topics in {len(release.groups)} groups"
    return facts_html(size, facts, table_html(head, rows))
