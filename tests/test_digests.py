"""Digests of seeded fits: a change of code that should not change results must leave every line as it is.

``python -m tests.test_digests`` writes the table anew, for a change that is meant; its commit says why. The table names
the processor and the libraries that it was made with. With others, topics of noisy sums differ by the rounding of
linear algebra (docs/reference/versions.md): there they are held to the table's projections, to three digits.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.wang2020.fedlda import fit_fedlda
from numpy._core._multiarray_umath import __cpu_features__
from tests.test_api import CLASSES
from threadpoolctl import threadpool_info

from discreet import (
    FederatedLDA,
    GibbsLDA,
    HybridGibbsLDA,
    LocalLDA,
    PrivateCountVectorizer,
    PrivateLDA,
    PrivateSVILDA,
    StreamingLocalLDA,
    VariationalLDA,
    fit_topics,
)
from discreet.central import PrivateFit, TopicPrevalence
from discreet.corpus import Corpus, write_shards
from discreet.errors import WeakForecastWarning
from discreet.local import BitChannel, WholeDocumentLDA
from discreet.privacy import SecureStream

TABLE = Path(__file__).with_name("digests.json")
WORDS = [f"w{i:02d}" for i in range(40)]


def counts(n_documents: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(7)
    topic = rng.integers(4, size=(n_documents, 1))
    return rng.poisson(np.where(np.arange(40) // 10 == topic, 1.2, 0.08))


def persons(n_documents: int = 3000) -> np.ndarray:
    return np.arange(n_documents) // 3


def texts() -> list[str]:
    rows = counts(1500)
    return [" ".join(np.repeat(WORDS, row).tolist()) for row in rows]


def channel() -> BitChannel:
    return BitChannel.symmetric(2.0)


def reports() -> Any:
    present = (counts() > 0).astype(np.int32)
    return channel().reports(present, SecureStream(3))


def vectors() -> np.ndarray:
    """Return vectors in which the words of a topic are near one another."""
    rng = np.random.default_rng(11)
    return rng.normal(size=(4, 25))[np.arange(40) // 10] + 0.7 * rng.normal(size=(40, 25))


def corpus(*, owned: bool = False, n_documents: int = 3000) -> Corpus:
    whose = persons(n_documents) if owned else None
    return Corpus(counts(n_documents), WORDS, whose, words_are_public=True)


def from_shards(fit: Callable[[Any], list[Any]], given: Corpus) -> list[Any]:
    """Fit to the corpus in shards of 700 documents."""
    with tempfile.TemporaryDirectory() as folder:
        return fit(write_shards(given, f"{folder}/shards", shard_documents=700))


@cache
def public_release() -> Any:
    """Return topics by an algorithm whose bytes depend on no plan."""
    return PrivateSVILDA(4, epsilon=4.0, sampling_rate=0.2, random_state=1).fit(corpus()).release_


def prevalence(unit: str = "document") -> list[Any]:
    groups = {"groups": ["a", "b", "c"], "epsilon": 2.0, "privacy_unit": unit, "random_state": 1}
    wards = np.array(["a", "b", "c"])[np.arange(3000) % 7 % 3]
    made = TopicPrevalence(public_release(), **groups).fit(corpus(owned=unit == "person"), by=wards)
    shares = made.release_.shares()
    return [shares.share, shares.low, made.release_.n_units]


def private_fit(unit: str = "document") -> list[Any]:
    made = PrivateFit(public_release(), epsilon=2.0, privacy_unit=unit, random_state=1)
    return [made.fit(corpus(owned=unit == "person")).release_.perplexity]


def topics(model: Any) -> list[Any]:
    return [model.components_]


def private(estimator: Any = PrivateLDA, *, shards: bool = False, **how: Any) -> list[Any]:
    def fit(given: Any) -> list[Any]:
        return released(estimator(4, random_state=1, **how).fit(given).release_)

    given = corpus(owned=how.get("privacy_unit") == "person")
    return from_shards(fit, given) if shards else fit(given)


def released(release: Any) -> list[Any]:
    return [release.topic_word, release.topic_weight, release.word_weight, release.topic_word_noise]


def words(method: str, unit: str = "document") -> list[Any]:
    chooser = PrivateCountVectorizer(epsilon=4.0, method=method, privacy_unit=unit, random_state=1)
    chooser.fit(texts(), persons=persons(1500) if unit == "person" else None)
    return [chooser.get_feature_names_out(), chooser.word_weights_]


def silos() -> list[np.ndarray]:
    X = counts()
    return [X[:1000], X[1000:2000], X[2000:]]


def federated(vocabulary: list[str] | None = None, **how: Any) -> list[Any]:
    model = FederatedLDA(4, random_state=1, allow_unlearnable=True, **how)
    named = {} if vocabulary is None else {"vocabulary": vocabulary, "words_are_public": True}
    return topics(model.fit(silos(), **named))


def whole_documents() -> list[Any]:
    with pytest.warns(WeakForecastWarning):  # so few answers teach little
        model = WholeDocumentLDA(
            4, epsilon=8.0, word_vectors=vectors(), random_state=1, allow_unlearnable=True
        ).fit(corpus())
    return topics(model)


def streamed() -> list[Any]:
    model = StreamingLocalLDA(3, channel=channel(), random_state=1)
    noisy = reports()
    return topics(model.partial_fit(noisy[:1500]).partial_fit(noisy[1500:]))


def gibbs(**how: Any) -> list[Any]:
    model = GibbsLDA(n_sweeps=20, random_state=1, **how).fit(counts(300))
    return [model.components_, model.topic_word_counts_]


FITS: dict[str, Callable[[], list[Any]]] = {
    "PrivateLDA": lambda: private(epsilon=2.0),
    "PrivateLDA, people": lambda: private(epsilon=2.0, privacy_unit="person"),
    "PrivateLDA, no noise": lambda: private(epsilon=float("inf")),
    "PrivateLDA, shards": lambda: private(epsilon=2.0, shards=True),
    "PrivateLDA, people in shards": lambda: private(epsilon=2.0, privacy_unit="person", shards=True),
    "PrivateLDA, vectors": lambda: private(epsilon=1.0, word_vectors=vectors()),
    "PrivateLDA, vectors, people": lambda: private(
        epsilon=1.0, word_vectors=vectors(), privacy_unit="person"
    ),
    "fit_topics": lambda: released(fit_topics(texts(), epsilon=6.0, n_topics=3, random_state=1)),
    "TopicPrevalence": prevalence,
    "TopicPrevalence, people": lambda: prevalence("person"),
    "PrivateFit": private_fit,
    "PrivateFit, people": lambda: private_fit("person"),
    "DP-SVI": lambda: private(PrivateSVILDA, epsilon=2.0, sampling_rate=0.2),
    "DP-SVI, people": lambda: private(PrivateSVILDA, epsilon=2.0, sampling_rate=0.2, privacy_unit="person"),
    "DP-SVI, shards": lambda: private(PrivateSVILDA, epsilon=2.0, sampling_rate=0.2, shards=True),
    "HybridGibbsLDA": lambda: topics(
        HybridGibbsLDA(4, epsilon=8.0, n_sweeps=5, random_state=1).fit(counts())
    ),
    "words, weighted_gaussian": lambda: words("weighted_gaussian"),
    "words, sips": lambda: words("sips"),
    "words, weighted_gaussian, people": lambda: words("weighted_gaussian", "person"),
    "words, sips, people": lambda: words("sips", "person"),
    "BitChannel": lambda: [reports()],
    "LocalLDA": lambda: topics(LocalLDA(3, channel=channel(), random_state=1).fit(reports())),
    "LocalLDA, not refined": lambda: topics(
        LocalLDA(3, channel=channel(), refine=False, random_state=1).fit(reports())
    ),
    "LocalLDA, vectors": lambda: topics(
        LocalLDA(3, channel=channel(), word_vectors=vectors(), random_state=1).fit(reports())
    ),
    "WholeDocumentLDA": whole_documents,
    "StreamingLocalLDA": streamed,
    "FedLDA, rrp": lambda: [fit_fedlda(silos(), 4, epsilon=40.0, random_state=1).topic_word],
    "FederatedLDA, aggregate": lambda: federated(epsilon=4.0, delta=1e-6),
    "FederatedLDA, vectors": lambda: federated(epsilon=4.0, word_vectors=vectors(), vocabulary=WORDS),
    "GibbsLDA": lambda: gibbs(n_topics=4),
    "GibbsLDA, many topics": lambda: gibbs(n_topics=220),
    "GibbsLDA, random start": lambda: gibbs(n_topics=4, init="random"),
    "GibbsLDA, random start, many topics": lambda: gibbs(n_topics=220, init="random"),
    "VariationalLDA": lambda: topics(VariationalLDA(4, random_state=1).fit(counts(300))),
    "GibbsLDA, shards": lambda: from_shards(
        lambda given: topics(GibbsLDA(4, n_sweeps=5, random_state=1).fit(given)), corpus(n_documents=900)
    ),
    "VariationalLDA, shards": lambda: from_shards(
        lambda given: topics(VariationalLDA(4, random_state=1).fit(given)), corpus(n_documents=900)
    ),
    "VariationalLDA, random start": lambda: topics(
        VariationalLDA(4, init="random", random_state=1).fit(counts(300))
    ),
}


#: What is made of integers, coins and counts alone: the same everywhere (tests/test_same_bytes.py).
EVERYWHERE = (
    *("words, weighted_gaussian", "words, sips", "BitChannel"),
    *("words, weighted_gaussian, people", "words, sips, people"),
    "HybridGibbsLDA",
    *("GibbsLDA", "GibbsLDA, many topics", "GibbsLDA, random start", "GibbsLDA, random start, many topics"),
)


def digest(values: list[Any]) -> str:
    """Of the values rounded to nine digits."""
    hashed = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = np.array([f"{number:.9g}" for number in array.ravel().tolist()])
        hashed.update(array.astype(str).tobytes())
    return hashed.hexdigest()[:16]


def projections(values: list[Any]) -> list[float]:
    """Return each array's length, and its projections on three fixed directions over that length."""
    found = []
    for value in values:
        flat = np.asarray(value, np.float64).ravel()
        length = float(np.linalg.norm(flat)) or 1.0
        directions = np.random.default_rng(0).standard_normal((3, len(flat)))
        found += [length, *(directions @ flat / length).tolist()]
    return [float(f"{number:.6g}") for number in found]


