"""Every table of docs whose figures stand in a CSV of this repository shows that CSV's figures, cell by cell."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.published import BY_SHADOWS, BY_TOPICS, FOUR_ATTACKS, POSTER

from discreet.privacy import gdp_mu

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"-?(?:\d[\d,]*)?\.?\d+")


def csv(name: str, folder: str = "experiments") -> pd.DataFrame:
    return pd.read_csv(ROOT / folder / f"{name}.csv")


def table(page: str, after: str, also: int = 0) -> list[list[str]]:
    """The rows, heading included, of the first table below the text ``after``, or of one of those that follow it."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    assert text.count(after) == 1, f"{page}.md says {after!r} {text.count(after)} times"
    tables = re.findall(r"(?:^\|.*\n)+", text[text.index(after) :], re.MULTILINE)
    rows = [
        [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]
        for line in tables[also].splitlines()
    ]
    return [rows[0], *rows[2:]]


def numbers(cell: str) -> list[str]:
    return [found.replace(",", "") for found in NUMBER.findall(cell)]


def shows(cell: str, *values: float) -> bool:
    """Whether a cell shows these values and no other numbers, each rounded to as many digits as the cell has."""
    shown = numbers(cell)
    return len(shown) == len(values) and all(
        abs(float(one) - value) <= 0.5000001 * 10.0 ** -len(one.partition(".")[2])
        for one, value in zip(shown, values, strict=True)
    )


def check(cells: Iterable[tuple[str, str, tuple[float, ...]]]) -> None:
    """All cells that show other figures than the CSV, at once."""
    cells = list(cells)
    assert cells
    wrong = [f"{where}: {cell!r}, but {values}" for where, cell, values in cells if not shows(cell, *values)]
    assert not wrong, "\n".join(wrong)


def one(frame: pd.DataFrame, column: str, **where: object) -> float:
    """The mean of a column over the rows that are asked for (seeds, splits); there must be some."""
    for name, value in where.items():
        frame = frame[frame[name] == value]
    assert len(frame), where
    return float(frame[column].mean())


def page_says(page: str, text: str) -> bool:
    """Whether a page has this text, wherever its lines break."""
    return " ".join(text.split()) in " ".join((ROOT / "docs" / f"{page}.md").read_text().split())


def test_shows_rounds_as_the_cell_does():
    assert shows("3,132", 3131.6)
    assert not shows("3,131", 3131.6)
    assert shows(".41 (.19)", 0.411, 0.19)
    assert not shows(".42 (.19)", 0.411, 0.19)
    assert shows("-.18", -0.1825)
    assert not shows(".18", -0.1825)
    assert not shows("1 / 2", 1)


# DP-SVI -----------------------------------------------------------------------------------------------------------


def test_perplexity_of_dp_svi():
    results = csv("park2016/results")
    head, *rows = table("park2016", "Completion perplexity by epsilon")
    names = {
        "strong composition": "strong",
        "moments accountant": "moments2016",
        "privacy loss distributions": "pld",
    }
    cells = []
    for line, *shown in rows:
        algorithm, _, accountant = line.partition(", ")
        where = (
            {"algorithm": "full batch"}
            if algorithm == "ours"
            else {"algorithm": algorithm, "accountant": names[accountant]}
        )
        cells += [
            (f"{line}, {epsilon}", cell, (one(results, "perplexity", epsilon=float(epsilon), **where),))
            for epsilon, cell in zip(head[1:], shown, strict=True)
        ]
    assert len(cells) == 35
    check(cells)


def test_dp_svi_stays_above_the_unigram():
    results = csv("park2016/results")
    noisy = results[results.algorithm.str.startswith("DP-SVI")]
    assert noisy.epsilon.max() == 8
    told = re.search(
        r"is at (\d+), variational", (ROOT / "docs" / "park2016.md").read_text().replace("\n", " ")
    )
    assert told
    assert noisy.perplexity.min() > float(told[1])


def test_dp_svi_by_the_size_of_batches():
    """Larger batches are better under every accountant; without noise, as the page says."""
    batches, results = csv("park2016/batches"), csv("park2016/results")
    results = results[results.epsilon == 2.44]
    free = {}
    for algorithm in ("DP-SVI as written", "DP-SVI corrected"):
        for accountant in ("strong", "moments2016", "pld"):
            where = {"algorithm": algorithm, "accountant": accountant}
            found = [one(batches, "perplexity", sampling_rate=rate, **where) for rate in (0.0125, 0.025)]
            assert found[0] > found[1] > one(results, "perplexity", **where)
        where = {"algorithm": algorithm, "accountant": "none"}
        found = [one(batches, "perplexity", sampling_rate=rate, **where) for rate in (0.0125, 0.025, 0.05)]
        free[algorithm] = "({:,.0f}, {:,.0f}, {:,.0f})".format(*found)
    assert page_says("park2016", f"*without any noise*, too {free['DP-SVI as written']}")
    assert page_says("park2016", f"it is far below {free['DP-SVI corrected']}")


ASKED = {"moments accountant": "moments2016", "strong composition": "strong", "no noise": "none"}


def test_dp_svi_on_the_axes_of_its_figure():
    results = csv("park2016/grid")
    noisy = results.pivot_table(
        index=["sampling_rate", "sigma"], columns="accountant", values="bound_perplexity"
    )
    below = 1 - (noisy.moments2016 / noisy.strong).dropna()
    assert len(below) == 15
    assert page_says("park2016", f"in all 15 cells, by {100 * below.min():.0f} to {100 * below.max():.0f} %")
    costs = results[(results.accountant == "moments2016") & (results.sampling_rate == 0.05)]
    spans = [f"{costs[name].min():.2f} to {costs[name].max():.2f}" for name in ("epsilon", "epsilon_today")]
    assert page_says(
        "park2016", f"epsilon {spans[0]} at batches of 5 % costs {spans[1].removeprefix('0')} by today's"
    )


def test_topics_of_dp_svi_matched():
    results, cells = csv("park2016/matched"), []
    for line, *shown in table("park2016", "(`matched.csv`, with the words")[1:]:
        for column, cell in zip(("first_word", "common_by_number", "common_matched"), shown, strict=True):
            cells.append((f"{line}, {column}", cell, (one(results, column, model=ASKED[line]),)))
    check(cells)


# Membership -------------------------------------------------------------------------------------------------------


