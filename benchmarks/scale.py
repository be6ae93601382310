"""Fits larger than memory: peak memory, throughput beside a fit in memory, one worker process beside two.

    python benchmarks/scale.py draw FOLDER --documents 8200000     shards of documents from planted topics
    python benchmarks/scale.py fit FOLDER [--threads 2]            a private fit of them: memory, seconds, recovery
    python benchmarks/scale.py compare [--documents 200000]        memory, shards and worker processes, in turns

Documents have the shape of PubMed's abstracts: 10,000 words, some 60 different ones in each. Nothing is downloaded.
Recovery is the mean over planted topics of the best cosine with a topic found, each found topic used once.
"""

import argparse
import hashlib
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from discreet import Corpus, PrivateLDA
from discreet.corpus import ShardedCorpus, write_shards

WORDS, TOPICS, TOKENS, PIECE = 10_000, 20, 72, 20_000
DELTA = 1e-9  # far below one in ten million documents


def planted(seed=0, n_words=WORDS, n_topics=TOPICS):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(5, n_words + 5) ** 0.8
    topics = rng.gamma(0.08, size=(n_topics, n_words)) * weights[rng.permutation(n_words)]
    return topics / topics.sum(1, keepdims=True)


def pieces(n_documents, topics, seed=1):
    (n_topics, n_words), cumulative = topics.shape, [np.cumsum(topic) for topic in topics]
    for number, start in enumerate(range(0, n_documents, PIECE)):
        rng = np.random.default_rng([seed, number])
        n = min(PIECE, n_documents - start)
        theta = np.cumsum(rng.dirichlet(np.full(n_topics, 0.1), n), axis=1)
        lengths = rng.poisson(TOKENS, n)
        document = np.repeat(np.arange(n), lengths)
        place = rng.random(len(document))
        topic = (theta[document] < place[:, None]).sum(1)
        topic = np.minimum(topic, n_topics - 1)
        word = np.empty(len(document), np.int64)
        for k in range(n_topics):
            mine = np.flatnonzero(topic == k)
            word[mine] = np.minimum(np.searchsorted(cumulative[k], rng.random(len(mine))), n_words - 1)
        ones = np.ones(len(word), np.int32)
        yield sp.csr_matrix((ones, (document, word)), shape=(n, n_words))


def vocabulary(n_words=WORDS):
    return [f"word{i}" for i in range(n_words)]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def draw(folder, n_documents, shard_documents):
    begun = time.perf_counter()
    shards = write_shards(
        pieces(n_documents, planted()),
        folder,
        shard_documents=shard_documents,
        vocabulary=vocabulary(),
        words_are_public=True,
    )
    size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**30
    entries = shards.manifest.total("n_entries") / n_documents
    say(
        shards=repr(shards),
        gigabytes=size,
        distinct_words=entries,
        seconds=time.perf_counter() - begun,
        peak_gib=peak(),
    )


def say(**values):
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}), flush=True)


def model(**how):
    how |= {"delta": DELTA, "random_state": 0, "allow_unlearnable": True}  # small tries are to run, too
    return PrivateLDA(TOPICS, epsilon=1.0, **how)


def digest(found):
    return hashlib.sha256(found.release_.topic_word.tobytes()).hexdigest()[:16]


def fit(folder, threads):
    shards, before = ShardedCorpus(folder), peak()
    wall, cpu = time.perf_counter(), time.process_time()
    found = model(
        n_jobs=threads, callback=lambda *stage: say(stage=stage, wall=time.perf_counter() - wall)
    ).fit(shards)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    say(
        documents=len(shards),
        threads=threads,
        wall_seconds=wall,
        cpu_seconds=cpu,
        documents_a_cpu_second=len(shards) / cpu,
        peak_before_gib=before,
        peak_gib=peak(),
        recovery=float(np.mean(cosine(found.components_, planted()))),
        digest=digest(found),
    )


def cosine(found, true):
    a = found / np.linalg.norm(found, axis=1, keepdims=True)
    b = true / np.linalg.norm(true, axis=1, keepdims=True)
    table = b @ a.T
    return table[linear_sum_assignment(-table)]


def compare(n_documents, rounds, shard_documents):
    from distributed import Client, LocalCluster

    from discreet.engines import DaskEngine

    rows = sp.vstack(list(pieces(n_documents, planted())), format="csr")
    corpus = Corpus(rows, vocabulary(), words_are_public=True)
    how = {
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": 50,
        "memory_limit": 0,
    }
    with (
        tempfile.TemporaryDirectory() as room,
        LocalCluster(n_workers=1, **how) as one,
        LocalCluster(n_workers=2, **how) as two,
        Client(one) as client_of_one,
        Client(two) as client_of_two,
    ):
        shards = write_shards(corpus, Path(room) / "s", shard_documents=shard_documents)
        sides = {
            "memory, 1 thread": lambda: model(n_jobs=1).fit(corpus),
            "shards, 1 thread": lambda: model(n_jobs=1).fit(shards),
            "shards, 2 threads": lambda: model(n_jobs=2).fit(shards),
            "shards, 1 worker": lambda: model(engine=DaskEngine(client_of_one)).fit(shards),
            "shards, 2 workers": lambda: model(engine=DaskEngine(client_of_two)).fit(shards),
        }
        times = {name: [] for name in sides}
        digests = set()
        for turn in range(rounds + 1):
            for name in sorted(sides, reverse=turn % 2 == 1):
                wall, cpu = time.perf_counter(), time.process_time()
                digests.add(digest(sides[name]()))
                if turn:  # the first compiles
                    times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
        for name, found in times.items():
            wall, cpu = (statistics.median(one[i] for one in found) for i in (0, 1))
            say(side=name, documents=n_documents, wall_seconds=wall, cpu_seconds_here=cpu, rounds=rounds)
        say(digests=len(digests))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["draw", "fit", "compare"])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--shard-documents", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.what == "draw":
        draw(given.folder, given.documents, given.shard_documents)
    elif given.what == "fit":
        fit(given.folder, given.threads)
    else:
        compare(given.documents, given.rounds, min(given.shard_documents, given.documents // 8))


if __name__ == "__main__":
    main()
