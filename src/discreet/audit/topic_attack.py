r"""Guess a token's word from the topics that Gibbs sampling gave it.

Who sees, sweep after sweep, a token's topic :math:`z_i` and the word-topic counts :math:`s_i` that were shown beside it
multiplies the probabilities of each word in those topics:

.. math:: \ln P(w \mid z_1, \dots, z_T) = \sum_{i \le T}
          \ln \frac{s_i[z_i, w] + \beta}{\sum_{w'} (s_i[z_i, w'] + \beta)} + \text{const}.

Counts are cut at 0 first. The paper leaves :math:`\beta` out; it belongs to the law the topics were drawn from, and
without it one sweep in which noise hid the true word rules it out for good, so that the attack would be weaker.

Everything here is for whoever holds the text: results tell about tokens, and are not for release.

Reference
---------
Zhao, Ren, Yang, Han, Zhao, Yang, "Latent Dirichlet Allocation Model Training with Differential Privacy",
arXiv:2010.04391, algorithm 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.validate import check, number, whole
from discreet.errors import ParameterError

__all__ = ["TopicAttack", "TopicAttackReport"]


class TopicAttackReport(NamedTuple):
    """How well words are guessed, against the number of sweeps seen.

    Attributes
    ----------
    posterior : array of shape (n_sweeps, n_tokens)
        Posterior probability of each attacked token's true word after 1, 2, ... sweeps.
    rank : array of shape (n_sweeps, n_tokens)
        How many words are at least as probable as the true one, itself included; 1 is a correct guess.
    """

    posterior: NDArray[np.float64]
    rank: NDArray[np.int64]


class TopicAttack:
    """The posterior over words of tokens whose topics are seen sweep by sweep.

    Parameters
    ----------
    n_words : int
    n_tokens : int
        Tokens under attack.
    topic_word_prior : float, default 0.01
        beta of the sampler under attack; positive.

    Examples
    --------
    >>> attack = TopicAttack(n_words=3, n_tokens=1)
    >>> for topic in (0, 0, 1):
    ...     attack.observe([[5, 1, 0], [4, 0, 3]], [topic])
    >>> attack.posterior().round(3).tolist()
    [[1.0, 0.0, 0.0]]
    """

    def __init__(self, n_words: int, n_tokens: int, *, topic_word_prior: float = 0.01) -> None:
        check(
            n_words=(n_words, whole()),
            n_tokens=(n_tokens, whole()),
            topic_word_prior=(topic_word_prior, number(above=0)),
        )
        self.topic_word_prior = topic_word_prior
        self._log = np.zeros((n_tokens, n_words))

    def observe(self, topic_word_counts: ArrayLike, topics: ArrayLike) -> None:
        """Take in one sweep.

        Parameters
        ----------
        topic_word_counts : array of shape (n_topics, n_words)
            The (noisy) counts shown in this sweep.
        topics : array of shape (n_tokens,)
            The topics drawn for the attacked tokens in this sweep.
        """
        counts, drawn = np.asarray(topic_word_counts, dtype=np.float64), np.asarray(topics)
        n_tokens, n_words = self._log.shape
        if counts.ndim != 2 or counts.shape[1] != n_words or not np.isfinite(counts).all():
            raise ParameterError(
                f"topic_word_counts must be finite, of shape (n_topics, {n_words}), but have {counts.shape}."
            )
        if drawn.shape != (n_tokens,) or drawn.dtype.kind not in "iu":
            raise ParameterError(f"topics must be {n_tokens} whole numbers, one for each attacked token.")
        if drawn.min() < 0 or drawn.max() >= len(counts):
            raise ParameterError(f"topics must lie between 0 and {len(counts) - 1}, but one does not.")
        rows = np.maximum(counts, 0) + self.topic_word_prior
        self._log += np.log(rows / rows.sum(1, keepdims=True))[drawn]

    def posterior(self) -> NDArray[np.float64]:
        """Return the probability of each word for each token, shape (n_tokens, n_words); rows sum to 1."""
        shifted = np.exp(self._log - self._log.max(1, keepdims=True))
        return shifted / shifted.sum(1, keepdims=True)

    def run(
        self, tables: Sequence[ArrayLike], topics: Sequence[ArrayLike], true_words: ArrayLike
    ) -> TopicAttackReport:
        """Observe sweeps one by one, and report after each how probable the true words are.

        Parameters
        ----------
        tables : sequence of arrays of shape (n_topics, n_words)
        topics : sequence of arrays of shape (n_tokens,)
            As many as tables.
        true_words : array of shape (n_tokens,)
            What an attacker does not know: numbers of words, from 0.

        Raises
        ------
        ParameterError
            If tables and topics are not equally many, or true words are not of the vocabulary, one a token.
        """
        words = np.asarray(true_words)
        if len(tables) != len(topics) or not len(tables):
            raise ParameterError(
                f"each sweep needs a table and topics, but there are {len(tables)} and {len(topics)}."
            )
        n_tokens, n_words = self._log.shape
        if words.shape != (n_tokens,) or words.dtype.kind not in "iu":
            raise ParameterError(f"true_words must be {n_tokens} whole numbers, one for each attacked token.")
        if words.min() < 0 or words.max() >= n_words:  # -1 would stand for the last word
            raise ParameterError(f"true_words must lie between 0 and {n_words - 1}, but one does not.")
        everyone = np.arange(len(self._log))
        posteriors, ranks = [], []
        for table, drawn in zip(tables, topics, strict=True):
            self.observe(table, drawn)
            own = self._log[everyone, words]
            posteriors.append(self.posterior()[everyone, words])
            ranks.append((self._log >= own[:, None]).sum(1))
        return TopicAttackReport(np.array(posteriors), np.array(ranks))
