"""Slow, obvious twins of the kernels of discreet.lda (Gibbs aside)."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln


def infer(document, weights, alpha, max_iter, tol):
    """One document's gamma, the q of each word, and the steps. ``weights``: (n_topics, n_words)."""
    gamma = np.ones(len(weights))
    for steps in range(1, max_iter + 1):
        theta = np.exp(digamma(gamma)) if steps > 1 else np.ones(len(weights))
        new = alpha + sum(
            n * theta * weights[:, w] / (theta @ weights[:, w]) for w, n in enumerate(document) if n
        )
        change, gamma = np.abs(new - gamma).mean(), new
        if change < tol:
            break
    theta = np.exp(digamma(gamma))
    return gamma, np.where(document > 0, document / (theta @ weights), 0.0), steps


def variational_step(components, counts, alpha, eta, rate=1.0, scale=1.0, max_iter=100, tol=1e-3):
    weights = np.exp(digamma(components) - digamma(components.sum(axis=1, keepdims=True)))
    statistic = np.zeros_like(components)
    for document in counts:
        gamma, q, _ = infer(document, weights, alpha, max_iter, tol)
        for w in range(len(document)):
            statistic[:, w] += q[w] * np.exp(digamma(gamma)) * weights[:, w]
    return (1 - rate) * components + rate * (eta + scale * statistic)


def bound(components, counts, alpha, eta, max_iter=1000, tol=1e-10):
    """Evidence lower bound with explicit responsibilities, term by term (Blei, Ng, Jordan 2003, equation 15)."""
    e_log_beta = digamma(components) - digamma(components.sum(axis=1, keepdims=True))
    total = 0.0
    for document in counts:
        gamma, _, _ = infer(document, np.exp(e_log_beta), alpha, max_iter, tol)
        e_log_theta = digamma(gamma) - digamma(gamma.sum())
        for w, n in enumerate(document):
            if n:
                z = np.exp(e_log_theta + e_log_beta[:, w])
                z /= z.sum()
                total += n * (z @ (e_log_theta + e_log_beta[:, w] - np.log(z)))
        total += gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ e_log_theta
        total -= gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ e_log_theta
    n_words = components.shape[1]
    for topic, e in zip(components, e_log_beta, strict=True):
        total += gammaln(n_words * eta) - n_words * gammaln(eta) + (eta - 1) * e.sum()
        total -= gammaln(topic.sum()) - gammaln(topic).sum() + (topic - 1) @ e
    return total


def objective(theta, document, topics, alpha):
    """What fold-in maximises; alpha = 0 is the log likelihood."""
    used = document > 0
    value = document[used] @ np.log(theta @ topics[:, used])
    return value + (alpha @ np.log(theta) if alpha.any() else 0.0)


def mode(document, topics, alpha, start, n_steps):
    theta = start
    for _ in range(n_steps):
        theta = alpha + sum(
            n * theta * topics[:, w] / (theta @ topics[:, w]) for w, n in enumerate(document) if n
        )
        theta = theta / theta.sum()
    return theta


def best_by_slsqp(document, topics):
    """The maximum of the log likelihood by a general solver, as the released code of the attack does it."""
    n_topics = len(topics)
    used = document > 0
    found = minimize(
        lambda theta: -(document[used] @ np.log(np.maximum(theta @ topics[:, used], 1e-300))),
        np.full(n_topics, 1 / n_topics),
        jac=lambda theta: -(topics[:, used] @ (document[used] / np.maximum(theta @ topics[:, used], 1e-300))),
        method="SLSQP",
        bounds=[(0, 1)] * n_topics,
        constraints={
            "type": "eq",
            "fun": lambda theta: theta.sum() - 1,
            "jac": lambda theta: np.ones(n_topics),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -found.fun
