"""Topics from randomised reports: our inference beside LP-LDA and OLP-LDA, on the measures of both.

    python experiments/local/run.py --table kos     # imdb, stream, curator, shuffle, whole-document, cdp-lda, corpora
    python experiments/local/run.py --figure 6      # 8, 9-10
    python experiments/local/run.py --all

Every part writes its CSV as it goes (and goes on where it stopped), and its picture at the end. Clients are simulated
from seeds. What came out, and what it means, stands in docs/research/local.md.
"""

import argparse
import csv
import itertools
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from cdp_lda import table_cdp_lda
from lines import (
    HERE,
    N_WORDS,
    Table,
    asymmetric,
    corpus,
    gibbs,
    local,
    local_lines,
    present_words,
    randomised,
    symmetric,
    without_privacy,
)

from discreet import PrivateLDA, StreamingLocalLDA
from discreet.central import PrivateMomentLDA
from discreet.lda.moments.fit import fit_topics
from discreet.local import Moments, shuffled_course

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


def table_corpora():
    """Table II: tokens of the 1,000 most frequent words, counted as presence, by how "most frequent" is read."""
    with (HERE / "corpora.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["corpus", "most_frequent_by", "stop_words", "documents", "tokens", "tokens_in_the_paper"]
        )
        for name, published in (("kos", 209_169), ("nips", 410_753)):
            for by, stop in itertools.product(("documents", "tokens"), ("dropped", "kept")):
                present, _ = present_words(name, by=by, keep_stop_words=stop == "kept")
                row = [name, by, stop, present.shape[0], int(present.sum()), published]
                writer.writerow(row)
                print(*row)


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


