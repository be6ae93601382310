r"""What is asked about a document's words, and its answers, in whole numbers by public tables.

* *words*: 1 for each word of the vocabulary that the document has; V numbers.
* *squares*: the sum of the words' rows of a table of d public directions; d numbers, whose square is what matters.
* *topics*: what each word says of K public topics (:mod:`discreet.lda.questions.responsibilities`); V K numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.lda.questions.responsibilities import responsibilities

__all__ = ["DOC_TOPIC_PRIOR", "STEPS", "Asked", "Kind", "answers", "dimension", "kinds", "square_of"]

Kind = Literal["words", "squares", "topics"]
#: Of the responsibilities: part of what a question is.
DOC_TOPIC_PRIOR, STEPS = 0.05, 20


@dataclass(frozen=True, eq=False)
class Asked:
    """A question; all of it is public.

    Parameters
    ----------
    kind : {"words", "squares", "topics"}
    place : int
        Its number in the course, from 0.
    vocabulary : tuple of str
        May be empty where only numbers travel.
    table : array of shape (n_words, n), int64
        Directions of the words ("squares") or topics, positive ("topics"); none ("words").
    weights : array of shape (n_words,), int64
        Of words ("topics").
    """

    kind: Kind
    place: int
    vocabulary: tuple[str, ...]
    table: NDArray[np.int64]
    weights: NDArray[np.int64]


def kinds(n_questions: int) -> tuple[Kind, ...]:
    """Return the kinds of so many questions, in their order."""
    every: tuple[Kind, ...] = ("words", "squares")
    return (*every[:n_questions], *("topics" for _ in range(n_questions - 2)))


def dimension(asked: Asked) -> int:
    """Return the length of an answer."""
    if asked.kind == "words":
        return len(asked.table)
    return asked.table.shape[1] if asked.kind == "squares" else asked.table.size


def answers(asked: Asked, counts: Any) -> NDArray[np.int64]:
    """Return the answers of documents, of shape (n_documents, dimension). Private.

    Parameters
    ----------
    asked : Asked
    counts : CSR matrix of shape (n_documents, n_words)
        What is not zero is present.
    """
    present: Any = sp.csr_matrix((np.ones(counts.nnz, np.int64), counts.indices, counts.indptr), counts.shape)
    if asked.kind == "words":
        return present.toarray()
    if asked.kind == "squares":
        return np.asarray(present @ asked.table)
    return responsibilities(
        present, asked.table, asked.weights, doc_topic_prior=DOC_TOPIC_PRIOR, n_steps=STEPS
    )


def square_of(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symmetric matrix (d, d) of its upper triangle, row by row, off the diagonal times the root of 2."""
    d = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    square = np.zeros((d, d))
    square[np.triu_indices(d)] = triangle
    square /= np.where(np.eye(d, dtype=bool), 1.0, np.sqrt(2.0))
    return np.triu(square) + np.triu(square, 1).T
