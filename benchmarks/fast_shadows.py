"""Shadow models that are trained in less time than the target: CPU time, and what the attack loses by it.

    python benchmarks/fast_shadows.py         # TweetRumors, 5 topics, 128 shadows, 10 targets
    python benchmarks/fast_shadows.py --corpus nips --topics 10 --shadows 32 --targets 4

Every way of training makes all shadows and targets, on the same halves and with the same seeds, the ways taking turns
model by model in one thread. Then every way's shadows attack every way's targets (the likelihood ratio, online): area,
members found at 1 and .1 % false alarms, targets pooled, and the mean difference to shadows that are trained as the
target is, with its standard error over targets. Last: fewer shadows of the target's own way, in as much time.
"""

import argparse
import os
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import numpy as np
import scipy.sparse as sp
from real_corpora import DATA

from discreet.audit import AuditReport, draw_halves, likelihood_ratio_scores
from discreet.audit.shadows import statistic
from discreet.lda import GibbsLDA, VariationalLDA

WAYS = {
    "Gibbs, random, 200 sweeps": (GibbsLDA, {"init": "random", "n_sweeps": 200}),
    "Gibbs (100 sweeps)": (GibbsLDA, {}),
    "Gibbs, 8 sweeps": (GibbsLDA, {"n_sweeps": 8}),
    "VB, random": (VariationalLDA, {"init": "random"}),
    "VB": (VariationalLDA, {}),
    "VB, 4 passes": (VariationalLDA, {"max_iter": 4}),
}


def draw(n, n_shadows, n_targets):
    """Return members of targets (halves of their own), then of shadows, and a seed for each model."""
    halves, coins, seeds = np.random.SeedSequence(0).spawn(3)
    inside = draw_halves(n, n_shadows, np.random.default_rng(halves))
    rng = np.random.default_rng(coins)
    targets = np.array([rng.permutation(n) < n // 2 for _ in range(n_targets)])
    drawn = np.random.default_rng(seeds).integers(2**31 - 1, size=len(targets) + len(inside)).tolist()
    return targets, inside, drawn


def attack(targets, shadows, members, inside, spread="own"):
    """Return what is found of all targets together, and of each alone: area, and rates at 1 and .1 %."""
    scores = likelihood_ratio_scores(targets, shadows, inside, spread=spread)
    reports = [AuditReport(scores, members, "pooled")]
    reports += [AuditReport(s, m, "one") for s, m in zip(scores, members, strict=True)]
    found = np.array([(report.auc, report.tpr_at(0.01), report.tpr_at(0.001)) for report in reports])
    return found[0], found[1:]


def told(found):
    return f"area {found[0]:.3f}, found at 1 % {found[1]:.1%}, at .1 % {found[2]:.1%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", default="tweetrumors")
    for name, value in (("topics", 5), ("shadows", 128), ("targets", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    options = parser.parse_args()
    counts = sp.load_npz(DATA / options.corpus / "counts.npz").tocsr()
    members, inside, seeds = draw(counts.shape[0], options.shadows, options.targets)
    models = np.vstack([members, inside])
    values = {way: np.empty(models.shape) for way in options.ways}
    seconds = dict.fromkeys(options.ways, 0.0)

    def train(way, half, seed):
        kind, settings = WAYS[way]
        return statistic(
            kind(options.topics, random_state=seed, **settings).fit(counts[half]).components_, counts
        )

    for way in options.ways:  # compiles
        train(way, members[0], 1)
    for row, (half, seed) in enumerate(zip(models, seeds, strict=True)):
        for way in options.ways if row % 2 else options.ways[::-1]:
            start = time.process_time()
            values[way][row] = train(way, half, seed)
            seconds[way] += (time.process_time() - start) / len(models)
    n_targets = len(members)
    for target in options.ways:
        _, own_each = attack(values[target][:n_targets], values[target][n_targets:], members, inside)
        print(f"\ntarget: {target}")
        for way in options.ways:
            found, each = attack(values[target][:n_targets], values[way][n_targets:], members, inside)
            less = each - own_each
            error = less.std(axis=0, ddof=1) / np.sqrt(n_targets)
            apart = ", ".join(f"{m:+.4f} +- {e:.4f}" for m, e in zip(less.mean(axis=0), error, strict=True))
            print(f"  shadows: {way:26} {len(inside) * seconds[way]:7.1f} s  {told(found)}  ({apart})")
        cheapest = min(seconds.values()) * len(inside)
        few = max(4, int(cheapest / seconds[target]) // 2 * 2)
        if few < len(inside):
            shadows = values[target][n_targets : n_targets + few]
            found, _ = attack(values[target][:n_targets], shadows, members, inside[:few], "shrunk")
            print(f"  {few} of its own, shrunk spread, {few * seconds[target]:.1f} s: {told(found)}")


if __name__ == "__main__":
    main()
