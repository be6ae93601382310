"""What public word vectors add to 20 topics of randomised reports, and whether wrong ones are noticed.

    python experiments/local/vectors.py  # vectors.csv, minutes on one core

One split, seeded; epsilon is that of one word added or removed. "agreement" is by how many standard deviations the
vectors know better than chance which words go together in the reports; below 3.5 they are not used.
"""

import csv
import warnings

import numpy as np
from lines import DATA, HERE, N_WORDS, corpus, measures, randomised, symmetric

from discreet.corpus import match_vectors
from discreet.local import LocalLDA, Moments

CORPORA = {"kos": 430, "reuters21578": 2000, "20newsgroups": 2000}
EPSILONS = (0.5, 1, 2, 3)


def kinds_of(found):
    """No vectors, the right ones, wrong ones (dealt to other words, drawn at random), and half of the right ones."""
    known = np.isfinite(found.sum(1))
    rng = np.random.default_rng(0)
    shuffled, half = found.copy(), found.copy()
    shuffled[known] = rng.permutation(found[known])
    half[rng.permutation(np.flatnonzero(known))[: known.sum() // 2]] = np.nan
    drawn = np.where(known[:, None], rng.normal(size=found.shape), np.nan)
    return {"none": None, "right": found, "shuffled": shuffled, "random": drawn, "half": half}


def fitted(data, moments, channel, vectors):
    """Fit 20 topics: how far the vectors agree with the reports, whether they were used, learnable(), perplexity."""
    model = LocalLDA(20, channel=channel, random_state=0, allow_unlearnable=True, word_vectors=vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit_moments(moments, vocabulary=data.words, simulated=True)
    settings = model.release_.configuration
    used = vectors is not None and "word_vectors_not_used" not in settings
    perplexity, _, _ = measures(model.components_, model.release_.topic_weight, data)
    return settings.get("word_vectors_agreement", ""), used, model.learnable_, perplexity


def main():
    """Write vectors.csv, row by row."""
    with (HERE / "vectors.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("corpus", "epsilon", "vectors", "agreement", "used", "learnable", "perplexity"))
        for name, n_test in CORPORA.items():
            data = corpus(name, 0, n_test=n_test)
            found = match_vectors(DATA / "word-vectors" / "glove100.npz", data.words).vectors
            for epsilon in EPSILONS:
                channel = symmetric(epsilon)
                moments = Moments(N_WORDS, channel=channel)
                moments.add_batch(randomised(data.train, channel, 0), packed=True)
                for kind, vectors in kinds_of(found).items():
                    row = [name, epsilon, kind, *fitted(data, moments, channel, vectors)]
                    writer.writerow(row)
                    file.flush()
                    print(*row, flush=True)


if __name__ == "__main__":
    main()
