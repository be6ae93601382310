"""Choosing the number of topics: planted numbers are found, folds are honest."""

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import PrivateLDA
from discreet.errors import CorpusError, ParameterError
from discreet.evaluate import choose_n_topics, completion_perplexity, diversity, unigram
from discreet.evaluate.choosing import TopicNumbers
from discreet.lda import GibbsLDA

CANDIDATES = (2, 4, 8, 16)


def planted(n_topics=4, n_documents=240, seed=0):
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(n_topics), np.full((1, 12), 1 / 12)) * 0.95 + 0.05 / (12 * n_topics)
    theta = rng.dirichlet(np.full(n_topics, 0.15), n_documents)
    return sp.csr_matrix(np.array([rng.multinomial(60, p) for p in theta @ topics]))


@pytest.fixture(scope="module")
def counts():
    return planted()


@pytest.fixture(scope="module")
def result(counts):
    return choose_n_topics(counts, CANDIDATES, n_folds=3, n_sweeps=60, random_state=1)


def made_up(perplexity) -> TopicNumbers:
    table = np.asarray(perplexity, float)
    return TopicNumbers(
        tuple(range(10, 10 * len(table) + 1, 10)), table, -1 / table, 1 / table, table.max(0) * 2
    )


def test_the_planted_number_is_chosen(result):
    assert result.best == 4
    means = result.perplexity.mean(axis=1)
    assert means[1] < 0.9 * means[0]
    assert (result.perplexity < result.unigram_perplexity).all()
    # The naive choice, perplexity of the training documents, takes all it can get.
    assert result.coherence.mean(axis=1).argmax() == 1


def test_another_planted_number():
    found = choose_n_topics(planted(8, 400, seed=3), CANDIDATES, n_folds=3, n_sweeps=60)
    assert found.best == 8


def test_every_number_is_that_of_its_own_fold(counts, result):
    fold_of = np.random.default_rng(1).permutation(counts.shape[0]) % 3
    assert np.bincount(fold_of).tolist() == [80, 80, 80]
    for fold in (0, 2):
        train, held_out = counts[fold_of != fold], counts[fold_of == fold]
        model = GibbsLDA(8, n_sweeps=60, random_state=1 + fold).fit(train)
        found = completion_perplexity(model.topic_word_, held_out, random_state=1)
        assert result.perplexity[2, fold] == pytest.approx(found, rel=1e-12)
        assert result.diversity[2, fold] == diversity(model.topic_word_)
        alone = completion_perplexity(unigram(train, smoothing=0.01), held_out, random_state=1)
        assert result.unigram_perplexity[fold] == pytest.approx(alone, rel=1e-12)


def test_scored_documents_are_not_those_trained_on(counts):
    seen = []

    class Spy(GibbsLDA):
        def fit(self, X, y=None):
            seen.append(X.shape[0])
            return super().fit(X, y)

    said = []
    choose_n_topics(
        counts[:100],
        [2],
        n_folds=4,
        make_model=lambda k, seed: Spy(k, n_sweeps=3, random_state=seed),
        callback=lambda *what: said.append(what),
    )
    assert seen == [75] * 4
    assert said == [("model", n, 4) for n in (1, 2, 3, 4)]


def test_private_estimators_can_be_tried(counts):
    """As docs/choosing.md shows: their topics are in the release."""
    found = choose_n_topics(
        counts,
        [2, 4],
        n_folds=2,
        make_model=lambda k, seed: PrivateLDA(k, epsilon=50, random_state=seed, allow_unlearnable=True),
    )
    assert np.isfinite(found.perplexity).all()
    assert (found.perplexity[1] < found.unigram_perplexity).all()
    with pytest.raises(ParameterError, match=r"topic_word_ or release_.*got NoTopics"):
        choose_n_topics(counts, [2], make_model=lambda k, seed: NoTopics())


class NoTopics:
    def fit(self, X):
        return self


def test_the_rule_of_one_standard_error():
    assert made_up([[90, 110], [80, 100], [70, 90]]).best == 30  # better on both folds, by the same
    assert made_up([[90, 110], [80, 100], [79.9, 100.1]]).best == 20  # the third is better by chance
    # Folds differ by much more than candidates: only paired differences see that 20 is better.
    assert made_up([[102, 1020, 10200], [100, 1000, 10000]]).best == 20
    assert made_up([[50, 50], [50, 50]]).best == 10
    assert made_up([[50, 60]]).best == 10


def test_threads_order_and_doubles_do_not_matter(counts):
    first = choose_n_topics(counts[:60], [3, 2], n_folds=2, n_sweeps=5)
    again = choose_n_topics(counts[:60].toarray(), np.array([2, 3, 3]), n_folds=2, n_sweeps=5, n_jobs=2)
    assert first.candidates == again.candidates == (2, 3)
    np.testing.assert_array_equal(first.perplexity, again.perplexity)
    np.testing.assert_array_equal(first.coherence, again.coherence)


def test_refusals(counts):
    for wrong in ([], [0], [2.5], [True], ["a"]):
        with pytest.raises(ParameterError, match="candidates must be numbers of topics"):
            choose_n_topics(counts, wrong)
    with pytest.raises(ParameterError, match="n_folds"):
        choose_n_topics(counts, [2], n_folds=1)
    with pytest.raises(CorpusError, match="too few for 5 folds"):
        choose_n_topics(counts[:9], [2])
