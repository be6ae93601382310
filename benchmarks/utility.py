"""Utility of private topics on real corpora: ours beside plain DP-SVI, the unigram, and no privacy.

    python benchmarks/utility.py                           # all lines, three seeds
    python benchmarks/utility.py --corpora nyt --seeds 1 --epsilons 1 4

Completion perplexity (lower is better) and NPMI of the ten top words on the training corpus (higher is
better), both exact measures of the private text: for research, not for release. K = 20, alpha = .1, delta =
1e-5, the most frequent words as public vocabulary. Private runs are seeded here so that the table can be
repeated.
"""

import argparse
import math
import time

import numpy as np
from real_corpora import load

from discreet import PrivateLDA
from discreet.evaluate import coherence_npmi, completion_perplexity, unigram

DELTA, N_TOPICS, PRIOR = 1e-5, 20, 0.1
#: corpus: (words, epsilons)
LINES = {
    "nyt": (2000, (1, 2, 4, 8)),
    "20newsgroups": (2000, (1, 4, 8)),
    "reuters21578": (2000, (1, 4)),
    "enron-spam": (2000, (1, 2)),
    "imdb": (5000, (1, 2, 4)),
}


def ours(epsilon, seed, n_jobs):
    return PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, random_state=seed, n_jobs=n_jobs,
        allow_unlearnable=True,
    )  # fmt: skip


def plain_dpsvi(epsilon, seed, n_jobs):
    return PrivateLDA.park2016(
        N_TOPICS,
        corrected=True,
        epsilon=epsilon,
        delta=DELTA,
        doc_topic_prior=PRIOR,
        random_state=seed,
        n_jobs=n_jobs,
    )


def measure(make, split, seeds, epsilon, n_jobs):
    perplexities, coherences, seconds = [], [], []
    for seed in range(seeds):
        begun = time.perf_counter()
        topics = make(epsilon, seed, n_jobs).fit(split.train).components_
        seconds.append(time.perf_counter() - begun)
        perplexities.append(completion_perplexity(topics, split.test, doc_topic_prior=PRIOR))
        coherences.append(coherence_npmi(topics, split.train))
    return np.mean(perplexities), np.mean(coherences), np.mean(seconds)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", choices=LINES, default=list(LINES))
    parser.add_argument("--epsilons", nargs="+", type=float)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--without-dpsvi", action="store_true")
    options = parser.parse_args()
    for name in options.corpora:
        n_words, epsilons = LINES[name]
        split = load(name, n_words)
        line = unigram(split.train)
        base, _, _ = free = measure(ours, split, 1, math.inf, options.threads)
        print(
            f"{name}: {split.train.shape[0]} documents, {n_words} words, {split.train.sum()} tokens\n"
            f"  unigram      {completion_perplexity(line, split.test):6.0f} / {coherence_npmi(line, split.train):.3f}\n"
            f"  non-private  {base:6.0f} / {free[1]:.3f}   ({free[2]:.1f} s)",
            flush=True,
        )
        for epsilon in options.epsilons or epsilons:
            found = measure(ours, split, options.seeds, epsilon, options.threads)
            text = f"{found[0]:6.0f} / {found[1]:.3f}   {100 * (found[0] / base - 1):+6.1f} %   ({found[2]:.1f} s)"
            if not options.without_dpsvi:
                plain = measure(plain_dpsvi, split, options.seeds, epsilon, options.threads)
                text += f"   DP-SVI {plain[0]:6.0f} / {plain[1]:.3f}   ({plain[2]:.1f} s)"
            print(f"  epsilon {epsilon:<4g} {text}", flush=True)


if __name__ == "__main__":
    main()
