"""The blog entries that several tests of this room use."""

import numpy as np
import scipy.sparse as sp


def kos(shared_data, n_words=1000, n_test=430, seed=0):
    """Return presence of the most frequent words in training and test documents, dense uint8."""
    counts = sp.load_npz(shared_data / "kos" / "counts.npz").tocsr()
    words = (shared_data / "kos" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    stop = set((shared_data / "stopwords.txt").read_text(encoding="utf-8").split())
    total = np.asarray(counts.sum(0)).ravel().astype(float)
    total[[i for i, word in enumerate(words) if word in stop]] = -1
    counts = counts[:, np.sort(np.argsort(-total)[:n_words])]
    counts = counts[np.asarray((counts > 0).sum(1)).ravel() >= 2]
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    present = (counts > 0).astype(np.uint8).toarray()
    return present[order[n_test:]], present[order[:n_test]]
