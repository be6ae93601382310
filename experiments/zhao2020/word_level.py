"""Figures 4 and 5 of Zhao et al. (2020), as printed and as meant; the same against totals; the monitor without noise.

    python experiments/zhao2020/word_level.py            # all parts; writes CSV and PNG files beside this file
    python experiments/zhao2020/word_level.py perplexity # one of them

Corpora: :mod:`corpora`. 50 topics, alpha = 1, beta = .01; for HDP-LDA beta = .5, as the paper takes "a larger
beta" there without a number, and C / beta = 147.4, which is eps_I = 10. Parts: ``attack`` (figure 4),
``perplexity`` (figure 5), ``total`` (perplexity against the epsilon of the whole run, which the paper lacks),
``news`` (nyt, K = 20, 50 sweeps) and ``monitor``. "As printed" is :mod:`printed_gibbs`, "as meant"
:mod:`meant_gibbs`; "assignments inside" is the library. Rows of "as meant" are of the library when it had both.
Runs are seeded, one seed each.
"""

import argparse
import math
import sys
from pathlib import Path

import matplotlib
import meant_gibbs
import printed_gibbs

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from corpora import TEST, Rows, columns, their_corpus
from inherent_privacy import inherent_privacy
from scipy.special import softmax

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from real_corpora import load

from discreet import HybridGibbsLDA, PrivateLDA
from discreet.central.word_level.cost import calibrated
from discreet.central.word_level.hybrid_gibbs import topics_of
from discreet.evaluate import coherence_npmi, completion_perplexity, transductive_perplexity, unigram
from discreet.privacy import noise_multiplier_for
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
from discreet.privacy.row_sums import OneCellBound

HERE = Path(__file__).resolve().parent
N_TOPICS, ALPHA, BETA, DELTA = 50, 1.0, 0.01, 1e-6
#: The "larger beta" of HDP-LDA.
LARGER = 0.5
#: Sweeps of the attack, as many as in the paper, of perplexities on its corpora, and on nyt.
ATTACKED, SWEEPS, NEWS = dict.fromkeys(TEST, 300), 60, 50
PRINTED, MEANT = "as printed", "as meant"


def clip_for(epsilon_draw, beta):
    """The C at which a draw has range ``epsilon_draw``."""
    return None if math.isinf(epsilon_draw) else beta * math.expm1(epsilon_draw / 2)


def chain(counts, epsilon_draw, epsilon_noise, beta, n_sweeps):
    """What HDP-LDA as meant gives, with discrete Laplace noise: see :func:`meant_gibbs.chain`."""
    mechanism, clip = LaplaceMechanism(OneCellBound("l1"), epsilon_noise), clip_for(epsilon_draw, beta)
    return meant_gibbs.chain(counts, N_TOPICS, ALPHA, beta, clip, mechanism, n_sweeps, 0)


def total(epsilon_draw, epsilon_noise, n_sweeps, beta):
    """Total of a run with assignments released, at DELTA; inf where a part of it is not private."""
    if math.isinf(epsilon_draw) or math.isinf(epsilon_noise):
        return math.inf
    range_of_draw = 2 * math.log1p(clip_for(epsilon_draw, beta) / beta)
    mechanism = LaplaceMechanism(OneCellBound("l1"), epsilon_noise)
    return meant_gibbs.total(mechanism, n_sweeps, range_of_draw, DELTA)


def save_legend(figure, ax, name):
    """Put one legend below all panels, where it hides no line."""
    figure.tight_layout(rect=(0, 0.2, 1, 1))
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="lower center",
        ncols=3 if len(figure.axes) > 1 else 2,
        fontsize=8,
    )
    figure.savefig(HERE / f"{name}.png", dpi=120)
    plt.close(figure)


# ---- figure 4: the attack

STOPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 250, 300)
#: Method, form: eps_I and eps_L, or None where the algorithm has none.
ATTACKS = {
    ("non-private", PRINTED): None,
    ("non-private", MEANT): (math.inf, math.inf),
    ("CDP-LDA+, eps 1", PRINTED): None,
    ("HDP-LDA, eps_I 10, eps_L 1", PRINTED): (10.0, 1.0),
    ("HDP-LDA, eps_I 5, eps_L 1", PRINTED): (5.0, 1.0),
    ("HDP-LDA, eps_I 1, eps_L 1", PRINTED): (1.0, 1.0),
    ("HDP-LDA, eps_I 10, eps_L 1", MEANT): (10.0, 1.0),
    ("HDP-LDA, eps_I 5, eps_L 1", MEANT): (5.0, 1.0),
    ("HDP-LDA, eps_I 1, eps_L 1", MEANT): (1.0, 1.0),
}


