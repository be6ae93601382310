"""How a private fit grows with documents, topics and words: seconds and memory, each beside its straight line.

    python benchmarks/scale_growth.py              documents 10^5 to 10^7, topics 20 to 500, words 2,000 to 50,000
    python benchmarks/scale_growth.py --small      the same with a hundredth of the documents
    python benchmarks/scale_growth.py --report results/scale_growth.csv --picture docs/assets/scale-growth.svg

A run that was ended goes on where it stopped: points that the results have already are not fitted again. Every fit is
a process of its own, over shards that another process drew; the three series take turns. Beyond a million
documents the first million come again, in shards of their own. Seconds are CPU seconds of the fit, memory is the peak
of its process, libraries and all. Each straight line goes through the first and the last point.
"""

import argparse
import csv
import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scale import DELTA, peak, pieces, planted, vocabulary
from scale_tools import Clock, in_own_process, svg

DOCUMENTS = [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
TOPICS = [20, 50, 100, 200, 500]
SHARD, DISTINCT = 100_000, 1_000_000
WORDS = [2_000, 5_000, 10_000, 20_000, 50_000]
BASE = {"documents": 100_000, "topics": 20, "words": 10_000}
SERIES = {"topics": TOPICS, "words": WORDS, "documents": DOCUMENTS}
FIELDS = ("series", "documents", "topics", "words", "cpu", "wall", "peak_gib", "threads")


def draw_shards(folder, documents, words, shard):
    from discreet.corpus import write_shards

    for name, n_documents in {"warm": 500, "shards": documents}.items():
        write_shards(
            pieces(n_documents, planted(n_words=words)),
            folder / name,
            shard_documents=shard,
            vocabulary=vocabulary(words),
            words_are_public=True,
        )
    print(json.dumps({"drawn": documents}))


def take(folder, n_documents):
    """Return so many of the documents that were drawn, again and again: links to their shards, and a manifest."""
    from discreet.corpus import ShardedCorpus
    from discreet.corpus.shards.shard_file import write_manifest

    drawn = ShardedCorpus(folder / "shards").manifest
    target, chosen = folder / str(n_documents), []
    target.mkdir()
    for number in range(n_documents // drawn.entries[0].n_documents):
        entry = drawn.entries[number % len(drawn.entries)]
        chosen.append(entry._replace(file=f"shard-{number:05d}.safetensors"))
        os.link(folder / "shards" / entry.file, target / chosen[-1].file)
    write_manifest(target, drawn._replace(entries=tuple(chosen)))
    return ShardedCorpus(target)


def fit(folder, documents, topics, words, threads):
    from discreet import PrivateLDA
    from discreet.corpus import ShardedCorpus

    shards = take(folder, documents)
    how = {"epsilon": 1.0, "delta": DELTA, "n_rounds": 5, "random_state": 0}
    how |= {"n_jobs": threads, "allow_unlearnable": True}
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PrivateLDA(topics, **how).fit(ShardedCorpus(folder / "warm"))  # compiles
        with clock:
            PrivateLDA(topics, **how).fit(shards)
    found = {"documents": documents, "topics": topics, "words": words, "threads": threads}
    print(json.dumps(found | {"cpu": clock.cpu, "wall": clock.wall, "peak_gib": peak()}))


def run(threads, shrink, out):
    def draw(room, documents, words):
        at = {"documents": documents // shrink, "words": words, "shard": SHARD // shrink}
        in_own_process(__file__, "--draw", json.dumps(at), "--folder", room)

    done = list(csv.DictReader(out.read_text().splitlines())) if out.exists() else []
    known = {(row["series"], int(row[row["series"]])) for row in done}
    with out.open("w", newline="") as file, tempfile.TemporaryDirectory() as base:
        draw(base, DISTINCT, BASE["words"])
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(done)
        file.flush()
        for turn in range(5):
            for series, values in SERIES.items():
                at = {**BASE, series: values[turn], "threads": threads}
                at["documents"] //= shrink
                if (series, at[series]) in known:
                    continue
                with tempfile.TemporaryDirectory() as room:
                    if series == "words":
                        draw(room, BASE["documents"], at["words"])
                    folder = Path(room if series == "words" else base)
                    found = in_own_process(__file__, "--fit", json.dumps(at), "--folder", folder)
                shutil.rmtree(folder / str(at["documents"]), ignore_errors=True)
                writer.writerow({"series": series, **found})
                file.flush()
                print(series, json.dumps(found), flush=True)


def straight(x, y):
    """Return the heights at x of the line through the first and the last point."""
    return y[0] + (x - x[0]) * (y[-1] - y[0]) / (x[-1] - x[0])


def report(path, picture):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    lines = {}
    for series in SERIES:
        own = [row for row in rows if row["series"] == series]
        columns = (np.array([float(row[name]) for row in own]) for name in (series, "cpu", "peak_gib"))
        x, seconds, memory = lines[series] = list(columns)
        for value, one, line, gib in zip(x, seconds, straight(x, seconds), memory, strict=True):
            told = f"{one:10.2f} CPU s, {one / line:5.2f} times the straight line, peak {gib:5.2f} GiB"
            print(f"{series:>10} {value:12,.0f} {told}")
    if picture is not None:
        draw(lines, picture)


def draw(lines, picture):
    with svg(picture, rows=2, columns=3, size=(9, 5.4)) as panels:
        for column, (series, (x, seconds, memory)) in enumerate(lines.items()):
            fine = np.geomspace(x[0], x[-1], 100)
            for axes, y, name in zip(
                panels[:, column], (seconds, memory), ("CPU seconds", "peak GiB"), strict=True
            ):
                axes.plot(
                    fine,
                    np.interp(fine, x[[0, -1]], y[[0, -1]]),
                    "--",
                    color="#999999",
                    label="straight line",
                )
                axes.plot(x, y, "o-", color="#4477aa", label="measured")
                axes.set(xlabel=series, ylabel=name, xscale="log", xticks=x)
                axes.set_xticklabels([short(value) for value in x])
                axes.minorticks_off()
                axes.legend(fontsize=7)
                axes.grid(alpha=0.3)
            panels[0, column].set_yscale("log")
            panels[0, column].set(yticks=seconds)
            panels[0, column].set_yticklabels([f"{value:.0f}" for value in seconds])
            panels[0, column].minorticks_off()
            panels[1, column].set_ylim(bottom=0)


def short(value):
    """Return 300,000 as "300 k"."""
    for size, unit in ((1_000_000, " M"), (1_000, " k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    results = Path(__file__).parent / "results" / "scale_growth.csv"
    parser.add_argument("--out", type=Path, default=results)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--draw", type=json.loads)
    parser.add_argument("--fit", type=json.loads)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    if given.draw is not None:
        draw_shards(given.folder, **given.draw)
    elif given.fit is not None:
        fit(given.folder, **given.fit)
    elif given.report is not None:
        report(given.report, given.picture)
    else:
        run(given.threads, 100 if given.small else 1, given.out)
        report(given.out, given.picture)


if __name__ == "__main__":
    main()
