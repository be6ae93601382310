r"""Two releases side by side: which topics are the same, what grew, what vanished, and what noise alone would show.

And a page of it, without script or network.

Topics are held against each other by what sets them apart: the excess of their words over the words of all topics
together, :math:`e_{kw} \propto (p(w|k) - p(w))_+`, over the words that both releases have. Two topics agree by
:math:`\sum_w \min(e_{kw}, e'_{jw})`; pairs are chosen to agree most in sum (Kuhn, Munkres). A pair is one topic where
the agreement, times how much of the text these words are (in the release of which they are more), is at least a half,
less what noise alone takes away: on average :math:`1 / \sqrt{2 \pi}` of
:func:`~discreet.report.wording.noise_share`, half of it from each. Topics that are mostly noise are left out.

A topic's share is a sum of noisy cells, so its noise has standard deviation :math:`\pi_k \sqrt{\sum_w s_{kw}^2}`.
That is the noise of the last round alone: training amplifies what came before, and two fits of one text differ by
more. So a change is called clear only where it exceeds that noise (for all shares together, and again for all
words, with an error of 2.5 %) and also an allowance for training, which is a judgement: a share must move by a factor
of 1.23, and a word by 4 points of the topic, where the topics agree by .9 or more; below, by a factor of 4 and by
8 points. Topics of one release alone are no sign of a change: with more topics than the text has, two fits of one
text find different ones. What another sample of texts would have changed is not in any of this.

*Guarantee*: post-processing of both releases. Whoever sees both has the cost of both.

References
----------
Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2 (1955), 83-97.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtri

from discreet._base.display import document, frame
from discreet._base.files import page_or_none
from discreet.errors import ReleaseError
from discreet.release.numbers import mark_of
from discreet.release.release import Release
from discreet.report.page import list_words, template
from discreet.report.wording import label_of, mostly_noise, noise_share, overall, shown

Floats = NDArray[np.float64]
_SAME = 0.5
#: For all shares together, and again for all words.
_ERROR = 0.025
#: What training may make of one text: the binary logarithm of a share, and a word's part of a topic.
_CLOSE, _CLOSE_MOVES, _OTHER_MOVES = 0.9, (0.3, 0.04), (2.0, 0.08)
#: Shares are comparable up to this part of a text in words of one release alone.
_APART = 0.05
_WORDS = 6
_COLUMNS = ("first", "second", "name", "agreement", "before", "after", "noise", "clear", "grew", "fell")


class Pair(NamedTuple):
    """A topic that both releases have.

    Attributes
    ----------
    first, second : int
        Its number in each, from 1, as tables, pages and :meth:`Release.without_topics` count.
    agreement : float
        Between 0 and 1.
    before, after : float or None
        Its share of the words counted in each, where both tell it.
    noise : float or None
        Standard deviation of the difference by noise alone; None where a release does not tell its noise.
    clear : bool
        Whether neither noise nor what training makes of it explains the difference.
    grew, fell : tuple of str
        Words that are clearly more, or less, of the topic; the largest changes first.
    """

    first: int
    second: int
    agreement: float
    before: float | None
    after: float | None
    noise: float | None
    clear: bool
    grew: tuple[str, ...]
    fell: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    a, b : Release
    pairs : list of Pair
        Clear changes first, then by size.
    vanished, appeared : list of int
        Numbers, from 1, of topics of ``a`` alone, and of ``b`` alone, without those that are mostly noise.
    noise_in_a, noise_in_b : list of int
        Numbers, from 1, of topics that are mostly noise.
    shared : tuple of str
        Words that both have.
    only_a, only_b : tuple of str
        Words of one alone, the most frequent first.
    apart : float
        How much of a text lies in words of its release alone: the larger of the two parts.
    """

    a: Release
    b: Release
    pairs: list[Pair]
    vanished: list[int]
    appeared: list[int]
    noise_in_a: list[int]
    noise_in_b: list[int]
    shared: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    apart: float

    @property
    def shares_comparable(self) -> bool:
        """Whether the two vocabularies are so much alike that a share means the same in both."""
        return self.apart <= _APART

    @property
    def by_review(self) -> bool:
        """Whether they are one release before and after a review, which alone explains what differs."""
        return self.a.ledger == self.b.ledger and self.a.review != self.b.review

    def names(self) -> tuple[list[str], list[str]]:
        """Return what the topics of ``a`` and of ``b`` are called."""
        first, second = ([", ".join(label) for label in list_words(one).labels] for one in (self.a, self.b))
        return first, second

    def in_words(self) -> list[str]:
        """Return the findings as sentences, what is clear first; before it, what is not for release or comparable."""
        _, of_b = self.names()
        said: list[str] = []
        unfit = [f"Do not publish this comparison: {self._label}."] if self._label else []
        apart = (
            f"Shares cannot be compared: the vocabularies differ, {100 * self.apart:.0f} % of one text lies in words "
            "that the other has not. No change is called clear; fit both with one public list of words to compare them."
        )
        for pair in self.pairs:
            if pair.clear and pair.before is not None and pair.after is not None:
                verb = "grew" if pair.after > pair.before else "fell"
                shares = f"from {100 * pair.before:.1f} % to {100 * pair.after:.1f} %"
                said.append(f"{of_b[pair.second - 1]}: {verb} {shares} of the words counted.")
        for pair in self.pairs:
            ways = (pair.grew, "grew"), (pair.fell, "fell")
            if moved := "; ".join(f"{', '.join(words)} {verb}" for words, verb in ways if words):
                said.append(f"Within {of_b[pair.second - 1]}: {moved}.")
        if not self.shares_comparable:
            return [*unfit, apart, *said]
        if self.by_review:
            both = " / ".join(one.review or "not reviewed" for one in (self.a, self.b))
            told = f"One release before and after review, which alone explains what differs: {both}."
            return [*unfit, told, *said]
        nothing = "No change is clear: noise and training explain every difference of matched topics."
        return [*unfit, *(said or [nothing])]

    @property
    def _label(self) -> str:
        """Why nothing of this may leave; "" where both releases may."""
        return "; ".join(dict.fromkeys(one.determinism for one in (self.a, self.b) if not one.may_leave))

    def to_frame(self) -> Any:
        """Return one row a topic, matched or not, as a frame of pandas, polars or pyarrow; topics count from 1."""
        of_a, of_b = self.names()
        rows: list[dict[str, Any]] = []
        for pair in self.pairs:
            words = {"grew": ", ".join(pair.grew), "fell": ", ".join(pair.fell)}
            rows.append(pair._asdict() | words | {"name": of_b[pair.second - 1]})
        alone = {"clear": True, "grew": "", "fell": ""}
        for topic in self.vanished:
            share = _share(self.a, topic - 1)
            rows.append(alone | {"first": topic, "name": of_a[topic - 1], "before": share})
        for topic in self.appeared:
            share = _share(self.b, topic - 1)
            rows.append(alone | {"second": topic, "name": of_b[topic - 1], "after": share})
        label = {"label": [self._label] * len(rows)} if self._label else {}
        return frame({name: [row.get(name) for row in rows] for name in _COLUMNS} | label)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        names: tuple[str, str] | None = None,
        overwrite: bool = False,
    ) -> str | None:
        """Return the comparison as one offline HTML page.

        Parameters
        ----------
        path : path, optional
            Where to write it; then nothing is returned.
        names : pair of str, optional
            What to call releases that have no title, or the same: their folders, say.
        overwrite : bool, default False
            Replace a file that is there.
        """
        return page_or_none(comparison_page(self, names), path, "the comparison", overwrite=overwrite)

    def __repr__(self) -> str:
        n_changed = sum(pair.clear for pair in self.pairs)
        return (
            f"<Comparison: {len(self.pairs)} topics in both, {n_changed} of them changed; "
            f"{len(self.vanished)} in the first alone, {len(self.appeared)} in the second alone>"
        )


