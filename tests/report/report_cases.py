"""Releases that the tests of the report share."""

import math

import numpy as np

from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.release import Release

HOSTILE = (
    "</script><script>window.canary=1</script>",
    "<img src=x onerror=window.canary=2>",
    '"><svg onload=window.canary=3>',
    "&lt;b&gt; <!-- ]]> {{ 7 * 7 }}",
    "line\u2028break\u2029",
    "half \ud800 of a pair",
    "nul\x00 and \x1b[31m",
    "turn \u202e round",
    "",
    "w" * 5000,
)


def release(
    n_topics=5,
    n_words=60,
    *,
    epsilon=2.0,
    reproducible=False,
    words=(),
    noise=0.002,
    weights=True,
    vocabulary_booked=False,
    seed=0,
    settings=None,
):
    """Topics that each favour a block of words of their own, over a floor of small probabilities."""
    rng = np.random.default_rng(seed)
    topic_word = 0.02 * rng.dirichlet(np.full(n_words, 0.3), n_topics)
    block = n_words // n_topics
    for topic in range(n_topics):
        topic_word[topic, topic * block : (topic + 1) * block] += 0.98 * np.sort(
            rng.dirichlet(np.full(block, 2))
        )
    topic_word /= topic_word.sum(1, keepdims=True)
    weight = np.arange(n_topics, 0, -1) / (n_topics * (n_topics + 1) / 2)
    ledger = Ledger(epsilon, 1e-6)
    private = math.isfinite(epsilon)
    if vocabulary_booked:
        ledger.reserve(events.gaussian(12.0) if private else events.non_private(), "vocabulary (sips)")
    ledger.reserve(events.gaussian(4.0) if private else events.non_private(), f"topics ({n_topics} topics)")
    return Release(
        topic_word,
        (*words, *(f"word{i:05d}" for i in range(n_words - len(words)))),
        ledger,
        {"n_topics": n_topics, "estimator": "PrivateLDA"} if settings is None else settings,
        reproducible,
        weight if weights else None,
        weight @ topic_word if weights else None,
        None if noise is None else np.full((n_topics, n_words), noise),
        1234.4,
    )
