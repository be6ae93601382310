r"""Which words a report lists, and how they are ordered, marked and made safe to show.

Relevance of a word in a topic is :math:`\lambda \log p(w|k) + (1 - \lambda) \log (p(w|k) / p(w))`. For each
topic the most relevant words at several :math:`\lambda` are listed, then the most probable ones, so that the
slider of the page finds what it needs without the whole vocabulary.

The slider starts where lists read best for texts as many and as long as these. Of n texts, each with L of V words,
:math:`x = n (L / V)^2` hold two ordinary words by chance. Where those are many, the words of a list stand together more
often if words that are rare elsewhere come first; where they are few, such words hardly ever meet. So it starts at
:math:`\lambda = .65 - .5 \log_{10} x`, from .4 to 1, which ``experiments/word_lists`` found on news, mail and messages,
whole and cut short; at 1, by probability, where the release does not tell n and L. These are released numbers.

A word stands above the noise where its probability is more than twice the standard deviation of the privacy
noise in its cell.

References
----------
Sievert, Shirley, "LDAvis: a method for visualizing and interpreting topics", ILLVI 2014.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._validate import is_number
from discreet.release.release import STANDARD_DEVIATIONS, Release
from discreet.report.noisy_topics import mostly_noise
from discreet.report.wording import shown

__all__ = ["LISTED", "Listing", "list_words", "starting_place"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Words listed for each topic.
LISTED = 100
_LAMBDAS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
_EACH = 20
#: Where the slider starts: at one text for two words, for ten times as many, and at least; its steps to 1.
_START, _TENFOLD, _LEAST_START, _STEPS = 0.65, 0.5, 0.4, 20
#: Most probabilities in the search index; with very many words, each lists its strongest topics only.
_LARGEST_INDEX = 200_000


@dataclass(frozen=True)
class Listing:
    """The words of a report.

    Attributes
    ----------
    candidates : list of arrays
        For each topic its listed words, the most probable first.
    labels : list of lists of str
        For each topic the name that a person gave it, or three words that name it.
    above : boolean array of shape (n_topics, n_words), or None
        Which words stand above the noise; None where the release does not tell the noise.
    data : JSON object
        What the page's script needs.
    topics_a_word : int
        How many topics the search lists for a word at most.
    noisy : boolean array of shape (n_topics,)
        Which topics are mostly noise; they are called that.
    """

    candidates: list[Indices]
    labels: list[list[str]]
    above: NDArray[np.bool_] | None
    data: dict[str, Any]
    topics_a_word: int
    noisy: NDArray[np.bool_]


def list_words(release: Release) -> Listing:
    """Choose the words of a report."""
    topic_word, noise = release.topic_word, release.topic_word_noise
    n_topics, n_words = topic_word.shape
    above = None if noise is None else topic_word > STANDARD_DEVIATIONS * noise
    weight = _positive(release.word_weight)
    candidates = [_candidates(row, weight) for row in topic_word]
    noisy = mostly_noise(release)
    labels = [
        _label(release, topic, candidates[topic], weight, above, bool(noisy[topic]))
        for topic in range(n_topics)
    ]
    listed: Indices = np.unique(np.concatenate(candidates))
    position = np.zeros(n_words, dtype=np.int64)
    position[listed] = np.arange(len(listed))
    depth = max(1, min(n_topics, _LARGEST_INDEX // len(listed)))
    topics: list[dict[str, Any]] = []
    for topic, chosen in enumerate(candidates):
        topics.append(
            {
                "words": position[chosen].tolist(),
                "p": _short(topic_word[topic, chosen]),
                "noise": None if noise is None else _short(noise[topic, chosen]),
                "name": ", ".join(labels[topic]),
            }
        )
    data = {
        "words": [shown(release.vocabulary[word]) for word in listed.tolist()],
        "weight": None if weight is None else _short(weight[listed]),
        "index": [_strongest(topic_word[:, word], word, above, depth) for word in listed.tolist()],
        "topics": topics,
        "deviations": STANDARD_DEVIATIONS,
        "total": n_words,
    }
    return Listing(candidates, labels, above, data, depth, noisy)


def starting_place(release: Release) -> float | None:
    """Return the lambda at which lists of such texts read best; None where the release does not tell how long they are.

    Returns
    -------
    float or None
        From 0.4 to 1, a twentieth's multiple.
    """
    n_units, length = release.n_units_noisy, release.configuration.get("words_a_unit")
    n_words = len(release.vocabulary)
    if (
        n_units is None
        or not is_number(length)
        or not math.isfinite(length)
        or not 1 <= round(length) <= n_words
    ):
        return None
    share = min(length / n_words, 1.0)
    tenfold = math.log10(max(n_units, 1.0)) + 2 * math.log10(share)
    place = min(max(_START - _TENFOLD * tenfold, _LEAST_START), 1.0)
    return round(_STEPS * place) / _STEPS


def _positive(weight: Floats | None) -> Floats | None:
    """Lift shares of zero to the smallest share, so that no word is infinitely typical of a topic."""
    if weight is None:
        return None
    return np.maximum(weight, weight[weight > 0].min())


def _relevance(row: Floats, weight: Floats, share: float) -> Floats:
    logs = np.log(np.maximum(row, 1e-300))
    return logs - (1 - share) * np.log(weight)


def _candidates(row: Floats, weight: Floats | None) -> Indices:
    probable = np.argsort(-row, kind="stable")[:LISTED]
    if weight is None:
        return probable
    likely: list[Indices] = [
        np.argsort(-_relevance(row, weight, share), kind="stable")[:_EACH] for share in _LAMBDAS
    ]
    chosen = list(dict.fromkeys(np.concatenate([*likely, probable]).tolist()))[:LISTED]
    found = np.array(sorted(chosen), dtype=np.int64)
    return found[np.argsort(-row[found], kind="stable")]


def _label(
    release: Release,
    topic: int,
    chosen: Indices,
    weight: Floats | None,
    above: NDArray[np.bool_] | None,
    noisy: bool,
) -> list[str]:
    """Name a topic as a person did, or by words probable in it and typical of it, no noise if there is a choice."""
    given = release.topic_names[topic]
    if noisy:  # a title made of its words would be believed
        return ["mostly noise"] if given is None else [shown(given), "mostly noise"]
    if given is not None:
        return [shown(given)]
    row = release.topic_word[topic, chosen]
    rank = -row if weight is None else -_relevance(row, weight[chosen], 0.6)
    order = np.argsort(rank, kind="stable")
    if above is not None:
        order = order[np.argsort(~above[topic, chosen[order]], kind="stable")]
    return [shown(release.vocabulary[word]) for word in chosen[order[:3]].tolist()]


def _strongest(column: Floats, word: int, above: NDArray[np.bool_] | None, depth: int) -> list[float]:
    """List topic, probability, topic, ... of a word; topic t that does not stand above the noise as -1 - t."""
    row: list[float] = []
    for topic in np.argsort(-column, kind="stable")[:depth].tolist():
        row += [topic if above is None or above[topic, word] else -1 - topic, _six(float(column[topic]))]
    return row


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def _short(values: Floats) -> list[float]:
    return [_six(value) for value in values.tolist()]
