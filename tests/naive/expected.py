"""Expected counts of a state, token by token: take the token out, and ask how its topic would be drawn."""

import numpy as np


def expected_counts(tokens, topics, alpha, beta, mistake=""):
    """(n_words, n_topics) of the documents' tokens."""
    indptr, words, n_words = tokens
    n_topics = len(alpha)
    counts = np.zeros((n_words, n_topics))
    np.add.at(counts, (words, topics), 1)
    found = np.zeros((n_words, n_topics))
    for d in range(len(indptr) - 1):
        here = range(indptr[d], indptr[d + 1])
        document = np.bincount(topics[indptr[d] : indptr[d + 1]], minlength=n_topics).astype(float)
        for i in here:
            others, table, totals = document.copy(), counts.copy(), counts.sum(axis=0)
            if mistake != "stays in its document":
                others[topics[i]] -= 1
            if mistake != "stays in its word":
                table[words[i], topics[i]] -= 1
            if mistake != "stays in its topic":
                totals[topics[i]] -= 1
            weights = (others + (alpha[::-1] if mistake == "another alpha" else alpha)) * (
                table[words[i]] + beta
            )
            weights /= totals + (n_words if mistake != "one beta" else 1) * beta
            found[words[i]] += weights / weights.sum()
    return found
