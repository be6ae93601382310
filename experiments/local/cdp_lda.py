"""Ways to read CDP-LDA, beside LP-LDA: why one overtakes the other at large epsilon in one figure and not in another.

All chains but the first are one sampler as printed: counts that change token by token, topics read from the last
sweep, a count that noise made negative taken as 0. They differ in the noise, in what carries it, in sweeps and prior.
"""

import numpy as np
from lines import HERE, Table, corpus, count_noise, randomised, symmetric
from numba import njit

from discreet.local.lp_lda import rebuild

K, ALPHA, BETA, SWEEPS = 50, 1.0, 0.01, 200
EPSILONS = (1, 3, 5, 7)
#: How the readings differ from ``chain``'s defaults.
READINGS = {
    "discrete noise, once": {"noise": "discrete"},
    "continuous noise, once": {},
    "continuous noise of twice the scale, once": {"scale": 2.0},
    "continuous noise, every sweep": {"every": True},
    "continuous noise, once, but not on the counts that are read": {"read_exact": True},
    "continuous noise, once, on documents' counts as well": {"documents": True},
    "continuous noise, once, 60 sweeps": {"sweeps": 60},
    "continuous noise, once, beta .1": {"beta": 0.1},
}


@njit(cache=True)
def sweep(documents, words, topics, by_word, by_document, noise, document_noise, beta, totals, draws):
    """Draw every token's topic once from counts that change as it goes."""
    n_topics = len(totals)
    sums = np.empty(n_topics)
    for token in range(len(words)):
        d, w, k = documents[token], words[token], topics[token]
        totals[k] -= max(by_word[w, k] + noise[w, k], 0.0) - max(by_word[w, k] - 1 + noise[w, k], 0.0)
        by_word[w, k] -= 1
        by_document[d, k] -= 1
        total = 0.0
        for j in range(n_topics):
            word = (max(by_word[w, j] + noise[w, j], 0.0) + beta) / totals[j]
            total += word * (max(by_document[d, j] + document_noise[d, j], 0.0) + ALPHA)
            sums[j] = total
        k = min(np.searchsorted(sums, draws[token] * total, side="right"), n_topics - 1)
        totals[k] += max(by_word[w, k] + 1 + noise[w, k], 0.0) - max(by_word[w, k] + noise[w, k], 0.0)
        by_word[w, k] += 1
        by_document[d, k] += 1
        topics[token] = k


def chain(
    train,
    epsilon,
    seed,
    *,
    noise="continuous",
    scale=1.0,
    every=False,
    read_exact=False,
    documents=False,
    sweeps=SWEEPS,
    beta=BETA,
):
    """Train with noise of scale ``scale / epsilon`` (none if infinite) on the counts; return topics and weights."""
    rng = np.random.default_rng([11, seed])
    coordinates = train.tocoo()
    rows = np.repeat(coordinates.row, coordinates.data)
    words = np.repeat(coordinates.col, coordinates.data)
    topics = rng.integers(K, size=len(words))
    by_word, by_document = np.zeros((train.shape[1], K)), np.zeros((train.shape[0], K))
    np.add.at(by_word, (words, topics), 1)
    np.add.at(by_document, (rows, topics), 1)

    def draw(shape):
        if np.isinf(epsilon):
            return np.zeros(shape)
        if noise == "continuous":
            return rng.laplace(scale=scale / epsilon, size=shape)
        stop = -np.expm1(-epsilon / scale)
        return (rng.geometric(stop, shape) - rng.geometric(stop, shape)).astype(float)

    still = draw(by_word.shape)
    beside = draw(by_document.shape) if documents else np.zeros(by_document.shape)
    for done in range(sweeps):
        if every and done:
            still = draw(by_word.shape)
        totals = (np.maximum(by_word + still, 0) + beta).sum(0)
        sweep(rows, words, topics, by_word, by_document, still, beside, beta, totals, rng.random(len(words)))
    read = by_word if read_exact else np.maximum(by_word + (draw(by_word.shape) if every else still), 0)
    smooth = read.T + beta
    return smooth / smooth.sum(1, keepdims=True), smooth.sum(1), ""


def reports_of(data, epsilon):
    """Reports of one split, with repaired totals: what LP-LDA trains on."""
    import scipy.sparse as sp

    bits = np.unpackbits(randomised(data.train, symmetric(epsilon), data.split), axis=1, bitorder="little")
    rebuilt = rebuild(bits[:, : data.train.shape[1]], symmetric(epsilon), np.random.default_rng(data.split))
    return sp.csr_matrix(rebuilt.astype(np.int32))


def table_cdp_lda():
    """Readings of CDP-LDA: KOS (two splits), NIPS (one, epsilon 7); the last four readings on KOS at 7 only."""
    table = Table(HERE / "cdp_lda.csv")
    sets = [corpus("kos", split, n_test=430) for split in range(2)] + [corpus("nips", 0, n_test=150)]
    for data in sets:
        kos = data.name == "kos"
        table.add(data, "no privacy", "inf", lambda d=data: chain(d.train, np.inf, d.split))
        for epsilon in EPSILONS[::-1] if kos else (7,):
            work = {
                "LP-LDA": lambda d=data, e=epsilon: chain(reports_of(d, e), np.inf, d.split),
                "discrete noise, once, frozen tables (CountNoiseLDA)": count_noise(data, epsilon),
            }
            for name in list(READINGS)[: (None if epsilon == 7 else 4) if kos else 2]:
                settings = READINGS[name]
                work[name] = lambda d=data, e=epsilon, s=settings: chain(d.train, e, d.split, **s)
            for name, fit in work.items():
                table.add(data, name, epsilon, fit)
    for name in ("kos", "nips"):
        for line in dict.fromkeys(row["line"] for row in table.rows):
            means = [table.mean(line, e, "in_sample", name) for e in (*EPSILONS, "inf")]
            print(f"{name} {line:62s}", *(f"{v:7.1f}" for v in means))
