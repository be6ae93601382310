r"""Can it be learned? A forecast from public or released numbers, and what the released pairs show of topics.

*The forecast.* With V words, K topics, n units of about L different words each and the Gaussian-DP parameter mu,

.. math:: x = \frac{V K}{n \mu}, \qquad
          \frac{\text{perplexity}}{\text{perplexity without privacy}} - 1 = a \, x^b \, (30 / L)^c .

a, b and c are fitted to measured results, for each algorithm (``experiments/forecast``; errors in
docs/research/forecast.md); none of this is part of a promise. For ``PrivateLDA`` c is b / 2: a unit's statistic has
norm 1 in V K cells, so what it adds to them together grows with the root of how many words it has, and the noise does
not. Training that
does not believe word vectors goes on without them, so the forecast with vectors is never above the one without.

*Whether there are topics at all.* Where every document is drawn from one and the same distribution over words, the
expected co-occurrence off the diagonal is :math:`\lambda v v^\top`, whatever the lengths of documents: nearly so,
because pieces are scaled to norm 1. Fit that, and look at what is left, R. Two numbers tell about it:

*strength*
    the largest eigenvalue of :math:`D^{-1/2} R D^{-1/2}`, D the sums of rows of what was fitted, each raised by their
    mean so that rare words do not drown in noise: 0 of texts without topics. Words weigh :math:`p^{-1/4}` in it,
    whatever they weighed in what was released: rarer ones bring more noise. Dividing by D keeps stop words
    from hiding the topics of the others. It holds noise as well as structure: where it is small, there is little of
    either.
*above noise*
    the largest eigenvalue of R, each cell divided by the standard deviation of its noise, in parts of
    :math:`2 \sqrt M`, where that of noise alone ends (Wigner). The variance of a cell is that of the noise, and that of
    drawing documents: these add up to the number of units, because each has norm 1, and are shared out as
    :math:`v_i v_j` times the weights, as rare pairs are.

Verdict: "none" where the strength is below .025, or below .05 and not seen; "seen" where the largest eigenvalue lies
25 % above the noise; otherwise the noise is too large to tell.
The bounds lie between what was measured on texts and on the same with all their words dealt anew
(``experiments/no_topics/run.py``, docs/research/forecast.md).

*Guarantee*: post-processing of the released co-occurrence, unigram and number of units; nothing else is looked at.

Reference
---------
Wigner, "Characteristic vectors of bordered matrices with infinite dimensions", 1955, doi:10.2307/1970079.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import one_blas_thread
from discreet._base.validate import faults_of, number, refuse, shown, whole
from discreet.central.plan import FEWEST_WORDS, WORD_POWER
from discreet.errors import ParameterError
from discreet.privacy.accounting.curves import gdp_epsilon


class Law(NamedTuple):
    """The gap is ``scale * x ** power * (30 / L) ** shortness``.

    Of texts that it was not fitted to, nine perplexities in ten were foretold within a share of ``spread``.
    """

    scale: float
    power: float
    shortness: float
    spread: float


#: By algorithm; `python experiments/forecast/run.py fit` and `errors` print them.
LAWS = {
    "PrivateLDA": Law(0.110, 0.466, 0.233, 0.12),
    "PrivateLDA with word vectors": Law(0.081, 0.542, 0.271, 0.13),
    "PrivateSVILDA": Law(0.482, 0.450, 0.640, 0.31),
}
#: What training goes on as where it does not believe what was given.
_FALLS_BACK_TO = {"PrivateLDA with word vectors": "PrivateLDA"}
#: Topics and words that they were fitted to, from and to.
_FITTED_TOPICS, _FITTED_WORDS = (5, 20), (100, 5000)
#: Difficulties that were measured, from and to.
_FITTED_X = (0.02, 195.0)
#: Up to so many were made that share hardly a word, and lost less than any text's.
_FEW_TOPICS = 10
#: Different words of a unit, where nobody says how many.
_USUAL_WORDS = 30.0
_SMALL_GAP = 0.05

#: Above this, training refuses unless it is told to go on.
HOPELESS = 30.0
#: Fewer words a topic than this tell no topics apart.
WORDS_A_TOPIC = 2
#: Difficulty above which topics are no longer called usable.
_USABLE = 8.0
#: Words that make up less of the text than this say little of it.
_LITTLE = 0.5
#: What is not worth advising.
_LARGEST_EPSILON, _MOST_UNITS = 20.0, 1e12
#: Below this n mu, public word vectors alone were better than training with them on every corpus measured; above the
#: second, on none.
VECTORS_ALONE, TEXTS_TEACH = 400.0, 800.0
#: Of the released pairs: the bounds of the verdict lie between texts with topics and without.
_NONE, _SEEN = 0.05, 1.25
_STEPS = 30


@dataclass(frozen=True)
class Learnability:
    """How much of the topics can be seen through the noise.

    Attributes
    ----------
    difficulty : float
        x = words times topics, over units times mu.
    verdict : {"good", "usable", "weak", "mostly noise", "too few words", "too little of the text", "no topics"}
        The last three where noise is no hindrance: fewer than two words a topic, which tell no topics apart; words
        that make up less than half of the text; and texts that were seen to have no topics.
    expected_gap : float
        Perplexity above the non-private model's, as a fraction: an estimate from experiments.
    units_for_five_percent : float
        About how many units would bring the gap to 5 %, all else being equal.
    n_words, n_topics : int
        Of which the forecast is: words that were not chosen are nowhere in it.
    n_units, mu : float
        What it was made from.
    delta : float or None
        Of the training; says which epsilon another mu is.
    covered : float or None
        Share of the text that the words make up, where it is known.
    covered_noise : float or None
        Standard deviation of the noise in that share, where it is known.
    topics : {"seen", "none", "cannot tell"} or None
        Whether the texts have topics, by what a fit released; None before.
    algorithm : str
        That is to be trained.
    words_a_unit : float or None
        Different words that a unit has, about, where that is known.
    """

    difficulty: float
    verdict: str
    expected_gap: float
    units_for_five_percent: float
    n_words: int
    n_topics: int
    n_units: float = math.nan
    mu: float = math.inf
    delta: float | None = None
    covered: float | None = None
    topics: str | None = None
    algorithm: str = "PrivateLDA"
    words_a_unit: float | None = None
    covered_noise: float | None = None

    def after(self, topics: str | None) -> "Learnability":
        """Return the forecast as it stands once a fit has looked whether there are topics: as :attr:`topics`."""
        blind = self.verdict in ("mostly noise", "too few words") or topics != "none"
        return replace(self, topics=topics, verdict=self.verdict if blind else "no topics")

    @property
    def expected_range(self) -> tuple[float, float]:
        """Where the gap lies, by the errors of nine in ten forecasts of texts that the law was not fitted to."""
        told, spread = self.expected_gap, LAWS[self.algorithm].spread
        if math.isinf(self.mu):
            return told, told
        return max((1 + told) / (1 + spread) - 1, 0.0), (1 + told) / (1 - spread) - 1

    @property
    def is_weak(self) -> bool:
        """Whether it is neither good nor usable."""
        return self.verdict not in ("good", "usable")

    def with_words_a_unit(self, words: float | None) -> "Learnability":
        """Return the forecast for units of about so many different words; None is the usual number."""
        sizes = self.n_words, self.n_topics, self.n_units, self.mu
        longer = learnability(*sizes, algorithm=self.algorithm, words_a_unit=words)
        gap, needed = longer.expected_gap, longer.units_for_five_percent
        return replace(self, expected_gap=gap, units_for_five_percent=needed, words_a_unit=words)

    def in_words(self) -> str:
        """Return the forecast in sentences: the verdict, the words, what the noise costs, and what would change it."""
        if self.verdict == "too few words":
            words = "1 word" if self.n_words == 1 else f"{self.n_words} words"
            fewer = self.n_words // WORDS_A_TOPIC
            at_most = f"at most {fewer} topics can be told apart by them; " if fewer > 1 else ""
            return (
                f"Forecast: {self.verdict}. {words} cannot tell {self.n_topics} topics apart, whatever the noise; "
                f"{at_most}more documents or a larger epsilon let more words be chosen.{self._covered()}"
            )
        if self.verdict == "no topics":
            return (
                "Forecast: no topics. As far as the noise lets one see, words stand together in these texts as chance "
                "has it, so that whatever sets the topics apart is noise. A larger epsilon would not help; look at "
                f"what was counted, and whether each document is one text.{self._covered()}"
            )
        verdict = self.verdict if self.is_weak or self._is_measured() else "a guess"  # which is not praised
        if verdict == self.verdict and not self.is_weak and self.topics != "seen":
            verdict += ", if the texts have topics"
        gap = _plain(100 * self.expected_gap)
        gap = f"about {gap} %" if gap else "less than 0.01 %"
        if math.isfinite(self.mu) and math.isfinite(self.expected_gap):
            low, high = (_plain(100 * bound) or "0" for bound in self.expected_range)
            gap += f" ({low} to {high} %)"
        noisy = "With the noise, topics" if math.isfinite(self.mu) else "Topics"
        told = assumed = ""
        if self.difficulty > 0:
            assumed = f", for texts of {_plain(self.words_a_unit or _USUAL_WORDS)} different words"
            assumed += ", more for shorter ones" * (self.words_a_unit is None)
        if self.n_topics <= _FEW_TOPICS and math.isfinite(self.mu):
            told = " Few topics that share hardly a word lose less."
        if self.topics == "cannot tell":
            told += " Whether there are topics cannot be told through the noise."
        said = (
            f"Forecast: {verdict}.{self._covered()} {noisy} of {self.n_words:,} words fit the texts {gap} worse than "
            f"without privacy (by perplexity{assumed}{self._guessed()}).{told}"
        )
        target = 2.0 if self.difficulty < _USABLE else _USABLE
        return f"{said} {self._would_change(target)}" if self.difficulty >= 2 else said

    def _is_measured(self) -> bool:
        """Whether the law was fitted to sizes like these; without noise there is nothing to guess."""
        sizes = ((self.n_topics, _FITTED_TOPICS), (self.n_words, _FITTED_WORDS), (self.difficulty, _FITTED_X))
        return math.isinf(self.mu) or all(least <= size <= most for size, (least, most) in sizes)

    def _guessed(self) -> str:
        if self._is_measured():
            return ""
        (few, many), (least, most), (easy, hard) = _FITTED_TOPICS, _FITTED_WORDS, _FITTED_X
        noise = ", with more noise" if self.difficulty < easy else ", with less noise"
        told = "" if easy <= self.difficulty <= hard else noise
        return f"; a guess: measured were {few} to {many} topics of {least} to {most:,} words{told}"

    def _covered(self) -> str:
        if self.covered is None:
            return ""
        said = f" The words cover {share_of_text(self.covered, self.covered_noise)} of the text"
        if self.verdict == "too little of the text":
            said += ", and the topics tell nothing of the rest; more documents or a larger epsilon let more be chosen"
        return f"{said}."

    def _would_change(self, target: float) -> str:
        """Say how many topics, words or units, or which epsilon, would bring the difficulty to a target."""
        times = self.difficulty / target
        topics, words = self.n_topics / times, self.n_words / times
        topics = min(topics, self.n_words // WORDS_A_TOPIC + 1)  # more cannot be told apart
        ways = [f"at most {_below(topics)} topics"] if topics > 2 else []
        if words > WORDS_A_TOPIC * self.n_topics:
            ways.append(f"at most {_below(words)} words")
        if self.delta is not None and self.mu > 0:
            epsilon = gdp_epsilon(self.mu * times, self.delta)
            if epsilon <= _LARGEST_EPSILON:
                ways.append(f"an epsilon of {_up(epsilon)} for the topics")
        needed = self.n_words * self.n_topics / (target * self.mu) if self.mu > 0 else math.inf
        if needed < _MOST_UNITS:
            ways.append(f"about {_up(math.ceil(needed))} documents or persons")
        name = "good" if target < _USABLE else "usable"
        return f"To be {name} it would take {' or '.join(ways) or 'much less to learn'}."


def check_sizes(
    *,
    n_documents: int | None = None,
    n_topics: int | None = None,
    n_words: int | None = None,
    words_a_document: float | None = None,
    word_vectors: bool = False,
) -> bool:
    """Refuse sizes of which no forecast could be, all faults at once; return whether there are enough for one.

    ``n_documents``, which counts units, ``n_topics`` and ``n_words`` together make a forecast; ``word_vectors``: it is
    asked what training adds to public word vectors, which needs ``n_documents``.
    """
    sizes = {"n_documents": n_documents, "n_topics": n_topics, "n_words": n_words}
    every = sizes | {"words_a_document": words_a_document}
    given = {name: size for name, size in every.items() if size is not None}
    refuse(faults_of(given, {name: whole() if name in sizes else number(above=0) for name in given}))
    missing = [name for name, size in sizes.items() if size is None]
    if missing and (n_topics is not None or n_words is not None):
        more = {"n_words": " Take 100 to 500, or run `discreet check`, which estimates it from the texts."}
        said = "is needed for a forecast, but missing."
        refuse(ParameterError(f"`{name}` {said}{more.get(name, '')}") for name in missing)
    if word_vectors and n_documents is None:
        raise ParameterError(
            "`n_documents` is needed: what training adds to word vectors depends on how many documents there are."
        )
    return not missing


def learnability(
    n_words: int,
    n_topics: int,
    n_units: float,
    mu: float,
    *,
    delta: float | None = None,
    covered: float | None = None,
    algorithm: str = "PrivateLDA",
    words_a_unit: float | None = None,
    covered_noise: float | None = None,
) -> Learnability:
    """Forecast what can be learned, from public (or released) numbers.

    Parameters
    ----------
    n_words, n_topics : int
    n_units : float
        Public bound on, or noisy number of, documents or people.
    mu : float
        Gaussian-DP parameter of the training; ``inf`` is no noise.
    delta : float, optional
        Of the training: then it is said which epsilon would do.
    covered : float, optional
        Share of the text that the words make up.
    algorithm : {"PrivateLDA", "PrivateLDA with word vectors", "PrivateSVILDA"}
        What is to be trained; each has a law of its own.
    words_a_unit : float, optional
        How many different words a unit has, about (those of the vocabulary); by default 30.
    covered_noise : float, optional
        Standard deviation of the noise in ``covered``.
    """
    if algorithm not in LAWS:
        known = ", ".join(f'"{name}"' for name in LAWS)
        raise ParameterError(f"`algorithm` must be one of {known}, but is {shown(algorithm)}.")
    signal = max(n_units, 1.0) * mu
    difficulty = n_words * n_topics / signal if signal > 0 else math.inf
    limits = ((2, "good"), (_USABLE, "usable"), (15, "weak"))
    verdict = next((name for limit, name in limits if difficulty < limit), "mostly noise")
    if verdict != "mostly noise" and n_words < WORDS_A_TOPIC * n_topics:
        verdict = "too few words"
    elif verdict in ("good", "usable") and covered is not None and covered < _LITTLE:
        verdict = "too little of the text"
    laws = [LAWS[name] for name in (algorithm, _FALLS_BACK_TO.get(algorithm)) if name is not None]
    shortness = _USUAL_WORDS / max(words_a_unit or _USUAL_WORDS, 1.0)
    gap = min(law.scale * difficulty**law.power * shortness**law.shortness for law in laws)
    enough = max((_SMALL_GAP / (law.scale * shortness**law.shortness)) ** (1 / law.power) for law in laws)
    needed = n_words * n_topics / (enough * mu) if mu > 0 else math.inf
    return Learnability(
        difficulty=difficulty,
        verdict=verdict,
        expected_gap=gap,
        units_for_five_percent=needed,
        n_words=n_words,
        n_topics=n_topics,
        n_units=n_units,
        mu=mu,
        delta=delta,
        covered=covered,
        algorithm=algorithm,
        words_a_unit=words_a_unit,
        covered_noise=covered_noise,
    )


class Structure(NamedTuple):
    """What is left of a co-occurrence without word frequencies; released values only."""

    strength: float
    above_noise: float

    @property
    def verdict(self) -> Literal["none", "seen", "cannot tell"]:
        """Whether there are topics."""
        seen = self.above_noise >= _SEEN
        if self.strength < (_NONE / 2 if seen else _NONE):
            return "none"
        return "seen" if seen else "cannot tell"


def structure(
    cooccurrence: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_units: float,
    noise: float,
    unigram: NDArray[np.float64],
) -> Structure | None:
    """Return how much there is beyond word frequencies; None where there are too few words to say, or no pairs.

    ``cooccurrence``: released, (M, M), symmetric with zero diagonal, a sum over units of triangles of norm 1, and
    noise; ``weights``: what the words weigh in it; ``n_units``: their noisy number; ``noise``: standard deviation in
    each cell; ``unigram``: how frequent the words are.
    """
    n_words = len(weights)
    if n_words < FEWEST_WORDS or n_units < 1 or not cooccurrence.any():
        return None
    with one_blas_thread():
        level, shared = _rank_one(cooccurrence)
        rest = cooccurrence - level * np.outer(shared, shared)
        np.fill_diagonal(rest, 0.0)
        drawn = np.maximum(shared, 1e-3 * shared.mean()) * weights  # no variance is 0
        pairs = np.outer(drawn, drawn)
        np.fill_diagonal(pairs, 0.0)
        deviation = np.sqrt(noise**2 + 2 * n_units * pairs / pairs.sum())
        np.fill_diagonal(deviation, 1.0)
        moved = (unigram / unigram.mean()) ** WORD_POWER / weights
        rows = level * moved * shared * (moved * shared).sum()
        scale = moved / np.sqrt(rows + rows.mean())
        strength = float(np.linalg.eigvalsh(scale[:, None] * rest * scale)[-1])
        above = float(np.linalg.eigvalsh(rest / deviation)[-1]) / (2 * math.sqrt(n_words))
    return Structure(strength, above)


def _rank_one(matrix: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Fit a multiple of v v' off the diagonal, v of norm 1; its diagonal is filled in on the way."""
    filled = matrix.copy()
    v = np.maximum(matrix.sum(1), 0.0) + 1e-12
    v /= np.linalg.norm(v)
    level = float(v @ matrix @ v)
    for _ in range(_STEPS):
        np.fill_diagonal(filled, level * v * v)
        u = filled @ v
        level = float(v @ u)
        v = u / max(float(np.linalg.norm(u)), 1e-300)
    return max(level, 1e-12), np.maximum(v, 0.0)


