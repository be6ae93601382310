"""The same membership attack with scikit-learn's models and with ours: CPU time and what it finds.

    OMP_NUM_THREADS=1 python benchmarks/membership.py [--shadows 64] [--json out.json]

TweetRumors, 5 topics, one target and its shadows, both sides at scikit-learn's defaults (priors 1 / K, 10 passes,
tolerance .001 of a document's inference), the same halves and seeds. The two sides take turns model by model, in one
process and one thread each, so that a busy machine slows both. "whole" adds the statistic of every document under
every model and the attack itself, which are ours on both sides.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from real_corpora import DATA
from sklearn.decomposition import LatentDirichletAllocation

from discreet.audit import AuditReport, draw_halves, likelihood_ratio_scores
from discreet.audit.shadows import statistic
from discreet.lda import VariationalLDA

TOPICS = 5


def sklearn_model(counts, seed):
    return LatentDirichletAllocation(TOPICS, random_state=seed).fit(counts).components_


def our_model(counts, seed):
    model = VariationalLDA(
        TOPICS,
        doc_topic_prior=1 / TOPICS,
        topic_word_prior=1 / TOPICS,
        max_iter=10,
        tol=0.0,
        init="random",
        random_state=seed,
        n_jobs=1,
    )
    return model.fit(counts).components_


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shadows", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json")
    options = parser.parse_args()
    counts = sp.load_npz(DATA / "tweetrumors" / "counts.npz").tocsr()
    rng = np.random.default_rng(options.seed)
    inside = draw_halves(counts.shape[0], options.shadows, rng)
    target = rng.random(counts.shape[0]) < 0.5
    members = np.vstack([target, inside])
    sides = {"scikit-learn": sklearn_model, "discreet": our_model}
    training, whole = dict.fromkeys(sides, 0.0), dict.fromkeys(sides, 0.0)
    values = {name: np.empty(members.shape) for name in sides}
    for train in sides.values():  # compile and load before the clock runs
        statistic(train(counts[target], 1), counts)
    for row, half in enumerate(members):
        for name, train in sides.items():
            start = time.process_time()
            topics = train(counts[half], options.seed + row)
            middle = time.process_time()
            values[name][row] = statistic(topics, counts)
            training[name] += middle - start
            whole[name] += time.process_time() - start
    result = {"shadows": options.shadows, "seed": options.seed}
    for name in sides:
        start = time.process_time()
        scores = likelihood_ratio_scores(values[name][0], values[name][1:], inside)
        whole[name] += time.process_time() - start
        report = AuditReport(scores, target, name)
        result[name] = {
            "training_cpu_seconds": training[name],
            "whole_cpu_seconds": whole[name],
            "tpr_at_0.1pct": report.tpr_at(1e-3),
            "interval": report.tpr_interval(1e-3),
            "tpr_at_1pct": report.tpr_at(1e-2),
            "auc": report.auc,
        }
        print(
            f"{name:13} training {training[name]:7.2f} s  whole {whole[name]:7.2f} s  TPR at .1 % "
            f"{report.tpr_at(1e-3):.2%}  at 1 % {report.tpr_at(1e-2):.2%}  area {report.auc:.3f}"
        )
    for name, times in (("training", training), ("whole", whole)):
        result[f"ratio_{name}"] = times["scikit-learn"] / times["discreet"]
        print(f"{name}: {result[f'ratio_{name}']:.1f} times the CPU time")
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
