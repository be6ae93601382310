r"""FedLDA as the poster describes it (Wang, Tong, Shi, AAAI 2020): slow and plain, and booked as promising nothing.

    python experiments/wang2020/printed_fedlda.py       # printed.csv beside this file

In each round a client folds its documents in under the topics that the server sent, draws a topic for each
token, and answers for each (topic, word) with "random response with priori" (RRP): with probability 1 - eta the
word as it is, else a word drawn from the *client's own* mixture theta and the topics phi, rare topics and rare
words cut off at a tail of delta each. The topic label goes out as it is. The server adds the pairs up and takes
them as counts.

Nothing is promised, whatever eta: words outside the client's own noise support betray themselves, theta shows
in the noise, and the topic is sent in the clear (docs/errata.md). So :data:`PROMISE` is infinite.

eta is typeset as 1 / (delta delta_0 e^(eps + 1)): 2.73 at eps = 5, no probability. Read with the 1 outside the
exponent it is 1 / (delta delta_0 e^eps + 1): .881 and .378 at eps = 5 and 7.5, with delta = .1 and delta_0 =
delta - 1 / (1 / delta + 1), the edge of a Zipf tail. What the poster's tasks "SF" and "SA" are is not spelled
out there; spam filtering and sentiment analysis are our guess, and so are the corpora. Theorem 2 of the poster
bounds the error of the topics by O(eta k^2); the sweep over topics is what we have beside it.
"""

import argparse
import math

import numpy as np
import scipy.sparse as sp
from fedlda import response_probability
from run import HERE, Table, column, corpus, kos, scores

from discreet.evaluate import completion_perplexity
from discreet.lda import fold_in

PROMISE = math.inf
DELTA = 0.1
DELTA_0 = DELTA - 1 / (1 / DELTA + 1)
ALPHA, BETA, FORGETTING = 0.1, 0.1, 0.9
READINGS = {
    "1 / (delta delta_0 e^eps + 1)": lambda epsilon: 1 / (DELTA * DELTA_0 * math.exp(epsilon) + 1),
    "1 / (delta delta_0 e^(eps + 1)), as typeset": lambda epsilon: (
        1 / (DELTA * DELTA_0 * math.exp(epsilon + 1))
    ),
}


def without_tail(rows, tail=DELTA):
    """Keep the largest shares of each row that make up 1 - tail; rows sum to 1 again."""
    order = np.argsort(-rows, axis=1)
    shares = np.take_along_axis(rows, order, 1)
    kept = np.zeros_like(rows)
    np.put_along_axis(kept, order, np.where(shares.cumsum(1) - shares < 1 - tail, shares, 0), 1)
    return kept / kept.sum(1, keepdims=True)


def drawn(shares, rng):
    """Draw a column for each row, with the row's probabilities."""
    sums = shares.cumsum(1)
    return np.minimum((sums < rng.random((len(shares), 1)) * sums[:, -1:]).sum(1), shares.shape[1] - 1)


def answers(words, topics, theta, phi, eta, rng):
    """RRP: the words that clients send for tokens with these topics; ``theta`` has a row for each token."""
    sent = words.copy()
    noisy = np.flatnonzero(rng.random(len(words)) < eta)
    other = drawn(without_tail(theta[noisy]), rng)
    sums = without_tail(phi).cumsum(1)
    digits = rng.random(len(noisy))
    for topic in range(len(phi)):
        mine = other == topic
        sent[noisy[mine]] = np.minimum(np.searchsorted(sums[topic], digits[mine]), phi.shape[1] - 1)
    return sent


def fedlda(present, n_topics, eta, n_rounds, seed, share=1.0):
    """Run all rounds over documents of all clients; return the topics. ``share``: of its tokens, sent in a round."""
    rng = np.random.default_rng(seed)
    n_words = present.shape[1]
    documents = np.repeat(np.arange(present.shape[0]), np.diff(present.indptr))
    words = present.indices.astype(np.int64)
    phi = rng.dirichlet(np.ones(n_words), n_topics)
    total = np.zeros((n_topics, n_words))
    for _ in range(n_rounds):
        theta = np.asarray(fold_in(phi, present, doc_topic_prior=ALPHA, max_iter=40, tol=1e-3))[documents]
        topics = drawn(theta * phi.T[words], rng)
        received, sent = np.zeros_like(total), answers(words, topics, theta, phi, eta, rng)
        chosen = np.flatnonzero(rng.random(len(words)) < share) if share < 1 else slice(None)
        np.add.at(received, (topics[chosen], sent[chosen]), 1)
        total = FORGETTING * total + received
        phi = (total + BETA) / (total + BETA).sum(1, keepdims=True)
    return phi


def poster_data(name, positive):
    present, labels = corpus(name), column(name, "labels.txt")
    keep = np.flatnonzero((np.diff(present.indptr) >= 2) & (labels != "unsup"))
    order = np.random.default_rng(0).permutation(keep)[:15_000]
    train, test = order[:10_000], order[10_000:]
    return present[train], labels[train] == positive, present[test], labels[test] == positive


