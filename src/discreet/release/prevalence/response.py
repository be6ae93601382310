r"""Shares corrected for fold-in. Post-processing of released and public things.

The topics of a short document are found by fold-in, which is drawn towards the prior: a document of ten words that is
all of one topic is not given all of it. Sums of such shares are too even. How much so can be simulated: documents of
the public length are drawn from the released topics, with topic shares :math:`\theta` that are known (from the model's
own Dirichlet prior), and folded in. The *response* is the matrix B, :math:`K \times K`, for which :math:`\theta B` is
the best linear guess of what fold-in finds; rows of B sum to 1, because those of both do. Then the totals of a group,
:math:`S_g`, stand for :math:`S_g A` with

.. math:: A = ((1 - \lambda) B + \lambda I)^{-1},

whose rows sum to 1, too: the size of a group stays. The ridge :math:`\lambda` keeps A from blowing up the noise where B
can hardly tell two topics apart; what it costs is that part of the bias stays.

Intervals are Fieller's for :math:`S_{g} A_k / \hat n_g`: exact for the noise, as those of raw shares are (to which
A = I leads), about what the correction makes of exact sums. They know nothing of how far documents are from the model
or from the length that was stated.

It is a choice, not the default: it helps where documents are short and are as the model says, and widens intervals.
"""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.lda import fold_in

if TYPE_CHECKING:
    from discreet.release.record import Release

__all__ = ["correction", "response"]

Floats = NDArray[np.float64]
_DOCUMENTS_A_TOPIC, _LEAST, _MOST_TOKENS = 500, 20_000, 5e6
_LONGEST = 2_000


def response(topics: "Release", document_length: float, *, seed: int = 0) -> Floats:
    """Return what fold-in makes of known topic shares, shape (n_topics, n_topics); rows sum to 1.

    Parameters
    ----------
    topics : Release
    document_length : float
        Words a document, on average; a public number. Lengths are drawn as Poisson numbers, of at least 1.
    seed : int, default 0
        Of the simulation: nothing private is in it, and the same seed gives the same answer.
    """
    if not (isinstance(document_length, int | float) and 1 <= document_length <= _LONGEST):
        raise ParameterError(
            f"document_length must be a public number of words from 1 to {_LONGEST}, but is {document_length!r}; "
            "longer documents need no correction."
        )
    topic_word = topics.topic_word
    n_topics = len(topic_word)
    n = int(min(max(_LEAST, _DOCUMENTS_A_TOPIC * n_topics), _MOST_TOKENS / document_length))
    rng = np.random.default_rng(seed)
    prior = float(topics.configuration.get("doc_topic_prior", 0.1))
    shares = rng.dirichlet(np.full(n_topics, prior), n)
    counts = _draw(rng, topic_word, rng.multinomial(np.maximum(rng.poisson(document_length, n), 1), shares))
    found = fold_in(topic_word, counts, doc_topic_prior=prior)
    return np.asarray(np.linalg.lstsq(shares, found, rcond=None)[0], dtype=np.float64)


def correction(answered: Floats, ridge: float) -> Floats:
    """Return the matrix that undoes a response, up to the ridge; rows sum to 1."""
    if not (isinstance(ridge, int | float) and 0 <= ridge <= 1):
        raise ParameterError(f"ridge must be from 0 to 1, but is {ridge!r}.")
    eye = np.eye(len(answered))
    return np.asarray(np.linalg.inv((1 - ridge) * answered + ridge * eye), dtype=np.float64)


def _draw(rng: np.random.Generator, topic_word: Floats, tokens: NDArray[np.int64]) -> sp.csr_matrix:
    """Draw documents, so many tokens of each topic, as canonical counts."""
    n, n_words = len(tokens), topic_word.shape[1]
    rows, words = [], []
    for k, row in enumerate(topic_word):
        rows.append(np.repeat(np.arange(n), tokens[:, k]))
        words.append(rng.choice(n_words, len(rows[-1]), p=row))
    row, word = np.concatenate(rows), np.concatenate(words)
    counts = sp.csr_matrix((np.ones(len(row), np.int32), (row, word)), shape=(n, n_words))
    counts.sum_duplicates()
    return counts
