"""Tables 1 and 2: pooled true positive rates at a false positive rate of .1 %."""

import common
import numpy as np
from scipy.special import xlogy

from discreet.audit import AuditReport
from discreet.lda import fold_in

RESULT = ("tpr", "low", "high", "auc", "tpr_1pct", "n_shadows", "n_targets", "cpu_seconds")
TARGETS = common.TARGETS


def figures(report, n_shadows, n_targets, seconds):
    low, high = report.tpr_interval(common.FPR)
    return {
        "tpr": report.tpr_at(common.FPR),
        "low": low,
        "high": high,
        "auc": report.auc,
        "tpr_1pct": report.tpr_at(0.01),
        "n_shadows": n_shadows,
        "n_targets": n_targets,
        "cpu_seconds": float(seconds),
    }


def table1(scale):
    """LiRA beside the three simple attacks."""
    table = common.Table("table1", ("corpus", "n_topics", "attack"), RESULT)
    for corpus, n_topics, most, n_targets in (*common.TABLE1, (common.ALL_WORDS, 20, 64, 5)):
        if table.has(corpus=corpus, attack="entropy"):
            continue
        n_shadows = max(4, int(most * scale) // 2 * 2)
        counts, _ = common.load(corpus)
        train = common.default_vb(n_topics)
        done = common.statistics(f"vb {n_topics}", counts, train, n_shadows, n_targets)
        shadows, inside, targets, members, seeds, seconds = done
        for name, online in (("LiRA", True), ("LiRA offline", False)):
            report = common.attack(shadows, inside, targets, members, online=online)
            values = figures(report, n_shadows, n_targets, seconds)
            table.add(corpus=corpus, n_topics=n_topics, attack=name, **values)
        scores = {"max": [], "std": [], "entropy": []}
        for row, seed in zip(members, seeds, strict=True):
            topics = train(counts[row], seed)
            theta = fold_in(topics, counts)
            scores["max"].append(theta.max(axis=1))
            scores["std"].append(theta.std(axis=1))
            scores["entropy"].append(xlogy(theta, theta).sum(axis=1))
        for name, values in scores.items():
            pooled = AuditReport(np.array(values), members, name)
            table.add(
                corpus=corpus,
                n_topics=n_topics,
                attack=name,
                **figures(pooled, n_shadows, n_targets, seconds),
            )


def table2(scale):
    """Online and offline: nips by the number of topics, TweetRumors by the number of shadows."""
    table = common.Table("table2", ("corpus", "n_topics", "n", "attack"), RESULT)

    def add(corpus, n_topics, n, done, keep):
        shadows, inside, targets, members, _, seconds = done
        for name, online in (("online", True), ("offline", False)):
            report = common.attack(shadows[:keep], inside[:keep], targets, members, online=online)
            values = figures(report, keep, len(members), seconds)
            table.add(corpus=corpus, n_topics=n_topics, n=n, attack=name, **values)

    def tweets(n):
        if table.has(corpus="tweetrumors", n=n, attack="offline"):
            return
        counts, _ = common.load("tweetrumors")
        keep = max(4, int(n * scale) // 2 * 2)
        add("tweetrumors", 5, n, common.statistics("vb 5", counts, common.default_vb(5), keep, TARGETS), keep)

    for n in (4, 16, 64, 128, 256):
        tweets(n)
    for n_topics in (10, 25, 5, 15, 20):
        if table.has(corpus="nips", n_topics=n_topics, attack="offline"):
            continue
        counts, _ = common.load("nips")
        n, n_targets = common.plan(scale)
        train = common.default_vb(n_topics)
        done = common.statistics(f"vb {n_topics}", counts, train, n, n_targets)
        add("nips", n_topics, n, done, n)
    tweets(512)
