"""Figures 6, 8, 9, 10 of Zhao et al. (2020): LP-, CDP- and OLP-LDA as printed, and our inference on the same reports.

    python experiments/zhao2020/reports.py               # all parts; writes CSV and PNG files beside this file
    python experiments/zhao2020/reports.py figure-6      # or figure-8-9-10

Corpora: :mod:`corpora`. 50 topics, alpha = 1, beta = .01, batches of 160, lambda = .5, omega = .4 (fixed, as in
the paper); first sets of 500 (kos), 200 (nips) and 1,000 (enron) public documents. "As printed": LP-LDA and
OLP-LDA of :mod:`printed_reports`, and CDP-LDA of :mod:`printed_gibbs`; "as meant": topics
fitted to the moments of the same reports, 20 topics. Two measures: the paper's own, perplexity of held-out
documents by topics inferred from the very words that are scored ("in-sample"), and document completion. Runs
are seeded, one seed each.
"""

import argparse
import math
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import printed_gibbs

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from corpora import TEST, Rows, columns, their_corpus
from printed_reports import OnlineLP, fit_lp

from discreet import LocalLDA, StreamingLocalLDA
from discreet.evaluate import completion_perplexity, transductive_perplexity, unigram
from discreet.lda import GibbsLDA
from discreet.lda.moments.moments import unpack_bits

HERE = Path(__file__).resolve().parent
N_TOPICS, ALPHA, BETA, SWEEPS = 50, 1.0, 0.01, 200
#: First sets of figures 8 and 10.
PUBLIC = {"kos": 500, "nips": 200, "enron": 1000}
#: Pseudo-words of the prior of a document's topics that completion may choose from, for every line alike.
STRENGTHS = (2, 5, 10, 20, 50, 200)
FREE = SimpleNamespace(p=1.0, q=0.0)


def symmetric(epsilon):
    """The channel of the paper: each bit flips with probability 1 / (e^epsilon + 1)."""
    q = 1 / (math.exp(epsilon) + 1)
    return FREE if math.isinf(epsilon) else SimpleNamespace(p=1 - q, q=q)


def randomised(present, channel, seed=0):
    """Reports of all documents as packed bits, from a seeded generator: a simulation of the clients."""
    rng = np.random.default_rng([20, seed])
    bits = rng.random(present.shape, dtype=np.float32) < np.where(present.toarray() > 0, channel.p, channel.q)
    return np.packbits(bits, axis=1, bitorder="little")


def measured(topics, test, weight=None):
    """Both measures."""
    topics = np.maximum(topics, 0) / np.maximum(topics, 0).sum(1, keepdims=True)
    topics = (1 - 1e-6 * topics.shape[1]) * topics + 1e-6
    weight = np.ones(len(topics)) if weight is None else np.maximum(weight, 1e-6)
    weight = weight / weight.sum()
    long = test[np.flatnonzero(np.diff(test.indptr) >= 2)]
    completion = min(
        completion_perplexity(topics, long, doc_topic_prior=strength * weight) for strength in STRENGTHS
    )
    in_sample = transductive_perplexity(topics, test, doc_topic_prior=ALPHA)
    return {"in_sample": round(in_sample, 1), "completion": round(completion, 1)}


# ---- figure 6: a batch of reports

EPSILONS = (1.0, 3.0, 5.0, 7.0)
CDP, LP, MOMENTS, GIBBS = "CDP-LDA, as printed", "LP-LDA, as printed", "moments, K 20, as meant", "no privacy"


