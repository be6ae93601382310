"""Variational Bayes beside scikit-learn, and beside gensim where it is installed: equal passes, interleaved.

    python benchmarks/variational.py [--corpus nips] [--topics 50] [--documents 1500] [--passes 4] [--rounds 3]
    python benchmarks/variational.py --fold-in --corpus tweets-emoji --documents 100000

CPU seconds a pass, child processes included, and wall seconds (which want an idle machine); BLAS on one thread; the
median of the rounds. Every trainer has the same priors and the same rule for a document (100 iterations, or a mean
change under 1e-3). With ``--fold-in``: documents folded into finished topics instead, by ``transform``. The corpora
are those of the folder that DISCREET_DATA names.
"""

import argparse
import os
import resource
import statistics
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from discreet.lda import VariationalLDA

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ONE, TWO = "discreet n_jobs=1", "discreet n_jobs=2"


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


def trainers_of(counts, n_topics, passes):
    def ours(n_jobs):
        return VariationalLDA(
            n_topics, max_iter=passes, tol=0.0, init="random", random_state=0, n_jobs=n_jobs
        ).fit(counts)

    def theirs(n_jobs):
        return LatentDirichletAllocation(
            n_topics,
            doc_topic_prior=0.1,
            topic_word_prior=0.01,
            max_iter=passes,
            random_state=0,
            n_jobs=n_jobs,
        ).fit(counts.astype(float))

    return {
        ONE: lambda: ours(1),
        TWO: lambda: ours(2),
        "scikit-learn n_jobs=1": lambda: theirs(1),
        "scikit-learn n_jobs=2": lambda: theirs(2),
        **gensim_trainers(counts, n_topics, passes),
    }


def folders_of(counts, n_topics):
    first = counts[:2000]
    ours = VariationalLDA(n_topics, max_iter=3, random_state=0).fit(first)
    theirs = LatentDirichletAllocation(
        n_topics, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=3, random_state=0
    ).fit(first.astype(float))
    return {
        ONE: lambda: ours.set_params(n_jobs=1).transform(counts),
        TWO: lambda: ours.set_params(n_jobs=2).transform(counts),
        "scikit-learn n_jobs=1": lambda: theirs.set_params(n_jobs=1).transform(counts.astype(float)),
        "scikit-learn n_jobs=2": lambda: theirs.set_params(n_jobs=2).transform(counts.astype(float)),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="nips")
    for name, value in (("topics", 50), ("documents", 1500), ("passes", 4), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--fold-in", action="store_true", help="time transform, not training")
    given = parser.parse_args()
    counts = sp.load_npz(DATA / given.corpus / "counts.npz").tocsr()[: given.documents]
    counts = counts[np.asarray(counts.sum(axis=1)).ravel() > 0]
    passes = 1 if given.fold_in else given.passes
    trainers = (
        folders_of(counts, given.topics) if given.fold_in else trainers_of(counts, given.topics, passes)
    )
    VariationalLDA(given.topics, max_iter=1, random_state=0).fit(counts[:20]).transform(
        counts[:20]
    )  # compiles
    times = {name: [] for name in trainers}
    with threadpool_limits(1):
        for _ in range(given.rounds):
            for name, train in trainers.items():
                start = cpu_seconds(), time.perf_counter()
                train()
                cpu, wall = cpu_seconds() - start[0], time.perf_counter() - start[1]
                times[name].append((cpu / passes, wall / passes))
    what = "folded in" if given.fold_in else f"{passes} passes"
    print(f"{given.corpus}, {counts.shape[0]} documents, K = {given.topics}, {what}")
    middle = {
        name: [statistics.median(v) for v in zip(*values, strict=True)] for name, values in times.items()
    }
    for name, (cpu, wall) in middle.items():
        # joblib's workers live on, and nobody is told their CPU time
        told = "" if name == "scikit-learn n_jobs=2" else f"{cpu:8.3f} CPU s, {cpu / middle[ONE][0]:5.1f} x;"
        print(
            f"{name:24} {told:26}"
            f" {wall:8.3f} wall s a pass, {wall / middle[TWO][1]:5.1f} x two threads of ours"
        )


if __name__ == "__main__":
    main()
