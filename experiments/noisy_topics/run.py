r"""Which topics of a private fit are noise, and which rule knows it from the release alone?

``python experiments/noisy_topics/run.py --data ../shared/data`` fits PrivateLDA on planted and real corpora, writes
one row a topic to ``topics.csv`` beside itself, and prints the errors of each rule on the corpora it was chosen on and
on those that it never saw. ``--judge`` prints the tables again from ``topics.csv``.

*Truth*, from text that the fit never saw (three documents of ten). The words are parted into two halves at random,
four times. What a document says in one half of the words gives its topic shares :math:`\theta`; the other half says
whether the topic is there. For the 20 words that set topic k apart most, with :math:`o_d` their share of the
document's other half and :math:`q_d` the share that the topics predict,

.. math:: r_k = \mathrm{cov}_d(\theta_{dk}, o_d) \,/\, \mathrm{cov}_d(\theta_{dk}, q_d) ,

covariances weighted by tokens: 1 where the words come together as the topic says, 0 where they have nothing to do with
one another. A topic is *noise* where :math:`r_k < 1/2`: less than half of what sets it apart is in the text.

*Second truth*, where topics were planted or Gibbs sampling without privacy found as many: the agreement
:math:`\sum_w \min(e_{kw}, e'_{jw})` with the nearest of those, e the excess over all texts together, rows of sum 1. It
decides where r is not told to .15 (standard error over groups of documents), which is so where hardly any text has the
topic: below .25 it is noise, and above it is left out.
"""

import argparse
import csv
import math
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from discreet import GibbsLDA, PrivateLDA
from discreet.report.wording import overall

HERE = Path(__file__).parent
CHOOSING = ("planted apart", "planted mixed", "kos", "reuters21578")
CONFIRMING = ("planted other", "20newsgroups", "pheme", "sotu", "enron-spam", "tweets-emoji")
EPSILONS, TOPICS = (0.3, 1.0, 4.0, math.inf), (8, 20, 50)
N_WORDS, MOST_DOCUMENTS, PARTITIONS, TOP = 2000, 12_000, 4, 20
NOISE, UNSURE, UNLIKE = 0.5, 0.15, 0.25
#: Where a threshold is chosen; on "planted mixed" no topic is anything but noise.
BALANCED = ("planted apart", "kos", "reuters21578")
NOT_RULES = ("corpus", "epsilon", "n_topics", "seed", "topic", "x", "weight", "r", "error", "alike", "noise")


def planted(kind, rng):
    """Return counts and topics: 8 topics of words of their own; 20 that overlap; or 12 short ones."""
    n_topics, prior, alpha, length, n_words, n = {
        "planted apart": (8, 0.02, 0.05, 40, 400, 6000),
        "planted mixed": (20, 0.1, 0.3, 60, 1000, 12_000),
        "planted other": (12, 0.05, 0.1, 15, 600, 15_000),
    }[kind]
    base = rng.dirichlet(np.full(n_words, 0.5))
    topics = rng.dirichlet(base * n_words * prior + 1e-3, n_topics)
    topics = topics if kind == "planted apart" else 0.6 * topics + 0.4 * base
    shares = rng.dirichlet(np.full(n_topics, alpha), n)
    return sp.csr_matrix(rng.multinomial(length, shares @ topics).astype(np.int32)), topics


def corpus(name, data):
    """Return counts of the most frequent words, documents in random order, and planted topics or None."""
    rng = np.random.default_rng(len(name))
    counts, topics = (
        planted(name, rng) if "planted" in name else (sp.load_npz(data / name / "counts.npz"), None)
    )
    if topics is None:
        frequent = np.sort(np.argsort(-counts.getnnz(0), kind="stable")[:N_WORDS])
        counts = counts.tocsr()[:, frequent]
    counts = counts[rng.permutation(counts.shape[0])[:MOST_DOCUMENTS]]
    return counts[counts.getnnz(1) > 0].tocsr(), topics