def percent(frame: pd.DataFrame, column: str = "tpr", **where: object) -> float:
    return 100 * one(frame, column, **where)


def test_membership_four_attacks():
    results, cells = csv("manzonelli2024/table1"), []
    for line, *shown, runs in table("membership", "## Table 1")[1:]:
        corpus = line.partition(",")[0].lower().replace(" with 74", "-all")
        names = ("LiRA", "max", "std", "entropy")
        published = dict(zip(names, FOUR_ATTACKS[corpus.removesuffix("-all")], strict=True))
        for attack, cell in zip(("LiRA", "LiRA offline", *names[1:]), shown, strict=True):
            theirs = [published[attack]] if attack in published else []
            values = (percent(results, corpus=corpus, attack=attack), *theirs)
            cells.append((f"{line}, {attack}", cell, values))
        row = results[results.corpus == corpus].iloc[0]
        cells.append((line, runs, (row.n_shadows, row.n_targets)))
        cells.append((line, line.partition("=")[2], (row.n_topics,)))
    check(cells)


def test_membership_by_topics_and_shadows():
    """By topics within 5.2 points of the paper; by shadows within 1.7, if N counts pairs of halves."""
    topics, shadows = csv("manzonelli2024/table2"), csv("manzonelli2024/spread")
    off = []
    for k, theirs in BY_TOPICS.items():
        ours = [percent(topics, corpus="nips", n_topics=k, attack=a) for a in ("online", "offline")]
        off += [abs(x - y) for x, y in zip(ours, theirs, strict=True)]
        if k in (5, 25):
            assert page_says("membership", f"with {k} topics {ours[0]:.1f} %")
    assert page_says("membership", f"within {np.ceil(10 * max(off)) / 10:.1f} points of theirs")
    off = [
        abs(percent(shadows, n=2 * n, spread="own", attack=attack) - published)
        for n, both in BY_SHADOWS.items()
        for attack, published in zip(("online", "offline"), both, strict=True)
    ]
    assert len(off) == 16
    assert page_says("membership", f"within {np.ceil(10 * max(off)) / 10:.1f} points of each other")


def test_membership_spread():
    results, cells = csv("manzonelli2024/spread"), []
    for n, *shown in table("membership", "Found at .1 %, online / offline")[1:]:
        for spread, cell in zip(("own", "shrunk", "none, relative (RMIA)"), shown, strict=True):
            where = {"n": int(n), "spread": spread}
            if cell:
                both = tuple(percent(results, attack=attack, **where) for attack in ("online", "offline"))
                cells.append((f"{n}, {spread}", cell, both))
    assert len(cells) == 10
    check(cells)


def test_membership_other_statistics():
    results, cells = csv("manzonelli2024/statistics"), []
    names = {
        "largest log-likelihood": "likelihood",
        "largest share": "max",
        "standard deviation of the shares": "std",
        "negative entropy of the shares": "entropy",
    }
    for line, found, area, normal in table("membership", "`statistics.csv`")[1:]:
        sides = [{"statistic": names[line], "attack": attack} for attack in ("online", "offline")]
        cells += [
            (line, found, tuple(percent(results, **side) for side in sides)),
            (line, area, tuple(one(results, "auc", **side) for side in sides)),
            (
                line,
                normal,
                tuple(percent(results, f"not_normal_{side}", **sides[0]) for side in ("in", "out")),
            ),
        ]
    assert len(cells) == 12
    check(cells)


@pytest.mark.parametrize(("also", "varied", "fixed"), [(0, "eps1", "eps2"), (1, "eps2", "eps1")])
def test_membership_coherence(also, varied, fixed):
    results, cells = csv("manzonelli2024/coherence"), []
    head, *rows = table("membership", "![Coherence]", also)
    columns = {"NPMI": "npmi", "UMass": "umass", "words": "n_words"}
    for line, *shown in rows:
        for value, cell in zip(head[1:], shown, strict=True):
            number = one(results, columns[line], **{varied: float(value), fixed: 5.0})
            cells.append((f"{varied} = {value}, {line}", cell, (number,)))
    check(cells)


def test_membership_pipeline_from_printed_parts():
    results = csv("manzonelli2024/printed_coherence")
    told = [one(results, "umass", noise="each draw", eps1=3.0, eps2=level) for level in (0.5, 0.02)]
    assert page_says("membership", "(noise in each draw: {:.0f} at .5, {:.0f} at .02)".format(*told))


def test_membership_attack_on_printed_parts():
    results = csv("manzonelli2024/printed_attack")
    noisy = results[results.noise != "none"]
    assert len(noisy) == 10
    assert (noisy.n_targets == 10).all()
    found = f"at most {100 * noisy.tpr.max():.2f} % at .1 %, with areas up to {noisy.auc.max():.3f}"
    assert page_says("membership", found.replace(" 0.", " ."))
    free = results[results.noise == "none"].sort_values("eps1")
    assert list(free.eps1) == [1, 5]
    text = (ROOT / "docs" / "membership.md").read_text()
    told = re.search(r"the same attack finds (.*?); on all words it finds", text)
    assert told
    found = told[1].replace(" at .1 %, areas ", ", ")
    check([("without privacy", found, (*(100 * free.tpr), *free.auc))])


def test_membership_private_pipeline():
    results, cells = csv("manzonelli2024/private"), []
    for pair, words, strict, loose, allowed, area, bound in table(
        "membership", "each with a vocabulary of its own"
    )[1:]:
        eps1, eps2 = map(float, numbers(pair))
        row = results[(results.eps1 == eps1) & (results.eps2 == eps2)].iloc[0]
        cells += [
            (pair, words, (row.n_words,)),
            (pair, strict, (100 * row.tpr,)),
            (pair, loose, (100 * row.tpr_1pct,)),
            (pair, allowed, (100 * row.allowed_1pct,)),
            (pair, area, (row.auc,)),
            (pair, bound, (row.lower_bound,)),
        ]
    check(cells)


def test_membership_figure7():
    results = csv("manzonelli2024/figure7")
    results = results[results.documents == 8000]
    head, *rows = table("membership", "bands in the picture")
    names = {
        "LP-LDA, topics only": "LP-LDA topics",
        "LP-LDA, topics and classifier": "LP-LDA topics and classifier",
    }
    where, column, cells = {}, "accuracy", []
    for line, free, *shown in rows:
        if free:
            classifier = next(name for name in ("linear", "forest") if name in line)
            where = {"classifier": classifier}
            column = "outside_accuracy" if "newsgroups" in line else "accuracy"
            cells.append((line, free, (one(results, column, line="no privacy", **where),)))
            continue
        for epsilon, cell in zip(head[2:], shown, strict=True):
            asked = {"line": names.get(line, line), "epsilon": float(numbers(epsilon)[0]), **where}
            cells.append((f"{line}, {epsilon}", cell, (one(results, column, **asked),)))
    assert len(cells) == 3 + 3 * 2 * (len(head) - 2)
    check(cells)


