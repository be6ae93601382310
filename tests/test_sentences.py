"""Figures that README and docs have in sentences, and not in tables: each is that of a CSV, or of the accountant."""

import json
import re
from pathlib import Path

import pytest
from tests.test_tables import csv, one, page_says, table

from discreet.privacy import composed_epsilon, events, gdp_mu, noise_multiplier_for

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[1]
README = " ".join((ROOT / "README.md").read_text().split())
FREE = float("inf")


def test_numbers_of_the_readme():
    park, vectors = csv("park2016/results"), csv("word_vectors/results")
    at = {"epsilon": 2.44}
    ours, theirs = (
        one(park, "perplexity", **at, algorithm="full batch"),
        one(park, "perplexity", **at, algorithm="DP-SVI as written", accountant="moments2016"),
    )
    assert f"[{ours:,.0f}; DP-SVI as published {theirs:,.0f}]" in README
    news = {"corpus": "reuters21578", "epsilon": 1.0}
    trained, plain = (
        one(vectors, "perplexity", **news, algorithm=name) for name in ("with vectors", "PrivateLDA")
    )
    free, words = (
        one(vectors, "perplexity", corpus="reuters21578", epsilon=FREE, algorithm=name)
        for name in ("PrivateLDA", "unigram")
    )
    assert f"({free:.0f} without noise, {words:.0f} from exact word frequencies alone)" in README
    assert f"[{trained:.0f}; {plain:.0f} without vectors]" in README
    groups = csv("prevalence/newsgroups")
    at = {"epsilon": 0.5, "kind": "projected"}
    error, held = (100 * one(groups, column, **at) for column in ("mean_error", "intervals_that_hold"))
    assert f"[{error:.2f} points; {held:.1f} %]" in README
    ratios = [float(row[-1]) for row in table("speed", "**Beside the fastest peer.**")[1:]]
    assert f"[{min(ratios):.1f} to {max(ratios):.0f}, once compiled]" in README


def gaussians(*epsilons, delta=1e-6):
    noise = [events.gaussian(noise_multiplier_for(epsilon, 1e-6)) for epsilon in epsilons]
    return composed_epsilon(noise, delta).epsilon


def test_costs_of_several_fits():
    """A search of 15 fits, of which one document is in 12, and the best fitted again; topics and shares."""
    assert page_says(
        "pitfalls", f"in 13 fits, which come to {gaussians(*[1] * 13, delta=1.3e-5):.3f} together"
    )
    shown = re.findall(
        r"epsilon = (2\.[\d]+) and delta", (ROOT / "docs" / "tutorial" / "hospital.md").read_text()
    )
    assert page_says("how-to/one-budget", f"come to {shown[0]} together")


def test_what_can_be_learned_of_20_000_documents():
    x = [20 * words / (20_000 * gdp_mu(2, 1e-6)) for words in (500, 2_000, 8_000)]
    assert page_says(
        "choosing", "x is {:.1f} for 500 words, {:.1f} for 2,000 and {:.0f} for 8,000".format(*x)
    )


def test_reports_of_reviews_and_what_vectors_agree():
    found = csv("local/imdb")

    def of(line, column="perplexity"):
        return [one(found, column, line=line, epsilon=float(e)) for e in (1, 2, 3)]

    ours, theirs = "moments, K = learnable()", "LP-LDA, K 50, alpha 0.1"
    assert page_says("research/local", "{:.0f}, {:.0f} and {:.0f} at epsilon 1, 2 and 3".format(*of(ours)))
    assert page_says("research/local", "alpha .1 reaches {:.0f}, {:.0f} and {:.0f}".format(*of(theirs)))
    times = of(ours, "cpu_seconds"), of(theirs, "cpu_seconds")
    assert page_says("research/local", f"in {min(times[0]):.0f} to {max(times[0]):.0f} CPU seconds")
    assert page_says("research/local", f"in {min(times[1]):.0f} to {max(times[1]):.0f}.")
    kos = csv("local/kos")
    free = kos[kos.line.str.contains("no privacy")].groupby("line").perplexity.mean()
    assert page_says("research/local", f"true bits at {free.min():.0f} to {free.max():.0f}")
    agreement = csv("local/vectors").groupby("vectors").agreement.agg(["min", "max"])
    right, half = agreement.loc["right"], agreement.loc["half"]
    assert page_says("research/local", f"agreed by {right['min']:.1f} to {right['max']:.0f}")
    assert page_says("research/local", f"half of the words by {half['min']:.1f} to {half['max']:.0f}")
    chance = agreement.loc[["shuffled", "random"], "max"].max()
    assert page_says("research/local", f"random ones by at most {chance:.1f}")


