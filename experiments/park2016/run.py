"""Perplexity against epsilon: DP-SVI under four accountants of its time and ours, on real reviews.

    python experiments/park2016/run.py            # writes results.csv, figure.png, topics.csv beside this file
    python experiments/park2016/run.py --batches  # by the size of the batches: batches.csv, batches.png

What results.csv and batches.csv hold is not run again.
The setting of Park et al. (2016): 50 topics, 7,702 public words, one expected pass in 20 rounds with sampling
rate .05, delta = 1e-4; the corpus is imdb (100,000 reviews) instead of 400,000 Wikipedia articles. Every
DP-SVI line is the same algorithm; what differs is how much noise an accountant asks for. Runs are seeded.
"""

import argparse
import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from accountants import epsilon_for, noise_multiplier_for
from real_corpora import load

from discreet import PrivateLDA, PrivateSVILDA
from discreet.evaluate import coherence_npmi, completion_perplexity, unigram
from discreet.lda import VariationalLDA

HERE = Path(__file__).resolve().parent
DELTA, RATE, ROUNDS, N_TOPICS, N_WORDS = 1e-4, 0.05, 20, 50, 7702
#: Their prior of 1 / 50 belongs to their training; all models are evaluated with, and ours is trained with, this one.
PRIOR = 0.1
EPSILONS = (0.5, 1.0, 2.44, 4.0, 8.0)
#: The epsilon of their own settings, at which topics are shown, and that of --batches.
SHOWN = 2.44
#: Sampling rates of --batches, each for one expected pass.
RATES = (0.0125, 0.025, 0.05)
ACCOUNTANTS = {
    "pld": "privacy loss distributions",
    "moments2016": "moments accountant",
    "strong": "strong composition",
}
#: Their settings as written, and with a norm bound and steps that fit these documents.
SETTINGS = {"as written": {}, "corrected": {"contribution_bound": 10.0, "learning_offset": 1.0}}


def dpsvi(epsilon, accountant, seed, settings, rate=RATE, rounds=ROUNDS):
    """DP-SVI with the noise that ``accountant`` asks for at ``epsilon``; none if it is infinite."""
    plan = {"sampling_rate": rate, "n_rounds": rounds}
    noise, today = 0.0, epsilon
    if np.isfinite(epsilon):
        noise = noise_multiplier_for(epsilon, DELTA, accountant=accountant, **plan)
        today = epsilon_for(noise, DELTA, **plan)
    more = {"epsilon": today, "random_state": seed, "n_jobs": -1, **plan, **settings}
    return PrivateSVILDA.park2016(N_TOPICS, **more), noise, today


def full_batch(epsilon, seed):
    model = PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, random_state=seed, n_jobs=-1
    )
    return model.set_params(
        allow_unlearnable=True, allow_large_delta=True
    )  # theirs: above 1 / n of documents here


def fit(model, split):
    return model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True).release_


def measure(model, split):
    topics = fit(model, split).topic_word
    perplexity = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=-1)
    return perplexity, coherence_npmi(topics, split.train), model.release_


def lines(split):
    """The unigram's perplexity and that of variational Bayes."""
    # The twin is tuned for large corpora and few topics; variational Bayes is the better line without privacy here.
    plain = VariationalLDA(
        N_TOPICS, doc_topic_prior=PRIOR, max_iter=8, batch_size=4000, random_state=0, n_jobs=-1
    )
    topics = plain.fit(split.train).topic_word_
    unigrams = completion_perplexity(unigram(split.train), split.test)
    base = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=-1)
    print(f"unigram {unigrams:.0f}, variational Bayes {base:.0f}", flush=True)
    return unigrams, base


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--batches", action="store_true", help="by the size of the batches")
    options = parser.parse_args()
    split = load("imdb", N_WORDS)
    if options.batches:
        by_batches(split)
        return
    for name in ("moments2016", "rdp", "pld"):
        found = epsilon_for(1.24, DELTA, sampling_rate=RATE, n_rounds=ROUNDS, accountant=name)
        print(f"noise multiplier 1.24 by {name}: epsilon = {found:.3f}")
    rows = rows_of("results.csv", FIELDS)
    topics = HERE / "topics.csv"
    shown = {} if topics.exists() else {"non-private twin": fit(full_batch(np.inf, 0), split)}
    for epsilon in sorted(EPSILONS, key=lambda epsilon: epsilon != SHOWN):
        for seed in range(options.seeds):
            jobs = {("full batch", "closed form"): (full_batch(epsilon, seed), np.nan, epsilon)}
            for kind, settings in SETTINGS.items():
                for accountant in ACCOUNTANTS:
                    jobs[f"DP-SVI {kind}", accountant] = dpsvi(epsilon, accountant, seed, settings)
            for (algorithm, accountant), (model, noise, today) in jobs.items():
                wanted = epsilon == SHOWN and seed == 0 and not topics.exists()
                known = [algorithm, accountant, epsilon, seed] in [[*row[:3], row[5]] for row in rows]
                if known and wanted:
                    shown[f"{algorithm}, {accountant}"] = fit(model, split)
                elif not known:
                    perplexity, npmi, release = measure(model, split)
                    if wanted:
                        shown[f"{algorithm}, {accountant}"] = release
                    figures = [epsilon, today, noise, seed, round(perplexity, 1), round(npmi, 4)]
                    print(algorithm, accountant, *figures, flush=True)
                    rows = sorted([*rows, [algorithm, accountant, *figures]], key=lambda row: row[2])
                    write("results.csv", FIELDS, rows)
        if shown and not topics.exists():
            write_topics(shown)
    draw(rows, *lines(split))


