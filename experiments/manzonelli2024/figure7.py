"""The classifier attack of Zhao et al. on twenty classes: topics without privacy, and by LP-LDA.

    python experiments/manzonelli2024/figure7.py              # writes figure7.csv and figure7.png beside this file
    python experiments/manzonelli2024/figure7.py --documents 20000 --seeds 1    # the whole corpus, once
    python experiments/manzonelli2024/figure7.py --topics 50 --alpha 1 --documents 5400 --seeds 1 \\
        --epsilons 8 4    # the paper's sizes

Their figure 7 has two classes: experiments/zhao2020/classifier.py. The pipeline that is attacked: topics, mixtures of
the training documents, a classifier of newsgroups on the mixtures. LP-LDA comes in two lines. In one only the topics
come from reports, and the classifier was fitted on exact mixtures; in the other it, too, has seen nothing but reports.
What stands in figure7.csv is not run again. Runs are seeded.
"""

import argparse
import sys
import time
from pathlib import Path

import common
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zhao2020"))
from classifier_attack import classifier_attack
from classifier_lines import CLASSIFIERS, COLOURS, NONE, kept, local_lines

from discreet.lda import GibbsLDA

CORPUS, N_WORDS, N_TOPICS, N_SWEEPS, N_SHADOWS = "20newsgroups", 1000, 20, 100, 5
#: Drawn at random from the corpus; a quarter of them trains each pipeline.
N_DOCUMENTS = 8000
#: alpha of training and of folding in (unless --alpha says otherwise); beta is the estimators' default, .01.
ALPHA = 0.1
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Number of newsgroups.
N_LABELS = 20
PANELS = {
    "accuracy": "attack: share told right",
    "auc": "attack: area under the curve",
    "outside_accuracy": "classifier: right on other posts",
}
MEASURES = ("accuracy", "auc", "precision", "recall", "inside_accuracy", "outside_accuracy")


def posts(n_documents=N_DOCUMENTS):
    """Presence of the 1,000 most frequent words that are no stop words, and the newsgroup of each post."""
    counts, words = common.load(CORPUS)
    labels = np.array((common.DATA / CORPUS / "labels.txt").read_text().split("\n")[: counts.shape[0]])
    stop = set((common.DATA / "stopwords.txt").read_text(encoding="utf-8").split())
    total = np.asarray(counts.sum(axis=0)).ravel().astype(float)
    total[[column for column, word in enumerate(words) if word in stop]] = -1
    present = (counts[:, np.sort(np.argsort(-total, kind="stable")[:N_WORDS])] > 0).astype(np.int32)
    kept = np.flatnonzero(np.asarray(present.sum(axis=1)).ravel() >= 2)
    if n_documents < len(kept):
        kept = np.sort(np.random.default_rng(0).choice(kept, n_documents, replace=False))
    return present[kept], labels[kept]


def gibbs(n_topics, alpha):
    settings = {"doc_topic_prior": alpha, "init": "random", "n_sweeps": N_SWEEPS}

    def train(counts, seed):
        return GibbsLDA(n_topics, random_state=seed, **settings).fit(counts).components_

    return train


def pipelines(epsilon, n_topics, alpha):
    """Yield name, ``train`` and ``seen`` at this epsilon."""
    free = gibbs(n_topics, alpha)
    if np.isinf(epsilon):
        yield NONE, kept(free), None
        return
    yield from local_lines(free, epsilon)


def run(table, counts, labels, options):
    for seed in range(options.seeds):
        for epsilon in (np.inf, *sorted(options.epsilons, reverse=True)):
            for line, train, seen in pipelines(epsilon, options.topics, options.alpha):
                for classifier in CLASSIFIERS:
                    key = {"documents": len(labels), "topics": options.topics, "alpha": f"{options.alpha:g}"}
                    key |= {"line": line, "epsilon": f"{epsilon:g}", "classifier": classifier, "seed": seed}
                    if table.has(**key):
                        continue
                    started = time.process_time()
                    found = classifier_attack(
                        train,
                        counts,
                        labels,
                        classifier=classifier,
                        n_shadows=N_SHADOWS,
                        doc_topic_prior=options.alpha,
                        seen=seen,
                        random_state=seed,
                        n_jobs=1,
                    )
                    values = {name: getattr(found, name) for name in MEASURES if name != "auc"}
                    values |= {"auc": found.attack.auc, "cpu_seconds": time.process_time() - started}
                    table.add(**key, **values)


def draw(table):
    figure, axes = plt.subplots(3, 2, figsize=(9.5, 8.8), layout="constrained", sharex=True)
    for down, (measure, label) in enumerate(PANELS.items()):
        for axis, classifier in zip(axes[down], CLASSIFIERS, strict=True):
            for line, colour in COLOURS.items():
                key = {"documents": str(N_DOCUMENTS), "topics": str(N_TOPICS), "line": line}
                key["classifier"] = classifier
                wanted = [row for row in table.rows if key.items() <= row.items()]
                if not wanted:
                    continue
                at = sorted({float(r["epsilon"]) for r in wanted})
                values = [[float(r[measure]) for r in wanted if float(r["epsilon"]) == e] for e in at]
                mean, low, high = (np.array([f(v) for v in values]) for f in (np.mean, min, max))
                if line == NONE:
                    axis.axhline(mean[0], color=colour, lw=1.4, ls="--", label=line)
                    axis.axhspan(low[0], high[0], color=colour, alpha=0.12, lw=0)
                else:
                    axis.plot(at, mean, color=colour, lw=1.6, marker="o", ms=4, label=line)
                    axis.fill_between(at, low, high, color=colour, alpha=0.18, lw=0)
            chance = 1 / N_LABELS if measure == "outside_accuracy" else 0.5
            axis.axhline(chance, color="#333333", lw=0.8, ls=":", label="chance")
            axis.set(xscale="log", xticks=EPSILONS, xticklabels=[f"{e:g}" for e in EPSILONS])
            axis.minorticks_off()
            axis.spines[["top", "right"]].set_visible(False)
            if down == 0:
                axis.set_title(f"{classifier} classifier", fontsize=11)
        axes[down, 0].set_ylabel(label)
    figure.supxlabel("epsilon of one word added or removed", fontsize=10)
    axes[0, 1].legend(frameon=False, fontsize=8, loc="center left")
    figure.savefig(common.HERE / "figure7.png", dpi=150)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=N_DOCUMENTS, help="the picture shows the default")
    parser.add_argument("--topics", type=int, default=N_TOPICS)
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    options = parser.parse_args()
    keys = ("documents", "topics", "alpha", "line", "epsilon", "classifier", "seed")
    table = common.Table("figure7", keys, (*MEASURES, "cpu_seconds"))
    run(table, *posts(options.documents), options)
    draw(table)


if __name__ == "__main__":
    main()
