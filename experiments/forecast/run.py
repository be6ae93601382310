"""How right the forecasts are: perplexity above GibbsLDA's, foretold from x and the length of texts, and measured.

    python experiments/forecast/run.py measure measured.csv    # an hour on one thread for all; --corpora
    python experiments/forecast/run.py errors measured.csv     # writes errors.csv beside it, prints a table
    python experiments/forecast/run.py fit measured.csv        # the constants of the laws, from the first group alone

Constants were fitted to the corpora of FITTED, with 20 topics of 2,000 words; the rows of PrivateLDA there are those of
../word_vectors/results.csv. ``measure`` adds other algorithms, numbers of topics and of words. delta = 1e-5, the most
frequent words as a public vocabulary. All exact: for research, not for release.
"""

import argparse
import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import load

from discreet import GibbsLDA, PrivateLDA, PrivateSVILDA
from discreet.central import PrivateMomentLDA
from discreet.central.rounds.statistics import unigram_sum
from discreet.central.rounds.units import group_units
from discreet.corpus import check_counts
from discreet.evaluate import completion_perplexity
from discreet.privacy import learnability
from discreet.privacy.accounting.forecast import LAWS
from discreet.privacy.accounting.gdp import gdp_mu
from discreet.privacy.shared_gaussian import BITS

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "word_vectors" / "results.csv"
FITTED = ("20newsgroups", "reuters21578", "enron-spam", "kos", "pheme")
OTHERS = ("nyt", "sotu", "nips-papers", "tweets-emoji", "tweetrumors")
DELTA, PRIOR = 1e-5, 0.1
FIELDS = ("corpus", "documents", "n_words", "n_topics", "algorithm", "epsilon", "perplexity")
SIZE = ("corpus", "algorithm", "n_words", "n_topics", "epsilon")
ERRORS = (*SIZE, "group", "x", "words_a_document", "gap", "forecast", "error")
ALGORITHMS = ("PrivateSVILDA", "PrivateMomentLDA")
#: (words, topics) beside (2000, 20), for PrivateLDA.
SIZES = ((500, 10), (5000, 20))


def model(algorithm, n_topics, epsilon):
    how = {"doc_topic_prior": PRIOR, "random_state": 0, "n_jobs": 1}
    if algorithm == "GibbsLDA":
        return GibbsLDA(n_topics, **how)
    how |= {"epsilon": epsilon, "delta": DELTA}
    if algorithm == "PrivateSVILDA":
        return PrivateSVILDA(n_topics, **how)
    kind = PrivateMomentLDA if algorithm == "PrivateMomentLDA" else PrivateLDA
    return kind(n_topics, **how, allow_unlearnable=True)


def jobs(algorithms):
    """Yield (words, topics, algorithm, epsilon)."""
    for algorithm in algorithms:
        for epsilon in (1.0, 4.0):
            yield 2000, 20, algorithm, epsilon
    for size in SIZES:
        yield *size, "GibbsLDA", math.inf
        for epsilon in (1.0, 4.0):
            yield *size, "PrivateLDA", epsilon


def measure(path, corpora, algorithms):
    done = {key(row) for row in rows_in(path)}
    for corpus in corpora:
        splits = {}
        for n_words, n_topics, algorithm, epsilon in jobs(algorithms):
            if (corpus, n_words, n_topics, algorithm, epsilon) in done:
                continue
            split = splits[n_words] = splits.get(n_words) or load(corpus, n_words)
            how = (
                {} if algorithm == "GibbsLDA" else {"vocabulary": split.vocabulary, "words_are_public": True}
            )
            fitted = model(algorithm, n_topics, epsilon).fit(split.train, **how)
            found = completion_perplexity(fitted.components_, split.test, doc_topic_prior=PRIOR, n_jobs=1)
            row = (corpus, split.train.shape[0], n_words, n_topics, algorithm, epsilon, f"{found:.2f}")
            append(path, FIELDS, row)
        print(corpus, "done", flush=True)


def append(path, fields, row):
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(fields)
        writer.writerow(row)


