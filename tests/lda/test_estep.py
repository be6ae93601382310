"""The E-step and its parts against slow twins, and the promise that threads change no bit."""

import mpmath
import numpy as np
import pytest
from tests.lda.processors import ONE_FAMILY, PLAIN, told_here, told_on
from tests.naive import lda as naive

from discreet.lda.documents import read_documents
from discreet.lda.emitted import aligned, pad_table
from discreet.lda.svi import bound, init, prepare, step, word_weights
from discreet.lda.theta import Inference, exp_digamma_into, infer


def problem(n_topics, n_words=30, n_documents=25, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.3), n_topics)
    counts = rng.poisson(0.7, (n_documents, n_words))
    counts[3] = 0
    counts[4] = 0
    counts[4, 7] = 1  # one token
    counts[5, 2] = 3000
    return topics, counts, rng.uniform(0.05, 0.7, n_topics)


def exp_digamma(x):
    out = np.empty_like(x)
    exp_digamma_into(x, len(x), out)
    return out


def errors_of_exp_digamma(function):
    x = 10.0 ** np.linspace(-2.8, 9, 600)
    with mpmath.workdps(30):
        exact = [mpmath.exp(mpmath.digamma(mpmath.mpf(float(v)))) for v in x]
        return x, np.array([float(abs(a / e - 1)) for a, e in zip(function(x), exact, strict=True)])


def test_exp_digamma_is_exact_to_rounding():
    x, error = errors_of_exp_digamma(exp_digamma)
    assert error[x >= 1].max() < 2e-15
    assert error[x >= 0.1].max() < 5e-15
    assert error.max() < 2e-13

    # The prototype's digamma, four terms of the series from 5 on, would not pass.
    def coarse(x):
        y, shift = x.copy(), np.zeros_like(x)
        for _ in range(6):
            small = y < 5
            shift[small] -= 1 / y[small]
            y[small] += 1
        f = 1 / y**2
        return np.exp(shift + np.log(y) - 0.5 / y - f * (1 / 12 - f * (1 / 120 - f / 252)))

    assert errors_of_exp_digamma(coarse)[1].max() > 1e-9


def test_exp_digamma_at_the_edges():
    x = np.array([0.0, 1e-300, 1e-5, 1e-3, 1e30])
    values = exp_digamma(x)
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (values[:4] < 1e-300).all()
    assert values[4] == pytest.approx(1e30)


@pytest.mark.parametrize("n_topics", [1, 3, 8, 9, 50])
def test_inference_agrees_with_the_twin(n_topics):
    topics, counts, alpha = problem(n_topics)
    documents = read_documents(counts)
    gamma, weights, quotients = infer(pad_table(topics), documents, Inference(alpha), with_quotients=True)
    assert (gamma[:, n_topics:] == 0).all()
    assert (weights[:, n_topics:] == 0).all()
    for d, document in enumerate(counts):
        expected, q, _ = naive.infer(document, topics, alpha, 100, 1e-3)
        np.testing.assert_allclose(gamma[d, :n_topics], expected, rtol=1e-9)
        mine = quotients[documents.indptr[d] : documents.indptr[d + 1]]
        np.testing.assert_allclose(mine, q[document > 0], rtol=1e-9)
    np.testing.assert_allclose(gamma[3, :n_topics], alpha, rtol=1e-15)


def test_inference_does_not_depend_on_what_came_before():
    topics, counts, alpha = problem(7)
    whole, turned = (
        infer(pad_table(topics), read_documents(rows), Inference(alpha), with_quotients=False)[0]
        for rows in (counts, counts[::-1])
    )
    assert whole.tobytes() == turned[::-1].tobytes()


@pytest.mark.parametrize(("rate", "scale"), [(1.0, 1.0), (0.3, 4.0)])
def test_a_step_agrees_with_the_twin(rate, scale):
    _, counts, alpha = problem(5)
    components = np.random.default_rng(1).gamma(1.0, 1.0, (5, 30)) + 0.01
    state = init(components)
    batches = prepare(read_documents(counts), 5)
    after = step(state, batches, Inference(alpha), 0.02, rate=rate, scale=scale)
    expected = naive.variational_step(components, counts, alpha, 0.02, rate, scale)
    np.testing.assert_allclose(after.components, expected, rtol=1e-8)
    assert (after.parameters[:, 5:] == 0).all()
    np.testing.assert_array_equal(state.components, components)
    assert after.n_steps == 1
    # All tokens are counted, once.
    assert (after.components - (1 - rate) * components).sum() == pytest.approx(
        rate * (5 * 30 * 0.02 + scale * counts.sum())
    )


