"""The corpora and splits that benchmarks and experiments share."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


class Split(NamedTuple):
    """Training and test counts on the same words."""

    train: sp.csr_matrix
    test: sp.csr_matrix
    vocabulary: list[str]


def load(name: str, n_words: int, *, shortest: int = 6) -> Split:
    """Load a corpus on its ``n_words`` words of highest document frequency in the training part.

    nyt comes with its published split; of the others a random tenth (300 to 2,000 documents, seed 0) is held out.
    Documents with fewer than ``shortest`` tokens are left out. The words are taken as public.
    """
    folder = DATA / name
    if not folder.is_dir():
        sys.exit(f"there is no corpus at {folder}; set DISCREET_DATA to a folder that holds it")
    counts = sp.load_npz(folder / "counts.npz").tocsr()
    words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    if name == "nyt":
        part = np.array((folder / "split.txt").read_text().split())
        train, test = counts[part == "train"], counts[part == "test"]
    else:
        order = np.random.default_rng(0).permutation(counts.shape[0])
        n_test = max(300, min(2000, counts.shape[0] // 10))
        train, test = counts[order[n_test:]], counts[order[:n_test]]
    frequency = np.asarray((train > 0).sum(0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:n_words])
    train, test = train[:, kept].tocsr(), test[:, kept].tocsr()
    train = train[np.asarray(train.sum(1)).ravel() >= shortest]
    test = test[np.asarray(test.sum(1)).ravel() >= shortest]
    return Split(train, test, [words[column] for column in kept])
