"""Every CSV of experiments/ is what its command writes today: its cheapest telling row is made anew, by its own script.

Corpora are those of ../shared/data; without them all of this is skipped. Columns that measure time are not compared,
and columns and rows that come to a file later change nothing here.
"""

import csv
import importlib
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.integration

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
#: Measured anew on each machine.
TIMES = {"cpu", "cpu_seconds"}
CHECKS = {}


def makes(name, **key):
    """Enter a function as what makes the rows of a CSV that have this key."""

    def enter(function):
        CHECKS[name] = (key, function)
        return function

    return enter


def rows_of(path, key):
    with path.open(newline="") as file:
        return [
            row
            for row in csv.DictReader(file)
            if all(same(row[column], value) for column, value in key.items())
        ]


def same(one, other):
    try:
        return float(one) == float(other)
    except ValueError:
        return one == str(other)


def close(found, stood):
    """Whether two cells say the same: equal text, or numbers but for another processor's rounding."""
    try:
        one, other = float(found), float(stood)
    except ValueError:
        return str(found) == stood
    return math.isclose(one, other, rel_tol=5e-3, abs_tol=2e-3) or (math.isnan(one) and math.isnan(other))


class Bench:
    """The scripts of one folder, and a copy of its CSV without some rows, for a script to fill in again."""

    def __init__(self, name, key, folder, monkeypatch):
        self.csv, self.key, self.folder, self.patch = EXPERIMENTS / name, key, folder, monkeypatch
        self.copy = folder / self.csv.name

    def script(self, name="run"):
        home = self.csv.parent
        for module in [path.stem for path in home.glob("*.py")]:
            self.patch.delitem(sys.modules, module, raising=False)
        self.patch.syspath_prepend(home)
        script = importlib.import_module(name)
        for module in (script, *(sys.modules.get(path.stem) for path in home.glob("*.py"))):
            if getattr(module, "HERE", None) is not None:
                self.patch.setattr(module, "HERE", self.folder)
        return script

    def without_rows(self):
        """Copy the CSV without the rows of the key."""
        with self.csv.open(newline="") as file:
            reader = csv.DictReader(file)
            rows = [row for row in reader if not all(same(row[c], value) for c, value in self.key.items())]
            fields = reader.fieldnames
        with self.copy.open("w", newline="") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(rows)

    def table(self, script, *arguments):
        self.without_rows()
        return script.Table(*(arguments or (self.copy,)))


# ---- audits and choices


@makes("audit/audit.csv", audit="one run", trainer="private", variant="one_topic", promise="1")
def audit(bench):
    return [bench.script().one_run(1.0, "one_topic")]


@makes("choose_topics/private.csv", epsilon="1.0", documents="150")
def choose_topics(bench):
    script = bench.script("private")
    bench.patch.setattr(script, "__file__", str(bench.folder / "private.py"))
    script.main([150], [1.0], 16)


@makes("noisy_topics/topics.csv", corpus="planted apart", epsilon="0.3", n_topics="8", seed="0")
def noisy_topics(bench):
    script = bench.script()
    counts, planted = script.corpus("planted apart", data_folder())
    return list(script.rows_of("planted apart", counts, planted, 0.3, 8, 0, None))


@makes("no_topics/structure.csv", corpus="kos", texts="dealt anew", epsilon="4", seed="0")
def no_topics(bench):
    script = bench.script()
    return [script.rows_of("kos", script.corpus("kos", data_folder()), "dealt anew", 4.0, 0)]


# ---- federated


@makes("wang2020/kos.csv", line="aggregate", epsilon="1", split="0")
def federated_kos(bench):
    bench.without_rows()
    bench.script().table_kos()


@makes("wang2020/poster.csv", corpus="enron-spam", line="aggregate", epsilon="7.5")
def federated_poster(bench):
    bench.without_rows()
    bench.script().table_poster()


@makes("wang2020/sweeps.csv", part="share", epsilon="7.5", reports_per_token="4")
def federated_sweeps(bench):
    bench.without_rows()
    bench.script().sweeps()


@makes("wang2020/printed.csv", corpus="kos", part="sweep", epsilon="inf")
def federated_as_printed(bench):
    bench.without_rows()
    bench.script("printed_fedlda").sweeps()


# ---- local


def local_row(bench, corpus, n_test, line, epsilon, **how):
    script = bench.script()
    table, data = bench.table(script), script.corpus(corpus, 0, n_test=n_test)
    table.add(data, line, epsilon, script.local(data, epsilon, 20, **{"refine": False, **how}))


@makes("local/kos.csv", line="moments, K 20", epsilon="1", split="0")
def local_kos(bench):
    local_row(bench, "kos", 430, "moments, K 20", 1)