def excess(topic_word, base):
    """Return what sets each topic apart, rows of sum 1."""
    over = np.maximum(topic_word - base, 0)
    return over / np.maximum(over.sum(1, keepdims=True), 1e-300)


def confirmed(release, held_out):
    """Return r of each topic, and its standard error over ten groups of documents."""
    topics, rng = release.topic_word, np.random.default_rng(0)
    k, n_words = topics.shape
    told = np.zeros((k, n_words))
    order = np.argsort(-(topics - overall(release)), axis=1)[:, :TOP]
    np.put_along_axis(told, order, 1.0, axis=1)
    group = rng.integers(0, 10, held_out.shape[0])
    seen, said = np.zeros((10, k)), np.zeros((10, k))
    for _ in range(PARTITIONS):
        half = rng.permutation(n_words) < n_words // 2
        for shown in (half, ~half):
            theta = release.transform(held_out.multiply(shown[None, :]).tocsr())
            rest = held_out.multiply(~shown[None, :]).tocsr()
            length = np.asarray(rest.sum(1)).ravel()
            centred = theta - length @ theta / length.sum()
            found = rest @ (told * ~shown).T
            hidden = topics * ~shown
            expected = (
                (theta @ (hidden @ (told * ~shown).T)) / (theta @ hidden.sum(1))[:, None] * length[:, None]
            )
            for g in range(10):
                rows = group == g
                seen[g] += (centred[rows] * found[rows]).sum(0)
                said[g] += (centred[rows] * expected[rows]).sum(0)
    r = seen.sum(0) / np.maximum(said.sum(0), 1e-12)
    apart = seen - r * said
    return r, np.sqrt((apart**2).sum(0)) / np.maximum(said.sum(0), 1e-12)