def test_whether_there_are_topics():
    results, cells = csv("no_topics/structure"), []
    head, *rows = table("research/forecast", "(`python experiments/no_topics/run.py`)")
    for texts, *shown in rows:
        for epsilon, cell in zip(head[1:], shown, strict=True):
            mine = results[(results.texts == texts) & (results.epsilon == float(epsilon))].verdict
            assert len(mine) == 45
            counted = tuple(float((mine == verdict).sum()) for verdict in ("none", "seen"))
            cells.append((f"{texts}, {epsilon}", cell, counted))
    assert len(cells) == 10
    check(cells)


# Audits -----------------------------------------------------------------------------------------------------------


def trainer(name: str, before: dict[str, object]) -> dict[str, object]:
    """Which rows of the CSV a first cell speaks of; an empty one repeats the cell above."""
    if not name:
        return before
    if "VariationalLDA" in name:
        return {"trainer": "variational"}
    return {"trainer": "private", "promise": float(numbers(name)[-1])}


def test_one_training_run():
    results, where, cells = csv("audit/audit"), {}, []
    for name, kind, right, bound, gaussian, area in table("research/audit", "## One training run")[1:]:
        where = trainer(name, where)
        rows = results[(results.audit == "one run") & (results.variant == kind.replace(" ", "_"))]
        for cell, columns in (
            (right, ("right", "guesses")),
            (bound, ("epsilon_at_least",)),
            (gaussian, ("gaussian_at_least",)),
            (area, ("auc",)),
        ):
            if cell == "–":  # that trainer adds no noise
                continue
            cells.append((f"{where}, {kind}", cell, tuple(one(rows, column, **where) for column in columns)))
    check(cells)


def test_classifier_on_topics():
    results, where, cells = csv("audit/audit"), {}, []
    for name, kind, right, precision, recall, area, inside in table(
        "research/audit", "## A classifier on topics"
    )[1:]:
        where = trainer(name, where)
        rows = results[(results.audit == "classifier") & (results.variant == kind)]
        cells.append((f"{where}, {kind}", right, (percent(rows, "accuracy", **where),)))
        for cell, columns in (
            (precision, ("precision",)),
            (recall, ("recall",)),
            (area, ("auc",)),
            (inside, ("inside_accuracy", "outside_accuracy")),
        ):
            cells.append((f"{where}, {kind}", cell, tuple(one(rows, column, **where) for column in columns)))
    check(cells)


# Silos ------------------------------------------------------------------------------------------------------------


def test_silos_beside_the_poster():
    results = csv("wang2020/poster")
    names = {"pooled Gibbs, no privacy": "pooled Gibbs, no noise", "FedLDA without noise, 20 rounds": "rrp"}
    columns = {
        "reports a token": "reports_per_token",
        "epsilon in all": "total_epsilon",
        "precision": "precision",
        "recall": "recall",
        "F1": "f1",
        "AUC": "auc",
    }
    corpus = "enron-spam"
    head, *rows = table("research/silos", "**Mail: is it spam?**")
    cells = []
    for row in rows:
        shown = dict(zip(head, row, strict=True))
        line, told = shown["line"].strip("`"), shown["epsilon stated"]
        name = line.partition("`")[0]
        where = {"corpus": corpus, "line": names.get(line, name)}
        if told:
            where["epsilon"] = float(told)
        for title, column in columns.items():
            if shown.get(title) and shown[title] != "inf":
                cells.append((f"{line}, {told}, {title}", shown[title], (one(results, column, **where),)))
        if size := shown["bytes a client and round"]:
            mean = one(results, "bytes_per_client_and_round", **where)
            cells.append((f"{line}, {told}, bytes", size, (round(mean, -3),)))
    assert len(cells) > 40
    check(cells)


def test_the_posters_table():
    """Theirs / as printed / ours."""
    ours, printed = csv("wang2020/poster"), csv("wang2020/printed")
    printed = printed[printed.part == "1 / (delta delta_0 e^eps + 1)"]
    corpora, columns = {"spam": "enron-spam", "sentiment": "imdb"}, {"F1": "f1", "AUC": "auc"}
    cells = []
    for task, measure, *shown in table("research/silos", "**The poster's table, cell by cell**")[1:]:
        lines = (
            (float("inf"), {"line": "pooled Gibbs, no noise"}),
            (7.5, {"line": "rrp", "epsilon": 7.5}),
            (5.0, {"line": "rrp", "epsilon": 5.0}),
        )
        for (epsilon, where), theirs, cell in zip(lines, POSTER[task, measure], shown, strict=True):
            column, corpus = columns.get(measure, measure), corpora[task]
            values = (
                theirs,
                one(printed, column, corpus=corpus, epsilon=epsilon),
                one(ours, column, corpus=corpus, **where),
            )
            cells.append((f"{task}, {measure}, {where}", cell, values))
    assert len(cells) == 24
    check(cells)


def test_the_experiment_has_the_same_poster():
    script = ast.parse((ROOT / "experiments" / "wang2020" / "run.py").read_text())
    [found] = [ast.literal_eval(one.value) for one in script.body if ast.unparse(one).startswith("POSTER =")]
    names = {"f1": "F1", "auc": "AUC"}
    assert {
        (task, names.get(what, what)): v for (task, _), t in found.items() for what, v in t.items()
    } == POSTER


def test_the_poster_loses_more_than_three_points():
    lost = [
        100 * (theirs[0] - one) for (_, what), theirs in POSTER.items() if what == "AUC" for one in theirs[1:]
    ]
    told = (ROOT / "docs" / "errata.md").read_text().partition("Its own table loses ")[2].partition("\n")[0]
    assert shows(told, *lost)


