"""The page of a prevalence release: charts, a heat map, what differs clearly, and the table. No script, no network.

What lies within noise and chance is grey: a colour is a claim, and it is only made where a group surely differs from
all the others together (a line: where its topic surely moves or changed), by one test of all of them, so that with
95 % confidence none is noise. Sentences, charts and heat map follow the same test. Every share is a
projected one, which its interval holds, and which stands in the table that can be downloaded. The page is made from
the release alone, so it costs no privacy.
"""

from base64 import b64encode
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from discreet._base.display import document
from discreet.privacy.units import plural
from discreet.release.files import clean
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.prevalence.changes import Differences
from discreet.release.prevalence.shares import overall
from discreet.report import wording
from discreet.report.page import template
from discreet.report.svg import axis_top, difference_chart, interval_chart, line_chart
from discreet.report.wording import shown

_MOST_TOLD = 10
_LEAST_SHARE = 1e-6
#: Columns of a heat map; charts of a cross table.
_WIDEST, _MOST_CHARTS = 10, 300
#: Words of a topic that was brought, beside its name.
_WORDS = 12
#: How the names of topics begin that were mostly noise when the shares were counted.
MOSTLY_NOISE = "mostly noise"


def prevalence_page(release: PrevalenceRelease) -> str:
    """Return the page of a prevalence release. The same release gives the same text."""
    base: list[float] = (
        release.shares().share[0] if len(release.groups) == 1 else overall(release.sums)
    ).tolist()
    periods = release.periods
    noisy = [name.startswith(MOSTLY_NOISE) for name in release.topics]
    order: list[int] = sorted(range(len(base)), key=lambda topic: (noisy[topic], -base[topic]))
    found = release.against_rest() if len(release.groups) > 1 else None
    drawn = _Drawn(release, order, base, _states(release, found), found)
    reach = 1.96 * release.n_units_error
    changes = _changes(release, order) if len(periods) > 1 else None
    title = release.details.get("title") or _title(release)
    return document(
        title,
        template("prevalence.html.j2").render(
            title=title,
            subtitle=_title(release) if "title" in release.details else "",
            details=wording.said_of(release),
            reviewed=release.review,
            ordered=bool(periods),
            lines=release.table is not None and "freq" in release.configuration,
            private_groups=release.configuration.get("group_selection") == "private",
            parts=_charts(drawn),
            columns=_columns(release),
            groups=release.groups,
            sizes=[f"{max(n, 0):,.0f}" for n in release.n_units],
            weight=wording.weighed(release),
            size_error=f"{reach:,.0f}" if reach else "",
            sure=release.certain_groups.tolist(),
            spans=_spans(release),
            heat=_heat(drawn),
            sentences=_sentences(drawn, changes),
            brought=bool(release.topic_words),
            told=[] if found is None or not found.certain.any() else list(map(clean, found.in_words())),
            most_told=_MOST_TOLD,
            changes=changes,
            label=_label(release),
            csv=b64encode(table_csv(release).encode("utf-8-sig")).decode(),
        ),
    )


def _title(release: PrevalenceRelease) -> str:
    topics, where = f"{len(release.topics)} topics", _where(release)
    return f"{topics} in {where}" if where else f"Shares of {topics}"


def _where(release: PrevalenceRelease) -> str:
    """Return how many groups there are, and of what; nothing where all texts are one."""
    freq, field = str(release.configuration.get("freq", "")), release.configuration.get("by")
    if release.table is not None:
        rows, columns = release.table
        return f"{len(rows)} groups by {len(columns)} {plural(freq) if freq else 'others'}"
    if release.periods:
        return f"{wording.many(len(release.periods), freq)}, {_range(release.periods)}"
    if len(release.groups) == 1:
        return ""
    return f"{len(release.groups)} groups" + (f" by {shown(field)}" if isinstance(field, str) else "")


def _sentences(drawn: "_Drawn", changes: dict[str, Any] | None) -> list[str]:
    """Say in three sentences what is largest, what differs, and who is protected."""
    release, order, base, _, found = drawn
    promise, where = release.promise, _where(release)
    groups = " with a word of the topics" if found is None and release.topic_words else ""
    groups += f" in {where}" if where else ""
    said = [
        f"About {release.n_units_in_all:,.0f} {plural(promise.called)}{groups}: the largest of {len(order)} topics, "
        f"\u201c{shown(release.topics[order[0]])}\u201d, makes up {100 * base[order[0]]:.0f}\u202f%."
    ]
    if changes is not None:
        moved = len(order) - changes["rest"]
        said.append(
            f"{moved or 'None'} of the topics clearly grew or fell from the first periods to the last."
        )
    elif found is not None:
        clear = f"{int(found.certain.sum()) or 'None'} of {found.certain.size:,} shares"
        said.append(f"{clear} clearly differ from those of all the others together.")
    if not np.isinf(promise.epsilon):
        said.append(f"Each {promise.called} is protected: {wording.promised(release)}")
    return said


