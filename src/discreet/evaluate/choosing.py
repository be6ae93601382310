r"""How many topics: held-out perplexity and coherence over folds, on **public** text.

The documents are cut at random into folds. For each number of topics K and each fold a model is trained on the
other folds and scored on this one. All candidates see the same folds and the same halves of documents, so they
are compared in pairs: what one fold has more of hard documents, it has for all.

``best`` is the smallest K that no other beats by more than one standard error: with
:math:`d_f` the difference of log perplexities of K and of the candidate with the lowest mean on fold f, K is kept
while :math:`\bar d \le s_d / \sqrt{F}` (the one-standard-error rule, on paired differences). Fewer topics also cost
less privacy, so ties go to the smaller K.

No privacy: the result is an exact function of the documents, and so is every choice made by it. Choose on public
text of the same kind as the private one.

The plot has two panels over the number of topics, as SVG. Upper panel: perplexity of held-out documents, with the
words' frequencies alone as the line to beat. Lower panel: coherence. Dots are means over folds, bars one standard
error to each side, and the choice is a ring. The axis of topics is logarithmic. Nothing but text is needed to draw
it.

Reference
---------
Breiman, Friedman, Olshen, Stone, "Classification and regression trees", 1984, section 3.4.3 (the rule).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.display import document, frame
from discreet._base.files import write_whole
from discreet._base.progress import Callback, tell
from discreet._base.validate import check, whole
from discreet.corpus import check_counts
from discreet.errors import CorpusError, ParameterError
from discreet.evaluate.held_out import completion_perplexity, unigram
from discreet.evaluate.topics import coherence_npmi, diversity

Floats = NDArray[np.float64]

#: Of the plot.
_WIDTH, _HEIGHT = 720, 560
_LEFT, _RIGHT, _PANELS = 74.0, 24.0, ((40.0, 300.0), (356.0, 500.0))
_INK, _SOFT, _GRID, _MARK, _CHOICE = "#1d2733", "#5b6774", "#e3e7ec", "#2b5c8a", "#b3541e"


@dataclass(frozen=True)
class TopicNumbers:
    """What each number of topics gave.

    Attributes
    ----------
    candidates : tuple of int
        Numbers of topics, rising.
    perplexity : array of shape (n_candidates, n_folds)
        Completion perplexity of each held-out fold; lower is better.
    coherence : array of shape (n_candidates, n_folds)
        NPMI of the top 10 words in all the documents; higher is better.
    diversity : array of shape (n_candidates, n_folds)
        Share of distinct words among the top 25 of all topics.
    unigram_perplexity : array of shape (n_folds,)
        The same folds under a model of one topic: the line to beat.
    """

    candidates: tuple[int, ...]
    perplexity: Floats
    coherence: Floats
    diversity: Floats
    unigram_perplexity: Floats

    @property
    def best(self) -> int:
        """The smallest number of topics within one standard error of the lowest mean log perplexity."""
        scores = np.log(self.perplexity)
        differences = scores - scores[scores.mean(axis=1).argmin()]
        error = differences.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        return self.candidates[int(np.argmax(differences.mean(axis=1) <= error))]

    def table(self) -> list[dict[str, float]]:
        """One row a candidate: mean and standard error over folds of each measure."""
        rows: list[dict[str, float]] = []
        for row, n_topics in enumerate(self.candidates):
            line: dict[str, float] = {"n_topics": n_topics}
            for name in ("perplexity", "coherence", "diversity"):
                values = getattr(self, name)[row]
                line[name] = float(values.mean())
                line[f"{name}_error"] = float(values.std(ddof=1) / np.sqrt(len(values)))
            rows.append(line)
        return rows

    def to_frame(self) -> Any:
        """Return the table as a frame of pandas, polars or pyarrow."""
        rows = self.table()
        return frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_svg(self) -> str:
        """Return the plot: perplexity and coherence over the number of topics."""
        return draw(self)

    def to_html(self, path: str | Path | None = None, *, corpus: str = "public text") -> str:
        """Return one offline page with the plot and the table, and write it if a path is given.

        Parameters
        ----------
        path : path, optional
            File to write; one that exists is replaced.
        corpus : str
            What the page calls the documents.
        """
        html = page(self, corpus)
        if path is not None:
            write_whole(html.encode(), Path(path), "the page")
        return html


def choose_n_topics(
    counts: Any,
    candidates: Sequence[int],
    *,
    n_folds: int = 5,
    make_model: Callable[[int, int], Any] | None = None,
    doc_topic_prior: float = 0.1,
    n_sweeps: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> TopicNumbers:
    """Train and score models with each number of topics, on documents that are **public**.

    Parameters
    ----------
    counts : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        Public documents, of the kind of the private ones.
    candidates : sequence of int
        Numbers of topics to try.
    n_folds : int, default 5
        Parts that the documents are cut into, at least 2: one model is trained for each part and candidate.
    make_model : callable, optional
        ``make_model(n_topics, seed)`` returns an estimator with ``fit(counts)`` that then has ``topic_word_`` or
        ``release_``. By default ``GibbsLDA`` with the settings below. A private estimator at the epsilon you plan, on
        public text of the size you expect, shows what K that epsilon can carry.
    doc_topic_prior : float, default 0.1
        Of the default model, and of the scoring for every model.
    n_sweeps : int, optional
        Of the default model.
    random_state : int, default 0
        Seed of folds, models and halves of documents.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    callback : callable, optional
        ``callback("model", done, total)`` after each model.

    Returns
    -------
    TopicNumbers

    Raises
    ------
    ParameterError, CorpusError
        There are no candidates, one is not a number of topics, or there are fewer documents than folds.
    """
    documents = check_counts(counts)
    numbers = _check_candidates(candidates)
    check(n_folds=(n_folds, whole(2)))
    if documents.shape[0] < 2 * n_folds:
        raise CorpusError(
            f"{documents.shape[0]} documents are too few for {n_folds} folds; give at least {2 * n_folds}."
        )
    make = make_model or _gibbs(doc_topic_prior, n_sweeps, n_jobs)
    fold_of = np.random.default_rng(random_state).permutation(documents.shape[0]) % n_folds
    shape = (len(numbers), n_folds)
    scores, coherence, distinct = np.empty(shape), np.empty(shape), np.empty(shape)
    one_topic = np.empty(n_folds)
    for fold in range(n_folds):
        train, held_out = documents[fold_of != fold], documents[fold_of == fold]
        # A word that the other folds never use has no probability otherwise.
        alone = unigram(train, smoothing=0.01)
        one_topic[fold] = completion_perplexity(alone, held_out, random_state=random_state, n_jobs=n_jobs)
        for row, n_topics in enumerate(numbers):
            topics = _topics(make(n_topics, random_state + fold).fit(train))
            scores[row, fold] = completion_perplexity(
                topics, held_out, doc_topic_prior=doc_topic_prior, random_state=random_state, n_jobs=n_jobs
            )
            coherence[row, fold] = coherence_npmi(topics, documents)
            distinct[row, fold] = diversity(topics)
            tell(callback, "model", fold * len(numbers) + row + 1, n_folds * len(numbers))
    return TopicNumbers(numbers, scores, coherence, distinct, one_topic)


def _gibbs(doc_topic_prior: float, n_sweeps: int | None, n_jobs: int | None) -> Callable[[int, int], Any]:
    from discreet.lda import GibbsLDA

    return lambda n_topics, seed: GibbsLDA(
        n_topics, doc_topic_prior=doc_topic_prior, n_sweeps=n_sweeps, random_state=seed, n_jobs=n_jobs
    )


def _topics(fitted: Any) -> Any:
    """Topics of a fitted estimator: a private one has them in its release."""
    if hasattr(fitted, "topic_word_"):
        return fitted.topic_word_
    if hasattr(fitted, "release_"):
        return fitted.release_.topic_word
    raise ParameterError(
        "make_model must return an estimator that has topic_word_ or release_ once it is fitted, such as GibbsLDA "
        f"or PrivateLDA; got {type(fitted).__name__}."
    )


def _check_candidates(candidates: Sequence[int]) -> tuple[int, ...]:
    listed = list(candidates)
    if not listed or not all(map(whole().holds, listed)):
        raise ParameterError(
            "candidates must be numbers of topics, each at least 1, such as [10, 20, 50], but they are not."
        )
    return tuple(sorted({int(n) for n in listed}))


def draw(numbers: TopicNumbers) -> str:
    """Return the drawing as one SVG element."""
    places = _across(numbers.candidates)
    folds = np.sqrt(numbers.perplexity.shape[1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">',
        f"<title>{escape(_summary(numbers))}</title>",
    ]
    chosen = numbers.candidates.index(numbers.best)
    unigram = float(numbers.unigram_perplexity.mean())
    for name, values, line, (top, bottom) in (
        ("perplexity of held-out documents (lower is better)", numbers.perplexity, unigram, _PANELS[0]),
        ("coherence, NPMI (higher is better)", numbers.coherence, None, _PANELS[1]),
    ):
        mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / folds
        parts += _panel(name, places, mean, error, line, chosen, top, bottom)
    step = max(1, math.ceil(len(places) / 14))
    for row in range(0, len(places), step):
        parts.append(_text(places[row], _PANELS[1][1] + 20, str(numbers.candidates[row]), "middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, "number of topics", "middle", _SOFT))
    return "".join([*parts, "</svg>"])


def page(numbers: TopicNumbers, corpus: str) -> str:
    """Return one offline HTML page with the drawing, the table and what they mean."""
    rows = "".join(
        f"<tr{' class=best' if row['n_topics'] == numbers.best else ''}><td>{row['n_topics']:.0f}</td>"
        f"<td>{row['perplexity']:.1f} ± {row['perplexity_error']:.1f}</td>"
        f"<td>{row['coherence']:.3f} ± {row['coherence_error']:.3f}</td><td>{row['diversity']:.2f}</td></tr>"
        for row in numbers.table()
    )
    body = (
        '<header class="top"><div class="wrap"><div><p class="kicker">On public text</p><h1>How many topics</h1>'
        f'<p class="lead">{escape(_summary(numbers))} Measured on {escape(corpus)}.</p></div></div></header>'
        f'<main class="wrap"><section class="panel paper">{draw(numbers)}</section><section class="panel">'
        f'<table class="plain"><thead><tr><th>topics<th>perplexity<th>coherence<th>diversity</thead>{rows}</table>'
        f"<p>Mean and standard error over {numbers.perplexity.shape[1]} folds. The choice is the smallest number that "
        "no other beats by more than one standard error of their difference fold by fold. Under differential privacy "
        "fewer topics also carry less noise.</p>"
        "<p>These are exact statistics of the documents. They, and a choice made by them, are safe to publish only "
        "where the documents are public.</p></section></main>"
    )
    return document("How many topics", body)


def round_steps(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round numbers that cut [low, high] into about ``wanted`` steps."""
    size = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(size))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= size * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(step * n, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _summary(numbers: TopicNumbers) -> str:
    tried = ", ".join(map(str, numbers.candidates))
    chosen = float(numbers.perplexity[numbers.candidates.index(numbers.best)].mean())
    alone = float(numbers.unigram_perplexity.mean())
    return (
        f"{numbers.best} topics, of {tried} tried: held-out perplexity {chosen:.0f}, words alone {alone:.0f}."
    )


def _across(candidates: tuple[int, ...]) -> list[float]:
    logs = np.log(np.array(candidates, np.float64))
    spread = float(logs[-1] - logs[0])
    left, right = _LEFT + 24, _WIDTH - _RIGHT - 24
    if spread == 0:
        return [(left + right) / 2]
    return [float(left + (right - left) * (value - logs[0]) / spread) for value in logs]


def _panel(
    name: str,
    places: list[float],
    mean: Floats,
    error: Floats,
    line: float | None,
    chosen: int,
    top: float,
    bottom: float,
) -> list[str]:
    low, high = float((mean - error).min()), float((mean + error).max())
    if line is not None:
        low, high = min(low, line), max(high, line)
    room = 0.06 * (high - low) or 0.5
    low, high = low - room, high + room

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    parts = [_text(_LEFT, top - 14, name, "start", _INK, ' font-weight="600"')]
    steps = round_steps(low, high, 5 if bottom - top > 200 else 4)
    digits = max(0, -math.floor(math.log10(min(np.diff(steps), default=1.0)) + 1e-9))
    for value in steps:
        parts.append(_line(_LEFT, y(value), _WIDTH - _RIGHT, y(value), _GRID))
        parts.append(_text(_LEFT - 8, y(value) + 4, f"{value:.{digits}f}", "end", _SOFT))
    if line is not None:
        parts.append(_line(_LEFT, y(line), _WIDTH - _RIGHT, y(line), _SOFT, ' stroke-dasharray="5 4"'))
        parts.append(_text(_WIDTH - _RIGHT, y(line) + 17, "word frequencies alone", "end", _SOFT))
    points = " ".join(f"{x:.1f},{y(value):.1f}" for x, value in zip(places, mean.tolist(), strict=True))
    parts.append(f'<polyline points="{points}" fill="none" stroke="{_MARK}" stroke-width="1.5"/>')
    for row, x in enumerate(places):
        value, half = float(mean[row]), float(error[row])
        parts.append(_line(x, y(value - half), x, y(value + half), _MARK, ' stroke-width="2"'))
        parts.append(f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="4" fill="{_MARK}"/>')
        if row == chosen:
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="9" fill="none" stroke="{_CHOICE}" stroke-width="2.5"/>'
            )
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = _INK, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}{more}>{escape(text)}</text>"