def test_silos_on_kos():
    results, cells = csv("wang2020/kos"), []
    for line, *shown, total in table("research/silos", "**KOS**")[1:]:
        where = {
            "line": line.partition("`")[2].partition("`")[0],
            "n_topics": int(line.split(" topics")[0].split()[-1]),
        }
        if where["line"] == "rrp":
            rounds = int(line.split(" rounds")[0].split()[-1])
            where |= {"n_rounds": rounds, "reports_per_token": rounds if "every token" in line else 1}
        for epsilon, cell in zip((5.0, 7.5, float("inf")), shown, strict=True):
            cells.append(
                (f"{line}, {epsilon}", cell, (one(results, "perplexity", epsilon=epsilon, **where),))
            )
        totals = tuple(one(results, "total_epsilon", epsilon=epsilon, **where) for epsilon in (5.0, 7.5))
        cells.append((line, total, totals))
    check(cells)


# Local privacy ----------------------------------------------------------------------------------------------------

LOCAL = {
    "LP-LDA, 50 topics, alpha 1": "LP-LDA, K 50, alpha 1.0",
    "LP-LDA, 50 topics, alpha .1": "LP-LDA, K 50, alpha 0.1",
    "moments, 20 topics": "moments, K 20",
    "moments and refining, 20 topics": "moments, refined, K 20",
    "moments, `learnable()` topics": "moments, K = learnable()",
    "moments, 20 topics, asymmetric channel": "moments, K 20, asymmetric channel",
}


def test_local_reports():
    results, cells = csv("local/kos"), []
    head, *rows = table("research/local", "Blog entries (`kos`")
    for line, *shown in rows:
        for epsilon, cell in zip(head[1:], shown, strict=True):
            if epsilon[0].isdigit():
                where = {"line": LOCAL[line.removesuffix(" (as published)")], "epsilon": float(epsilon)}
                values = tuple(one(results, column, **where) for column in ("perplexity", "npmi"))
                cells.append((f"{line}, {epsilon}", cell, values))
    check(cells)


def test_word_vectors_for_reports():
    results, cells = csv("local/vectors"), []
    head, *rows = table("research/local", "`vectors.csv`")
    for corpus, *shown in rows:
        for epsilon, cell in zip(head[1:], shown, strict=True):
            where = {"corpus": corpus.strip("`"), "epsilon": float(epsilon)}
            values = tuple(
                one(results, "perplexity", vectors=kind, **where) for kind in ("none", "right", "half")
            )
            cells.append((f"{corpus}, {epsilon}", cell, values))
    check(cells)
    assert not results[results.vectors.isin(["shuffled", "random"])].used.any()


def test_whole_documents():
    results, cells = csv("local/whole_documents"), []
    _, *rows = table("research/local", "(`whole_documents.csv`")
    for corpus, clients, epsilon, strength, *shown in rows:
        where = {"corpus": corpus.strip("`"), "clients": int(numbers(clients)[0]), "epsilon": float(epsilon)}
        cells.append((f"{corpus}, strength", strength, (one(results, "strength", line="learned", **where),)))
        for line, cell in zip(("unigram", "public alone", "learned"), shown, strict=True):
            values = (one(results, column, line=line, **where) for column in ("perplexity", "npmi"))
            cells.append((f"{corpus}, {clients}, {epsilon}, {line}", cell, tuple(values)))
    check(cells)
    told = results[(results.line == "learned") & (results.epsilon > 1)]  # those at 1 stand in the other table
    assert len(rows) == len(told.groupby(["corpus", "clients", "epsilon"]))  # none is left out
    _, *rows = table("research/local", "Nobody's report is noised")
    cells, lines = [], ("unigram", "public alone", "learned", "secure aggregation", "curator")
    for corpus, *shown in rows:
        for line, cell in zip(lines, shown, strict=True):
            where = {"corpus": corpus.strip("`"), "line": line, "clients": 10_000, "epsilon": 1}
            cells.append(
                (f"{corpus}, {line}", cell, tuple(one(results, c, **where) for c in ("perplexity", "npmi")))
            )
    check(cells)


def test_local_streams():
    results, cells = csv("local/stream"), []
    names = {
        "the public documents alone, Gibbs sampling, 50 topics": "D_0 = 500 alone, K 50",
        "OLP-LDA": "OLP-LDA, D_0 = 500, 16 batches",
        "O-LDA, the same without noise": "O-LDA, D_0 = 500, 16 batches",
        "the public documents alone, moments, 20 topics": "D_0 = 500 alone, moments, K 20",
        "exact stream": "exact stream, D_0 = 500, 16 batches",
    }
    for line, cell in table("research/local", "in batches of 160")[1:]:
        values = tuple(one(results, column, line=names[line]) for column in ("perplexity", "npmi"))
        cells.append((line, cell, values))
    check(cells)


@pytest.mark.parametrize(
    ("after", "asked"), [("### A shuffler", "all the same"), ("Answers in all", "three questions")]
)
def test_shuffled_reports(after, asked):
    results, cells = csv("local/shuffle"), []
    head, *rows = table("research/local", after)
    for reports, *shown in rows:
        for epsilon, cell in zip(head[1:], shown, strict=True):
            where = {
                "asked": asked,
                "reports": int(reports.replace(",", "")),
                "epsilon_of_a_report": float(numbers(epsilon)[0]),
            }
            told, proved = float(cell), one(results, "central_epsilon", **where)
            step = 10.0 ** -len(cell.partition(".")[2])
            # A loss is rounded up: what is told has to be proved.
            cells.append((f"{reports}, {epsilon}", cell, proved, 0 <= told - proved < 1.0000001 * step))
    wrong = [cell[:3] for cell in cells if not cell[3]]
    assert cells
    assert not wrong


def test_invented_reports():
    results, cells = csv("local/poisoning"), []
    names = {
        "one report again and again, as many ones as usual": "the same report, as many ones as usual",
        "40 rare words always 1, honest noise elsewhere": "target words, the rest honest noise",
    }
    columns = ("likeness", "likeness_refusing", "likeness_refusing_told", "likeness_setting_aside")
    attack = ""
    for name, epsilon, *shown in table("research/collector", "`python experiments/local/poisoning.py`")[1:]:
        attack = name or attack
        for column, cell in zip(columns, shown, strict=True):
            where = {"attack": names.get(attack, attack), "epsilon": float(epsilon)}
            both = tuple(one(results, column, invented=invented, **where) for invented in (100, 400))
            cells.append((f"{attack}, {epsilon}, {column}", cell, both))
    check(cells)


# Words ------------------------------------------------------------------------------------------------------------


