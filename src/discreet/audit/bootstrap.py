r"""Intervals of an attack's figures by the bootstrap: documents drawn again, and targets, threshold included.

Clopper and Pearson's interval of a rate takes the threshold as given, and every score as a draw of its own. But the
threshold is chosen where so many of the others give a false alarm, and in several targets the same documents are
judged. So documents are drawn anew, with replacement, and where there are several targets these, too; each draw has its
own threshold. What is drawn twice counts twice in every target (the pigeonhole bootstrap, which is a little too wide).
Percentiles of the figures are the interval.

It describes the attack on documents like these. It proves nothing about epsilon.

References
----------
Efron, Tibshirani, "An introduction to the bootstrap", 1993, doi:10.1201/9780429246593. Owen, "The pigeonhole
bootstrap", Annals of Applied Statistics 1(2), 2007, doi:10.1214/07-AOAS122.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._validate import check, number
from discreet.audit.arguments import check_confidence, check_seed, check_whole
from discreet.audit.attack_report import AuditReport

__all__ = ["bootstrap_intervals"]

Interval = tuple[float, float]


def bootstrap_intervals(
    report: AuditReport,
    *,
    rates: Sequence[float] = (0.001, 0.01, 0.1),
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | None = None,
) -> dict[str, Interval]:
    """Return intervals of the rates of an attack, and of the area under its curve.

    Parameters
    ----------
    report : AuditReport
    rates : sequence of float
        False-positive rates.
    confidence : float, default 0.95
    n_resamples : int, default 1000
        At least 100.
    random_state : int, optional

    Returns
    -------
    dict
        ``{"auc": (low, high), "0.001": (low, high), ...}``, rates as ``format(rate, "g")``.
    """
    missing = (1 - check_confidence(confidence)) / 2
    check(**{f"rates[{place}]": (rate, number(least=0, most=1)) for place, rate in enumerate(rates)})
    rng = np.random.default_rng(check_seed(random_state))
    times, found = check_whole("n_resamples", n_resamples, 100), _sorted(report)
    targets, documents = report.scores.shape
    drawn = np.array([_figures(found, (targets, documents), rates, rng) for _ in range(times)])
    ends = np.nanquantile(drawn, [missing, 1 - missing], axis=0)
    names = ["auc", *(f"{rate:g}" for rate in rates)]
    return {name: (float(low), float(high)) for name, low, high in zip(names, *ends, strict=True)}


class _Sorted(NamedTuple):
    """Documents of all targets by falling scores, and the last place of each group of equal ones."""

    order: NDArray[np.int64]
    last: NDArray[np.int64]
    members: NDArray[np.bool_]


def _sorted(report: AuditReport) -> _Sorted:
    order = np.argsort(-report.scores, axis=None, kind="stable")
    scores = report.scores.ravel()[order]
    last = np.r_[np.flatnonzero(np.diff(scores)), len(scores) - 1]
    return _Sorted(order, last, report.members.ravel()[order])


def _figures(
    found: _Sorted, shape: tuple[int, int], rates: Sequence[float], rng: np.random.Generator
) -> list[float]:
    """Return area and rates of one draw; NaN where it has members or others only."""
    targets, documents = shape
    weight = rng.multinomial(documents, np.full(documents, 1 / documents))
    times = rng.multinomial(targets, np.full(targets, 1 / targets))
    weights = (times[:, None] * weight).ravel()[found.order]
    hits = np.cumsum(weights * found.members)[found.last]
    alarms = np.cumsum(weights * ~found.members)[found.last]
    if not hits[-1] or not alarms[-1]:
        return [float("nan")] * (1 + len(rates))
    true, false = np.r_[0.0, hits / hits[-1]], np.r_[0.0, alarms / alarms[-1]]
    allowed = np.searchsorted(false, np.array(rates) * (1 + 1e-12), side="right") - 1
    return [float(np.trapezoid(true, false)), *true[allowed].tolist()]
