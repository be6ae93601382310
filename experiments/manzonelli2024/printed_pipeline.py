"""The fully private pipeline of Manzonelli et al. (2024) from the paper's own parts: figures 4, 5 and 6, TweetRumors.

    python experiments/manzonelli2024/printed_pipeline.py     # printed_coherence.csv, printed_attack.csv and a picture

The vocabulary is GW with the published threshold and delta = 1e-5 (eps1), as
``PrivateCountVectorizer(threshold="published")`` has it; the model has 5 topics: variational Bayes without
privacy (figure 4) or Zhu et al. (figures 5 and 6; eps2; :func:`printed_gibbs.zhu_lda`, 100 sweeps, both priors
1 / K). Coherence is UMass over the ten first words, mean of ten runs. Zhu's sampler promises nothing: its last
counts are exact. The attack is ``lira`` on 64 shadows, by someone who knows the target's vocabulary; here three
repetitions where the paper has ten.
"""

import sys
from pathlib import Path

import common
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zhao2020"))
from printed_gibbs import zhu_lda

from discreet import Corpus, PrivateCountVectorizer
from discreet.audit import AuditReport, likelihood_ratio_scores
from discreet.audit.shadows import draw_halves, train_statistics
from discreet.evaluate import coherence_npmi, coherence_umass

TOPICS, DELTA, RUNS, SWEEPS, FREE = 5, 1e-5, 10, 100, "inf"
LEVELS = ("1", "2", "3", "4", "5", "10", "15", "20")
FIGURE_4 = [(level, FREE) for level in LEVELS]
FIGURE_5 = [(level, "3") for level in LEVELS] + [("3", level) for level in LEVELS if level != "3"]
FIGURE_6 = [("1", "5"), ("5", "5"), ("10", "5"), ("5", "1"), ("5", "10")]
N_SHADOWS, TARGETS = 64, 3


def columns(counts, words, epsilon, seed):
    """Choose words as printed; return their columns."""
    chosen = PrivateCountVectorizer(
        epsilon=epsilon, delta=DELTA, method="greedy", threshold="published", random_state=seed
    ).fit(Corpus(counts, words))
    place = {word: j for j, word in enumerate(words)}
    return np.array([place[word] for word in chosen.get_feature_names_out()])


def model(epsilon):
    if epsilon == FREE:
        return common.default_vb(TOPICS)
    return lambda counts, seed: zhu_lda(
        counts, TOPICS, 1 / TOPICS, 1 / TOPICS, SWEEPS, seed, epsilon=float(epsilon)
    )


def coherence():
    fields = ("umass", "umass_spread", "npmi", "n_words", "n_runs")
    table = common.Table("printed_coherence", ("eps1", "eps2"), fields)
    counts, words = common.load("tweetrumors")
    for eps1, eps2 in FIGURE_4 + FIGURE_5:
        if table.has(eps1=eps1, eps2=eps2):
            continue
        values, sizes = [], []
        for seed in range(RUNS):
            narrow = counts[:, columns(counts, words, float(eps1), seed)]
            topics = model(eps2)(narrow, seed)
            values.append((coherence_umass(topics, narrow), coherence_npmi(topics, narrow)))
            sizes.append(narrow.shape[1])
        umass, npmi = np.array(values).T
        found = {
            "umass": float(umass.mean()),
            "umass_spread": float(umass.std(ddof=1)),
            "npmi": float(npmi.mean()),
        }
        table.add(eps1=eps1, eps2=eps2, **found, n_words=int(np.mean(sizes)), n_runs=RUNS)
    draw(table)


def draw(table):
    panels = {}
    for moving, still, level, title in (
        ("eps1", "eps2", FREE, "figure 4: model without privacy"),
        ("eps1", "eps2", "3", "figure 5: eps2 = 3"),
        ("eps2", "eps1", "3", "figure 5: eps1 = 3"),
    ):
        rows = [row for row in table.rows if row[still] == level and row[moving] != FREE]
        if len(rows) > 1:
            panels[title] = (
                moving,
                sorted((float(r[moving]), float(r["umass"]), float(r["umass_spread"])) for r in rows),
            )
    figure, axes = plt.subplots(
        1, len(panels), figsize=(3.7 * len(panels), 3.6), layout="constrained", sharey=True, squeeze=False
    )
    for axis, (title, (moving, points)) in zip(axes[0], panels.items(), strict=True):
        axis.errorbar(*np.array(points).T, color="#2b6a8f", marker="o", ms=4, lw=1.5, capsize=2)
        axis.set(title=title, xlabel=moving)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("coherence, UMass")
    figure.savefig(common.HERE / "printed_coherence.png", dpi=130)
    plt.close(figure)


def attack():
    fields = ("tpr", "tpr_1pct", "auc", "n_words", "n_shadows", "n_targets")
    table = common.Table("printed_attack", ("eps1", "eps2"), fields)
    counts, words = common.load("tweetrumors")
    for eps1, eps2 in FIGURE_6:
        if table.has(eps1=eps1, eps2=eps2):
            continue
        scores, members, sizes = [], [], []
        for target in range(TARGETS):
            rng = np.random.default_rng([target, int(eps1), int(eps2)])
            coins = rng.random((1, counts.shape[0])) < 0.5
            kept = columns(counts[coins[0]], words, float(eps1), target)
            narrow, train = counts[:, kept], model(eps2)
            inside = draw_halves(counts.shape[0], N_SHADOWS, rng)
            seeds = rng.integers(2**31 - 1, size=N_SHADOWS + 1).tolist()
            shadows = train_statistics(train, narrow, inside, seeds[1:], n_jobs=1)
            own = train_statistics(train, narrow, coins, seeds[:1], n_jobs=1)
            scores.append(likelihood_ratio_scores(own[0], shadows, inside))
            members.append(coins[0])
            sizes.append(len(kept))
        report = AuditReport(np.array(scores), np.array(members), "LiRA", coins="independent")
        found = {"tpr": report.tpr_at(common.FPR), "tpr_1pct": report.tpr_at(0.01), "auc": report.auc}
        more = {"n_words": int(np.mean(sizes)), "n_shadows": N_SHADOWS, "n_targets": TARGETS}
        table.add(eps1=eps1, eps2=eps2, **found, **more)


if __name__ == "__main__":
    coherence()
    attack()