def rows_in(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def key(row):
    sizes = (int(row.get("n_words", 2000)), int(row.get("n_topics", 20)))
    return row["corpus"], *sizes, row["algorithm"], float(row["epsilon"])


def lengths(corpora):
    """Typical different words of a document, as PrivateLDA reads them off the unigram, without its noise."""
    found = {}
    for corpus in corpora:
        for n_words in {2000, *(size for size, _ in SIZES)}:
            train = load(corpus, n_words).train
            total = unigram_sum(group_units(check_counts(train), None), 1).sum() / 2**BITS
            found[corpus, n_words] = (total / train.shape[0]) ** 2
    return found


def ratios(path):
    """Yield (corpus, algorithm, words, topics, epsilon, x, words a document, perplexity over GibbsLDA's)."""
    cells = defaultdict(list)
    documents = {}
    for row in rows_in(VECTORS) + rows_in(path):
        name = "PrivateLDA with word vectors" if row["algorithm"] == "with vectors" else row["algorithm"]
        cells[key({**row, "algorithm": name})].append(float(row["perplexity"]))
        documents[row["corpus"], int(row.get("n_words", 2000))] = int(row["documents"])
    long = lengths({corpus for corpus, _ in documents})
    for (corpus, n_words, n_topics, algorithm, epsilon), found in sorted(cells.items()):
        without = cells.get((corpus, n_words, n_topics, "GibbsLDA", math.inf))
        if algorithm in LAWS and math.isfinite(epsilon) and without:
            sizes = n_words * n_topics
            x = sizes / (documents[corpus, n_words] * gdp_mu(epsilon, DELTA))
            ratio = np.mean(found) / np.mean(without)
            yield corpus, algorithm, n_words, n_topics, epsilon, x, long[corpus, n_words], ratio


def errors(path):
    out = path.with_name("errors.csv")
    out.unlink(missing_ok=True)
    groups = defaultdict(list)
    for corpus, algorithm, n_words, n_topics, epsilon, x, words, ratio in ratios(path):
        mu = gdp_mu(epsilon, DELTA)
        n_units = n_words * n_topics / (x * mu)
        told = learnability(n_words, n_topics, n_units, mu, algorithm=algorithm, words_a_unit=words)
        error = (1 + told.expected_gap) / ratio - 1
        group = "fitted" if corpus in FITTED and (n_words, n_topics) == (2000, 20) else "not fitted"
        row = (
            corpus,
            algorithm,
            n_words,
            n_topics,
            epsilon,
            group,
            f"{x:.2f}",
            f"{words:.1f}",
            f"{ratio - 1:.3f}",
        )
        append(out, ERRORS, (*row, f"{told.expected_gap:.3f}", f"{error:.3f}"))
        groups[algorithm, group].append(abs(error))
    print("| algorithm | corpora | forecasts | mean error | largest | within 20 % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (algorithm, group), found in sorted(groups.items()):
        right = sum(error <= 0.2 for error in found)
        mean, largest = 100 * np.mean(found), 100 * max(found)
        print(f"| {algorithm} | {group} | {len(found)} | {mean:.0f} % | {largest:.0f} % | {right} |")


def fit(path):
    """Print each law's constants: robust least squares of the logarithm of perplexity, on FITTED alone."""
    points = defaultdict(list)
    for corpus, algorithm, n_words, n_topics, _, x, words, ratio in ratios(path):
        if corpus in FITTED and (n_words, n_topics) == (2000, 20):
            points[algorithm].append((math.log(x), math.log(30 / words), math.log(ratio)))
    for algorithm, found in points.items():
        x, short, logs = np.array(found).T
        tied = algorithm.startswith("PrivateLDA")

        def miss(p, x=x, short=short, logs=logs, tied=tied):
            return np.log1p(np.exp(p[0] + p[1] * x + (p[1] / 2 if tied else p[2]) * short)) - logs

        best = least_squares(miss, [-2, 0.4] if tied else [-2, 0.4, 0.2], loss="soft_l1", f_scale=0.1).x
        shortness = best[1] / 2 if tied else best[2]
        print(f'"{algorithm}": Law({np.exp(best[0]):.3f}, {best[1]:.3f}, {shortness:.3f}),')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["measure", "errors", "fit"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+", default=FITTED + OTHERS)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    given = parser.parse_args()
    if given.task == "measure":
        measure(given.file, given.corpora, given.algorithms)
    else:
        (errors if given.task == "errors" else fit)(given.file)


if __name__ == "__main__":
    main()
