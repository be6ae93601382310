"""docs/research/figures.md: each row's figures, theirs and ours, against what was published and what a CSV holds."""

import re
import runpy
from pathlib import Path

import pandas as pd
import pytest
from tests.published import BY_SHADOWS, BY_TOPICS, EPSILON, FOUR_ATTACKS, POSTER, TOKENS
from tests.test_tables import csv, shows

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[1] / "docs" / "research" / "figures.md"
INF = float("inf")


def value(name, column, times=1.0, folder="experiments", **where):
    """One cell of a CSV."""
    frame = csv(name, folder)
    for key, wanted in where.items():
        frame = frame[frame[key] == wanted]
    assert len(frame) == 1, (name, where, len(frame))
    return times * float(frame[column].iloc[0])


def several(name, column, key, values, times=1.0, **where):
    return [value(name, column, times, **where, **{key: one}) for one in values]


def last(corpus, line, epsilon, n_public, batch):
    """In-sample perplexity after the last batch of a stream."""
    frame = csv("zhao2020/streams")
    frame = frame[(frame.corpus == corpus) & (frame.line == line) & (frame.epsilon == epsilon)]
    frame = frame[(frame.n_public == n_public) & (frame.batch == batch)]
    assert len(frame), (corpus, line, epsilon, n_public, batch)
    return float(frame.sort_values("after").in_sample.iloc[-1])


def first_words(model):
    """Mean probability of the first word of a model's topics."""
    frame = csv("park2016/topics")
    told = frame[frame.model == model].words_and_probabilities
    assert len(told)
    return float(pd.Series([float(re.findall(r"\d\.\d+", words)[0]) for words in told]).mean())


def accountants(*names):
    home = PAGE.parents[2] / "experiments" / "park2016"
    epsilon_for = runpy.run_path(str(home / "accountants.py"))["epsilon_for"]
    settings = {"sampling_rate": 0.05, "n_rounds": 20}
    return [epsilon_for(1.24, 1e-4, accountant=name, **settings) for name in names]


def park(column, accountant, algorithm="DP-SVI as written", name="results", **where):
    return value(f"park2016/{name}", column, algorithm=algorithm, accountant=accountant, **where)


def by_noise(rate, accountant, column):
    where = {"sampling_rate": rate, "accountant": accountant}
    return several("park2016/grid", column, "sigma", (1.0, 1.1, 1.24, 1.5, 2.0), **where)


def matched(column, *models):
    """Mean over all topics of the models with documents drawn anew."""
    frame = csv("park2016/matched")
    return [float(frame[frame.model == model][column].mean()) for model in models]


def perplexity(form, beta, methods, corpora=("kos", "nips", "enron")):
    lines = {
        "limited": ("limited inherent, eps_I 10", INF),
        "HDP": ("HDP-LDA, eps_I 10", 1.0),
        "CDP+": ("CDP-LDA+", 1.0),
    }
    return [
        value("zhao2020/perplexity", "perplexity", corpus=c, method=m, form=form, beta=beta, epsilon_noise=e)
        for c in corpora
        for m, e in (lines[one] for one in methods)
    ]


def attack(corpus, method, form, beta):
    where = {"corpus": corpus, "form": form, "beta": beta, "sweeps": 300}
    return value("zhao2020/attack", "mean_posterior", method=method, **where)


def hybrid_attacks(corpus, form):
    return [attack(corpus, f"HDP-LDA, eps_I {inherent}, eps_L 1", form, 0.5) for inherent in (10, 5, 1)]


def figure_6(corpus, line):
    where = {"corpus": corpus, "line": line}
    return several("zhao2020/figure6", "in_sample", "epsilon", (1.0, 3.0, 5.0, 7.0), **where)


#: Public documents of figures 8 and 10.
PUBLIC = {"kos": 500, "nips": 200, "enron": 1000}


def figure_8(corpus, n):
    return (
        None,
        lambda: [
            *(last(corpus, "OLP-LDA", epsilon, n, 160) for epsilon in (1.0, 3.0, 5.0)),
            last(corpus, "O-LDA, no privacy", INF, n, 160),
        ],
        lambda: [last(corpus, "exact stream, K 20", 3.0, n, 160)],
    )


