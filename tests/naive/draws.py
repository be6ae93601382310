"""Slow, obvious twins of the sweeps' draws, in NumPy, operation by operation: hence the same topics."""

import numpy as np
from tests.naive.gibbs import MASK, splitmix

GOLDEN = 0x9E3779B97F4A7C15
#: Draws of one token, of which all but the last may be refused.
MOST_DRAWS = 64
LANES = 16


def stream_at(start, i):
    return splitmix((start + (i + 1) * GOLDEN) & MASK)


def choose(products, rest, bits):
    """Draw an entry of (n_blocks, LANES) weights; -1 where the draw falls into the rest."""
    cumulated = products.copy()
    for b in range(1, len(cumulated)):
        cumulated[b] += cumulated[b - 1]
    last = cumulated[-1]
    prefix, half = last.copy(), 1
    while half < LANES:
        for start in range(half, LANES, 2 * half):
            prefix[start : start + half] += prefix[start - 1]
        half *= 2
    target = (prefix[-1] + rest) * np.float32((int(bits) >> 40) * 2.0**-24)
    lane = int(np.count_nonzero(prefix <= target))
    if lane == LANES:
        return -1
    remainder = target - (prefix[lane - 1] if lane else np.float32(0))
    remainder = min(remainder, np.nextafter(last[lane], np.float32(0)))
    return LANES * int(np.count_nonzero(cumulated[:-1, lane] <= remainder)) + lane


def draw_topic(counts, prior, row, bits):
    topic = choose(((counts + prior) * row).reshape(-1, LANES), np.float32(0), bits)
    return len(row) if topic < 0 else topic  # only a row that is not positive and finite


def from_table(draws, first, last, workspace=None, blocks=()):
    """Draw topics from a fixed table; arguments as for ``frozen.draw_documents``."""
    tokens, own, top = draws.tokens, draws.own, draws.n_topics - 1
    for d in range(first, last):
        start, end = int(tokens.indptr[d]), int(tokens.indptr[d + 1])
        counts = np.bincount(draws.topics[start:end], minlength=draws.table.shape[1]).astype(np.float32)
        stream = splitmix(int(draws.key) ^ splitmix(d))
        for i in range(start, end):
            old, row = draws.topics[i], draws.table[tokens.words[i]]
            counts[old] -= 1
            word = stream_at(stream, i - start)
            new = min(draw_topic(counts, draws.prior, row, word), top)
            if len(own):
                left = (row[old] - own[0, old]) * own[1, old] * np.float32(2.0**24)
                again = splitmix(word)
                for attempt in range(1, MOST_DRAWS + 1):
                    if new != old or np.float32(word & 0xFFFFFF) * row[old] < left:
                        break
                    word = stream_at(again, attempt)
                    new = min(draw_topic(counts, draws.prior, row, word), top)
                    new = old if attempt == MOST_DRAWS else new
            counts[new] += 1
            draws.topics[i] = new


def from_lists(draws, first, last, workspace=None):
    """Draw topics from fixed lists; arguments as for ``lists.draw_documents``."""
    tokens, lists, beta = draws.tokens, draws.lists, draws.beta
    prior, scale, rise = draws.laws
    base = 0.0
    for k in range(draws.n_topics):
        base += float(prior[k]) * float(scale[k])
    for d in range(first, last):
        begin, end = int(tokens.indptr[d]), int(tokens.indptr[d + 1])
        counts = np.bincount(draws.topics[begin:end], minlength=len(prior)).astype(np.float32)
        total = base
        for k in draws.topics[begin:end]:
            total += float(scale[k])
        stream = splitmix(int(draws.key) ^ splitmix(d))
        for i in range(begin, end):
            old, w = int(draws.topics[i]), tokens.words[i]
            entries = slice(LANES * int(lists.starts[w]), LANES * int(lists.starts[w] + lists.sizes[w]))
            those, theirs = lists.topics[entries], lists.weights[entries]
            counts[old] -= 1
            total -= float(scale[old])
            factors = (counts + prior) * scale
            word = draw_word = stream_at(stream, i - begin)
            new = old
            for attempt in range(1, MOST_DRAWS + 1):
                products = (theirs * factors[those]).reshape(-1, LANES)
                entry = choose(products, beta * np.float32(total), word)
                if entry >= 0:
                    new, count = int(those[entry]), theirs[entry]
                else:
                    aside = stream_at(splitmix(word), 0)
                    new = min(draw_topic(counts, prior, scale, aside), draws.n_topics - 1)
                    count = theirs[those == new].sum(dtype=np.float32)
                without = (count - np.float32(1) + beta) * rise[old] * np.float32(2.0**24)
                if new != old or np.float32(word & 0xFFFFFF) * (count + beta) < without:
                    break
                word = stream_at(splitmix(draw_word), attempt)
                new = old
            counts[new] += 1
            total += float(scale[new])
            draws.topics[i] = new
