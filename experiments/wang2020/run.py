"""Topics of texts that stay in silos: FedLDA made right, one report of bits, and secure aggregation.

    python experiments/wang2020/run.py --table kos       # also: poster
    python experiments/wang2020/run.py --sweeps
    python experiments/wang2020/run.py --beside          # the poster's table, ours beside it, from what was computed
    python experiments/wang2020/run.py --all

Every part writes its CSV as it goes, and goes on where it stopped. All silos are simulated, from seeds. What came out
stands in docs/research/silos.md.
"""

import argparse
import csv
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from fedlda import fit_fedlda

from discreet.evaluate import completion_perplexity
from discreet.federated import FederatedLDA
from discreet.lda import GibbsLDA, fold_in
from discreet.lda.moments.moments import packed_width
from discreet.local import BitChannel, LocalLDA
from discreet.privacy import SecureStream

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DISCREET_DATA", HERE.parents[2] / "shared" / "data"))
N_WORDS, DELTA = 1000, 1e-6
SETTING = ("part", "corpus", "line", "epsilon", "n_topics", "n_rounds", "reports_per_token", "split")
FIGURES = (
    "perplexity",
    "precision",
    "recall",
    "f1",
    "auc",
    "bytes_per_client_and_round",
    "total_epsilon",
    "cpu",
)


class Table:
    """Rows on disk; what is there already is not computed again."""

    def __init__(self, path):
        self.path = path
        self.rows = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []

    def add(self, compute, **setting):
        key = {name: str(setting.get(name, "")) for name in SETTING}
        for row in self.rows:
            if all(row[name] == key[name] for name in SETTING):
                return
        start = time.process_time()
        found = compute()
        found["cpu"] = time.process_time() - start
        row = {**key, **{name: f"{found[name]:.5g}" if name in found else "" for name in FIGURES}}
        self.rows.append(row)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, SETTING + FIGURES)
            writer.writeheader()
            writer.writerows(self.rows)
        print({name: value for name, value in row.items() if value}, flush=True)


def corpus(name):
    """Presence of the 1,000 most frequent words that are no stop words."""
    if not (DATA / name).is_dir():
        sys.exit(f"there is no corpus at {DATA / name}; set DISCREET_DATA to a folder that holds it")
    counts = sp.load_npz(DATA / name / "counts.npz").tocsr()
    words = (DATA / name / "vocab.txt").read_text(encoding="utf-8").splitlines()
    stop = set((DATA / "stopwords.txt").read_text(encoding="utf-8").split())
    total = np.asarray(counts.sum(0)).ravel().astype(float)
    total[[column for column, word in enumerate(words) if word in stop]] = -1
    kept = np.sort(np.argsort(-total)[:N_WORDS])
    return (counts[:, kept] > 0).astype(np.int32).tocsr()


def column(name, file):
    return np.array((DATA / name / file).read_text(encoding="utf-8").splitlines())


def federated(parts, line, epsilon, n_topics, n_rounds=1, per_token=1, seed=0):
    """Fit one line; epsilon is that of one report."""
    told = {"total_epsilon": epsilon * per_token}
    if line == "rrp":
        settings = {"n_rounds": n_rounds, "reports_per_token": per_token}
        fitted = fit_fedlda(parts, n_topics, epsilon=epsilon * per_token, random_state=seed, **settings)
        traffic = fitted.bytes_received / len(parts) / n_rounds
        return fitted.topic_word, {"bytes_per_client_and_round": traffic, **told}
    if line == "bits":
        traffic = bytes_of_bits(parts)
        return fit_bits(parts, n_topics, epsilon, seed), {"bytes_per_client_and_round": traffic, **told}
    model = FederatedLDA(
        n_topics, epsilon=epsilon, random_state=seed, allow_unlearnable=True, delta=DELTA, tolerated=1
    ).fit(parts)
    traffic = sum(size for size, _ in model.state_.traffic) / len(parts)
    return model.components_, {"bytes_per_client_and_round": traffic, **told}


def fit_bits(parts, n_topics, epsilon, seed):
    """Each silo sends one randomised report of each document's words, and the server fits topics to all of them."""
    if np.isinf(epsilon):
        channel, reports = SimpleNamespace(p=1.0, q=0.0), [(part > 0).toarray() for part in parts]
    else:
        channel, root = BitChannel.for_replacement(epsilon, 0.08), SecureStream(seed)
        reports = [channel.reports(part, root.spawn(f"silo {silo}")) for silo, part in enumerate(parts)]
    model = LocalLDA(n_topics, channel=channel, random_state=seed, allow_unlearnable=True)
    return model.fit(np.concatenate(reports), simulated=True).topic_word_