class Spy:
    """Someone who sees every table and the topics of 300 random tokens (the paper: of the last word of the corpus)."""

    def __init__(self, words, n_words, beta):
        self.victims = np.random.default_rng(1).choice(len(words), 300, replace=False)
        self.words = np.asarray(words)[self.victims]
        self.beta, self.log, self.found = beta, np.zeros((300, n_words)), []

    def see(self, by_word, topics):
        """Multiply the probabilities of each word in the topics of a sweep (algorithm 3).

        Counts are cut at 0. The paper leaves beta out; it belongs to the law the topics were drawn from, and without it
        one sweep in which noise hid the true word rules it out for good, so that the attack would be weaker.
        """
        counts = np.maximum(np.asarray(by_word.T, dtype=np.float64), 0) + self.beta
        drawn = np.asarray(topics)[self.victims].astype(int)
        self.log += np.log(counts / counts.sum(1, keepdims=True))[drawn]
        true = np.arange(300), self.words
        rank = (self.log >= self.log[true][:, None]).sum(1)
        self.found.append((softmax(self.log, axis=1)[true], rank))


def attacked(counts, method, form, beta, n_sweeps):
    """Run the chain and return what the spy found after each sweep."""
    epsilons, spies = ATTACKS[method, form], []
    if form == MEANT:
        for sweep, (words, table, topics) in enumerate(chain(counts, *epsilons, beta, n_sweeps)):
            if sweep == 0:
                spies.append(Spy(words, counts.shape[1], beta))
            if sweep < n_sweeps:
                spies[0].see(table, topics)
        return spies[0].found

    def watch(run, before):
        if not spies:
            spies.append(Spy(run.words, counts.shape[1], beta))
        spies[0].see(before, run.topics)

    more = {"watch": watch}
    if method == "non-private":
        printed_gibbs.gibbs(counts, N_TOPICS, ALPHA, beta, n_sweeps, 0, **more)
    elif epsilons is None:
        more |= {"epsilon": 1.0, "every": True, "in_place": True}
        printed_gibbs.cdp_lda(counts, N_TOPICS, ALPHA, beta, n_sweeps, 0, **more)
    else:
        more |= {"clip": clip_for(epsilons[0], beta), "epsilon_noise": epsilons[1]}
        printed_gibbs.hdp_lda(counts, N_TOPICS, ALPHA, beta, n_sweeps, 0, **more)
    return spies[0].found


def attack(path):
    rows = Rows(path, ("corpus", "method", "form", "beta", "sweeps"))
    for corpus in TEST:
        train, *_ = their_corpus(corpus)
        for (method, form), epsilons in ATTACKS.items():
            beta = LARGER if method.startswith("HDP") else BETA
            key = {"corpus": corpus, "method": method, "form": form, "beta": beta}
            stops = [sweep for sweep in STOPS if sweep <= ATTACKED[corpus]]
            if all(rows.has(**key, sweeps=sweep) for sweep in stops):
                continue
            found = attacked(train, method, form, beta, ATTACKED[corpus])
            for sweep in stops:
                posterior, rank = found[sweep - 1]
                covered = form == MEANT and epsilons is not None
                cost = total(*epsilons, sweep, beta) if covered else math.inf
                values = {
                    "mean_posterior": round(float(posterior.mean()), 4),
                    "share_guessed": round(float((rank == 1).mean()), 4),
                    "median_rank": float(np.median(rank)),
                    "total_epsilon": round(cost, 2),
                }
                rows.add(lambda values=values: values, **key, sweeps=sweep)


def draw_attack(path):
    rows = Rows(path, ())
    names = [name for name in TEST if rows.values("sweeps", "sweeps", corpus=name, form=MEANT, beta=LARGER)]
    figure, axes = plt.subplots(1, len(names), figsize=(1 + 5 * len(names), 4.8), sharey=True, squeeze=False)
    axes = axes[0]
    for ax, corpus in zip(axes, names, strict=True):
        for number, (method, form) in enumerate(ATTACKS):
            beta = LARGER if method.startswith("HDP") else BETA
            line = rows.values("mean_posterior", "sweeps", corpus=corpus, method=method, form=form, beta=beta)
            style = "--" if form == PRINTED else "-"
            ax.plot(*columns(line), label=f"{method}, {form}", color=f"C{number}", linestyle=style)
        ax.set(title=corpus, xlabel="sweeps seen")
    axes[0].set_ylabel("posterior of the true word (mean)")
    save_legend(figure, axes[0], "attack")


# ---- figure 5: perplexity against the noise of a sweep; and against the total

