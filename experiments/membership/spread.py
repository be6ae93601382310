"""TweetRumors by few shadows: each document's own spread, and spreads drawn towards a common one."""

import common

from discreet.audit import AuditReport, likelihood_ratio_scores

SHADOWS = (4, 8, 16, 64, 128)


def run(scale):
    table = common.Table(
        "spread", ("corpus", "n_topics", "n", "attack", "spread"), ("tpr", "tpr_1pct", "auc", "n_targets")
    )
    for n in SHADOWS:
        if table.has(n=n, attack="offline", spread="shrunk"):
            continue
        counts, _ = common.load("tweetrumors")
        keep = max(4, int(n * scale) // 2 * 2)
        done = common.statistics("vb 5", counts, common.default_vb(5), keep, common.TARGETS)
        shadows, inside, targets, members, _, _ = done
        for spread in ("own", "shrunk"):
            for attack, online in (("online", True), ("offline", False)):
                scores = likelihood_ratio_scores(targets, shadows, inside, online=online, spread=spread)
                report = AuditReport(scores, members, attack, coins="half")
                table.add(
                    corpus="tweetrumors",
                    n_topics=5,
                    n=n,
                    attack=attack,
                    spread=spread,
                    tpr=report.tpr_at(common.FPR),
                    tpr_1pct=report.tpr_at(0.01),
                    auc=report.auc,
                    n_targets=len(members),
                )
