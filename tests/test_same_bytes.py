"""What a seed gives again, and where: any number of threads here, and next to the same on another processor."""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

pytestmark = pytest.mark.integration

N_WORDS = 300
#: Made of integers, coins and counts alone: the same bytes everywhere. docs/reference/versions.md names them.
EVERYWHERE = ("GibbsLDA", "HybridGibbsLDA", "words", "reports", "noise")
#: How far results may lie apart where the kernel of linear algebra is another: probabilities, and sums of documents.
APART = {"PrivateLDA": 1e-7, "TopicPrevalence": 1e-4, "LocalLDA": 1e-4}


def fits():
    """Return seeded results by name."""
    from discreet import (
        GibbsLDA,
        HybridGibbsLDA,
        LocalLDA,
        PrivateCountVectorizer,
        PrivateLDA,
        TopicPrevalence,
    )
    from discreet.local import BitChannel
    from discreet.privacy import SecureStream
    from discreet.privacy.noise.gaussian import rounded_gaussian

    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), 5)
    counts = sp.csr_matrix(rng.poisson(30 * rng.dirichlet(np.full(5, 0.2), 1200) @ topics))
    texts = [" ".join(f"w{word:03d}" for word in row.indices) for row in counts]
    channel = BitChannel.symmetric(4.0)
    reports = channel.reports((counts.toarray() > 0).astype(np.int32), SecureStream(3))
    private = PrivateLDA(5, epsilon=8.0, random_state=1).fit(counts)
    groups = np.where(np.arange(1200) % 3 == 0, "a", "b")
    shares = TopicPrevalence(private.release_, groups=["a", "b"], epsilon=8.0, random_state=1)
    words = PrivateCountVectorizer(epsilon=4.0, method="weighted_gaussian", random_state=1).fit(texts)
    hybrid = HybridGibbsLDA(5, epsilon=8.0, n_sweeps=3, random_state=1).fit(counts)
    return {
        "PrivateLDA": private.components_,
        "TopicPrevalence": shares.fit(counts, by=groups).release_.topic_totals,
        "LocalLDA": LocalLDA(4, channel=channel, random_state=1).fit(reports).components_,
        "GibbsLDA": GibbsLDA(5, n_sweeps=10, random_state=1).fit(counts).components_,
        "HybridGibbsLDA": hybrid.components_,
        "words": np.frombuffer("\n".join(words.get_feature_names_out()).encode(), np.uint8),
        "reports": reports.toarray() if sp.issparse(reports) else np.asarray(reports),
        "noise": rounded_gaussian(1000.0, 5000, SecureStream(5)),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that fits in a process of its own, under environment variables, once for each."""
    made = {}

    def results(**settings):
        key = tuple(sorted(settings.items()))
        if key not in made:
            out = tmp_path_factory.mktemp("run") / "results.npz"
            here = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
            root = str(Path(__file__).parents[1])
            here["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
            subprocess.run(
                [sys.executable, "-m", "tests.test_same_bytes", str(out)],
                check=True,
                env={**here, **settings},
            )
            with np.load(out) as read:
                made[key] = {name: read[name] for name in read.files}
        return made[key]

    return results


def digests(results):
    return {name: hashlib.sha256(value.tobytes()).hexdigest() for name, value in results.items()}


def test_threads_of_linear_algebra_change_no_byte(run):
    one, two = run(OPENBLAS_NUM_THREADS="1"), run(OPENBLAS_NUM_THREADS="2")
    assert digests(one) == digests(two)
    assert set(one) == {*EVERYWHERE, *APART, "kernel"}


def test_another_kernel_changes_topics_by_rounding_and_all_else_by_nothing(run):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("no second kernel of linear algebra is at hand on this processor")
    here, other = run(OPENBLAS_NUM_THREADS="1"), run(OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Prescott")
    if str(here["kernel"]) == str(other["kernel"]):
        pytest.skip("this NumPy has no second kernel")
    assert {name: digests(here)[name] for name in EVERYWHERE} == {
        name: digests(other)[name] for name in EVERYWHERE
    }
    apart = {name: float(np.abs(here[name] - other[name]).max()) for name in APART}
    assert all(apart[name] <= most for name, most in APART.items()), apart
    assert any(apart.values())  # else the page may promise more


if __name__ == "__main__":
    from threadpoolctl import threadpool_info

    kernels = sorted(str(one.get("architecture")) for one in threadpool_info() if one["user_api"] == "blas")
    np.savez(sys.argv[1], kernel=np.array(" ".join(kernels)), **fits())
