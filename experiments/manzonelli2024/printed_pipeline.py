"""The fully private pipeline of Manzonelli et al. (2024) from the paper's own parts: figures 4, 5 and 6, TweetRumors.

    python experiments/manzonelli2024/printed_pipeline.py     # printed_coherence.csv, printed_attack.csv and a picture

The vocabulary is GW with the published threshold and delta = 1e-5 (eps1; :mod:`printed_words`); the model has 5
topics: variational Bayes without privacy (figure 4) or Zhu et al. (figures 5 and 6; eps2;
:func:`printed_gibbs.zhu_lda`, 100 sweeps, both priors 1 / K), with noise on all counts once, or in each draw, as in
the code that the authors released. Coherence is UMass over the ten first words, mean of ten runs. Zhu's sampler
promises nothing: its last counts are exact. The attack is ``lira`` on 64 shadows, by someone who knows the target's
vocabulary; ten targets.
"""

import itertools
import sys
from pathlib import Path

import common
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from pipeline import COHERENCE_TABLE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zhao2020"))
from printed_gibbs import zhu_lda
from printed_words import choose

from discreet.audit import AuditReport, likelihood_ratio_scores
from discreet.audit.shadows import draw_halves, train_statistics
from discreet.evaluate import coherence_npmi, coherence_umass

TOPICS, DELTA, RUNS, SWEEPS, FREE = 5, 1e-5, 10, 100, "inf"
#: Where the noise is: no privacy, and two readings of Zhu et al.
NONE, COUNTS, DRAWS = "none", "all counts once", "each draw"
#: The library's parts on the same axes: coherence.csv of :mod:`pipeline`.
OURS = "PrivateLDA, its own words"
LEVELS = ("1", "2", "3", "4", "5", "10", "15", "20")
#: Below the paper's axis, where the sampler begins to react.
LOW = ("0.02", "0.05", "0.1", "0.2", "0.5")
FIGURE_4 = [(NONE, level, FREE) for level in LEVELS]
FIGURE_5 = [
    (noise, *pair)
    for noise in (COUNTS, DRAWS)
    for pair in (
        *((level, "3") for level in LEVELS),
        *(("3", level) for level in (*LOW, *LEVELS) if level != "3"),
    )
]
FIGURE_6 = [("1", "5"), ("5", "5"), ("10", "5"), ("5", "1"), ("5", "10")]
N_SHADOWS, TARGETS = 64, 10


def columns(counts, words, epsilon, seed):
    """Choose words as printed; return their columns."""
    place = {word: j for j, word in enumerate(words)}
    return np.array([place[word] for word in choose(counts, words, epsilon, DELTA, seed=seed)[0]])


def model(noise, epsilon):
    if noise == NONE:
        return common.default_vb(TOPICS)
    settings = {"epsilon": float(epsilon), "each_draw": noise == DRAWS}
    return lambda counts, seed: zhu_lda(counts, TOPICS, 1 / TOPICS, 1 / TOPICS, SWEEPS, seed, **settings)


def coherence():
    fields = ("umass", "umass_spread", "npmi", "n_words", "n_runs")
    table = common.Table("printed_coherence", ("noise", "eps1", "eps2"), fields)
    counts, words = common.load("tweetrumors")
    for noise, eps1, eps2 in FIGURE_4 + FIGURE_5:
        if table.has(noise=noise, eps1=eps1, eps2=eps2):
            continue
        values, sizes = [], []
        for seed in range(RUNS):
            narrow = counts[:, columns(counts, words, float(eps1), seed)]
            topics = model(noise, eps2)(narrow, seed)
            values.append((coherence_umass(topics, narrow), coherence_npmi(topics, narrow)))
            sizes.append(narrow.shape[1])
        umass, npmi = np.array(values).T
        found = {
            "umass": float(umass.mean()),
            "umass_spread": float(umass.std(ddof=1)),
            "npmi": float(npmi.mean()),
        }
        table.add(noise=noise, eps1=eps1, eps2=eps2, **found, n_words=int(np.mean(sizes)), n_runs=RUNS)
    draw(table)


def draw(table):
    panels = (
        ("eps1", "eps2", FREE, (NONE,), "figure 4: model without privacy"),
        ("eps1", "eps2", "3", (COUNTS, DRAWS, OURS), "figure 5: eps2 = 3"),
        ("eps2", "eps1", "3", (COUNTS, DRAWS, OURS), "figure 5: eps1 = 3"),
    )
    colours = {NONE: "#333333", COUNTS: "#2b6a8f", DRAWS: "#c2540a", OURS: "#4d7a3a"}
    ours = [row | {"noise": OURS} for row in common.Table(*COHERENCE_TABLE).rows]
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained", sharey=True)
    for axis, (moving, still, level, lines, title) in zip(axes, panels, strict=True):
        for noise in lines:
            rows = [
                r for r in (*table.rows, *ours) if r["noise"] == noise and float(r[still]) == float(level)
            ]
            points = sorted((float(r[moving]), float(r["umass"]), float(r["umass_spread"])) for r in rows)
            label = f"Zhu et al., noise in {noise}" if noise in (COUNTS, DRAWS) else OURS
            axis.errorbar(
                *np.array(points).T, color=colours[noise], marker="o", ms=4, lw=1.5, capsize=2, label=label
            )
        axis.set(title=title, xlabel=moving, xscale="log")
        ticks = LEVELS if moving == "eps1" else (*LOW, *LEVELS)
        shown = [tick for tick in ticks if tick not in ("4", "15")]
        axis.set_xticks([float(tick) for tick in shown], [f"{float(tick):g}" for tick in shown])
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(*axes[2].get_legend_handles_labels(), frameon=False, fontsize=8, loc="lower left")
    axes[0].set_ylabel("coherence, UMass")
    figure.savefig(common.HERE / "printed_coherence.png", dpi=130)
    plt.close(figure)


def attack():
    fields = ("tpr", "tpr_1pct", "auc", "n_words", "n_shadows", "n_targets")
    table = common.Table("printed_attack", ("noise", "eps1", "eps2"), fields)
    counts, words = common.load("tweetrumors")
    # And what words chosen privately hide on their own, with a model without privacy.
    free = [(NONE, (level, FREE)) for level in ("1", "5")]
    for noise, (eps1, eps2) in (*itertools.product((DRAWS, COUNTS), FIGURE_6), *free):
        if table.has(noise=noise, eps1=eps1, eps2=eps2):
            continue
        scores, members, sizes = [], [], []
        for target in range(TARGETS):
            rng = np.random.default_rng([target, int(eps1), 0 if eps2 == FREE else int(eps2)])
            coins = rng.random((1, counts.shape[0])) < 0.5
            kept = columns(counts[coins[0]], words, float(eps1), target)
            narrow, train = counts[:, kept], model(noise, eps2)
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
        table.add(noise=noise, eps1=eps1, eps2=eps2, **found, **more)


if __name__ == "__main__":
    coherence()
    attack()
