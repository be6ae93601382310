"""Trainers behind one face, for ``benchmarks/lda.py``: each trains LDA with fixed, symmetric priors.

A trainer takes counts and, for a rising list of sweeps, says what topics it has after each. Trainers that can go on
from where they stopped do; the others begin anew each time, and the time of a run of one sweep is what gives
their start-up away.
"""

import contextlib
import importlib.util
import io
import logging
from itertools import pairwise

import numpy as np

ALPHA, BETA = 0.1, 0.01


def documents_as_ids(counts):
    repeated = np.repeat(counts.indices, counts.data)
    ends = np.concatenate([[0], np.cumsum(counts.data)])[counts.indptr]
    return [repeated[a:b] for a, b in pairwise(ends)]


def rows_by_name(topics, names, n_words, read):
    """Columns in the peer's order of words -> ours; rows sum to 1."""
    full = np.zeros((len(topics), n_words))
    full[:, [read(name) for name in names]] = topics
    if (full == 0).any():  # raw counts
        full = full + BETA
    return full / full.sum(axis=1, keepdims=True)


class Discreet:
    package, resumes = "discreet", True

    def __init__(self, n_threads=1, mean=True):
        self.n_threads, self.mean = n_threads, mean

    def prepare(self, counts, n_topics, seed):
        from discreet.lda.documents import read_documents
        from discreet.lda.gibbs.estimator import chain
        from discreet.lda.gibbs.state import read_tokens

        tokens = read_tokens(read_documents(counts))
        alpha, self.n_topics, self.done = np.full(n_topics, ALPHA), n_topics, 0
        self.state, self.step, self.table = chain(tokens, alpha, BETA, seed, n_threads=self.n_threads)

    def train(self, n_sweeps):
        """Go on to ``n_sweeps``, and take the mean that ``GibbsLDA(n_sweeps=n_sweeps)`` takes, or the last sweep."""
        from discreet.lda.gibbs.estimator import is_sampled

        self.sampled = []
        while self.done < n_sweeps:
            self.state = self.step(self.state)
            self.done += 1
            if self.done == n_sweeps or (self.mean and is_sampled(self.done, n_sweeps, fast=False)):
                self.sampled.append(self.table(self.state)[:, : self.n_topics].T)

    def topics(self):
        counts = np.mean(self.sampled, axis=0) + BETA
        return counts / counts.sum(axis=1, keepdims=True)


class Tomotopy:
    package, resumes = "tomotopy", True

    def prepare(self, counts, n_topics, seed):
        import tomotopy

        self.n_words, self.done = counts.shape[1], 0
        self.model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=seed + 1)
        self.model.optim_interval = 0
        for ids in documents_as_ids(counts):
            if len(ids):
                self.model.add_doc([f"w{i}" for i in ids])
        self.model.train(0)

    def train(self, n_sweeps):
        self.model.train(n_sweeps - self.done, workers=1)
        self.done = n_sweeps

    def topics(self):
        topics = np.array([self.model.get_topic_word_dist(k) for k in range(self.model.k)])
        return rows_by_name(topics, self.model.used_vocabs, self.n_words, lambda name: int(name[1:]))


