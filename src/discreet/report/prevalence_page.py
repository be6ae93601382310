"""The page of a prevalence release: small multiples, a heat map, what is certain, and the table. No script, no network.

What lies within the noise is grey: a colour is a claim, and it is only made where the interval of a share does not
hold the topic's overall share. Every share is a projected one, which its interval holds, and which stands in the table
that can be downloaded. The page is made from the release alone, so it costs no privacy.
"""

import csv
import io
from base64 import b64encode
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.privacy.accounting import events
from discreet.privacy.units import plural
from discreet.release.files.words import printable
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.prevalence.shares import overall
from discreet.report.drawings.small_multiples import difference_chart, interval_chart, line_chart
from discreet.report.pages import content_hash, part, template
from discreet.report.wording import epsilon_shown, for_spreadsheet, shown

__all__ = ["prevalence_page", "table_csv"]

_CERTAIN_SHOWN = 12


def prevalence_page(release: PrevalenceRelease) -> str:
    """Return the page of a prevalence release. The same release gives the same text.

    Parameters
    ----------
    release : PrevalenceRelease
    """
    found = release.shares()
    base: list[float] = overall(release.sums).tolist()
    ordered = "freq" in release.configuration
    trend = release.trend() if ordered else None
    flat = ~(release.moving() | release.growth().certain)
    order = np.argsort(-np.array(base), kind="stable")
    charts: list[dict[str, Any]] = []
    for topic in order.tolist():
        if trend is not None:
            parts = (trend.level[:, topic], trend.low[:, topic], trend.high[:, topic])
            svg = line_chart(*parts, release.groups, flat=bool(flat[topic]))
        else:
            svg = interval_chart(
                found.share[:, topic], found.low[:, topic], found.high[:, topic], base[topic], release.groups
            )
        charts.append(
            {
                "number": topic,
                "name": shown(release.topics[topic]),
                "share": _percent(base[topic]),
                "svg": Markup(svg),
            }
        )
    style = part("prevalence.css")
    return (
        template("prevalence.html.j2").render(
            style=Markup(style),
            style_hash=content_hash(style),
            title=f"{len(release.topics)} topics in {len(release.groups)} groups",
            ordered=ordered,
            private_groups=release.configuration.get("group_selection") == "private",
            charts=charts,
            groups=[shown(group) for group in release.groups],
            sizes=[f"{max(n, 0):,.0f}" for n in release.n_units],
            sure=release.certain_groups.tolist(),
            heat=_heat(release, order.tolist(), base),
            certain=_certain(release, base),
            changes=_changes(release, order.tolist()) if ordered and len(release.groups) > 1 else None,
            label=_label(release),
            csv=b64encode(table_csv(release).encode()).decode(),
        )
        + "\n"
    )


def table_csv(release: PrevalenceRelease) -> str:
    """Return the whole table as CSV: a row for each group and topic, projected shares with their 95 % intervals."""
    columns = release.to_columns()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Write numbers with six digits, and names so that no spreadsheet takes them for formulas."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return for_spreadsheet(value) if isinstance(value, str) else value


def _heat(release: PrevalenceRelease, order: list[int], base: list[float]) -> list[dict[str, Any]]:
    """Return the rows of the heat map: a shade for each share that surely differs from the overall one, else grey."""
    found = release.shares()
    rows: list[dict[str, Any]] = []
    for topic in order:
        cells: list[dict[str, str]] = []
        for group in range(len(release.groups)):
            share, low, high = (float(part[group, topic]) for part in (found.share, found.low, found.high))
            if low > base[topic]:
                strength = min(4, 1 + int(2 * np.log2(max(share / base[topic], 1.0))))
                shade = f"more{strength}"
            elif high < base[topic]:
                strength = min(4, 1 + int(2 * np.log2(max(base[topic] / max(share, 1e-6), 1.0))))
                shade = f"less{strength}"
            else:
                shade = "noise"
            title = f"{_percent(share)} ({_percent(low)} to {_percent(high)})"
            cells.append({"shade": shade, "text": _percent(share), "title": title})
        rows.append({"number": topic, "name": shown(release.topics[topic]), "cells": cells})
    return rows