def features(release):
    """Return what may be known of each topic without a text."""
    topics, noise = release.topic_word, release.topic_word_noise
    over = np.maximum(topics - overall(release), 0)
    total = np.maximum(over.sum(1), 1e-12)
    order = np.argsort(-over, axis=1)[:, :TOP]
    top, s = np.take_along_axis(over, order, 1), np.take_along_axis(noise, order, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(noise > 0, over / noise, np.inf)
        z_top = np.where(s > 0, top / s, np.inf)
    yield "before", noise.sum(1) / math.sqrt(2 * math.pi) / total
    for level in (1, 2, 3, 4):
        yield f"under {level} s", 1 - (over * (z > level)).sum(1) / total
        yield f"top under {level} s", 1 - (top * (z_top > level)).sum(1) / np.maximum(top.sum(1), 1e-12)
    yield "wiener", 1 - (over / (1 + 1 / np.maximum(z, 1e-9) ** 2)).sum(1) / total
    yield "squares", (noise**2).sum(1) / np.maximum(((topics - overall(release)) ** 2).sum(1), 1e-300)
    yield "top squares", (s**2).sum(1) / np.maximum((top**2).sum(1), 1e-300)
    yield "top sum", s.sum(1) / np.maximum(top.sum(1), 1e-12)
    yield "least", np.sqrt((s**2).sum(1)) / np.maximum(top.sum(1), 1e-12)
    yield "apart", total


def is_noise(row):
    """Return the truth about a topic; None where it is not known."""
    if float(row["error"]) < UNSURE:
        return float(row["r"]) < NOISE
    return True if float(row["alike"]) < UNLIKE else None


def judge(rows):
    """Print which part of noise each rule misses, and which part of the others it calls noise."""
    known = [
        row | {"noise": is_noise(row)}
        for row in rows
        if row["epsilon"] != "inf" and is_noise(row) is not None
    ]
    truth = np.array([row["noise"] for row in known])
    corpora = np.array([row["corpus"] for row in known])

    def errors(called, names):
        parts = [(corpora == name) & (truth == side) for name in names for side in (True, False)]
        return [np.mean(called[part] != truth[part]) if part.any() else np.nan for part in parts]

    rules = [name for name in known[0] if name not in NOT_RULES]
    values = {name: np.array([float(row[name]) for row in known]) for name in rules}
    values["apart"] = -values["apart"]
    lines = [
        ("before >= 0.3 (old)", values["before"] >= 0.3),
        ("top sum >= 0.5 (new)", values["top sum"] >= 0.5),
    ]
    for name in rules:
        grid = np.quantile(values[name], np.linspace(0.02, 0.98, 97))
        best = min(grid, key=lambda t: np.nanmean(errors(values[name] >= t, BALANCED)))
        lines.append((f"{name} >= {best:.3g}", values[name] >= best))
    for title, some in (("chosen on", CHOOSING), ("confirmed on", CONFIRMING)):
        names = [name for name in some if name in set(corpora)]
        counts = [f"{(truth & (corpora == n)).sum()}/{(~truth & (corpora == n)).sum()}" for n in names]
        print(f"\n{title}: missed noise / called noise though it is not; of noise/other topics")
        print(" " * 26, *(f"{name:>14}" for name in names))
        print(" " * 26, *(f"{count:>14}" for count in counts))
        for name, called in lines:
            found = errors(called, names)
            print(f"{name:26}", *(f"{a:8.2f} {b:5.2f}" for a, b in zip(found[::2], found[1::2], strict=True)))


def rows_of(name, counts, planted_topics, epsilon, n_topics, seed, reference):
    """Fit once; return a row a topic."""
    n = counts.shape[0] * 7 // 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateLDA(
            n_topics, epsilon=epsilon, allow_unlearnable=True, allow_large_delta=True, random_state=seed
        ).fit(counts[:n])
    release = model.release_
    r, error = confirmed(release, counts[n:])
    base = overall(release)
    nearest = planted_topics if planted_topics is not None else reference
    alike = np.array(
        [np.minimum(e, excess(nearest, base)).sum(1).max() for e in excess(release.topic_word, base)]
    )
    known = dict(features(release))
    for k in range(n_topics):
        yield {
            "corpus": name, "epsilon": epsilon, "n_topics": n_topics, "seed": seed, "topic": k,
            "x": round(model.forecast_.difficulty, 4), "weight": round(float(release.topic_weight[k]), 5),
            "r": round(float(r[k]), 4), "error": round(float(error[k]), 4), "alike": round(float(alike[k]), 4),
            **{name: f"{values[k]:.4g}" for name, values in known.items()},
        }  # fmt: skip


def measure(data, names, seeds, path):
    """Fit everything, and write the rows as they come."""
    writer = None
    with path.open("w", newline="") as file:
        for name in names:
            counts, topics = corpus(name, data)
            for n_topics in TOPICS:
                reference = None
                if topics is None:
                    n = counts.shape[0] * 7 // 10
                    reference = GibbsLDA(n_topics, n_sweeps=150, random_state=0).fit(counts[:n]).topic_word_
                for epsilon in EPSILONS:
                    start = time.process_time()
                    for seed in range(seeds if math.isfinite(epsilon) else 1):
                        found = list(rows_of(name, counts, topics, epsilon, n_topics, seed, reference))
                        if writer is None:
                            writer = csv.DictWriter(file, found[0], lineterminator="\n")
                            writer.writeheader()
                        writer.writerows(found)
                        file.flush()
                    r = np.array([row["r"] for row in found])
                    told = f"{name:14} K {n_topics:2} epsilon {epsilon:3} x {found[0]['x']:7.2f}"
                    noise, middle = np.mean(r < NOISE), np.median(r)
                    seconds = time.process_time() - start
                    print(f"{told}: noise {noise:.2f}, median r {middle:.2f}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data")
    parser.add_argument("--corpora", nargs="+", default=[*CHOOSING, *CONFIRMING])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--to", type=Path, default=HERE / "topics.csv")
    parser.add_argument("--judge", action="store_true", help="Only print the tables again.")
    given = parser.parse_args()
    if not given.judge:
        measure(given.data, given.corpora, given.seeds, given.to)
    with given.to.open() as file:
        judge(list(csv.DictReader(file)))
