"""What the collected reports say together: kept for a while, so that asking often costs little."""

import asyncio
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from discreet.errors import DiscreetError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.invented_reports import Kept, set_aside
from discreet.local.collector.store import Blocks, Packed, ReportsLeftError, ReportStore
from discreet.local.wire import vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

#: Topics in one fit at most: memory and time of a fit grow with them.
MOST_TOPICS = 50
#: Seconds for which an answer is given again, however many reports came since; it says how many it rests on.
_FRESH = 5.0
#: And this many times as long as it took: whoever asks and asks leaves most of a processor free.
_REST = 4.0
#: Topics that are fitted where nobody says how many, at most.
_USUAL_TOPICS = 20
_N_TOP = 10
#: Fits that are kept, for as many numbers of topics.
_MOST_KEPT = 20


class NotYetError(DiscreetError):
    """The answer takes longer than anybody should wait; ask again after ``seconds``."""

    def __init__(self, told: str, seconds: float = 5.0) -> None:
        super().__init__(told)
        self.seconds = seconds


class _StoppedError(BaseException):
    """Ends a fit. Progress reports drop every ``Exception``, so that no display can end a fit."""


class TopicFits:
    """Status and topics from the store's moments.

    One look at the spectrum and one fit at a time, each in a thread of its own beside the service's; neither waits for
    the other, and nobody waits for them longer than a deadline. A fit that takes too long is given up.

    Parameters
    ----------
    store : ReportStore
    patience : float, default 20
        Seconds that a request waits for a fit; it goes on, and the next request may find it done.
    longest_fit : float, default 60
        Seconds after which a fit is given up.
    """

    def __init__(self, store: ReportStore, *, patience: float = 20.0, longest_fit: float = 60.0) -> None:
        self._store, self._patience, self._longest_fit = store, patience, longest_fit
        self._stop = threading.Event()
        self._looking: asyncio.Task[None] | None = None
        self._learnable: tuple[int, int] | None = None
        self._look_due = 0.0
        self._fitting: tuple[tuple[int, bool], asyncio.Task[None]] | None = None
        self._fit_due = 0.0
        self._topics: dict[tuple[int, bool], tuple[dict[str, Any], float]] = {}
        channel = store.channel
        assert isinstance(channel, BitChannel)
        self._channel = channel
        losses = channel.guarantees(len(store.words))
        self._fixed = {
            "n_words": len(store.words),
            "vocabulary": vocabulary_digest(store.words).hex(),
            "channel": {
                "p": float(channel.p),
                "q": float(channel.q),
                "p_threshold": channel.p_threshold,
                "q_threshold": channel.q_threshold,
                "limit": channel.limit,
            },
            "guarantees": {**losses._asdict(), "in_words": losses.in_words()},
        }

    def stop(self) -> None:
        """Give up a fit that is under way, so that the process can end."""
        self._stop.set()

    async def status(self) -> dict[str, Any]:
        """Return reports so far, topics that the noise lets through, and what each report promises.

        ``learnable`` is of the first ``learnable_from`` reports; both are None until they were computed once.
        """
        learnable, learnable_from = (await self._spectrum(min(2.0, self._patience))) or (None, None)
        return {
            "reports": self._store.n_reports,
            "waiting": self._store.waiting,
            "learnable": learnable,
            "learnable_from": learnable_from,
            **self._fixed,
        }

    async def topics(self, k: int | None, *, keep_all: bool = False) -> dict[str, Any]:
        """Return k topics, by default as many as can be learned; ``topics`` is empty where none can.

        Reports that are unlike all others (see :mod:`discreet.local.collector.invented_reports`) are set aside, unless
        ``keep_all``.

        Raises
        ------
        NotYetError
            Where they are not fitted yet, or other topics are just being fitted.
        """
        if k is None:
            found = await self._spectrum(self._patience)
            if found is None:
                raise NotYetError("the reports are still being looked at; ask again.")
            k = min(found[0], _USUAL_TOPICS)
        asked = k, keep_all
        kept = self._topics.get(asked)
        if kept is not None and (kept[0]["reports"] == self._store.n_reports or time.monotonic() < kept[1]):
            return kept[0]
        try:
            return await self._new_topics(asked)
        except NotYetError:
            if kept is None:
                raise
            return kept[0]  # of fewer reports, and it says of how many

    async def _new_topics(self, wanted: tuple[int, bool]) -> dict[str, Any]:
        k, keep_all = wanted
        if self._fitting is None or self._fitting[1].done():
            rest = self._fit_due - time.monotonic()
            if rest > 0:
                raise NotYetError("other topics were just fitted; ask again.", rest)
            self._fitting = (wanted, _begin(self._fit_beside(k, keep_all)))
        asked, task = self._fitting
        if asked != wanted:
            raise NotYetError(f"{asked[0]} topics are just being fitted; ask again.")
        await _wait(task, self._patience, f"{k} topics are still being fitted; ask again.")
        return self._topics[wanted][0]

    async def _spectrum(self, patience: float) -> tuple[int, int] | None:
        known = self._learnable
        stale = known is None or (known[1] != self._store.n_reports and time.monotonic() >= self._look_due)
        if stale and (self._looking is None or self._looking.done()):
            self._looking = _begin(self._look_beside())
        if stale and self._looking is not None:
            try:
                await _wait(self._looking, patience, "")
            except NotYetError:
                return known  # of fewer reports, and it says of how many
        return self._learnable

    async def _look_beside(self) -> None:
        began = time.monotonic()
        self._learnable = await asyncio.to_thread(self._look)
        self._look_due = _due(began, _REST)

    async def _fit_beside(self, k: int, keep_all: bool) -> None:
        began = time.monotonic()
        answer = await asyncio.to_thread(self._fit, k, keep_all)
        self._topics.pop((k, keep_all), None)
        while len(self._topics) >= _MOST_KEPT:
            self._topics.pop(next(iter(self._topics)))
        self._topics[k, keep_all] = answer, _due(began, _REST)
        self._fit_due = 2 * time.monotonic() - began  # as long a rest before other topics are fitted

    def _look(self) -> tuple[int, int]:
        moments = self._store.moments()
        return _learnable(moments), moments.n

    def _usual(self, go_on: Callable[[], None], keep_all: bool) -> tuple[int, Kept]:
        """Return how many reports there are, and moments of those that are not unlike all others."""
        while True:
            moments, blocks = self._store.moments_and_reports()
            if keep_all:
                return moments.n, Kept(moments, 0)

            def watched(blocks: Blocks = blocks) -> Iterator[Packed]:
                for block in blocks():
                    go_on()
                    yield block

            try:
                return moments.n, set_aside(moments, watched, self._channel)
            except ReportsLeftError:  # somebody withdrew meanwhile
                go_on()

    def _fit(self, k: int, keep_all: bool) -> dict[str, Any]:
        from discreet.local.local_lda import LocalLDA  # only now: it loads scikit-learn

        end = time.monotonic() + self._longest_fit

        def go_on(stage: str, done: int, total: int) -> None:
            if self._stop.is_set() or time.monotonic() > end:
                raise _StoppedError

        topics: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"reports": 0, "set_aside": 0, "k": k, "topics": topics, "note": None}
        too_long = f"Fitting {k} topics took more than {self._longest_fit:g} s; ask for fewer."
        try:
            answer["reports"], (moments, answer["set_aside"]) = self._usual(lambda: go_on("", 0, 0), keep_all)
        except _StoppedError:
            answer["note"] = too_long
            return answer
        if moments.n == 0 or k < 1:
            answer["note"] = "The reports let no topic through the noise yet; more of them are needed."
            return answer
        model = LocalLDA(k, channel=self._channel, refine=False, random_state=0, n_jobs=1, callback=go_on)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                model.fit_moments(moments, vocabulary=self._store.words)
        except DiscreetError as error:
            answer["note"] = str(error)
            return answer
        except _StoppedError:
            answer["note"] = too_long
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


def _begin(work: "Coroutine[Any, Any, None]") -> "asyncio.Task[None]":
    """Start work that goes on whoever stops waiting for it; a failure nobody waited for is nobody's."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


async def _wait(task: "asyncio.Task[None]", seconds: float, told: str) -> None:
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        raise NotYetError(told)
    task.result()


def _due(began: float, rest: float) -> float:
    now = time.monotonic()
    return now + max(_FRESH, rest * (now - began))


def _learnable(moments: Moments) -> int:
    return moments.learnable() if moments.n else 0


def _weight(topic: dict[str, Any]) -> float:
    return topic["weight"]
