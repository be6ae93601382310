"""Figure 7 of Zhao et al. (2020): the classifier attack on topics without privacy, by CDP-LDA, and by LP-LDA.

    python experiments/zhao2020/classifier.py     # writes classifier.csv and figure7.png beside this file

The paper's corpus, FVENA (two novelists, 1,350 and 450 texts), was not to be had. A task of two classes stands
in: spam and ham in the first 10,000 of enron-spam (:mod:`corpora`), 5,400 of them drawn at random: 2,700 are
the target's, of which 1,350 train it and the others are outside. 50 topics, alpha = 1, 300 sweeps, as in the
paper; five shadows. The classifier's own F1 is that of 450 other mails, after 1,350 that train it, as in the paper.

The pipeline that is attacked: topics, mixtures of the training documents, a classifier on the mixtures. LP-LDA
comes in two lines. In one only the topics come from reports, and the classifier was fitted on exact mixtures;
in the other it, too, has seen nothing but reports. CDP-LDA is :func:`printed_gibbs.cdp_lda`, noise on both
counts. Runs are seeded.
"""

import argparse
import time

import classifier_lines
import matplotlib
import printed_gibbs

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from classifier_attack import classifier_attack
from classifier_lines import CLASSIFIERS, NONE, kept, local_lines
from corpora import HERE, Rows, folder_of, present_words
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discreet.lda import GibbsLDA, fold_in

CORPUS, N_TOPICS, ALPHA, BETA, N_SWEEPS, N_SHADOWS, N_DOCUMENTS, SEEDS = (
    "enron",
    50,
    1.0,
    0.01,
    300,
    5,
    5400,
    2,
)
N_TRAINED, N_ASKED = 1350, 450
EPSILONS = (1.0, 4.0, 8.0)
CENTRAL = "CDP-LDA"
COLOURS = {CENTRAL: "#2b6a8f"} | classifier_lines.COLOURS
PANELS = {
    "accuracy": "attack: share told right",
    "f1": "attack: F1",
    "classifier_f1": "classifier: F1 of spam, other mails",
}


def mails():
    """Presence of the words, and whether a mail is spam, of mails with two or more of the words."""
    present, _ = present_words(CORPUS)
    labels = np.array((folder_of(CORPUS) / "labels.txt").read_text().split("\n")[: present.shape[0]])
    rows = np.flatnonzero(np.asarray(present.sum(1)).ravel() >= 2)
    rows = np.sort(np.random.default_rng(0).choice(rows, N_DOCUMENTS, replace=False))
    return present[rows], labels[rows]


def free(counts, seed):
    """Train without privacy."""
    model = GibbsLDA(
        N_TOPICS, doc_topic_prior=ALPHA, init="random", n_sweeps=N_SWEEPS, random_state=seed, n_jobs=1
    )
    return model.fit(counts).components_


def central(epsilon):
    """CDP-LDA: one draw of noise of scale 1 / epsilon on both counts, which stays for all sweeps."""

    def train(counts, seed):
        return printed_gibbs.cdp_lda(
            counts, N_TOPICS, ALPHA, BETA, N_SWEEPS, seed, epsilon=epsilon, every=False
        )

    return train


def pipelines(epsilon):
    """Yield name, ``train`` and ``seen`` at this epsilon."""
    if np.isinf(epsilon):
        yield NONE, kept(free), None
        return
    yield CENTRAL, kept(central(epsilon)), None
    yield from local_lines(free, epsilon)


def usefulness(train, seen, counts, labels, classifier, seed):
    """F1 of spam among 450 mails, by a classifier that 1,350 others trained."""
    order = np.random.default_rng([3, seed]).permutation(len(labels))
    inside, outside = order[:N_TRAINED], order[N_TRAINED : N_TRAINED + N_ASKED]
    key = 2**31 + seed  # no seed that the attack draws
    given = counts[inside] if seen is None else seen(counts[inside], key)
    topics = train(given, key)
    # A classifier that has seen exact mixtures, or reports.
    learnt, asked = (fold_in(topics, part, doc_topic_prior=ALPHA) for part in (given, counts[outside]))
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model = linear if classifier == "linear" else RandomForestClassifier(random_state=seed)
    return f1_score(labels[outside], model.fit(learnt, labels[inside]).predict(asked), pos_label="spam")


def run(rows, seeds):
    counts, labels = mails()
    for seed in range(seeds):
        for epsilon in (np.inf, *sorted(EPSILONS, reverse=True)):
            for line, train, seen in pipelines(epsilon):
                for classifier in CLASSIFIERS:

                    def work(train=train, seen=seen, classifier=classifier, seed=seed):
                        started = time.process_time()
                        found = classifier_attack(
                            train,
                            counts,
                            labels,
                            classifier=classifier,
                            n_shadows=N_SHADOWS,
                            doc_topic_prior=ALPHA,
                            seen=seen,
                            random_state=seed,
                            n_jobs=1,
                        )
                        values = {name: getattr(found, name) for name in ("accuracy", "precision", "recall")}
                        both = found.precision + found.recall
                        values["f1"] = 2 * found.precision * found.recall / both if both else 0.0
                        values["outside_accuracy"] = found.outside_accuracy
                        f1 = usefulness(train, seen, counts, labels, classifier, seed)
                        values["classifier_f1"] = f1
                        values["cpu_seconds"] = time.process_time() - started
                        return {name: f"{value:.5g}" for name, value in values.items()}

                    rows.add(work, line=line, epsilon=f"{epsilon:g}", classifier=classifier, seed=seed)


def draw(rows):
    figure, axes = plt.subplots(3, 2, figsize=(9.5, 8.8), layout="constrained", sharex=True, sharey="row")
    for down, (measure, label) in enumerate(PANELS.items()):
        for axis, classifier in zip(axes[down], CLASSIFIERS, strict=True):
            for line, colour in COLOURS.items():
                pairs = rows.values(measure, "epsilon", line=line, classifier=classifier)
                at = sorted({epsilon for epsilon, _ in pairs})
                mean = [np.mean([value for x, value in pairs if x == epsilon]) for epsilon in at]
                if line == NONE:
                    axis.axhline(mean[0], color=colour, lw=1.4, ls="--", label=line)
                else:
                    axis.plot(at, mean, color=colour, lw=1.6, marker="o", ms=4, label=line)
            axis.axhline(0.5, color="#333333", lw=0.8, ls=":", label="chance")
            axis.set(xscale="log", xticks=EPSILONS, xticklabels=[f"{e:g}" for e in EPSILONS])
            axis.minorticks_off()
            axis.spines[["top", "right"]].set_visible(False)
            if down == 0:
                axis.set_title(f"{classifier} classifier", fontsize=11)
        axes[down, 0].set_ylabel(label)
    figure.supxlabel(
        "epsilon (CDP-LDA: 1 / scale of the noise; LP-LDA: one word added or removed)", fontsize=10
    )
    axes[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(HERE / "figure7.png", dpi=120, metadata={"Software": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    rows = Rows(HERE / "classifier.csv", ("line", "epsilon", "classifier", "seed"))
    run(rows, options.seeds)
    draw(rows)


if __name__ == "__main__":
    main()
