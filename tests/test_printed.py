"""Algorithms as printed, which experiments/ runs beside the library's: their laws, their noise, and no promise."""

import importlib
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.naive import word_level as naive

EXPERIMENTS = Path(__file__).parents[1] / "experiments"


@pytest.fixture
def gibbs(monkeypatch):
    monkeypatch.syspath_prepend(EXPERIMENTS / "zhao2020")
    return importlib.import_module("printed_gibbs")


@pytest.fixture
def counts():
    return csr_matrix(np.random.default_rng(0).poisson(0.3, (60, 25)))


def test_nothing_is_promised(gibbs, monkeypatch):
    assert math.inf == gibbs.PROMISE
    source = (EXPERIMENTS / "wang2020" / "printed_fedlda.py").read_text()
    assert "PROMISE = math.inf" in source


def test_a_sweep_has_the_law_of_live_counts(gibbs):
    """Three tokens in two documents, two topics: frequencies of all eight outcomes against exact fractions."""
    words, documents, before = (0, 1, 0), (0, 0, 1), (0, 1, 1)
    table = naive.exact_table(words, before, 2, 2).tolist()
    law = np.array(
        [
            float(
                naive.live_sweep_probability(
                    words, documents, before, after, table, Fraction(1), Fraction(1, 2), 99
                )
            )
            for after in naive.all_topics(3, 2)
        ]
    )
    assert law.sum() == pytest.approx(1)
    found, n, rng = np.zeros(8), 20_000, np.random.default_rng(0)
    for _ in range(n):
        topics = np.array(before)
        by_word = naive.exact_table(words, before, 2, 2).T.astype(float)
        by_document = np.array([[1.0, 1.0], [0.0, 1.0]])
        tables = by_word, by_word.sum(0), by_document
        gibbs.sweep(
            np.array(documents),
            np.array(words),
            topics,
            *tables,
            0.5,
            1.0,
            math.inf,
            -math.inf,
            rng.random(3),
        )
        found[topics @ [4, 2, 1]] += 1
    chi_square = ((found - n * law) ** 2 / (n * law)).sum()
    assert chi_square < 24.3  # 7 degrees of freedom, one in a thousand


def test_hdp_lda_cuts_counts_from_above_only(gibbs):
    """At C = 0 all counts read as 0, whatever they are: topics of words are drawn by sizes and the document alone."""
    topics = np.zeros(1, np.int64)
    by_word = np.array([[50.0, -3.0]])
    gibbs.sweep(
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        topics,
        by_word,
        np.array([50.0, 2.0]),
        np.array([[1.0, 0.0]]),
        1.0,
        1.0,
        0.0,
        -math.inf,
        np.array([1e-9]),
    )
    assert topics[0] == 0  # (0 + 1) / 50 against least weight for -3 + 1
    assert by_word.tolist() == [[50.0, -3.0]]


def noise_of(run):
    """What both tables hold beyond the exact counts of the topics."""
    return [noisy - exact for noisy, exact in zip((run.by_word, run.by_document), run.exact(), strict=True)]


def test_hdp_lda_adds_noise_in_place(gibbs, counts):
    spreads = []

    def watch(run, before):
        words, documents = noise_of(run)
        spreads.append(words.var())
        assert not documents.any()  # HDP-LDA leaves documents exact

    gibbs.hdp_lda(counts, 40, 1.0, 0.5, 9, 0, clip=10.0, epsilon_noise=0.5, watch=watch)
    one = 2 * (2 / 0.5) ** 2
    assert spreads[0] == pytest.approx(one, rel=0.3)
    assert spreads[8] == pytest.approx(9 * one, rel=0.3)  # a random walk


