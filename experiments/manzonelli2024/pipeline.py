"""The fully private pipeline on TweetRumors: a private vocabulary (eps1), then a private model (eps2).

Coherence against each of the two, by NPMI and by UMass (the paper's is of the latter kind), and the attack. As in
the paper the attacker knows the target's vocabulary: shadows are trained by the same private model on those words,
and documents are scored on them.
"""

import common
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from printed_words import Greedy, choose

from discreet import Corpus, PrivateLDA
from discreet.audit import AuditReport, likelihood_ratio_scores
from discreet.audit.shadows import draw_halves, train_statistics
from discreet.evaluate import coherence_npmi, coherence_umass

TOPICS, DELTA1, DELTA2, RUNS = 5, 1e-6, 1e-6, 10
SIDES = (1.0, 5.0, 10.0)
COHERENCE = [(e, 5.0) for e in (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)] + [
    (5.0, e) for e in (0.5, 1.0, 2.0, 3.0, 10.0, 30.0)
]
#: The paper's axes: the other epsilon is 3.
LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0)
AXES = [(e, 3.0) for e in LEVELS] + [(3.0, e) for e in LEVELS if e != 3.0]
ATTACKS = [(1.0, 5.0), (5.0, 5.0), (10.0, 5.0), (5.0, 1.0), (5.0, 10.0)]


def columns(counts, words, epsilon, seed):
    """Choose words privately; return their columns."""
    chosen, _ = choose(Corpus(counts, words).counts, words, epsilon, DELTA1, seed=seed, kind=Greedy)
    place = {word: j for j, word in enumerate(words)}
    return np.array([place[word] for word in chosen])


def private(epsilon):
    def train(counts, seed):
        model = PrivateLDA(
            TOPICS,
            epsilon=epsilon,
            delta=DELTA2,
            random_state=seed,
            allow_unlearnable=True,
            n_jobs=1,
        )
        return model.fit(counts).components_

    return train


COHERENCES = {"npmi": coherence_npmi, "umass": coherence_umass}
COHERENCE_TABLE = (
    "coherence",
    ("eps1", "eps2"),
    ("npmi", "spread", "umass", "umass_spread", "n_words", "n_runs"),
)


def coherence():
    table = common.Table(*COHERENCE_TABLE)
    counts, words = common.load("tweetrumors")
    for eps1, eps2 in COHERENCE + AXES:
        if table.has(eps1=eps1, eps2=eps2):
            continue
        values, sizes = [], []
        for seed in range(RUNS):
            kept = columns(counts, words, eps1, seed)
            topics = private(eps2)(counts[:, kept], seed)
            values.append([measure(topics, counts[:, kept]) for measure in COHERENCES.values()])
            sizes.append(len(kept))
        mean, spread = np.mean(values, axis=0).tolist(), np.std(values, axis=0, ddof=1).tolist()
        table.add(
            eps1=str(eps1),
            eps2=str(eps2),
            npmi=mean[0],
            spread=spread[0],
            umass=mean[1],
            umass_spread=spread[1],
            n_words=int(np.mean(sizes)),
            n_runs=RUNS,
        )


def attack(scale):
    fields = ("tpr", "tpr_1pct", "auc", "allowed_1pct", "lower_bound", "n_words", "n_shadows", "n_targets")
    table = common.Table("private", ("eps1", "eps2"), fields)
    counts, words = common.load("tweetrumors")
    n_shadows, n_targets = max(4, int(64 * scale) // 2 * 2), 3
    for eps1, eps2 in ATTACKS:
        if table.has(eps1=eps1, eps2=eps2):
            continue
        scores, members, sizes = [], [], []
        for target in range(n_targets):
            rng = np.random.default_rng([target, int(10 * eps1), int(10 * eps2)])
            coins = rng.random((1, counts.shape[0])) < 0.5
            kept = columns(counts[coins[0]], words, eps1, target)
            narrow, train = counts[:, kept], private(eps2)
            inside = draw_halves(counts.shape[0], n_shadows, rng)
            seeds = rng.integers(2**31 - 1, size=n_shadows + 1).tolist()
            shadows = train_statistics(train, narrow, inside, seeds[1:], n_jobs=2)
            own = train_statistics(train, narrow, coins, seeds[:1], n_jobs=1)
            scores.append(likelihood_ratio_scores(own[0], shadows, inside))
            members.append(coins[0])
            sizes.append(len(kept))
        report = AuditReport(
            np.array(scores), np.array(members), "LiRA", eps1 + eps2, DELTA1 + DELTA2, "independent"
        )
        table.add(
            eps1=str(eps1),
            eps2=str(eps2),
            tpr=report.tpr_at(common.FPR),
            tpr_1pct=report.tpr_at(0.01),
            auc=report.auc,
            allowed_1pct=float(report.ceiling(0.01)),
            lower_bound=report.epsilon_lower_bound(),
            n_words=int(np.mean(sizes)),
            n_shadows=n_shadows,
            n_targets=n_targets,
        )


def draw():
    rows = common.Table(*COHERENCE_TABLE).rows
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharey="row", sharex="col")
    for down, (measure, spread) in enumerate((("npmi", "spread"), ("umass", "umass_spread"))):
        for axis, moving, still in ((axes[down, 0], "eps1", "eps2"), (axes[down, 1], "eps2", "eps1")):
            chosen = [row for row in rows if row[still] == "5.0"]
            line = sorted((float(r[moving]), float(r[measure]), float(r[spread])) for r in chosen)
            x, y, width = np.array(line).T
            axis.errorbar(x, y, width, color="#2b6a8f", marker="o", ms=4, lw=1.5, capsize=2)
            axis.set(xscale="log")
            axis.set_xticks(x, [f"{v:g}" for v in x], minor=False)
            axis.minorticks_off()
            axis.spines[["top", "right"]].set_visible(False)
            if down:
                name = "vocabulary" if moving == "eps1" else "model"
                axis.set_xlabel(f"{name} epsilon (the other is 5)")
    axes[0, 0].set_ylabel("coherence, NPMI")
    axes[1, 0].set_ylabel("coherence, UMass (as in the paper)")
    figure.savefig(common.HERE / "coherence.png", dpi=150)
    plt.close(figure)


def run(scale):
    coherence()
    draw()
    attack(scale)