@makes("local/imdb.csv", line="unigram")
def local_imdb(bench):
    script = bench.script()
    table, data = bench.table(script), script.corpus("imdb", 0, n_test=2000)
    bench.patch.setattr(table, "add", lambda *row, add=table.add: add(*row) if row[1] == "unigram" else None)
    script.without_privacy(table, data)


@makes("local/stream.csv", line="exact stream, D_0 = 500, 16 batches", split="0")
def local_stream(bench):
    script = bench.script()
    script.streams(bench.table(script), script.corpus("kos", 0, n_test=430), 500, (3,), (999,))


@makes("local/vectors.csv", corpus="kos", epsilon="0.5", vectors="right")
def local_vectors(bench):
    script = bench.script("vectors")
    data, channel = script.corpus("kos", 0, n_test=script.CORPORA["kos"]), script.symmetric(0.5)
    found = script.match_vectors(script.DATA / "word-vectors" / "glove100.npz", data.words).vectors
    moments = script.Moments(script.N_WORDS, channel=channel)
    moments.add_batch(script.randomised(data.train, channel, 0), packed=True)
    names = ("agreement", "used", "learnable", "perplexity")
    return [dict(zip(names, script.fitted(data, moments, channel, found), strict=True))]


@makes("local/whole_documents.csv", corpus="kos", line="secure aggregation", clients="10000", epsilon="1")
def local_whole_documents(bench):
    script = bench.script("whole_documents")
    bench.patch.setattr(
        sys, "argv", ["", "kos", "1e4", "1", "--lines", script.SUMS, "--out", str(bench.copy)]
    )
    script.main()


@makes("local/curator.csv", line="PrivateMomentLDA", epsilon="1")
def local_curator(bench):
    bench.without_rows()
    bench.script().table_curator()


@makes("local/shuffle.csv", asked="three questions", reports="100000", epsilon_of_a_report="2")
def local_shuffle(bench):
    found = bench.script().shuffled_course(2, [40_000, 10_000, 20_000, 30_000], 1e-6)
    return [{"central_epsilon": found}]


@makes("local/whole_document.csv", epsilon_of_a_report="4", words_kept="20")
def local_whole_document(bench):
    script = bench.script()
    channel = script.for_document(4, 20)
    return [{"p": f"{channel.p:.4g}", "q": f"{channel.q:.4g}"}]


@makes("local/poisoning.csv", epsilon="1.0", attack="none")
def local_poisoning(bench):
    script = bench.script("poisoning")
    rng = np.random.default_rng(3)  # as in main
    present, topics = script.documents(rng)
    channel = script.BitChannel.symmetric(1.0)
    bits = rng.random(present.shape) < np.where(present, float(channel.p), float(channel.q))
    return [script.measure(bits.astype(np.uint8), topics, channel)]


# ---- membership


def membership(bench, name="run"):
    script = bench.script(name)
    bench.patch.setattr(sys.modules["common"], "CACHE", bench.folder / "cache")
    return script


@makes("manzonelli2024/coherence.csv", eps1="0.5", eps2="5.0")
def membership_coherence(bench):
    bench.without_rows()
    membership(bench, "pipeline").coherence()


@makes("manzonelli2024/private.csv", eps1="1.0", eps2="5.0")
def membership_private(bench):
    bench.without_rows()
    script = membership(bench, "pipeline")
    bench.patch.setattr(script, "ATTACKS", [(1.0, 5.0)])
    script.attack(1.0)


@makes("manzonelli2024/simple.csv", corpus="tweetrumors")
def membership_simple(bench):
    bench.without_rows()
    membership(bench, "simple").run(1.0)


@makes("manzonelli2024/spread.csv", corpus="tweetrumors", n="4")
def membership_spread(bench):
    bench.without_rows()
    membership(bench, "spread").run(1.0)


@makes("manzonelli2024/table1.csv", corpus="tweetrumors")
def membership_table1(bench):
    bench.without_rows()
    script = membership(bench, "tables")
    bench.patch.setattr(script.common, "TABLE1", script.common.TABLE1[:1])
    script.table1(1.0)


@makes("manzonelli2024/table2.csv", corpus="tweetrumors", n="4")
def membership_table2(bench):
    bench.without_rows()
    membership(bench, "tables").table2(1.0)


@makes("manzonelli2024/figure7.csv", line="no privacy", classifier="linear", seed="0", documents="8000")
def membership_figure7(bench):
    script = membership(bench, "figure7")
    bench.without_rows()
    bench.patch.setattr(script, "draw", lambda table: None)
    bench.patch.setattr(script, "EPSILONS", ())
    bench.patch.setattr(sys, "argv", ["figure7.py", "--seeds", "1"])
    script.main()


