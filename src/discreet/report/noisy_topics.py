r"""Which topics are mostly noise, judged from the release alone.

A topic is one because of the words that it has more often than all texts together: by :math:`e_{kw} = (p(w|k) -
p(w))_+`. Take the twenty words where that is largest. The topic is called mostly noise where the standard deviations of
their noise add up to at least half of it, :math:`\sum s_{kw} \ge \frac12 \sum e_{kw}`: on average these words stand
at most two standard deviations above the texts. Words further down do not count: the noise that is told is that of
estimates before they were denoised, which took it away there.

Topics that nobody denoised (word-level ones, and ``denoise="zero"``) are not shrunk, so that noise alone makes its
largest twenty of thousands stand out by more than that. For them the sum goes over all words: noise alone, around the
same frequencies, would show :math:`\sum_w E[(s_{kw} Z)_+] = \sum_w s_{kw} / \sqrt{2 \pi}`, and where that is 0.7 of
what there is, or more, the topic is called mostly noise.

How often this is wrong, beside what it replaced, is measured by ``experiments/noisy_topics/run.py``, against texts
that the fits never saw; docs/choosing.md has the table. It is no test with an error rate, and it cannot see noise that
training followed from its start on and confirmed round after round: the numbers released last do not tell it.
"""

import math
import re

import numpy as np
from numpy.typing import NDArray

from discreet.release.release import Release

__all__ = [
    "apart_told",
    "because",
    "forecast_told",
    "mostly_noise",
    "noise_share",
    "overall",
    "told",
    "weak_verdict",
]

_WORDS, _MOSTLY = 20, 0.5
_MOSTLY_RAW = 0.7
#: Verdicts of a forecast that promise little, as it writes them.
_WEAK = ("too few words", "no topics", "mostly noise", "weak", "little of the text")
#: Nats a token, about 5 % of perplexity.
_HARDLY = 0.05


def noise_share(release: Release) -> NDArray[np.float64] | None:
    """Return the noise of the words that set each topic apart most, beside what sets them apart; None if not told.

    Returns
    -------
    array of shape (n_topics,)
        Sum of standard deviations over sum of excess, of twenty words. Not negative; may exceed 1.
    """
    noise = release.topic_word_noise
    if noise is None:
        return None
    excess = _excess(release)
    most = np.argsort(-excess, axis=1, kind="stable")[:, :_WORDS]
    apart, deviations = (np.take_along_axis(array, most, axis=1).sum(1) for array in (excess, noise))
    return deviations / np.maximum(apart, 1e-12)


def overall(release: Release) -> NDArray[np.float64]:
    """Return how much of all texts each word is, shape (n_words,)."""
    if release.word_weight is not None:
        return release.word_weight
    weight = release.topic_weight
    return release.topic_word.mean(0) if weight is None else weight @ release.topic_word


def mostly_noise(release: Release) -> NDArray[np.bool_]:
    """Return which topics are mostly noise; none of a single topic, or where the noise is not told."""
    share, noise = noise_share(release), release.topic_word_noise
    if share is None or noise is None or len(share) == 1:
        return np.zeros(len(release.topic_word), dtype=np.bool_)
    if not _is_raw(release):
        return share >= _MOSTLY
    apart = np.maximum(_excess(release).sum(1), 1e-12)
    return noise.sum(1) / math.sqrt(2 * math.pi) / apart >= _MOSTLY_RAW


def _excess(release: Release) -> NDArray[np.float64]:
    return np.maximum(release.topic_word - overall(release), 0)


def _is_raw(release: Release) -> bool:
    settings = release.configuration
    return settings.get("denoise") == "zero" or settings.get("estimator") == "HybridGibbsLDA"


def because(release: Release) -> str:
    """Say why topics are called mostly noise."""
    if _is_raw(release):
        return (
            "Noise alone, around the word frequencies of all topics together, would set such a topic apart by at least "
            f"{100 * _MOSTLY_RAW:.0f} % of what it shows."
        )
    return (
        f"The {_WORDS} words that set such a topic apart most stand, on average, less than {1 / _MOSTLY:g} standard "
        "deviations of the noise above the word frequencies of all topics together."
    )


def weak_verdict(release: Release) -> str | None:
    """Return the verdict of a release's forecast where little was to be expected; None where more was, or untold."""
    forecast = str(release.configuration.get("forecast", ""))
    found = (name for name in _WEAK if re.match(rf"Learnability: (x [^()]*\()?{name}\b", forecast))
    return next(found, None)


def forecast_told(release: Release, *, again: bool = True) -> str | None:
    """Return the forecast of a release, which knew no text, and what its topics say to it; None without one.

    Parameters
    ----------
    release : Release
    again : bool, default True
        Whether to tell the forecast itself, which may have been told before.
    """
    forecast, noise = release.configuration.get("forecast"), told(release)
    if not isinstance(forecast, str):
        return None
    weak = weak_verdict(release) is not None
    said = [forecast] if again else []
    if noise is not None:
        link = f"As was to be expected, {noise}" if weak else f"But {noise}"
        said.append(f"{link}: the words that set them apart do not stand clear of it.")
    return " ".join([*said, apart_told(release)]).strip()


def apart_told(release: Release) -> str:
    r"""Say how far the topics are from the words of all texts together; "" of a single topic.

    That is :math:`\sum_k p(k) \sum_w p(w|k) \ln (p(w|k) / p(w))`, the information in nats that the topic of a token
    holds about its word: 0 where topics are nothing but word frequencies. Noise that was taken for words counts in it,
    so that it is above 0 for texts without topics.
    """
    topics, weight = release.topic_word, release.topic_weight
    if len(topics) == 1:
        return ""
    weight = np.full(len(topics), 1 / len(topics)) if weight is None else weight
    plain = np.maximum(weight @ topics, 1e-300)
    nats = float(weight @ (topics * np.log(np.maximum(topics, 1e-300) / plain)).sum(1))
    told = f"By these topics, noise included, the topic of a token tells {max(nats, 0.0):.2f} nats about its word"
    said = f"{told} beyond word frequencies"
    return f"{said}: hardly anything." if nats < _HARDLY else f"{said}."


def told(release: Release) -> str | None:
    """Say how many topics are mostly noise; None where none is known to be."""
    count, n_topics = int(mostly_noise(release).sum()), len(release.topic_word)
    return f"{count} of {n_topics} topics {'is' if count == 1 else 'are'} mostly noise" if count else None
