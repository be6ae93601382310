"""Shares of topics in groups of documents that lie in shards: the numbers of memory, whoever goes through them."""

import math
from functools import cache

import numpy as np
import pytest
from tests.central.test_sharded import PERSONS, WORDS, Killer, N, corpus, digest
from tests.clusters import local_cluster

from discreet import Corpus, CorpusError, Ledger, ParameterError, PrivateLDA, TopicPrevalence, fit_topics
from discreet.central.prevalence.estimator import check_labels, reach_of
from discreet.central.prevalence.labelled import LabelledDocuments, LabelledShards
from discreet.central.vocabulary.units import first_words, sum_even_weights
from discreet.corpus import ShardedCorpus, write_shards
from discreet.corpus.vocabulary import WordOrigin
from discreet.engines import DaskEngine, ProcessEngine

WARDS = np.array(["north", "south", "west", "nobody's", ""], object)[
    np.random.default_rng(1).integers(5, size=N)
]
DAYS = np.array([f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(N)], object)


@cache
def trained():
    return PrivateLDA(3, epsilon=4.0, random_state=1, allow_unlearnable=True).fit(corpus()).release_


def labelled(owned=False, labels=WARDS):
    documents = corpus()
    return Corpus(documents.counts, WORDS, PERSONS if owned else None, labels, words_are_public=True)


KINDS = {
    "listed": ({"groups": ["north", "south", "west"], "unlisted": "other"}, WARDS),
    "months": ({"freq": "month", "start": "2024-01", "end": "2024-12"}, DAYS),
    "private": ({"group_selection": "private"}, WARDS),
    "private, and the rest": (
        {"group_selection": "private", "unlisted": "other", "epsilon": math.inf},
        WARDS,
    ),
}


def shares(X, kind, owned, **how):
    settings = {"epsilon": 2.0, "random_state": 3, "privacy_unit": "person" if owned else "document"}
    made = TopicPrevalence(trained(), **{**settings, **KINDS[kind][0], **how}).fit(X).release_
    return made.groups, digest(made.topic_totals, made.unit_counts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("owned", [False, True])
def test_shards_of_any_size_give_the_numbers_of_memory(tmp_path, kind, owned, monkeypatch):
    documents = labelled(owned, KINDS[kind][1])
    expected = shares(documents, kind, owned)
    assert len(expected[0]) >= 3
    for size, n_jobs in ((100, 1), (777, 2), (10_000, 1)):
        shards = write_shards(documents, tmp_path / f"{size}", shard_documents=size)
        with monkeypatch.context() as held:
            for name in ("counts", "labels"):
                held.setattr(ShardedCorpus, name, property(lambda self: pytest.fail("all shards were read")))
            assert shares(shards, kind, owned, n_jobs=n_jobs) == expected


@pytest.mark.parametrize("kind", ["listed", "private"])
@pytest.mark.parametrize("owned", [False, True])
def test_shards_tell_how_far_the_topics_reach_as_memory_does(tmp_path, kind, owned):
    documents = labelled(owned)
    model = TopicPrevalence(trained(), **KINDS[kind][0], privacy_unit="person" if owned else "document")
    found = reach_of(model, documents, check_labels(model, documents, documents.labels))
    shards = write_shards(documents, tmp_path / "s", shard_documents=100)
    for one, other in zip(found, reach_of(model, shards, None), strict=True):
        np.testing.assert_allclose(one, other)
    assert 0 < found.n_placed < found.n_with_words <= N
    empty = Corpus(documents.counts * 0, WORDS, documents.persons, WARDS, words_are_public=True)
    model.ledger = Ledger(1.0, 1e-6, privacy_unit=model.privacy_unit)
    for strange in (empty, write_shards(empty, tmp_path / "empty", shard_documents=100)):
        with pytest.raises(CorpusError, match=f"none of {N:,} documents has a word of these topics"):
            model.fit(strange)
    assert not model.ledger.entries


@pytest.mark.parametrize("owned", [False, True])
def test_names_of_units_weigh_what_they_weigh_in_memory(tmp_path, owned):
    documents = labelled(owned)
    shards = LabelledShards(write_shards(documents, tmp_path / "s", shard_documents=100))
    memory = LabelledDocuments(documents, WARDS, PERSONS if owned else None)
    assert shards.names() == memory.names() == ("nobody's", "north", "south", "west")
    order, weights = np.arange(4, dtype=np.uint64), np.array([0, 100, 71, 58])
    units = first_words(memory.names_of_units(memory.names(), order), 3)
    total = shards.names_of_units(memory.names(), order).even_weights(3, weights)
    assert total.tolist() == sum_even_weights(units, weights).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.integration
def test_a_cluster_whose_worker_is_killed_gives_the_numbers_of_memory(tmp_path):
    documents = labelled(True)
    shards = write_shards(documents, tmp_path / "s", shard_documents=200)
    with local_cluster(2) as client:
        killer = Killer(client, [("finding topics of documents", 0)])
        found = shares(shards, "private", True, engine=DaskEngine(client), callback=killer)
    assert found == shares(documents, "private", True)
    assert killer.seen


def test_words_topics_and_shares_on_one_budget(tmp_path):
    documents = labelled().with_word_origin(WordOrigin("from text"))
    shards = write_shards(documents, tmp_path / "s", shard_documents=300)

    def fit(X, **engine):
        prevalence = TopicPrevalence(
            None, groups=list("nsw"), epsilon=1.0, random_state=1, unlisted="other", **engine
        )
        how = {"epsilon": 8.0, "n_topics": 3, "random_state": 4, "allow_unlearnable": True, "max_words": 30}
        release = fit_topics(X, prevalence=prevalence, **how, **engine)
        return release.vocabulary, digest(release.topic_word, prevalence.release_.topic_totals)

    assert fit(shards, engine=ProcessEngine(2)) == fit(documents)
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_what_shards_do_not_take_is_refused_before_anything_is_booked(tmp_path):
    shards = write_shards(labelled(), tmp_path / "s", shard_documents=500)
    bare = write_shards(corpus(), tmp_path / "bare", shard_documents=500)
    ledger = Ledger(4.0, 1e-6)
    model = TopicPrevalence(trained(), groups=["north"], unlisted="other", ledger=ledger)
    with pytest.raises(ParameterError, match="leave by out: shards carry the labels"):
        model.fit(shards, by=WARDS)
    with pytest.raises(ParameterError, match="the shards carry no labels"):
        model.fit(bare)
    with pytest.raises(ParameterError, match="X carries no labels"):
        model.fit(corpus())
    with pytest.raises(ParameterError, match="one label a document"):
        TopicPrevalence(trained(), groups=[["north", "south"], ["2024"]], ledger=ledger).fit(shards)
    with pytest.raises(ParameterError, match="engine goes through shards"):
        TopicPrevalence(trained(), groups=["north"], ledger=ledger, engine=ProcessEngine()).fit(labelled())
    assert not ledger.entries


def test_a_label_that_is_not_listed_is_told_by_its_shard_and_not_shown(tmp_path):
    shards = write_shards(labelled(), tmp_path / "s", shard_documents=500)
    ledger = Ledger(4.0, 1e-6)
    model = TopicPrevalence(trained(), groups=["north", "south", "west"], ledger=ledger)
    with pytest.raises(CorpusError, match=r"shard-00000.safetensors: 1 value of by is not among") as caught:
        model.fit(shards)
    assert "nobody" not in str(caught.value)
    assert not ledger.entries
