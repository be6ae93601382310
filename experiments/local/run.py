"""Topics from randomised reports: our inference beside LP-LDA and OLP-LDA, on the measures of both.

    python experiments/local/run.py --table kos     # imdb, stream, curator, shuffle, whole-document
    python experiments/local/run.py --all

Every part writes its CSV as it goes (and goes on where it stopped). Clients are simulated from seeds. What came out
and what it means stands in docs/research/local.md. The paper's own figures are experiments/zhao2020.
"""

import argparse
import csv
from types import SimpleNamespace

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
from moment_lda import PrivateMomentLDA
from printed_reports import OnlineLP

from discreet import StreamingLocalLDA
from discreet.lda.moments.fit import fit_topics
from discreet.lda.moments.moments import unpack_bits
from discreet.local import Moments, shuffled_course


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


def streams(
    table, data, n_public, epsilons, stops, *, size=160, name="{line}, D_0 = {n_public}, {stop} batches"
):
    """OLP-LDA and the exact stream after some of the batches; the public set alone, and without noise."""
    public, rest = data.train[:n_public], data.train[n_public:]
    free = SimpleNamespace(p=1.0, q=0.0)
    table.add(data, f"D_0 = {n_public} alone, K 50", "inf", lambda: gibbs(public, 50, 1.0, 200))
    table.add(data, f"D_0 = {n_public} alone, moments, K 20", "inf", lambda: moments_of(public))
    jobs = [("O-LDA", "inf", free, {"prior_weight": 0.0})]
    for epsilon in epsilons:
        jobs.append(("OLP-LDA", epsilon, symmetric(epsilon), {}))
        if size == 160:  # sums of reports are the same whatever the batches were
            jobs.append(("exact stream", epsilon, symmetric(epsilon), None))
    for line, epsilon, channel, settings in jobs:
        reports = randomised(rest, channel, data.split)
        n_batches = -(-len(reports) // size)
        wanted = sorted({min(stop, n_batches) for stop in stops})
        names = {stop: name.format(line=line, n_public=n_public, stop=stop, size=size) for stop in wanted}
        if all(table.has(data, name, epsilon) for name in names.values()):
            continue
        exact = StreamingLocalLDA(20, channel=channel, public=public, refit=False, random_state=0)
        printed = None
        if settings is not None:
            printed = OnlineLP(50, channel, N_WORDS, public=public, random_state=0, **settings)

        def topics(exact=exact, printed=printed):
            if printed is not None:
                return printed.state.topic_word, printed.state.topic_weight, ""
            return exact.update().topic_word_, exact.release_.topic_weight, ""

        for batch in range(n_batches):
            part = reports[size * batch : size * batch + size]
            if printed is not None:
                printed.partial_fit(unpack_bits(part, N_WORDS))
            else:
                exact.partial_fit(part, packed=True, vocabulary=data.words, simulated=True)
            if batch + 1 in names:
                table.add(data, names[batch + 1], epsilon, topics)


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


def table_curator():
    """Film reviews: the same moments under the central Gaussian, delta 1e-6."""
    table = Table(HERE / "curator.csv")
    data = corpus("imdb", 0, n_test=2000)
    for epsilon in (1, 2, 4, np.inf):

        def work(epsilon=epsilon):
            model = PrivateMomentLDA(20, epsilon=epsilon, random_state=0, allow_unlearnable=True)
            model.fit(data.train)
            return model.components_, model.release_.topic_weight, model.learnable_

        table.add(data, "PrivateMomentLDA", epsilon, work)


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
    }
    parser.add_argument("--table", choices=tables)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    chosen = [tables[options.table]] if options.table else []
    for part in tables.values() if options.all else chosen:
        print(part.__doc__, flush=True)
        part()


if __name__ == "__main__":
    main()
