"""What the tables and figures of run.py share: corpora, simulated clients, measures, resumable CSV files, the lines."""

import csv
import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zhao2020"))
from printed_reports import fit_lp

from discreet.evaluate import coherence_npmi, completion_perplexity, transductive_perplexity, unigram
from discreet.lda import GibbsLDA
from discreet.lda.moments.moments import unpack_bits
from discreet.local import LocalLDA, Moments

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DISCREET_DATA", HERE.parents[2] / "shared" / "data"))
N_WORDS = 1000
#: Pseudo-words of the prior of a document's topics that the measure may choose from, for every line alike.
STRENGTHS = (2, 5, 10, 20, 50, 200)
FIELDS = ("corpus", "line", "epsilon", "split", "perplexity", "in_sample", "npmi", "learnable", "cpu_seconds")


def present_words(name):
    """Presence of the 1,000 most frequent words (by tokens) that are no stop words, of all documents, and the words."""
    if not (DATA / name).is_dir():
        sys.exit(f"there is no corpus at {DATA / name}; set DISCREET_DATA to a folder that holds it")
    counts = sp.load_npz(DATA / name / "counts.npz").tocsr()
    words = (DATA / name / "vocab.txt").read_text(encoding="utf-8").splitlines()
    stop = set((DATA / "stopwords.txt").read_text(encoding="utf-8").split())
    total = np.asarray(counts.sum(0)).ravel().astype(float)
    total[[column for column, word in enumerate(words) if word in stop]] = -1
    kept = np.sort(np.argsort(-total)[:N_WORDS])
    return (counts[:, kept] > 0).astype(np.int32), [words[i] for i in kept]


def corpus(name, split, *, n_test):
    """Presence of the 1,000 most frequent words that are no stop words, in training and test documents."""
    present, words = present_words(name)
    present = present[np.asarray(present.sum(1)).ravel() >= 2]
    order = np.random.default_rng(split).permutation(present.shape[0])
    train, test = present[order[n_test:]].tocsr(), present[order[:n_test]].tocsr()
    return SimpleNamespace(name=name, split=split, train=train, test=test, words=words)


def symmetric(epsilon):
    """The channel of the paper: each bit flips with probability 1 / (e^epsilon + 1)."""
    q = 1 / (np.exp(epsilon) + 1)
    return SimpleNamespace(p=1 - q, q=q)


def asymmetric(loss, density=0.06):
    """The pair (p, q) of least variance at this density of words, given the loss of one word replaced."""
    p = np.linspace(0.3, 0.999, 2000)
    odds = p / (1 - p) * np.exp(-loss)
    q = odds / (1 + odds)
    variance = ((1 - density) * q * (1 - q) + density * p * (1 - p)) / (p - q) ** 2
    best = int(np.argmin(variance))
    return SimpleNamespace(p=float(p[best]), q=float(q[best]))


def randomised(train, channel, seed):
    """Reports of all documents as packed bits, from a seeded generator: a simulation of the clients."""
    rng = np.random.default_rng([20, seed])
    parts = []
    for start in range(0, train.shape[0], 8192):
        rows = train[start : start + 8192].toarray()
        bits = rng.random(rows.shape, dtype=np.float32) < np.where(rows > 0, channel.p, channel.q)
        parts.append(np.packbits(bits, axis=1, bitorder="little"))
    return np.concatenate(parts)


def measures(topics, weight, data):
    """Completion perplexity at the best strength of the prior, the paper's in-sample measure, coherence."""
    topics = np.maximum(topics, 0) / topics.sum(1, keepdims=True)
    topics = (1 - 1e-6 * topics.shape[1]) * topics + 1e-6
    weight = np.maximum(weight, 1e-6) / np.maximum(weight, 1e-6).sum()
    completion = min(
        completion_perplexity(topics, data.test, doc_topic_prior=strength * weight) for strength in STRENGTHS
    )
    in_sample = transductive_perplexity(topics, data.test, doc_topic_prior=1.0)
    reference = sp.vstack([data.train, data.test]).tocsr()
    return round(completion, 1), round(in_sample, 1), round(float(coherence_npmi(topics, reference)), 4)


