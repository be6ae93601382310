"""Corpora, trainers and cached shadow statistics that the parts of this experiment share."""

import csv
import gzip
import json
import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from joblib import Memory, Parallel, delayed

from discreet.audit import AuditReport, likelihood_ratio_scores
from discreet.audit.shadows import draw_halves, train_statistics
from discreet.lda import VariationalLDA

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DISCREET_DATA", HERE.parents[2] / "shared" / "data"))
#: Finished models' statistics; they tell who was in which half, so they are kept out of the repository.
CACHE = Path(os.environ.get("DISCREET_CACHE", Path(tempfile.gettempdir()) / "discreet-membership"))
FPR = 1e-3
#: Targets pooled, save where said otherwise.
TARGETS = 10

#: Corpus, topics, shadows, targets of table 1 and figure 2.
TABLE1 = (("tweetrumors", 5, 128, 10), ("nips", 10, 128, 10), ("20newsgroups", 20, 112, 5))
#: The posts again, with as many words as in the paper.
ALL_WORDS, N_ALL_WORDS = "20newsgroups-all", 74_781
_QUOTED = re.compile(r"^\s*[>|:]|^In article|^Quoted from|writes in|writes:|wrote:|says:|said:")


def plan(scale):
    """Return the number of shadows and targets for nips."""
    return max(4, int(128 * scale) // 2 * 2), TARGETS


def load_posts():
    """Count words of three or more letters, but no stop words, in the posts' own lines, rare words included.

    Of 88,000 such words those of most posts are kept; which of the words that stand in one post only, a seed decides.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    with gzip.open(DATA / "20newsgroups" / "texts.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"].partition("\n\n")[2] for line in file]
    own = ["\n".join(line for line in text.split("\n") if not _QUOTED.search(line)) for text in texts]
    stop = (DATA / "stopwords.txt").read_text(encoding="utf-8").split()
    words = CountVectorizer(stop_words=stop, token_pattern=r"(?u)\b[a-zA-Z]{3,}\b", dtype=np.int32)
    counts = words.fit_transform(own).tocsc()
    frequency = np.diff(counts.indptr) + np.random.default_rng(0).random(counts.shape[1]) / 2
    kept = np.sort(np.argsort(-frequency)[:N_ALL_WORDS])
    counts = counts[:, kept].tocsr()
    return counts[np.flatnonzero(counts.getnnz(axis=1))], words.get_feature_names_out()[kept].tolist()


def load(name):
    """Return counts (documents x words) and the words."""
    folder = DATA / name.removesuffix("-all")
    if not folder.is_dir():
        raise SystemExit(f"there is no corpus at {folder}; set DISCREET_DATA to a folder that holds it")
    if name == ALL_WORDS:
        return load_posts()
    words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return sp.load_npz(folder / "counts.npz").tocsr(), words


def default_vb(n_topics):
    """Batch variational Bayes at scikit-learn's defaults: both priors 1 / K, 10 passes, tolerance .001."""

    def train(counts, seed):
        model = VariationalLDA(
            n_topics,
            doc_topic_prior=1 / n_topics,
            topic_word_prior=1 / n_topics,
            max_iter=10,
            tol=0.0,
            init="random",
            random_state=seed,
            n_jobs=1,
        )
        return model.fit(counts).components_

    return train


def draw(counts, n_shadows, n_targets, seed=0):
    """Return members and seeds of shadows (halves and complements) and of targets (random halves of their own)."""
    halves, coins, seeds = np.random.SeedSequence(seed).spawn(3)
    n = counts.shape[0]
    inside = draw_halves(n, n_shadows, np.random.default_rng(halves))
    rng = np.random.default_rng(coins)
    # The targets of the paper are trained on half of the documents, as are the shadows.
    members = np.array([rng.permutation(n) < n // 2 for _ in range(n_targets)])
    drawn = np.random.default_rng(seeds).integers(2**31 - 1, size=TARGETS + n_shadows).tolist()
    return inside, members, drawn[TARGETS:], drawn[:n_targets]


def statistics(name, counts, train, n_shadows, n_targets, seed=0, n_jobs=2):
    """Train shadows and targets; return statistics and members of both, and the CPU seconds it took (0 if cached)."""
    inside, members, shadow_seeds, target_seeds = draw(counts, n_shadows, n_targets, seed)
    started = time.process_time()
    kept = Memory(CACHE, verbose=0).cache(statistic_of, ignore=["train"])
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(kept)(name, counts, row, model_seed, train)
        for row, model_seed in zip([*inside, *members], [*shadow_seeds, *target_seeds], strict=True)
    )
    shadows, targets = np.array(found[:n_shadows]), np.array(found[n_shadows:])
    return shadows, inside, targets, members, target_seeds, time.process_time() - started


def statistic_of(name, counts, members, seed, train):
    """Train one model, called by the name of its trainer; return what all documents say to it."""
    return train_statistics(train, counts, members[np.newaxis], [seed], n_jobs=1)[0]


def attack(shadows, inside, targets, members, *, online=True):
    scores = likelihood_ratio_scores(targets, shadows, inside, online=online)
    return AuditReport(scores, members, "LiRA")


class Table:
    """A CSV file that is written row by row and knows which rows it has."""

    def __init__(self, name, keys, values):
        self.path, self.keys, self.fields = HERE / f"{name}.csv", keys, [*keys, *values]
        self.rows = []
        if self.path.exists():
            with self.path.open(newline="") as file:
                self.rows = [row for row in csv.DictReader(file) if list(row) == self.fields]

    def has(self, **key):
        return any(all(row[k] == str(v) for k, v in key.items()) for row in self.rows)

    def add(self, **row):
        row = {k: f"{row[k]:.5g}" if isinstance(row[k], float) else str(row[k]) for k in self.fields}
        self.rows.append(row)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        print(self.path.stem, " ".join(row.values()), flush=True)
