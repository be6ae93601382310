"""Compiled halves of a Metropolis-Hastings sweep; see ``sweep`` for what they do and why.

``packed`` holds, for each token in the order of words, its topic (low 16 bits) and a proposal (high 16 bits).
"""

from typing import Any

import numpy as np
from numba import uint32, uint64

from discreet._kernels import kernel
from discreet.lda.gibbs.counter_stream import stream_at

__all__ = ["document_phase", "word_phase"]

_TOPIC = 0xFFFF


@kernel(error_model="numpy")
def word_phase(
    indptr: Any,
    packed: Any,
    scale: Any,
    beta: Any,
    accept_key: Any,
    propose_key: Any,
    has_proposals: bool,
    first: int,
    last: int,
    row: Any,
    totals: Any,
) -> None:
    """Accept or refuse the documents' proposals, then propose topics from each word's counts.

    Parameters
    ----------
    indptr : array of shape (n_words + 1,), int64
        Where the tokens of each word begin.
    packed : array of shape (n_tokens,), uint32
        Is changed in place, the tokens of words ``first`` to ``last`` only.
    scale : array of shape (n_topics,), float32
        V / (c_k + V beta).
    beta : float32
        Topic-word prior.
    accept_key, propose_key : uint64
        Streams; token j uses word j of each.
    has_proposals : bool
        False in the first sweep.
    first, last : int
        Words to work on.
    row : array of shape (n_topics,), float32
        Scratch space.
    totals : array of shape (n_topics,), int64
        Receives the number of tokens of each topic.
    """
    n_topics = len(scale)
    one = np.float32(1)
    for w in range(first, last):
        start, end = indptr[w], indptr[w + 1]
        for k in range(n_topics):
            row[k] = beta
        for j in range(start, end):
            row[packed[j] & uint32(_TOPIC)] += one
        if has_proposals:
            for j in range(start, end):
                old = packed[j] & uint32(_TOPIC)
                new = packed[j] >> uint32(16)
                uniform = np.float32(stream_at(accept_key, j) >> uint64(40)) * np.float32(2.0**-24)
                taken = uniform * ((row[old] - one) * scale[old]) < row[new] * scale[new]
                packed[j] = new if taken else old
        n = end - start
        others = n - 1
        mass = (others + n_topics * float(beta)) * 2.0**-32
        for j in range(start, end):
            place = float(stream_at(propose_key, j) >> uint64(32)) * mass
            if place < others:  # a random other token's topic; its high bits may hold a proposal by now
                other = start + np.int64(place)
                other += other >= j
                proposed = packed[other] & uint32(_TOPIC)
            else:  # any topic: beta each
                proposed = uint32(min(np.int64((place - others) / beta), n_topics - 1))
            topic = packed[j] & uint32(_TOPIC)
            totals[topic] += 1
            packed[j] = topic | (proposed << uint32(16))


@kernel(error_model="numpy")
def document_phase(
    indptr: Any,
    position: Any,
    packed: Any,
    scale: Any,
    alpha: Any,
    alpha_places: Any,
    accept_key: Any,
    propose_key: Any,
    first: int,
    last: int,
    counts: Any,
    own: Any,
    totals: Any,
) -> None:
    """Accept or refuse the words' proposals, then propose topics from each document's counts.

    Parameters
    ----------
    indptr : array of shape (n_documents + 1,), int64
        Where documents begin.
    position : array of shape (n_tokens,), int32
        Where each token of the documents stands in ``packed``.
    packed : array of shape (n_tokens,), uint32
        Is changed in place, the tokens of documents ``first`` to ``last`` only.
    scale : array of shape (n_topics,), float32
        V / (c_k + V beta).
    alpha : array of shape (n_topics,), float32
        Document-topic prior.
    alpha_places : array of shape (n_topics,), float64
        Prefix sums of alpha.
    accept_key, propose_key : uint64
        Streams; token i uses word i of each.
    first, last : int
        Documents to work on.
    counts : array of shape (n_topics,), float32
        Scratch space.
    own : array of shape (longest document,), uint32
        Scratch space.
    totals : array of shape (n_topics,), int64
        Receives the number of tokens of each topic.
    """
    n_topics = len(scale)
    one = np.float32(1)
    alpha_mass = alpha_places[n_topics - 1]
    equal_alpha = alpha_mass / n_topics
    symmetric = True
    for k in range(n_topics):
        symmetric = symmetric and alpha[k] == alpha[0]
    for d in range(first, last):
        start, end = indptr[d], indptr[d + 1]
        n = end - start
        if 2 * n < n_topics:  # only these topics are looked at
            for i in range(n):
                own[i] = packed[position[start + i]]
                counts[own[i] & uint32(_TOPIC)] = 0
                counts[own[i] >> uint32(16)] = 0
        else:
            for i in range(n):
                own[i] = packed[position[start + i]]
            for k in range(n_topics):
                counts[k] = 0
        for i in range(n):
            counts[own[i] & uint32(_TOPIC)] += one
        for i in range(n):
            old = own[i] & uint32(_TOPIC)
            new = own[i] >> uint32(16)
            uniform = np.float32(stream_at(accept_key, start + i) >> uint64(40)) * np.float32(2.0**-24)
            counts[old] -= one
            here = (counts[old] + alpha[old]) * scale[old]
            there = (counts[new] + alpha[new]) * scale[new]
            topic = new if uniform * here < there else old
            counts[topic] += one
            totals[topic] += 1
            own[i] = topic
        others = n - 1
        mass = (others + alpha_mass) * 2.0**-32
        for i in range(n):
            place = float(stream_at(propose_key, start + i) >> uint64(32)) * mass
            if place < others:
                other = np.int64(place)
                other += other >= i
                proposed = own[other]
            elif symmetric:
                proposed = uint32(min(np.int64((place - others) / equal_alpha), n_topics - 1))
            else:
                proposed = uint32(
                    min(np.searchsorted(alpha_places, place - others, side="right"), n_topics - 1)
                )
            packed[position[start + i]] = own[i] | (proposed << uint32(16))