LEVELS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
FREE = (math.inf,)
NO_PRIVACY, CDP = "non-private", "CDP-LDA+"
LIMITED, HDP = "limited inherent, eps_I 10", "HDP-LDA, eps_I 10"
#: Method, form and beta: the noise levels.
LINES = {
    ("unigram", MEANT, BETA): FREE,
    (NO_PRIVACY, PRINTED, BETA): FREE,
    (NO_PRIVACY, MEANT, BETA): FREE,
    (LIMITED, PRINTED, LARGER): FREE,
    (LIMITED, MEANT, LARGER): FREE,
    (HDP, PRINTED, LARGER): LEVELS,
    (HDP, MEANT, LARGER): LEVELS,
    (CDP, PRINTED, BETA): LEVELS,
    ("CDP-LDA+, noise fresh each sweep", PRINTED, BETA): LEVELS,
    ("CDP-LDA", PRINTED, BETA): LEVELS,
    (LIMITED, PRINTED, BETA): FREE,
    (LIMITED, MEANT, BETA): FREE,
    (HDP, PRINTED, BETA): (0.1, 1.0, 4.0),
    (HDP, MEANT, BETA): (0.1, 1.0, 4.0),
}


def topics_by(train, method, form, beta, level):
    """Train one line of figure 5 at one noise level."""
    if method == "unigram":
        return unigram(train, smoothing=beta)
    if form == MEANT:
        epsilon_draw = math.inf if method == NO_PRIVACY else 10.0
        *_, (_, last, _) = chain(train, epsilon_draw, level, beta, SWEEPS)
        return topics_of(last, beta)
    basics = (train, N_TOPICS, ALPHA, beta, SWEEPS, 0)
    if method == NO_PRIVACY:
        return printed_gibbs.gibbs(*basics)
    if method in (LIMITED, HDP):
        return printed_gibbs.hdp_lda(*basics, clip=clip_for(10.0, beta), epsilon_noise=level)
    every = method != "CDP-LDA"
    return printed_gibbs.cdp_lda(*basics, epsilon=level, every=every, in_place=method == CDP)


def perplexity(path):
    rows = Rows(path, ("corpus", "method", "form", "beta", "epsilon_noise"))
    for corpus in TEST:
        train, test, _ = their_corpus(corpus)
        for (method, form, beta), levels in LINES.items():
            for level in levels:

                def work(method=method, form=form, beta=beta, level=level, train=train, test=test):
                    topics = topics_by(train, method, form, beta, level)
                    found = transductive_perplexity(topics, test, doc_topic_prior=ALPHA)
                    covered = method == HDP and form == MEANT
                    cost = total(10.0, level, SWEEPS, beta) if covered else math.inf
                    return {"perplexity": round(found, 1), "total_epsilon": round(cost, 2)}

                key = {"corpus": corpus, "method": method, "form": form, "beta": beta}
                rows.add(work, **key, epsilon_noise=level)


def draw_perplexity(path):
    rows = Rows(path, ())
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.8))
    drawn = [
        line for line in LINES if line[2] == LARGER or line[0] in ("unigram", NO_PRIVACY, CDP, "CDP-LDA")
    ]
    for ax, corpus in zip(axes, TEST, strict=True):
        for number, (method, form, beta) in enumerate(drawn):
            line = rows.values(
                "perplexity", "epsilon_noise", corpus=corpus, method=method, form=form, beta=beta
            )
            label = f"{method}, {form}" + (f", beta {beta:g}" if beta == LARGER else "")
            style = {"color": f"C{number}", "linestyle": "--" if form == PRINTED else "-", "label": label}
            if len(line) == 1:
                ax.axhline(line[0][1], lw=1, **style)
            else:
                ax.plot(*columns(line), marker="o", ms=4, **style)
        ax.set(title=corpus, xlabel="eps_L: noise of one table, one sweep", xscale="log")
    axes[0].set_ylabel("transductive perplexity")
    save_legend(figure, axes[0], "perplexity")


# ---- the figure that the paper lacks: the epsilon of the whole run

TOTALS = (1.0, 2.0, 4.0, 8.0, 16.0)


def with_assignments(train, n_topics, alpha, epsilon, n_sweeps):
    """Topics of HDP-LDA as meant, where assignments count as released."""
    mechanism, beta = meant_gibbs.calibrated(epsilon, DELTA, n_sweeps)
    *_, (_, last, _) = meant_gibbs.chain(train, n_topics, alpha, beta, 10.0, mechanism, n_sweeps, 0)
    return topics_of(last, BETA)


def methods(train, epsilon, n_topics, alpha, n_sweeps):
    """Yield the name of each method, and what trains it at this total."""
    yield (
        "HDP-LDA, assignments released",
        lambda: with_assignments(train, n_topics, alpha, epsilon, n_sweeps),
    )
    inside = HybridGibbsLDA(
        n_topics, epsilon=epsilon, delta=DELTA, doc_topic_prior=alpha, n_sweeps=n_sweeps, random_state=0
    ).set_params(noise="gaussian")
    yield "HDP-LDA, assignments inside", lambda: inside.fit(train).components_
    document = PrivateLDA(n_topics, epsilon=epsilon, delta=DELTA, doc_topic_prior=alpha, random_state=0)
    document.set_params(allow_unlearnable=True)
    yield "PrivateLDA (whole documents)", lambda: document.fit(train).components_