def compare(a: Release, b: Release) -> Comparison:
    """Match the topics of two releases over the words that both have, and say what changed.

    Parameters
    ----------
    a, b : Release
        Before and after, say, or one ward and another.

    Returns
    -------
    Comparison

    Raises
    ------
    ReleaseError
        Where the releases have no word in common.
    """
    if not (isinstance(a, Release) and isinstance(b, Release)):
        raise ReleaseError("compare takes two releases: compare(Release.load(...), Release.load(...)).")
    second = {word: column for column, word in enumerate(b.vocabulary)}
    shared = [word for word in a.vocabulary if word in second]
    if not shared:
        raise ReleaseError("the two releases have no word in common, so nothing can be compared.")
    first = {word: column for column, word in enumerate(a.vocabulary)}
    noisy_a, noisy_b = mostly_noise(a), mostly_noise(b)
    real_a, real_b = np.flatnonzero(~noisy_a), np.flatnonzero(~noisy_b)
    columns_a, columns_b = ([place[word] for word in shared] for place in (first, second))
    rows, others = _excess(a, columns_a)[real_a], _excess(b, columns_b)[real_b]
    agreement = np.array([np.minimum(row, others).sum(1) for row in rows]).reshape(len(rows), len(others))
    needed = _SAME - (_lost(a)[real_a][:, None] + _lost(b)[real_b][None, :]) / 2
    apart = [float(1 - overall(one)[columns].sum()) for one, columns in ((a, columns_a), (b, columns_b))]
    rows, matches = linear_sum_assignment(-agreement)
    found = [
        (int(real_a[i]), int(real_b[j]), float(agreement[i, j]))
        for i, j in zip(rows, matches, strict=True)
        if agreement[i, j] * (1 - min(apart)) >= needed[i, j]
    ]
    both = _Both(a, b, columns_a, columns_b, shared, len(found))
    pairs = [_pair(both, one) for one in found]
    if max(apart) > _APART:
        pairs = [pair._replace(clear=False) for pair in pairs]
    pairs.sort(key=lambda pair: (not pair.clear, -abs((pair.after or 0) - (pair.before or 0)), pair.first))
    matched_a, matched_b = {one[0] for one in found}, {one[1] for one in found}
    return Comparison(
        a,
        b,
        pairs,
        [topic + 1 for topic in real_a.tolist() if topic not in matched_a],
        [topic + 1 for topic in real_b.tolist() if topic not in matched_b],
        (1 + np.flatnonzero(noisy_a)).tolist(),
        (1 + np.flatnonzero(noisy_b)).tolist(),
        tuple(shared),
        _alone(a, set(shared)),
        _alone(b, set(shared)),
        max(apart),
    )


