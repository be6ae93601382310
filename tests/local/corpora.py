"""The blog entries that several tests of this room use."""

import numpy as np
import scipy.sparse as sp


def kos(shared_data, n_words=1000, n_test=430, seed=0):
    """Return presence of the most frequent words in training and test documents, dense uint8."""
    counts, columns, _ = _frequent(shared_data, n_words)
    counts = counts[:, columns]
    counts = counts[np.asarray((counts > 0).sum(1)).ravel() >= 2]
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    present = (counts > 0).astype(np.uint8).toarray()
    return present[order[n_test:]], present[order[:n_test]]


def kos_words(shared_data, n_words=1000):
    """Return the words that the columns of ``kos`` stand for."""
    _, columns, words = _frequent(shared_data, n_words)
    return [words[column] for column in columns]


def _frequent(shared_data, n_words):
    counts = sp.load_npz(shared_data / "kos" / "counts.npz").tocsr()
    words = (shared_data / "kos" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    stop = set((shared_data / "stopwords.txt").read_text(encoding="utf-8").split())
    total = np.asarray(counts.sum(0)).ravel().astype(float)
    total[[i for i, word in enumerate(words) if word in stop]] = -1
    return counts, np.sort(np.argsort(-total)[:n_words]), words
