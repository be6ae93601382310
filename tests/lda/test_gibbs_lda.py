"""GibbsLDA: recovery of planted topics, the same bytes for any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.lda.processors import HASWELL, ONE_FAMILY, PLAIN, knows_avx2, told_here, told_on
from tests.marks import quick

from discreet.corpus import Corpus
from discreet.errors import CorpusError, ParameterError
from discreet.lda import GibbsLDA, fold_in
from discreet.lda.gibbs import estimator as gibbs_lda


def planted(n_documents, length, n_topics, n_words, overlap, seed=0):
    """Documents from Dirichlet mixtures; a topic's own words have 1 - overlap of its mass, 1: it has no own words."""
    rng = np.random.default_rng(seed)
    topics = overlap * rng.dirichlet(np.full(n_words, 0.1), n_topics)
    for k, own in enumerate(np.array_split(np.arange(n_words), n_topics)):
        topics[k, own] += (1 - overlap) * rng.dirichlet(np.ones(len(own)))
    weights = rng.dirichlet(np.full(n_topics, 0.1), n_documents)
    counts = np.array([rng.multinomial(max(1, rng.poisson(length)), p) for p in weights @ topics])
    return topics, weights, counts


def distance(topics, model):
    """Mean Hellinger distance after the best matching."""
    apart = cdist(np.sqrt(topics), np.sqrt(model.topic_word_)) / np.sqrt(2)
    return apart[linear_sum_assignment(apart)].mean()


REGIMES = {
    "blocks": {"n_documents": 400, "length": 60, "n_topics": 5, "n_words": 100, "overlap": 0.0},
    "short texts": {"n_documents": 4000, "length": 6, "n_topics": 8, "n_words": 80, "overlap": 0.05},
    "overlapping": {"n_documents": 800, "length": 120, "n_topics": 10, "n_words": 300, "overlap": 1.0},
}


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("init", quick(["random", "fast"], "fast"))
def test_planted_topics_are_found(regime, init):
    """The best of three chains: any one may merge two topics and stay there."""
    topics, weights, counts = planted(**REGIMES[regime])
    n_topics = len(topics)
    n_sweeps = 200 if init == "random" else 50
    settings = {"topic_word_prior": 0.1, "n_sweeps": n_sweeps, "init": init}
    chains = [GibbsLDA(n_topics, random_state=seed, **settings).fit(counts) for seed in range(3)]
    model = min(chains, key=lambda chain: distance(topics, chain))
    found = distance(topics, model)
    assert found < {"blocks": 0.075, "short texts": 0.125, "overlapping": 0.165}[regime]
    assert distance(topics, clone(model).set_params(init="random", n_sweeps=1).fit(counts)) > 2 * found

    def right(topic_of_document):
        return (topic_of_document == weights[:400].argmax(axis=1)).mean()

    order = linear_sum_assignment(cdist(np.sqrt(topics), np.sqrt(model.topic_word_)))[1]
    by_truth = right(fold_in(topics, counts[:400]).argmax(axis=1))
    assert right(model.transform(counts[:400])[:, order].argmax(axis=1)) > by_truth - 0.04


def test_the_same_bytes_for_any_number_of_threads():
    _, _, counts = planted(300, 40, 6, 90, 0.1)
    models = [
        GibbsLDA(6, n_sweeps=10, random_state=11, n_jobs=n_jobs).fit(counts) for n_jobs in (None, 1, 2, 4)
    ]
    assert len({m.topic_word_counts_.tobytes() for m in models}) == 1
    assert len({m.mean_counts_.tobytes() for m in models}) == 1
    other_seed = GibbsLDA(6, n_sweeps=10, random_state=12).fit(counts)
    assert (other_seed.topic_word_counts_ != models[0].topic_word_counts_).any()


def test_counts_are_those_of_the_corpus():
    _, _, counts = planted(80, 30, 4, 50, 0.1)
    model = GibbsLDA(4, init="random", n_sweeps=3, random_state=1).fit(counts)
    np.testing.assert_array_equal(model.topic_word_counts_.sum(axis=0), counts.sum(axis=0))
    assert (model.topic_word_counts_ >= 0).all()
    np.testing.assert_allclose(model.mean_counts_, model.topic_word_counts_)  # three sweeps: one sample
    np.testing.assert_allclose(model.components_, model.topic_word_counts_ + 0.01)
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1)
    assert model.topic_word_.dtype == model.components_.dtype == np.float64
    assert list(model.get_feature_names_out()) == [f"gibbslda{k}" for k in range(4)]
    assert model.n_sweeps_ == 3


def test_more_topics_than_a_fast_start_was_measured_for_begin_at_random(monkeypatch):
    X = planted(60, 20, 3, 30, 0.1)[2]
    fast, random = (GibbsLDA(3, init=init, n_sweeps=2, random_state=1).fit(X) for init in ("fast", "random"))
    assert (fast.topic_word_counts_ != random.topic_word_counts_).any()
    monkeypatch.setattr(gibbs_lda, "MOST_FAST_TOPICS", 2)
    for init in ("fast", "auto"):
        model = GibbsLDA(3, init=init, n_sweeps=2, random_state=1).fit(X)
        np.testing.assert_array_equal(model.topic_word_counts_, random.topic_word_counts_)
    assert GibbsLDA(3, random_state=1).fit(X).n_sweeps_ == 200


