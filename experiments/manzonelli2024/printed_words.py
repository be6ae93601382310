"""The greedy vocabulary as Carvalho, Wang and Gondara (2022) print it and Manzonelli et al. (2024) use it (GW).

The printed threshold, 1 + ln(1/(2 delta))/epsilon, covers one word that only one document has; a document with t such
words leaks one of them with probability up to delta (1 + (t - 1) e^-epsilon), see docs/errata.md. And of words that a
document uses equally often it prefers those that stand first in its text. Everything else is the library's.
"""

import math
from collections import Counter

import numpy as np
import scipy.sparse as sp

from discreet import Ledger
from discreet.central.vocabulary.methods import Greedy, laplace_threshold
from discreet.central.vocabulary.units import UnitWords, hash_units, is_writable, secret_order
from discreet.privacy.accounting import events
from discreet.privacy.noise.stream import SecureStream


class PrintedGreedy(Greedy):
    """Greedy under the printed threshold; its event says what that costs."""

    @property
    def threshold(self):
        return laplace_threshold(self.epsilon, self.delta, 1)

    @property
    def leak(self):
        """Probability with which a unit of private words can leak."""
        return min(1.0, self.delta * (1.0 + (self.max_words - 1) * math.exp(-self.epsilon)))

    def event(self):
        return events.with_delta(self.mechanism.event(), self.leak)


def count_in_text_order(texts, tokenizer):
    """Count words; entries of a row stand in the order in which the text uses the words."""
    number, indices, data, indptr = {}, [], [], [0]
    for text in texts:
        counted = Counter(tokenizer(text))  # keeps the order of first use
        indices.extend(number.setdefault(word, len(number)) for word in counted)
        data.extend(counted.values())
        indptr.append(len(indices))
    arrays = (np.array(data, np.int32), np.array(indices, np.int64), np.array(indptr, np.int64))
    return sp.csr_matrix(arrays, shape=(len(indptr) - 1, len(number))), tuple(number)


def ranked_as_written(counts, order):
    """Return the words of each document, most used first, equally frequent ones as its row has them."""
    indptr, held = counts.indptr.astype(np.int64), np.zeros(counts.shape[0], np.uint64)
    hash_units(0, len(held), indptr, counts.indices, counts.data, order, held)
    rows = [slice(*indptr[d : d + 2]) for d in np.argsort(held, kind="stable")]
    words = [counts.indices[row][np.argsort(-counts.data[row], kind="stable")] for row in rows]
    ends = np.cumsum([0, *(len(row) for row in words)])
    return UnitWords(ends.astype(np.int64), np.concatenate([np.zeros(0, np.int64), *words]).astype(np.int64))


def choose(counts, words, epsilon, delta, *, max_words=100, seed=None):
    """Return the words chosen, sorted, and the ledger that they are booked on."""
    method = PrintedGreedy(epsilon, delta, max_words)
    ledger = Ledger(math.inf, min(2 * method.leak, (1 + method.leak) / 2))
    reservation = ledger.reserve(
        method.event(), "vocabulary: greedy, published threshold, for reproduction only"
    )
    stream = SecureStream(seed).spawn("vocabulary")
    order = secret_order(words, stream.spawn("order").words(8).tobytes())
    chosen = method.choose(ranked_as_written(counts, order), stream.spawn("noise"), reservation)
    return sorted(filter(is_writable, (words[number] for number in chosen.words))), ledger
