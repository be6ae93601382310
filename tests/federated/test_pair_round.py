"""What a round of pair reports promises, and to what: enumerated."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from experiments.wang2020.fedlda import Silo, fit_fedlda, response_of
from tests.federated.test_response import distribution
from tests.naive.federated import multiset_law, report_laws

from discreet.errors import ParameterError
from discreet.evaluate import completion_perplexity
from discreet.lda import fold_in
from discreet.privacy import SecureStream

PHI = [[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]]
EPSILON = 1.0


def _laws(counts):
    """Of a document with these counts, under the shares that a client computes."""
    shares = fold_in(
        np.array(PHI), sp.csr_matrix(np.array([counts], np.int32)), doc_topic_prior=0.1, max_iter=40, tol=1e-3
    )[0]
    return np.array(report_laws(PHI, counts, EPSILON, shares.tolist()))


def _neighbours(n_others):
    """Two documents that differ in one token's word, beside others that say nothing about topics."""
    one, other = _laws([1, 0, n_others]), _laws([0, 1, n_others])
    return (one[0], one[2]), (other[1], other[2])


def test_the_naive_law_is_that_of_the_round():
    response = response_of(7, EPSILON)
    sure = report_laws([[1 / 3] * 3] * 2, None, EPSILON, [1.0, 0.0])
    for word in range(3):
        np.testing.assert_allclose([float(p) for p in distribution(response, word)], sure[word], rtol=1e-9)


def test_one_pair_given_all_topics_loses_epsilon_at_most():
    response = response_of(7, EPSILON)
    rows = np.array([[float(p) for p in distribution(response, cell)] for cell in range(7)])
    found = max(np.log(rows[a] / rows[b]).max() for a in range(7) for b in range(7))
    assert found == pytest.approx(EPSILON, abs=1e-9)
    # Whatever the other pairs are, in no order: they are the same on both sides.
    for others in rows:
        one, other = multiset_law(rows[0], others, 2), multiset_law(rows[1], others, 2)
        assert max(math.log(one[m] / other[m]) for m in one) <= EPSILON + 1e-12


def test_one_replaced_token_loses_far_more_than_epsilon():
    """Its word moves the topic shares of the document, and with them every other token's report."""
    (own, others), (own_, others_) = _neighbours(3)
    one, other = multiset_law(own, others, 3), multiset_law(own_, others_, 3)
    assert sum(one.values()) == pytest.approx(1)
    assert max(math.log(one[m] / other[m]) for m in one) == pytest.approx(2.490, abs=0.001)
    # Beside 20 others, all reports in one cell: its order does not matter, and padding is the same on both sides.
    (own, others), (own_, others_) = _neighbours(20)
    same_cell = np.log(own / own_) + 20 * np.log(others / others_)
    assert same_cell.max() == pytest.approx(14.43, abs=0.01)
    in_order = np.log(own / own_).max() + 20 * np.log(others / others_).max()
    assert in_order == pytest.approx(15.43, abs=0.01)
    assert in_order <= 21 * EPSILON


def corpus(n=2000, n_words=60, n_topics=3, seed=0):
    rng = np.random.default_rng(seed)
    own = np.arange(n_words) // (n_words // n_topics) == rng.integers(n_topics, size=(n, 1))
    return sp.csr_matrix((rng.random((n, n_words)) < np.where(own, 0.4, 0.02)).astype(np.int32))


PARTS = [corpus(seed=seed) for seed in range(3)]


def test_topics_are_learned_and_the_promise_is_booked():
    fitted = fit_fedlda(PARTS, 3, epsilon=40.0, n_rounds=8, reports_per_token=8, random_state=0)
    even = completion_perplexity(np.asarray(sum(PARTS).sum(0)), corpus(300, seed=9))
    assert completion_perplexity(fitted.topic_word, corpus(300, seed=9)) < 0.75 * even
    for ledger in fitted.ledgers:
        assert ledger.spent().epsilon == pytest.approx(40.0)
        assert len(ledger.entries) == 8


def test_each_token_is_reported_once_and_paid_once():
    fitted = fit_fedlda(PARTS, 3, epsilon=3.0, n_rounds=5, random_state=0)
    for ledger in fitted.ledgers:
        assert len(ledger.entries) == 1
        assert ledger.spent().epsilon == pytest.approx(3.0)
    n_tokens = sum(int(part.sum()) for part in PARTS)
    assert n_tokens <= fitted.bytes_received / 8 <= n_tokens + 5 * 3 * 256
    silo = Silo.of(PARTS[0], SecureStream(0), 3.0, 3)
    n_tokens = int(PARTS[0].sum())
    assert sorted(np.bincount(silo.dealt)) == sorted(np.bincount(np.arange(n_tokens) % 3))
    with pytest.raises(ParameterError, match="n_rounds at most"):
        fit_fedlda(PARTS, 3, epsilon=3.0, n_rounds=2, reports_per_token=3)