def _words(release: PrevalenceRelease, topic: int) -> str:
    """Return the first words of a topic that was brought."""
    words = release.topic_words[topic] if release.topic_words else ()
    return ", ".join(map(shown, words[:_WORDS])) + (" \u2026" if len(words) > _WORDS else "")


class _Row(NamedTuple):
    """Groups that stand together: all of them, or a row of a cross table, in which they are called otherwise."""

    name: str
    groups: tuple[str, ...]
    names: tuple[str, ...]


def _rows_of(release: PrevalenceRelease) -> list[_Row]:
    if release.table is None:
        return [_Row("", release.groups, release.groups)]
    rows, columns = release.table
    width = len(columns)
    return [
        _Row(shown(row), release.groups[at * width : (at + 1) * width], columns)
        for at, row in enumerate(rows)
    ]


def _columns(release: PrevalenceRelease) -> list[str]:
    """Return what stands above each column of the tables: the group, of a cell its column alone."""
    names = [name for row in _rows_of(release) for name in row.names]
    return [shown(name) for name in (*names, *release.groups[len(names) :])]


class _Drawn(NamedTuple):
    """What all charts of a page are made of; ``order`` is that of the topics, ``base`` their shares in all."""

    release: PrevalenceRelease
    order: list[int]
    base: list[float]
    states: list[list[str]]
    differences: Differences | None


def _charts(drawn: _Drawn) -> list[dict[str, Any]]:
    """Return parts of small charts, one for each topic: its line over the periods, or its share in each group.

    One part; of a cross table one for each row, over its columns.
    """
    rows, crossed = _rows_of(drawn.release), drawn.release.table is not None
    if crossed and len(rows) * len(drawn.order) > _MOST_CHARTS:
        return []
    return [
        {"name": row.name, "charts": _part(drawn, row, f"{number}-" if crossed else "")}
        for number, row in enumerate(rows)
    ]


def _part(drawn: _Drawn, row: _Row, prefix: str) -> list[dict[str, Any]]:
    """Return a chart for each topic over some groups."""
    release, order, base, states, differences = drawn
    _, groups, names = row
    crossed = release.table is not None
    over_time = bool(release.periods) or (crossed and "freq" in release.configuration)
    at = [release.groups.index(group) for group in groups]
    found = release.shares()
    trend, moves = None, np.zeros(len(order), np.bool_)
    if over_time:
        some = groups if crossed else release.periods
        # So that with 95 % confidence nothing is coloured that noise and chance explain, by two tests of each row.
        level = 1 - 0.05 / (2 * len(release.table.rows) if release.table is not None else 1)
        trend, sure = release.trend(some), release.trend(some, level=level).moves
        moves = (sure if sure is not None else moves) | release.growth(some, level=level).certain
        names = names if crossed else some
    rest, low, high = shown_intervals(release, differences)
    # One scale for all charts of a page.
    whole = release.trend(release.groups) if crossed and over_time else trend
    top = axis_top(found.share, high if whole is None else whole.high)
    charts: list[dict[str, Any]] = []
    for topic in order:
        if trend is not None:
            parts = (trend.level[:, topic], trend.low[:, topic], trend.high[:, topic])
            svg, clear = line_chart(*parts, names, top, flat=not moves[topic]), bool(moves[topic])
        else:
            parts = (found.share[at, topic], low[at, topic], high[at, topic], rest[at, topic])
            shown_ends = np.clip((low, high), 0, 1)
            numbers = (
                [100 * float(part[group, topic]) for part in (found.share, *shown_ends)] for group in at
            )
            told = [
                (shown(name), f"{shown(group)}: {mid:.1f} % ({from_:.1f} to {to:.1f})")
                for name, group, (mid, from_, to) in zip(names, groups, numbers, strict=True)
            ]
            own = [states[group][topic] for group in at]
            svg, clear = interval_chart(*parts, told, own, top), {*own} != {"noise"}
        name = shown(release.topics[topic])
        charts.append(
            {
                "id": f"{prefix}{topic}",
                "called": topic + 1,
                "name": name,
                "words": _words(release, topic),
                "share": _percent(base[topic]),
                "svg": Markup(svg),
                "clear": clear,
                "noisy": name.startswith(MOSTLY_NOISE),
            }
        )
    return charts


def shown_intervals(release: PrevalenceRelease, differences: Differences | None) -> tuple[Any, Any, Any]:
    """Return the share of all others, and each share's interval by the test of the differences from it."""
    found = release.shares()
    rest, low, high = np.full_like(found.share, np.nan), found.low.copy(), found.high.copy()
    if differences is not None:
        n_rows = len(differences.difference)  # "other" stands behind the periods
        rest[:n_rows] = release.shares("raw").share[:n_rows] - differences.difference
        low[:n_rows], high[:n_rows] = rest[:n_rows] + differences.low, rest[:n_rows] + differences.high
    return rest, low, high


