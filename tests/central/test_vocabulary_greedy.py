"""The greedy choice of the literature: its weights, its sensitivity over all small corpora, its exact privacy."""

import gzip
import importlib.util
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.marks import quick
from tests.naive.vocabulary import fill, laplace_leak, laplace_tail, preferences

from discreet import Ledger
from discreet.central.vocabulary.methods import on_lattice
from discreet.central.vocabulary.units import secret_order
from discreet.corpus import Tokenizer
from discreet.errors import BudgetExceeded

SCRIPT = Path(__file__).parents[2] / "experiments" / "manzonelli2024" / "printed_words.py"
spec = importlib.util.spec_from_file_location("printed_words", SCRIPT)
printed = importlib.util.module_from_spec(spec)
sys.modules["printed_words"] = printed
spec.loader.exec_module(printed)
Greedy, fill_greedily = printed.Greedy, printed.fill_greedily


def packed(units):
    indptr = np.r_[0, np.cumsum([len(unit) for unit in units])].astype(np.int64)
    return indptr, np.array([word for unit in units for word in unit], np.int64)


def weights_of(units, n_words, budget, cutoff):
    return fill_greedily(*packed(units), n_words, budget, cutoff)


PREFERENCES = [p for k in range(4) for p in itertools.permutations(range(3), k)]


def all_weights(rule, length, budget, cutoff):
    """Weights of every corpus of at most ``length`` units over three words."""
    return {
        corpus: rule(corpus, budget, cutoff)
        for n in range(length + 1)
        for corpus in itertools.product(PREFERENCES, repeat=n)
    }


def worst_move(weights):
    """Largest L1 distance between any corpus and the same corpus without one unit."""
    return max(
        np.abs(weight - weights[corpus[:i] + corpus[i + 1 :]]).sum()
        for corpus, weight in weights.items()
        for i in range(len(corpus))
    )


def in_dicts(corpus, budget, cutoff):
    filled = fill(corpus, budget, cutoff)
    return np.array([filled.get(word, 0) for word in range(3)])


def needy_first(corpus, budget, cutoff):
    """The plausible mistake: fill first what lacks least, so that other units decide a unit's order."""
    weights = np.zeros(3, np.int64)
    for unit in corpus:
        left = budget
        for word in sorted(unit, key=lambda word: (cutoff - weights[word], word)):
            given = min(left, cutoff - weights[word])
            weights[word] += given
            left -= given
    return weights


@pytest.mark.parametrize(("budget", "cutoff"), [(2, 3), (3, 4), (4, 6), (4, 2)])
def test_every_neighbour_of_every_small_corpus_is_within_the_budget(budget, cutoff):
    weights = all_weights(lambda units, b, c: weights_of(units, 3, b, c), 3, budget, cutoff)
    assert len(weights) == 1 + 16 + 16**2 + 16**3
    assert worst_move(weights) == budget
    # The claim of the proof, which is stronger: in every word the larger corpus has at least as much.
    assert all(
        (weight >= weights[corpus[:i] + corpus[i + 1 :]]).all()
        for corpus, weight in weights.items()
        for i in range(len(corpus))
    )


def test_an_order_that_depends_on_others_is_caught():
    assert worst_move(all_weights(needy_first, 3, 4, 6)) > 4


def test_a_budget_spent_for_each_document_of_a_person_is_caught():
    once = weights_of([(0, 1)], 2, 4, 9)
    twice = weights_of([(0, 1), (0, 1)], 2, 4, 9)  # what a person with two documents would add unjoined
    assert once.sum() == 4
    assert twice.sum() > 4


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 11), unique=True, max_size=6), max_size=25),
    st.data(),
    st.integers(1, 50),
    st.integers(1, 120),
)
def test_kernel_is_its_twin_and_neighbours_move_it_by_the_budget(units, data, budget, cutoff):
    weights = weights_of(units, 12, budget, cutoff)
    twin = fill(units, budget, cutoff)
    assert weights.tolist() == [twin.get(word, 0) for word in range(12)]
    assert weights.max(initial=0) <= cutoff
    if units:
        gone = data.draw(st.integers(0, len(units) - 1))
        without = weights_of(units[:gone] + units[gone + 1 :], 12, budget, cutoff)
        assert (weights >= without).all()
        assert (weights - without).sum() <= budget


def test_golden_thresholds():
    assert Greedy(1.0, 1e-5, 9).threshold == pytest.approx(13.19, abs=0.005)
    assert Greedy(1.0, 1e-5, 100).threshold == pytest.approx(15.44, abs=0.005)
    assert printed.PrintedGreedy(1.0, 1e-5, 9).threshold == pytest.approx(1 + np.log(1 / 2e-5))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0, 20.0, 300.0])
