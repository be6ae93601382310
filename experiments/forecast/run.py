"""How right the forecasts are: perplexity above GibbsLDA's, foretold from x and the length of texts, and measured.

    python experiments/forecast/run.py measure measured.csv    # an hour on one thread for all; --corpora
    python experiments/forecast/run.py errors measured.csv     # writes errors.csv beside it, prints a table
    python experiments/forecast/run.py fit measured.csv        # the laws, from the first group alone; their spreads

Constants were fitted to the corpora of FITTED. Rows of PrivateLDA with 20 topics of 2,000 words are those of
../word_vectors/results.csv; ``measure`` adds other algorithms, other numbers of topics and of words, and made-up
messages of a few topics that share hardly a word, with vectors that know those topics and with such that do not.
delta = 1e-5, the most frequent words as a public vocabulary, documents with at least 6 of them (3 where there are fewer
than 500). All exact: for research, not for release.
"""

import argparse
import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import least_squares

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import DATA, Split, load

from discreet import GibbsLDA, PrivateLDA, PrivateSVILDA
from discreet.central.forecast import LAWS, learnability
from discreet.central.sums.units import group_units, unigram_sum
from discreet.corpus import check_counts, match_vectors
from discreet.evaluate import completion_perplexity, public_topics
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.mechanism import BITS

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "word_vectors" / "results.csv"
FITTED = ("20newsgroups", "reuters21578", "enron-spam", "kos", "pheme")
OTHERS = ("nyt", "sotu", "nips-papers", "tweets-emoji", "tweetrumors")
DELTA, PRIOR = 1e-5, 0.1
FIELDS = ("corpus", "documents", "n_words", "n_topics", "algorithm", "epsilon", "perplexity")
SIZE = ("corpus", "algorithm", "n_words", "n_topics", "epsilon")
ERRORS = (*SIZE, "group", "x", "words_a_document", "gap", "forecast", "error")
#: Few sharp topics of short messages: whether the vectors know them.
MADE_UP = ("made-up", "made-up, other vectors")
USUAL = (2000, 20)
#: (words, topics) beside the usual, for PrivateLDA.
SMALL = ((100, 5), (200, 5), (200, 10), (500, 5), (500, 10))
SMALL_OF_OTHERS = ((200, 5), (500, 10))
LARGE, LARGE_ON = (5000, 20), ("kos", "nyt", "pheme", "tweetrumors")
MADE_UP_SIZES = ((120, 6), (300, 6))
PLAIN, WITH = "PrivateLDA", "PrivateLDA with word vectors"
ALGORITHMS = ("PrivateSVILDA", PLAIN, WITH)
VECTORS_FILE = DATA / "word-vectors" / "glove100.npz"


def model(algorithm, n_topics, epsilon, vectors=None):
    how = {"doc_topic_prior": PRIOR, "random_state": 0, "n_jobs": 1}
    if algorithm == "GibbsLDA":
        return GibbsLDA(n_topics, **how)
    how |= {"epsilon": epsilon, "delta": DELTA}
    if algorithm == "PrivateSVILDA":
        return PrivateSVILDA(n_topics, **how)
    return PrivateLDA(n_topics, **how, allow_unlearnable=True, word_vectors=vectors)


def jobs(corpus, algorithms, sizes=None):
    """Yield (words, topics, algorithm, epsilon), those of some sizes alone if they are given."""
    made_up = corpus in MADE_UP
    others = [name for name in algorithms if name not in (PLAIN, WITH) and not made_up]
    wanted = [(*size, name) for size in (USUAL, *SMALL_OF_OTHERS) for name in others]
    for size in MADE_UP_SIZES if made_up else SMALL + (LARGE,) * (corpus in LARGE_ON):
        plain = [name for name in (PLAIN, WITH) if name in algorithms and (size != LARGE or name == PLAIN)]
        wanted += [(*size, name) for name in (["GibbsLDA"] if plain else []) + plain]
    for *size, name in wanted:
        if sizes is None or tuple(size) in sizes:
            for epsilon in (math.inf,) if name == "GibbsLDA" else (1.0, 4.0):
                yield *size, name, epsilon


def split_of(corpus, n_words, n_topics):
    if corpus in MADE_UP:
        return messages(n_words, n_topics, corpus == MADE_UP[0])
    return load(corpus, n_words, shortest=6 if n_words >= 500 else 3)