def streams(
    table, data, n_public, epsilons, stops, *, size=160, name="{line}, D_0 = {n_public}, {stop} batches"
):
    """OLP-LDA and the exact stream after some of the batches; the public set alone, and without noise."""
    public, rest = data.train[:n_public], data.train[n_public:]
    free = SimpleNamespace(p=1.0, q=0.0)
    table.add(data, f"D_0 = {n_public} alone, K 50", "inf", lambda: gibbs(public, 50, 1.0, 200))
    table.add(data, f"D_0 = {n_public} alone, moments, K 20", "inf", lambda: moments_of(public))
    jobs = [("O-LDA", "inf", free, "reconstruct", {"n_topics": 50, "prior_weight": 0.0})]
    for epsilon in epsilons:
        jobs.append(("OLP-LDA", epsilon, symmetric(epsilon), "reconstruct", {"n_topics": 50}))
        if size == 160:  # sums of reports are the same whatever the batches were
            jobs.append(("exact stream", epsilon, symmetric(epsilon), "moments", {"n_topics": 20}))
    for line, epsilon, channel, inference, settings in jobs:
        reports = randomised(rest, channel, data.split)
        n_batches = -(-len(reports) // size)
        model = StreamingLocalLDA(
            channel=channel, algorithm=inference, public=public, refit=False, random_state=0, **settings
        )
        wanted = sorted({min(stop, n_batches) for stop in stops})
        names = {stop: name.format(line=line, n_public=n_public, stop=stop, size=size) for stop in wanted}
        if all(table.has(data, name, epsilon) for name in names.values()):
            continue
        for batch in range(n_batches):
            part = reports[size * batch : size * batch + size]
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


STREAM_LINES = (
    ("OLP-LDA", "s", ("#fdae61", "#f46d43", "#a50026")),
    ("exact stream", "D", ("#abd9e9", "#74add1", "#313695")),
)
STREAMED = {"kos": 430, "nips": 150}
MEASURED = (("in_sample", "in-sample perplexity (the paper's)"), ("perplexity", "completion perplexity"))


def figure_8():
    """Perplexity batch after batch: 500 public documents, batches of 160; KOS and NIPS."""
    table = Table(HERE / "figure8.csv")
    figure, panels = plt.subplots(2, 2, figsize=(12, 7.6), constrained_layout=True, sharex="col")
    for column, (corpus_name, n_test) in enumerate(STREAMED.items()):
        data = corpus(corpus_name, 0, n_test=n_test)
        last = -(-(data.train.shape[0] - 500) // 160)
        xs = sorted({min(stop, last) for stop in (1, 2, 4, 6, 9, 12, 999)})
        streams(table, data, 500, (1, 3, 5), xs)
        for panel, (measure, label) in zip(panels[:, column], MEASURED, strict=True):
            for line, marker, colours in STREAM_LINES:
                for epsilon, colour in zip((1, 3, 5), colours, strict=True):
                    names = [f"{line}, D_0 = 500, {x} batches" for x in xs]
                    ys = [table.mean(name, epsilon, measure, corpus_name) for name in names]
                    panel.plot(xs, ys, marker=marker, color=colour, label=f"{line}, epsilon {epsilon}")
            names = [f"O-LDA, D_0 = 500, {x} batches" for x in xs]
            ys = [table.mean(name, "inf", measure, corpus_name) for name in names]
            panel.plot(xs, ys, color="0.2", linestyle="--", label="O-LDA, no privacy")
            draw_alone(panel, table, 500, measure, corpus_name)
            panel.set_xticks(xs)
            panel.set_title(f"{corpus_name}: {label}", fontsize=10)
            panel.spines[["top", "right"]].set_visible(False)
        panels[1, column].set_xlabel("batches of 160 reports, after 500 public documents")
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8
    )
    figure.savefig(HERE / "figure8.png", dpi=150, metadata={"Software": None})


def draw_alone(panel, table, n_public, measure, corpus_name):
    """Draw what the public set gives alone."""
    for line, colour, label in (("K 50", "0.5", "Gibbs"), ("moments, K 20", "#74add1", "moments")):
        alone = table.mean(f"D_0 = {n_public} alone, {line}", "inf", measure, corpus_name)
        panel.axhline(alone, color=colour, linestyle=":", label=f"public set alone, {label}")


PUBLIC_SIZES, BATCH_SIZES = (200, 500, 1000), (40, 80, 160, 320, 640)
SIZES_NAME = "{line}, D_0 = {n_public}, batches of {size}"


def figures_9_and_10():
    """Perplexity after the last report, by the size of the public set and of the mini-batch; KOS and NIPS."""
    table = Table(HERE / "stream_sizes.csv")
    for corpus_name, n_test in STREAMED.items():
        data = corpus(corpus_name, 0, n_test=n_test)
        for n_public, size in [(n, 160) for n in PUBLIC_SIZES] + [(500, size) for size in BATCH_SIZES]:
            streams(table, data, n_public, (1, 3, 5), (999_999,), size=size, name=SIZES_NAME)
    draw_sizes(table, "public_set", PUBLIC_SIZES, "public documents, batches of 160 reports")
    draw_sizes(table, "mini_batch", BATCH_SIZES, "reports a batch, after 500 public documents")


def draw_sizes(table, name, xs, label):
    """Draw the last perplexity of each line along one of the two sizes."""
    figure, panels = plt.subplots(2, 2, figsize=(12, 7.6), constrained_layout=True, sharex=True)
    for column, corpus_name in enumerate(STREAMED):
        for panel, (measure, title) in zip(panels[:, column], MEASURED, strict=True):

            def last(line, epsilon, x, measure=measure, corpus_name=corpus_name):
                sizes = {"n_public": x, "size": 160} if name == "public_set" else {"n_public": 500, "size": x}
                if line == "exact stream":
                    sizes["size"] = 160
                return table.mean(SIZES_NAME.format(line=line, **sizes), epsilon, measure, corpus_name)

            for line, marker, colours in STREAM_LINES:
                for epsilon, colour in zip((1, 3, 5), colours, strict=True):
                    ys = [last(line, epsilon, x) for x in xs]
                    panel.plot(xs, ys, marker=marker, color=colour, label=f"{line}, epsilon {epsilon}")
            panel.plot(
                xs, [last("O-LDA", "inf", x) for x in xs], "--", color="0.2", label="O-LDA, no privacy"
            )
            if name == "public_set":
                for line, colour, kind in (("K 50", "0.5", "Gibbs"), ("moments, K 20", "#74add1", "moments")):
                    ys = [table.mean(f"D_0 = {x} alone, {line}", "inf", measure, corpus_name) for x in xs]
                    panel.plot(xs, ys, ":", color=colour, label=f"public set alone, {kind}")
            else:
                draw_alone(panel, table, 500, measure, corpus_name)
            panel.set_xscale("log")
            panel.set_xticks(xs, [f"{x:,}" for x in xs])
            panel.minorticks_off()
            panel.set_title(f"{corpus_name}: {title}", fontsize=10)
            panel.spines[["top", "right"]].set_visible(False)
        panels[1, column].set_xlabel(label)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8
    )
    figure.savefig(HERE / f"{name}.png", dpi=150, metadata={"Software": None})


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
    """What a shuffler makes of losses of reports, at delta = .1 / n; all answer the same, or one of three questions."""
    with (HERE / "shuffle.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["asked", "reports", "epsilon_of_a_report", "delta", "central_epsilon"])
        for asked, shares in (("all the same", [1.0]), ("three questions", [0.4, 0.1, 0.2, 0.3])):
            for n_reports in (10**5, 10**6):
                for epsilon in (2, 4, 6, 8, 10):
                    pools = [round(n_reports * share) for share in shares]
                    found = shuffled_course(epsilon, pools, 0.1 / n_reports)
                    row = (asked, n_reports, epsilon, 0.1 / n_reports, f"{found:.4g}")
                    writer.writerow(row)
                    print(*row, flush=True)


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
        "cdp-lda": table_cdp_lda,
        "corpora": table_corpora,
    }
    figures = {"6": figure_6, "8": figure_8, "9-10": figures_9_and_10}
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
