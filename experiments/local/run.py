"""Topics from randomised reports: our inference beside LP-LDA and OLP-LDA, on the measures of both.

    python experiments/local/run.py --table kos         # also: imdb, stream, curator, shuffle, whole-document
    python experiments/local/run.py --figure 6          # also: 8, 9, 10
    python experiments/local/run.py --all

Every part writes its CSV as it goes (and goes on where it stopped), and its picture at the end. Clients are simulated
from seeds. What came out, and what it means, stands in docs/local.md.
"""

import argparse
import csv
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from lines import (
    HERE,
    N_WORDS,
    Table,
    asymmetric,
    corpus,
    gibbs,
    local,
    local_lines,
    randomised,
    symmetric,
    without_privacy,
)

from discreet import PrivateLDA, StreamingLocalLDA
from discreet.central import PrivateMomentLDA
from discreet.lda.moments.fit import fit_topics
from discreet.local import Moments, amplify_by_shuffling

COLOURS = {"LP-LDA, K 50, alpha 1.0": "#b2182b", "LP-LDA, K 50, alpha 0.1": "#ef8a62"}
OURS, REFINED = "#67a9cf", "#2166ac"


def table_kos():
    """Table of KOS: three splits of 3,000 and 430 documents."""
    table = Table(HERE / "kos.csv")
    for split in range(3):
        data = corpus("kos", split, n_test=430)
        without_privacy(table, data)
        for epsilon in (1, 2, 3, 5):
            local_lines(table, data, epsilon)
            equal = asymmetric(2 * epsilon)  # costs as much for a replaced word, not for one added
            line = "moments, K 20, asymmetric channel"
            table.add(data, line, epsilon, local(data, epsilon, 20, channel=equal, refine=False))
    show(table, (1, 2, 3, 5))


def table_imdb():
    """Table of film reviews: 98,000 documents."""
    table = Table(HERE / "imdb.csv")
    data = corpus("imdb", 0, n_test=2000)
    for epsilon in (1, 2, 3):
        local_lines(table, data, epsilon, refine=False)
    without_privacy(table, data, sweeps=100)
    show(table, (1, 2, 3))


def show(table, epsilons):
    """Print means over splits."""
    for line in dict.fromkeys(row["line"] for row in table.rows):
        values = [table.mean(line, epsilon) for epsilon in (*epsilons, "inf")]
        coherence = [table.mean(line, epsilon, "npmi") for epsilon in (*epsilons, "inf")]
        print(
            f"{line:35s}", *(f"{v:7.1f} / {c:.2f}" for v, c in zip(values, coherence, strict=True) if v == v)
        )


