"""What a collector of answers about whole documents tells: the question, and how many answered it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from discreet.local.collector.border import PLAIN
from discreet.local.collector.storage.store import ReportStore
from discreet.local.whole_document.published import PublishedQuestion

__all__ = ["Asking"]

#: A question may have megabytes. All who take it take the same pieces of one copy, the next when they took the last.
_PIECE = 1 << 14


class Asking:
    """Answers of ``GET /question`` and ``GET /status``.

    Parameters
    ----------
    store : ReportStore
    asked : PublishedQuestion
        That the store keeps the answers to.
    """

    def __init__(self, store: ReportStore, asked: PublishedQuestion) -> None:
        self._store, text = store, asked.to_json().encode()
        self._pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
        self._headers = {**PLAIN, "Content-Length": str(len(text))}
        question = asked.question
        self._fixed = {
            "question": question.digest.hex(),
            "kind": question.kind,
            "place": question.place,
            "questions": len(asked.ends),
            "n_words": len(question.vocabulary),
            "epsilon": asked.channel.epsilon,
            "guarantee": asked.guarantee,
        }

    async def question(self, request: Request) -> Response:
        """Tell the question as clients take it."""
        return StreamingResponse(self._told(), media_type="application/json", headers=self._headers)

    async def _told(self) -> AsyncGenerator[bytes]:
        for piece in self._pieces:
            yield piece

    async def status(self, request: Request) -> Response:
        """Tell how many answered, and what each answer promises."""
        told = {"reports": self._store.n_reports, "waiting": self._store.waiting, **self._fixed}
        return JSONResponse(told, headers=PLAIN)