def bytes_of_bits(parts):
    """Return the bytes of a silo's reports, packed, on average."""
    return sum(part.shape[0] * packed_width(part.shape[1]) for part in parts) / len(parts)


def split_silos(present, n_silos):
    return [present[start::n_silos].tocsr() for start in range(n_silos)]


def kos(split):
    present = corpus("kos")
    order = np.random.default_rng(split).permutation(present.shape[0])
    return split_silos(present[order[430:]].tocsr(), 10), present[order[:430]].tocsr()


def measure(parts, test, *settings, **more):
    topics, found = federated(parts, *settings, **more)
    return {**found, "perplexity": completion_perplexity(topics, test)}


def table_kos():
    table = Table(HERE / "kos.csv")
    for split in range(3):
        parts, test = kos(split)
        setting = {"part": "table", "corpus": "kos", "split": split}
        pooled = sp.vstack(parts).tocsr()
        table.add(
            lambda p=pooled, t=test: {"perplexity": completion_perplexity(np.asarray(p.sum(0)), t)},
            line="unigram, exact",
            **setting,
        )
        table.add(
            lambda p=pooled, t=test, s=split: {
                "perplexity": completion_perplexity(
                    GibbsLDA(20, init="random", n_sweeps=200, random_state=s).fit(p).topic_word_, t
                )
            },
            line="pooled Gibbs, no noise",
            n_topics=20,
            **setting,
        )
        for epsilon in (5, 7.5, np.inf):
            for n_topics, rounds, per_token in ((10, 40, 40), (20, 40, 40), (10, 20, 1)):
                table.add(
                    lambda a=(parts, test, "rrp", epsilon, n_topics, rounds, per_token), s=split: measure(
                        *a, seed=s
                    ),
                    line="rrp",
                    epsilon=epsilon,
                    n_topics=n_topics,
                    n_rounds=rounds,
                    reports_per_token=per_token,
                    **setting,
                )
        lines = [("bits", e) for e in (1, 2, 5, 7.5, np.inf)] + [
            ("aggregate", e) for e in (0.5, 1, 2, 5, 7.5, np.inf)
        ]
        for line, epsilon in lines:
            table.add(
                lambda a=(parts, test, line, epsilon, 20), s=split: measure(*a, seed=s),
                line=line,
                epsilon=epsilon,
                n_topics=20,
                **setting,
            )


def sweeps():
    """Over epsilon, number of topics, and the share of its tokens that a client reports in a round."""
    table = Table(HERE / "sweeps.csv")
    parts, test = kos(0)
    runs = [("epsilon", e, 10, 40, 40) for e in (4, 5, 6, 7.5, 9, 12)]
    runs += [("topics", e, k, 40, 40) for k in (5, 10, 20, 50) for e in (5, 7.5)]
    runs += [("share", e, 10, 40, m) for m in (4, 10, 20, 40) for e in (5, 7.5)]
    for part, epsilon, n_topics, rounds, per_token in runs:
        table.add(
            lambda a=(parts, test, "rrp", epsilon, n_topics, rounds, per_token): measure(*a),
            part=part,
            corpus="kos",
            line="rrp",
            epsilon=epsilon,
            n_topics=n_topics,
            n_rounds=rounds,
            reports_per_token=per_token,
            split=0,
        )
    _, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
    names = (
        ("epsilon", "epsilon", "epsilon of a report"),
        ("topics", "n_topics", "topics"),
        ("share", "reports_per_token", "share of tokens reported a round"),
    )
    for axis, (part, name, label) in zip(axes, names, strict=True):
        rows = [row for row in table.rows if row["part"] == part]
        for epsilon in ("5", "7.5") if part != "epsilon" else (None,):
            chosen = [row for row in rows if epsilon is None or row["epsilon"] == epsilon]
            x = [float(row[name]) / (40 if part == "share" else 1) for row in chosen]
            y = [float(row["perplexity"]) for row in chosen]
            axis.plot(x, y, "o-", label=None if epsilon is None else f"epsilon {epsilon} a report")
        axis.axhline(772, color="grey", ls=":", label="unigram, exact")
        axis.set_xlabel(label)
        axis.legend(fontsize=8, frameon=False)
    axes[0].set_ylabel("completion perplexity, KOS")
    plt.tight_layout()
    plt.savefig(HERE / "sweeps.png", dpi=130)


