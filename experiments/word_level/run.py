"""Figures of word-level privacy (Zhao et al. 2020), remade with costs that can be proved, and one that they lack.

    python experiments/word_level/run.py            # all parts; writes CSV and PNG files beside this file

Their set-up: kos and nips on the 1,000 most frequent words, binary counts, 50 topics, alpha = 1, beta = .01, test
parts of 430 and 150 documents. Parts: ``attack`` (their figure 4), ``perplexity`` (their figure 5), ``total`` (the same
against the epsilon of the whole run) and ``news`` (nyt, K = 20, 50 sweeps). A part whose rows stand in the CSV
file already is not run again. Runs are seeded.
"""

import argparse
import csv
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from real_corpora import DATA, load

from discreet import HybridGibbsLDA, Ledger, PrivateLDA
from discreet.audit import TopicAttack
from discreet.central import inherent_privacy
from discreet.central.word_level import hybrid_gibbs
from discreet.central.word_level.arranged_tokens import arrange
from discreet.central.word_level.cost import calibrated, plan
from discreet.evaluate import coherence_npmi, completion_perplexity, transductive_perplexity, unigram
from discreet.privacy import SecureStream, noise_multiplier_for
from discreet.privacy.histogram_bound import OneCellBound
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism

HERE = Path(__file__).resolve().parent
N_TOPICS, ALPHA, BETA, DELTA = 50, 1.0, 0.01, 1e-6
TEST = {"kos": 430, "nips": 150}
#: Sweeps of the attack, of perplexities on kos and nips, and on nyt.
ATTACKED, SWEEPS, NEWS = 300, 60, 50


def their_corpus(name):
    """Binary counts on the 1,000 words that most documents have; a random test part (seed 0)."""
    counts = sp.load_npz(DATA / name / "counts.npz").tocsr()
    frequency = np.asarray((counts > 0).sum(0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:1000])
    binary = (counts[:, kept] > 0).astype(np.int32).tocsr()
    order = np.random.default_rng(0).permutation(binary.shape[0])
    return binary[order[TEST[name] :]], binary[order[: TEST[name]]]


def mechanism_of(epsilon_noise):
    return LaplaceMechanism(OneCellBound("l1"), epsilon_noise)


def clip_for(epsilon_draw):
    """The C at which a draw has range ``epsilon_draw``."""
    return None if math.isinf(epsilon_draw) else BETA * math.expm1(epsilon_draw / 2)


def chain(counts, settings, n_sweeps, seed):
    """Yield (tokens, released table, topics) of each sweep, and at the end the last table with no upper cut."""
    stream = SecureStream(seed)
    tokens = arrange(counts, stream.spawn("order"))
    free = Ledger(math.inf, DELTA, privacy_unit="word", neighboring="replace_one")
    from discreet.privacy.accounting import events

    reservation = free.reserve(events.non_private(), "an experiment")
    state = hybrid_gibbs.init(tokens, settings, stream)
    for _ in range(n_sweeps):
        state, info = hybrid_gibbs.step(state, tokens, settings, stream, reservation)
        yield tokens, info.table, state.topics
    last = hybrid_gibbs.release_table(state, tokens, settings._replace(clip=None), stream, reservation)
    yield tokens, last, state.topics


def rows_in(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path, row):
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def save_legend(figure, ax):
    """Put one legend below both panels, where it hides no line."""
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.legend(*ax.get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=8)


# ---- figure 4: the attack


def attack_methods():
    yield from (
        ("non-private", math.inf, math.inf),
        ("noise on counts, every sweep (eps 1)", math.inf, 2.0),
        ("HDP-LDA, eps_I = 10, eps_L = 1", 10.0, 1.0),
        ("HDP-LDA, eps_I = 5, eps_L = 1", 5.0, 1.0),
        ("HDP-LDA, eps_I = 1, eps_L = 1", 1.0, 1.0),
    )