def test_silos_in_sentences():
    kos, poster = csv("wang2020/kos"), csv("wang2020/poster")
    for line in ("bits", "aggregate"):
        found = [one(kos, "perplexity", line=line, epsilon=epsilon) for epsilon in (1.0, 2.0)]
        assert page_says("research/silos", "`{}` at 1 and 2: {:.0f}, {:.0f}".format(line, *found))
    reviews = poster[poster.corpus == "imdb"]
    names = [("bits", 7.5), ("aggregate", 5.0), ("aggregate", 1.0), ("rrp", 7.5), ("rrp", 5.0)]
    pooled = one(reviews, "auc", line="pooled Gibbs, no noise")
    found = [pooled, *(one(reviews, "auc", line=line, epsilon=epsilon) for line, epsilon in names)]
    text = (
        "the AUC is {:.3f} pooled, {:.3f} with `bits` at 7.5, {:.3f} with `aggregate` at 5 and {:.3f} at 1, "
        "{:.3f} with `rrp` at 7.5 (150 in all) and {:.3f} at 5."
    )
    assert page_says("research/silos", text.format(*found).replace("0.", "."))


def test_membership_in_sentences():
    simple, spread, classifier = (csv(f"manzonelli2024/{name}") for name in ("simple", "spread", "figure7"))
    found = [
        100 * one(simple, "tpr", corpus="nips", attack="max", mixture=mixture)
        for mixture in ("map", "maximum_likelihood")
    ]
    text = "find {:.1f} % by the largest share, those of maximum likelihood {:.1f} %"
    assert page_says("membership", text.format(*found).replace(" 0.", " ."))
    where = {"n": 64, "attack": "online", "spread": "own"}
    at = [100 * one(spread, column, **where) for column in ("tpr", "tpr_1pct")]
    assert page_says("membership", "finds {:.0f} % at .1 % and {:.0f} % at 1 %".format(*at))
    where = {"documents": 5400, "epsilon": 4.0, "line": "LP-LDA topics and classifier"}
    found = [one(classifier, "accuracy", **where, classifier=name) for name in ("linear", "forest")]
    text = "at epsilon 4 {:.2f} linear and {:.2f} forest".format(*found)
    assert page_says("membership", text.replace("0.", "."))


def test_words_of_short_texts_in_sentences():
    found = csv("vocabulary_caps", "benchmarks/results")
    found = found[(found.corpus == "tweetrumors") & (found.method != "greedy, published")]
    words = found.pivot_table(index="method", columns="max_words_per_unit", values="words")
    more = 100 * (words[10] / words[100] - 1)
    for page in ("vocabulary", "research/words"):
        assert page_says(page, f"{more.min():.0f} to {more.max():.0f} % more words")


def test_forecasts_in_sentences():
    errors = csv("forecast/errors")
    near = errors[errors.algorithm.str.startswith("PrivateLDA") & (errors.x < 0.2)].gap
    assert page_says("research/forecast", f"(0 to {100 * near.max():.0f} %)")
    mine = errors[(errors.algorithm == "PrivateLDA") & (errors.group == "not fitted")].error.abs()
    assert page_says("choosing", f"was [{100 * mine.mean():.0f} % of perplexity]")


def test_speed_of_a_first_sweep():
    found = csv("lda_start", "benchmarks/results")
    nips = {"corpus": "nips", "n_topics": 200, "seed": 0}
    fast, slow = {**nips, "trainer": "fast", "sweeps": 1}, {**nips, "trainer": "random", "sweeps": 320}
    first, late = (one(found, "perplexity", **where) for where in (fast, slow))
    assert page_says("speed", f"({first:.0f} and {late:.0f} with 200 topics, in an eighth of the time)")
    assert one(found, "cpu", **fast) / one(found, "cpu", **slow) == pytest.approx(1 / 8, rel=0.05)


def test_the_table_of_sizes_is_what_budget_prints(capsys):
    from discreet.cli.app import run

    text = (Path(__file__).parents[1] / "docs" / "choosing.md").read_text()
    rows = re.findall(r"^\| ([\d,]+) \| (.*: .*%) \|$", text, re.MULTILINE)
    assert len(rows) == 4
    for size, cells in rows:
        for epsilon, cell in zip("124", cells.split(" | "), strict=True):
            x, above = cell.split(": ")
            call = f"budget --documents {size.replace(',', '')} --epsilon {epsilon} --topics 10 --words 500"
            run(call.split())
            assert f"about {above} (" in " ".join(capsys.readouterr().out.split())
            run([*call.split(), "--json"])
            told = json.loads(capsys.readouterr().out)["forecast"]["difficulty"]
            assert float(f"{told:.2g}") == float(x)
