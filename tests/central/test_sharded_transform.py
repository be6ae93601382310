"""Topics of documents in shards: the rows of memory, whoever goes through the shards."""

import numpy as np
import pytest
from tests.central.test_sharded import WORDS, V, corpus, digest
from tests.clusters import local_cluster

from discreet import Corpus, CorpusError, PrivateLDA
from discreet.corpus import ShardedCorpus, write_shards
from discreet.engines import DaskEngine, ProcessEngine
from discreet.lda import fold_in
from discreet.lda._fold_in import fold_in_shards

TOPICS = np.random.default_rng(3).dirichlet(np.full(V, 0.1), 3)


@pytest.mark.parametrize("method", ["map", "variational", "maximum_likelihood"])
@pytest.mark.parametrize(("size", "n_jobs"), [(77, 1), (500, 2), (10_000, 3)])
def test_fold_in_gives_the_rows_of_memory(tmp_path, method, size, n_jobs):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=size)
    expected = fold_in(TOPICS, corpus(), method=method, doc_topic_prior=[0.1, 0.2, 0.3])
    found = fold_in(TOPICS, shards, method=method, doc_topic_prior=[0.1, 0.2, 0.3], n_jobs=n_jobs)
    assert digest(found) == digest(expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_a_cluster_gives_the_rows_of_memory(tmp_path):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    with local_cluster(2) as client:
        assert digest(fold_in(TOPICS, shards, engine=DaskEngine(client))) == digest(fold_in(TOPICS, corpus()))


def test_releases_and_estimators_take_shards(tmp_path):
    documents = corpus(True)  # persons, so that shards have another order
    shards = write_shards(documents, tmp_path / "s", shard_documents=300)
    rows = np.argsort(documents.persons, kind="stable")
    engine = ProcessEngine(2)
    model = PrivateLDA(
        3, epsilon=4.0, privacy_unit="person", random_state=1, allow_unlearnable=True, engine=engine
    ).fit(shards)
    expected = model.release_.transform(documents)[rows]
    assert digest(model.transform(shards)) == digest(expected)
    assert digest(model.release_.transform(shards, n_jobs=2)) == digest(expected)
    parts = list(model.release_.transform_shards(shards, engine=engine))
    assert [len(part) for part in parts] == [entry.n_documents for entry in shards.manifest.entries]
    assert digest(*parts) == digest(expected)


def test_one_shard_is_held_at_a_time(tmp_path, monkeypatch):
    """Nothing asks for all counts, and a shard is read when its rows are asked for."""
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=300)
    monkeypatch.setattr(ShardedCorpus, "counts", property(lambda self: pytest.fail("all counts were read")))
    parts = fold_in_shards(TOPICS, shards)
    next(parts)
    (tmp_path / "s" / "shard-00003.safetensors").unlink()
    next(parts)
    with pytest.raises(CorpusError, match=r"shard-00003.safetensors cannot be read"):
        list(parts)


def test_columns_are_put_in_order_and_other_words_refused(tmp_path):
    documents = corpus()
    order = np.random.default_rng(0).permutation(V)
    turned = Corpus(documents.counts[:, order], [WORDS[i] for i in order], words_are_public=True)
    shards = write_shards(turned, tmp_path / "s", shard_documents=600)
    found = np.concatenate(list(fold_in_shards(TOPICS, shards, words=tuple(WORDS))))
    assert digest(found) == digest(fold_in(TOPICS, documents))
    with pytest.raises(CorpusError, match="of other words than the model"):
        fold_in_shards(TOPICS, shards, words=("other", *WORDS[1:]))
    with pytest.raises(CorpusError, match="X has 40 features, but 39 words are expected"):
        fold_in(TOPICS[:, 1:], shards)