def attack(path):
    done = {(row["corpus"], row["method"]) for row in rows_in(path)}
    for corpus in TEST:
        train, _ = their_corpus(corpus)
        for method, epsilon_draw, epsilon_noise in attack_methods():
            if (corpus, method) in done:
                continue
            settings = hybrid_gibbs.Settings(
                N_TOPICS, ALPHA, BETA, clip_for(epsilon_draw), mechanism_of(epsilon_noise)
            )
            victims = spy = None
            found = []
            for sweep, (tokens, table, topics) in enumerate(chain(train, settings, ATTACKED, 0)):
                if sweep == ATTACKED:
                    break
                if spy is None:
                    victims = np.random.default_rng(1).choice(len(tokens.words), 300, replace=False)
                    spy = TopicAttack(tokens.n_words, 300, topic_word_prior=BETA)
                report = spy.run([table.T], [topics[victims].astype(int)], tokens.words[victims])
                found.append((report.posterior[0], report.rank[0]))
            for sweep in (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 250, 300):
                posterior, rank = found[sweep - 1]
                cost = total(epsilon_draw, epsilon_noise, sweep)
                write(
                    path,
                    {
                        "corpus": corpus,
                        "method": method,
                        "sweeps": sweep,
                        "mean_posterior": round(float(posterior.mean()), 4),
                        "share_guessed": round(float((rank == 1).mean()), 4),
                        "median_rank": float(np.median(rank)),
                        "total_epsilon": round(cost, 2),
                    },
                )


def total(epsilon_draw, epsilon_noise, n_sweeps):
    """Total of a run with assignments released, at DELTA; inf where a part of it is not private."""
    if math.isinf(epsilon_draw) or math.isinf(epsilon_noise):
        return math.inf
    clip = clip_for(epsilon_draw)
    return plan("laplace", None, epsilon_noise, DELTA, n_sweeps, clip, BETA, hidden=False).epsilon


def draw_attack(path):
    rows = rows_in(path)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for ax, corpus in zip(axes, TEST, strict=True):
        for method, *_ in attack_methods():
            mine = [row for row in rows if row["corpus"] == corpus and row["method"] == method]
            ax.plot(
                [int(row["sweeps"]) for row in mine],
                [float(row["mean_posterior"]) for row in mine],
                label=method,
            )
        ax.set(title=corpus, xlabel="sweeps seen")
    axes[0].set_ylabel("posterior of the true word (mean)")
    save_legend(figure, axes[0])
    figure.savefig(HERE / "attack.png", dpi=120)


# ---- figure 5: perplexity against the noise of a sweep; and against the total

LEVELS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
KINDS = {
    "non-private": math.inf,
    "limited inherent (eps_I = 10, no noise)": 10.0,
    "noise on counts, every sweep": math.inf,
    "HDP-LDA, eps_I = 10": 10.0,
}


def perplexity_of(train, test, epsilon_draw, epsilon_noise):
    settings = hybrid_gibbs.Settings(
        N_TOPICS, ALPHA, BETA, clip_for(epsilon_draw), mechanism_of(epsilon_noise)
    )
    *_, (_, last, _) = chain(train, settings, SWEEPS, 0)
    topics = hybrid_gibbs.topics_of(last, BETA)
    return transductive_perplexity(topics, test, doc_topic_prior=ALPHA)


def perplexity(path):
    done = {(row["corpus"], row["method"], float(row["epsilon_noise"])) for row in rows_in(path)}
    for corpus in TEST:
        train, test = their_corpus(corpus)
        if (corpus, "unigram", math.inf) not in done:
            line = transductive_perplexity(unigram(train, smoothing=BETA), test, doc_topic_prior=ALPHA)
            row = {
                "corpus": corpus,
                "method": "unigram",
                "epsilon_noise": math.inf,
                "perplexity": round(line, 1),
            }
            write(path, row | {"total_epsilon": math.inf})
        for method, epsilon_draw in KINDS.items():
            levels = (
                (math.inf,)
                if "noise" not in method.replace("no noise", "") and "HDP" not in method
                else LEVELS
            )
            for level in levels:
                if (corpus, method, level) in done:
                    continue
                found = perplexity_of(train, test, epsilon_draw, level)
                write(
                    path,
                    {
                        "corpus": corpus,
                        "method": method,
                        "epsilon_noise": level,
                        "perplexity": round(found, 1),
                        "total_epsilon": round(total(epsilon_draw, level, SWEEPS), 2),
                    },
                )


