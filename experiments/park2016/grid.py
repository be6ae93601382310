"""The figure of Park et al. (2016) on its own axes: noise, size of batches, accountant; their bound.

    python experiments/park2016/grid.py   # writes grid.csv, grid.png and matched.csv beside this file

Settings, corpus and accountants are those of run.py; what is theirs besides, as in their own code:

* each document is drawn anew from its tokens, with replacement, to exactly 500: longer ones are cut, shorter
  ones filled up; its statistic is clipped to norm 50, which is a tenth;
* sigma is 1, 1.1, 1.24, 1.5 or 2. The moments accountant says which epsilon this is; strong composition takes the
  noise that it asks for at the same epsilon;
* perplexity is exp(-bound / tokens): the variational bound of documents that were not trained on, and the topics'
  own part of it, shared out over all tokens of training.

Completion of the documents as they are stands beside. What grid.csv holds is not run again, save for the three models
of matched.csv. Runs are seeded, one seed each.
"""

import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from accountants import epsilon_for
from run import DELTA, HERE, N_TOPICS, N_WORDS, PRIOR, RATE, RATES, dpsvi, load, rows_of, write
from scipy.optimize import linear_sum_assignment

from discreet.evaluate import completion_perplexity, unigram
from discreet.lda import svi
from discreet.lda.documents import read_documents
from discreet.lda.theta import Inference

LENGTH = 500
SIGMAS = (1.0, 1.1, 1.24, 1.5, 2.0)
NONE, MOMENTS, STRONG = "none", "moments2016", "strong"
#: The noise at which topics are compared: theirs of table 1.
SHOWN = 1.24
FIELDS = (
    "sampling_rate",
    "rounds",
    "sigma",
    "accountant",
    "epsilon",
    "epsilon_today",
    "noise_multiplier",
    "seed",
    "bound_perplexity",
    "completion",
    "first_word",
)
MATCHED = ("topic", "model", "first_word", "common_by_number", "matched_with", "common_matched", "words")


def drawn_anew(counts, seed):
    """Draw LENGTH tokens of each document, with replacement."""
    rng = np.random.default_rng(seed)
    counts = counts.tocsr().astype(float)
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        own = counts.data[start:end]
        counts.data[start:end] = rng.multinomial(LENGTH, own / own.sum())
    counts.eliminate_zeros()
    return sp.csr_matrix(counts, dtype=np.int32)


def planned(sigma, accountant, rate):
    """Epsilon of this noise by the moments accountant; the model, its noise multiplier, and epsilon today."""
    plan = {"sampling_rate": rate, "n_rounds": round(1 / rate)}
    epsilon = epsilon_for(sigma, DELTA, accountant=MOMENTS, **plan) if sigma else math.inf
    return epsilon, *dpsvi(epsilon, accountant, 0, {"n_jobs": 1}, rate, plan["n_rounds"])


def trained(model, train):
    """Lambda, shape (n_topics, n_words)."""
    found, rounds = [], model._rounds

    def watched(*work):
        found.append(rounds(*work))
        return found[0]

    model._rounds = watched  # the release holds topics, and the bound wants lambda
    model.fit(train)
    return found[0].topics.T


def bound_perplexity(parameters, test, n_trained):
    """Per-word perplexity by the variational bound, as their code computes it."""
    state, documents = svi.init(np.ascontiguousarray(parameters)), read_documents(test)
    how = Inference(np.full(N_TOPICS, 1 / N_TOPICS))
    topics = svi.bound(state, documents.rows(0, 0), how, 1 / N_TOPICS)
    per_word = (svi.bound(state, documents, how, 1 / N_TOPICS) - topics) / documents.counts.sum()
    return float(np.exp(-per_word - topics / (n_trained * LENGTH)))


