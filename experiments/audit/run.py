"""What one run with canaries, and a classifier attack, find in models of real text. Writes audit.csv beside it.

    python experiments/audit/run.py

kos: 1,000 canaries among 3,430 entries. 20newsgroups: 4,000 posts drawn by seed, words of at least 5 of them,
linear classifier and forest on 20 topics. Rows that stand in audit.csv are not made again.
gaussian_at_least: the same guesses, where it is known that all noise is Gaussian.
"""

import csv
import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zhao2020"))
from classifier_attack import classifier_attack

from discreet import PrivateLDA, VariationalLDA
from discreet.audit import one_run_audit, one_run_bound

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DISCREET_DATA", HERE.parents[2] / "shared" / "data"))
OUT = HERE / "audit.csv"
DELTA = 1e-6
FIELDS = [
    "audit", "corpus", "trainer", "variant", "promise", "epsilon_at_least", "gaussian_at_least", "right", "guesses",
    "auc", "accuracy", "precision", "recall", "inside_accuracy", "outside_accuracy", "cpu_seconds",
]  # fmt: skip
EPSILONS = (1.0, 4.0, 8.0, 100.0)


def _variational(n_topics, seed):
    return VariationalLDA(n_topics, init="random", random_state=seed)


def trainer(epsilon, n_topics):
    if epsilon is None:
        return lambda counts, seed: _variational(n_topics, seed).fit(counts).components_
    settings = {"epsilon": epsilon, "delta": DELTA, "allow_unlearnable": True}
    return lambda counts, seed: PrivateLDA(n_topics, random_state=seed, **settings).fit(counts).components_


def one_run(epsilon, kind):
    counts = sp.load_npz(DATA / "kos" / "counts.npz")
    how = {"n_canaries": 1000, "kind": kind, "epsilon": epsilon, "random_state": 1}
    found = one_run_audit(trainer(epsilon, 20), counts, delta=0.0 if epsilon is None else DELTA, **how)
    gaussian = {}
    if epsilon is not None:  # all its noise is Gaussian: the same guesses, held against the whole curve
        known = one_run_audit(trainer(epsilon, 20), counts, delta=DELTA, noise="gaussian", **how)
        gaussian = {"gaussian_at_least": known.epsilon_lower_bound()}
    right, guesses = max(found.right_guesses(), key=lambda tried: one_run_bound(*tried))
    return {
        "epsilon_at_least": found.epsilon_lower_bound(),
        **gaussian,
        "right": right,
        "guesses": guesses,
        "auc": found.auc,
    }


def posts():
    folder = DATA / "20newsgroups"
    counts = sp.load_npz(folder / "counts.npz")
    labels = np.array(folder.joinpath("labels.txt").read_text().split("\n")[: counts.shape[0]])
    drawn = np.random.default_rng(0).choice(counts.shape[0], 4000, replace=False)
    counts = counts[drawn]
    return counts[:, np.asarray((counts > 0).sum(axis=0)).ravel() >= 5], labels[drawn]


def classifier(epsilon, kind):
    found = classifier_attack(
        trainer(epsilon, 20), *posts(), classifier=kind, n_shadows=10, random_state=0, n_jobs=2
    )
    names = ("accuracy", "precision", "recall", "inside_accuracy", "outside_accuracy")
    return {
        "epsilon_at_least": found.attack.epsilon_lower_bound(),
        "auc": found.attack.auc,
        **{name: getattr(found, name) for name in names},
    }


def main():
    rows = list(csv.DictReader(OUT.read_text().splitlines())) if OUT.exists() else []
    done = {tuple(row[name] for name in FIELDS[:5]) for row in rows}
    for audit, corpus, variants, run in (
        ("one run", "kos", ("rare", "one_topic"), one_run),
        ("classifier", "20newsgroups", ("linear", "forest"), classifier),
    ):
        for epsilon in (None, *EPSILONS):
            for variant in variants:
                name = "variational" if epsilon is None else "private"
                key = (audit, corpus, name, variant, "" if epsilon is None else f"{epsilon:g}")
                if key in done:
                    continue
                start = time.process_time()
                values = run(epsilon, variant)
                values["cpu_seconds"] = time.process_time() - start
                row = dict(zip(FIELDS[:5], key, strict=True))
                row |= {n: f"{v:.3f}" if isinstance(v, float) else v for n, v in values.items()}
                rows.append(row)
                print(row, flush=True)
                with OUT.open("w", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    writer.writeheader()
                    writer.writerows(rows)


if __name__ == "__main__":
    main()
