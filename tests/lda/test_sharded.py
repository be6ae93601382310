"""Models without privacy over documents in shards: the bytes of memory, whoever goes through them."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.central.test_sharded import Killer, corpus, digest
from tests.clusters import local_cluster

from discreet import CorpusError, GibbsLDA, ParameterError, VariationalLDA
from discreet.corpus import ShardedCorpus, write_shards
from discreet.engines import DaskEngine, ProcessEngine

MODELS = {
    "variational": lambda **how: VariationalLDA(
        3, init="random", max_iter=5, doc_topic_prior=[0.1, 0.2, 0.3], random_state=1, **how
    ),
}


def fitted(name, X, **how):
    model = MODELS[name](**how).fit(X)
    assert model.n_features_in_ == 40
    return digest(model.components_, model.transform(X))


@pytest.fixture(scope="module")
def in_memory():
    return {name: fitted(name, corpus()) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("size", "how"), [(77, {}), (500, {"n_jobs": 2}), (10_000, {"engine": ProcessEngine(2)})]
)
def test_shards_of_any_size_give_the_bytes_of_memory(tmp_path, in_memory, monkeypatch, name, size, how):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=size)
    monkeypatch.setattr(ShardedCorpus, "counts", property(lambda self: pytest.fail("all shards were read")))
    assert fitted(name, shards, **how) == in_memory[name]


@pytest.fixture(scope="module")
def cluster():
    """A client of two workers, which the tests of this file share."""
    with local_cluster(2) as client:
        yield client


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_a_cluster_whose_workers_are_killed_gives_the_bytes_of_memory(tmp_path, in_memory, cluster, name):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    stages = [("fit", 1), ("fit", 4)]
    killer = Killer(cluster, stages)
    assert fitted(name, shards, engine=DaskEngine(cluster), callback=killer) == in_memory[name]
    assert killer.seen == stages


def test_scratch_files_change_nothing(tmp_path, in_memory):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    engine = ProcessEngine(2, memory=0, scratch=str(tmp_path))
    assert fitted("variational", shards, engine=engine) == in_memory["variational"]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (VariationalLDA(3, max_iter=2, random_state=0), "a fast start needs .*; give init=.random., which"),
        (VariationalLDA(3, batch_size=500, max_iter=1, random_state=0), "documents in random order"),
    ],
)
def test_what_needs_memory_reads_all_shards_and_refuses_an_engine(tmp_path, model, why):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    assert digest(model.fit(shards).components_) == digest(model.fit(corpus()).components_)
    with pytest.raises(ParameterError, match=rf"engine goes through shards, but .*{why}.*; leave engine out"):
        model.set_params(engine=ProcessEngine()).fit(shards)
    with pytest.raises(ParameterError, match="engine goes through shards, but X is in memory"):
        MODELS["variational"](engine=ProcessEngine()).fit(corpus())


@pytest.mark.parametrize("name", MODELS)
def test_words_are_put_in_the_order_of_the_model(tmp_path, name):
    documents, order = corpus(), np.random.default_rng(0).permutation(40)
    words = [documents.vocabulary[i] for i in order]
    turned = write_shards(
        [documents.counts[:, order]], tmp_path / "t", vocabulary=words, words_are_public=True
    )
    model = MODELS[name]().fit(write_shards(documents, tmp_path / "s"))
    assert digest(model.transform(turned)) == digest(model.transform(documents))
    other = write_shards([documents.counts], tmp_path / "o", vocabulary=[f"x{i}" for i in range(40)])
    with pytest.raises(CorpusError, match="of other words than the model"):
        model.transform(other)


def test_gibbs_sampling_reads_all_shards_into_memory(tmp_path):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    found = [GibbsLDA(3, n_sweeps=2, random_state=0).fit(X) for X in (corpus(), shards)]
    assert len({digest(model.components_, model.transform(corpus())) for model in found}) == 1
    np.testing.assert_array_equal(found[0].transform(shards), found[0].transform(corpus()))


@pytest.mark.integration
def test_the_page_on_scale_says_up_to_how_many_tokens_a_start_is_fast():
    page = (Path(__file__).parents[2] / "docs/scale.md").read_text()
    (told,) = re.findall(
        r'^\| `VariationalLDA`, .*`init="auto"` takes one up to (\d+) million tokens', page, re.MULTILINE
    )
    most = int(told) * 10**6
    assert [VariationalLDA(3)._begins_fast(n) for n in (most, most + 1)] == [True, False]