def grid(split):
    """Train what is missing; return rows, and lambda of the three models of table 1 if they were trained."""
    rows, shown = rows_of("grid.csv", FIELDS), {}
    train, test = drawn_anew(split.train, 0), drawn_anew(split.test, 1)
    wanted = not (HERE / "matched.csv").exists()
    cells = [(rate, sigma, one) for rate in RATES for sigma in SIGMAS for one in (MOMENTS, STRONG)]
    cells += [(rate, 0.0, NONE) for rate in RATES]
    for rate, sigma, accountant in sorted(cells, key=lambda cell: (cell[1] not in (0.0, SHOWN), -cell[0])):
        compared = wanted and rate == RATE and sigma in (0.0, SHOWN)
        known = [rate, sigma, accountant] in [[row[0], row[2], row[3]] for row in rows]
        if known and not compared:
            continue
        epsilon, model, noise, today = planned(sigma, accountant, rate)
        parameters = trained(model, train)
        if compared:
            shown[accountant] = parameters
        if not known:
            topics = parameters / parameters.sum(1, keepdims=True)
            measures = (
                round(bound_perplexity(parameters, test, train.shape[0]), 1),
                round(completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1), 1),
                round(float(topics.max(1).mean()), 5),
            )
            rows.append([rate, round(1 / rate), sigma, accountant, epsilon, today, noise, 0, *measures])
            print(*rows[-1], flush=True)
            write("grid.csv", FIELDS, sorted(rows, key=lambda row: (row[0], row[3], row[2])))
    return rows, shown


def compare(shown, words):
    """Write each topic of the three models: words in common with the topic of its number, and with its best partner.

    All three start from the same draws, so that a number means the same topic if anything is left of it. Partners
    are one to one, for the most words in common among the first ten.
    """
    rows = []
    first = {name: np.argsort(-parameters, axis=1)[:, :10] for name, parameters in shown.items()}
    for name, parameters in shown.items():
        common = np.array([[len(np.intersect1d(a, b)) for b in first[NONE]] for a in first[name]])
        _, partner = linear_sum_assignment(-common)
        topics = parameters / parameters.sum(1, keepdims=True)
        for topic, best in enumerate(first[name]):
            told = " ".join(f"{words[w]} {topics[topic, w]:.4f}" for w in best)
            match = int(partner[topic])
            both = [int(common[topic, topic]), match, int(common[topic, match])]
            rows.append([topic, name, round(float(topics[topic].max()), 5), *both, told])
    write("matched.csv", MATCHED, sorted(rows, key=lambda row: (row[0], row[1])))


def draw(rows, lines):
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), constrained_layout=True)
    names = {MOMENTS: "moments accountant", STRONG: "strong composition"}
    styles = {MOMENTS: "-", STRONG: "--"}
    for panel, measure, title in zip(
        panels, (-3, -2), ("variational bound (theirs)", "completion"), strict=True
    ):
        for number, rate in enumerate(RATES):
            for accountant, style in styles.items():
                points = sorted((r[4], r[measure]) for r in rows if r[0] == rate and r[3] == accountant)
                label = f"{rate:.2%} in a batch, {names[accountant]}"
                x, y = np.transpose(points)
                panel.plot(x, y, style, color=f"C{number}", marker="o", ms=4, label=label)
            for row in rows:
                if row[0] == rate and row[3] == NONE:
                    panel.axhline(
                        row[measure], color=f"C{number}", ls=":", lw=1, label=f"{rate:.2%}, no noise"
                    )
        panel.axhline(lines[title], color="0.5", lw=1, label="unigram")
        panel.set(xscale="log", yscale="log", title=title, xlabel="epsilon by the moments accountant")
        ticks = [x for x in (0.5, 0.7, 1, 1.5, 2.5, 4) if panel.get_xlim()[0] <= x <= panel.get_xlim()[1]]
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
        panel.yaxis.set_minor_formatter(lambda y, _: f"{y:,.0f}")
        panel.xaxis.set_minor_formatter(lambda *_: "")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("perplexity")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(HERE / "grid.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


def main():
    split = load("imdb", N_WORDS)
    rows, shown = grid(split)
    if shown:
        compare(shown, split.vocabulary)
    one = unigram(split.train)
    anew = drawn_anew(split.test, 1)
    of_all = float(np.exp(-(anew @ np.log(one[0])).sum() / anew.sum()))
    print(
        f"unigram: {of_all:.0f} of documents drawn anew, {completion_perplexity(one, split.test):.0f} by completion"
    )
    draw(rows, {"variational bound (theirs)": of_all, "completion": completion_perplexity(one, split.test)})


if __name__ == "__main__":
    main()
