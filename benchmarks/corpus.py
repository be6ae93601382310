"""Speed of counting words, against scikit-learn's CountVectorizer, and of reading UCI files.

    python benchmarks/corpus.py [folder of corpora] [--rounds 5]

Each round runs both sides one after the other on the same texts, and swaps who is first; CPU time of this
process. The results are compared entry by entry before anything is timed.
"""

import argparse
import gzip
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from discreet.corpus import Corpus, Tokenizer, read_corpus, write_corpus

CASES = [
    ("default tokens", {}),
    ("[a-z]{3,}, stop words", {"token_pattern": "[a-z]{3,}", "stop_words": "english"}),
    ("words and pairs", {"ngram_range": (1, 2)}),
]


def seconds(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def read_texts(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def compare(name, ours, theirs, n_tokens, rounds):
    times = {"ours": [], "theirs": []}
    for turn in range(rounds):
        pair = [("ours", ours), ("theirs", theirs)]
        for side, work in pair if turn % 2 else reversed(pair):
            times[side].append(seconds(work)[0])
    a, b = statistics.median(times["ours"]), statistics.median(times["theirs"])
    ratios = [y / x for x, y in zip(times["ours"], times["theirs"], strict=True)]
    print(
        f"{name:52s} {n_tokens / a / 1e6:6.2f} {n_tokens / b / 1e6:8.2f} {b / a:7.2f}"
        f"   ({min(ratios):.2f} to {max(ratios):.2f})"
    )


def text_cases(path, rounds):
    corpus_name = path.parent.name
    texts = read_texts(path)
    for name, options in CASES:
        tokenizer = Tokenizer(**options)
        ours = Corpus.from_texts(texts, tokenizer=tokenizer)
        vectorizer = CountVectorizer(**options)
        theirs = vectorizer.fit_transform(texts)
        assert tuple(vectorizer.get_feature_names_out()) == ours.vocabulary
        assert (ours.counts != theirs).nnz == 0
        compare(
            f"{corpus_name}, in memory, {name}",
            lambda tokenizer=tokenizer: Corpus.from_texts(texts, tokenizer=tokenizer),
            lambda options=options: CountVectorizer(**options).fit_transform(texts),
            ours.n_tokens,
            rounds,
        )
    compare(
        f"{corpus_name}, from the .jsonl.gz, default tokens",
        lambda: read_corpus(path),
        lambda: CountVectorizer().fit_transform(read_texts(path)),
        read_corpus(path).n_tokens,
        rounds,
    )


def uci_case(rounds):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.02, (2000, 50_000))
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("txt", "txt.gz"):
            path = Path(folder) / f"docword.made.{ending}"
            write_corpus(Corpus(counts, [f"w{i}" for i in range(50_000)]), path)
            spent = [seconds(lambda path=path: read_corpus(path))[0] for _ in range(rounds)]
            n_entries = np.count_nonzero(counts)
            rate = n_entries / statistics.median(spent) / 1e6
            print(f"UCI .{ending}: {rate:.1f} million entries a second, {n_entries} entries")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("folder", type=Path, nargs="?", default=default)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(
        f"{'million tokens a second of CPU time, median':52s} {'ours':>6s} {'sklearn':>8s} {'ratio':>7s}   (each round)"
    )
    for name in ("20newsgroups", "tweets-emoji"):
        text_cases(options.folder / name / "texts.jsonl.gz", options.rounds)
    uci_case(options.rounds)


if __name__ == "__main__":
    main()