def line_of(text):
    """Method, form and beta of a line such as "HDP-LDA, eps_I 10, as meant, beta .5"."""
    method, form, beta = text.rsplit(", ", 2)
    return {"method": method, "form": form, "beta": float(beta.removeprefix("beta "))}


def test_totals_of_the_attacked_runs():
    results = csv("zhao2020/attack")
    totals = results[
        (results.sweeps == 300)
        & results.method.str.startswith("HDP")
        & (results.corpus == "kos")
        & (results.form == "as meant")
        & (results.beta == 0.5)
    ].total_epsilon.sort_values(ascending=False)
    assert page_says(
        "research/zhao2020",
        "Totals of 300 sweeps at eps_L = 1 are {:,.0f}, {:,.0f} and {:,.0f} for".format(*totals),
    )


def test_perplexity_without_noise():
    """The lines of figure 5 that the page has in sentences: kos, as printed and as meant; the unigram everywhere."""
    found = csv("zhao2020/perplexity")
    found = (
        found[found.epsilon_noise == float("inf")].set_index(["corpus", "method", "form", "beta"]).perplexity
    )
    limited, forms = "limited inherent, eps_I 10", ("as printed", "as meant")
    told = [f"{found['kos', limited, form, beta]:.0f}" for beta in (0.5, 0.01) for form in forms]
    free = [f"{found['kos', 'non-private', form, 0.01]:.0f}" for form in forms]
    for said in (
        f"(kos {told[0]} as printed, {told[1]} as meant)",
        f"no privacy ({free[0]}, {free[1]})",
        f"near the unigram ({told[2]}, {told[3]})",
        *(f"on {corpus} ({found[corpus, 'unigram', 'as meant', 0.01]:.0f})" for corpus in STREAMED),
    ):
        assert page_says("research/zhao2020", said), said


def test_perplexity_by_the_noise_of_one_sweep():
    results, cells = csv("zhao2020/perplexity"), []
    head, *rows = table("research/zhao2020", "with noise in every sweep, or once (CDP-LDA)")
    for line, *shown in rows:
        for epsilon, cell in zip(head[1:], shown, strict=True):
            where = {"corpus": head[0].split(",")[0], "epsilon_noise": float(epsilon), **line_of(line)}
            if cell:
                cells.append((f"{line}, {epsilon}", cell, (one(results, "perplexity", **where),)))
    assert len(cells) >= 12
    check(cells)


def test_orders_of_lines_that_the_page_tells():
    """Figure 5: printed HDP-LDA against CDP-LDA+, and fresh noise against both; figure 4: the printed sampler."""
    found = (
        csv("zhao2020/perplexity").set_index(["corpus", "method", "form", "beta", "epsilon_noise"]).perplexity
    )
    hybrid, plus = "HDP-LDA, eps_I 10", "CDP-LDA+"
    for corpus in STREAMED:
        for level in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0):
            printed = found[corpus, hybrid, "as printed", 0.5, level]
            assert printed > found[corpus, plus, "as printed", 0.01, level]
            fresh = found[corpus, f"{plus}, noise fresh each sweep", "as printed", 0.01, level]
            ahead = fresh < min(printed, found[corpus, hybrid, "as meant", 0.5, level])
            assert ahead == (corpus != "kos" or level >= 0.25)
            if corpus == "kos":
                assert (printed > found[corpus, "unigram", "as meant", 0.01, float("inf")]) == (level <= 1)
    attack = csv("zhao2020/attack")
    attack = attack[(attack.method == "non-private") & (attack.form == "as printed")]
    early, late = attack[attack.sweeps == 20].mean_posterior, attack[attack.sweeps >= 100]
    assert [round(early.min(), 2), round(early.max(), 2)] == [0.52, 0.68]
    spans = late.groupby("corpus").mean_posterior.agg(["min", "max"]).round(2)
    assert spans.loc["enron"].tolist() == [0.81, 0.84]
    assert spans.loc["kos"].tolist() == [0.86, 0.87]


def test_reports_and_noise_on_counts():
    results, cells = csv("zhao2020/figure6"), []
    head, *rows = table("research/zhao2020", "## Figure 6")
    for line, *shown in rows:
        epsilon = float("inf") if line in ("no privacy", "unigram") else 3.0
        for corpus, cell in zip(head[1:], shown, strict=True):
            where = {"corpus": corpus, "line": line, "epsilon": epsilon}
            cells.append((f"{line}, {corpus}", cell, (one(results, "completion", **where),)))
    assert len(cells) == 15
    check(cells)


def test_orders_of_reports_and_noise_on_counts():
    """Where LP-LDA overtakes CDP-LDA, and where moments are ahead: what the page says below the table."""
    found = csv("zhao2020/figure6").set_index(["corpus", "line", "epsilon"])
    for measure, first in (("in_sample", {"kos": 5, "nips": 3, "enron": 5}), ("completion", {"nips": 3})):
        for corpus in STREAMED:
            levels = (1.0, 3.0, 5.0, 7.0)
            cdp, lp, moments = (
                [found.loc[(corpus, line, level), measure] for level in levels]
                for line in ("CDP-LDA, as printed", "LP-LDA, as printed", "moments, K 20, as meant")
            )
            ahead = [level for level, ours, theirs in zip(levels, lp, cdp, strict=True) if ours < theirs]
            assert (min(ahead) if ahead else None) == first.get(corpus), (measure, corpus)
            if measure == "in_sample":
                assert all(lp[i] < moments[i] for i in (2, 3))
            else:
                assert all(one < other for one, other in zip(moments, lp, strict=True))
                assert all(moments[i] < cdp[i] for i in (1, 2, 3))


def test_the_attack_on_a_classifier():
    results, cells = csv("zhao2020/classifier"), []
    rows = table("research/zhao2020", "## Figure 7: an attack on a classifier")[1:]
    measures = ("accuracy", "f1", "classifier_f1")
    for name, free, *shown in rows:
        classifier, _, line = name.partition(", ")
        where = {"classifier": classifier, "line": line or "no privacy"}
        at = ((float("inf"), free),) if not line else zip((1.0, 4.0, 8.0), shown, strict=True)
        for epsilon, cell in at:
            values = tuple(one(results, measure, epsilon=epsilon, **where) for measure in measures)
            cells.append((f"{name}, {epsilon}", cell, values))
    assert len(cells) == 20
    check(cells)
    assert set(results.groupby(["line", "epsilon", "classifier"]).seed.nunique()) == {2}