FIELDS = (
    "algorithm",
    "accountant",
    "epsilon",
    "epsilon_today",
    "noise_multiplier",
    "seed",
    "perplexity",
    "npmi",
)
BATCH_FIELDS = ("sampling_rate", "rounds", *FIELDS)


def rows_of(name, fields):
    """Rows that stand in a file, numbers as numbers."""
    if not (HERE / name).exists():
        return []
    with (HERE / name).open(newline="") as file:
        found = list(csv.DictReader(file))
    text = ("algorithm", "accountant")
    whole = ("seed", "rounds")
    kinds = [str if field in text else int if field in whole else float for field in fields]
    return [[kind(row[field]) for kind, field in zip(kinds, fields, strict=True)] for row in found]


def write(name, fields, rows):
    with (HERE / name).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(fields)
        writer.writerows(rows)


def write_topics(shown):
    """The ten heaviest topics of each model: ten words, and their probabilities."""
    rows = []
    for name, release in shown.items():
        for topic in np.argsort(-release.topic_weight)[:10]:
            words = release.top_words(10)[topic]
            likely = np.sort(release.topic_word[topic])[::-1][:10]
            told = " ".join(f"{word} {p:.4f}" for word, p in zip(words, likely, strict=True))
            rows.append([name, int(topic), round(float(release.topic_weight[topic]), 4), told])
    write("topics.csv", ("model", "topic", "share", "words_and_probabilities"), rows)


def by_batches(split):
    """The second axis of their figure: smaller batches, more of them, at one epsilon; and without noise.

    The lines with noise at their own rate are those of results.csv.
    """
    rows = rows_of("batches.csv", BATCH_FIELDS)
    main_rate = [row for row in rows_of("results.csv", FIELDS) if row[2] == SHOWN and row[5] == 0]
    for rate in RATES:
        rounds = round(1 / rate)
        for kind, settings in SETTINGS.items():
            for accountant in ("none", *ACCOUNTANTS) if rate != RATE else ("none",):
                epsilon = np.inf if accountant == "none" else SHOWN
                algorithm = f"DP-SVI {kind}"
                if [rate, algorithm, accountant] in [[row[0], row[2], row[3]] for row in rows]:
                    continue
                model, noise, today = dpsvi(epsilon, accountant, 0, settings, rate, rounds)
                perplexity, npmi, _ = measure(model, split)
                row = [rate, rounds, algorithm, accountant, epsilon, today, noise, 0]
                rows.append([*row, round(perplexity, 1), round(npmi, 4)])
                print(*rows[-1], flush=True)
                write("batches.csv", BATCH_FIELDS, rows)
    draw_batches([*rows, *([RATE, ROUNDS, *row] for row in main_rate)], *lines(split))


def draw_batches(rows, line, base):
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, constrained_layout=True)
    styles = {"strong": ("^", "#b2182b"), "moments2016": ("s", "#ef8a62"), "pld": ("o", "#67a9cf")}
    styles["none"] = ("v", "0.4")
    for panel, kind in zip(panels, SETTINGS, strict=True):
        for accountant, (marker, colour) in styles.items():
            wanted = (f"DP-SVI {kind}", accountant)
            points = sorted((row[0], row[-2]) for row in rows if tuple(row[2:4]) == wanted)
            label = "DP-SVI, " + ACCOUNTANTS.get(accountant, "no noise")
            panel.plot(*np.transpose(points), label=label, marker=marker, color=colour)
        panel.set(xscale="log", title=f"DP-SVI settings {kind}, epsilon = {SHOWN:g}")
        panel.set_xticks(RATES, [f"{rate:g}\n{round(1 / rate)} rounds" for rate in RATES])
        panel.set_xlabel("share of the documents in a batch")
    finish(figure, panels, line, base, "batches.png")


def finish(figure, panels, line, base, name):
    """Draw what all pictures compare with, label the axis that they share, and write the file."""
    for panel in panels:
        panel.axhline(line, color="0.5", linestyle=":", label="unigram")
        panel.axhline(base, color="0.2", linestyle="--", label="no privacy (variational Bayes)")
        panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="completion perplexity", yscale="log")
    ticks = (2000, 2500, 3000, 4000, 5000, 7000)
    panels[0].set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    panels[0].minorticks_off()
    panels[1].legend(frameon=False, fontsize=8)
    figure.savefig(HERE / name, dpi=150, metadata={"Software": None})


def draw(rows, line, base):
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, constrained_layout=True)
    for panel, kind in zip(panels, SETTINGS, strict=True):
        for algorithm, accountant, style in (
            (f"DP-SVI {kind}", "strong", {"marker": "^", "color": "#b2182b"}),
            (f"DP-SVI {kind}", "moments2016", {"marker": "s", "color": "#ef8a62"}),
            (f"DP-SVI {kind}", "pld", {"marker": "o", "color": "#67a9cf"}),
            ("full batch", "closed form", {"marker": "D", "color": "#2166ac", "linewidth": 2}),
        ):
            points = [
                np.mean([row[6] for row in rows if row[:3] == [algorithm, accountant, epsilon]])
                for epsilon in EPSILONS
            ]
            label = (
                "discreet, full batch" if algorithm == "full batch" else f"DP-SVI, {ACCOUNTANTS[accountant]}"
            )
            panel.plot(EPSILONS, points, label=label, **style)
        panel.set(xscale="log", xlabel="epsilon (delta = 1e-4)", title=f"DP-SVI settings {kind}")
        panel.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    finish(figure, panels, line, base, "figure.png")


if __name__ == "__main__":
    main()
