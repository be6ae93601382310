"""Do our trainers reach the same models as the peers? Held-out perplexity at equal settings, within 1 per cent.

Gibbs sampling against tomotopy, variational Bayes (batch) against scikit-learn; the same training and held-out
documents, priors, number of topics and of sweeps or passes, and one measure for all: completion perplexity of every
tenth document under the topics that each ends with. Gibbs: mean over seeds. Variational Bayes: one run, from the
same start, which the peer's seed gives. What matters is two-sided: a lower perplexity
than the peer's also means that the settings are not the same.

    python benchmarks/agreement.py              # kos, nips and reuters21578
    python benchmarks/agreement.py --corpora kos --seeds 1

Peers that are not installed are left out. Exit code 1 if a difference is above ``--limit`` per cent, 2 if there was
nothing to compare.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ALPHA, BETA = 0.1, 0.01


def gibbs_ours(train, n_topics, n_sweeps, seed):
    from discreet.lda import GibbsLDA

    model = GibbsLDA(
        n_topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        init="random",
        n_sweeps=n_sweeps,
        random_state=seed,
    )
    topics = model.fit(train).topic_word_counts_ + BETA  # of the last sweep, as the peer's; not the mean
    return topics / topics.sum(axis=1, keepdims=True)


def gibbs_tomotopy(train, n_topics, n_sweeps, seed):
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=seed + 1)
    model.optim_interval = 0  # the priors stay as they are
    for row in range(train.shape[0]):
        part = slice(train.indptr[row], train.indptr[row + 1])
        words = np.repeat(train.indices[part], train.data[part])
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(n_sweeps, workers=1, show_progress=False)
    # Words that no document holds are unknown to it: they have the prior's probability.
    columns = np.array([int(word) for word in model.used_vocabs])
    weight = np.asarray(model.get_count_by_topics(), np.float64)
    topics = np.empty((n_topics, train.shape[1]))
    for k in range(n_topics):
        known = np.asarray(model.get_topic_word_dist(k, normalize=True), np.float64)
        counts = known * (weight[k] + len(columns) * BETA) - BETA
        topics[k] = BETA
        topics[k, columns] += np.maximum(counts, 0)
    return topics / topics.sum(axis=1, keepdims=True)


def variational_ours(train, n_topics, n_passes, seed):
    from discreet.lda import VariationalLDA

    model = VariationalLDA(
        n_topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        max_iter=n_passes,
        tol=0.0,
        # scikit-learn's own start, as it draws it
        init=np.random.RandomState(seed).gamma(100.0, 0.01, (n_topics, train.shape[1])),
    )
    return model.fit(train).topic_word_


def variational_sklearn(train, n_topics, n_passes, seed):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        max_iter=n_passes,
        learning_method="batch",
        random_state=seed,
    )
    components = model.fit(train).components_
    return components / components.sum(axis=1, keepdims=True)


PAIRS = {
    "tomotopy": ("Gibbs", gibbs_ours, gibbs_tomotopy),
    "sklearn": ("variational", variational_ours, variational_sklearn),
}


def installed(name):
    from importlib.util import find_spec

    return find_spec(name) is not None


def compare(peer, train, held_out, options):
    from discreet.evaluate import completion_perplexity

    _, ours, theirs = PAIRS[peer]
    amount = options.sweeps if peer == "tomotopy" else options.passes
    values, seconds = ([], []), [0.0, 0.0]
    for seed in range(options.seeds if peer == "tomotopy" else 1):
        for side, trainer in enumerate((ours, theirs)):
            start = time.process_time()
            topics = trainer(train, options.topics, amount, seed)
            seconds[side] += time.process_time() - start
            values[side].append(completion_perplexity(topics, held_out, doc_topic_prior=ALPHA))
    return np.array(values), seconds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=["kos", "nips", "reuters21578"])
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1.0, help="per cent")
    options = parser.parse_args()
    peers = [peer for peer in PAIRS if installed(peer)]
    for peer in PAIRS.keys() - set(peers):
        print(f"{peer} is not installed: left out", file=sys.stderr)
    print(
        f"K = {options.topics}, alpha = {ALPHA}, beta = {BETA}, {options.sweeps} sweeps, {options.passes} passes",
        flush=True,
    )
    print("| corpus | method | peer | ours | theirs | difference | seeds differ by | CPU s, ours / theirs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    worst, compared = 0.0, 0
    for name in options.corpora:
        counts = sp.csr_matrix(sp.load_npz(DATA / name / "counts.npz"))
        rows = np.arange(counts.shape[0])
        train, held_out = counts[rows % 10 != 0], counts[rows % 10 == 0]
        for peer in peers:
            values, seconds = compare(peer, train, held_out, options)
            ours, theirs = values.mean(axis=1)
            difference = 100 * (ours / theirs - 1)
            spread = 100 * (values.max(axis=1) / values.min(axis=1) - 1).max()
            worst, compared = max(worst, abs(difference)), compared + 1
            print(
                f"| {name} | {PAIRS[peer][0]} | {peer} | {ours:.1f} | {theirs:.1f} | {difference:+.2f} % | "
                f"{spread:.2f} % | {seconds[0]:.0f} / {seconds[1]:.0f} |",
                flush=True,
            )
    if not compared:
        return 2
    print(f"largest difference {worst:.2f} %, limit {options.limit:g} %")
    return int(worst > options.limit)


if __name__ == "__main__":
    sys.exit(main())
