"""What a round of pair reports promises, and to what: enumerated."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from tests.federated.test_response import distribution
from tests.naive.federated import multiset_law, report_laws

from discreet.federated import init_server
from discreet.federated.pair_round import _response
from discreet.lda import fold_in

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
    state = init_server("rrp", n_clients=1, n_topics=2, n_words=3, n_rounds=1, epsilon=EPSILON, delta=0.0)
    response = _response(state)
    sure = report_laws([[1 / 3] * 3] * 2, None, EPSILON, [1.0, 0.0])
    for word in range(3):
        np.testing.assert_allclose([float(p) for p in distribution(response, word)], sure[word], rtol=1e-9)


def test_one_pair_given_all_topics_loses_epsilon_at_most():
    state = init_server("rrp", n_clients=1, n_topics=2, n_words=3, n_rounds=1, epsilon=EPSILON)
    rows = np.array([[float(p) for p in distribution(_response(state), cell)] for cell in range(7)])
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


@pytest.mark.integration
def test_a_run_of_pairs_enters_no_other_mechanism():
    code = (
        "import sys, numpy as np\n"
        "from discreet.federated import FederatedLDA\n"
        "counts = np.random.default_rng(0).poisson(1.0, (20, 5))\n"
        "FederatedLDA(2, mechanism='rrp', random_state=0).fit([counts])\n"
        "print([n for n in ('question_round', 'sum_round', 'bit_round') if f'discreet.federated.{n}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
