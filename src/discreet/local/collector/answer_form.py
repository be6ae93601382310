"""What may come where whole documents are asked about: answers to this question, of clients whose turn it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError
from discreet.local.collector.report_form import check_each, refuse_seeded
from discreet.local.whole_document.published import PublishedQuestion
from discreet.local.whole_document.wire import ANSWER, NUMBER, CodebookReport

__all__ = ["AnswerForm"]


class AnswerForm:
    """As :class:`~discreet.local.collector.report_form.ReportForm`, for reports of whole documents.

    Parameters
    ----------
    asked : PublishedQuestion
    """

    def __init__(self, asked: PublishedQuestion) -> None:
        blank = asked.blank().to_bytes()
        self.size, self._asked = len(blank), asked
        self._blank = np.frombuffer(blank, np.uint8)
        self._own = np.zeros(len(blank), bool)
        self._own[ANSWER] = self._own[NUMBER] = True

    def split(self, raw: bytes, *, count: bool = True) -> list[tuple[bytes, bytes]]:
        """Return number and answer of each report; ``CorpusError`` says what is off, never the answer.

        ``count`` is that of :class:`~discreet.local.collector.report_form.ReportForm`; there is nothing to count here.
        """
        check_each(raw, self.size, self._good, self._explain)
        found = [raw[start : start + self.size] for start in range(0, len(raw), self.size)]
        for i, one in enumerate(found):
            if not self._asked.asks(one[NUMBER]):
                raise CorpusError(
                    f"report {i + 1} is of a client that another question is for, by its number; keep it for that one."
                )
        return [(one[NUMBER], one[ANSWER]) for one in found]

    def _good(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        below = rows[:, ANSWER].copy().view("<u4")[:, 0] < self._asked.channel.n_codewords
        return ((rows == self._blank) | self._own).all(axis=1) & below

    def _explain(self, one: bytes, i: int) -> None:
        try:
            report = CodebookReport.from_bytes(one)
        except CorpusError as error:
            raise CorpusError(f"report {i + 1}: {error}") from None
        refuse_seeded(report.channel, i)
        raise CorpusError(
            f"report {i + 1} answers another question, or this one through another channel; answer the one that "
            "GET /question tells."
        )