STREAMED = {"kos": 500, "nips": 200, "enron": 1000}


def test_streams_on_completion():
    """The library's stream is ahead of OLP-LDA and of batch sampling; fifty topics help on enron alone."""
    results, shown = csv("zhao2020/streams"), {}
    for corpus, n_public in STREAMED.items():
        mine = results[(results.corpus == corpus) & (results.n_public == n_public) & (results.batch == 160)]
        last = mine[(mine.epsilon == 3)].sort_values("after").groupby("line").last()
        [batch] = results[(results.corpus == corpus) & (results.line == "batch CGS, no privacy")].completion
        ours, fifty = last.loc["exact stream, K 20"], last.loc["exact stream, K 50"]
        olp = last.loc["OLP-LDA"]
        assert ours.completion < min(olp.completion, batch)
        assert olp.in_sample < ours.in_sample < fifty.in_sample
        assert (fifty.completion < ours.completion) == (corpus == "enron")
        shown[corpus] = f"{ours.completion:.0f}", f"{olp.completion:.0f}"
    ours, olp = zip(*shown.values(), strict=True)
    assert page_says(
        "research/zhao2020",
        "{} on kos, {} on nips, {} on enron, where OLP-LDA is at {}, {} and {}".format(*ours, *olp),
    )


def test_public_documents_alone_are_ahead_of_the_stream():
    results = csv("zhao2020/streams")
    results = results[results.n_public.isin([500, 1000]) & results.batch.isin([0, 160])]
    compared = 0
    for _, mine in results.groupby(["corpus", "n_public"]):
        [alone] = mine[mine.line == "public set alone"].itertuples()
        stream = mine[(mine.line == "OLP-LDA") & (mine.epsilon == 3)].sort_values("after").iloc[-1]
        free = mine[mine.line == "O-LDA, no privacy"].sort_values("after").iloc[-1]
        assert alone.in_sample < stream.in_sample
        assert alone.completion < min(stream.completion, free.completion)
        assert alone.n_public < 1000 or alone.in_sample < free.in_sample
        compared += 1
    assert compared == 6


def test_streams_that_rise():
    """All lines of figure 8 that rise at first, with the figures that the page has of them."""
    results, rising = csv("zhao2020/streams"), {}
    for corpus, n_public in STREAMED.items():
        mine = results[(results.corpus == corpus) & (results.n_public == n_public) & (results.batch == 160)]
        for epsilon, line in mine[mine.line == "OLP-LDA"].groupby("epsilon"):
            found = line.sort_values("after").in_sample.tolist()
            if found[1] > found[0]:
                rising[corpus, epsilon] = [*found[:2], found[-1]]
    assert set(rising) == {("kos", 1), ("enron", 1), ("enron", 3)}
    text = (ROOT / "docs" / "research" / "zhao2020.md").read_text()
    told = [
        float(one)
        for one in re.findall(
            r"\b5\d\d\.\d\b", text.partition("* **Figure 8 is")[2].partition("* **Figure 9")[0]
        )
    ]
    assert told == [*rising["enron", 1], *rising["kos", 1][:2], *rising["enron", 3][:2]]


def test_tokens_of_the_corpora():
    results, cells = csv("zhao2020/corpora"), []
    head, *rows = table("research/zhao2020", "(`corpora.csv`)")
    for line, *shown in rows:
        for corpus, cell in zip(head[1:], shown, strict=True):
            where = {"corpus": corpus}
            if line != "published":
                where["most_frequent_by"] = "documents" if "documents" in line else "tokens"
                where["stop_words"] = line.split()[-1]
            column = "tokens_in_the_paper" if line == "published" else "tokens"
            cells.append((f"{corpus}, {line}", cell, (one(results, column, **where),)))
    assert len(cells) == 15
    check(cells)


def test_a_prior_for_the_noise():
    results, cells = csv("wang2020/printed"), []
    for even, *shown in table("research/silos", "So `rrp` has even noise.")[1:]:
        for epsilon, cell in zip((7.5, 5.0), shown, strict=True):
            where = {"part": f"prior, even {float(even):g}", "epsilon": epsilon}
            cells.append((f"{even}, {epsilon}", cell, (one(results, "perplexity", **where),)))
    assert len(cells) == 4
    check(cells)


def test_word_level_whole_run():
    results, cells = csv("zhao2020/total"), []
    head, *rows = table("research/zhao2020", "## The figure that was missing")
    for line, *shown in rows:
        corpus, name = line.split(", ")
        names = {"PrivateLDA": "PrivateLDA (whole documents)"}
        for epsilon, cell in zip(head[1:], shown, strict=True):
            where = {
                "corpus": corpus,
                "method": names.get(name, f"HDP-LDA, {name}"),
                "epsilon": float(epsilon),
            }
            cells.append((f"{line}, {epsilon}", cell, (one(results, "perplexity", **where),)))
    check(cells)


def test_word_level_loss_without_noise():
    results, cells = csv("zhao2020/monitor"), []
    columns = {
        "the replaced token's draws alone": "own_so_far",
        "with related tokens, from the counts of each sweep": "pure",
        "with related tokens, whatever the counts": "any_counts_so_far",
        "theorem 1 as printed": "theorem_1_so_far",
    }
    head, *rows = table("research/zhao2020", "After 60 sweeps, losses of all sweeps added up:")
    for line, *shown in rows:
        for corpus, cell in zip(head[1:], shown, strict=True):
            cells.append((f"{line}, {corpus}", cell, (one(results, columns[line], corpus=corpus, sweep=60),)))
    assert len(cells) == 8
    check(cells)


def test_word_level_news():
    results, cells = csv("zhao2020/news"), []
    names = {
        "assignments released, range .36 (C = 10, beta = 50), *no noise at all*": "range .36, no noise at all",
        "assignments released, calibrated": "HDP-LDA, assignments released",
        "assignments inside, documents through noise": "HDP-LDA, assignments inside",
        "noise on counts alone, rounded Gaussian": "noise on counts alone, rounded Gaussian (not covered)",
        "noise on counts alone, discrete Laplace": "noise on counts alone, discrete Laplace (not covered)",
        "`PrivateLDA`, whole documents": "PrivateLDA (whole documents)",
    }
    for line, *shown in table("research/zhao2020", "## News")[1:]:
        for epsilon, cell in zip((1.0, 4.0), shown, strict=True):
            if cell:
                where = {"method": names.get(line, line)}
                if shown[1]:
                    where["epsilon"] = epsilon
                values = tuple(one(results, column, **where) for column in ("completion", "npmi"))
                cells.append((f"{line}, {epsilon}", cell, values))
    check(cells)


