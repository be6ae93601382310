"""Tokens a second of word-level private training beside non-private tomotopy, interleaved in one run.

    python benchmarks/word_level.py [--rounds 7] [--corpus nips]

K = 50, V = 1,000, all tokens of the corpus, one thread each; CPU time of whole sweeps. Private sweeps count
everything: counting, noise on both tables from a secure source, secure words for the draws, and the draws. Needs
tomotopy.
"""

import argparse
import statistics
import time

import numpy as np
import tomotopy
from real_corpora import load

from discreet import Ledger
from discreet.central.word_level import hybrid_gibbs
from discreet.central.word_level.cost import table_mechanism, total_event
from discreet.lda.documents import read_documents
from discreet.lda.gibbs import frozen
from discreet.lda.gibbs.state import begin, read_tokens, word_order
from discreet.privacy import SecureStream

N_TOPICS, SWEEPS = 50, 5


def private(counts, noise):
    """A function that does SWEEPS private sweeps."""
    mechanism = table_mechanism(noise, 1.0, 1e-6)
    ledger = Ledger(1e9, 1e-6, privacy_unit="word", neighboring="replace_one")
    reservation = ledger.reserve(total_event(mechanism, 10**6), "a benchmark")
    stream = SecureStream()
    tokens = read_tokens(read_documents(counts))
    settings = hybrid_gibbs.Settings(N_TOPICS, 0.1, 0.01, mechanism)
    state = hybrid_gibbs.init(tokens, settings, stream)

    def run():
        nonlocal state
        for _ in range(SWEEPS):
            state, _ = hybrid_gibbs.step(state, tokens, settings, stream, reservation)

    return run, len(tokens.words)


def gibbs(counts):
    """The non-private frozen sweep, single precision."""
    tokens = read_tokens(read_documents(counts))
    alpha = np.full(N_TOPICS, 0.1)
    memory, order = frozen.empty_table(tokens.n_words, N_TOPICS), word_order(tokens)
    state = begin(tokens, N_TOPICS, 0)

    def run():
        nonlocal state
        for _ in range(SWEEPS):
            state = frozen.step(state, tokens, alpha, 0.01, memory=memory, order=order)

    return run, len(tokens.words)


def theirs(counts):
    model = tomotopy.LDAModel(k=N_TOPICS, alpha=0.1, eta=0.01, seed=1)
    for row in range(counts.shape[0]):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        words = np.repeat(counts.indices[part], counts.data[part])
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(0)

    def run():
        model.train(SWEEPS, workers=1)

    return run, model.num_words


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--corpus", default="nips")
    options = parser.parse_args()
    counts = load(options.corpus, 1000).train
    contestants = {
        "private, discrete Laplace": private(counts, "laplace"),
        "private, rounded Gaussian": private(counts, "gaussian"),
        "tomotopy, not private": theirs(counts),
        "GibbsLDA frozen, not private": gibbs(counts),
    }
    times = {name: [] for name in contestants}
    for turn in range(options.rounds + 1):
        for name, (run, _) in contestants.items():
            start = time.process_time()
            run()
            if turn:  # the first compiles, and starts from random topics
                times[name].append(time.process_time() - start)
    print(
        f"{options.corpus}: {counts.shape[0]} documents, {int(counts.sum())} tokens; tomotopy {tomotopy.__version__}"
    )
    for name, (_, n_tokens) in contestants.items():
        speeds = [SWEEPS * n_tokens / seconds / 1e6 for seconds in times[name]]
        low, high = min(speeds), max(speeds)
        print(f"{name:30} {statistics.median(speeds):6.1f} M tokens/s  ({low:.1f} to {high:.1f})")


if __name__ == "__main__":
    main()
