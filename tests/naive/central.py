"""The central setting, slow and obvious: plain loops over units, dictionaries, doubles, formulas as in the papers."""

import math
from collections import defaultdict

import numpy as np
from scipy.special import digamma
from tests.naive.bound import place_l2

from discreet.privacy.mechanism import BITS


def by_unit(counts, persons=None):
    """List of units, each a list of documents, each a dictionary word -> count."""
    dense = counts.toarray()
    documents = [{int(w): int(row[w]) for w in np.flatnonzero(row)} for row in dense]
    if persons is None:
        return [[document] for document in documents]
    groups = defaultdict(list)
    for person, document in zip(persons.tolist(), documents, strict=True):
        groups[person].append(document)
    return [groups[person] for person in sorted(groups)]


def place(vector, normalise=True, bits=BITS):
    """One unit's vector on the lattice; an array of Python integers' values."""
    flat = [float(value) for value in np.ravel(vector)]
    return np.array(place_l2(flat, bits, normalise), dtype=np.int64).reshape(np.shape(vector))


def add_up(vectors, shape, *, put=place):
    total = np.zeros(shape, np.int64)
    for vector in vectors:
        total += put(vector)
    return total


def unigram_vector(unit, n_words):
    vector = np.zeros(n_words)
    for document in unit:
        for word, count in document.items():
            vector[word] += math.sqrt(count)
    return vector


def cooccurrence_vector(unit, chosen, weights):
    square = np.zeros((len(chosen), len(chosen)))
    for document in unit:
        y = np.array([document.get(int(w), 0) * weight for w, weight in zip(chosen, weights, strict=True)])
        square += np.outer(y, y)
    return square[np.triu_indices(len(chosen), 1)]


def moment_vector(unit, features):
    """Every pair of different words of a document, each with each; the triangle, its off-diagonal told once."""
    square = np.zeros((features.shape[1],) * 2)
    for document in unit:
        for v, count in document.items():
            for w, other in document.items():
                if v != w:
                    square += math.sqrt(count * other) * np.outer(features[v], features[w])
    rows, columns = np.triu_indices(len(square))
    return square[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))


def responsibilities(theta, row, prior, *, own_left_out):
    """Topics of one token of a word with probabilities ``row``, with its own share taken out of theta or not."""
    own = theta * row / (theta @ row)
    rest = np.maximum(theta - own, prior) if own_left_out else theta
    return rest * row / (rest @ row)


def em_theta(document, theta, topics, prior, n_steps):
    """theta_k <- alpha + sum_w c_w r_wk until it changes by less than 1 %; own shares left out from step 2 on."""
    theta = np.array(theta, dtype=float)
    for step in range(n_steps):
        new = np.full(len(theta), prior)
        for word, count in document.items():
            new += count * responsibilities(theta, topics[word], prior, own_left_out=step > 0)
        change = np.abs(new - theta).sum()
        theta = new
        if step > 0 and change < 0.01 * theta.sum():
            break
    return theta


def matched(document, theta, topics, prior, n_steps):
    """Expectation propagation: theta, and what each word's tokens gave to it, by the moments of the mixture."""
    theta = np.array(theta, dtype=float)
    sites = {word: responsibilities(theta, topics[word], prior, own_left_out=False) for word in document}
    theta = prior + sum(count * sites[word] for word, count in document.items())
    for _ in range(n_steps):
        change = 0.0
        for word, count in document.items():
            rest = np.maximum(theta - sites[word], prior)
            share = rest * topics[word] / (rest @ topics[word])
            means, squares = np.zeros(len(theta)), np.zeros(len(theta))
            for k, weight in enumerate(share):
                known = rest.copy()
                known[k] += 1
                size = known.sum()
                means += weight * known / size
                squares += weight * known * (known + 1) / (size * (size + 1))
            # A Dirichlet of size s and these means has squares m (s m + 1) / (s + 1), summed up.
            size = (means - squares).sum() / (squares - means**2).sum()
            step = np.maximum(size * means - rest - sites[word], (prior - theta) / count)
            sites[word] = sites[word] + step
            theta = theta + count * step
            change += np.abs(count * step).sum()
        if change < 0.01 * theta.sum():
            break
    return theta, sites