@pytest.mark.parametrize(("every", "in_place"), [(False, False), (True, False), (True, True)])
def test_cdp_lda_noises_both_tables(gibbs, counts, every, in_place):
    seen = []
    gibbs.cdp_lda(
        counts,
        40,
        1.0,
        0.01,
        4,
        0,
        epsilon=0.25,
        every=every,
        in_place=in_place,
        watch=lambda run, before: seen.append(noise_of(run)),
    )
    one = 2 * 4**2
    for table in (0, 1):
        assert seen[0][table].var() == pytest.approx(one, rel=0.3)
        assert seen[3][table].var() == pytest.approx(one * (4 if in_place else 1), rel=0.3)
        fresh = np.corrcoef(seen[0][table].ravel(), seen[3][table].ravel())[0, 1]
        assert fresh == pytest.approx(1 if not every else 0.5 if in_place else 0, abs=0.1)


def test_zhu_keeps_exact_word_totals(gibbs, counts, monkeypatch):
    """Noise is in the sampling distribution of the last sweep only: a missing word is read off, for any epsilon."""
    read = []
    monkeypatch.setattr(gibbs, "topics_of", lambda by_word, beta: read.append(by_word) or by_word)
    for epsilon, each_draw in ((math.inf, False), (1e-3, False), (1e-3, True)):
        gibbs.zhu_lda(counts, 4, 1.0, 0.01, 3, 0, epsilon=epsilon, each_draw=each_draw)
    totals = np.asarray(counts.sum(0)).ravel()
    for by_word in read:
        assert np.array_equal(by_word.sum(1), totals)
        assert (by_word >= 0).all()
    assert (read[0] != read[1]).any()
    assert (read[1] != read[2]).any()


def test_noise_in_each_draw_is_that_of_the_released_code(gibbs, counts):
    """Against a loop in plain NumPy: one number for the word's counts, one for the document's, and the least is 0."""
    alpha, beta, n_topics = 0.2, 0.1, 3
    chain = gibbs.Chain(counts, n_topics, alpha, beta, 0)
    rng = np.random.default_rng(1)
    noise, digits = rng.laplace(0, 2.0, (len(chain.words), 2)), rng.random(len(chain.words))
    by_word, by_document = (table.copy() for table in chain.exact())
    topics = chain.topics.copy()
    for token, (d, w) in enumerate(zip(chain.documents, chain.words, strict=True)):
        length = by_document[d].sum()
        by_word[w, topics[token]] -= 1
        by_document[d, topics[token]] -= 1
        one, two = noise[token]
        found = (by_word[w] + one + beta) / (by_word.sum(0) - one + by_word.shape[0] * beta)
        found *= (by_document[d] + two + alpha) / (length - two + n_topics * alpha)
        found -= found.min()
        topics[token] = np.searchsorted(np.cumsum(found), digits[token] * found.sum())
        by_word[w, topics[token]] += 1
        by_document[d, topics[token]] += 1
    tables = chain.by_word, chain.by_word.sum(0), chain.by_document
    gibbs.sweep_with_noisy_draws(
        chain.documents, chain.words, chain.topics, *tables, alpha, beta, noise, digits
    )
    assert np.array_equal(chain.topics, topics)
    assert np.array_equal(chain.by_word, by_word)
    assert np.array_equal(chain.by_document, by_document)


def test_without_noise_all_find_the_topics(gibbs):
    from tests.naive.central_checks import block_corpus, overlap

    counts, truth = block_corpus(600, n_topics=3, words_a_topic=8, length=20)
    basics = (csr_matrix(counts), 3, 0.1, 0.01, 40, 0)
    for topics in (
        gibbs.gibbs(*basics),
        gibbs.hdp_lda(*basics, clip=1e9, epsilon_noise=math.inf),
        gibbs.cdp_lda(*basics, epsilon=math.inf, every=True),
        gibbs.zhu_lda(*basics, epsilon=math.inf),
        gibbs.zhu_lda(*basics, epsilon=math.inf, each_draw=True),
    ):
        assert overlap(topics, truth) > 0.9
    noisy = gibbs.cdp_lda(*basics, epsilon=0.002, every=True)
    assert overlap(noisy, truth) < 0.8
