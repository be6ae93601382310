"""One result, whatever holds the documents and whatever goes through them: the same bytes, digest by digest."""

import hashlib
import math
import os
import signal
import tempfile
import threading
from functools import cache

import numpy as np
import pytest
from tests.clusters import local_cluster
from tests.naive import central as naive
from tests.naive.central_checks import random_counts

from discreet import (
    Corpus,
    CorpusError,
    Ledger,
    ParameterError,
    PrivacyError,
    PrivateCountVectorizer,
    PrivateLDA,
    PrivateSVILDA,
    fit_topics,
)
from discreet.central.sums import em_round
from discreet.central.sums import units as sums
from discreet.central.sums.units import ShardedUnits
from discreet.corpus import write_shards
from discreet.corpus.vocabulary import WordOrigin
from discreet.engines import DaskEngine, ProcessEngine
from discreet.errors import EngineError
from discreet.privacy.mechanism import BITS

N, V, K = 2100, 40, 3
WORDS = [f"w{i:02d}" for i in range(V)]
PERSONS = np.random.default_rng(5).integers(0, 900, N) - 7


def corpus(owned=False):
    rng = np.random.default_rng(7)
    topic = rng.integers(4, size=(N, 1))
    counts = rng.poisson(np.where(np.arange(V) // 10 == topic, 1.2, 0.08))
    return Corpus(counts, WORDS, PERSONS if owned else None, words_are_public=True)


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def fit(X, owned=False, **how):
    unit = "person" if owned else "document"
    model = PrivateLDA(K, epsilon=4.0, privacy_unit=unit, random_state=1, allow_unlearnable=True, **how)
    release = model.fit(X).release_
    return digest(release.topic_word, release.topic_weight, release.word_weight, release.topic_word_noise)


@cache
def in_memory(owned=False):
    return fit(corpus(owned), owned)


@pytest.fixture(scope="module")
def cluster():
    """A client of two workers, which the tests of this file share."""
    with local_cluster(2) as client:
        yield client


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize(("size", "n_jobs"), [(100, 1), (77, 2), (777, 4), (10_000, 2)])
def test_shards_of_any_size_give_the_bytes_of_memory(tmp_path, size, n_jobs, owned):
    shards = write_shards(corpus(owned), tmp_path / "s", shard_documents=size)
    assert fit(shards, owned, n_jobs=n_jobs) == in_memory(owned)


def test_scratch_files_change_nothing(tmp_path):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    assert fit(shards, engine=ProcessEngine(2, memory=0, scratch=str(tmp_path))) == in_memory()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_a_cluster_gives_the_bytes_of_memory(tmp_path, cluster):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=250)
    assert fit(shards, engine=DaskEngine(cluster)) == in_memory()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_workers", [1, 4])
def test_a_cluster_of_any_size_gives_the_bytes_of_memory(tmp_path, n_workers):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=250)
    with local_cluster(n_workers) as client:
        assert fit(shards, engine=DaskEngine(client)) == in_memory()


