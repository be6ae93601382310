"""How long the server's side of local privacy takes: moments of 200,000 reports of 1,000 bits, and topics from them.

    python benchmarks/local.py

Times are CPU seconds of this process. The plain way to count pairs, float32 matrix products of blocks (exact below
2^24), stands beside the bit kernel.
"""

import time
import warnings
from types import SimpleNamespace

import numpy as np
from threadpoolctl import threadpool_limits

from discreet import LocalLDA
from discreet.local import Moments

N_REPORTS, N_WORDS, N_TOPICS, EPSILON = 200_000, 1000, 20, 2.0


def made():
    """Packed reports of planted topics."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
    q = 1 / (np.exp(EPSILON) + 1)
    parts = []
    for _ in range(0, N_REPORTS, 10_000):
        rates = 60 * rng.dirichlet(np.full(N_TOPICS, 0.1), 10_000) @ topics
        present = rng.random(rates.shape, dtype=np.float32) < -np.expm1(-rates)
        bits = rng.random(rates.shape, dtype=np.float32) < np.where(present, 1 - q, q)
        parts.append(np.packbits(bits, axis=1, bitorder="little"))
    return np.concatenate(parts), SimpleNamespace(p=1 - q, q=q)


def by_products(packed):
    """Count pairs with float32 products of blocks of 8,192 reports."""
    second = np.zeros((N_WORDS, N_WORDS), np.int64)
    for start in range(0, len(packed), 8192):
        part = packed[start : start + 8192]
        block = np.unpackbits(part, axis=1, count=N_WORDS, bitorder="little").astype(np.float32)
        second += (block.T @ block).astype(np.int64)
    return second


def timed(what, work, repeat=3):
    """Print the least CPU time of a few runs."""
    best, answer = np.inf, None
    for _ in range(repeat):
        start = time.process_time()
        answer = work()
        best = min(best, time.process_time() - start)
    print(f"{what:55s} {best:8.2f} s", flush=True)
    return answer


def main():
    """Time it."""
    warnings.simplefilter("ignore", UserWarning)
    packed, channel = made()
    words = [f"word_{i}" for i in range(N_WORDS)]
    Moments(N_WORDS).add_batch(packed[:64], packed=True)  # compiled
    moments = timed(
        "moments, bit kernel", lambda: Moments(N_WORDS, channel=channel).add_batch(packed, packed=True)
    )
    with threadpool_limits(1, user_api="blas"):
        plain = timed("moments, float32 products", lambda: by_products(packed), repeat=1)
    assert np.array_equal(plain, moments.second)
    timed("learnable()", moments.learnable)
    model = LocalLDA(N_TOPICS, channel=channel, random_state=0)
    timed("fit_moments (20 topics)", lambda: model.fit_moments(moments))
    timed("fit, all of it", lambda: model.fit(packed, packed=True, vocabulary=words))
    few = packed[:3000]
    model.set_params(refine=True)
    timed("fit with refining, 3,000 reports", lambda: model.fit(few, packed=True, vocabulary=words))
    timed("transform_reports, 3,000 reports", lambda: model.transform_reports(few, packed=True))


if __name__ == "__main__":
    main()
