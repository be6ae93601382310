"""Topics of word vectors alone: recovered clusters, the formula, and what is refused."""

import numpy as np
import pytest

from discreet.errors import CorpusError, ParameterError
from discreet.evaluate import public_topics
from discreet.lda.vectors import topics_of_vectors

N_TOPICS, A_TOPIC = 4, 12
V = N_TOPICS * A_TOPIC
WORDS = [f"word{i}" for i in range(V)]


def vectors(seed=0):
    rng = np.random.default_rng(seed)
    return np.repeat(np.eye(N_TOPICS, 6), A_TOPIC, axis=0) + 0.05 * rng.standard_normal((V, 6))


UNIGRAM = np.random.default_rng(1).dirichlet(np.full(V, 1.0))


def test_clusters_become_topics():
    topics = public_topics(vectors(), WORDS, N_TOPICS, UNIGRAM)
    assert topics.shape == (N_TOPICS, V)
    np.testing.assert_allclose(topics.sum(1), 1)
    # The mean of the words is far from all four clusters, so each topic keeps to one.
    mass = topics.reshape(N_TOPICS, N_TOPICS, A_TOPIC).sum(2)
    assert sorted(mass.argmax(1).tolist()) == [0, 1, 2, 3]
    assert (mass.max(1) > 0.9).all()


def test_within_a_cluster_words_are_as_frequent_as_in_the_unigram():
    same = np.repeat(np.eye(N_TOPICS, 6), A_TOPIC, axis=0)
    topics = public_topics(same, WORDS, N_TOPICS, 1000 * UNIGRAM)
    for topic in topics:
        block = int(topic.reshape(N_TOPICS, A_TOPIC).sum(1).argmax())
        inside = slice(block * A_TOPIC, (block + 1) * A_TOPIC)
        np.testing.assert_allclose(
            topic[inside] / topic[inside].sum(), UNIGRAM[inside] / UNIGRAM[inside].sum()
        )


def test_words_without_a_vector_keep_their_share_between():
    found = vectors()
    found[[0, 20]] = np.nan
    topics = public_topics(found, WORDS, N_TOPICS, UNIGRAM)
    lift = topics / UNIGRAM
    for word in (0, 20):
        assert (lift[:, word] < lift.max(1)).all()
        assert (lift[:, word] > lift.min(1)).all()


def test_words_that_never_occur_stay_possible():
    share = UNIGRAM.copy()
    share[3] = 0
    assert (public_topics(vectors(), WORDS, N_TOPICS, share) > 0).all()


def test_more_topics_than_different_words_and_vectors_that_do_not_differ():
    assert public_topics(vectors()[:3], WORDS[:3], 5, UNIGRAM[:3]).shape == (5, 3)
    constant = topics_of_vectors(np.ones((V, 4)), UNIGRAM, 3, 0)
    np.testing.assert_allclose(constant, np.repeat(UNIGRAM[:, None], 3, axis=1))


def test_the_same_seed_gives_the_same_bytes():
    one, other = (public_topics(vectors(), WORDS, 7, UNIGRAM, random_state=3) for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(ParameterError, match=r"n_topics must be .* but is 0.*unigram must have one number"):
        public_topics(vectors(), WORDS, 0, UNIGRAM[:-1])
    for bad in (-UNIGRAM, np.zeros(V), UNIGRAM * np.nan):
        with pytest.raises(ParameterError, match="not negative"):
            public_topics(vectors(), WORDS, 2, bad)
    with pytest.raises(CorpusError, match="none of the 48 words"):
        public_topics({"other": [1.0, 2.0]}, WORDS, 2, UNIGRAM)
