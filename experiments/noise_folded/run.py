"""What is made of the last rounds' topics: a step further from the unigram, and topics that are noise given up.

    python experiments/noise_folded/run.py tried.csv        # 15 minutes on one thread; rows that stand stay
    python experiments/noise_folded/run.py confirmed.csv    # the step alone, on corpora that it was not chosen on

"as it is" is PrivateLDA; "not a step further" the topics of its last round as they were denoised. "folded" looks
after the last but two rounds for topics whose noisy numbers stand no further from the unigram's than noise does (chi
squared below 1.5 deviations beyond its mean; four at most), gives them up, and splits the largest topic in each one's
place: along the direction of the vectors in which its words differ most, or along the strongest one of what its words
show in the released pairs beyond all topics. 20 topics, 2,000 words, delta = 1e-5, seed 0. Exact measures of the
texts: for research, not for release.
"""

import csv
import os
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import DATA, load

from discreet import PrivateLDA
from discreet.central import full_batch
from discreet.corpus import match_vectors
from discreet.errors import WeakForecastWarning
from discreet.evaluate import coherence_npmi, completion_perplexity

CORPORA = ("kos", "pheme", "reuters21578", "20newsgroups")
EPSILONS = (0.5, 1.0, 2.0)
CONFIRMED, CONFIRMED_EPSILONS = ("tweetrumors", "nips-papers", "nyt", "tweets-emoji", "sotu"), (1.0, 4.0)
DELTA, PRIOR = 1e-5, 0.1
LEFT, DEVIATIONS, MOST = 2, 1.5, 4
VECTORS = Path(os.environ.get("WORD_VECTORS", DATA / "word-vectors" / "glove100.npz"))
FIELDS = ("corpus", "epsilon", "algorithm", "variant", "perplexity", "npmi", "folded")


class Folding:
    """Stands in for what full_batch does with a start and with a round."""

    def __init__(self):
        self.before = {
            name: getattr(full_batch, name) for name in ("read_round", "read_out", "starting_topics")
        }
        self.pairs, self.folds, self.folded, self.state = None, False, 0, None

    def __enter__(self):
        for name in self.before:
            setattr(full_batch, name, getattr(self, name))
        return self

    def __exit__(self, *_):
        for name, function in self.before.items():
            setattr(full_batch, name, function)

    def starting_topics(self, matrix, noise, unigram, chosen, weights, n_topics):
        self.pairs = matrix / np.outer(weights, weights), chosen
        return self.before["starting_topics"](matrix, noise, unigram, chosen, weights, n_topics)

    def read_round(self, state, noisy, *how):
        after = self.before["read_round"](state, noisy, *how)
        if self.folds and after.round == len(after.schedule.round_shares) - LEFT:
            return self.fold(after)
        return after

    def read_out(self, state, difficulty):
        self.state = state
        return self.before["read_out"](state, difficulty)

    def fold(self, state):
        base = state.unigram[:, None] * state.topic_weight
        squares = ((state.joint - base) ** 2 / state.variance[:, None]).sum(0)
        beyond = (squares - len(base)) / np.sqrt(2 * len(base))
        lost = [topic for topic in np.argsort(beyond).tolist() if beyond[topic] < DEVIATIONS][:MOST]
        topics, weight, joint = state.word_topic.copy(), state.topic_weight.copy(), state.joint.copy()
        coordinates = None if state.prior is None else state.prior.coordinates.copy()
        for topic in lost:
            largest = max(set(range(len(weight))) - set(lost), key=lambda other: weight[other])
            tilt = self.direction(state, topics[:, largest], topics, weight)
            halves = [topics[:, largest] * np.exp(sign * tilt) for sign in (1, -1)]
            topics[:, topic], topics[:, largest] = (half / half.sum() for half in halves)
            share = 1 / (1 + np.exp(-2 * tilt))
            joint[:, topic], joint[:, largest] = joint[:, largest] * share, joint[:, largest] * (1 - share)
            for each in (weight, state.theta.T, *(() if coordinates is None else (coordinates,))):
                each[topic] = each[largest]
            for each in (weight, state.theta.T):
                each[[topic, largest]] /= 2
        self.folded = len(lost)
        prior = None if state.prior is None else state.prior._replace(coordinates=coordinates)
        weight /= weight.sum()
        return state._replace(word_topic=topics, topic_weight=weight, joint=joint, prior=prior)

    def direction(self, state, topic, topics, weight):
        """Which words of a topic go together: mean 0 and deviation 1 under the topic."""
        if state.prior is not None:
            axes = state.prior.directions * np.sqrt(state.prior.scales)
            apart = axes - topic @ axes
            tilt = axes @ np.linalg.eigh(apart.T @ (apart * topic[:, None]))[1][:, -1]
        else:
            pairs, chosen = self.pairs
            known = (topics[chosen] * weight) @ topics[chosen].T
            np.fill_diagonal(known, 0.0)
            left = pairs * (known**2).sum() / (pairs * known).sum() - known
            lift = np.sqrt(topic[chosen]) / np.maximum(state.unigram[chosen], 1e-9)
            along = np.linalg.eigh(left * np.outer(lift, lift))[1][:, -1]
            along /= np.sqrt(np.maximum(topic[chosen], 1e-9))
            tilt = np.zeros(len(topic))
            tilt[chosen] = np.clip(along, *np.quantile(along, (0.02, 0.98)))
        tilt -= topic @ tilt
        return np.clip(tilt / np.sqrt(topic @ tilt**2 + 1e-12), -3, 3)


def fit(split, epsilon, vectors):
    return PrivateLDA(
        20, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, word_vectors=vectors, random_state=0, n_jobs=1,
        allow_unlearnable=True,
    ).fit(split.train, vocabulary=split.vocabulary, words_are_public=True).components_  # fmt: skip


def rows_of(split, epsilon, vectors, folds):
    with Folding() as folding:
        found = {"as it is": fit(split, epsilon, vectors), "not a step further": folding.state.word_topic.T}
        folding.folds = folds
        if folds:
            found["folded"] = fit(split, epsilon, vectors)
    for variant, topics in found.items():
        perplexity = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1)
        coherence = coherence_npmi(topics, split.train)
        yield variant, f"{perplexity:.2f}", f"{coherence:.4f}", folding.folded if variant == "folded" else 0


def main(path, corpora=CORPORA, epsilons=EPSILONS, folds=True):
    warnings.simplefilter("ignore", WeakForecastWarning)
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {(row["corpus"], float(row["epsilon"]), row["algorithm"]) for row in csv.DictReader(file)}
    for corpus in corpora:
        split = load(corpus, 2000)
        found = match_vectors(VECTORS, split.vocabulary).vectors
        for epsilon in epsilons:
            for algorithm, vectors in (("PrivateLDA", None), ("with vectors", found)):
                if (corpus, epsilon, algorithm) in done:
                    continue
                rows = list(rows_of(split, epsilon, vectors, folds))
                new = not path.exists()
                with path.open("a", newline="") as file:
                    writer = csv.writer(file, lineterminator="\n")
                    writer.writerows([FIELDS] if new else [])
                    writer.writerows((corpus, epsilon, algorithm, *row) for row in rows)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    if file.name == "confirmed.csv":
        main(file, CONFIRMED, CONFIRMED_EPSILONS, folds=False)
    else:
        main(file)
