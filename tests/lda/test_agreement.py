"""The same held-out perplexity as scikit-learn's batch variational Bayes, at equal settings from the same start.

`benchmarks/agreement.py` does the same with tomotopy's Gibbs sampler where that is installed.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from tests.naive.live_gibbs import LiveLDA

from discreet.evaluate import completion_perplexity, unigram
from discreet.lda import GibbsLDA, VariationalLDA
from discreet.lda.gibbs import estimator

pytestmark = pytest.mark.integration


def theirs(train, n_topics, n_passes, prior=0.1, beta=0.01):
    model = LatentDirichletAllocation(
        n_topics, doc_topic_prior=prior, topic_word_prior=beta, max_iter=n_passes, random_state=0
    )
    components = model.fit(train).components_
    return components / components.sum(axis=1, keepdims=True)


def ours(train, n_topics, n_passes, prior=0.1, beta=0.01):
    start = np.random.RandomState(0).gamma(100.0, 0.01, (n_topics, train.shape[1]))
    model = VariationalLDA(
        n_topics, doc_topic_prior=prior, topic_word_prior=beta, max_iter=n_passes, tol=0.0, init=start
    )
    return model.fit(train).topic_word_


def corpus(shared_data, name, most=None):
    counts = sp.csr_matrix(sp.load_npz(shared_data / name / "counts.npz"))[:most]
    rows = np.arange(counts.shape[0])
    return counts[rows % 10 != 0], counts[rows % 10 == 0]


def assert_agree(train, held_out, n_topics, n_passes):
    found = completion_perplexity(ours(train, n_topics, n_passes), held_out)
    expected = completion_perplexity(theirs(train, n_topics, n_passes), held_out)
    assert found == pytest.approx(expected, rel=0.01)
    assert expected < 0.9 * completion_perplexity(unigram(train, smoothing=0.01), held_out)
    return expected


def test_held_out_perplexity_of_scikit_learn(shared_data):
    train, held_out = corpus(shared_data, "kos", 800)
    expected = assert_agree(train, held_out, 10, 10)
    # One per cent is narrow enough to see a wrong prior, or counts that are ignored.
    for wrong in (
        ours(train, 10, 10, prior=0.01, beta=0.1),
        ours(train, 10, 10, prior=3.0),
        ours((train > 0).astype(np.int32), 10, 10),
        ours(train, 10, 2),
    ):
        assert abs(completion_perplexity(wrong, held_out) / expected - 1) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kos", "nips", "reuters21578"])
def test_held_out_perplexity_of_scikit_learn_on_whole_corpora(shared_data, name):
    assert_agree(*corpus(shared_data, name), 20, 20)


def test_samplers_agree_with_each_other(shared_data, monkeypatch):
    """Those by table and by list and the textbook's: mean perplexities differ by little, another prior's by more."""
    train, held_out = corpus(shared_data, "kos", 800)

    def mean(kind, prior=0.1, **how):
        how |= {"n_sweeps": 150, "doc_topic_prior": prior}
        models = [kind(10, random_state=seed, **how).fit(train) for seed in range(4)]
        return np.mean([completion_perplexity(model.topic_word_, held_out) for model in models])

    live = mean(LiveLDA)
    assert mean(GibbsLDA, init="random") == pytest.approx(live, rel=0.015)
    assert abs(mean(GibbsLDA, prior=5.0, init="random") / live - 1) > 0.015
    monkeypatch.setattr(estimator, "MOST_TABLE_TOPICS", 1)  # by word lists, as with many topics
    assert mean(GibbsLDA, init="random") == pytest.approx(live, rel=0.015)
