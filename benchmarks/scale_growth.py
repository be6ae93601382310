"""How a private fit grows with documents, topics and words: seconds and memory, each beside its straight line.

    python benchmarks/scale_growth.py              documents 10^5 to 10^7, topics 20 to 500, words 2,000 to 50,000
    python benchmarks/scale_growth.py --small      the same with a hundredth of the documents
    python benchmarks/scale_growth.py --report results/scale_growth.csv --picture docs/assets/scale-growth.svg

Every fit is a process of its own, over shards that it draws first; the three series take turns. Seconds are CPU seconds
of the fit. The straight line goes through the origin and the last point for documents, through the first and the last
point for topics and words.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scale import pieces, planted, vocabulary

DOCUMENTS = [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
TOPICS = [20, 50, 100, 200, 500]
WORDS = [2_000, 5_000, 10_000, 20_000, 50_000]
BASE = {"documents": 300_000, "topics": 20, "words": 10_000}
SERIES = {"documents": DOCUMENTS, "topics": TOPICS, "words": WORDS}
FIELDS = ("series", "documents", "topics", "words", "cpu", "wall", "peak_gib", "before_gib", "threads")


def point(documents, topics, words, threads):
    from discreet import PrivateLDA
    from discreet.corpus import write_shards

    def fit(shards, n_topics):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PrivateLDA(
                n_topics, epsilon=1.0, n_rounds=5, random_state=0, n_jobs=threads, allow_unlearnable=True
            )
            model.fit(shards)

    def write(folder, n_documents):
        return write_shards(
            pieces(n_documents, planted(n_words=words)),
            folder,
            vocabulary=vocabulary(words),
            words_are_public=True,
        )

    with tempfile.TemporaryDirectory() as room:
        fit(write(Path(room) / "warm", 500), topics)  # compiles
        shards = write(Path(room) / "s", documents)
        before = peak()
        wall, cpu = time.perf_counter(), time.process_time()
        fit(shards, topics)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = {"documents": documents, "topics": topics, "words": words, "cpu": cpu, "wall": wall}
    print(json.dumps(found | {"peak_gib": peak(), "before_gib": before, "threads": threads}))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run(threads, shrink, out):
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for turn in range(5):
            for series, values in SERIES.items():
                at = {**BASE, series: values[turn]}
                at["documents"] //= shrink
                line = [sys.executable, __file__, "--point", json.dumps({**at, "threads": threads})]
                done = subprocess.run(
                    line, check=True, capture_output=True, text=True, cwd=Path(__file__).parent
                )
                writer.writerow({"series": series, **json.loads(done.stdout.splitlines()[-1])})
                file.flush()
                print(series, done.stdout.strip(), flush=True)


def report(path, picture):
    rows = list(csv.DictReader(path.open()))
    lines = {}
    for series in SERIES:
        own = sorted((float(row[series]), float(row["cpu"])) for row in rows if row["series"] == series)
        x, y = (np.array(column) for column in zip(*own, strict=True))
        slope, start = (
            (y[-1] / x[-1], 0.0) if series == "documents" else ((y[-1] - y[0]) / (x[-1] - x[0]), None)
        )
        line = x * slope + (y[0] - x[0] * slope if start is None else start)
        lines[series] = x, y, line
        for value, seconds, straight in zip(x, y, line, strict=True):
            print(
                f"{series:>10} {value:12,.0f} {seconds:10.2f} CPU s, {seconds / straight:5.2f} times the straight line"
            )
    if picture is not None:
        draw(lines, picture)


def draw(lines, picture):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "discreet"
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    for axes, (series, (x, y, line)) in zip(panels, lines.items(), strict=True):
        axes.loglog(x, line, "--", color="#999999", label="straight line")
        axes.loglog(x, y, "o-", color="#4477aa", label="measured")
        axes.set(xlabel=series, ylabel="CPU seconds")
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    figure.savefig(picture, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    results = Path(__file__).parent / "results" / "scale_growth.csv"
    parser.add_argument("--out", type=Path, default=results)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--point", type=json.loads)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    if given.point is not None:
        point(**given.point)
    elif given.report is not None:
        report(given.report, given.picture)
    else:
        run(given.threads, 100 if given.small else 1, given.out)
        report(given.out, given.picture)


if __name__ == "__main__":
    main()
