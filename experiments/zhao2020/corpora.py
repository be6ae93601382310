"""The corpora of Zhao et al. (2020), and CSV files that are written row by row.

One definition for all of their figures: presence (0 or 1) of the 1,000 words that stand in most documents, of
all words of the corpus (kos and nips have stop words among them, enron-spam came without), in all of its
documents; the test part is drawn at random, seed 0.

* kos: 3,000 and 430 documents, as in the paper; nips: 1,350 and 150.
* enron: the paper's Enron mails (UCI) were not to be had; the first 10,000 of ``enron-spam`` stand in, 360,188 tokens
  where the paper has 356,363. A fifth of them is the test part.
* FVENA, the paper's corpus of figure 7 (two novelists), was not to be had either, and nothing that resembles it.
"""

import csv
import os
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DISCREET_DATA", HERE.parents[2] / "shared" / "data"))
N_WORDS = 1000
#: Corpus and documents of its test part.
TEST = {"kos": 430, "nips": 150, "enron": 2000}
FOLDERS = {"enron": "enron-spam"}
FIRST = {"enron": 10_000}
#: Tokens of table II.
PUBLISHED = {"kos": 209_169, "nips": 410_753, "enron": 356_363}


def folder_of(name):
    folder = DATA / FOLDERS.get(name, name)
    if not folder.is_dir():
        sys.exit(f"there is no corpus at {folder}; set DISCREET_DATA to a folder that holds it")
    return folder


def present_words(name, *, by="documents", stop_words="kept"):
    """Presence of the 1,000 most frequent words, and the words."""
    folder = folder_of(name)
    counts = sp.load_npz(folder / "counts.npz").tocsr()[: FIRST.get(name)]
    words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    stop = (
        set() if stop_words == "kept" else set((DATA / "stopwords.txt").read_text(encoding="utf-8").split())
    )
    total = np.asarray((counts if by == "tokens" else counts > 0).sum(0)).ravel().astype(float)
    total[[column for column, word in enumerate(words) if word in stop]] = -1
    columns = np.sort(np.argsort(-total, kind="stable")[:N_WORDS])
    present = (counts[:, columns] > 0).astype(np.int32).tocsr()
    return present, [words[column] for column in columns]


def their_corpus(name):
    """Training and test part, and the words."""
    present, words = present_words(name)
    order = np.random.default_rng(0).permutation(present.shape[0])
    return present[order[TEST[name] :]].tocsr(), present[order[: TEST[name]]].tocsr(), words


class Rows:
    """A CSV file that is written row by row; what stands there already is not computed again."""

    def __init__(self, path, keys):
        self.path, self.keys, self.rows = Path(path), keys, []
        if self.path.exists():
            with self.path.open(newline="") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **key):
        wanted = {name: str(value) for name, value in key.items()}
        return any(wanted.items() <= row.items() for row in self.rows)

    def add(self, work, **key):
        """Write a row of ``key`` and of ``work()``, a dictionary, unless there is one."""
        assert tuple(key) == self.keys
        if self.has(**key):
            return
        row = {name: str(value) for name, value in (key | work()).items()}
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, row, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)
        print(self.path.stem, *row.values(), flush=True)

    def values(self, column, x, **key):
        """Sorted pairs of two columns, of the rows that have this key."""
        wanted = {name: str(value) for name, value in key.items()}
        return sorted((float(r[x]), float(r[column])) for r in self.rows if wanted.items() <= r.items())


def columns(pairs):
    """Two lists of a list of pairs, which may be empty: what a plot takes."""
    return [x for x, _ in pairs], [y for _, y in pairs]


def table_2():
    """Table II: tokens, by how "most frequent" is read."""
    rows = Rows(HERE / "corpora.csv", ("corpus", "most_frequent_by", "stop_words"))
    for name in TEST:
        for by in ("documents", "tokens"):
            for stop in ("kept", "dropped"):

                def work(name=name, by=by, stop=stop):
                    present, _ = present_words(name, by=by, stop_words=stop)
                    found = {"documents": present.shape[0], "tokens": int(present.sum())}
                    return found | {"tokens_in_the_paper": PUBLISHED[name]}

                rows.add(work, corpus=name, most_frequent_by=by, stop_words=stop)


if __name__ == "__main__":
    table_2()