@makes("manzonelli2024/statistics.csv", statistic="likelihood")
def membership_statistics(bench):
    bench.without_rows()
    script = membership(bench, "statistics_compared")
    bench.patch.setattr(script, "KINDS", ("likelihood",))
    script.main()


@makes("manzonelli2024/printed_coherence.csv", noise="each draw", eps1="1", eps2="3")
def membership_printed_coherence(bench):
    bench.without_rows()
    script = membership(bench, "printed_pipeline")
    bench.patch.setattr(script, "draw", lambda table: None)
    script.coherence()


@makes("manzonelli2024/printed_attack.csv", noise="each draw", eps1="1", eps2="5")
def membership_printed_attack(bench):
    bench.without_rows()
    membership(bench, "printed_pipeline").attack()


# ---- shares


def prevalence(bench):
    script = bench.script()
    bench.patch.setattr(script, "EPSILONS", (0.1,))
    bench.patch.setattr(script, "draw_decades", lambda *a: None)
    if "DATA" in vars(script):
        bench.patch.setattr(script, "DATA", data_folder())
    script.main(bench.csv.stem, int(rows_of(bench.csv, bench.key)[0]["runs"]))


for corpus in ("sotu", "newsgroups", "enron"):
    makes(f"prevalence/{corpus}.csv", epsilon="0.1")(prevalence)


# ---- Zhao et al.


def zhao(bench, name, part, **patches):
    """Run one part of a script, for the paper's first corpus unless told, without its picture."""
    script = bench.script(name)
    bench.without_rows()
    for one, value in patches.items():
        bench.patch.setattr(script, one, value)
    return getattr(script, part)


@makes("zhao2020/corpora.csv", corpus="kos")
def zhao_corpora(bench):
    zhao(bench, "corpora", "table_2")()


@makes(
    "zhao2020/attack.csv", corpus="kos", method="HDP-LDA, eps_I 10, eps_L 1", form="as printed", sweeps="1"
)
def zhao_attack(bench):
    one = {("HDP-LDA, eps_I 10, eps_L 1", "as printed"): (10.0, 1.0)}
    zhao(bench, "word_level", "attack", ATTACKS=one, ATTACKED={"kos": 1}, TEST=("kos",))(bench.copy)


@makes(
    "zhao2020/perplexity.csv", corpus="kos", method="limited inherent, eps_I 10", form="as meant", beta="0.5"
)
def zhao_perplexity(bench):
    one = {("limited inherent, eps_I 10", "as meant", 0.5): (math.inf,)}
    zhao(bench, "word_level", "perplexity", LINES=one, TEST=("kos",))(bench.copy)


@makes("zhao2020/total.csv", corpus="kos", method="PrivateLDA (whole documents)", epsilon="1.0")
def zhao_total(bench):
    zhao(bench, "word_level", "against_total")(bench.copy)


@makes("zhao2020/news.csv", method="unigram")
def zhao_news(bench):
    zhao(bench, "word_level", "news")(bench.copy)


@makes("zhao2020/monitor.csv")
def zhao_monitor(bench):
    bench.script("word_level").monitor(bench.copy)


@makes("zhao2020/figure6.csv", corpus="kos", line="moments, K 20, as meant", epsilon="1.0")
def zhao_figure_6(bench):
    zhao(bench, "reports", "figure_6", TEST=("kos",), draw_figure_6=lambda rows: None)()


@makes("zhao2020/streams.csv", corpus="kos", line="public set alone", n_public="200")
def zhao_streams(bench):
    script = bench.script("reports")
    bench.without_rows()
    keys = ("corpus", "line", "epsilon", "n_public", "batch", "after")
    script.alone(script.Rows(bench.copy, keys), "kos", 200)


@makes("zhao2020/classifier.csv", line="no privacy", classifier="linear", seed="0")
def zhao_classifier(bench):
    script = bench.script("classifier")
    bench.without_rows()
    bench.patch.setattr(script, "EPSILONS", ())
    script.run(script.Rows(bench.copy, ("line", "epsilon", "classifier", "seed")), 1)


# ---- word vectors


def with_vectors(bench, epsilon, algorithm):
    script = bench.script()
    split = script.load(bench.key["corpus"], 2000)
    topics = script.fit(split, epsilon, 0, None).components_
    script.Lines(bench.copy, split, bench.key["corpus"]).add(epsilon, algorithm, 0, topics)


@makes("word_vectors/results.csv", corpus="kos", epsilon="0.5", algorithm="PrivateLDA", seed="0")
def word_vectors_results(bench):
    with_vectors(bench, 0.5, "PrivateLDA")


@makes("word_vectors/wrong.csv", corpus="kos", epsilon="1.0", algorithm="none", seed="0")
def wrong_vectors(bench):
    with_vectors(bench, 1.0, "none")


