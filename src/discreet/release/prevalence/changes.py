r"""Differences between groups, and trends over ordered groups. Post-processing of released numbers.

*Differences*: :math:`d = p_a - p_b` of the raw shares, with the noise and the chance of both. Each share has an
interval :math:`[l, u]` for both (:func:`discreet.release.prevalence.shares.limits`), and that of the difference is

.. math:: \left[d - \sqrt{(p_a - l_a)^2 + (u_b - p_b)^2},\; d + \sqrt{(u_a - p_a)^2 + (p_b - l_b)^2}\right],

as Zou and Donner have it: variances are taken where the limits lie, which matters where groups are small. A p-value is
found from the widest interval that does not hold 0. All that are asked for are tested together: p-values are Holm's,
so that with probability ``level`` not one difference is called certain that is none. Of m differences Holm's test
leaves r uncertain because the most likely of them exceeds 1 - (1 - ``level``) / r, and calls the others certain because
they do not: intervals that are shown are of that level, so they leave out 0 exactly where the difference is certain.

*Trends*: the line is a local level for each topic, :math:`y_t = \mu_t + e_t`, :math:`\mu_t = \mu_{t-1} + u_t`, where
the variance of :math:`e_t` is known (noise and sampling) and that of :math:`u_t` is not: the smoother runs for each of
a grid of variances, and the answers are averaged by how well each explains the released shares. It is a guess that
leans on neighbours. The band does not: it holds each period's own share, from that period's numbers alone
(:func:`discreet.release.prevalence.shares.drawn`), whatever the trend does; a band drawn around a smoothed line holds
its part only where the model is true: of a month unlike its neighbours it held nothing.

*Movement*: under one share p for all periods :math:`S_t - \hat n_t p` has mean 0 and a known variance, whether or not
a period is empty; the sum of their squares, in parts of the variance, at the best p, is chi-square with one degree of
freedom less than periods. Holm over topics, again.

References
----------
Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
Zou, Donner, "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27,
2008.
Agresti, Caffo, "Simple and effective confidence intervals for proportions and differences of proportions", The
American Statistician 54, 2000.
Durbin, Koopman, "Time series analysis by state space methods", 2nd edition, 2012, chapter 2.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from discreet._base.display import frame
from discreet.release.prevalence import shares
from discreet.release.prevalence.shares import Sums

Floats = NDArray[np.float64]
#: Standard deviations of a step, as parts of the topic's overall share: from standing still to jumping.
_PACES = np.concatenate([[0.0], np.geomspace(0.01, 2.0, 40)])
_FLAT = 1e6
_MOST_DEVIATIONS, _HALVINGS = 38.0, 40


class Differences(NamedTuple):
    """Differences of shares, an entry for each topic; of several groups a row for each.

    Attributes
    ----------
    difference, low, high, standard_error, p_value : arrays of shape (n_topics,) or (n_groups, n_topics)
        ``p_value`` is Holm's, over all entries; the interval follows that test, too: it holds 0 unless ``certain``.
    certain : array of that shape, bool
    topics : tuple of str
        What each topic is called.
    groups : tuple of str
        What stands before the minus: a group, or for each row one.
    against : str
        What stands behind it.
    """

    difference: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    certain: NDArray[np.bool_]
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    against: str = ""

    def named(self, topics: tuple[str, ...], groups: tuple[str, ...], against: str) -> "Differences":
        """Return the same with names."""
        return self._replace(topics=topics, groups=groups, against=against)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each difference, as columns; topics count from 1."""
        numbers = ("difference", "low", "high", "standard_error", "p_value", "certain")
        table = shares.long_table(self.groups, self.topics, **{name: getattr(self, name) for name in numbers})
        return {"group": table.pop("group"), "against": [self.against] * self.difference.size, **table}

    def to_frame(self) -> Any:
        """Return :meth:`to_columns` as a data frame: of pandas, or polars, or pyarrow, whichever is installed."""
        return frame(self.to_columns())

    def in_words(self) -> list[str]:
        """Return a sentence for each difference that is certain, the largest first; one that says so where none is."""
        columns = self.to_columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        sure = sorted((row for row in rows if row["certain"]), key=lambda row: -abs(row["difference"]))
        told: list[str] = []
        for row in sure:
            low, size, high = sorted(100 * abs(row[name]) for name in ("low", "difference", "high"))
            told.append(
                f"{row['group']}: {size:.1f} points {'more' if row['difference'] > 0 else 'less'} of "
                f"\u201c{row['words']}\u201d than {row['against']} ({low:.1f} to {high:.1f})."
            )
        return told or ["Nothing differs clearly: noise and chance may explain all differences."]