def table():
    """The poster's table, by both readings of eta where it is a probability; 20 topics, 20 rounds."""
    rows = Table(HERE / "printed.csv")
    for name, positive in (("enron-spam", "spam"), ("imdb", "pos")):
        data = poster_data(name, positive)
        for reading, eta_of in READINGS.items():
            for epsilon in (math.inf, 7.5, 5.0):
                eta = 0.0 if math.isinf(epsilon) else eta_of(epsilon)
                if eta > 1 or (eta == 0 and "typeset" in reading):
                    continue

                def work(data=data, eta=eta):
                    phi = fedlda(data[0], 20, eta, 20, 0)
                    return {
                        **scores(phi, *data),
                        "perplexity": completion_perplexity(phi, data[2]),
                        "total_epsilon": PROMISE,
                    }

                setting = {"part": reading, "corpus": name, "line": "FedLDA, as printed", "epsilon": epsilon}
                rows.add(work, **setting, n_topics=20, n_rounds=20)


def sweeps():
    """Over epsilon, topics, and the share of tokens sent, on kos, completion perplexity; 40 rounds, as sweeps.csv."""
    rows = Table(HERE / "printed.csv")
    parts, test = kos(0)
    train = sp.vstack(parts).tocsr()
    for epsilon, n_topics in [(e, 10) for e in (math.inf, 4.0, 5.0, 6.0, 7.5, 9.0)] + [
        (5.0, k) for k in (5, 20, 50)
    ]:
        eta = 0.0 if math.isinf(epsilon) else READINGS["1 / (delta delta_0 e^eps + 1)"](epsilon)

        def work(eta=eta, n_topics=n_topics):
            phi = fedlda(train, n_topics, eta, 40, 0)
            return {"perplexity": completion_perplexity(phi, test), "total_epsilon": PROMISE}

        setting = {"part": "sweep", "corpus": "kos", "line": "FedLDA, as printed", "epsilon": epsilon}
        rows.add(work, **setting, n_topics=n_topics, n_rounds=40)
    eta = READINGS["1 / (delta delta_0 e^eps + 1)"](7.5)
    for reports in (4, 10, 20, 40):

        def shared(reports=reports):
            phi = fedlda(train, 10, eta, 40, 0, reports / 40)
            return {"perplexity": completion_perplexity(phi, test), "total_epsilon": PROMISE}

        setting = {"part": "share", "corpus": "kos", "line": "FedLDA, as printed", "epsilon": 7.5}
        rows.add(shared, **setting, n_topics=10, n_rounds=40, reports_per_token=reports)


def with_prior(present, n_topics, epsilon, even, n_rounds, seed):
    """The sound mechanism in the same loop: word and topic randomised together, noise from a *public* prior over cells.

    The prior is (1 - even) times the mean topic that the server sent plus ``even`` times uniform, over all topics
    alike; even = 1 is the library's. eta is the least that keeps epsilon: 1 / (1 + q_min (e^epsilon - 1)), and the
    least likely cell decides.
    """
    rng = np.random.default_rng(seed)
    n_words = present.shape[1]
    documents = np.repeat(np.arange(present.shape[0]), np.diff(present.indptr))
    words = present.indices.astype(np.int64)
    phi = rng.dirichlet(np.ones(n_words), n_topics)
    total = np.zeros((n_topics, n_words))
    for _ in range(n_rounds):
        theta = np.asarray(fold_in(phi, present, doc_topic_prior=ALPHA, max_iter=40, tol=1e-3))[documents]
        cells = drawn(theta * phi.T[words], rng) * n_words + words
        prior = np.tile((1 - even) * phi.mean(0) + even / n_words, n_topics) / n_topics
        eta = response_probability(epsilon, float(prior.min()))
        noisy = rng.random(len(cells)) < eta
        cells[noisy] = np.minimum(np.searchsorted(prior.cumsum(), rng.random(noisy.sum())), len(prior) - 1)
        seen = np.bincount(cells, minlength=len(prior))
        counts = np.maximum((seen - eta * len(cells) * prior) / (1 - eta), 0).reshape(phi.shape)
        total = FORGETTING * total + counts
        phi = (total + BETA) / (total + BETA).sum(1, keepdims=True)
    return phi


def priors():
    """The sound mechanism by how even its prior is; kos, 10 topics, 20 rounds."""
    rows = Table(HERE / "printed.csv")
    parts, test = kos(0)
    train = sp.vstack(parts).tocsr()
    for epsilon in (7.5, 5.0):
        for even in (1.0, 0.5, 0.1, 0.01):

            def work(epsilon=epsilon, even=even):
                phi = with_prior(train, 10, epsilon, even, 20, 0)
                return {"perplexity": completion_perplexity(phi, test), "total_epsilon": 20 * epsilon}

            setting = {
                "part": f"prior, even {even:g}",
                "corpus": "kos",
                "line": "rrp, public prior",
                "epsilon": epsilon,
            }
            rows.add(work, **setting, n_topics=10, n_rounds=20)


def main():
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    table()
    sweeps()
    priors()


if __name__ == "__main__":
    main()
