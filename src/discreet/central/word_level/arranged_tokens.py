r"""Tokens in an order that no word decides.

A matrix of counts has no order of tokens, and whoever writes it out word by word makes one that depends on the
words: replace one token's word, and it moves to another place in its document. A sweep then draws it earlier or
later than before, the other tokens are drawn given other counts, and *their* laws differ too: the proof of
:mod:`discreet.central.word_level.hybrid_gibbs`, in which only one token's draw differs, would not hold.

So each document's tokens are put in an order drawn uniformly at random, once, from the secure source. Two
documents that differ in one token's word then have the same law of arrangement up to that word: there is a
bijection between their arrangements (equally probable all) such that matched ones differ at one place only.
What is proved for matched arrangements holds for the mixture over them, because the privacy loss is jointly
(quasi-)convex.
"""

from typing import Any

import numpy as np

from discreet.lda.documents import read_documents
from discreet.lda.gibbs.state import Tokens, read_tokens
from discreet.privacy.noise.stream import SecureStream

__all__ = ["arrange"]


def arrange(counts: Any, stream: SecureStream) -> Tokens:
    """Write counts out as tokens, in a random order within each document.

    Parameters
    ----------
    counts : sparse matrix of shape (n_documents, n_words)
        Whole numbers.
    stream : SecureStream
        Decides the order.
    """
    tokens = read_tokens(read_documents(counts))
    n_tokens = len(tokens.words)
    document = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.indptr))
    while True:
        keys = stream.words(n_tokens)
        order = np.lexsort((keys, document))
        ranked = keys[order]
        # Two equal keys in a document would be ordered by their words: draw all of them again.
        if not ((ranked[1:] == ranked[:-1]) & (document[1:] == document[:-1])).any():
            return tokens._replace(words=np.ascontiguousarray(tokens.words[order]))