def _certain(release: PrevalenceRelease, base: list[float]) -> list[str]:
    """Return sentences on what the numbers are sure of, the largest first; all cells tested together (Holm)."""
    from scipy.special import ndtr

    raw = release.shares("raw")
    with np.errstate(invalid="ignore"):
        score = np.where(
            np.isfinite(raw.standard_error) & (raw.standard_error > 0),
            (raw.share - np.array(base)) / np.where(raw.standard_error > 0, raw.standard_error, 1.0),
            0.0,
        )
    if release.noise == 0:
        return []
    alone = 2 * ndtr(-np.abs(score)).ravel()
    order = np.argsort(alone, kind="stable")
    stepped = np.maximum.accumulate(alone[order] * np.arange(len(order), 0, -1))
    sure = order[stepped < 0.05]
    found: list[float] = release.shares().share.ravel().tolist()
    n_topics = len(base)
    gap = np.abs(np.array(found) - np.tile(base, len(release.groups)))
    largest: list[int] = sure[np.argsort(-gap[sure], kind="stable")].tolist()
    sentences: list[str] = []
    for cell in largest[:_CERTAIN_SHOWN]:
        group, topic = divmod(cell, n_topics)
        more = "more" if found[cell] > base[topic] else "less"
        sentences.append(
            f"{shown(release.groups[group])}: {more} of \u201c{shown(release.topics[topic])}\u201d, "
            f"{_percent(found[cell])} against {_percent(base[topic])} overall."
        )
    return sentences


def _changes(release: PrevalenceRelease, order: list[int]) -> dict[str, Any]:
    """Return what grew and what fell from the first quarter of the periods to the last, all topics together."""
    found, many = release.growth(), max(1, len(release.groups) // 4)
    most = max(float(np.abs(np.concatenate([found.low, found.high])).max()), 1e-3)
    rows: list[dict[str, Any]] = []
    for topic in sorted(order, key=lambda k: -float(found.difference[k])):
        change, low, high = (float(part[topic]) for part in (found.difference, found.low, found.high))
        sure = bool(found.certain[topic]) and release.noise > 0
        rows.append(
            {
                "number": topic,
                "name": shown(release.topics[topic]),
                "change": _points(change),
                "low": _points(low),
                "high": _points(high),
                "state": "noise" if not sure else "more" if change > 0 else "less",
                "svg": Markup(difference_chart(change, low, high, most, certain=sure)),
            }
        )
    first, last = release.groups[:many], release.groups[-many:]
    return {
        "rows": rows,
        "grew": [row for row in rows if row["state"] == "more"],
        "fell": [row for row in reversed(rows) if row["state"] == "less"],
        "first": _range(first),
        "last": _range(last),
        "rest": sum(row["state"] == "noise" for row in rows),
    }


def _range(groups: tuple[str, ...]) -> str:
    return shown(groups[0]) if len(groups) == 1 else f"{shown(groups[0])}\u2013{shown(groups[-1])}"


def _points(change: float) -> str:
    return f"{100 * change:+.1f}".replace("-", "\u2212")


def _label(release: PrevalenceRelease) -> dict[str, Any]:
    promise, settings = release.promise, release.configuration
    topics_epsilon = settings.get("topics_epsilon")
    return {
        "unit": promise.called,
        "units": plural(promise.called),
        "epsilon": epsilon_shown(promise.epsilon),
        "delta": f"{promise.delta:g}",
        "no_privacy": bool(np.isinf(promise.epsilon)),
        "reproducible": release.reproducible,
        "guarantee": release.guarantee,
        "topics": None if topics_epsilon is None else epsilon_shown(float(topics_epsilon)),
        "entries": [
            (printable(entry.purpose), events.in_words(entry.event)) for entry in release.ledger.entries
        ],
        "noise": f"{release.noise:.1f}",
    }


def _percent(share: float) -> str:
    value = 100 * float(share)
    return f"{value:.1f}\u202f%" if value < 10 else f"{value:.0f}\u202f%"