def draw_perplexity(path):
    rows = rows_in(path)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, corpus in zip(axes, TEST, strict=True):
        for number, method in enumerate(("unigram", *KINDS)):
            mine = [row for row in rows if row["corpus"] == corpus and row["method"] == method]
            if len(mine) == 1:
                ax.axhline(float(mine[0]["perplexity"]), label=method, color=f"C{number}", linestyle="--")
            else:
                x, y = ([float(row[key]) for row in mine] for key in ("epsilon_noise", "perplexity"))
                ax.plot(x, y, "o-", label=method, color=f"C{number}")
        ax.set(title=corpus, xlabel="eps_L: noise of one table, one sweep", xscale="log")
    axes[0].set_ylabel("transductive perplexity")
    save_legend(figure, axes[0])
    figure.savefig(HERE / "perplexity.png", dpi=120)


# ---- the figure that the paper lacks: the epsilon of the whole run

TOTALS = (1.0, 2.0, 4.0, 8.0, 16.0)
COMPARED = {
    "HDP-LDA, assignments released": {"publish_assignments": True, "noise": "gaussian"},
    "HDP-LDA, assignments inside": {"publish_assignments": False, "noise": "gaussian"},
}


def estimators(epsilon, n_topics, alpha, n_sweeps):
    for name, settings in COMPARED.items():
        model = HybridGibbsLDA(
            n_topics, epsilon=epsilon, doc_topic_prior=alpha, n_sweeps=n_sweeps, random_state=0
        )
        yield name, model.set_params(delta=DELTA, **settings)
    document = PrivateLDA(n_topics, epsilon=epsilon, delta=DELTA, doc_topic_prior=alpha, random_state=0)
    yield "PrivateLDA (whole documents)", document.set_params(allow_unlearnable=True)


def against_total(path):
    done = {(row["corpus"], row["method"], float(row["epsilon"])) for row in rows_in(path)}
    for corpus in TEST:
        train, test = their_corpus(corpus)
        for epsilon in TOTALS:
            for method, model in estimators(epsilon, N_TOPICS, ALPHA, 30):
                if (corpus, method, epsilon) in done:
                    continue
                topics = model.fit(train).components_
                found = transductive_perplexity(topics, test, doc_topic_prior=ALPHA)
                held_out = completion_perplexity(topics, test)
                row = {"corpus": corpus, "method": method, "epsilon": epsilon}
                row |= {"perplexity": round(found, 1), "completion": round(held_out, 1)}
                write(path, row | {"spent": round(model.release_.promise.epsilon, 4)})


def draw_total(path, lines):
    rows = rows_in(path)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, corpus in zip(axes, TEST, strict=True):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if row["corpus"] == corpus and row["method"] == method]
            x, y = ([float(row[key]) for row in mine] for key in ("epsilon", "perplexity"))
            ax.plot(x, y, "o-", label=method)
        for row in rows_in(lines):
            if row["corpus"] == corpus and row["method"] in ("unigram", "non-private"):
                style = ":" if row["method"] == "unigram" else "--"
                ax.axhline(float(row["perplexity"]), label=row["method"], color="0.4", linestyle=style)
        ax.set(title=corpus, xlabel=f"epsilon of the whole run, delta = {DELTA:g}", xscale="log")
    axes[0].set_ylabel("transductive perplexity")
    save_legend(figure, axes[0])
    figure.savefig(HERE / "total.png", dpi=120)


# ---- the news: what a useful amount of noise costs


