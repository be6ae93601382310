"""Word lists beside the table they replace: how long they are, what a token costs, what renewing them oftener gains.

    python benchmarks/word_lists.py [--corpora nips 20newsgroups imdb] [--topics 128 200 512] [--documents 12000]
    python benchmarks/word_lists.py --renewals 1 4 --corpora nips --topics 1000 [--sweeps 120]

Nanoseconds of CPU time a token: a sweep over lists, and the best of three over the table from the same topics. With
``--renewals`` instead: perplexity of every tenth document from the last sweep's counts, seed 0, with that many
renewals a sweep. Corpora come from DISCREET_DATA.
"""

import argparse
import time

import numpy as np
from lda_peers import ALPHA, BETA

from discreet.evaluate import completion_perplexity
from discreet.lda.documents import read_documents
from discreet.lda.gibbs import frozen, lists
from discreet.lda.gibbs.state import State, count_topics, read_tokens, word_order
from lda import split


def seconds(work, *args, **known):
    start = time.process_time()
    answer = work(*args, **known)
    return answer, time.process_time() - start


def costs(name, tokens, n_topics):
    alpha, n = np.full(n_topics, ALPHA), len(tokens.words)
    memory, state = lists.empty_lists(tokens, n_topics), lists.init(tokens, n_topics, 0)
    table, order = frozen.empty_table(tokens.n_words, n_topics), word_order(tokens)
    for _ in range(100):
        state, spent = seconds(lists.step, state, tokens, alpha, BETA, lists=memory)
    counts = count_topics(tokens, state.topics, n_topics, order=memory.order)
    listed = np.count_nonzero(counts, axis=1)[tokens.words].mean()
    dense, times = State(state.topics, counts, 0, state.sweep), []
    for _ in range(3):
        dense, once = seconds(frozen.step, dense, tokens, alpha, BETA, memory=table, order=order)
        times.append(once)
    print(
        f"{name}, K = {n_topics}, sweep 100: lists {spent / n * 1e9:.0f} ns a token, table "
        f"{min(times) / n * 1e9:.0f}; a token's word has {listed:.0f} topics",
        flush=True,
    )


def renewals(name, tokens, test, n_topics, numbers, n_sweeps):
    alpha = np.full(n_topics, ALPHA)
    for number in numbers:
        lists.n_parts = lambda *_, number=number: number
        memory, state = lists.empty_lists(tokens, n_topics), lists.init(tokens, n_topics, 0)
        spent = 0.0
        for _ in range(n_sweeps):
            state, once = seconds(lists.step, state, tokens, alpha, BETA, lists=memory)
            spent += once
        counts = count_topics(tokens, state.topics, n_topics, order=memory.order)[:, :n_topics].T + BETA
        found = completion_perplexity(counts / counts.sum(axis=1, keepdims=True), test)
        print(
            f"{name}, K = {n_topics}, {number} renewals a sweep: {found:.1f} after {n_sweeps} sweeps, "
            f"{spent:.1f} CPU s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=["nips", "20newsgroups", "imdb"])
    parser.add_argument("--topics", nargs="+", type=int, default=[128, 200, 304, 512, 1000])
    parser.add_argument("--documents", type=int, default=12_000, help="at most so many of each corpus")
    parser.add_argument("--renewals", nargs="+", type=int)
    parser.add_argument("--sweeps", type=int, default=120)
    options = parser.parse_args()
    for name in options.corpora:
        train, test = split(name)
        tokens = read_tokens(read_documents(train[: options.documents]))
        for n_topics in options.topics:
            if options.renewals:
                renewals(name, tokens, test, n_topics, options.renewals, options.sweeps)
            else:
                costs(name, tokens, n_topics)


if __name__ == "__main__":
    main()