def _excess(release: Release, columns: list[int]) -> Floats:
    """Return what sets each topic apart, over these words: rows that sum to 1, or to 0 where nothing does."""
    excess = np.maximum(release.topic_word - overall(release), 0)[:, columns]
    if len(excess) == 1:  # one topic is the overall frequencies
        excess = release.topic_word[:, columns].copy()
    return excess / np.maximum(excess.sum(1, keepdims=True), 1e-300)


def _lost(release: Release) -> Floats:
    """Return how much of the agreement noise alone takes from each topic: E[(-s Z)_+] a word, over the excess."""
    share = noise_share(release)
    if share is None:
        return np.zeros(len(release.topic_word))
    return np.minimum(share / math.sqrt(2 * math.pi), _SAME)


def _share(release: Release, topic: int) -> float | None:
    return None if release.topic_weight is None else float(release.topic_weight[topic])


def _share_noise(release: Release, topic: int) -> float:
    if release.topic_word_noise is None or release.topic_weight is None:
        return float("nan")
    return float(release.topic_weight[topic] * np.sqrt((release.topic_word_noise[topic] ** 2).sum()))


class _Both(NamedTuple):
    """Both releases, the columns of their shared words in each, these words, and how many topics both have."""

    a: Release
    b: Release
    columns_a: list[int]
    columns_b: list[int]
    shared: list[str]
    n_pairs: int


def _pair(both: _Both, found: tuple[int, int, float]) -> Pair:
    first, second, agreement = found
    before, after = _share(both.a, first), _share(both.b, second)
    deviation = float(np.hypot(_share_noise(both.a, first), _share_noise(both.b, second)))
    noise = deviation if np.isfinite(deviation) else None
    reach = float(ndtri(1 - _ERROR / 2 / both.n_pairs))
    clear = False
    if before is not None and after is not None and noise is not None and abs(after - before) > reach * noise:
        moved = abs(np.log2(max(after, 1e-12) / max(before, 1e-12)))
        clear = bool(moved > (_CLOSE_MOVES if agreement >= _CLOSE else _OTHER_MOVES)[0])
    grew, fell = _moved(both, found)
    shares = (None, None) if before is None or after is None else (before, after)
    return Pair(first + 1, second + 1, agreement, *shares, noise, clear, grew, fell)


