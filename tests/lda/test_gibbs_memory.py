"""The formula for memory in GibbsLDA's docstring, measured in processes of their own."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.lda.gibbs.start import choose_schedule

pytestmark = pytest.mark.integration

MEASURE = """
import json, resource, sys
import scipy.sparse as sp
from discreet.lda import GibbsLDA
path, n_topics, n_jobs = json.loads(sys.argv[1])
def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
GibbsLDA(n_topics, n_sweeps=42).fit([[1, 2]])
X = sp.load_npz(path)
base = megabytes()
GibbsLDA(n_topics, n_sweeps=42, n_jobs=n_jobs, random_state=0).fit(X)
print(json.dumps([base, megabytes()]))
"""


def measure(path, n_topics, n_jobs):
    job = json.dumps([str(path), n_topics, n_jobs])
    done = subprocess.run([sys.executable, "-c", MEASURE, job], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def formula(X, n_topics):
    width, n_tokens, n_words = -(-n_topics // 16) * 16, int(X.sum()), X.shape[1]
    table = n_words * width
    if n_topics <= 200:
        training = 13 * n_tokens + 16 * table
    else:
        training = 24 * n_tokens + 8 * table
    n_batches = choose_schedule(n_tokens, n_topics).n_batches  # "auto" begins fast
    start = 14 * n_tokens + 12 * X.nnz + 4 * table + 4 * width * X.nnz / n_batches
    return max(36 * X.nnz, start, training, 4 * n_tokens + 16 * table) / 2**20


@pytest.mark.parametrize(("n_topics", "n_jobs"), [(200, 1), (200, 3), (600, 2)])
def test_formula_where_tables_are_large(tmp_path, n_topics, n_jobs):
    rng = np.random.default_rng(0)
    dense_enough = rng.random((3000, 12_000), np.float32) < 0.01
    X = sp.csr_matrix(dense_enough.astype(np.int32) * rng.integers(1, 4, (3000, 1), np.int32))
    sp.save_npz(tmp_path / "X.npz", X)
    base, peak = measure(tmp_path / "X.npz", n_topics, n_jobs)
    assert peak - base < 1.15 * formula(X, n_topics) + 10


@pytest.mark.slow
@pytest.mark.parametrize(("n_topics", "n_jobs"), [(200, 2), (1000, 2)])
def test_imdb_fits_into_a_gigabyte(shared_data, n_topics, n_jobs):
    path = shared_data / "imdb" / "counts.npz"
    base, peak = measure(path, n_topics, n_jobs)
    assert peak < 1000
    assert peak - base < 1.15 * formula(sp.load_npz(path), n_topics) + 10
