"""Fold-in, the query statistic and log likelihoods: against twins, with certificates, for any threads."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive import lda as naive

from discreet.corpus import Corpus
from discreet.errors import CorpusError, ParameterError
from discreet.lda import fold_in
from discreet.lda._fold_in import log_likelihood, query_statistic


def problem(n_topics=6, n_words=40, n_documents=30, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.2), n_topics)
    topics = (topics + 1e-6) / (topics + 1e-6).sum(axis=1, keepdims=True)
    counts = rng.poisson(0.5, (n_documents, n_words))
    counts[2] = 0
    return topics, counts


@pytest.mark.parametrize("n_topics", [1, 2, 8, 17])
def test_map_agrees_with_the_twin_step_by_step(n_topics):
    topics, counts = problem(n_topics)
    prior = np.random.default_rng(1).uniform(0.05, 2.0, n_topics)
    for n_steps in (1, 7):
        theta = fold_in(topics, counts, doc_topic_prior=prior, max_iter=n_steps, tol=0.0)
        for d, document in enumerate(counts):
            expected = naive.mode(document, topics, prior, prior / prior.sum(), n_steps)
            np.testing.assert_allclose(theta[d], expected, rtol=1e-12)


def gap(theta, document, topics, alpha):
    """Frank-Wolfe gap a token: no theta is better by more."""
    gradient = topics @ np.where(document > 0, document / (theta @ topics), 0.0)
    gradient = gradient + (alpha / theta if alpha.any() else 0.0)
    total = document.sum() + alpha.sum()
    return (gradient.max() - total) / total


@pytest.mark.parametrize(("method", "alpha"), [("map", 0.1), ("maximum_likelihood", 0.0)])
def test_the_certificate_holds(method, alpha):
    topics, counts = problem(n_documents=80)
    prior = np.full(6, alpha)
    for tol in (1e-2, 1e-4, 1e-6):
        theta = fold_in(topics, counts, method=method, tol=tol, max_iter=100_000)
        exact = fold_in(topics, counts, method=method, tol=1e-9, max_iter=1_000_000)
        for d, document in enumerate(counts):
            if not document.any():
                continue
            short = naive.objective(exact[d], document, topics, prior) - naive.objective(
                theta[d], document, topics, prior
            )
            assert short <= tol * (document.sum() + prior.sum()) + 1e-9
            assert gap(exact[d], document, topics, prior) < 1e-8
    # A cap that is too small is a mistake that this check would see.
    early = fold_in(topics, counts, method=method, tol=1e-6, max_iter=2)
    assert max(gap(t, n, topics, prior) for t, n in zip(early, counts, strict=True) if n.any()) > 1e-2


def test_there_is_one_mode():
    """Concave: the fixed point does not depend on the start, so the order of topics cannot matter."""
    topics, counts = problem()
    turned = np.random.default_rng(2).permutation(6)
    theta = fold_in(topics, counts, tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(
        fold_in(topics[turned], counts, tol=1e-10, max_iter=100_000), theta[:, turned], atol=1e-6
    )


def test_variational_agrees_with_the_twin():
    topics, counts = problem()
    theta = fold_in(topics, counts, method="variational", max_iter=100, tol=1e-3)
    for d, document in enumerate(counts):
        gamma, _, _ = naive.infer(document, topics, np.full(6, 0.1), 100, 1e-3)
        np.testing.assert_allclose(theta[d], gamma / gamma.sum(), rtol=1e-10)


@pytest.mark.parametrize("method", ["map", "variational", "maximum_likelihood"])
def test_bits_depend_on_the_document_alone(method):
    topics, counts = problem(n_documents=200)
    theta = fold_in(topics, counts, method=method)
    for n_jobs in (2, 4, -1):
        assert (
            fold_in(topics, sp.csr_matrix(counts), method=method, n_jobs=n_jobs).tobytes() == theta.tobytes()
        )
    assert fold_in(topics, counts[50:60], method=method).tobytes() == theta[50:60].tobytes()
    assert fold_in(topics, counts[::-1], method=method)[::-1].tobytes() == theta.tobytes()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-14)
    assert (theta >= 0).all()
    assert theta.dtype == np.float64


def test_empty_documents_get_the_mean_of_the_prior():
    topics, counts = problem()
    prior = np.arange(1.0, 7.0)
    for method in ("map", "variational"):
        theta = fold_in(topics, counts, doc_topic_prior=prior, method=method)
        np.testing.assert_allclose(theta[2], prior / 21.0)
    np.testing.assert_allclose(fold_in(topics, counts, method="maximum_likelihood")[2], 1 / 6)
    assert fold_in(topics, np.zeros((0, 40))).shape == (0, 6)


def test_query_statistic_reaches_what_a_general_solver_reaches():
    topics, counts = problem(n_documents=25, seed=3)
    counts[0, 4] = 90  # multiplicity
    found = query_statistic(topics, counts, tol=1e-7, max_iter=100_000)
    best = np.array([naive.best_by_slsqp(document, topics) if document.any() else 0.0 for document in counts])
    np.testing.assert_allclose(found, best, atol=2e-4)
    assert (found >= best - 1e-5 * counts.sum(axis=1)).all()
    # The plausible mistake, distinct words in place of tokens, is far off.
    assert np.abs(query_statistic(topics, counts > 0) - best).max() > 10


def test_query_statistic_of_several_models():
    topics, counts = problem()
    other, _ = problem(seed=9)
    both = query_statistic(np.array([topics, other]), counts, n_jobs=2)
    assert both.shape == (2, 30)
    assert both[0].tobytes() == query_statistic(topics, counts).tobytes()
    assert both[1].tobytes() == query_statistic(other, counts).tobytes()


def test_words_that_cannot_come():
    topics = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    counts = np.array([[4, 4, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 2]])
    value = query_statistic(topics, counts)
    assert value[0] == pytest.approx(8 * np.log(0.5))
    assert value[1] == 0.0
    assert (value[2:] == -np.inf).all()
    theta = fold_in(topics, counts, method="maximum_likelihood")
    assert np.isfinite(theta).all()
    np.testing.assert_array_equal(theta[0], [1.0, 0.0])


def test_log_likelihood_agrees_with_the_formula():
    topics, counts = problem()
    theta = np.random.default_rng(4).dirichlet(np.ones(6), 30)
    expected = (counts * np.log(theta @ topics)).sum(axis=1)
    np.testing.assert_allclose(log_likelihood(topics, theta, counts, n_jobs=2), expected, rtol=1e-12)
    with pytest.raises(ParameterError, match="doc_topic must have shape"):
        log_likelihood(topics, theta[:5], counts)


def test_what_is_taken_and_what_is_refused():
    topics, counts = problem()
    theta = fold_in(topics, counts)
    corpus = Corpus(counts, [f"w{i}" for i in range(40)])
    for same in (corpus, sp.coo_matrix(counts), counts.astype(float), sp.csc_array(counts), counts.tolist()):
        assert fold_in(topics, same).tobytes() == theta.tobytes()
    np.testing.assert_allclose(fold_in(topics * 7, counts), theta, atol=1e-12)
    broken = sp.csr_matrix(counts)
    broken.indices = broken.indices.copy()
    broken.indices[0] = 4000
    bad = counts.astype(float)
    bad[7, 3] = -1
    hole = counts.astype(float)
    hole[9, 3] = np.nan
    for X, message in (
        (counts[:, :5], "X has 5 features, but 40 words are expected"),
        (counts[0], "Expected 2D array"),
        (bad, "Negative values in data passed to X, first in row 8"),
        (hole, "NaN or infinity in data passed to X, first in row 10"),
        (broken, "the sparse matrix is broken"),
    ):
        with pytest.raises(CorpusError, match=message):
            fold_in(topics, X)
    for wrong, message in (
        ({"topic_word": topics[0]}, "must have shape"),
        ({"topic_word": -topics}, "finite and not negative"),
        ({"topic_word": np.vstack([topics, np.zeros(40)])}, "topic 6 has none"),
        ({"doc_topic_prior": 0.0}, "positive and finite"),
        ({"doc_topic_prior": [0.1, 0.1]}, "must be a number or 6 numbers"),
        ({"method": "guess"}, "method must be .map., .variational. or .maximum_likelihood."),
        ({"max_iter": 0}, "max_iter must be a positive whole number"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"tol": float("nan")}, "tol must be at least 0"),
    ):
        with pytest.raises(ParameterError, match=message):
            fold_in(**{"topic_word": topics, "counts": counts, **wrong})
    with pytest.raises(ParameterError, match="n_models"):
        query_statistic(topics[0], counts)


def test_hard_numbers_stay_finite():
    """Tiny probabilities, huge counts, a tiny prior: no overflow, no NaN, and topics that die are let go."""
    topics = np.full((3, 4), 1e-300)
    topics[0, 0] = topics[1, 1] = topics[2, 2] = 1.0
    counts = np.array([[2**31 - 1, 1, 0, 1], [0, 5, 5, 0]])
    for method in ("map", "variational", "maximum_likelihood"):
        theta = fold_in(topics, counts, doc_topic_prior=1e-3, method=method)
        assert np.isfinite(theta).all()
        np.testing.assert_allclose(theta.sum(axis=1), 1.0)
        assert theta[0, 0] > 0.99
        np.testing.assert_allclose(theta[1, 1:], 0.5, atol=1e-3)


def test_a_hundred_thousand_tweets_in_seconds(shared_data):
    counts = sp.load_npz(shared_data / "tweets-emoji" / "counts.npz")
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.05, 1.0, (50, counts.shape[1])) + 1e-6
    fold_in(topics, counts[:10])
    start = time.process_time()
    theta = fold_in(topics, counts, n_jobs=2)
    assert time.process_time() - start < 5.0
    assert theta.shape == (counts.shape[0], 50)