def made_with() -> str:
    """Name what results may depend on: kernels of linear algebra, vector units, libraries."""
    kernels = {str(one.get("architecture")) for one in threadpool_info() if one["user_api"] == "blas"}
    units = [name for name in ("X86_V3", "X86_V4", "ASIMD") if __cpu_features__.get(name)]
    versions = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    return ", ".join([*sorted(kernels), *units, *versions])


def table() -> dict[str, Any]:
    return json.loads(TABLE.read_text())


@pytest.mark.parametrize("name", FITS)
def test_the_same_seed_gives_the_same_topics_as_ever(name):
    values, expected = FITS[name](), table()
    if name in EVERYWHERE or made_with() == expected["made with"]:
        assert digest(values) == expected["digests"][name]
    else:
        assert projections(values) == pytest.approx(expected["projections"][name], rel=1e-3, abs=1e-3)


def test_projections_tell_another_seed_but_not_another_rounding():
    one = [
        model.components_
        for model in (PrivateLDA(4, epsilon=2.0, random_state=seed).fit(counts()) for seed in (1, 2))
    ]
    rounded = one[0] * (1 + 1e-5 * np.random.default_rng(0).standard_normal(one[0].shape))
    near = pytest.approx(projections(one[:1]), rel=1e-3, abs=1e-3)
    assert projections([rounded]) == near
    assert projections(one[1:]) != near


def test_every_estimator_has_a_digest():
    called = {"PrivateSVILDA": "DP-SVI", "PrivateCountVectorizer": "words"}
    assert {called.get(name, name) for name in CLASSES} <= {name.partition(",")[0] for name in FITS}


def test_the_table_names_every_fit_and_no_other():
    assert set(table()["digests"]) == set(FITS)
    assert set(table()["projections"]) == set(FITS) - set(EVERYWHERE)


if __name__ == "__main__":
    made = {name: fit() for name, fit in FITS.items()}
    values = {name: projections(one) for name, one in made.items() if name not in EVERYWHERE}
    digests = {name: digest(one) for name, one in made.items()}
    new = {"made with": made_with(), "digests": digests, "projections": values}
    TABLE.write_text(json.dumps(new, indent=1) + "\n")