def news(path):
    done = {(row["method"], float(row["epsilon"])) for row in rows_in(path)}
    split = load("nyt", 2000)

    def score(method, epsilon, topics):
        found = completion_perplexity(topics, split.test)
        row = {"method": method, "epsilon": epsilon, "completion": round(found, 1)}
        write(path, row | {"npmi": round(coherence_npmi(topics, split.train), 3)})

    if ("unigram", math.inf) not in done:
        score("unigram", math.inf, unigram(split.train, smoothing=BETA))
    if ("non-private", math.inf) not in done:
        model = HybridGibbsLDA(20, epsilon=math.inf, doc_topic_prior=0.1, n_sweeps=NEWS, random_state=0)
        score("non-private", math.inf, model.fit(split.train).components_)
    # Range .36 without any noise: C = 10, beta = 50.
    if ("range .36, no noise at all", math.inf) not in done:
        settings = hybrid_gibbs.Settings(20, 0.1, 50.0, 10.0, mechanism_of(math.inf))
        *_, (_, last, _) = chain(split.train, settings, NEWS, 0)
        score("range .36, no noise at all", math.inf, hybrid_gibbs.topics_of(last, BETA))
    for epsilon in (1.0, 4.0):
        gaussian = GaussianMechanism(
            OneCellBound("l2"), noise_multiplier_for(epsilon, DELTA, n_rounds=NEWS + 1)
        )
        laplace = calibrated("laplace", epsilon, DELTA, NEWS + 1, 0, 0.0)
        for name, mechanism in (("rounded Gaussian", gaussian), ("discrete Laplace", laplace)):
            method = f"noise on counts alone, {name} (not covered)"
            if (method, epsilon) in done:
                continue
            settings = hybrid_gibbs.Settings(20, 0.1, BETA, None, mechanism)
            *_, (_, last, _) = chain(split.train, settings, NEWS, 0)
            score(method, epsilon, hybrid_gibbs.topics_of(last, BETA))
        for method, model in estimators(epsilon, 20, 0.1, NEWS):
            if (method, epsilon) not in done:
                score(method, epsilon, model.fit(split.train).components_)


# ---- the monitor: what a noise-free run would lose


def monitor(path):
    if rows_in(path):
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for ax, corpus in zip(axes, TEST, strict=True):
        train, _ = their_corpus(corpus)
        settings = hybrid_gibbs.Settings(N_TOPICS, ALPHA, BETA, None, mechanism_of(math.inf))
        tables = [table.T for _, table, _ in chain(train, settings, SWEEPS, 0)][:-1]
        found = inherent_privacy(tables, BETA, delta=DELTA)
        found.plot(ax).set_title(corpus)
        n_related = int(np.sort(np.asarray(train.sum(0)).ravel())[-2:].sum()) - 1
        related = n_related * math.log1p(1 / BETA)  # of the two commonest words, whatever the counts are
        for sweep in (1, 10, 30, SWEEPS):
            at, own = sweep - 1, found.own[:sweep].sum()
            values = {
                "own": found.own[at],
                "related": found.related[at],
                "one_sweep": found.per_sweep[at],
                "own_so_far": own,
                "pure": found.pure[at],
                "zcdp": found.zcdp[at],
                "any_counts_so_far": own + sweep * related,
                "theorem_1_so_far": own + sweep * 2 * related,
            }
            row = {"corpus": corpus, "sweep": sweep, "n_related": n_related}
            write(path, row | {name: round(float(value), 2) for name, value in values.items()})
    figure.tight_layout()
    figure.savefig(HERE / "monitor.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["attack", "perplexity", "total", "news", "monitor"])
    for part in parser.parse_args().parts:
        path = HERE / f"{part}.csv"
        if part == "attack":
            attack(path)
            draw_attack(path)
        elif part == "perplexity":
            perplexity(path)
            draw_perplexity(path)
        elif part == "total":
            against_total(path)
            draw_total(path, HERE / "perplexity.csv")
        elif part == "news":
            news(path)
        elif part == "monitor":
            monitor(path)
        else:
            parser.error(f"there is no part {part!r}")


if __name__ == "__main__":
    main()