class Trend(NamedTuple):
    """Shares over ordered groups; arrays of shape (n_groups, n_topics).

    Attributes
    ----------
    level : array
        Smoothed shares.
    low, high : arrays
        Bands: each period's own share lies between them with the stated probability.
    standard_error : array
        Of each period's own share, by noise and chance.
    topics : tuple of str
        What each topic is called.
    groups : tuple of str
        In their order.
    moves : array of shape (n_topics,), bool, or None
        Whether each topic's share surely differs between the groups, all topics together.
    """

    level: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    moves: NDArray[np.bool_] | None = None

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each group and topic, as columns; topics count from 1."""
        numbers = {name: getattr(self, name) for name in self._fields[:4]}
        return shares.long_table(self.groups, self.topics, **numbers)

    def to_frame(self) -> Any:
        """Return :meth:`to_columns` as a data frame: of pandas, or polars, or pyarrow, whichever is installed."""
        return frame(self.to_columns())

    def in_words(self) -> list[str]:
        """Return a sentence for each topic whose share surely differs between groups; one that says so where none."""
        span = f"between {self.groups[0]} and {self.groups[-1]}" if self.groups else "over time"
        return _moved(self.moves, self.topics, f"clearly moves {span}")


def _moved(moves: NDArray[np.bool_] | None, topics: tuple[str, ...], how: str) -> list[str]:
    sure = [] if moves is None else np.flatnonzero(moves).tolist()
    told = [f"The share of \u201c{topics[topic]}\u201d {how}." for topic in sure]
    return told or [f"No topic {how}: noise and chance may explain it all."]


class Moves(NamedTuple):
    """Which topics' shares differ between groups; arrays of shape (n_topics,).

    Attributes
    ----------
    moves : array, bool
        Whether each surely differs, all topics together.
    p_value : array
        Holm's, over all topics.
    topics : tuple of str
        What each topic is called.
    """

    moves: NDArray[np.bool_]
    p_value: Floats
    topics: tuple[str, ...] = ()

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each topic, as columns; topics count from 1."""
        numbers = {"moves": self.moves.tolist(), "p_value": self.p_value.tolist()}
        return {"topic": list(range(1, len(self.topics) + 1)), "words": list(self.topics), **numbers}

    def to_frame(self) -> Any:
        """Return :meth:`to_columns` as a data frame: of pandas, or polars, or pyarrow, whichever is installed."""
        return frame(self.to_columns())

    def in_words(self) -> list[str]:
        """Return a sentence for each topic whose share surely differs between groups; one that says so where none."""
        return _moved(self.moves, self.topics, "clearly differs between the groups")


def sampling_error(sums: Sums) -> Floats:
    """Return how far shares vary from one draw of that many units to the next, at most; shape (n_groups, n_topics)."""
    sizes, error = shares.group_sizes(sums)
    many = np.maximum(sizes, max(error, 1.0))[:, None]
    # One unit more on either side, as Agresti and Caffo do: a share that looks like 0 is not known to be 0.
    share = (np.clip(sums.topics, 0.0, many) + 1) / (many + 2)
    return np.sqrt(share * (1 - share) / many)


def compare(sums: Sums, first: int, second: int, level: float = 0.95) -> Differences:
    """Compare two groups, all topics together."""
    return _alone(differences(_some(sums, [first]), _some(sums, [second]), level, together=True))