def figure_6():
    """Perplexity against epsilon, on the paper's in-sample measure and on completion; KOS and NIPS."""
    table = Table(HERE / "figure6.csv")
    epsilons = (0.5, 1, 2, 3, 4, 5, 6, 7)
    sets = [corpus("kos", 0, n_test=430), corpus("nips", 0, n_test=150)]
    for data in sets:
        without_privacy(table, data)
        for epsilon in epsilons:
            local_lines(table, data, epsilon)
    figure, panels = plt.subplots(2, 2, figsize=(10, 7.5), sharex=True, constrained_layout=True)
    for row, (name, label) in enumerate(
        (("in_sample", "in-sample perplexity (the paper's)"), ("perplexity", "completion perplexity"))
    ):
        for column, data in enumerate(sets):
            draw_lines(panels[row, column], table, epsilons, data.name, name)
            panels[row, column].set_title(f"{data.name}: {label}", fontsize=10)
    for panel in panels[1]:
        panel.set_xlabel("epsilon of one word added or removed")
    panels[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(HERE / "figure6.png", dpi=150, metadata={"Software": None})


def draw_lines(panel, table, epsilons, name, measure):
    """Draw the lines of one corpus and measure."""
    styles = {
        **{line: {"color": colour, "marker": "s"} for line, colour in COLOURS.items()},
        "moments, K 20": {"color": OURS, "marker": "o"},
        "moments, refined, K 20": {"color": REFINED, "marker": "D", "linewidth": 2},
    }
    for line, style in styles.items():
        panel.plot(epsilons, [table.mean(line, e, measure, name) for e in epsilons], label=line, **style)
    panel.axhline(table.mean("unigram", "inf", measure, name), color="0.5", linestyle=":", label="unigram")
    free = "Gibbs, no privacy, K 50, alpha 0.1"
    panel.axhline(table.mean(free, "inf", measure, name), color="0.2", linestyle="--", label=free)
    panel.spines[["top", "right"]].set_visible(False)


def streams(table, data, n_public, epsilons, stops):
    """OLP-LDA and the exact stream after some of the batches of 160; the public set alone, and without noise."""
    public, rest = data.train[:n_public], data.train[n_public:]
    free = SimpleNamespace(p=1.0, q=0.0)
    table.add(data, f"D_0 = {n_public} alone, K 50", "inf", lambda: gibbs(public, 50, 1.0, 200))
    table.add(data, f"D_0 = {n_public} alone, moments, K 20", "inf", lambda: moments_of(public))
    jobs = [("O-LDA", "inf", free, "reconstruct", {"n_topics": 50, "prior_weight": 0.0})]
    for epsilon in epsilons:
        jobs += [
            ("OLP-LDA", epsilon, symmetric(epsilon), "reconstruct", {"n_topics": 50}),
            ("exact stream", epsilon, symmetric(epsilon), "moments", {"n_topics": 20}),
        ]
    for line, epsilon, channel, inference, settings in jobs:
        reports = randomised(rest, channel, data.split)
        n_batches = -(-len(reports) // 160)
        model = StreamingLocalLDA(
            channel=channel, algorithm=inference, public=public, refit=False, random_state=0, **settings
        )
        wanted = sorted({min(stop, n_batches) for stop in stops})
        names = {stop: f"{line}, D_0 = {n_public}, {stop} batches" for stop in wanted}
        if all(not np.isnan(table.mean_of_split(name, epsilon, data.split)) for name in names.values()):
            continue
        for batch in range(n_batches):
            part = reports[160 * batch : 160 * batch + 160]
            model.partial_fit(part, packed=True, vocabulary=data.words, simulated=True)
            if batch + 1 in names:
                table.add(
                    data,
                    names[batch + 1],
                    epsilon,
                    lambda model=model: (model.update().topic_word_, model.release_.topic_weight, ""),
                )


def moments_of(public):
    """Topics fitted to the moments of public documents alone."""
    topics = fit_topics(Moments(N_WORDS).add_batch(public).estimates(), 20, 0)
    return topics.topic_word, topics.topic_weight, ""


def table_stream():
    """Streams on KOS: epsilon 3, 500 public documents, batches of 160, three splits."""
    table = Table(HERE / "stream.csv")
    for split in range(3):
        streams(table, corpus("kos", split, n_test=430), 500, (3,), (999,))
    for line in dict.fromkeys(row["line"] for row in table.rows):
        epsilon = next(row["epsilon"] for row in table.rows if row["line"] == line)
        print(f"{line:40s} {table.mean(line, epsilon):.1f} / {table.mean(line, epsilon, 'npmi'):.2f}")


def figures_of_streams(number, n_public):
    """Perplexity batch after batch, for one size of the public set."""
    table = Table(HERE / f"figure{number}.csv")
    data = corpus("kos", 0, n_test=430)
    stops = (1, 2, 4, 6, 9, 12, 999)
    streams(table, data, n_public, (1, 3, 5), stops)
    last = -(-(data.train.shape[0] - n_public) // 160)
    xs = sorted({min(stop, last) for stop in stops})
    figure, panels = plt.subplots(1, 2, figsize=(12, 4.2), constrained_layout=True)
    for panel, measure in zip(panels, ("in_sample", "perplexity"), strict=True):
        for line, marker, colours in (
            ("OLP-LDA", "s", ("#fdae61", "#f46d43", "#a50026")),
            ("exact stream", "D", ("#abd9e9", "#74add1", "#313695")),
        ):
            for epsilon, colour in zip((1, 3, 5), colours, strict=True):
                ys = [table.mean(f"{line}, D_0 = {n_public}, {x} batches", epsilon, measure) for x in xs]
                panel.plot(xs, ys, marker=marker, color=colour, label=f"{line}, epsilon {epsilon}")
        ys = [table.mean(f"O-LDA, D_0 = {n_public}, {x} batches", "inf", measure) for x in xs]
        panel.plot(xs, ys, color="0.2", linestyle="--", label="O-LDA, no privacy")
        alone = table.mean(f"D_0 = {n_public} alone, K 50", "inf", measure)
        panel.axhline(alone, color="0.5", linestyle=":", label="public set alone, Gibbs")
        alone = table.mean(f"D_0 = {n_public} alone, moments, K 20", "inf", measure)
        panel.axhline(alone, color="#74add1", linestyle=":", label="public set alone, moments")
        panel.set(xlabel="batches of 160 reports", xticks=xs)
        panel.set_title(
            "in-sample perplexity (the paper's)" if measure == "in_sample" else "completion perplexity",
            fontsize=10,
        )
        panel.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"kos, {n_public} public documents", fontsize=11)
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)
    figure.savefig(HERE / f"figure{number}.png", dpi=150, metadata={"Software": None})


def figure_8():
    """Streams, 500 public documents."""
    figures_of_streams(8, 500)


def figure_9():
    """Streams, 200 public documents."""
    figures_of_streams(9, 200)


def figure_10():
    """Streams, 1,000 public documents."""
    figures_of_streams(10, 1000)


def table_curator():
    """Film reviews: the same moments under the central Gaussian, delta 1e-6, and PrivateLDA beside it."""
    table = Table(HERE / "curator.csv")
    data = corpus("imdb", 0, n_test=2000)
    for epsilon in (1, 2, 4, np.inf):
        for kind in (PrivateMomentLDA, PrivateLDA):

            def work(kind=kind, epsilon=epsilon):
                model = kind(20, epsilon=epsilon, random_state=0, allow_unlearnable=True).fit(data.train)
                return model.components_, model.release_.topic_weight, getattr(model, "learnable_", "")

            table.add(data, kind.__name__, epsilon, work)


def table_shuffle():
    """What a shuffler makes of whole-report losses, at delta = .1 / n."""
    with (HERE / "shuffle.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["reports", "epsilon_of_a_report", "delta", "central_epsilon"])
        for n_reports in (10**5, 10**6):
            for epsilon in (2, 4, 6, 8, 10):
                found = amplify_by_shuffling(epsilon, n_reports, 0.1 / n_reports)
                writer.writerow([n_reports, epsilon, 0.1 / n_reports, f"{found:.4g}"])
                print(n_reports, epsilon, f"{found:.4g}", flush=True)


def table_whole_document():
    """Film reviews: whole reports of at most L words, and how many topics they let through."""
    data = corpus("imdb", 0, n_test=2000)
    present = data.train.toarray() > 0
    plans = [(epsilon, limit, 1) for epsilon in (4, 8, 16, 32, 64) for limit in (1, 5, 20)]
    plans += [(epsilon, limit, 10) for epsilon in (8, 10) for limit in (2, 5)]  # each review by ten writers
    with (HERE / "whole_document.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["reports", "epsilon_of_a_report", "words_kept", "p", "q", "learnable"])
        for epsilon, limit, copies in plans:
            channel = for_document(epsilon, limit)
            moments, rng = Moments(N_WORDS, channel=channel), np.random.default_rng(limit)
            for start in [*range(0, len(present), 8192)] * copies:
                chosen = keep_some(present[start : start + 8192], limit, rng)
                draws = rng.random(chosen.shape, dtype=np.float32)
                moments.add_batch(draws < np.where(chosen, np.float32(channel.p), np.float32(channel.q)))
            row = [moments.n, epsilon, limit, f"{channel.p:.4g}", f"{channel.q:.4g}", moments.learnable()]
            writer.writerow(row)
            file.flush()
            print(*row, flush=True)


def for_document(epsilon, limit):
    """The pair (p, q) of least variance whose loss for a replaced word is epsilon / limit."""
    return asymmetric(epsilon / limit, limit / N_WORDS)


def keep_some(rows, limit, rng):
    """At most ``limit`` random words of each document."""
    keys = np.where(rows, rng.random(rows.shape), 2.0)
    # A word that is there has a key below 1, one that is not has 2.
    edge = np.partition(keys, limit - 1, axis=1)[:, limit - 1 : limit]
    return rows & (keys <= edge)


def main():
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = {
        "kos": table_kos,
        "imdb": table_imdb,
        "stream": table_stream,
        "curator": table_curator,
        "shuffle": table_shuffle,
        "whole-document": table_whole_document,
    }
    figures = {"6": figure_6, "8": figure_8, "9": figure_9, "10": figure_10}
    parser.add_argument("--table", choices=tables)
    parser.add_argument("--figure", choices=figures)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    chosen = [tables[options.table]] if options.table else []
    chosen += [figures[options.figure]] if options.figure else []
    for part in [*tables.values(), *figures.values()] if options.all else chosen:
        print(part.__doc__, flush=True)
        part()


if __name__ == "__main__":
    main()
