"""The page of a comparison of two releases. No script, no network; made from the releases alone."""

from typing import TYPE_CHECKING, Any

from discreet.privacy.units import round_up
from discreet.release.numbers import mark_of
from discreet.release.release import Release
from discreet.report.pages import content_hash, part, template
from discreet.report.wording import epsilon_shown, shown

if TYPE_CHECKING:
    from discreet.report.compare.comparison import Comparison, Pair

__all__ = ["comparison_page"]

_ALONE_SHOWN = 40


def comparison_page(found: "Comparison", names: tuple[str, str] | None = None) -> str:
    """Return the page. The same comparison gives the same text."""
    of_a, of_b = found.names()
    style = part("prevalence.css")
    largest = max(
        [1e-12, *(share for pair in found.pairs for share in (pair.before, pair.after) if share is not None)]
    )
    page = template("comparison.html.j2").render(
        style=style,
        style_hash=content_hash(style),
        titles=_titles(found, names),
        clear=found.in_words(),
        pairs=[_row(pair, of_a, of_b, largest) for pair in found.pairs],
        told_noise=all(release.topic_word_noise is not None for release in (found.a, found.b)),
        vanished=[(topic, of_a[topic]) for topic in found.vanished],
        appeared=[(topic, of_b[topic]) for topic in found.appeared],
        n_noisy=(len(found.noise_in_a), len(found.noise_in_b)),
        n_shared=len(found.shared),
        alone=[
            (len(words), ", ".join(map(shown, words[:_ALONE_SHOWN])), len(words) > _ALONE_SHOWN)
            for words in (found.only_a, found.only_b)
        ],
        promises=[_promise(release) for release in (found.a, found.b)],
        unfit=[not release.may_leave for release in (found.a, found.b)],
    )
    return page if page.endswith("\n") else page + "\n"


def _titles(found: "Comparison", names: tuple[str, str] | None) -> list[str]:
    """Return what to call the two: by title, or by name; by both where they have one title."""
    places = [shown(name) for name in names or ("the first", "the second")]
    titles = [release.details.get("title") for release in (found.a, found.b)]
    if titles[0] == titles[1] and titles[0] is not None:
        return [f"{title} ({place})" for title, place in zip(titles, places, strict=True)]
    return [title or place for title, place in zip(titles, places, strict=True)]


def _row(pair: "Pair", of_a: list[str], of_b: list[str], largest: float) -> dict[str, Any]:
    told = pair.before is not None and pair.after is not None
    change = (pair.after or 0) - (pair.before or 0)
    return {
        "numbers": f"{pair.first} → {pair.second}",
        "name": of_b[pair.second],
        "was": of_a[pair.first] if of_a[pair.first] != of_b[pair.second] else None,
        "agreement": f"{100 * pair.agreement:.0f} %",
        "before": f"{100 * (pair.before or 0):.1f} %" if told else "not told",
        "after": f"{100 * (pair.after or 0):.1f} %" if told else "not told",
        "bar_before": round(100 * (pair.before or 0) / largest, 1),
        "bar_after": round(100 * (pair.after or 0) / largest, 1),
        "shade": "noise" if not pair.clear else "more2" if change > 0 else "less2",
        "change": f"{100 * change:+.1f}" + (f" ± {200 * pair.noise:.1f}" if pair.noise is not None else ""),
        "grew": ", ".join(map(shown, pair.grew)),
        "fell": ", ".join(map(shown, pair.fell)),
    }


def _promise(release: Release) -> dict[str, Any]:
    promise = release.promise
    return {
        "size": f"{len(release.topic_word)} topics, {len(release.vocabulary):,} words",
        "epsilon": epsilon_shown(promise.epsilon),
        "delta": round_up(promise.delta),
        "unit": promise.called,
        "review": release.review or "not reviewed",
        "digest": mark_of(release),
    }