@makes("floor/plenty.csv", corpus="pheme", x="0.3", seed="0")
def plentiful(bench):
    script = bench.script("plenty")
    bench.without_rows()
    script.measure(bench.copy, ["pheme"], (0.3,), 1)


@makes("floor/grid.csv", corpus="pheme", epsilon="0.3", seed="0")
def grid_of_epsilons(bench):
    script = bench.script("plenty")
    bench.without_rows()
    script.measure(bench.copy, ["pheme"], None, 1)


@makes("floor/grid_vectors.csv", corpus="pheme", epsilon="0.3", seed="0")
def grid_with_vectors(bench):
    script = bench.script("plenty")
    bench.without_rows()
    script.measure(bench.copy, ["pheme"], None, 1, with_vectors=True)


@makes("floor/twin.csv", corpus="kos")
def without_propagation(bench):
    script = bench.script("twin")
    script.measure(bench.copy, ["kos"])


@makes("word_lists/lists.csv", corpus="pheme", algorithm="PrivateLDA", epsilon="4.0")
def word_lists(bench):
    bench.without_rows()
    bench.script().measure(bench.copy, ["pheme"])


# ---- forecasts


@makes(
    "forecast/measured.csv",
    corpus="pheme",
    n_words="500",
    n_topics="10",
    algorithm="PrivateSVILDA",
    epsilon="1.0",
)
def forecast_measured(bench):
    bench.without_rows()
    bench.script().measure(bench.copy, ["pheme"], ("PrivateSVILDA",), ((500, 10),))


@makes("forecast/errors.csv", corpus="pheme")
def forecast_errors(bench):
    measured = bench.folder / "measured.csv"
    measured.write_bytes(bench.csv.with_name("measured.csv").read_bytes())
    bench.script().errors(measured)


# ---- Park et al.: one fit is minutes, so what is made anew is how much noise each accountant asks for


def park(bench):
    script = bench.script()
    plans = rows_of(bench.csv, bench.key)
    found = []
    for row in plans:
        how = {"rate": float(row["sampling_rate"]), "rounds": int(row["rounds"])} if "rounds" in row else {}
        settings = script.SETTINGS[row["algorithm"].removeprefix("DP-SVI ")]
        _, noise, today = script.dpsvi(float(row["epsilon"]), row["accountant"], 0, settings, **how)
        found.append({"noise_multiplier": noise, "epsilon_today": today})
    return found


for accountant, name in (("pld", "results"), ("moments2016", "batches")):
    makes(f"park2016/{name}.csv", accountant=accountant)(park)


@makes("park2016/grid.csv", accountant="strong", sampling_rate="0.05")
def park_grid(bench):
    script, found = bench.script("grid"), []
    for row in rows_of(bench.csv, bench.key):
        plan = script.planned(float(row["sigma"]), row["accountant"], float(row["sampling_rate"]))
        epsilon, _, noise, today = plan
        found.append({"epsilon": epsilon, "noise_multiplier": noise, "epsilon_today": today})
    return found


def data_folder():
    return Path(os.environ.get("DISCREET_DATA", EXPERIMENTS.parents[1] / "shared" / "data"))


#: Made of models that take minutes each; the rows of results.csv beside them are theirs, too.
NOT_REMADE = {"park2016/topics.csv", "park2016/matched.csv"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_the_cheapest_row_is_what_its_command_writes(name, shared_data, tmp_path, monkeypatch):
    import matplotlib.figure

    key, make = CHECKS[name]
    if not (EXPERIMENTS / name).exists():
        pytest.skip(f"{name} is not made yet")
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda *a, **how: None)
    monkeypatch.setenv("DISCREET_DATA", str(shared_data))
    (tmp_path / "out").mkdir()
    bench = Bench(name, dict(key), tmp_path / "out", monkeypatch)
    made = make(bench)
    if made is None:
        made = rows_of(bench.copy, bench.key)
    stood = rows_of(EXPERIMENTS / name, bench.key)
    assert len(made) == len(stood) > 0
    compared = 0
    for new, old in zip(made, stood, strict=True):
        wrong = {
            c: (new[c], old[c]) for c in new if c in old and c not in TIMES and not close(new[c], old[c])
        }
        assert not wrong
        compared += len((new.keys() & old.keys()) - TIMES - set(key))
    assert compared > 0


def test_every_csv_is_looked_at():
    there = {str(path.relative_to(EXPERIMENTS)) for path in EXPERIMENTS.glob("*/*.csv")}
    assert there <= set(CHECKS) | NOT_REMADE


def test_a_changed_figure_is_seen():
    assert close("5.004", "5.0")
    assert not close("5.1", "5.0")
    assert not close("0.010", "0.0")
    assert not close("a", "b")