class Topica:
    package, resumes = "topica", False

    def __init__(self, sampler, n_samples=1):
        self.sampler, self.n_samples = sampler, n_samples

    def prepare(self, counts, n_topics, seed):
        import topica

        self.n_words, self.n_topics, self.seed = counts.shape[1], n_topics, seed + 1
        self.corpus = topica.Corpus.from_documents([[f"w{i}" for i in d] for d in documents_as_ids(counts)])

    def train(self, n_sweeps):
        import topica

        self.model = topica.LDA(
            self.n_topics,
            alpha_sum=ALPHA * self.n_topics,
            beta=BETA,
            optimize_interval=0,
            burn_in=0,
            seed=self.seed,
            sampler=self.sampler,
            use_symmetric_alpha=True,
        )
        self.model.fit(
            self.corpus,
            iters=n_sweeps,
            num_samples=self.n_samples,
            sample_interval=max(1, n_sweeps // 20),
            keep_theta_draws=False,
        )

    def topics(self):
        return rows_by_name(
            self.model.topic_word, self.model.vocabulary, self.n_words, lambda name: int(name[1:])
        )


class PyRMallet:
    package, resumes = "pyrmallet", False

    @staticmethod
    def write(i):
        """A number as a word of letters, which any tokenizer leaves whole."""
        letters = ""
        for _ in range(4):
            letters += chr(97 + i % 26)
            i //= 26
        return f"q{letters}x"

    def prepare(self, counts, n_topics, seed):
        self.n_words, self.n_topics, self.seed = counts.shape[1], n_topics, seed + 1
        self.words = [self.write(i) for i in range(self.n_words)]
        self.texts = [" ".join(self.words[i] for i in d) for d in documents_as_ids(counts)]

    def train(self, n_sweeps):
        import pyrmallet

        self.model = pyrmallet.LatentDirichletAllocation(
            n_components=self.n_topics,
            doc_topic_prior=ALPHA * self.n_topics,
            topic_word_prior=BETA,
            max_iter=n_sweeps,
            random_state=self.seed,
            optimize_interval=0,
            burn_in=0,
            num_samples=1,
        )
        self.model.fit(self.texts)

    def topics(self):
        place = {word: i for i, word in enumerate(self.words)}
        return rows_by_name(
            self.model.components_, self.model.feature_names_in_, self.n_words, lambda name: place[name]
        )


class Lda:
    package, resumes = "lda", False

    def prepare(self, counts, n_topics, seed):
        self.counts, self.n_topics, self.seed = counts.astype(np.int64), n_topics, seed
        logging.getLogger("lda").setLevel(logging.ERROR)

    def train(self, n_sweeps):
        import lda

        self.model = lda.LDA(
            self.n_topics, n_iter=n_sweeps, alpha=ALPHA, eta=BETA, random_state=self.seed, refresh=10**6
        )
        with contextlib.redirect_stderr(io.StringIO()):
            self.model.fit(self.counts)

    def topics(self):
        return self.model.topic_word_


class ScikitLearn:
    package, resumes = "sklearn", False

    def prepare(self, counts, n_topics, seed):
        self.counts, self.n_topics, self.seed = counts, n_topics, seed

    def train(self, n_sweeps):
        from sklearn.decomposition import LatentDirichletAllocation

        self.model = LatentDirichletAllocation(
            self.n_topics,
            doc_topic_prior=ALPHA,
            topic_word_prior=BETA,
            learning_method="batch",
            max_iter=n_sweeps,
            random_state=self.seed,
        ).fit(self.counts)

    def topics(self):
        return self.model.components_ / self.model.components_.sum(axis=1, keepdims=True)


class Gensim:
    package, resumes = "gensim", True

    def prepare(self, counts, n_topics, seed):
        import gensim

        self.corpus = [
            list(zip(counts.indices[a:b].tolist(), counts.data[a:b].tolist(), strict=True))
            for a, b in pairwise(counts.indptr)
        ]
        self.done = 0
        self.model = gensim.models.LdaModel(
            num_topics=n_topics,
            id2word={i: str(i) for i in range(counts.shape[1])},
            alpha=np.full(n_topics, ALPHA, np.float32),
            eta=BETA,
            random_state=seed,
            eval_every=None,
        )

    def train(self, n_sweeps):
        self.model.update(self.corpus, passes=n_sweeps - self.done)
        self.done = n_sweeps

    def topics(self):
        return self.model.get_topics().astype(float)


GIBBS, MEAN, LONG, SLOW, VB = (
    (40, 160, 320),
    (80, 160, 320),
    (10, 40, 80, 160, 320, 480, 640, 1280),
    (10, 40, 160),
    (2, 5, 10, 20, 40),
)

#: name: (trainer, sweeps after which to look)
TRAINERS = {
    "discreet frozen": (Discreet, LONG),
    "discreet frozen, last": (lambda: Discreet(mean=False), LONG),
    "topica sparse": (lambda: Topica("sparse"), GIBBS),
    "topica sparse, mean": (lambda: Topica("sparse", 5), MEAN),
    "topica warp": (lambda: Topica("warp"), (40, 160, 320, 640, 1280)),
    "tomotopy": (Tomotopy, GIBBS),
    "pyrmallet": (PyRMallet, GIBBS),
    "lda": (Lda, SLOW),
    "scikit-learn VB": (ScikitLearn, VB),
    "gensim VB": (Gensim, VB),
}


def installed(name):
    return importlib.util.find_spec(TRAINERS[name][0]().package) is not None
