"""Clients that are simulated: every document answers through the real channel, with coins of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet._progress import Callback, tell
from discreet.local.whole_document.course import Answers
from discreet.local.whole_document.questions import Question
from discreet.privacy.codebook_channel import CodebookChannel
from discreet.privacy.noise.stream import SecureStream

__all__ = ["simulated_answers"]

#: Clients at once.
_TOGETHER = 256


def simulated_answers(
    question: Question,
    channel: CodebookChannel,
    counts: Any,
    rows: Any,
    numbers: Sequence[bytes],
    stream: SecureStream,
    callback: Callback | None = None,
) -> Answers:
    """Answer for documents, each as a client of its own.

    Parameters
    ----------
    question : Question
    channel : CodebookChannel
    counts : CSR matrix of shape (n_documents, n_words)
    rows : array of int
        Documents that are asked.
    numbers : sequence of bytes
        Public number of each document's client.
    stream : SecureStream
    callback : callable, optional
    """
    codebook = channel.codebook(question.dimension, question.digest)
    own = [numbers[row] for row in rows]
    found = np.empty(len(own), np.int64)
    for start in range(0, len(own), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        found[part] = channel.reports(question.answers(counts[rows[part]]), own[part], codebook, stream)
        tell(callback, f"asking about {question.kind}", min(start + _TOGETHER, len(own)), len(own))
    return Answers(own, found)
