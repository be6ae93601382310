"""From one question to the next by reports: the means of answers, for :mod:`discreet.lda.questions.next_question`.

All of it is post-processing of reports, public word vectors and a public vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.questions import next_question
from discreet.lda.questions.next_question import learn
from discreet.local.whole_document.questions import Question
from discreet.privacy.codebook_channel import CodebookChannel

__all__ = ["Answers", "State", "begin", "learn", "step"]

State = next_question.State[Question]


class Answers(NamedTuple):
    """Reports on one question.

    Attributes
    ----------
    numbers : sequence of bytes
        Of the clients: their nonces.
    indices : array of shape (n,)
        The codewords that they sent.
    """

    numbers: Sequence[bytes]
    indices: NDArray[np.int64]


def begin(vocabulary: Sequence[str], vectors: NDArray[np.float64], n_topics: int) -> State:
    """Return the state before any answer, as :func:`discreet.lda.questions.next_question.begin`."""
    return next_question.begin(vocabulary, vectors, n_topics, Question)


def step(state: State, answers: Answers, channel: CodebookChannel, n_questions: int, seed: int) -> State:
    """Return what is known with the answers to ``state.question``.

    Parameters
    ----------
    state : State
    answers : Answers
        At least one.
    channel : CodebookChannel
        That the clients answered through.
    n_questions : int
        How many there are in all.
    seed : int
        Of starting points; public.
    """
    question = state.question
    assert question is not None
    codebook, n = channel.codebook(question.dimension, question.digest), len(answers.numbers)
    if question.two_sided:
        mean = channel.mean_square(codebook.codewords(answers.numbers, answers.indices))
    else:
        mean = channel.mean(codebook.total(answers.numbers, answers.indices), n)
    return learn(state, mean, channel.deviation / np.sqrt(n), n_questions, seed)