def against_total(path):
    rows = Rows(path, ("corpus", "method", "epsilon"))
    for corpus in ("kos", "nips"):
        train, test, _ = their_corpus(corpus)
        for epsilon in TOTALS:
            for method, topics_at in methods(train, epsilon, N_TOPICS, ALPHA, 30):

                def work(topics_at=topics_at, test=test):
                    topics = topics_at()
                    found = transductive_perplexity(topics, test, doc_topic_prior=ALPHA)
                    return {
                        "perplexity": round(found, 1),
                        "completion": round(completion_perplexity(topics, test), 1),
                    }

                rows.add(work, corpus=corpus, method=method, epsilon=epsilon)


def draw_total(path):
    rows, lines = Rows(path, ()), Rows(HERE / "perplexity.csv", ())
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
    for ax, corpus in zip(axes, ("kos", "nips"), strict=True):
        for method in dict.fromkeys(row["method"] for row in rows.rows):
            line = rows.values("perplexity", "epsilon", corpus=corpus, method=method)
            ax.plot(*columns(line), marker="o", label=method)
        for method, style in (("unigram", ":"), (NO_PRIVACY, "--")):
            [(_, height)] = lines.values(
                "perplexity", "epsilon_noise", corpus=corpus, method=method, form=MEANT
            )
            ax.axhline(height, label=method, color="0.4", linestyle=style)
        ax.set(title=corpus, xlabel=f"epsilon of the whole run, delta = {DELTA:g}", xscale="log")
    axes[0].set_ylabel("transductive perplexity")
    save_legend(figure, axes[0], "total")


# ---- the news: what a useful amount of noise costs


def news(path):
    rows = Rows(path, ("method", "epsilon"))
    split = load("nyt", 2000)

    def add(method, epsilon, topics_of):
        def work():
            topics = topics_of()
            found = {"completion": round(completion_perplexity(topics, split.test), 1)}
            return found | {"npmi": round(coherence_npmi(topics, split.train), 3)}

        rows.add(work, method=method, epsilon=epsilon)

    def by_chain(beta, clip, mechanism):
        *_, (_, last, _) = meant_gibbs.chain(split.train, 20, 0.1, beta, clip, mechanism, NEWS, 0)
        return topics_of(last, BETA)

    add("unigram", math.inf, lambda: unigram(split.train, smoothing=BETA))
    no_noise = LaplaceMechanism(OneCellBound("l1"), math.inf)
    add(NO_PRIVACY, math.inf, lambda: by_chain(BETA, None, no_noise))
    # Range .36 without any noise: C = 10, beta = 50.
    add("range .36, no noise at all", math.inf, lambda: by_chain(50.0, 10.0, no_noise))
    for epsilon in (1.0, 4.0):
        multiplier = noise_multiplier_for(epsilon, DELTA, n_rounds=NEWS + 1)
        laplace = calibrated("laplace", epsilon, DELTA, NEWS + 1)
        mechanisms = {
            "rounded Gaussian": GaussianMechanism(OneCellBound("l2"), multiplier),
            "discrete Laplace": laplace,
        }
        for name, mechanism in mechanisms.items():
            method = f"noise on counts alone, {name} (not covered)"
            add(method, epsilon, lambda mechanism=mechanism: by_chain(BETA, None, mechanism))
        for method, topics_at in methods(split.train, epsilon, 20, 0.1, NEWS):
            add(method, epsilon, topics_at)


# ---- the monitor: what a noise-free run would lose


def monitor(path):
    rows = Rows(path, ("corpus", "sweep", "n_related"))
    if rows.rows:
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for ax, corpus in zip(axes, ("kos", "nips"), strict=True):
        train, *_ = their_corpus(corpus)
        tables = [table.T for _, table, _ in chain(train, math.inf, math.inf, BETA, SWEEPS)][:-1]
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
            values = {name: round(float(value), 2) for name, value in values.items()}
            rows.add(lambda values=values: values, corpus=corpus, sweep=sweep, n_related=n_related)
    figure.tight_layout()
    figure.savefig(HERE / "monitor.png", dpi=120)
    plt.close(figure)


PARTS = {
    "attack": (attack, draw_attack),
    "perplexity": (perplexity, draw_perplexity),
    "total": (against_total, draw_total),
    "news": (news, None),
    "monitor": (monitor, None),
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="|".join(PARTS))
    for part in parser.parse_args().parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}")
        work, draw = PARTS[part]
        work(HERE / f"{part}.csv")
        if draw is not None:
            draw(HERE / f"{part}.csv")


if __name__ == "__main__":
    main()
