"""Shares of topics in groups as a command shows them: what is certain, the table, and what the topics cost."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.release.prevalence import PrevalenceRelease

__all__ = ["cost_of_topics", "show_shares", "write_table"]

_MOST_SHOWN = 12
_NOTHING = "noise and chance may explain all of them"


def write_table(made: "PrevalenceRelease", path: Path) -> None:
    """Write all shares as a table: .csv."""
    from discreet._files import write_whole
    from discreet.report.prevalence_page import table_csv

    write_whole(table_csv(made).encode(), path, "the table")


def show_shares(made: "PrevalenceRelease", say: Any) -> None:
    """Print what is certain, with intervals: what noise and chance may explain is no news."""
    import numpy as np
    from rich.markup import escape
    from rich.table import Table

    over_time, form = len(made.periods) > 1, "{:+.1f}"
    if len(made.groups) == 1:
        alone, form = made.shares(), "{:.1f}"
        parts, chosen = (alone.share, alone.low, alone.high), np.argsort(-alone.share.ravel(), kind="stable")
    else:
        found = made.growth() if over_time else made.against_rest()
        parts, sure = (found.difference, found.low, found.high), np.flatnonzero(found.certain)
        chosen = sure[np.argsort(-np.abs(found.difference.ravel()[sure]), kind="stable")]
        what = f"{_span(made)}, all topics" if over_time else "each group against all the others, all"
        counted = f"{len(sure)} of {found.certain.size} are certain" if len(sure) else _NOTHING
        say.print(f"Differences, {what} tested together: {counted}.", markup=False)
    if len(chosen):
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("group", "topic", "points", "95 % interval", "words")[over_time:]:
            shown.add_column(
                column, justify="left" if column in ("group", "words") else "right", overflow="fold"
            )
        for cell in chosen[:_MOST_SHOWN].tolist():
            group, topic = divmod(cell, len(made.topics))
            value, low, high = (form.format(100 * float(part.ravel()[cell])) for part in parts)
            cells = [made.groups[group], str(topic), value, f"{low} to {high}", made.topics[topic]]
            shown.add_row(*map(escape, cells[over_time:]))
        say.print(shown)


def cost_of_topics(made: "PrevalenceRelease") -> str:
    """Say what the topics cost, and whether that is counted already."""
    settings = made.configuration
    promise = f"epsilon = {settings.get('topics_epsilon', math.nan):.4g}"
    if settings.get("topics_booked_here"):
        return f"That includes the topics, which cost {promise} on the same ledger."
    return (
        f"The topics cost {promise} on their own, on another ledger: for readers of both, the costs add up. With "
        "the topics' --ledger, both are counted together."
    )


def _span(made: "PrevalenceRelease") -> str:
    """Return which periods are compared: "from 2024-01–2024-03 to 2024-10–2024-12"."""
    many = max(1, len(made.periods) // 4)
    ends = made.periods[:many], made.periods[-many:]
    return "from " + " to ".join("\u2013".join(dict.fromkeys((end[0], end[-1]))) for end in ends)
