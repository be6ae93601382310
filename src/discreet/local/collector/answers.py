"""What the collected reports say together: kept for a while, so that asking often costs little."""

import asyncio
import time
import warnings
from typing import Any

from discreet.errors import DiscreetError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.store import ReportStore
from discreet.local.wire import vocabulary_digest

__all__ = ["Answers"]

#: Seconds for which an answer is given again, however many reports came since; it says how many it rests on.
_FRESH = 5.0
_MOST_TOPICS = 20
_N_TOP = 10


class Answers:
    """Status and topics from the store's moments; one computation at a time, beside the service's own thread."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        self._lock = asyncio.Lock()
        self._learnable: tuple[int, int, float] | None = None
        self._topics: dict[int, tuple[dict[str, Any], float]] = {}
        losses = store.channel.guarantees(len(store.words))
        self._fixed = {
            "n_words": len(store.words),
            "vocabulary": vocabulary_digest(store.words).hex(),
            "channel": {
                "p": float(store.channel.p),
                "q": float(store.channel.q),
                "p_threshold": store.channel.p_threshold,
                "q_threshold": store.channel.q_threshold,
                "limit": store.channel.limit,
            },
            "guarantees": {**losses._asdict(), "in_words": losses.in_words()},
        }

    async def status(self) -> dict[str, Any]:
        """Return reports so far, topics that the noise lets through, and what each report promises."""
        async with self._lock:
            kept = self._learnable
            if kept is None or (kept[1] != self._store.n_reports and time.monotonic() - kept[2] > _FRESH):
                learnable, n = await asyncio.to_thread(self._look)
                self._learnable = kept = (learnable, n, time.monotonic())
        return {
            "reports": self._store.n_reports,
            "waiting": self._store.waiting,
            "learnable": kept[0],
            "learnable_from": kept[1],
            **self._fixed,
        }

    async def topics(self, k: int | None) -> dict[str, Any]:
        """Return k topics, by default as many as can be learned; ``topics`` is empty where none can."""
        if k is None:
            learnable: int = (await self.status())["learnable"]
            return await self.topics(min(learnable, _MOST_TOPICS))
        async with self._lock:
            kept = self._topics.get(k)
            if kept is None or (
                kept[0]["reports"] != self._store.n_reports and time.monotonic() - kept[1] > _FRESH
            ):
                answer = await asyncio.to_thread(self._fit, k)
                while len(self._topics) >= _MOST_TOPICS:
                    self._topics.pop(next(iter(self._topics)))
                self._topics[k] = kept = (answer, time.monotonic())
        return kept[0]

    def _look(self) -> tuple[int, int]:
        moments = self._store.moments()
        return _learnable(moments), moments.n

    def _fit(self, k: int) -> dict[str, Any]:
        from discreet.local.local_lda import LocalLDA  # only now: it loads scikit-learn

        moments = self._store.moments()
        topics: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"reports": moments.n, "k": k, "topics": topics, "note": None}
        if moments.n == 0 or k < 1:
            answer["note"] = "The reports let no topic through the noise yet; more of them are needed."
            return answer
        model = LocalLDA(k, channel=self._store.channel, refine=False, random_state=0)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                model.fit_moments(moments, vocabulary=self._store.words)
        except DiscreetError as error:
            answer["note"] = str(error)
            return answer
        release: Any = model.release_
        for row, weight in zip(release.topic_word, release.topic_weight, strict=True):
            top = row.argsort()[::-1][:_N_TOP]
            topics.append(
                {
                    "weight": float(weight),
                    "words": [self._store.words[t] for t in top],
                    "shares": row[top].tolist(),
                }
            )
        topics.sort(key=_weight, reverse=True)
        if told:
            answer["note"] = str(told[0].message)
        return answer


def _learnable(moments: Moments) -> int:
    return moments.learnable() if moments.n else 0


def _weight(topic: dict[str, Any]) -> float:
    return topic["weight"]