def figure_9(corpus):
    return (
        None,
        lambda: [
            *(last(corpus, "OLP-LDA", 3.0, n, 160) for n in (200, 500, 1000)),
            value("zhao2020/streams", "in_sample", corpus=corpus, line="batch CGS, no privacy"),
        ],
        None,
    )


def figure_10(corpus, n):
    return (
        None,
        lambda: [
            *(last(corpus, "OLP-LDA without prior data", 3.0, 0, size) for size in (40, 160, 640)),
            *(last(corpus, "OLP-LDA", 3.0, n, size) for size in (40, 160, 640)),
        ],
        None,
    )


def poster(corpus):
    levels = {"rrp": (INF, 7.5, 5.0), "bits": (7.5, 5.0)}
    return [
        value("wang2020/poster", "auc", epsilon=epsilon, corpus=corpus, line=line)
        for line, epsilons in levels.items()
        for epsilon in epsilons
    ]


def as_the_poster(corpus):
    part, typeset = "1 / (delta delta_0 e^eps + 1)", "1 / (delta delta_0 e^(eps + 1)), as typeset"
    found = several("wang2020/printed", "auc", "epsilon", (INF, 7.5, 5.0), corpus=corpus, part=part)
    return [*found, value("wang2020/printed", "auc", epsilon=7.5, corpus=corpus, part=typeset)]


def fraction(name, **where):
    return value(f"manzonelli2024/{name}", "tpr", 100, **where)


def four(corpus):
    return [fraction("table1", corpus=corpus, attack=attack) for attack in ("LiRA", "max", "std", "entropy")]


def by_topics(attack):
    return [fraction("table2", corpus="nips", n_topics=k, attack=attack) for k in (5, 10, 15, 20, 25)]


def areas(attack):
    return several(
        "manzonelli2024/table2", "auc", "n_topics", tuple(BY_TOPICS), n=128, corpus="nips", attack=attack
    )


def chosen_words(method):
    where = {"corpus": "tweetrumors", "method": method, "folder": "benchmarks/results"}
    return several("vocabulary", "words", "epsilon", (1.0, 2.0, 3.0, 5.0, 10.0, 20.0), **where)


def by_shadows(attack, sizes):
    return [fraction("spread", corpus="tweetrumors", n=n, attack=attack, spread="own") for n in sizes]


LEVELS = (1, 2, 3, 4, 5, 10, 15, 20)


def coherence(noise, first, second):
    """UMass of the pipeline from printed parts, at these pairs."""
    pairs = zip(first, second, strict=True)
    return [
        value("manzonelli2024/printed_coherence", "umass", noise=noise, eps1=one, eps2=float(two))
        for one, two in pairs
    ]


def both_readings(first, second):
    return [*coherence("each draw", first, second), *coherence("all counts once", first, second)]