def growth(sums: Sums, level: float = 0.95) -> Differences:
    """Compare the last quarter of the groups with the first, all topics together; one group where there are few.

    The groups of a quarter are added up: totals, sizes and noise. Their order is that of time.
    """
    n_groups = len(sums.topics)
    many = max(1, n_groups // 4)
    last, first = (_some(sums, range(start, start + many)) for start in (n_groups - many, 0))
    return _alone(differences(last, first, level, together=True))


def against_rest(sums: Sums, level: float = 0.95) -> Differences:
    """Compare each group with all others added up, all groups and topics together."""
    noise = sums.noise * np.sqrt(max(len(sums.topics) - 1, 1))
    topics, counts = sums.topics.sum(0) - sums.topics, sums.counts.sum() - sums.counts
    rest = Sums(topics, counts, float(noise), sums.count_weight)
    return differences(sums, rest, level, together=True)


def _some(sums: Sums, which: Sequence[int]) -> Sums:
    """Add up some groups, noise included."""
    topics, counts = sums.topics[list(which)], sums.counts[list(which)]
    noise = float(sums.noise * np.sqrt(len(topics)))
    return Sums(topics.sum(0, keepdims=True), counts.sum(keepdims=True), noise, sums.count_weight)


def _alone(found: Differences) -> Differences:
    return found._replace(**{name: getattr(found, name)[0] for name in found._fields[:6]})


def differences(first: Sums, second: Sums, level: float = 0.95, *, together: bool = False) -> Differences:
    """Compare groups row by row, all rows and topics together; intervals are each by itself, or those of the test."""
    one, other = shares.raw(first), shares.raw(second)
    difference = one.share - other.share
    errors = (one.standard_error, other.standard_error, sampling_error(first), sampling_error(second))
    error = np.sqrt(sum(part**2 for part in errors))

    def bounds(z: float | Floats) -> tuple[Floats, Floats]:
        low, high = shares.limits(first, z, chance=True)
        other_low, other_high = shares.limits(second, z, chance=True)
        down = np.hypot(one.share - low, other_high - other.share)
        up = np.hypot(high - one.share, other.share - other_low)
        return difference - down, difference + up

    sure, unsure = np.zeros_like(difference), np.full_like(difference, _MOST_DEVIATIONS)
    for _ in range(_HALVINGS):
        z = (sure + unsure) / 2
        below, above = bounds(z)
        apart = (below > 0) | (above < 0)
        sure, unsure = np.where(apart, z, sure), np.where(apart, unsure, z)
    p_value = _holm(2 * ndtr(-sure))
    certain = p_value < 1 - level
    outside = (1 - level) / (max(int((~certain).sum()), 1) if together else 1)
    low, high = (np.clip(bound, -1.0, 1.0) for bound in bounds(-ndtri(outside / 2)))
    return Differences(difference, low, high, error, p_value, certain)


def _holm(alone: Floats) -> Floats:
    """Return Holm's p-values over all entries."""
    flat = alone.ravel()
    order = np.argsort(flat, kind="stable")
    stepped = np.maximum.accumulate(flat[order] * np.arange(len(order), 0, -1))
    out = np.empty_like(flat)
    out[order] = np.minimum(stepped, 1.0)
    return out.reshape(alone.shape)


def moving(sums: Sums, level: float = 0.95) -> Moves:
    """Tell which topics' shares surely differ between the groups, all topics together."""
    sizes, error = shares.group_sizes(sums)
    n_groups, sizes = len(sizes), sizes[:, None]
    if n_groups == 1:
        return Moves(np.zeros(sums.topics.shape[1], np.bool_), np.ones(sums.topics.shape[1]))
    share = shares.overall(sums)
    noise = sums.noise**2 * (1 - 2 * shares.row_weight(sums) * share) + (share * error) ** 2
    variance = noise + np.maximum(sizes, 1.0) * np.maximum(share * (1 - share), 1e-12)
    best = (sizes * sums.topics / variance).sum(0) / np.maximum((sizes**2 / variance).sum(0), 1e-300)
    squares = ((sums.topics - sizes * best) ** 2 / variance).sum(0)
    p_value = _holm(np.asarray(chdtrc(n_groups - 1, squares)))
    return Moves(p_value < 1 - level, p_value)


def trend(sums: Sums, level: float = 0.95) -> Trend:
    """Smooth each topic's shares over the groups, which are taken in their order."""
    found, sampled = shares.raw(sums), sampling_error(sums)
    variance = np.where(np.isfinite(found.standard_error), found.standard_error**2 + sampled**2, np.inf)
    size = np.maximum(found.share.mean(0), 0.1 / found.share.shape[1])
    means, likelihood = _smooth(found.share, variance, (_PACES[:, None] * size) ** 2)
    weight = np.exp(likelihood - likelihood.max(0))
    smoothed = (weight * means).sum(1) / weight.sum(0)
    alone = shares.drawn(sums, level)
    return Trend(np.clip(smoothed, 0.0, 1.0), alone.low, alone.high, alone.standard_error)


def _smooth(values: Floats, variance: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Filter and smooth local levels, for several variances of a step; a variance of inf: nothing is known there.

    Returns means of shape (n_groups, n_steps, n_topics), and the logarithm of the likelihood of each step.
    """
    n = len(values)
    mean, spread, guess, width = (np.empty((n, *step.shape)) for _ in range(4))
    likelihood, seen = np.zeros(step.shape), np.zeros(step.shape[1], np.bool_)
    for t in range(n):
        guess[t], width[t] = (mean[t - 1], spread[t - 1] + step) if t else (0.0, _FLAT)
        total, surprise = width[t] + variance[t], values[t] - guess[t]
        told = np.isfinite(total) & (total > 0)
        safe = np.where(told, total, 1.0)
        gain = np.where(told, width[t] / safe, np.isfinite(total))
        fit = np.log(safe) + np.where(told, surprise**2 / safe, 0.0)
        likelihood -= 0.5 * np.where(seen, fit, 0.0)  # the first value only says where the series begins
        seen |= np.isfinite(variance[t])
        mean[t], spread[t] = guess[t] + gain * surprise, width[t] * (1 - gain)
    for t in range(n - 2, -1, -1):
        wide = width[t + 1] > 0
        pull = np.where(wide, spread[t] / np.where(wide, width[t + 1], 1.0), 0.0)
        mean[t] += pull * (mean[t + 1] - guess[t + 1])
    return mean, likelihood
