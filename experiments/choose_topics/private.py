"""How often are far too many topics chosen privately? Planted corpora, small and large, with noise and without.

``python experiments/choose_topics/private.py`` prints, for each number of documents and each epsilon, how often which
candidate was chosen, over planted numbers of topics of 2, 3 and 5 and ``--seeds`` corpora of each; and writes
``private.csv`` beside itself. Documents have 20 words of 60, drawn from mixed topics.
"""

import argparse
import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np

from discreet.central import choose_n_topics_privately

PLANTED, MORE = (2, 3, 5), 20


def corpus(n_topics: int, n: int, seed: int) -> np.ndarray:
    """Return counts of documents that mix so many topics."""
    rng = np.random.default_rng(seed)
    topics, shares = rng.dirichlet(np.full(60, 0.1), n_topics), rng.dirichlet(np.full(n_topics, 0.3), n)
    return np.array([rng.multinomial(20, words) for words in shares @ topics])


def main(sizes: list[int], epsilons: list[float], seeds: int) -> None:
    """Choose for each corpus, and count."""
    rows = []
    for epsilon in epsilons:
        for n in sizes:
            chosen = Counter()
            for planted in PLANTED:
                for seed in range(seeds):
                    found = choose_n_topics_privately(
                        corpus(planted, n, seed),
                        sorted({2, planted, MORE}),
                        epsilon=epsilon,
                        random_state=seed,
                        allow_unlearnable=True,
                    )
                    n_topics = found.n_topics
                    kind = (
                        "far too many" if n_topics == MORE else "planted" if n_topics == planted else "fewer"
                    )
                    chosen[kind] += 1
            row = {"epsilon": epsilon, "documents": n, "runs": len(PLANTED) * seeds}
            row |= {kind: chosen[kind] for kind in ("fewer", "planted", "far too many")}
            rows.append(row)
            print(row, flush=True)
    with Path(__file__).with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[150, 300, 1000, 3000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[math.inf, 4.0, 1.0])
    parser.add_argument("--seeds", type=int, default=16)
    given = parser.parse_args()
    main(given.sizes, given.epsilons, given.seeds)