@pytest.mark.parametrize("after", ["### Chosen on", "### Confirmed on"])
def test_word_vectors(after):
    results, cells = csv("word_vectors/results"), []
    head, *rows = table("research/word-vectors", after)
    for line, *shown in rows:
        corpus, _, size = line.partition(" (")
        cells.append((line, size, (one(results, "documents", corpus=corpus),)))
        for title, cell in zip(head[1:], shown, strict=True):
            algorithm = "PrivateLDA" if title == "no noise" else title
            levels = (float("inf"),) if title in {"unigram", "no noise"} else (1.0, 4.0)
            values = tuple(
                one(results, "perplexity", corpus=corpus, algorithm=algorithm, epsilon=level)
                for level in levels
            )
            cells.append((f"{line}, {title}", cell, values))
    assert len(cells) == 7 * len(rows)
    check(cells)


def test_wrong_word_vectors():
    results, cells = csv("word_vectors/wrong"), []
    head, *rows = table("research/word-vectors", "wrong.csv`")
    for corpus, *shown in rows:
        for title, cell in zip(head[1:], shown, strict=True):
            kind = {"no vectors": "none"}.get(title, title)
            values = tuple(
                one(results, "perplexity", corpus=corpus, algorithm=kind, epsilon=level)
                for level in (1.0, 4.0)
            )
            cells.append((f"{corpus}, {title}", cell, values))
    assert len(cells) == 10
    check(cells)


def test_whether_a_larger_epsilon_is_better():
    grids = [
        csv(f"floor/{name}")
        .groupby(["corpus", "epsilon"])
        .perplexity.mean()
        .unstack("corpus")
        .add_suffix(how)
        for name, how in (("grid", ""), ("grid_vectors", ", with vectors"))
    ]
    found = grids[0].join(grids[1])
    rises = 100 * (found / found.cummin() - 1).max()
    _, *rows = table("research/forecast", "grid.csv --grid`")
    assert {corpus for corpus, *_ in rows} == set(found)
    assert [len(grid) for grid in (*grids, found)] == [30] * 3
    for corpus, *shown in rows:
        level = found[corpus]
        assert shown == [f"{level.iloc[0]:.0f}", f"{level.iloc[-1]:.0f}", f"{rises[corpus]:.1f} %"]


def test_where_word_vectors_help():
    """What the page says of n mu, of strong signals and of short messages."""
    results = csv("word_vectors/results")
    mean = results.groupby(["corpus", "documents", "epsilon", "algorithm"])[["perplexity", "npmi"]].mean()
    mean = mean.unstack().reset_index()
    mean = mean[np.isfinite(mean.epsilon)]
    signal = mean.documents * [gdp_mu(epsilon, 1e-5) for epsilon in mean.epsilon]
    trained, plain, alone = (mean.perplexity[name] for name in ("with vectors", "PrivateLDA", "public alone"))
    assert (alone < trained)[signal < 400].all()
    assert not (alone < trained)[signal > 650].any()
    gain = 100 * (1 - trained / plain)
    assert page_says("word-vectors", f"above n mu of 12,000 it was {gain[signal > 12_000].max():.1f} %")
    strong = gain[(signal > 12_000) & (mean.corpus == "enron-spam")]
    assert page_says("word-vectors", f"on mail vectors cost up to {-strong.min():.1f} %")
    short = mean.corpus.isin(["pheme", "tweetrumors"]) & mean.epsilon.isin([0.5, 1.0])
    span = f"by {gain[short].min():.0f} to {gain[short].max():.0f} %"
    assert page_says("word-vectors", f"vectors lower perplexity {span}:")
    lost = (mean.npmi["PrivateLDA"] - mean.npmi["with vectors"]).max()
    assert 0 < lost < 0.03
    assert page_says("word-vectors", f"was at most {lost:.3f} below NPMI without them".replace(" 0.", " ."))
    for level in (1.0, 4.0):
        mine = mean[(mean.corpus == "nyt") & (mean.epsilon == level)]
        assert (mine.npmi["public alone"] > mine.npmi["with vectors"]).all()


def test_where_lists_read_best():
    """Gains of the place where the slider starts over the order by probability, on texts that are many and long."""
    lists = csv("word_lists/lists")
    lists = lists[(lists.cut == 0) & (lists.reference == "own") & (lists.start < 0.6)]
    gains = [
        np.interp(fit.start.iloc[0], fit.place, fit.npmi) - one(fit, "npmi", place=1.0)
        for _, fit in lists.sort_values("place").groupby(["corpus", "epsilon", "algorithm"])
    ]
    assert len(gains) == 35
    assert lists.corpus.nunique() == 7
    page = (ROOT / "docs" / "releases.md").read_text()
    section = page.partition("### Where the slider starts")[2].partition("## ")[0]
    assert f"{np.mean(gains):.3f}".lstrip("0") in section
    assert f"{max(gains):.3f}".lstrip("0") in section
    assert f"is {-min(gains):.3f}".replace("0.", ".") in section


def test_how_right_forecasts_are():
    errors, cells = csv("forecast/errors"), []
    errors.error = 100 * errors.error.abs()
    for algorithm, group, *shown in table("research/forecast", "## How right the forecast is")[1:]:
        found = errors[(errors.algorithm == algorithm) & (errors.group == group)].error
        values = (len(found), found.mean(), found.max(), (found <= 20).sum())
        names = ("forecasts", "mean", "largest", "within 20 %")
        cells += [
            (f"{algorithm}, {group}, {name}", cell, (float(value),))
            for name, cell, value in zip(names, shown, values, strict=True)
        ]
    assert len(cells) == 4 * len(errors.groupby(["algorithm", "group"]))
    check(cells)


