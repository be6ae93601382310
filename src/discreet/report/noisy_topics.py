r"""Which topics are mostly noise, judged from the release alone.

A topic is one because it differs from the words of all texts together: by :math:`\sum_w (p(w|k) - p(w))_+`. Noise of
standard deviations :math:`s_{kw}` alone, around the same frequencies, would show
:math:`\sum_w E[(s_{kw} Z)_+] = \sum_w s_{kw} / \sqrt{2 \pi}`. Where the second is at least 0.3 of the first, the topic
is called mostly noise: training follows noise and finds words for it, so the line lies below a half. It was set on
eight fits of made-up notes (epsilon .5 to 3, 12 to 30 topics), where 75 of 81 topics that follow no theme lie above it,
and 75 of 80 that do lie below. It is no test with an error rate.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.release.record import Release

__all__ = ["apart_told", "forecast_told", "mostly_noise", "noise_share", "overall", "told"]

_MOSTLY = 0.3
#: Nats a token, about 5 % of perplexity.
_HARDLY = 0.05


def noise_share(release: Release) -> NDArray[np.float64] | None:
    """Return how much of what sets each topic apart noise would show alone; None where the noise is not told.

    Returns
    -------
    array of shape (n_topics,)
        Not negative; may exceed 1.
    """
    noise = release.topic_word_noise
    if noise is None:
        return None
    apart = np.maximum(release.topic_word - overall(release), 0).sum(1)
    return noise.sum(1) / math.sqrt(2 * math.pi) / np.maximum(apart, 1e-12)


def overall(release: Release) -> NDArray[np.float64]:
    """Return how much of all texts each word is, shape (n_words,)."""
    if release.word_weight is not None:
        return release.word_weight
    weight = release.topic_weight
    return release.topic_word.mean(0) if weight is None else weight @ release.topic_word


def mostly_noise(release: Release) -> NDArray[np.bool_]:
    """Return which topics are mostly noise; none of a single topic, or where the noise is not told."""
    share = noise_share(release)
    if share is None or len(share) == 1:
        return np.zeros(len(release.topic_word), dtype=np.bool_)
    return share >= _MOSTLY


def forecast_told(release: Release) -> str | None:
    """Return the forecast of a release, which knew no text, and what its topics say against it; None without one."""
    forecast, noise = release.configuration.get("forecast"), told(release)
    if not isinstance(forecast, str):
        return None
    but = "" if noise is None else f" But {noise}: the forecast did not hold there."
    return f"{forecast}{but} {apart_told(release)}".rstrip()


def apart_told(release: Release) -> str:
    r"""Say how far the topics are from the words of all texts together; "" of a single topic.

    That is :math:`\sum_k p(k) \sum_w p(w|k) \ln (p(w|k) / p(w))`, the information in nats that the topic of a token
    holds about its word: 0 where topics are nothing but word frequencies. Noise that was taken for words counts in it.
    """
    topics, weight = release.topic_word, release.topic_weight
    if len(topics) == 1:
        return ""
    weight = np.full(len(topics), 1 / len(topics)) if weight is None else weight
    plain = np.maximum(weight @ topics, 1e-300)
    nats = float(weight @ (topics * np.log(np.maximum(topics, 1e-300) / plain)).sum(1))
    said = f"The topic of a token tells {max(nats, 0.0):.2f} nats about its word beyond word frequencies"
    return f"{said}: hardly anything." if nats < _HARDLY else f"{said}."


def told(release: Release) -> str | None:
    """Say how many topics are mostly noise; None where none is known to be."""
    count, n_topics = int(mostly_noise(release).sum()), len(release.topic_word)
    return f"{count} of {n_topics} topics {'is' if count == 1 else 'are'} mostly noise" if count else None