CORPORA = ("kos", "nips", "enron")
SIZES = tuple(BY_SHADOWS)
#: Row: what the paper gives, what came out as printed, what came out as meant. None: no figure in the cell.
ROWS = {
    "DP-SVI, settings": (
        [EPSILON],
        lambda: accountants("moments2016"),
        lambda: accountants("rdp", "pld"),
    ),
    **{
        f"DP-SVI, figure 1, batches of {100 * rate:g} %": (
            None,
            lambda rate=rate: (
                by_noise(rate, "moments2016", "bound_perplexity")
                + by_noise(rate, "strong", "bound_perplexity")
            ),
            lambda rate=rate: by_noise(rate, "moments2016", "epsilon_today"),
        )
        for rate in (0.0125, 0.025, 0.05)
    },
    "DP-SVI, accountants by completion": (
        None,
        lambda: [park("perplexity", one, epsilon=2.44) for one in ("strong", "moments2016")],
        lambda: [
            park("perplexity", "pld", epsilon=2.44),
            park("perplexity", "closed form", "full batch", epsilon=2.44),
        ],
    ),
    "DP-SVI, batches by completion": (
        None,
        lambda: [
            *(park("perplexity", "moments2016", name="batches", sampling_rate=q) for q in (0.0125, 0.025)),
            park("perplexity", "moments2016", epsilon=2.44),
        ],
        lambda: [
            *(park("perplexity", "pld", name="batches", sampling_rate=q) for q in (0.0125, 0.025)),
            park("perplexity", "pld", epsilon=2.44),
        ],
    ),
    "DP-SVI, table 1": (
        None,
        lambda: (
            [
                first_words(one)
                for one in ("non-private twin", "DP-SVI as written, moments2016", "DP-SVI as written, strong")
            ]
            + matched("first_word", "none", "moments2016", "strong")
            + matched("common_by_number", "moments2016", "strong")
        ),
        lambda: [first_words("full batch, closed form")],
    ),
    "Zhao, table II": (
        TOKENS,
        lambda: several(
            "zhao2020/corpora",
            "tokens",
            "corpus",
            ("kos", "nips", "enron"),
            most_frequent_by="documents",
            stop_words="kept",
        ),
        None,
    ),
    **{
        f"Zhao, figure 4, {corpus}": (
            None,
            lambda corpus=corpus: [
                attack(corpus, "non-private", "as printed", 0.01),
                attack(corpus, "CDP-LDA+, eps 1", "as printed", 0.01),
                *hybrid_attacks(corpus, "as printed"),
            ],
            lambda corpus=corpus: [
                attack(corpus, "non-private", "as meant", 0.01),
                *hybrid_attacks(corpus, "as meant"),
            ],
        )
        for corpus in CORPORA
    },
    "Zhao, figure 5": (
        None,
        lambda: perplexity("as printed", 0.5, ("limited", "HDP")) + perplexity("as printed", 0.01, ("CDP+",)),
        lambda: perplexity("as meant", 0.5, ("limited", "HDP")),
    ),
    **{
        f"Zhao, figure 6, {corpus}": (
            None,
            lambda corpus=corpus: (
                figure_6(corpus, "LP-LDA, as printed") + figure_6(corpus, "CDP-LDA, as printed")
            ),
            lambda corpus=corpus: figure_6(corpus, "moments, K 20, as meant"),
        )
        for corpus in CORPORA
    },
    "Zhao, figure 7": (None, None, None),
    **{f"Zhao, figure 8, {corpus}": figure_8(corpus, n) for corpus, n in PUBLIC.items()},
    **{f"Zhao, figure 9, {corpus}": figure_9(corpus) for corpus in PUBLIC},
    **{f"Zhao, figure 10, {corpus}": figure_10(corpus, n) for corpus, n in PUBLIC.items()},
    "FedLDA, table, spam": (
        POSTER["spam", "AUC"],
        lambda: as_the_poster("enron-spam"),
        lambda: poster("enron-spam"),
    ),
    "FedLDA, table, sentiment": (
        POSTER["sentiment", "AUC"],
        lambda: as_the_poster("imdb"),
        lambda: poster("imdb"),
    ),
    "FedLDA, figure, by epsilon": (
        None,
        lambda: several(
            "wang2020/printed", "perplexity", "epsilon", (4.0, 5.0, 6.0, 7.5, 9.0), part="sweep", n_topics=10
        ),
        lambda: several(
            "wang2020/sweeps", "perplexity", "epsilon", (4.0, 5.0, 6.0, 7.5, 9.0), part="epsilon"
        ),
    ),
    "FedLDA, figure, by topics": (
        None,
        lambda: several(
            "wang2020/printed", "perplexity", "n_topics", (5, 10, 20, 50), part="sweep", epsilon=5.0
        ),
        lambda: several(
            "wang2020/sweeps", "perplexity", "n_topics", (5, 10, 20, 50), part="topics", epsilon=5.0
        ),
    ),
    "FedLDA, figure, by share": (
        None,
        lambda: several(
            "wang2020/printed", "perplexity", "reports_per_token", (4, 10, 20, 40), part="share", epsilon=7.5
        ),
        lambda: several(
            "wang2020/sweeps", "perplexity", "reports_per_token", (4, 10, 20, 40), part="share", epsilon=7.5
        ),
    ),
    "Membership, figure 1": (None, None, None),
    "Membership, figure 2": (
        None,
        lambda: [
            value("manzonelli2024/table1", "auc", corpus=corpus, attack=attack)
            for attack in ("LiRA", "LiRA offline")
            for corpus in ("tweetrumors", "20newsgroups", "nips")
        ],
        None,
    ),
    "Membership, figure 3": (None, lambda: areas("online") + areas("offline"), None),
    "Membership, table 1, TweetRumors": (FOUR_ATTACKS["tweetrumors"], lambda: four("tweetrumors"), None),
    "Membership, table 1, newsgroups": (
        FOUR_ATTACKS["20newsgroups"],
        lambda: four("20newsgroups-all"),
        None,
    ),
    "Membership, table 1, nips": (FOUR_ATTACKS["nips"], lambda: four("nips"), None),
    "Membership, table 2, online": (
        [online for online, _ in BY_TOPICS.values()],
        lambda: by_topics("online"),
        None,
    ),
    "Membership, table 2, offline": (
        [offline for _, offline in BY_TOPICS.values()],
        lambda: by_topics("offline"),
        None,
    ),
    "Membership, appendix, shadows, online": (
        [online for online, _ in BY_SHADOWS.values()],
        lambda: by_shadows("online", SIZES),
        lambda: by_shadows("online", [2 * n for n in SIZES]),
    ),
    "Membership, appendix, shadows, offline": (
        [offline for _, offline in BY_SHADOWS.values()],
        lambda: by_shadows("offline", SIZES),
        lambda: by_shadows("offline", [2 * n for n in SIZES]),
    ),
    "Membership, appendix, statistics": (
        None,
        lambda: several(
            "manzonelli2024/statistics",
            "tpr",
            "statistic",
            ("likelihood", "max", "std", "entropy"),
            100,
            attack="online",
        ),
        None,
    ),
    "Pipeline, appendix G": (
        None,
        lambda: chosen_words("greedy, published"),
        lambda: chosen_words("greedy"),
    ),
    "Pipeline, figure 4": (
        None,
        lambda: coherence("none", LEVELS, ["inf"] * 8),
        None,
    ),
    "Pipeline, figure 5, by eps1": (
        None,
        lambda: both_readings(LEVELS, [3] * 8),
        lambda: [value("manzonelli2024/coherence", "umass", eps1=e, eps2=3.0) for e in LEVELS],
    ),
    "Pipeline, figure 5, by eps2": (
        None,
        lambda: both_readings([3] * 8, LEVELS),
        lambda: [value("manzonelli2024/coherence", "umass", eps1=3.0, eps2=e) for e in LEVELS],
    ),
    "Pipeline, figure 6": (
        None,
        lambda: [
            value("manzonelli2024/printed_attack", "tpr", 100, noise=noise, eps1=one, eps2=float(two))
            for noise in ("each draw", "all counts once")
            for one, two in ((1, 5), (5, 5), (10, 5), (5, 1), (5, 10))
        ],
        lambda: [
            value("manzonelli2024/private", "tpr", 100, eps1=one, eps2=two)
            for one, two in ((1.0, 5.0), (5.0, 5.0), (10.0, 5.0), (5.0, 1.0), (5.0, 10.0))
        ],
    ),
}
HEAD = ["theirs", "axes", "paper", "as printed", "as meant", "verdict", "command"]


