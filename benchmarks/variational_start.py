"""Where variational Bayes begins: held-out perplexity of `VariationalLDA` against CPU seconds, from either start.

    python benchmarks/variational_start.py                        # six corpora, K = 50, two seeds
    python benchmarks/variational_start.py --corpora nips --topics 200 --seeds 1

Whole fits with default settings, the two starts taking turns, then fits of a few passes. CPU time is that of ``fit``,
the start included, on one thread. Perplexity is completion perplexity of every tenth document, at most 500 of them;
NPMI that of the ten likeliest words in the training documents; the bound is that of the training documents, a token.
"""

import argparse
import os
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import numpy as np

from discreet.evaluate import coherence_npmi, completion_perplexity
from discreet.lda import VariationalLDA
from lda import split

CORPORA = ["kos", "reuters21578", "enron-spam", "nips", "20newsgroups", "sotu"]
#: By start: most passes of a fit; None is the default, which ends when topics rest.
PASSES = {"random": (None, 10), "fast": (None, 1, 4)}


def look(counts, held_out, n_topics, seed, start, passes):
    more = {} if passes is None else {"max_iter": passes, "tol": 0.0}
    model = VariationalLDA(n_topics, init=start, random_state=seed, **more)
    before = time.process_time()
    model.fit(counts)
    cpu = time.process_time() - before
    topics = model.topic_word_
    return (
        f"{model.n_iter_:4} passes {cpu:7.2f} s  perplexity {completion_perplexity(topics, held_out):7.1f}"
        f"  NPMI {float(np.mean(coherence_npmi(topics, counts))):.3f}"
        f"  bound a token {model.score(counts) / counts.sum():.4f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--topics", nargs="+", type=int, default=[50])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    for corpus in options.corpora:
        counts, held_out = split(corpus)
        held_out = held_out[:: -(-held_out.shape[0] // 500)]
        for n_topics in options.topics:
            for start in PASSES:  # compiles
                VariationalLDA(n_topics, init=start, max_iter=1, random_state=0).fit(counts[:30])
            for seed in range(options.seeds):
                for place in range(max(map(len, PASSES.values()))):
                    for start, passes in PASSES.items():
                        if place < len(passes):
                            found = look(counts, held_out, n_topics, seed, start, passes[place])
                            print(f"{corpus:14} K = {n_topics}, seed {seed}: {start:6} {found}", flush=True)


if __name__ == "__main__":
    main()
