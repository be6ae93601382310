"""What the collected reports say together: kept for a while, so that asking often costs little."""

import asyncio
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from discreet.errors import DiscreetError
from discreet.lda.moments.moments import Moments
from discreet.local.collector.intake import later
from discreet.local.collector.invented_reports import Kept, set_aside
from discreet.local.collector.store import Packed, ReportStore
from discreet.local.wire import vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

#: Seconds for which an answer is given again, however many reports came since; it says how many it rests on.
_FRESH = 5.0
#: And this many times as long as it took: whoever asks and asks leaves most of a processor free.
_REST = 4.0
#: Topics that are fitted, at most.
_MOST_TOPICS = 20
_N_TOP = 10


class _StoppedError(BaseException):
    """Ends a fit. Progress reports drop every ``Exception``, so that no display can end a fit."""


_Found = TypeVar("_Found")


class _Answer(Generic[_Found]):
    """What is computed in a thread of its own, once at a time, and given again for a while.

    Parameters
    ----------
    work : callable
        Returns the answer, and how many reports it rests on.
    """

    def __init__(self, work: Callable[[], tuple[_Found, int]]) -> None:
        self._work = work
        self._known: tuple[_Found, int] | None = None
        self._due = 0.0
        self._task: asyncio.Task[None] | None = None

    async def get(self, n_reports: int, patience: float) -> tuple[_Found, int] | None:
        """Return the answer; after ``patience`` seconds what is known, of fewer reports, or None."""
        known = self._known
        if known is not None and (known[1] == n_reports or time.monotonic() < self._due):
            return known
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._find())
            # It goes on whoever stops waiting for it; a failure nobody waited for is nobody's.
            self._task.add_done_callback(lambda done: done.cancelled() or done.exception())
        done, _ = await asyncio.wait({self._task}, timeout=patience)
        for task in done:
            task.result()
        return self._known

    async def _find(self) -> None:
        began = time.monotonic()
        self._known = await asyncio.to_thread(self._work)
        now = time.monotonic()
        self._due = now + max(_FRESH, _REST * (now - began))


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
        self._learnable, self._topics = _Answer(self._look), _Answer(self._fit)
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
        """Give up what is under way, so that the process can end."""
        self._stop.set()

    async def status(self) -> dict[str, Any]:
        """Return reports so far, topics that the noise lets through, and what each report promises.

        ``learnable`` is of the first ``learnable_from`` reports; both are None until they were computed once.
        """
        n = self._store.n_reports
        learnable, learnable_from = await self._learnable.get(n, min(2.0, self._patience)) or (None, None)
        return {
            "reports": self._store.n_reports,
            "waiting": self._store.waiting,
            "learnable": learnable,
            "learnable_from": learnable_from,
            **self._fixed,
        }

    async def topics(self) -> dict[str, Any]:
        """Return as many topics as can be learned, 20 at most; ``topics`` is empty where none can.

        Reports that are unlike all others (see :mod:`discreet.local.collector.invented_reports`) are set aside.

        Raises
        ------
        HTTPException
            503, where they are not fitted yet: that takes longer than anybody should wait.
        """
        found = await self._topics.get(self._store.n_reports, self._patience)
        if found is None:
            raise later(503, "topics are still being fitted; ask again.", 5)
        return found[0]

    def _look(self) -> tuple[int, int]:
        def go_on() -> None:
            if self._stop.is_set():
                raise later(503, "the collector is closing; ask again later.", 5)

        with self._store.snapshot(go_on) as (moments, _):
            return _learnable(moments), moments.n

    def _usual(self, go_on: Callable[[], None]) -> tuple[int, Kept]:
        """Return how many reports there are, and moments of those that are not unlike all others."""
        with self._store.snapshot(go_on) as (moments, blocks):

            def watched() -> Iterator[Packed]:
                for block in blocks():
                    go_on()
                    yield block

            return moments.n, set_aside(moments, watched, self._channel)

    def _fit(self) -> tuple[dict[str, Any], int]:
        """Return the answer to ``GET /topics``, and how many reports there were."""
        end = time.monotonic() + self._longest_fit

        def go_on(stage: str = "", done: int = 0, total: int = 0) -> None:
            if self._stop.is_set() or time.monotonic() > end:
                raise _StoppedError

        answer: dict[str, Any] = {"reports": 0, "set_aside": 0, "k": 0, "topics": [], "note": None}
        try:
            answer["reports"], (moments, answer["set_aside"]) = self._usual(go_on)
            answer["k"] = min(_learnable(moments), _MOST_TOPICS)
            answer |= self._fitted(moments, answer["k"], go_on)
        except _StoppedError:
            answer["note"] = f"Fitting topics took more than {self._longest_fit:g} s; fit them elsewhere."
        return answer, answer["reports"]

    def _fitted(self, moments: Moments, k: int, go_on: Callable[[str, int, int], None]) -> dict[str, Any]:
        if k < 1:
            return {"note": "The reports let no topic through the noise yet; more of them are needed."}
        from discreet.local.local_lda import LocalLDA  # only now: it loads scikit-learn

        model = LocalLDA(k, channel=self._channel, refine=False, random_state=0, n_jobs=1, callback=go_on)
        words = self._store.words
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                release: Any = model.fit_moments(moments, vocabulary=words).release_
        except DiscreetError as error:
            return {"note": str(error)}
        topics: list[dict[str, Any]] = []
        for topic in (-release.topic_weight).argsort(kind="stable"):
            row, weight = release.topic_word[topic], float(release.topic_weight[topic])
            top = row.argsort()[::-1][:_N_TOP]
            topics.append({"weight": weight, "words": [words[t] for t in top], "shares": row[top].tolist()})
        return {"topics": topics, "note": str(told[0].message) if told else None}


def _learnable(moments: Moments) -> int:
    return moments.learnable() if moments.n else 0