class Table:
    """A CSV file that is written row by row; what stands there already is not done again."""

    def __init__(self, path):
        self.path = path
        self.rows = []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = list(csv.DictReader(file))
        else:
            with path.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(FIELDS)

    def add(self, data, line, epsilon, work):
        """Do ``work() -> (topics, weight, learnable)`` unless there is a row for it, and measure."""
        if self.has(data, line, epsilon):
            return
        key = {"corpus": data.name, "line": line, "epsilon": str(epsilon), "split": str(data.split)}
        start = time.process_time()
        topics, weight, learnable = work()
        spent = round(time.process_time() - start, 2)
        values = dict(zip(("perplexity", "in_sample", "npmi"), measures(topics, weight, data), strict=True))
        row = {**key, **values, "learnable": learnable, "cpu_seconds": spent}
        self.rows.append({name: str(value) for name, value in row.items()})
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, FIELDS, lineterminator="\n").writerow(row)
        print(*row.values(), flush=True)

    def has(self, data, line, epsilon):
        """Whether there is a row for it."""
        key = {"corpus": data.name, "line": line, "epsilon": str(epsilon), "split": str(data.split)}
        return any(all(row[name] == value for name, value in key.items()) for row in self.rows)

    def mean(self, line, epsilon, name="perplexity", corpus=None):
        """Mean over splits, or NaN."""
        found = [
            float(row[name])
            for row in self.rows
            if row["line"] == line
            and float(row["epsilon"]) == float(epsilon)
            and corpus in (None, row["corpus"])
            and row[name]
        ]
        return float(np.mean(found)) if found else float("nan")


def without_privacy(table, data, *, sweeps=200):
    """The unigram, and Gibbs sampling of the true bits."""
    table.add(data, "unigram", "inf", lambda: (unigram(data.train, smoothing=0.5), np.ones(1), ""))
    for n_topics, alpha in ((20, 0.1), (50, 1.0), (50, 0.1)):
        table.add(
            data,
            f"Gibbs, no privacy, K {n_topics}, alpha {alpha}",
            "inf",
            lambda n_topics=n_topics, alpha=alpha: gibbs(data.train, n_topics, alpha, sweeps),
        )


def gibbs(train, n_topics, alpha, sweeps):
    """Train on true bits."""
    model = GibbsLDA(n_topics, doc_topic_prior=alpha, init="random", n_sweeps=sweeps, random_state=0).fit(
        train
    )
    return model.topic_word_, model.topic_word_counts_.sum(1) + 1.0, ""


def local(data, epsilon, n_topics, *, channel=None, **settings):
    """Fit reports of one split, through the symmetric channel unless told."""
    channel = channel or symmetric(epsilon)
    reports = randomised(data.train, channel, data.split)

    def work():
        model = LocalLDA(n_topics, channel=channel, random_state=0, allow_unlearnable=True, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(reports, vocabulary=data.words, packed=True, simulated=True)
        return model.components_, model.release_.topic_weight, getattr(model, "learnable_", "")

    return work


def lp_lda(data, epsilon, alpha, sweeps):
    """Fit the same reports as printed."""
    channel = symmetric(epsilon)
    settings = {"doc_topic_prior": alpha, "n_sweeps": sweeps, "random_state": 0}

    def work():
        rows = unpack_bits(randomised(data.train, channel, data.split), N_WORDS)
        return *fit_lp(rows, channel, 50, **settings), ""

    return work


def local_lines(table, data, epsilon, *, n_topics=20, sweeps=200, refine=True):
    """LP-LDA with two priors, and ours, on the same reports."""
    for alpha in (1.0, 0.1):
        table.add(data, f"LP-LDA, K 50, alpha {alpha}", epsilon, lp_lda(data, epsilon, alpha, sweeps))
    table.add(data, f"moments, K {n_topics}", epsilon, local(data, epsilon, n_topics, refine=False))
    found = learnable(data, epsilon)
    table.add(data, "moments, K = learnable()", epsilon, local(data, epsilon, max(2, found), refine=False))
    if refine:
        table.add(data, f"moments, refined, K {n_topics}", epsilon, local(data, epsilon, n_topics))


def learnable(data, epsilon):
    """How many topics the reports of one split let through."""
    channel = symmetric(epsilon)
    moments = Moments(N_WORDS, channel=channel)
    return moments.add_batch(randomised(data.train, channel, data.split), packed=True).learnable()
