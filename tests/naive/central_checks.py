"""Checks of a private statistic, and corpora to check on. Real kernels must pass them; planted mistakes must not."""

import math

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy import stats

from discreet.central.sums.units import ShardedUnits
from discreet.corpus import Corpus, write_shards
from discreet.privacy.mechanism import BITS


def csr(rows, n_words=None):
    matrix = sp.csr_matrix(np.atleast_2d(np.asarray(rows, dtype=np.int32)))
    matrix.sort_indices()
    assert n_words is None or matrix.shape[1] == n_words
    return matrix


def square_norm(integers):
    return sum(value * value for value in np.ravel(integers).tolist())


def units_fit_the_lattice(total, counts, persons=None, bits=BITS):
    """Whether each unit alone has an exact integer norm of at most 2**bits."""
    return all(
        square_norm(total(counts[rows], None if persons is None else persons[rows])) <= 4**bits
        for rows in rows_of_units(counts, persons)
    )


def moves_by_at_most_one(total, counts, persons=None, bits=BITS):
    """Whether removing any one unit moves ``total(counts, persons)`` by at most 2**bits in L2, exactly."""
    everything = total(counts, persons)
    for rows in rows_of_units(counts, persons):
        rest = np.setdiff1d(np.arange(counts.shape[0]), rows)
        less = total(counts[rest], None if persons is None else persons[rest])
        if less.shape != everything.shape or square_norm(everything - less) > 4**bits:
            return False
    return True


def rows_of_units(counts, persons):
    if persons is None:
        return [np.array([row]) for row in range(counts.shape[0])]
    return [np.flatnonzero(persons == person) for person in np.unique(persons)]


def noise_has_scale(noise, scale):
    """p-value that the entries are a centred normal of this scale."""
    return float(stats.kstest(np.ravel(noise) / scale, "norm").pvalue)


def independent(first, second):
    """p-value that two arrays of noise have nothing to do with each other."""
    return float(stats.pearsonr(np.ravel(first), np.ravel(second)).pvalue)


def random_counts(n_documents, n_words, seed, mean=0.4):
    return csr(np.random.default_rng(seed).poisson(mean, (n_documents, n_words)))


def same_for_any_threads_and_order(statistic):
    """Whether ``statistic(counts, persons, n_jobs)`` has the same bytes for any threads and order of documents."""
    counts = random_counts(200, 30, 1)
    persons = np.random.default_rng(2).integers(0, 60, 200)
    order = np.random.default_rng(3).permutation(200)
    same = []
    for given, permuted in ((None, None), (persons, persons[order])):
        reference = statistic(counts, given, 1).tobytes()
        same += [statistic(counts, given, n).tobytes() == reference for n in (2, 4, 300)]
        same.append(statistic(counts[order], permuted, 2).tobytes() == reference)
    return all(same)


def in_memory_and_in_shards(folder, owned):
    """Return counts of 12 words, their persons, and the same units in shards."""
    counts = random_counts(120, 12, 3)
    persons = np.arange(120) // 3 if owned else None
    words = [f"w{i}" for i in range(12)]
    shards = write_shards(Corpus(counts, words, persons), folder / "s", shard_documents=17)
    return counts, persons, ShardedUnits(shards.shards, 12)


def block_corpus(n_documents, n_topics=4, words_a_topic=25, length=40, seed=0):
    """Documents of one or two planted topics, each a block of words of its own, with uneven frequencies."""
    rng = np.random.default_rng(seed)
    n_words = n_topics * words_a_topic
    truth = np.zeros((n_topics, n_words))
    for topic in range(n_topics):
        block = slice(topic * words_a_topic, (topic + 1) * words_a_topic)
        truth[topic, block] = 1 / np.arange(2, words_a_topic + 2)
    truth /= truth.sum(1, keepdims=True)
    shares = rng.dirichlet(np.full(n_topics, 0.15), n_documents)
    return csr([rng.multinomial(length, share @ truth) for share in shares]), truth


def overlap(found, truth):
    """Mean, over planted topics, of one minus the total variation to the nearest found topic."""
    return float(np.mean([max(np.minimum(row, topic).sum() for row in found) for topic in truth]))


def perplexity_of_unigram(counts):
    share = np.asarray(counts.sum(0)).ravel() / counts.sum()
    return math.exp(-float((share[share > 0] * np.log(share[share > 0])).sum()))


@st.composite
def corpora(draw, n_words=5, most=5):
    """Small corpora with persons: empty documents, single tokens, huge counts, people with many documents."""
    count = st.one_of(st.just(0), st.integers(0, 3), st.sampled_from([1, 1000, 2**24 + 1, 2**31 - 1]))
    rows = draw(st.lists(st.lists(count, min_size=n_words, max_size=n_words), min_size=1, max_size=most))
    persons = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    return csr(rows), np.array(persons, dtype=np.int64)
