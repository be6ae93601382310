"""Where documents are plentiful: what else a document might give to a round of PrivateLDA, and what that gains.

    python experiments/floor/run.py tried.csv        # a minute on one thread; rows that stand are not run again

Variants of the rounds: counts to a power, clipped to a norm in place of scaled to one; more rounds, each with less
noise; and "margins": frequencies of words as they are counted, not by roots, released with a share of their own and put
in place of those of the topics after every round (the noise of this is added here, outside of any ledger). 20 topics,
2,000 words, delta = 1e-5, seed 0. Exact measures of the texts: for research, not for release.
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import load

from discreet import PrivateLDA
from discreet.central import full_batch, private_lda
from discreet.central.rounds.em_round import Contribution
from discreet.errors import WeakForecastWarning
from discreet.evaluate import coherence_npmi, completion_perplexity
from discreet.lda.denoise import LIFTS, posterior_mean
from discreet.privacy.accounting.gdp import gdp_mu

DELTA, PRIOR = 1e-5, 0.1
FIELDS = ("corpus", "epsilon", "variant", "perplexity", "npmi")
GROWING = (1, 1.25, 1.6, 2, 2.5, 3, 4, 5, 6, 7.5)
#: Power, bound or 0, weights of rounds, forgetting, margins (share of the budget, usual norms to clip a document to).
VARIANTS = {
    "as it is": (0.5, 0.0, None, None, None),
    "counts, clipped at 10": (1.0, 10.0, None, None, None),
    "ten rounds": (0.5, 0.0, GROWING, 0.7, None),
    "margins": (0.5, 0.0, None, None, (0.02, 3.0)),
}
RUNS = (("20newsgroups", 8.0), ("enron-spam", 8.0))


def fit(split, epsilon, variant):
    """Fit with a variant in place of what PrivateLDA does."""
    power, bound, weights, forgetting, margins = VARIANTS[variant]
    plan, read_round = private_lda.make_schedule, full_batch.read_round

    def planned(*given, **how):
        schedule = plan(*given, **how)._replace(contribution=Contribution(power, bound))
        if weights is not None:
            shares = sum(schedule.round_shares) * np.array(weights) / sum(weights)
            schedule = schedule._replace(round_shares=tuple(shares.tolist()), forgetting=forgetting)
        return schedule

    frequencies = None

    def read(state, *given):
        nonlocal frequencies
        after = read_round(state, *given)
        if margins is None:
            return after
        if frequencies is None:
            frequencies = counted(split.train, state, gdp_mu(epsilon, DELTA), *margins)
        topics = after.word_topic * (frequencies / (after.word_topic @ after.topic_weight))[:, None]
        return after._replace(word_topic=topics / topics.sum(0))

    private_lda.make_schedule, full_batch.read_round = planned, read
    try:
        model = PrivateLDA(
            20, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, random_state=0, n_jobs=1, allow_unlearnable=True
        )  # fmt: skip
        return model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True).components_
    finally:
        private_lda.make_schedule, full_batch.read_round = plan, read_round


def counted(counts, state, mu, share, norms):
    """Frequencies of words by counts, each document clipped to so many usual norms, through noise and denoiser."""
    bound = norms * state.unigram_mass / counts.shape[0]
    counts = counts.astype(float)
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(1)).ravel())
    total = np.asarray((sp.diags(np.minimum(1, bound / length)) @ counts).sum(0)).ravel()
    deviation = bound / (mu * np.sqrt(share))
    noisy = total + np.random.default_rng(0).normal(0, deviation, len(total))
    base = state.unigram * max(noisy.sum(), 1.0)
    read = posterior_mean(noisy, base, np.full(len(total), deviation), LIFTS)
    read = np.maximum(read, 1e-3 * state.unigram * read.sum())
    return read / read.sum()


def main(path, runs=RUNS):
    warnings.simplefilter("ignore", WeakForecastWarning)
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {(row["corpus"], float(row["epsilon"]), row["variant"]) for row in csv.DictReader(file)}
    for corpus, epsilon in runs:
        split = None
        for variant in VARIANTS:
            if (corpus, epsilon, variant) in done:
                continue
            split = split or load(corpus, 2000)
            topics = fit(split, epsilon, variant)
            perplexity = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1)
            new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if new:
                    writer.writerow(FIELDS)
                coherence = coherence_npmi(topics, split.train)
                writer.writerow((corpus, epsilon, variant, f"{perplexity:.2f}", f"{coherence:.4f}"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