def _moved(both: _Both, found: tuple[int, int, float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a matched topic that clearly moved; none where the noise is not told."""
    first, second, agreement = found
    a, b, columns_a, columns_b, shared, n_pairs = both
    if a.topic_word_noise is None or b.topic_word_noise is None:
        return (), ()
    of_a, of_b = a.topic_word[first, columns_a], b.topic_word[second, columns_b]
    kept_a, kept_b = of_a.sum(), of_b.sum()  # a word that one release lacks must not make all others grow
    change = of_b / kept_b - of_a / kept_a
    noise = np.hypot(
        a.topic_word_noise[first, columns_a] / kept_a, b.topic_word_noise[second, columns_b] / kept_b
    )
    reach = float(ndtri(1 - _ERROR / 2 / (n_pairs * len(shared))))
    least = (_CLOSE_MOVES if agreement >= _CLOSE else _OTHER_MOVES)[1]
    clear = np.abs(change) > np.maximum(reach * noise, least)
    order = np.argsort(-np.abs(change), kind="stable")
    grew = [shared[word] for word in order.tolist() if clear[word] and change[word] > 0]
    fell = [shared[word] for word in order.tolist() if clear[word] and change[word] < 0]
    return tuple(grew[:_WORDS]), tuple(fell[:_WORDS])


def _alone(release: Release, shared: set[str]) -> tuple[str, ...]:
    weight = release.topic_word.max(0) if release.word_weight is None else release.word_weight
    order = np.argsort(-weight, kind="stable").tolist()
    return tuple(release.vocabulary[word] for word in order if release.vocabulary[word] not in shared)


_ALONE_SHOWN = 40


def comparison_page(found: "Comparison", names: tuple[str, str] | None = None) -> str:
    """Return the page. The same comparison gives the same text."""
    of_a, of_b = found.names()
    shares = (share for pair in found.pairs for share in (pair.before, pair.after) if share is not None)
    largest = max([1e-12, *shares])
    titles = _titles(found, names)
    body = template("comparison.html.j2").render(
        titles=titles,
        clear=found.in_words(),
        pairs=[_row(pair, of_a, of_b, largest) for pair in found.pairs],
        told_noise=all(release.topic_word_noise is not None for release in (found.a, found.b)),
        vanished=[(topic, of_a[topic - 1]) for topic in found.vanished],
        appeared=[(topic, of_b[topic - 1]) for topic in found.appeared],
        by_review=found.by_review,
        n_noisy=(len(found.noise_in_a), len(found.noise_in_b)),
        n_shared=len(found.shared),
        alone=[
            (len(words), ", ".join(map(shown, words[:_ALONE_SHOWN])), len(words) > _ALONE_SHOWN)
            for words in (found.only_a, found.only_b)
        ],
        promises=[_promise(release) for release in (found.a, found.b)],
        unfit=[not release.may_leave for release in (found.a, found.b)],
    )
    return document(f"{titles[0]} and {titles[1]}, compared", body)


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
        "name": of_b[pair.second - 1],
        "was": of_a[pair.first - 1] if of_a[pair.first - 1] != of_b[pair.second - 1] else None,
        "agreement": f"{100 * pair.agreement:.0f} %",
        "before": f"{100 * (pair.before or 0):.1f} %" if told else "not told",
        "after": f"{100 * (pair.after or 0):.1f} %" if told else "not told",
        "bar_before": round(100 * (pair.before or 0) / largest, 1),
        "bar_after": round(100 * (pair.after or 0) / largest, 1),
        "shade": "noise" if not pair.clear else "more2" if change > 0 else "less2",
        "change": f"{100 * change:+.1f}".replace("-", "\u2212")
        + (f" ± {200 * pair.noise:.1f}" if pair.noise is not None else ""),
        "grew": ", ".join(map(shown, pair.grew)),
        "fell": ", ".join(map(shown, pair.fell)),
    }


def _promise(release: Release) -> dict[str, Any]:
    return label_of(release) | {
        "size": f"{len(release.topic_word)} topics, {len(release.vocabulary):,} words",
        "review": release.review or "not reviewed",
        "digest": mark_of(release),
    }
