"""The private fit of many documents beside peers that promise nothing, each in a process of its own, in turns.

    python benchmarks/scale_peers.py --documents 1000000 --threads 1      an hour or two
    python benchmarks/scale_peers.py --documents 5000 --cap 30            tries it

Peers, where they can be imported: gensim's LdaMulticore (or LdaModel on one thread), scikit-learn's online LDA by
``partial_fit``, Spark MLlib's online LDA (pyspark, Java 17). All get the same documents, 20 topics, alpha = 0.1 and as
many threads; documents are in the form that each wants before the clock starts, Spark's with them in its cache. After
each twentieth of a pass it is asked how well the topics foretell held-out documents
(``discreet.evaluate.completion_perplexity``); that is not timed. The line: within two per cent of the perplexity of
``PrivateLDA(epsilon=inf)``, which runs first. A peer stops there, or when it has had ``--cap`` seconds. Spark cannot go
on from where it stopped: it is fitted anew with half as many iterations again, then with numbers in between until the
fewest that reach the line are known to a tenth; the seconds are those of that one fit.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scale import DELTA, TOPICS, WORDS, pieces, planted, vocabulary
from scale_tools import Clock, in_own_process

ALPHA, ETA, ASKED_A_PASS = 0.1, 0.01, 20
OURS = {"not private": np.inf, "private, epsilon 1": 1.0}


def in_turn(counts, batch):
    """Go through the documents again and again, a twentieth of them at a time, in whole batches."""
    step = max(1, round(counts.shape[0] / ASKED_A_PASS / batch)) * batch
    while True:
        for first in range(0, counts.shape[0], step):
            yield counts[first : first + step]


def fit_ours(counts, epsilon, threads):
    from discreet import Corpus, PrivateLDA

    how = {
        "epsilon": epsilon,
        "delta": DELTA,
        "random_state": 0,
        "n_jobs": threads,
        "allow_unlearnable": True,
    }
    few, corpus = (Corpus(rows, vocabulary(), words_are_public=True) for rows in (counts[:2000], counts))
    PrivateLDA(TOPICS, **how).fit(few)  # compiles
    clock = Clock()
    with clock:
        model = PrivateLDA(TOPICS, **how).fit(corpus)
    yield clock, counts.shape[0], model.components_


def fit_scikit_learn(counts, batch, threads, _):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        TOPICS,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method="online",
        total_samples=counts.shape[0],
        batch_size=batch,
        n_jobs=threads,
        random_state=0,
    )
    clock, seen = Clock(), 0
    for piece in in_turn(counts, batch):
        for first in range(0, piece.shape[0], batch):
            rows = piece[first : first + batch]
            with clock:
                model.partial_fit(rows)
        seen += piece.shape[0]
        yield clock, seen, model.components_


def fit_gensim(counts, batch, threads, _):
    import gensim

    kind = gensim.models.LdaMulticore if threads > 1 else gensim.models.LdaModel
    more = {"workers": threads - 1} if threads > 1 else {}
    model = kind(
        num_topics=TOPICS,
        id2word={i: str(i) for i in range(counts.shape[1])},
        alpha=np.full(TOPICS, ALPHA, np.float32),
        eta=ETA,
        chunksize=batch,
        eval_every=None,
        random_state=0,
        **more,
    )
    clock, seen = Clock(), 0
    for piece in in_turn(counts, batch):
        documents = [
            list(zip(piece.indices[a:b].tolist(), piece.data[a:b].tolist(), strict=True))
            for a, b in pairwise(piece.indptr)
        ]
        model.state.numdocs = counts.shape[0] - len(
            documents
        )  # it adds these: the size of all, from the start
        with clock:
            model.update(documents)
        seen += len(documents)
        yield clock, seen, model.get_topics().astype(float)


def spark_frame(counts, threads, room):
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    spark = session.config("spark.driver.memory", "6g").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for first in range(0, counts.shape[0], 50_000):  # by way of a file: neither side holds all of it twice
        piece = counts[first : first + 50_000]
        rows = [
            (Vectors.sparse(WORDS, piece.indices[a:b].tolist(), piece.data[a:b].astype(float).tolist()),)
            for a, b in pairwise(piece.indptr)
        ]
        spark.createDataFrame(rows, ["features"]).write.mode("append").parquet(str(room / "spark.parquet"))
    frame = spark.read.parquet(str(room / "spark.parquet")).coalesce(4 * threads).cache()
    frame.count()
    return frame


def fit_spark(counts, batch, threads, room):
    from pyspark.ml.clustering import LDA

    def fit(iterations):
        how = {
            "docConcentration": [ALPHA] * TOPICS,
            "topicConcentration": ETA,
            "optimizeDocConcentration": False,
        }
        how |= {"optimizer": "online", "subsamplingRate": share, "seed": 0}
        return LDA(k=TOPICS, maxIter=iterations, **how).fit(frame)

    frame, share = spark_frame(counts, threads, room), min(1.0, batch / counts.shape[0])
    fit(1)  # compiles
    lowest, iterations, highest = 0, max(1, round(1 / share / ASKED_A_PASS)), None
    while highest is None or iterations not in (lowest, highest):
        clock = Clock()
        with clock:
            model = fit(iterations)
        reached = yield clock, round(iterations * share * counts.shape[0]), model.topicsMatrix().toArray().T
        lowest, highest = (lowest, iterations) if reached else (iterations, highest)
        if highest is None:
            iterations = math.ceil(1.5 * iterations)
        elif highest <= 1.1 * lowest:
            return
        else:
            iterations = (lowest + highest) // 2


PEERS = {
    "gensim": ("gensim", fit_gensim),
    "scikit-learn": ("sklearn", fit_scikit_learn),
    "spark": ("pyspark", fit_spark),
}


def one(name, data, batch, threads, line, cap):
    from discreet.evaluate import completion_perplexity

    counts, held_out = sp.load_npz(data / "train.npz"), sp.load_npz(data / "held_out.npz")
    steps = (
        fit_ours(counts, OURS[name], threads)
        if name in OURS
        else PEERS[name][1](counts, batch, threads, data)
    )
    found, answer = [], None
    while True:
        try:
            clock, seen, topics = steps.send(answer)
        except StopIteration:
            break
        topics = np.maximum(topics, 1e-12)
        topics /= topics.sum(1, keepdims=True)
        perplexity = float(completion_perplexity(topics, held_out, doc_topic_prior=ALPHA))
        found.append({"documents": seen, "wall": clock.wall, "cpu": clock.cpu, "perplexity": perplexity})
        print(name, json.dumps(found[-1]), file=sys.stderr, flush=True)
        answer = line is not None and perplexity <= line
        if (answer and name != "spark") or clock.wall > cap:
            break
    print(json.dumps(found))


def first_at(line, found):
    """Return the quickest answer at the line, or None."""
    return min((at for at in found if at["perplexity"] <= line), key=lambda at: at["wall"], default=None)


def told(line, runs, cap):
    """Say for each run what it took to the line: wall seconds, CPU seconds and documents seen."""
    parts = []
    for at in (first_at(line, found) for found in runs):
        seconds = at and f"{at['wall']:.1f} s ({at['cpu']:.1f} CPU s, {at['documents']:,} documents)"
        parts.append(seconds or f"more than {cap:g} s")
    return "; ".join(parts)


def run(n_documents, n_held_out, rounds, batch, threads, cap, wanted):
    peers = [
        name for name, (package, _) in PEERS.items() if importlib.util.find_spec(package) and name in wanted
    ]
    names = [*OURS, *peers]
    print(
        json.dumps({"documents": n_documents, "threads": threads, "batch": batch, "sides": names}), flush=True
    )
    runs = {name: [] for name in names}
    line = None
    with tempfile.TemporaryDirectory() as room:
        all_rows = sp.vstack(list(pieces(n_documents + n_held_out, planted())), format="csr")
        sp.save_npz(Path(room) / "train.npz", all_rows[:n_documents])
        sp.save_npz(Path(room) / "held_out.npz", all_rows[n_documents:])
        del all_rows
        how = ["--data", room, "--batch", batch, "--threads", threads, "--cap", cap]
        for turn in range(rounds):
            for name in names[:: 1 if turn % 2 == 0 else -1]:
                more = [] if line is None else ["--line", line]
                runs[name].append(in_own_process(__file__, "--one", name, *how, *more))
                if line is None:
                    line = 1.02 * runs[name][-1][-1]["perplexity"]
                print(json.dumps({name: runs[name][-1]}), flush=True)
    private = max(found[-1]["perplexity"] for found in runs["private, epsilon 1"])
    print(f"the line: {line:.1f}; the private fit's perplexity: {private:.1f}")
    for name in OURS:
        at = [found[-1] for found in runs[name]]
        print(f"{name:>20}: " + "; ".join(f"{one['wall']:.1f} s ({one['cpu']:.1f} CPU s)" for one in at))
    for name in peers:
        print(f"{name:>20}: to the line {told(line, runs[name], cap)}")
        print(f"{'':>20}  to the private fit's perplexity {told(private, runs[name], cap)}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--held-out", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4096, help="documents a step of the peers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cap", type=float, default=900.0, help="seconds after which a peer is stopped")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--line", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        one(given.one, given.data, given.batch, given.threads, given.line, given.cap)
    else:
        run(given.documents, given.held_out, given.rounds, given.batch, given.threads, given.cap, given.peers)


if __name__ == "__main__":
    main()
