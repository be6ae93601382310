"""What can be learned under a budget, forecast from public or released numbers.

The fits are those of experiments on news text (docs/choosing.md); none of them is part of a promise.
"""

import math
from dataclasses import dataclass

__all__ = ["HOPELESS", "Learnability", "beside_public_vectors", "learnability"]

#: Above this, training refuses unless it is told to go on.
HOPELESS = 30.0
#: Fewer words a topic than this tell no topics apart.
_WORDS_A_TOPIC = 2
#: Below this n mu, public word vectors alone were better than training with them on every corpus measured; above the
#: second, on none.
VECTORS_ALONE, TEXTS_TEACH = 600.0, 4500.0


@dataclass(frozen=True)
class Learnability:
    """How much of the topics can be seen through the noise.

    Attributes
    ----------
    difficulty : float
        x = words times topics, over units times mu.
    verdict : {"good", "usable", "weak", "mostly noise", "too few words"}
        The last where few words are read, so that noise is no hindrance, but there is little to tell topics by: fewer
        than two words a topic.
    expected_gap : float
        Perplexity above the non-private model's, as a fraction. An estimate from experiments on news text.
    units_for_five_percent : float
        About how many units would bring the gap to 5 % (difficulty 2.2), all else being equal.
    n_words, n_topics : int
        Of which the forecast is: words that were not chosen are nowhere in it.
    """

    difficulty: float
    verdict: str
    expected_gap: float
    units_for_five_percent: float
    n_words: int
    n_topics: int

    def in_words(self) -> str:
        """Return the forecast as a sentence."""
        if self.verdict == "too few words":
            words = "1 word" if self.n_words == 1 else f"{self.n_words} words"
            return (
                f"Learnability: {self.verdict}: {words} cannot tell {self.n_topics} topics apart, whatever the noise; "
                "more documents or a larger epsilon let more words be chosen, and fewer topics need fewer."
            )
        said = (
            f"Learnability: x = {self.difficulty:.2g} ({self.verdict}); perplexity on these {self.n_words:,} words, "
            "and on no others, is expected to lie about "
        )
        said += f"{100 * self.expected_gap:.2g} % above that of a model without privacy"
        if self.difficulty >= 2.2:
            said += f" (5 % would take about {_two_digits(self.units_for_five_percent)} units)"
        return said + ("; use fewer words or topics, or a larger epsilon." if self.difficulty >= 8 else ".")


def learnability(n_words: int, n_topics: int, n_units: float, mu: float) -> Learnability:
    """Forecast what can be learned, from public (or released) numbers.

    Parameters
    ----------
    n_words, n_topics : int
    n_units : float
        Public bound on, or noisy number of, documents or authors.
    mu : float
        Gaussian-DP parameter of the training; ``inf`` is no noise.
    """
    signal = max(n_units, 1.0) * mu
    difficulty = n_words * n_topics / signal if signal > 0 else math.inf
    verdict = "mostly noise"
    for limit, name in ((2, "good"), (8, "usable"), (15, "weak")):
        if difficulty < limit:
            verdict = name
            break
    if verdict != "mostly noise" and n_words < _WORDS_A_TOPIC * n_topics:
        verdict = "too few words"
    gap = 0.016 * difficulty**1.5 if difficulty < 3 else 0.031 * difficulty**0.83
    needed = n_words * n_topics / (2.2 * mu) if mu > 0 else math.inf
    return Learnability(difficulty, verdict, gap, needed, n_words, n_topics)


def beside_public_vectors(n_units: float, mu: float) -> str:
    """Say whether private training adds to what public word vectors tell by themselves.

    Topics of the vectors alone need nothing private but how frequent words are, and can spend the whole budget on
    that. The bounds are those of experiments on news, mail, speeches and messages with 20 topics and 2,000 words.

    Parameters
    ----------
    n_units : float
        Public bound on, or noisy number of, documents or authors.
    mu : float
        Gaussian-DP parameter of the training.
    """
    signal = max(n_units, 1.0) * mu
    said = f"Public word vectors: at n mu = {signal:,.0f}, " if math.isfinite(signal) else "Without noise, "
    if signal < VECTORS_ALONE:
        return (
            said + "topics of the vectors alone were better than training on all corpora measured; take them."
        )
    if signal < TEXTS_TEACH:
        return (
            said
            + "it depends on the texts whether training beats topics of the vectors alone; compare the two."
        )
    return said + "training was better than topics of the vectors alone on all corpora measured."


def _two_digits(count: float) -> str:
    if not 0 < count < 1e15:
        return f"{count:.2g}"
    digits = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return f"{math.ceil(count / digits) * digits:,}"
