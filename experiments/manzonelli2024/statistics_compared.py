"""Other statistics inside the likelihood-ratio attack, and whether the statistics are normal; TweetRumors, 5 topics.

    python experiments/manzonelli2024/statistics_compared.py     # statistics.csv beside this file

As in the appendix of the paper: 64 shadows and ten targets, and of each model the largest log-likelihood, the largest
share, the standard deviation and the negative entropy of each document's mixture. Normality: share of 500 documents for
which the Shapiro-Wilk test at 5 % says that the 32 values of models that saw it are not normal; 5 % is chance.
"""

import common
import numpy as np
from scipy.special import xlogy
from scipy.stats import shapiro

from discreet.audit import AuditReport, likelihood_ratio_scores
from discreet.audit.shadows import FLOOR, statistic
from discreet.lda import fold_in

KINDS = ("likelihood", "max", "std", "entropy")
N_SHADOWS, N_TARGETS, N_TESTED = 64, 10, 500


def of_model(kind, topics, counts):
    """The statistic of every document, topics mixed with a little of all words as the attack does."""
    if kind == "likelihood":
        return statistic(topics, counts)
    shares = topics / topics.sum(axis=1, keepdims=True)
    theta = np.asarray(fold_in((1 - FLOOR) * shares + FLOOR / topics.shape[1], counts, n_jobs=1))
    return {"max": theta.max(axis=1), "std": theta.std(axis=1), "entropy": xlogy(theta, theta).sum(axis=1)}[
        kind
    ]


def not_normal(values, chosen):
    """Share of documents whose values in the chosen rows fail the test."""
    found = []
    for column in np.random.default_rng(0).choice(values.shape[1], N_TESTED, replace=False):
        mine = values[chosen[:, column], column]
        found.append(np.ptp(mine) == 0 or shapiro(mine).pvalue < 0.05)
    return float(np.mean(found))


def main():
    fields = ("tpr", "tpr_1pct", "auc", "not_normal_in", "not_normal_out", "n_shadows", "n_targets")
    table = common.Table("statistics", ("statistic", "attack"), fields)
    if all(table.has(statistic=kind, attack="offline") for kind in KINDS):
        return
    counts, _ = common.load("tweetrumors")
    inside, members, shadow_seeds, target_seeds = common.draw(counts, N_SHADOWS, N_TARGETS)
    train, found = common.default_vb(5), {kind: [] for kind in KINDS}
    for row, seed in zip([*inside, *members], [*shadow_seeds, *target_seeds], strict=True):
        topics = train(counts[row], seed)
        for kind in KINDS:
            found[kind].append(of_model(kind, topics, counts))
    for kind, values in found.items():
        shadows, targets = np.array(values[:N_SHADOWS]), np.array(values[N_SHADOWS:])
        normal = {
            "not_normal_in": not_normal(shadows, inside),
            "not_normal_out": not_normal(shadows, ~inside),
        }
        for name, online in (("online", True), ("offline", False)):
            if table.has(statistic=kind, attack=name):
                continue
            scores = likelihood_ratio_scores(targets, shadows, inside, online=online)
            report = AuditReport(scores, members, "LiRA")
            rates = {"tpr": report.tpr_at(common.FPR), "tpr_1pct": report.tpr_at(0.01), "auc": report.auc}
            table.add(
                statistic=kind, attack=name, **rates, **normal, n_shadows=N_SHADOWS, n_targets=N_TARGETS
            )


if __name__ == "__main__":
    main()
