"""The simple attacks by three ways of finding a document's mixture: their figures hang on it."""

import common
import numpy as np
from scipy.special import xlogy

from discreet.audit import AuditReport
from discreet.lda import fold_in

WAYS = {
    "variational": "scikit-learn's transform, prior 1 / K",
    "map": "penalised, prior .1, as in table 1",
    "maximum_likelihood": "the query statistic's own",
}


def run(scale):
    table = common.Table(
        "simple", ("corpus", "n_topics", "mixture", "attack"), ("tpr", "tpr_1pct", "auc", "n_targets")
    )
    for corpus, n_topics, most in (("tweetrumors", 5, 10), ("nips", 10, 3)):
        if table.has(corpus=corpus, mixture="maximum_likelihood", attack="entropy"):
            continue
        n_targets = max(1, round(most * min(1.0, scale)))
        counts, _ = common.load(corpus)
        _, members, _, seeds = common.draw(counts, 128, common.TARGETS)
        members = members[:n_targets]
        train = common.default_vb(n_topics)
        scores = {way: {"max": [], "std": [], "entropy": []} for way in WAYS}
        for row, seed in zip(members, seeds[:n_targets], strict=True):
            topics = train(counts[row], seed)
            for way, attacks in scores.items():
                prior = 1 / n_topics if way == "variational" else 0.1
                theta = fold_in(topics, counts, method=way, doc_topic_prior=prior, n_jobs=1)
                attacks["max"].append(theta.max(axis=1))
                attacks["std"].append(theta.std(axis=1))
                attacks["entropy"].append(xlogy(theta, theta).sum(axis=1))
        for way, attacks in scores.items():
            for name, values in attacks.items():
                report = AuditReport(np.array(values), members, name)
                table.add(
                    corpus=corpus,
                    n_topics=n_topics,
                    mixture=way,
                    attack=name,
                    tpr=report.tpr_at(common.FPR),
                    tpr_1pct=report.tpr_at(0.01),
                    auc=report.auc,
                    n_targets=n_targets,
                )