def share_of_text(share: float, noise: float | None) -> str:
    """Write a noisy share of the text, with twice the standard deviation of its noise where that can be seen.

    ``noise``: standard deviation; None where it is not told.
    """
    points = min(round(200 * (noise or 0.0)), 100)
    within = f" (±{points} {'point' if points == 1 else 'points'})" if points else ""
    return f"about {100 * min(max(share, 0.0), 1.0):.0f} %{within}"


def beside_public_vectors(n_units: float, mu: float, forecast: Learnability | None = None) -> str:
    """Say whether private training adds to what public word vectors tell by themselves.

    Topics of the vectors alone need nothing private but how frequent words are, and can spend the whole budget on that.
    The bounds are those of experiments on news, mail, speeches and messages with 20 topics and 2,000 words.
    ``forecast`` of training with vectors: then it is also said what is to be expected without them.
    """
    signal = max(n_units, 1.0) * mu
    if signal < VECTORS_ALONE:
        told = "topics of the vectors alone were better than training on all corpora measured; take them."
    elif signal < TEXTS_TEACH:
        told = "it depends on the texts whether training beats topics of the vectors alone; compare the two."
    else:
        told = "training was better than topics of the vectors alone on all corpora measured."
    said = f"Public word vectors: at n mu = {signal:,.0f}, " if math.isfinite(signal) else "Without noise, "
    said += told
    if forecast is None or not math.isfinite(mu):
        return said
    without = replace(forecast, algorithm="PrivateLDA").with_words_a_unit(forecast.words_a_unit)
    gaps = [_plain(100 * gap) or "less than 0.01" for gap in (forecast.expected_gap, without.expected_gap)]
    return (
        f"{said} Training is expected to lie {gaps[0]} % above a model without privacy with vectors, and {gaps[1]} % "
        "without."
    )


def _plain(number: float) -> str:
    """Write a number with two digits and no exponent; "" below 0.01."""
    if not math.isfinite(number):
        return "infinitely many"
    if 0 < number < 0.01:
        return ""
    return f"{number:.2g}" if number < 99.5 else f"{_rounded(number, round):,.0f}"


def _up(number: float) -> str:
    rounded = _rounded(number, math.ceil)
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.2g}"


def _below(number: float) -> str:
    return f"{math.ceil(number) - 1:,}"


def _rounded(number: float, how: Callable[[float], int]) -> float:
    """Return a number of two digits."""
    digits = math.floor(math.log10(number)) - 1
    whole = how(number / 10.0**digits)
    return float(whole * 10**digits) if digits >= 0 else whole / 10**-digits
