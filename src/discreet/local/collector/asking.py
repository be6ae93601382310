"""What a collector of answers about whole documents tells: the question, and how many answered it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.local.collector.border import PLAIN
from discreet.local.collector.storage.store import ReportStore
from discreet.local.whole_document.published import PublishedQuestion

__all__ = ["Asking"]


class Asking:
    """Answers of ``GET /question`` and ``GET /status``.

    Parameters
    ----------
    store : ReportStore
    asked : PublishedQuestion
        That the store keeps the answers to.
    """

    def __init__(self, store: ReportStore, asked: PublishedQuestion) -> None:
        self._store, self._text = store, asked.to_json()
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
        return Response(self._text, media_type="application/json", headers=PLAIN)

    async def status(self, request: Request) -> Response:
        """Tell how many answered, and what each answer promises."""
        told = {"reports": self._store.n_reports, "waiting": self._store.waiting, **self._fixed}
        return JSONResponse(told, headers=PLAIN)