def test_a_word_that_all_topics_hardly_know_is_learned():
    counts = np.zeros((20, 12))
    counts[:10, :4] = counts[10:, 4:8] = 5
    components = np.full((2, 12), 0.01)
    components[0, :4] = components[1, 4:8] = 50.0
    counts[:10, 9] = 3  # new: exp(digamma(.01)) is e-101
    batches = prepare(read_documents(counts), 2)
    found = step(init(components), batches, Inference(np.full(2, 0.1)), 0.01, rate=0.5).components
    np.testing.assert_allclose(found[:, 9], [15.01, 0.01], rtol=0.01, atol=1e-4)


def test_the_bound_agrees_with_the_twin():
    _, counts, alpha = problem(5)
    components = np.random.default_rng(2).gamma(1.0, 1.0, (5, 30)) + 0.01
    value = bound(init(components), read_documents(counts), Inference(alpha, 1000, 1e-10), 0.02)
    assert value == pytest.approx(naive.bound(components, counts, alpha, 0.02), rel=1e-11)


@pytest.mark.parametrize("block", [2**22, 8 * 8])
def test_bits_do_not_depend_on_threads(monkeypatch, block):
    monkeypatch.setattr("discreet.lda.svi._BLOCK", block)
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.3, (300, 60))
    batches = prepare(read_documents(counts), 6)
    assert len(batches) == (1 if block > 1000 else 38)

    def run(n_threads):
        state = init(np.random.default_rng(4).gamma(100, 0.01, (6, 60)))
        for _ in range(3):
            state = step(state, batches, Inference(np.full(6, 0.1), n_threads=n_threads), 0.01)
        return state.parameters.tobytes()

    assert run(1) == run(2) == run(4)


def test_a_table_for_each_thread_would_not_pass():
    """The planted mistake: pieces summed apart and then together give other bits for another number of pieces."""
    rng = np.random.default_rng(3)
    parts = rng.gamma(1.0, 1.0, (300, 60))

    def pieces(n):
        return sum(piece.sum(axis=0) for piece in np.array_split(parts, n)).tobytes()

    assert len({pieces(1), pieces(2), pieces(4)}) > 1


def test_padding_is_without_weight_and_aligned():
    table = pad_table(np.arange(1.0, 13.0).reshape(3, 4))
    assert table.shape == (4, 8)
    assert (table[:, 3:] == 0).all()
    assert table.ctypes.data % 64 == 0
    assert aligned((0, 8)).shape == (0, 8)
    weights = word_weights(init(np.ones((3, 4))))
    assert (weights[:, 3:] == 0).all()


def test_word_weights_have_the_same_bits_for_any_number_of_threads():
    state = init(np.random.default_rng(5).gamma(1.0, 1.0, (9, 101)))
    assert word_weights(state, 1).tobytes() == word_weights(state, 3).tobytes()


@ONE_FAMILY
@pytest.mark.integration
def test_bits_do_not_depend_on_the_processor(tmp_path):
    """Vectors of 2, 4 or 8 doubles, with or without fused multiply-add: the same sums in the same order."""
    program = """
import hashlib, numpy as np
from discreet.lda import VariationalLDA, fold_in
rng = np.random.default_rng(0)
topics, counts = rng.dirichlet(np.full(90, 0.3), 11), rng.poisson(0.6, (40, 90))
found = [fold_in(topics, counts, method=m) for m in ("map", "maximum_likelihood", "variational")]
found += [VariationalLDA(k, max_iter=3, init="random", random_state=0).fit(counts).components_ for k in (2, 11, 33)]
told = hashlib.sha256(b"".join(theta.tobytes() for theta in found)).hexdigest()
"""
    assert told_on(PLAIN, program, tmp_path) == told_here(program)