class Killer:
    """Kills a worker when a stage begins; another one takes its place."""

    def __init__(self, client, stages):
        self.client, self.stages, self.seen = client, set(stages), []

    def __call__(self, stage, done, total):
        if (stage, done) in self.stages:
            self.seen.append((stage, done))
            self.client.wait_for_workers(2, timeout=60)  # one that was killed before has a successor
            os.kill(sorted(self.client.run(os.getpid).values())[0], signal.SIGKILL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_workers_that_are_killed_change_nothing(tmp_path, cluster):
    """Before the start, whose three sums follow at once, and before each of two rounds."""
    shards = write_shards(corpus(True), tmp_path / "s", shard_documents=250)
    stages = [("starting topics", 0), ("training rounds", 0), ("training rounds", 1)]
    killer = Killer(cluster, stages)
    assert fit(shards, True, engine=DaskEngine(cluster), callback=killer) == in_memory(True)
    assert killer.seen == stages


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_a_random_moment_changes_nothing(tmp_path, seed):
    """`pytest -m slow tests/central/test_sharded.py`: one of two workers dies while a fit is under way."""
    shards = write_shards(corpus(True), tmp_path / "s", shard_documents=30)
    kills = []

    def kill(worker):
        os.kill(worker, signal.SIGKILL)
        kills.append(worker)

    with local_cluster(2) as client:
        workers = list(client.run(os.getpid).values())
        timer = threading.Timer(np.random.default_rng(seed).uniform(0.1, 1.5), kill, [workers[seed % 2]])
        timer.start()
        while not kills:
            assert fit(shards, True, engine=DaskEngine(client)) == in_memory(True)
        timer.join()


@pytest.mark.parametrize("owned", [False, True])
def test_every_sum_is_that_of_the_naive_twin(tmp_path, owned):
    counts = random_counts(120, 12, 3)
    persons = np.arange(120) // 3 if owned else None
    shards = write_shards(Corpus(counts, WORDS[:12], persons), tmp_path / "s", shard_documents=17)
    units = naive.by_unit(counts, persons)
    sharded = ShardedUnits(shards.shards, 12, ProcessEngine(2))
    assert sums.count_sum(sharded).tolist() == [len(units) * 2**BITS]
    total = sums.unigram_sum(sharded)
    np.testing.assert_allclose(
        total, naive.add_up((naive.unigram_vector(u, 12) for u in units), 12), atol=300
    )
    chosen, weights = np.array([1, 4, 7, 9]), np.array([1.0, 0.5, 2.0, 1.5])
    total = sums.cooccurrence_sum(sharded, chosen, weights)
    vectors = (naive.cooccurrence_vector(u, chosen, weights) for u in units)
    np.testing.assert_allclose(total, naive.add_up(vectors, total.shape), atol=300)
    topics = np.random.default_rng(0).dirichlet(np.ones(12), K).T
    thetas = [[naive.start_theta(document, K, 0.1) for document in unit] for unit in units]
    beside = em_round.initial_theta(sharded, K, 0.1)
    all_as_long = em_round.Contribution(0.5, 1e-3)
    for steps in (6, 3):
        expected = np.zeros((12, K), np.int64)
        for number, unit in enumerate(units):
            vector, thetas[number] = naive.round_vector(unit, thetas[number], topics, np.ones(12), 0.1, steps)
            expected += naive.place(vector)
        found = em_round.round_sum(sharded, beside, topics, np.ones(12), 0.1, steps, all_as_long)
        np.testing.assert_allclose(found / 2**BITS, expected / 2**BITS, atol=2e-3)


def test_what_does_not_go_together_is_refused_before_anything_is_booked(tmp_path):
    shards = write_shards(corpus(True), tmp_path / "s", shard_documents=250)
    ledger = Ledger(4.0, 1e-6, privacy_unit="person")
    model = PrivateLDA(K, epsilon=4.0, privacy_unit="person", ledger=ledger, engine=ProcessEngine())
    with pytest.raises(
        ParameterError, match=r"engine goes through shards, and X is in memory: .*write_shards"
    ):
        model.fit(corpus(True))
    with pytest.raises(PrivacyError, match="knows whose its documents are"):
        model.fit(shards, persons=PERSONS)
    with pytest.raises(ParameterError, match="shards know whose documents"):
        model.fit(shards.without_persons(), persons=PERSONS)
    with pytest.raises(ParameterError, match="engine must be an engine with the methods map_sum and map"):
        model.set_params(engine="dask").fit(shards)
    assert not ledger.entries
    with pytest.raises(PrivacyError, match="protects each document for itself, but"):
        PrivateLDA(K, privacy_unit="document").fit(shards)
    with pytest.raises(PrivacyError, match="nobody says where these words come from"):
        PrivateLDA(K, privacy_unit="person").fit(shards.with_word_origin(WordOrigin("unknown")))


@pytest.mark.parametrize("fault", ["gone", "changed"])
def test_a_shard_that_fails_ends_the_fit_and_the_cost_stays_booked(tmp_path, fault):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=500)
    file = tmp_path / "s" / "shard-00002.safetensors"
    if fault == "gone":
        file.unlink()
    else:
        raw = bytearray(file.read_bytes())
        raw[-1] ^= 1
        file.write_bytes(raw)
    ledger = Ledger(4.0, 1e-6)
    model = PrivateLDA(K, epsilon=4.0, ledger=ledger, n_jobs=2)
    with pytest.raises(CorpusError, match=r"shard-00002.safetensors (cannot be read|is not the file)"):
        model.fit(shards)
    assert len(ledger.entries) == 1
    assert not hasattr(model, "release_")