def messages(n_words, n_topics, known):
    """Messages of 4 to 12 words, each of one topic but for a tenth, whose topics the vectors know, or do not."""
    rng = np.random.default_rng(0)
    words = load("20newsgroups", n_words).vocabulary
    vectors = match_vectors(VECTORS_FILE, words).vectors
    topics = public_topics(vectors, words, n_topics, np.full(n_words, 1 / n_words))
    person = topics.argmax(0) if known else rng.integers(n_topics, size=n_words)
    share = rng.dirichlet(np.ones(n_words)) + 0.2 / n_words
    topics = np.where(person == np.arange(n_topics)[:, None], share, 0.02 * share)
    topics /= topics.sum(1, keepdims=True)
    counts = np.zeros((6000, n_words), np.int32)
    for row in range(len(counts)):
        mixture = np.full(n_topics, 0.1 / n_topics)
        mixture[rng.integers(n_topics)] += 0.9
        counts[row] = rng.multinomial(rng.integers(4, 13), mixture @ topics)
    counts = sp.csr_matrix(counts)
    return Split(counts[:5000], counts[5000:], words)


def measure(path, corpora, algorithms, sizes=None):
    done = {key(row) for row in rows_in(path)}
    for corpus in corpora:
        splits = {}
        for n_words, n_topics, algorithm, epsilon in jobs(corpus, algorithms, sizes):
            if (corpus, n_words, n_topics, algorithm, epsilon) in done:
                continue
            split = splits[n_words] = splits.get(n_words) or split_of(corpus, n_words, n_topics)
            vectors = match_vectors(VECTORS_FILE, split.vocabulary).vectors if algorithm == WITH else None
            how = (
                {} if algorithm == "GibbsLDA" else {"vocabulary": split.vocabulary, "words_are_public": True}
            )
            fitted = model(algorithm, n_topics, epsilon, vectors).fit(split.train, **how)
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


def length(corpus, n_words, n_topics):
    """Typical different words of a document, as PrivateLDA reads them off the unigram, without its noise."""
    train = split_of(corpus, n_words, n_topics).train
    total = unigram_sum(group_units(check_counts(train), None), 1).sum() / 2**BITS
    return (total / train.shape[0]) ** 2


def ratios(path):
    """Yield (corpus, algorithm, words, topics, epsilon, x, words a document, perplexity over GibbsLDA's)."""
    cells = defaultdict(list)
    documents = {}
    for row in rows_in(VECTORS) + rows_in(path):
        name = WITH if row["algorithm"] == "with vectors" else row["algorithm"]
        cells[key({**row, "algorithm": name})].append(float(row["perplexity"]))
        documents[row["corpus"], int(row.get("n_words", 2000))] = int(row["documents"])
    long = {}
    for (corpus, n_words, n_topics, algorithm, epsilon), found in sorted(cells.items()):
        without = cells.get((corpus, n_words, n_topics, "GibbsLDA", math.inf))
        if algorithm in LAWS and math.isfinite(epsilon) and without:
            if (corpus, n_words) not in long:
                long[corpus, n_words] = length(corpus, n_words, n_topics)
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
        group = "fitted" if corpus in FITTED else "made up" if corpus in MADE_UP else "not fitted"
        row = (
            corpus,
            algorithm,
            n_words,
            n_topics,
            epsilon,
            group,
            f"{x:.4g}",
            f"{words:.2f}",
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
    """Print each law: robust least squares of the logarithm of perplexity on FITTED alone, and its spread elsewhere."""
    points, others = defaultdict(list), defaultdict(list)
    for corpus, algorithm, *_, x, words, ratio in ratios(path):
        group = points if corpus in FITTED else others
        group[algorithm].append((math.log(x), math.log(30 / words), math.log(ratio)))
    for algorithm, found in points.items():
        tied = algorithm.startswith("PrivateLDA")

        def misses(p, points, tied=tied):
            x, short, logs = np.array(points).T
            return np.log1p(np.exp(p[0] + p[1] * x + (p[1] / 2 if tied else p[2]) * short)) - logs

        start = [-2, 0.4] if tied else [-2, 0.4, 0.2]
        best = least_squares(misses, start, args=(found,), loss="soft_l1", f_scale=0.1).x
        shortness = best[1] / 2 if tied else best[2]
        spread = np.quantile(np.abs(np.expm1(misses(best, others[algorithm]))), 0.9)
        constants = (
            f"{np.exp(best[0]):.3f}, {best[1]:.3f}, {shortness:.3f}, {math.ceil(100 * spread + 1) / 100:.2f}"
        )
        print(f'"{algorithm}": Law({constants}),')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["measure", "errors", "fit"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+", default=FITTED + OTHERS + MADE_UP)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    given = parser.parse_args()
    if given.task == "measure":
        measure(given.file, given.corpora, given.algorithms)
    else:
        (errors if given.task == "errors" else fit)(given.file)


if __name__ == "__main__":
    main()