def rows():
    """Every row of every table of the page."""
    found = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells != HEAD:
                assert len(cells) == len(HEAD), line
                assert cells[0] not in found
                found[cells[0]] = dict(zip(HEAD, cells, strict=True))
    return found


def test_every_row_is_looked_at():
    assert set(rows()) == set(ROWS)


@pytest.mark.parametrize("name", list(ROWS))
def test_each_cell_is_what_was_published_or_measured(name):
    row = rows()[name]
    for column, wanted in zip(("paper", "as printed", "as meant"), ROWS[name], strict=True):
        values = [] if wanted is None else wanted() if callable(wanted) else wanted
        assert shows(row[column], *values), f"{column}: {row[column]!r}, but {values}"


@pytest.mark.parametrize("name", list(ROWS))
def test_each_row_has_a_verdict_and_a_command(name):
    row = rows()[name]
    assert row["axes"]
    assert row["verdict"]
    told = re.sub(r"\]\([^)]*\)|epsilon \d[\d.]*", "", row["verdict"])
    assert not re.search(r"\d", told), "figures go in cells"
    script = re.search(r"`([\w/]+\.py)", row["command"])
    assert script, row["command"]
    root = PAGE.parents[2]
    assert (root / "experiments" / script[1]).exists() or (root / script[1]).exists()
    if "not" in row["verdict"].split():
        assert re.search(r"\d", row["as printed"]), "nothing is not reproduced that was not run as printed"
