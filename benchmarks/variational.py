"""Variational Bayes beside scikit-learn, and beside gensim where it is installed: equal passes, interleaved.

    python benchmarks/variational.py [--corpus nips] [--topics 50] [--documents 1500] [--passes 4] [--rounds 3]

CPU seconds a pass, child processes included, BLAS on one thread; the median of the rounds. Every trainer has the
same priors and the same rule for a document (100 iterations, or a mean change under 1e-3). The corpora are
those of the folder that DISCREET_DATA names.
"""

import argparse
import os
import resource
import statistics
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from discreet.lda import VariationalLDA

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def cpu_seconds():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def gensim_trainers(counts, n_topics, passes):
    try:
        from gensim.models import LdaModel, LdaMulticore
    except ImportError:
        return {}
    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in counts]
    common = {
        "num_topics": n_topics, "id2word": {w: str(w) for w in range(counts.shape[1])}, "alpha": 0.1, "eta": 0.01,
        "iterations": 100, "gamma_threshold": 1e-3, "eval_every": None, "random_state": 0, "passes": passes,
    }  # fmt: skip
    return {
        "gensim LdaModel": lambda: LdaModel(bags, update_every=0, chunksize=len(bags), **common),
        "gensim LdaMulticore(2)": lambda: LdaMulticore(
            bags, workers=2, batch=True, chunksize=max(1, len(bags) // 8), **common
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="nips")
    for name, value in (("topics", 50), ("documents", 1500), ("passes", 4), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    counts = sp.load_npz(DATA / given.corpus / "counts.npz").tocsr()[: given.documents]
    counts = counts[np.asarray(counts.sum(axis=1)).ravel() > 0]

    def ours(n_jobs):
        return VariationalLDA(
            given.topics, max_iter=given.passes, tol=0.0, random_state=0, n_jobs=n_jobs
        ).fit(counts)

    trainers = {
        "discreet n_jobs=1": lambda: ours(1),
        "discreet n_jobs=2": lambda: ours(2),
        "scikit-learn": lambda: LatentDirichletAllocation(
            given.topics, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=given.passes, random_state=0
        ).fit(counts.astype(float)),
        **gensim_trainers(counts, given.topics, given.passes),
    }
    VariationalLDA(given.topics, max_iter=1, random_state=0).fit(counts[:20])  # compiles
    times = {name: [] for name in trainers}
    with threadpool_limits(1):
        for _ in range(given.rounds):
            for name, train in trainers.items():
                start = cpu_seconds()
                train()
                times[name].append((cpu_seconds() - start) / given.passes)
    print(f"{given.corpus}, {counts.shape[0]} documents, K = {given.topics}, {given.passes} passes")
    base = statistics.median(times["discreet n_jobs=1"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:24} {middle:8.3f} CPU s a pass   {middle / base:6.1f} x")


if __name__ == "__main__":
    main()
