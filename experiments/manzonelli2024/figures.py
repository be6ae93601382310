"""Figure 1: distributions of the statistic with and without a document. Figures 2 and 3: log-log ROC curves."""

import common
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

INK, WITH, WITHOUT = "#333333", "#c2540a", "#2b6a8f"
COLOURS = ("#2b6a8f", "#c2540a", "#4d7a3a", "#7a4d8f", "#8a7a2b")


def three_documents(counts, shadows, inside):
    """Return a typical, a long and an outlying document.

    Typical: of median length, with the median gap between its means in and out, measured in spreads. Long: of the
    50 longest, the one with the median gap. Outlying: the largest gap of all.
    """
    length = np.asarray(counts.sum(axis=1)).ravel()
    n_in = inside.sum(axis=0)
    mean_in = np.where(inside, shadows, 0).sum(axis=0) / n_in
    mean_out = np.where(inside, 0, shadows).sum(axis=0) / (len(inside) - n_in)
    spread = np.sqrt(np.where(inside, 0, (shadows - mean_out) ** 2).sum(axis=0) / (len(inside) - n_in - 1))
    gap = (mean_in - mean_out) / np.maximum(spread, 1e-9)

    def median_of(rows):
        return rows[np.argsort(gap[rows], kind="stable")[len(rows) // 2]]

    typical = median_of(np.flatnonzero(length == np.median(length)))
    long = median_of(np.argsort(-length, kind="stable")[:50])
    return {"typical": typical, "long": long, "outlying": int(np.argmax(gap))}, length, gap


def figure1(scale):
    counts, _ = common.load("tweetrumors")
    n = max(4, int(128 * scale) // 2 * 2)
    shadows, inside, *_ = common.statistics("vb 5", counts, common.default_vb(5), n, common.TARGETS)
    chosen, length, gap = three_documents(counts, shadows, inside)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for axis, (name, row) in zip(axes, chosen.items(), strict=True):
        values = shadows[:, row]
        edges = np.linspace(values.min(), values.max(), 28)
        for mask, colour, label in (
            (inside[:, row], WITH, "with it"),
            (~inside[:, row], WITHOUT, "without it"),
        ):
            axis.hist(values[mask], edges, color=colour, alpha=0.55, label=label)
        axis.set_title(
            f"{name}: {int(length[row])} word{'s' if length[row] > 1 else ''}, gap {gap[row]:.1f} spreads",
            fontsize=10,
        )
        axis.set_xlabel("statistic, nats")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"shadow models of {n}")
    axes[0].legend(frameon=False)
    figure.savefig(common.HERE / "figure1.png", dpi=150)
    plt.close(figure)


def curves(axis, lines, title):
    for (name, report), colour in zip(lines.items(), COLOURS, strict=False):
        false, true = report.curve()
        axis.plot(
            false, true, color=colour, lw=1.6, label=f"{name} (area {report.auc:.2f})", drawstyle="steps-post"
        )
    axis.plot([1e-5, 1], [1e-5, 1], color=INK, lw=0.8, ls=":")
    axis.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-4, 1.05), title=title)
    axis.set_xlabel("false positive rate")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="lower right")


def figure2(scale):
    """Online and offline on the three corpora."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
    for axis, (corpus, k, most, n_targets) in zip(axes, common.TABLE1, strict=True):
        counts, _ = common.load(corpus)
        n = max(4, int(most * scale) // 2 * 2)
        done = common.statistics(f"vb {k}", counts, common.default_vb(k), n, n_targets)
        lines = {o: common.attack(*done[:4], online=o == "online") for o in ("online", "offline")}
        curves(axis, lines, f"{corpus}, {k} topics")
    axes[0].set_ylabel("true positive rate")
    figure.savefig(common.HERE / "figure2.png", dpi=150)
    plt.close(figure)


def figure3(scale):
    """nips by the number of topics."""
    counts, _ = common.load("nips")
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained", sharey=True)
    sides = {"online": {}, "offline": {}}
    for k in (5, 10, 15, 20, 25):
        done = common.statistics(f"vb {k}", counts, common.default_vb(k), *common.plan(scale))
        for name, lines in sides.items():
            lines[f"{k} topics"] = common.attack(*done[:4], online=name == "online")
    for axis, (name, lines) in zip(axes, sides.items(), strict=True):
        curves(axis, lines, f"nips, {name}")
    axes[0].set_ylabel("true positive rate")
    figure.savefig(common.HERE / "figure3.png", dpi=150)
    plt.close(figure)


def draw_all(scale):
    figure1(scale)
    figure2(scale)
    figure3(scale)