def start_theta(document, n_topics, prior):
    return np.full(n_topics, len(document) / n_topics + prior)


def round_vector(unit, thetas, topics, weights, prior, n_steps, exponent=0.5, by_moments=False):
    """A unit's statistic, of no norm yet, and its documents' new thetas."""
    vector = np.zeros(topics.shape)
    new = []
    for document, old in zip(unit, thetas, strict=True):
        if not document:
            new.append(np.array(old, dtype=float))
            continue
        if by_moments:
            theta, sites = matched(document, old, topics, prior, n_steps)
        else:
            theta, sites = em_theta(document, old, topics, prior, n_steps), None
        new.append(theta)
        for word, count in document.items():
            if sites is None:
                share = responsibilities(theta, topics[word], prior, own_left_out=True)
            else:
                rest = np.maximum(theta - sites[word], prior) * topics[word]
                share = rest / rest.sum()
            vector[word] += weights[word] * count**exponent * share
    return vector, new


def expected_log(parameters):
    """exp(E[log beta]) for columns that are Dirichlet(parameters)."""
    return np.exp(digamma(parameters) - digamma(parameters.sum(0)))


def dpsvi_vector(unit, parameters, prior, n_steps=50, tolerance=1e-3):
    """Variational E-step of each document; the sum of counts times responsibilities."""
    beta = expected_log(parameters)
    n_topics = beta.shape[1]
    vector = np.zeros(beta.shape)
    for document in unit:
        gamma = np.ones(n_topics)
        for _ in range(n_steps):
            weight = np.exp(digamma(gamma))
            new = np.full(n_topics, prior)
            for word, count in document.items():
                new += weight * count * beta[word] / (weight @ beta[word])
            change = np.abs(new - gamma).sum()
            gamma = new
            if change < tolerance * n_topics:
                break
        weight = np.exp(digamma(gamma))
        for word, count in document.items():
            vector[word] += count * weight * beta[word] / (weight @ beta[word])
    return vector


def posterior_mean_by_column(noisy, base, noise, lifts):
    """Each column with a law of its own, which starts from that of all cells."""
    _, law = posterior_mean_and_law(noisy.ravel(), base.ravel(), noise.ravel(), lifts)
    columns = zip(noisy.T, base.T, noise.T, strict=True)
    return np.array([posterior_mean_and_law(*column, lifts, start=law)[0] for column in columns]).T


def posterior_mean(noisy, base, noise, lifts):
    """The denoiser, cell by cell: the mixture's weights by expectation-maximisation, then the mean."""
    return posterior_mean_and_law(noisy, base, noise, lifts)[0]


def posterior_mean_and_law(noisy, base, noise, lifts, *, start=None, iterations=25):
    n, width = len(noisy), 0.1092  # half of the way between two lifts, in logarithms
    density = np.zeros((n, len(lifts)))
    for i in range(n):
        for j, lift in enumerate(lifts):
            variance = noise[i] ** 2 + (base[i] * width * lift) ** 2
            gap = noisy[i] - base[i] * lift
            density[i, j] = math.exp(-gap * gap / (2 * variance)) / math.sqrt(variance)
    weights = np.exp(-(np.log(np.maximum(lifts, lifts[1])) ** 2) / 4) if start is None else start
    weights = weights / weights.sum()
    for _ in range(iterations):
        responsibilities = density * weights
        responsibilities /= responsibilities.sum(1, keepdims=True)
        weights = responsibilities.mean(0)
    answer = np.zeros(n)
    for i in range(n):
        chance = density[i] * weights
        chance /= chance.sum()
        for j, lift in enumerate(lifts):
            centre, spread = base[i] * lift, (base[i] * width * lift) ** 2
            answer[i] += chance[j] * (centre + spread / (spread + noise[i] ** 2) * (noisy[i] - centre))
    return np.maximum(answer, 0), weights


def group(counts, persons):
    """Units as sorted lists of documents, for comparison with ``group_units``."""
    return [sorted(sorted(document.items()) for document in unit) for unit in by_unit(counts, persons)]
