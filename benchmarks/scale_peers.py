"""The private fit of many documents beside peers that promise nothing, each in a process of its own, in turns.

    python benchmarks/scale_peers.py --documents 1000000 --rounds 2          an idle machine, some hours
    python benchmarks/scale_peers.py --documents 5000 --rounds 1 --passes 2  tries it

Peers, where they can be imported: gensim's LdaMulticore (or LdaModel on one thread), scikit-learn's online LDA by
``partial_fit``, Spark MLlib's online LDA (pyspark, Java 17). All get the same documents, 20 topics, alpha = 0.1 and as
many threads; documents are in the form that each wants before the clock starts, Spark's with them in its cache. After
each pass it is asked how well the topics foretell held-out documents (``discreet.evaluate.completion_perplexity``);
that is not timed. Seconds to the line: wall seconds until a peer is within two per cent of the perplexity of
``PrivateLDA(epsilon=inf)``.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scale import TOPICS, WORDS, pieces, planted

ALPHA, ETA, BATCH = 0.1, 0.01, 4096
NEEDS = {"gensim": "gensim", "scikit-learn": "sklearn", "spark": "pyspark"}
OURS = {"private, epsilon 1": 1.0, "not private": np.inf}


def fit_ours(counts, epsilon, passes, threads):
    from discreet import Corpus, PrivateLDA

    def corpus(rows):
        return Corpus(rows, [f"word{i}" for i in range(WORDS)], words_are_public=True)

    how = {"random_state": 0, "n_jobs": threads, "allow_unlearnable": True}
    PrivateLDA(TOPICS, epsilon=epsilon, **how).fit(corpus(counts[:2000]))  # compiles
    yield None
    yield PrivateLDA(TOPICS, epsilon=epsilon, **how).fit(corpus(counts)).components_


def fit_scikit_learn(counts, passes, threads):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        TOPICS,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method="online",
        total_samples=counts.shape[0],
        batch_size=BATCH,
        n_jobs=threads,
        random_state=0,
    )
    yield None
    for _ in range(passes):
        for first in range(0, counts.shape[0], BATCH):
            model.partial_fit(counts[first : first + BATCH])
        yield model.components_


def fit_gensim(counts, passes, threads):
    import gensim

    documents = [
        list(zip(counts.indices[a:b].tolist(), counts.data[a:b].tolist(), strict=True))
        for a, b in pairwise(counts.indptr)
    ]
    kind = gensim.models.LdaMulticore if threads > 1 else gensim.models.LdaModel
    more = {"workers": threads - 1} if threads > 1 else {}
    model = kind(
        num_topics=TOPICS,
        id2word={i: str(i) for i in range(counts.shape[1])},
        alpha=np.full(TOPICS, ALPHA, np.float32),
        eta=ETA,
        chunksize=BATCH,
        eval_every=None,
        random_state=0,
        **more,
    )
    yield None
    for _ in range(passes):
        model.update(documents)
        yield model.get_topics().astype(float)


def fit_spark(counts, passes, threads):
    from pyspark.ml.clustering import LDA
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    spark = session.config("spark.driver.memory", "6g").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = (
        (Vectors.sparse(WORDS, counts.indices[a:b].tolist(), counts.data[a:b].astype(float).tolist()),)
        for a, b in pairwise(counts.indptr)
    )
    frame = spark.createDataFrame(list(rows), ["features"]).repartition(4 * threads).cache()
    share = min(1.0, BATCH / counts.shape[0])
    frame.count()
    yield None
    for done in range(1, passes + 1):  # it cannot go on from where it stopped
        model = LDA(
            k=TOPICS,
            optimizer="online",
            maxIter=max(1, round(done / share)),
            subsamplingRate=share,
            docConcentration=[ALPHA] * TOPICS,
            topicConcentration=ETA,
            optimizeDocConcentration=False,
            seed=0,
        ).fit(frame)
        yield model.topicsMatrix().toArray().T


def one(name, data, passes, threads):
    from discreet.evaluate import completion_perplexity

    counts, held_out = sp.load_npz(data / "train.npz"), sp.load_npz(data / "held_out.npz")
    if name in OURS:
        steps = fit_ours(counts, OURS[name], passes, threads)
    else:
        fits = {"scikit-learn": fit_scikit_learn, "gensim": fit_gensim, "spark": fit_spark}
        steps = fits[name](counts, passes, threads)
    next(steps)
    wall = 0.0
    found = []
    while True:
        begun = time.perf_counter()
        topics = next(steps, None)
        if topics is None:
            break
        passed = time.perf_counter() - begun
        wall = passed if name == "spark" else wall + passed
        topics = np.maximum(topics, 1e-12)
        perplexity = completion_perplexity(
            topics / topics.sum(1, keepdims=True), held_out, doc_topic_prior=ALPHA
        )
        found.append({"wall": round(wall, 3), "perplexity": round(float(perplexity), 2)})
    print(json.dumps({"name": name, "after_each_pass": found}))


def run(n_documents, n_held_out, rounds, passes, threads):
    names = [*OURS, *(name for name, package in NEEDS.items() if importlib.util.find_spec(package))]
    print(json.dumps({"documents": n_documents, "threads": threads, "sides": names}), flush=True)
    seconds = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as room:
        all_rows = sp.vstack(list(pieces(n_documents + n_held_out, planted())), format="csr")
        sp.save_npz(Path(room) / "train.npz", all_rows[:n_documents])
        sp.save_npz(Path(room) / "held_out.npz", all_rows[n_documents:])
        del all_rows
        for turn in range(rounds):
            for name in names[:: 1 if turn % 2 == 0 else -1]:
                line = [sys.executable, __file__, "--one", name, "--data", room]
                line += ["--passes", str(passes), "--threads", str(threads)]
                done = subprocess.run(
                    line, check=False, capture_output=True, text=True, cwd=Path(__file__).parent
                )
                if done.returncode:
                    print(name, "failed:", done.stderr[-500:], flush=True)
                    continue
                seconds[name].append(json.loads(done.stdout.splitlines()[-1])["after_each_pass"])
                print(done.stdout.splitlines()[-1], flush=True)
    line = 1.02 * min(found[-1]["perplexity"] for found in seconds["not private"])
    print(f"the line: {line:.1f}")
    for name, runs in seconds.items():
        to_line = [next((one["wall"] for one in found if one["perplexity"] <= line), None) for found in runs]
        last = [(found[-1]["wall"], found[-1]["perplexity"]) for found in runs]
        print(f"{name:>20}: to the line {to_line}, at the end (seconds, perplexity) {last}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--held-out", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--one")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.one is not None:
        one(given.one, given.data, given.passes, given.threads)
    else:
        run(given.documents, given.held_out, given.rounds, given.passes, given.threads)


if __name__ == "__main__":
    main()
