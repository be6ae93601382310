"""TweetRumors by few shadows: how the spread of a document's statistic is found decides what LiRA finds.

Each document's own spread; spreads drawn towards a common one; one spread for all documents; and the arithmetic of
the authors' released code, whose densities are doubles that run out (a score then is the least or the greatest double,
and many documents share it).
"""

import sys

import common
import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from discreet.audit import AuditReport, likelihood_ratio_scores

SHADOWS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
LEAST, MOST = sys.float_info.min, sys.float_info.max


def normals(shadows, chosen):
    """Mean and standard deviation (divided by the number itself) of each document over the chosen shadows."""
    n = chosen.sum(axis=0)
    mean = np.where(chosen, shadows, 0).sum(axis=0) / n
    return mean, np.sqrt(np.where(chosen, (shadows - mean) ** 2, 0).sum(axis=0) / n)


def one_for_all(targets, shadows, inside, *, online):
    """LiRA with one spread for all documents with them, and one for all without."""
    away, width = normals(shadows, ~inside)
    width = np.sqrt((width**2).mean())
    far = (targets - away) / width
    if not online:
        return far
    near, spread = normals(shadows, inside)
    spread = np.sqrt((spread**2).mean())
    return 0.5 * (far**2 - ((targets - near) / spread) ** 2)


def doubles(targets, shadows, inside, *, online):
    """LiRA as a ratio of densities, or a tail probability, in double precision."""
    mean, width = normals(shadows, ~inside)
    width = np.maximum(width, 1e-12)
    if not online:
        return 1 - norm.sf(targets, mean, width)
    near, spread = normals(shadows, inside)
    with np.errstate(over="ignore"):
        ratio = np.maximum(norm.pdf(targets, near, np.maximum(spread, 1e-12)), LEAST) / np.maximum(
            norm.pdf(targets, mean, width), LEAST
        )
    return np.minimum(ratio, MOST)


def library(spread):
    def rule(targets, shadows, inside, *, online):
        return likelihood_ratio_scores(targets, shadows, inside, online=online, spread=spread)

    return rule


def relative(targets, shadows, inside, *, online):
    """RMIA: the share of other documents that the target favours less, each against its mean over the shadows.

    Zarifzadeh, Liu, Shokri, arXiv:2312.03262, with gamma 1. Probabilities of whole documents are too small for the line
    by which they correct the offline mean. Online, each side counts one half.
    """
    sides = [~inside, inside] if online else [~inside]
    means = [logsumexp(np.where(side, shadows, -np.inf), axis=0) - np.log(side.sum(axis=0)) for side in sides]
    favoured = targets - np.logaddexp.reduce(means)
    below = [np.searchsorted(np.sort(row), row, side="right") - 1 for row in favoured]
    return np.array(below) / (favoured.shape[1] - 1)


RULES = {
    "own": library("own"),
    "shrunk": library("shrunk"),
    "one for all": one_for_all,
    "own in doubles": doubles,
    "none, relative (RMIA)": relative,
}


def run(scale):
    fields = ("tpr", "tpr_1pct", "auc", "tpr_each", "n_targets")
    table = common.Table("spread", ("corpus", "n_topics", "n", "attack", "spread"), fields)
    counts, _ = common.load("tweetrumors")
    for n in SHADOWS:
        missing = {
            name: rule for name, rule in RULES.items() if not table.has(n=n, attack="offline", spread=name)
        }
        if not missing:
            continue
        keep = max(4, int(n * scale) // 2 * 2)
        done = common.statistics("vb 5", counts, common.default_vb(5), keep, common.TARGETS)
        shadows, inside, targets, members, _, _ = done
        for spread, rule in missing.items():
            for attack, online in (("online", True), ("offline", False)):
                scores = rule(targets, shadows, inside, online=online)
                report = AuditReport(scores, members, attack)
                # A threshold for each target, instead of one for all ten.
                each = [
                    AuditReport(score[None], member[None], attack).tpr_at(common.FPR)
                    for score, member in zip(scores, members, strict=True)
                ]
                table.add(
                    corpus="tweetrumors",
                    n_topics=5,
                    n=n,
                    attack=attack,
                    spread=spread,
                    tpr=report.tpr_at(common.FPR),
                    tpr_1pct=report.tpr_at(0.01),
                    auc=report.auc,
                    tpr_each=float(np.mean(each)),
                    n_targets=len(members),
                )