def scores(topics, train, labels, test, truth):
    """Logistic regression on topic proportions; the poster's four figures."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import precision_recall_fscore_support, roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known, new = fold_in(topics, train), fold_in(topics, test)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(known, labels)
    precision, recall, f1, _ = precision_recall_fscore_support(truth, model.predict(new), average="binary")
    auc = roc_auc_score(truth, model.predict_proba(new)[:, 1])
    return {"precision": precision, "recall": recall, "f1": f1, "auc": auc}


def table_poster():
    table = Table(HERE / "poster.csv")
    for name, positive in (("enron-spam", "spam"), ("imdb", "pos")):
        present, labels = corpus(name), column(name, "labels.txt")
        keep = np.flatnonzero((np.diff(present.indptr) >= 2) & (labels != "unsup"))
        order = np.random.default_rng(0).permutation(keep)[:15_000]
        train, test = order[:10_000], order[10_000:]
        groups = column(name, "group.txt") if name == "enron-spam" else np.arange(len(labels)) % 10
        parts = [present[train[groups[train] == group]].tocsr() for group in np.unique(groups[train])]
        data = (present[train], labels[train] == positive, present[test], labels[test] == positive)

        def run(parts, data, *settings):
            topics, found = federated(parts, *settings)
            return {**found, **scores(topics, *data), "perplexity": completion_perplexity(topics, data[2])}

        def pooled(data):
            topics = GibbsLDA(20, init="random", n_sweeps=100, random_state=0).fit(data[0]).topic_word_
            return {**scores(topics, *data), "perplexity": completion_perplexity(topics, data[2])}

        setting = {"part": "poster", "corpus": name, "n_topics": 20}
        table.add(lambda d=data: pooled(d), line="pooled Gibbs, no noise", **setting)
        for line, epsilon, rounds in (
            *(("rrp", e, 20) for e in (np.inf, 7.5, 5)),
            *(("bits", e, 1) for e in (7.5, 5)),
            *(("aggregate", e, 1) for e in (7.5, 5, 1)),
        ):
            table.add(
                lambda a=(parts, data, line, epsilon, 20, rounds, rounds): run(*a),
                line=line,
                epsilon=epsilon,
                n_rounds=rounds,
                reports_per_token=rounds,
                **setting,
            )


#: As printed: spam filtering and sentiment analysis; without federation, at epsilon 7.5 and at 5.
POSTER = {
    ("spam", "enron-spam"): {
        "precision": (0.868, 0.781, 0.736),
        "recall": (0.708, 0.767, 0.760),
        "f1": (0.780, 0.774, 0.748),
        "auc": (0.798, 0.771, 0.738),
    },
    ("sentiment", "imdb"): {
        "precision": (0.777, 0.774, 0.761),
        "recall": (0.814, 0.776, 0.766),
        "f1": (0.795, 0.775, 0.764),
        "auc": (0.794, 0.778, 0.767),
    },
}


def beside():
    """Print the poster's table, cell by cell: theirs / ours."""
    rows = {(row["corpus"], row["line"], row["epsilon"]): row for row in Table(HERE / "poster.csv").rows}
    lines = (("pooled Gibbs, no noise", ""), ("rrp", "7.5"), ("rrp", "5"))
    print("| task | measure | no federation | 7.5 a report | 5 a report |")
    for (task, name), table in POSTER.items():
        for measure, theirs in table.items():
            ours = [float(rows[name, line, epsilon][measure]) for line, epsilon in lines]
            cells = [f"{one:.3f} / {other:.3f}" for one, other in zip(theirs, ours, strict=True)]
            print(f"| {task} | {measure} | {' | '.join(cells)} |")
        lost = [100 * (table["auc"][0] - value) for value in table["auc"][1:]]
        print(f"{task}: the poster's AUC falls by {lost[0]:.1f} and {lost[1]:.1f} points")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=("kos", "poster"))
    parser.add_argument("--sweeps", action="store_true")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--all", action="store_true")
    chosen = parser.parse_args()
    if chosen.all or chosen.table == "kos":
        table_kos()
    if chosen.all or chosen.sweeps:
        sweeps()
    if chosen.all or chosen.table == "poster":
        table_poster()
    if chosen.all or chosen.beside:
        beside()


if __name__ == "__main__":
    main()