def test_seeds():
    _, _, counts = planted(60, 20, 3, 30, 0.1)

    def fit(state):
        return GibbsLDA(3, n_sweeps=3, random_state=state).fit(counts)

    free = fit(None)
    assert free.seed_ != fit(None).seed_
    for state in (5, np.random.RandomState(5), np.random.default_rng(5), free.seed_):
        model = fit(state)
        again = fit(model.seed_)
        np.testing.assert_array_equal(model.topic_word_counts_, again.topic_word_counts_)
    np.testing.assert_array_equal(free.topic_word_counts_, model.topic_word_counts_)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array, sp.coo_matrix, np.asarray, "corpus"])
def test_all_kinds_of_matrices_are_one(container):
    _, _, counts = planted(60, 20, 3, 30, 0.1)
    if container == "corpus":
        X = Corpus(sp.csr_matrix(counts), tuple(f"w{i}" for i in range(30)))
    else:
        X = container(counts.astype(float))
    model = GibbsLDA(3, n_sweeps=3, random_state=1).fit(X)
    plain = GibbsLDA(3, n_sweeps=3, random_state=1).fit(counts)
    np.testing.assert_array_equal(model.topic_word_counts_, plain.topic_word_counts_)
    np.testing.assert_array_equal(model.transform(X), plain.transform(counts))


def test_documents_without_words_and_words_without_documents():
    counts = np.zeros((5, 7), int)
    counts[2, 3] = 4
    for n_topics in (3, 210):
        model = GibbsLDA(n_topics, n_sweeps=2, random_state=0).fit(counts)
        assert model.topic_word_counts_.sum() == 4
        np.testing.assert_allclose(model.transform(counts)[0], 1 / n_topics)
    with pytest.raises(CorpusError, match="no tokens: a topic model"):
        GibbsLDA(2).fit(np.zeros((3, 4), int))


def test_priors_for_each_topic():
    _, _, counts = planted(300, 30, 3, 30, 0.1)
    prior = np.array([5.0, 0.05, 0.05])
    for init in ("fast", "random"):
        model = GibbsLDA(3, n_sweeps=60, init=init, doc_topic_prior=prior, random_state=2).fit(counts)
        sizes = model.topic_word_counts_.sum(axis=1)
        assert sizes[0] == sizes.max()


def test_all_bad_parameters_are_named_at_once():
    with pytest.raises(ParameterError) as caught:
        GibbsLDA(0, n_sweeps=-1, topic_word_prior=0, init="slow").fit([[1, 2]])
    for name in ("n_topics", "n_sweeps", "topic_word_prior", "init"):
        assert name in str(caught.value)
    for bad in ({"doc_topic_prior": [1.0, 2.0]}, {"doc_topic_prior": -1}, {"n_jobs": 0}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            GibbsLDA(3, **bad).fit([[1, 2]])
    with pytest.raises(CorpusError, match=r"whole numbers, but row 2 .counted from 1. of X holds 0\.5"):
        GibbsLDA(2).fit([[1, 2], [0.5, 1]])
    with pytest.raises(NotFittedError):
        GibbsLDA(2).transform([[1, 2]])
    with pytest.raises(NotFittedError):
        _ = GibbsLDA(2).topic_word_


def test_progress_is_told():
    told = []
    GibbsLDA(2, n_sweeps=3, callback=lambda *what: told.append(what)).fit([[1, 2]])
    assert told == [("sweep", 1, 3), ("sweep", 2, 3), ("sweep", 3, 3)]


def test_a_model_keeps_nothing_of_single_documents():
    model = GibbsLDA(3, n_sweeps=2).fit(np.random.default_rng(0).poisson(1.0, (500, 20)))
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            assert value.shape == (3, 20), name
        else:
            assert isinstance(value, int | float | str | None), name


SAME_DRAWS = """
import hashlib, numpy as np
from discreet.lda import GibbsLDA
X = np.random.default_rng(0).poisson(0.5, (90, 120))
found = [
    GibbsLDA(k, n_sweeps=48, topic_word_prior=beta, random_state=1).fit(X)
    for k, beta in ((20, 0.01), (201, 0.01), (201, 1.0))
]
told = str([hashlib.sha256(model.mean_counts_.tobytes()).hexdigest() for model in found])
"""


@ONE_FAMILY
@pytest.mark.integration
def test_topics_do_not_depend_on_the_processor(tmp_path):
    """Vectors of 128 bits or of this machine's, with or without fused multiply-add: the same draws."""
    assert told_on(PLAIN, SAME_DRAWS, tmp_path) == told_here(SAME_DRAWS)


@pytest.mark.slow
@ONE_FAMILY
def test_topics_are_the_same_on_another_processor_of_the_family(tmp_path):
    if not knows_avx2():
        pytest.skip("this processor has vectors of 128 bits only")
    assert told_on(HASWELL, SAME_DRAWS, tmp_path) == told_here(SAME_DRAWS)