@pytest.mark.parametrize("delta", quick([1e-5, 1e-10], 1e-10))
@pytest.mark.parametrize("cap", [1, 9, 100])
def test_a_unit_of_private_words_leaks_with_at_most_delta(epsilon, delta, cap):
    config = Greedy(epsilon, delta, cap)
    bits = config.mechanism.bound.bits
    threshold = on_lattice(config.threshold, bits)
    for t in range(1, cap + 1):
        # What the unit really gives: all of its budget to its first word, nothing to the others.
        given = weights_of([tuple(range(t))], t, 2**bits, config.cutoff)
        assert given.sum() == 2**bits
        assert laplace_leak(given, threshold, epsilon, bits) <= delta
        even_split = [2**bits // t] * t  # not what it does, but covered as well
        assert laplace_leak(even_split, threshold, epsilon, bits) <= delta
    assert laplace_leak(given, threshold, epsilon, bits) > 0.9 * delta  # and nothing is wasted


def test_the_published_threshold_leaks_37_times_delta():
    delta, cap = 1e-5, 100
    config = printed.PrintedGreedy(1.0, delta, cap)
    threshold = on_lattice(config.threshold, 14)
    leaks = [float(laplace_leak([2**14] + [0] * (t - 1), threshold, 1.0, 14)) for t in range(1, cap + 1)]
    assert leaks[0] <= delta
    assert all(leak > delta for leak in leaks[1:])
    assert leaks[-1] / delta == pytest.approx(37.4, abs=0.3)
    # What is booked is what it has, so the ledger stays true.
    assert leaks[-1] <= delta * (1 + (cap - 1) * np.exp(-1.0)) == pytest.approx(config.leak)
    _, ledger = printed.choose(*printed.count_in_text_order(["a b"] * 40, str.split), 1.0, delta, seed=0)
    assert ledger.guarantee().delta == pytest.approx(2 * config.leak)
    with pytest.raises(BudgetExceeded):
        Ledger(1.0, delta).reserve(config.event(), "words")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("abcdefgh", max_size=9), max_size=10))
def test_the_published_order_of_ties_is_that_of_the_text(documents):
    counts, words = printed.count_in_text_order(documents, list)
    units = printed.PrintedGreedy(1.0, 1e-5, 9).ranked(counts, secret_order(words, b"key"))
    found = [
        [words[word] for word in units.words[start:stop]] for start, stop in itertools.pairwise(units.indptr)
    ]
    assert sorted(found) == sorted(preferences(document) for document in documents)


@pytest.fixture(scope="module")
def tweets(shared_data):
    with gzip.open(shared_data / "tweetrumors" / "texts.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert len(texts) == 5698
    return printed.count_in_text_order(texts, Tokenizer(token_pattern=r"\S+"))


@pytest.mark.parametrize(
    ("epsilon", "golden"), quick([(1, 119), (2, 302), (3, 463), (5, 737), (10, 1159), (20, 1634)], (3, 463))
)
def test_golden_sizes_of_the_published_vocabulary(tweets, epsilon, golden):
    sizes = [len(printed.choose(*tweets, epsilon, 1e-5, seed=seed)[0]) for seed in range(10)]
    assert np.mean(sizes) == pytest.approx(golden, rel=0.02)


@pytest.mark.parametrize("bits", [1, 2, 3, 6])
def test_the_lattice_does_not_weaken_the_threshold(bits):
    loose = []
    for epsilon in (0.1, 1.0, 5.0):
        for delta in (0.01, 1e-4, 1e-8):
            for cap in (1, 5):
                config = Greedy(epsilon, delta, cap)
                least = on_lattice(config.threshold, bits)
                unit = [2**bits] + [0] * (cap - 1)
                assert laplace_leak(unit, least, epsilon, bits) <= delta
                loose.append(laplace_leak(unit, int(least) - 1, epsilon, bits, strict=False) <= delta)
    assert not all(loose)  # rounding down and comparing with >= is caught


def chances_of_sets(corpus, config, n_words):
    """Probability of each set of released words, exactly as the mechanism's parts would have it."""
    held = sorted({word for unit in corpus for word in unit[: config.max_words]})
    capped = [unit[: config.max_words] for unit in corpus]
    bits = config.mechanism.bound.bits
    weights = weights_of(capped, n_words, 2**bits, config.cutoff)
    least = on_lattice(config.threshold, bits)
    passes = {w: float(laplace_tail(least + 1 - int(weights[w]), config.epsilon, bits)) for w in held}
    return {
        chosen: np.prod([passes[w] if w in chosen else 1 - passes[w] for w in held])
        for k in range(len(held) + 1)
        for chosen in itertools.combinations(held, k)
    }


def excess(one, other, epsilon):
    """Smallest delta for which one is at most e^epsilon times the other."""
    return sum(max(0.0, p - np.exp(epsilon) * other.get(chosen, 0.0)) for chosen, p in one.items())


def worst_excess(config, corpora):
    worst = 0.0
    for corpus in corpora:
        with_unit = chances_of_sets(corpus, config, 3)
        for i in range(len(corpus)):
            without = chances_of_sets(corpus[:i] + corpus[i + 1 :], config, 3)
            worst = max(
                worst, excess(with_unit, without, config.epsilon), excess(without, with_unit, config.epsilon)
            )
    return worst


def test_released_sets_of_all_small_corpora_keep_the_promise():
    corpora = [corpus for n in (1, 2) for corpus in itertools.product(PREFERENCES, repeat=n)]
    for delta in (0.3, 0.01):
        config = Greedy(0.5, delta, 3)
        assert 0.5 * delta < worst_excess(config, corpora) <= delta * (1 + 1e-12)
        published = printed.PrintedGreedy(0.5, delta, 3)
        assert worst_excess(published, corpora) > 1.5 * delta


def test_looking_only_at_words_that_got_something_is_caught():
    """Later units' choices then decide which words are looked at: more than one unit's own words can leak."""
    budget, cutoff = 4, 4
    # The first unit is the extra one; each later one would stop at its first word without it.
    later = [(0, 1), (1, 2)]
    without = weights_of(later, 3, budget, cutoff)
    with_unit = weights_of([(0,), *later], 3, budget, cutoff)
    assert (without > 0).tolist() == [True, True, False]
    assert (with_unit > 0).tolist() == [True, True, True]  # word 2 is not a word of the extra unit