def test_which_topics_are_mostly_noise():
    topics, cells = csv("noisy_topics/topics"), []
    told = topics.error < 0.15
    topics = topics[(topics.epsilon < float("inf")) & (told | (topics.alike < 0.25))]
    noise, marked = (topics.r < 0.5) | (topics.error >= 0.15), topics["top sum"] >= 0.5
    names = {
        "8 planted topics, well apart": "planted apart",
        "20 planted topics too close to be found": "planted mixed",
        "12 planted topics, short texts": "planted other",
    }
    rows = [row for row in table("research/forecast", "## Which topics are mostly noise")[1:] if row[1]]
    for name, *shown in rows:
        here = topics.corpus == names.get(name, name)
        values = (noise[here & marked].mean(), 1 - marked[here & noise].mean(), marked[here & ~noise].mean())
        cells += [(name, cell, (value,)) for cell, value in zip(shown, values, strict=True) if cell]
    assert len(rows) == topics.corpus.nunique()
    check(cells)
    assert 0.88 < noise[marked].mean() < 0.95  # "nine topics in ten"


def test_how_well_it_works():
    results, cells = csv("word_vectors/results"), []
    head, *rows = table("algorithm", "## How well it works")
    free = float("inf")
    for line, *shown in rows:
        corpus, _, size = line.partition(" (")
        cells.append((line, size, (one(results, "documents", corpus=corpus),)))
        twin = one(results, "perplexity", corpus=corpus, algorithm="PrivateLDA", epsilon=free)
        for title, cell in zip(head[1:], shown, strict=True):
            algorithm = "unigram" if title == "unigram" else "PrivateLDA"
            epsilon = float(title.split()[1]) if title.startswith("epsilon") else free
            value = one(results, "perplexity", corpus=corpus, algorithm=algorithm, epsilon=epsilon)
            gap = () if epsilon == free else (100 * (value / twin - 1),)
            cells.append((f"{line}, {title}", cell, (value, *gap)))
    check(cells)


def test_words_chosen():
    results, cells = csv("vocabulary", "benchmarks/results"), []
    for also, corpus in enumerate(("tweetrumors", "sotu")):
        head, *rows = table("research/words", "`python benchmarks/vocabulary.py`:", also)
        for method, *shown in rows:
            for value, cell in zip(head[1:], shown, strict=True):
                where = {"corpus": corpus, "method": method, "epsilon": float(value)}
                values = (one(results, "words", **where), percent(results, "share", **where))
                cells.append((f"{corpus}, {method}, {value}", cell, values))
    assert len(cells) == 2 * 4 * (len(head) - 1)
    check(cells)


def test_words_by_the_cap_of_a_unit():
    results = csv("vocabulary_caps", "benchmarks/results")
    told = (ROOT / "docs" / "research" / "words.md").read_text().partition("`weighted_gaussian` releases ")[2]
    where = {"corpus": "sotu", "method": "weighted_gaussian"}
    caps = [round(one(results, "words", max_words_per_unit=cap, **where)) for cap in (10, 100, 1000)]
    found = [int(number) for number in numbers(told.partition(" (`--caps`)")[0])]
    assert found == [caps[0], 10, caps[1], 100, caps[2], 1000]


# Where and when ---------------------------------------------------------------------------------------------------


def errors(results: pd.DataFrame, epsilon: float) -> tuple[float, ...]:
    return tuple(
        percent(results, "mean_error", epsilon=epsilon, kind=kind) for kind in ("raw", "projected", "shrunk")
    )


def test_shares_of_newsgroups():
    results, cells = csv("prevalence/newsgroups"), []
    for epsilon, shown, largest, held in table(
        "research/groups", "`python experiments/prevalence/run.py newsgroups`"
    )[1:]:
        where = {"epsilon": float(epsilon), "kind": "projected"}
        cells += [
            (epsilon, shown, errors(results, float(epsilon))),
            (epsilon, largest, (percent(results, "largest_error", **where),)),
            (epsilon, held, (one(results, "intervals_that_hold", **where),)),
        ]
    check(cells)


def test_shares_of_other_corpora():
    head, *rows = table("research/groups", "`python experiments/prevalence/run.py newsgroups`", 1)
    cells = []
    for (line, *shown), name in zip(rows, ("sotu", "enron"), strict=True):
        results = csv(f"prevalence/{name}")
        for epsilon, cell in zip(head[1:], shown, strict=True):
            cells.append((f"{line}, {epsilon}", cell, errors(results, float(epsilon))))
    check(cells)


# Speed ------------------------------------------------------------------------------------------------------------


def seconds_to(results: pd.DataFrame, line: float, **where: object) -> tuple[float, ...]:
    """CPU seconds to a perplexity, between looks on straight lines of logarithms; nothing if it is not reached."""
    for name, value in where.items():
        results = results[results[name] == value]
    looks = results.sort_values("sweeps")[["cpu", "perplexity"]].to_numpy()
    first = int(np.argmax(looks[:, 1] <= line))
    if looks[first, 1] > line:
        return ()
    if first == 0:
        return (float(looks[0, 0]),)
    x, y = np.log(looks[first - 1 : first + 1]).T
    return (float(np.exp(np.interp(-np.log(line), -y, x))),)


def test_seconds_to_the_perplexity_of_the_fastest_peer():
    """Medians over seeds: of perplexities to reach, of seconds; means of NPMI."""
    results, cells = csv("lda_start", "benchmarks/results"), []
    for title, n_seeds, *shown in table("speed", "**Beside the fastest peer.**")[1:]:
        corpus, n_topics = title.split(", ", 1)
        found = []
        for seed in range(int(n_seeds)):
            where = {"corpus": corpus, "n_topics": int(n_topics.replace(",", "")), "seed": seed}
            peer = {**where, "trainer": "topica sparse", "sweeps": 320}
            line = one(results, "perplexity", **peer)
            mean = seconds_to(results, line, **where, trainer="topica sparse, mean") or (np.inf,)
            ours = seconds_to(results, line, **where, trainer="fast")
            below = results[(results["perplexity"] <= line) & (results["trainer"] == "fast")]
            first = int(below[(below[list(where)] == list(where.values())).all(axis=1)]["sweeps"].min())
            npmi = [
                one(results, "npmi", **peer),
                one(results, "npmi", **where, trainer="fast", sweeps=first),
            ]
            found.append((line, one(results, "cpu", **peer), *mean, *ours, *npmi))
        line, whole, mean, ours = np.median([row[:4] for row in found], axis=0)
        npmi = tuple(np.mean([row[4:] for row in found], axis=0))
        reached = (mean,) if np.isfinite(mean) else ()
        values = [(line,), (whole,), reached, (ours,), npmi, (min(whole, mean) / ours,)]
        cells += [(f"{title}, {i}", cell, v) for i, (cell, v) in enumerate(zip(shown, values, strict=True))]
    assert len(cells) == 12 * 6
    check(cells)
