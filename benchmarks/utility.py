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
import scipy.sparse as sp
from real_corpora import Split, load

from discreet import PrivateLDA, PrivateSVILDA
from discreet.evaluate import coherence_npmi, completion_perplexity, unigram

DELTA, N_TOPICS, PRIOR = 1e-5, 20, 0.1
#: corpus: (words, epsilons)
LINES = {
    "nyt": (2000, (1, 2, 4, 8)),
    "20newsgroups": (2000, (1, 4, 8)),
    "reuters21578": (2000, (1, 4)),
    "enron-spam": (2000, (1, 2)),
    "imdb": (5000, (1, 2, 4)),
    "synthetic": (2000, (4, 8)),
}
#: Documents of the synthetic corpus: x = words times topics / (n mu) is 1.73 at epsilon 4, and .96 at 8.
N_SYNTHETIC = 25_000


def ours(epsilon, seed, n_jobs):
    return PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, random_state=seed, n_jobs=n_jobs,
        allow_unlearnable=True,
    )  # fmt: skip


def plain_dpsvi(epsilon, seed, n_jobs):
    """Sampling and rounds of Park et al.: one expected pass in 20 rounds; norm bound and steps that fit the texts."""
    return tuned_dpsvi(epsilon, seed, n_jobs).set_params(sampling_rate=0.05)


def tuned_dpsvi(epsilon, seed, n_jobs):
    model = PrivateSVILDA.park2016(N_TOPICS, corrected=True, epsilon=epsilon, delta=DELTA, random_state=seed)
    return model.set_params(doc_topic_prior=PRIOR, n_jobs=n_jobs)


def synthetic(n_documents):
    """Sample documents from topics fitted to nyt: the model is right, and only noise is in the way."""
    source = load("nyt", 2000)
    topics = ours(math.inf, 0, -1).fit(source.train).components_
    rng = np.random.default_rng(0)
    lengths = rng.choice(np.asarray(source.train.sum(1)).ravel(), n_documents + 1000)
    shares = rng.dirichlet(np.full(N_TOPICS, PRIOR), len(lengths))
    rows = [
        sp.csr_matrix(rng.multinomial(length, share @ topics).astype(np.int32))
        for length, share in zip(lengths.tolist(), shares, strict=True)
    ]
    counts = sp.vstack(rows, format="csr")
    return Split(counts[:n_documents], counts[n_documents:], source.vocabulary)


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
        split = synthetic(N_SYNTHETIC) if name == "synthetic" else load(name, n_words)
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
            for title, make in (("DP-SVI", plain_dpsvi), ("tuned", tuned_dpsvi)):
                if not options.without_dpsvi:
                    plain = measure(make, split, options.seeds, epsilon, options.threads)
                    text += f"   {title} {plain[0]:6.0f} / {plain[1]:.3f}   ({plain[2]:.1f} s)"
            print(f"  epsilon {epsilon:<4g} {text}", flush=True)


if __name__ == "__main__":
    main()