def local(train, words, epsilon, n_topics, **settings):
    channel = symmetric(epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = LocalLDA(n_topics, channel=channel, random_state=0, allow_unlearnable=True, **settings)
        model.fit(randomised(train, channel), vocabulary=words, packed=True, simulated=True)
    return model.topic_word_, model.release_.topic_weight


def line_of_figure_6(train, words, line, epsilon):
    if line == "unigram":
        return unigram(train, smoothing=0.5), None
    if line == GIBBS:
        model = GibbsLDA(N_TOPICS, doc_topic_prior=ALPHA, init="random", n_sweeps=SWEEPS, random_state=0)
        return model.fit(train).topic_word_, None
    if line == CDP:
        basics = (train, N_TOPICS, ALPHA, BETA, SWEEPS, 0)
        return printed_gibbs.cdp_lda(*basics, epsilon=epsilon, every=False), None
    if line == LP:
        channel = symmetric(epsilon)
        rows = unpack_bits(randomised(train, channel), len(words))
        return fit_lp(rows, channel, N_TOPICS, doc_topic_prior=ALPHA, n_sweeps=SWEEPS, random_state=0)
    return local(train, words, epsilon, 20, refine=False)


def figure_6():
    rows = Rows(HERE / "figure6.csv", ("corpus", "line", "epsilon"))
    for name in TEST:
        train, test, words = their_corpus(name)
        lines = {"unigram": (math.inf,), GIBBS: (math.inf,), CDP: EPSILONS, LP: EPSILONS, MOMENTS: EPSILONS}
        for line, epsilons in lines.items():
            for epsilon in epsilons:

                def work(train=train, test=test, words=words, line=line, epsilon=epsilon):
                    topics, weight = line_of_figure_6(train, words, line, epsilon)
                    return measured(topics, test, weight)

                rows.add(work, corpus=name, line=line, epsilon=epsilon)
    draw_figure_6(rows)


def draw_figure_6(rows):
    figure, panels = grid(rows, line=MOMENTS)
    for measure, name, axis in panels:
        for number, line in enumerate((CDP, LP, MOMENTS)):
            pairs = rows.values(measure, "epsilon", corpus=name, line=line)
            axis.plot(*columns(pairs), marker="o", ms=4, color=f"C{number}", label=line)
        for line, style in (("unigram", ":"), (GIBBS, "--")):
            for _, height in rows.values(measure, "epsilon", corpus=name, line=line):
                axis.axhline(height, color="0.3", ls=style, label=line)
    finish(figure, panels, "epsilon of one word added or removed; CDP-LDA: 1 / scale of the noise", "figure6")


# ---- figures 8, 9, 10: batches

OLP, WITHOUT, ONLINE = "OLP-LDA", "OLP-LDA without prior data", "O-LDA, no privacy"
#: The library's stream of the same reports, and its topics: few, and as many as the others have.
EXACT, WIDE = "exact stream, K 20", "exact stream, K 50"
EXACT_TOPICS = {EXACT: 20, WIDE: N_TOPICS}
STOPS = (1, 4, 9, 16, 24)
PUBLIC_SIZES, BATCH_SIZES = (200, 500, 1000), (40, 160, 640)


def stream(rows, name, line, epsilon, n_public, size, stops=()):
    """Run one stream, and write a row after each of ``stops`` batches and after the last."""
    train, test, words = their_corpus(name)
    n_first = 0 if line == WITHOUT else n_public
    rest = train[n_first:]
    n_batches = -(-rest.shape[0] // size)
    key = {"corpus": name, "line": line, "epsilon": epsilon, "n_public": n_first, "batch": size}
    wanted = sorted({stop for stop in stops if stop < n_batches} | {n_batches})
    if all(rows.has(**key, after=stop) for stop in wanted):
        return
    channel, public = symmetric(epsilon), train[:n_first] if n_first else None
    if line in EXACT_TOPICS:
        exact = StreamingLocalLDA(
            EXACT_TOPICS[line], channel=channel, public=public, refit=False, random_state=0,
            allow_unlearnable=True,
        )  # fmt: skip
        take = lambda part: exact.partial_fit(part, packed=True, vocabulary=words, simulated=True)  # noqa: E731
    else:
        printed = OnlineLP(
            N_TOPICS, channel, len(words), public=public, prior_weight=0.0 if line == ONLINE else 0.4,
            random_state=0,
        )  # fmt: skip
        take = lambda part: printed.partial_fit(unpack_bits(part, len(words)))  # noqa: E731

    def topics():
        if line not in EXACT_TOPICS:
            return printed.state.topic_word, printed.state.topic_weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            exact.update()
        return exact.topic_word_, exact.release_.topic_weight

    reports = randomised(rest, channel)
    for batch in range(n_batches):
        take(reports[size * batch : size * batch + size])
        if batch + 1 in wanted:

            def work():
                found, weight = topics()
                return measured(found, test, weight)

            rows.add(work, **key, after=batch + 1)


def alone(rows, name, n_public):
    """Gibbs sampling of the public set, and of all training documents (figure 9's dashed line)."""
    train, test, _ = their_corpus(name)
    for line, n in (("public set alone", n_public), ("batch CGS, no privacy", train.shape[0])):

        def work(n=n):
            model = GibbsLDA(N_TOPICS, doc_topic_prior=ALPHA, init="random", n_sweeps=SWEEPS, random_state=0)
            return measured(model.fit(train[:n]).topic_word_, test)

        rows.add(work, corpus=name, line=line, epsilon=math.inf, n_public=n, batch=0, after=0)


def figures_8_to_10():
    rows = Rows(HERE / "streams.csv", ("corpus", "line", "epsilon", "n_public", "batch", "after"))
    for name, n_public in PUBLIC.items():
        for size in PUBLIC_SIZES:
            alone(rows, name, size)
        stream(rows, name, ONLINE, math.inf, n_public, 160, STOPS)
        for epsilon in (3.0, 1.0, 5.0):
            stream(rows, name, OLP, epsilon, n_public, 160, STOPS)
        for size in BATCH_SIZES:
            for line in (OLP, WITHOUT, ONLINE):
                stream(rows, name, line, math.inf if line == ONLINE else 3.0, n_public, size)
        for size in PUBLIC_SIZES:
            stream(rows, name, OLP, 3.0, size, 160)
            stream(rows, name, ONLINE, math.inf, size, 160)
        for line in EXACT_TOPICS:
            stream(rows, name, line, 3.0, n_public, 160, STOPS)
    draw_streams(rows)


def draw_streams(rows):
    figure, panels = grid(rows, line=OLP, epsilon=5.0)
    for measure, name, axis in panels:
        n = PUBLIC[name]
        lines = [(OLP, 1.0), (OLP, 3.0), (OLP, 5.0), (EXACT, 3.0), (WIDE, 3.0), (ONLINE, math.inf)]
        for line, epsilon in lines:
            key = {"corpus": name, "line": line, "epsilon": epsilon, "n_public": n, "batch": 160}
            label = line if line == ONLINE else f"{line}, epsilon {epsilon:g}"
            axis.plot(*columns(rows.values(measure, "after", **key)), marker="o", ms=4, label=label)
        key = {"corpus": name, "line": "public set alone", "n_public": n}
        for _, height in rows.values(measure, "after", **key):
            axis.axhline(height, color="0.3", ls=":", label="public set alone")
    finish(figure, panels, "batches of 160, after the public documents", "figure8")
    draw_public_sizes(rows)
    draw_batch_sizes(rows)


def draw_public_sizes(rows):
    figure, panels = grid(rows, line=OLP, n_public=PUBLIC_SIZES[-1], batch=160)
    for measure, name, axis in panels:
        for line, epsilon in ((OLP, 3.0), (ONLINE, math.inf)):
            pairs = [
                (size, height)
                for size in PUBLIC_SIZES
                for _, height in rows.values(
                    measure, "after", corpus=name, line=line, epsilon=epsilon, n_public=size, batch=160
                )[-1:]
            ]
            label = line if line == ONLINE else f"{line}, epsilon 3"
            axis.plot(*columns(pairs), marker="o", ms=4, label=label)
        pairs = rows.values(measure, "n_public", corpus=name, line="public set alone")
        axis.plot(*columns(pairs), ":", color="0.3", label="public set alone")
        for _, height in rows.values(measure, "after", corpus=name, line="batch CGS, no privacy"):
            axis.axhline(height, color="0.3", ls="--", label="batch CGS, no privacy")
    finish(figure, panels, "public documents, batches of 160", "figure9")


def draw_batch_sizes(rows):
    figure, panels = grid(rows, line=WITHOUT, batch=BATCH_SIZES[-1])
    for measure, name, axis in panels:
        for line, epsilon, n in (
            (OLP, 3.0, PUBLIC[name]),
            (WITHOUT, 3.0, 0),
            (ONLINE, math.inf, PUBLIC[name]),
        ):
            pairs = [
                (size, height)
                for size in BATCH_SIZES
                for _, height in rows.values(
                    measure, "after", corpus=name, line=line, epsilon=epsilon, n_public=n, batch=size
                )[-1:]
            ]
            label = line if line == ONLINE else f"{line}, epsilon 3"
            axis.plot(*columns(pairs), marker="o", ms=4, label=label)
        axis.set(xscale="log")
        axis.set_xticks(BATCH_SIZES, [str(size) for size in BATCH_SIZES])
        axis.minorticks_off()
    finish(figure, panels, "documents in a batch", "figure10")


# ---- pictures


def grid(rows, **line):
    """Panels for the corpora of which this line was run, as (measure, corpus, axes), and the figure."""
    names = [name for name in TEST if rows.values("in_sample", "epsilon", corpus=name, **line)]
    width = 1.5 + 4 * len(names)
    figure, axes = plt.subplots(2, len(names), figsize=(width, 7.4), sharex="col", squeeze=False)
    panels = [
        (measure, name, axes[down, across])
        for down, measure in enumerate(("in_sample", "completion"))
        for across, name in enumerate(names)
    ]
    return figure, panels


def finish(figure, panels, label, name):
    half = len(panels) // 2
    for (_, corpus, top), (_, _, bottom) in zip(panels[:half], panels[half:], strict=True):
        top.set_title(corpus)
        bottom.set_xlabel(label, fontsize=8)
    panels[0][2].set_ylabel("in-sample perplexity (the paper's)")
    panels[half][2].set_ylabel("completion perplexity")
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    handles = panels[0][2].get_legend_handles_labels()
    figure.legend(*handles, loc="lower center", ncols=2 if half == 1 else 4, fontsize=9, frameon=False)
    figure.savefig(HERE / f"{name}.png", dpi=120, metadata={"Software": None})
    plt.close(figure)


PARTS = {"figure-6": figure_6, "figure-8-9-10": figures_8_to_10}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="|".join(PARTS))
    for part in parser.parse_args().parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}")
        PARTS[part]()


if __name__ == "__main__":
    sys.exit(main())