def _states(release: PrevalenceRelease, found: Differences | None) -> list[list[str]]:
    """Return "more", "less" or "noise" for each group and topic."""
    states = np.full(release.topic_totals.shape, "noise", dtype="<U5")
    if found is not None:
        signs = np.where(found.difference > 0, "more", "less")
        states[: len(signs)] = np.where(found.certain, signs, "noise")
    return states.tolist()


def table_csv(release: PrevalenceRelease) -> str:
    """Return the whole table as CSV: a row for each group and topic, projected shares with their 95 % intervals.

    Topics count from 1, as on the page.
    """
    return wording.csv_of({name: map(_cell, values) for name, values in release.to_columns().items()})


def _cell(value: Any) -> Any:
    """Write numbers with six digits, and names so that no spreadsheet takes them for formulas."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return clean(wording.for_spreadsheet(value)) if isinstance(value, str) else value  # None: an empty cell


def _spans(release: PrevalenceRelease) -> list[tuple[int, int, str]]:
    """Cut the columns of the heat map into tables that fit on paper, of like width; a row of a cross table by itself.

    Each is where it starts, where it ends, and what stands above it.
    """
    spans: list[tuple[int, int, str]] = []
    at = 0
    for row in _rows_of(release):
        width, parts = len(row.groups), -(-len(row.groups) // _WIDEST)
        ends = [at + width * part // parts for part in range(parts + 1)]
        spans += [(start, end, row.name) for start, end in pairwise(ends)]
        at += width
    return spans + [(at, at + 1, "") for _ in release.groups[at:]]


def _heat(drawn: _Drawn) -> list[dict[str, Any]]:
    """Return the rows of the heat map: a shade for each share that surely differs, else grey."""
    release, order, base, states, differences = drawn
    found = release.shares()
    _, lows, highs = shown_intervals(release, differences)
    top = max(float(found.high.max()), _LEAST_SHARE)
    rows: list[dict[str, Any]] = []
    for topic in order:
        cells: list[dict[str, str]] = []
        for group in range(len(release.groups)):
            share, low, high = (float(part[group, topic]) for part in (found.share, lows, highs))
            state = states[group][topic]
            ratio = max(share, _LEAST_SHARE) / max(base[topic], _LEAST_SHARE)
            strength = min(4, 1 + int(2 * abs(np.log2(ratio))))
            cells.append(
                {
                    "shade": "noise" if state == "noise" else f"{state}{strength}",
                    "text": _percent(share),
                    "range": f"{100 * max(low, 0):.1f}\u2013{100 * min(high, 1):.1f}",
                }
            )
        bar = [f"{100 * float(part[0, topic]) / top:.1f}" for part in (found.share, found.low, found.high)]
        called = {"called": topic + 1, "name": shown(release.topics[topic]), "words": _words(release, topic)}
        rows.append(called | {"cells": cells, "bar": bar})
    return rows


def _change(found: Differences, at: Any, widest: float) -> dict[str, Any]:
    """Return one difference as it is written and drawn: grey unless it is certain."""
    change, low, high = (float(part[at]) for part in (found.difference, found.low, found.high))
    sure = bool(found.certain[at])
    svg = difference_chart(change, low, high, max(widest, 1e-3), certain=sure)
    state = "noise" if not sure else "more" if change > 0 else "less"
    ends = {"low": _points(low), "high": _points(high)}
    return ends | {"change": _points(change), "state": state, "svg": Markup(svg)}


def _changes(release: PrevalenceRelease, order: list[int]) -> dict[str, Any]:
    """Return what grew and what fell from the first quarter of the periods to the last, all topics together."""
    found, periods = release.growth(), release.periods
    many, most = max(1, len(periods) // 4), float(np.abs(np.concatenate([found.low, found.high])).max())
    rows: list[dict[str, Any]] = [
        {"group": "", "called": topic + 1, "name": shown(release.topics[topic])} | _change(found, topic, most)
        for topic in sorted(order, key=lambda k: -float(found.difference[k]))
    ]
    return {
        "rows": rows,
        "grew": [row for row in rows if row["state"] == "more"],
        "fell": [row for row in reversed(rows) if row["state"] == "less"],
        "first": _range(periods[:many]),
        "last": _range(periods[-many:]),
        "rest": sum(row["state"] == "noise" for row in rows),
    }


def _range(groups: tuple[str, ...]) -> str:
    return "\u2013".join(dict.fromkeys((shown(groups[0]), shown(groups[-1]))))


def _points(change: float) -> str:
    return f"{100 * change:+.1f}".replace("-", "\u2212")


def _label(release: PrevalenceRelease) -> dict[str, Any]:
    settings = release.configuration
    topics_epsilon = settings.get("topics_epsilon")
    return wording.label_of(release) | {
        "large_delta": release.large_delta,
        "topics": None if topics_epsilon is None else wording.epsilon_shown(float(topics_epsilon)),
        "together": settings.get("topics_booked_here") is True,
        "noise": f"{release.noise:.1f}",
    }


def _percent(share: float) -> str:
    return f"{100 * float(share):.1f}\u202f%"