def test_a_full_scratch_disk_ends_the_fit_and_the_cost_stays_booked(tmp_path, monkeypatch):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=500)
    ledger = Ledger(4.0, 1e-6)
    model = PrivateLDA(K, epsilon=4.0, ledger=ledger, engine=ProcessEngine(2, memory=0))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(EngineError, match=r"scratch disk .*: No space left on device; give"):
        model.fit(shards)
    assert len(ledger.entries) == 1
    assert not hasattr(model, "release_")


@pytest.mark.integration
def test_a_cluster_of_another_version_ends_the_fit_and_the_cost_stays_booked(tmp_path, monkeypatch):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=500)
    ledger = Ledger(4.0, 1e-6)
    with local_cluster(1) as client:
        told = client.get_versions

        def other(*given, **how):
            found = told(*given, **how)
            for worker in found["workers"].values():
                worker["packages"]["discreet"] = None
            return found

        monkeypatch.setattr(client, "get_versions", other)
        model = PrivateLDA(K, epsilon=4.0, ledger=ledger, engine=DaskEngine(client))
        with pytest.raises(EngineError, match=r"has discreet \(none\), not .* Install discreet"):
            model.fit(shards)
    assert len(ledger.entries) == 1
    assert not hasattr(model, "release_")


def sampled_rounds(X, owned=False, **how):
    unit = "person" if owned else "document"
    model = PrivateSVILDA(
        K, sampling_rate=0.3, n_rounds=3, epsilon=4.0, privacy_unit=unit, random_state=0, **how
    )
    return digest(model.fit(X).components_)


@pytest.mark.parametrize("owned", [False, True])
def test_sampled_rounds_over_shards(tmp_path, owned):
    """A unit's coin goes by its number in the corpus, so that shards do not matter."""
    expected = sampled_rounds(corpus(owned), owned)
    for size, n_jobs in ((100, 1), (777, 2), (10_000, 4)):
        shards = write_shards(corpus(owned), tmp_path / f"{size}", shard_documents=size)
        assert sampled_rounds(shards, owned, n_jobs=n_jobs) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_sampled_rounds_on_a_cluster_whose_workers_are_killed(tmp_path, cluster):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=250)
    killer = Killer(cluster, [("training rounds", 1)])
    found = sampled_rounds(shards, engine=DaskEngine(cluster), callback=killer)
    assert found == sampled_rounds(corpus())
    assert killer.seen


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("method", ["weighted_gaussian", "sips"])
@pytest.mark.parametrize("epsilon", [3.0, math.inf])
def test_words_over_shards_are_those_of_memory(tmp_path, owned, method, epsilon):
    documents = corpus(owned).with_word_origin(WordOrigin("from text"))
    shards = write_shards(documents, tmp_path / "s", shard_documents=190)
    how = {"epsilon": epsilon, "method": method, "max_words_per_unit": 5, "random_state": 4, "max_words": 30}
    unit = "person" if owned else "document"
    one, other = (
        PrivateCountVectorizer(privacy_unit=unit, n_jobs=2, **how).fit(X) for X in (documents, shards)
    )
    assert one.vocabulary_ == other.vocabulary_
    assert digest(one.word_weights_) == digest(other.word_weights_)
    assert 10 < len(one.vocabulary_) <= 30
    counts, kept = one.transform(documents), other.transform_shards(shards, tmp_path / "kept")
    assert kept.word_origin == other.word_origin_
    if not owned:
        assert (kept.counts != counts.counts).nnz == 0
    else:
        assert kept.n_tokens == counts.n_tokens


@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_words_and_topics_over_a_cluster(tmp_path, cluster):
    documents = corpus().with_word_origin(WordOrigin("from text"))
    shards = write_shards(documents, tmp_path / "s", shard_documents=300)
    how = {"epsilon": 8.0, "n_topics": K, "random_state": 4, "allow_unlearnable": True}
    expected = fit_topics(documents, **how)
    found = fit_topics(shards, engine=DaskEngine(cluster), **how)
    assert found.vocabulary == expected.vocabulary
    assert digest(found.topic_word) == digest(expected.topic_word)
    assert [file.name for file in tmp_path.iterdir()] == ["s"]  # the shards of the chosen words are gone
