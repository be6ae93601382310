"""Every measure against its twin, golden values of gensim, and what the measures must tell apart."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive import evaluate as naive

from discreet import evaluate
from discreet.corpus import Corpus
from discreet.errors import CorpusError, ParameterError
from discreet.evaluate import (
    classification_report,
    coherence_npmi,
    coherence_umass,
    completion_perplexity,
    diversity,
    topic_coherences_npmi,
    topic_coherences_umass,
    topic_match,
    transductive_perplexity,
    unigram,
)
from discreet.evaluate.topics import hellinger


def problem(n_topics=5, n_words=30, n_documents=60, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.2), n_topics) * 0.99 + 0.01 / n_words
    theta = rng.dirichlet(np.full(n_topics, 0.2), n_documents)
    counts = np.array([rng.multinomial(30, p) for p in theta @ topics])
    counts[4] = 0
    return topics, theta, counts


def test_completion_perplexity_agrees_with_the_twin():
    topics, _, counts = problem()
    for seed in (0, 7):
        expected = naive.completion_perplexity(topics, counts, 0.1, seed)
        assert completion_perplexity(topics, counts, random_state=seed) == pytest.approx(expected, rel=1e-12)
    assert completion_perplexity(topics, counts, random_state=0) != completion_perplexity(
        topics, counts, random_state=7
    )


def test_perplexity_of_known_models():
    topics, _, counts = problem()
    uniform = np.full((3, 30), 1 / 30)
    assert completion_perplexity(uniform, counts) == pytest.approx(30.0)
    assert transductive_perplexity(uniform, counts) == pytest.approx(30.0)
    frequencies = counts.sum(axis=0) / counts.sum()
    entropy = -(counts.sum(axis=0) @ np.log(frequencies)) / counts.sum()
    assert transductive_perplexity(unigram(counts), counts) == pytest.approx(np.exp(entropy))
    # The right model beats one topic, which beats topics of other words.
    wrong = np.random.default_rng(1).permuted(topics, axis=1)
    right, one, false = (completion_perplexity(m, counts) for m in (topics, unigram(counts), wrong))
    assert right < one < false


def test_the_two_perplexities_tell_what_they_should():
    """A model with a topic for each scored document: praised by the transductive measure, seen through by the other."""
    topics, _, counts = problem(n_documents=40)
    memory = (counts[5:30] + 0.01) / (counts[5:30] + 0.01).sum(axis=1, keepdims=True)
    assert transductive_perplexity(memory, counts[5:30]) < transductive_perplexity(topics, counts[5:30])
    assert completion_perplexity(memory, counts[30:]) > completion_perplexity(topics, counts[30:])
    assert transductive_perplexity(topics, counts) < completion_perplexity(topics, counts)


def test_perplexity_depends_on_nothing_else():
    topics, _, counts = problem()
    value = completion_perplexity(topics, counts)
    corpus = Corpus(counts, [f"w{i}" for i in range(30)])
    for same in (corpus, sp.coo_array(counts), counts.astype(float)):
        assert completion_perplexity(topics, same) == value
    assert completion_perplexity(topics, counts, n_jobs=3) == value
    # In another order of the topics steps add up otherwise: equal up to rounding.
    assert completion_perplexity(topics[::-1], counts) == pytest.approx(value, rel=1e-12)
    assert completion_perplexity(topics * 3, counts) == pytest.approx(value, rel=1e-12)
    before = counts.copy()
    matrix = sp.csr_matrix(counts)
    completion_perplexity(topics, matrix)
    transductive_perplexity(topics, matrix)
    np.testing.assert_array_equal(matrix.toarray(), before)


def test_perplexity_refuses_or_says_infinite():
    topics, _, counts = problem()
    dead = topics.copy()
    dead[:, counts.sum(axis=0).argmax()] = 0
    assert completion_perplexity(dead, counts) == np.inf
    with pytest.raises(CorpusError, match="no token is left to score"):
        completion_perplexity(topics, counts * 0)
    with pytest.raises(CorpusError, match="not whole numbers"):
        completion_perplexity(topics, counts + 0.5)
    with pytest.raises(CorpusError, match="features"):
        completion_perplexity(topics, counts[:, :7])


def test_unigram():
    _, _, counts = problem()
    np.testing.assert_allclose(unigram(counts), counts.sum(axis=0, keepdims=True) / counts.sum())
    np.testing.assert_allclose(unigram(counts * 0, smoothing=2.0), 1 / 30)
    assert unigram(sp.csr_matrix(counts)).shape == (1, 30)
    with pytest.raises(CorpusError, match="no token"):
        unigram(counts * 0)
    with pytest.raises(ParameterError, match="smoothing"):
        unigram(counts, smoothing=-1)


def golden_problem():
    counts = np.array(
        [[max(0, (d * d * (w + 3) + 7 * w + d) % 13 - 5) for w in range(12)] for d in range(60)]
    )
    topics = np.zeros((4, 12))
    for k, words in enumerate(((0, 1, 2, 3, 4), (11, 9, 7, 5, 3), (2, 4, 6, 8, 10), (5, 0, 11, 6, 1))):
        topics[k, list(words)] = np.arange(9, 4, -1)
    return topics, counts


# gensim 4.4.0: CoherenceModel(topics, texts=texts, dictionary=dictionary, coherence="c_npmi", topn=5,
# window_size=1000).get_coherence_per_topic(), each document one text of its tokens, so one boolean window;
# and CoherenceModel(topics, corpus=bow, dictionary=dictionary, coherence="u_mass", topn=5).
GENSIM_NPMI = [-0.09772471032218753, 0.017642595411979062, 0.02528261299229345, -0.0903926208237812]
GENSIM_UMASS = [-0.9164944136934908, -0.5825110691143374, -0.8003379384291629, -5.677892453310456]


def test_npmi_has_the_golden_values_of_gensim():
    topics, counts = golden_problem()
    found = topic_coherences_npmi(topics, counts, top=5)
    np.testing.assert_allclose(found[:3], GENSIM_NPMI[:3], rtol=1e-9)
    # The fourth topic has pairs that no document holds: ours are -1, gensim's a little above.
    assert 0 < GENSIM_NPMI[3] - found[3] < 0.1
    # Natural mistakes that this sees: token counts for documents, tokens as the total.
    joint = (counts.T @ counts)[1, 0] / counts.sum()
    apart = counts[:, 1].sum() * counts[:, 0].sum() / counts.sum() ** 2
    pair = topic_coherences_npmi(topics[:1], counts, top=2)[0]
    assert abs(np.log(joint / apart) / -np.log(joint) - pair) > 0.01


def test_umass_counts_as_gensim_does():
    """gensim takes a mean over pairs and adds 1e-12 to a probability: the twin can do that, too."""
    topics, counts = golden_problem()
    theirs = [naive.umass(topic, counts, 5, smoothing=60 * 1e-12) / 10 for topic in topics]
    np.testing.assert_allclose(theirs, GENSIM_UMASS, rtol=1e-9)
    ours = [naive.umass(topic, counts, 5) for topic in topics]
    np.testing.assert_allclose(topic_coherences_umass(topics, counts, top=5), ours, rtol=1e-12)
    assert coherence_umass(topics, counts, top=5) == pytest.approx(np.mean(ours))


@pytest.mark.parametrize("top", [2, 5, 30, 99])
def test_coherences_agree_with_the_twins(top):
    topics, _, counts = problem()
    counts[:, 3] = 1  # a word in every document
    counts[:, 5] = 0  # a word in none
    topics[0, [3, 5]] = 0.9
    np.testing.assert_allclose(
        topic_coherences_npmi(topics, counts, top=top),
        [naive.npmi(t, counts, top) for t in topics],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        topic_coherences_umass(topics, counts, top=top),
        [naive.umass(t, counts, top) for t in topics],
        atol=1e-12,
    )


def test_npmi_at_its_ends():
    together = [[1, 1, 0, 0], [0, 0, 1, 0]]
    assert coherence_npmi([[4, 3, 0, 0]], together, top=2) == pytest.approx(1.0)
    assert coherence_npmi([[4, 0, 3, 0]], together, top=2) == -1.0
    assert coherence_npmi([[4, 0, 0, 3]], together, top=2) == -1.0
    assert coherence_npmi([[4, 3]], [[1, 1], [2, 2]], top=2) == 1.0
    assert coherence_umass([[4, 3, 0, 0]], together, top=2) == pytest.approx(np.log(2))
    assert coherence_umass([[0, 0, 3, 4]], together, top=2) == 0.0
    with pytest.raises(ParameterError, match="top must be at least 2"):
        coherence_npmi([[1, 2]], [[1, 1]], top=1)
    with pytest.raises(ParameterError, match="topic_word"):
        coherence_npmi([1, 2], [[1, 1]])
    with pytest.raises(CorpusError, match="features"):
        coherence_npmi([[1, 2]], [[1, 1, 1]])


def test_diversity():
    same = np.tile(np.arange(40, 0, -1.0), (4, 1))
    assert diversity(same) == pytest.approx(0.25)
    assert diversity(np.kron(np.eye(4), np.ones(25))) == 1.0
    assert diversity([[3, 2, 1, 0], [0, 1, 2, 3]], top=3) == pytest.approx(4 / 6)
    with pytest.raises(ParameterError, match="top"):
        diversity(same, top=0)
    with pytest.raises(ParameterError, match="topic_word"):
        diversity(same[0])


def test_topic_match_finds_a_permutation_and_the_best_of_all():
    topics, _, _ = problem()
    order = np.random.default_rng(3).permutation(5)
    match = topic_match(topics, topics[order] * 7)
    np.testing.assert_array_equal(order[match.second], match.first)
    assert match.mean_distance == pytest.approx(0.0, abs=1e-7)
    other, _, _ = problem(seed=5)
    match = topic_match(topics, other)
    assert match.distance.sum() == pytest.approx(naive.best_assignment(hellinger(topics, other)))
    # Taking each topic's nearest is no matching: here two topics would take the same one.
    greedy = hellinger(topics, other).argmin(axis=1)
    assert len(set(greedy.tolist())) < 5
    assert len(set(match.second.tolist())) == 5


def test_hellinger_and_models_of_different_size():
    assert hellinger([[1, 0]], [[0, 1]]) == pytest.approx(1.0)
    assert hellinger([[0.36, 0.64]], [[1, 0]])[0, 0] == pytest.approx(np.sqrt(0.4))
    topics, _, _ = problem()
    match = topic_match(topics, topics[3:])
    assert match.first.tolist() == [3, 4]
    assert match.second.tolist() == [0, 1]
    with pytest.raises(ParameterError, match="same words"):
        topic_match(topics, topics[:, :9])


def test_classification_sees_labels_and_chance():
    topics, theta, counts = problem(n_documents=400)
    labels = np.array(["abcde"[k] for k in theta.argmax(axis=1)])
    train, test = slice(0, 300), slice(300, 400)
    report = classification_report(
        topics, counts[train], labels[train], sp.csr_matrix(counts[test]), labels[test]
    )
    assert report.accuracy > 0.85
    assert report.macro_f1 > 0.85
    assert report.n_labels == 5
    names, frequent = np.unique(labels[train], return_counts=True)
    assert report.baseline_accuracy == (labels[test] == names[frequent.argmax()]).mean()
    again = classification_report(topics, counts[train], labels[train], counts[test], labels[test], n_jobs=2)
    assert again == report
    shuffled = np.random.default_rng(4).permutation(labels)
    chance = classification_report(topics, counts[train], shuffled[train], counts[test], shuffled[test])
    assert chance.accuracy < 0.45


def test_classification_refuses():
    topics, _, counts = problem()
    with pytest.raises(CorpusError, match="train_labels must be one label a document"):
        classification_report(topics, counts, [1, 2], counts, [1, 2])
    with pytest.raises(CorpusError, match="at least 2 labels"):
        classification_report(topics, counts, np.zeros(60), counts, np.zeros(60))


def test_names_of_the_room():
    for name in evaluate.__all__:
        assert callable(getattr(evaluate, name))
    assert set(evaluate.__all__) <= set(dir(evaluate))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evaluate.nothing  # noqa: B018


def test_the_example_of_the_guide_runs():
    guide = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1]
    names = {}
    exec(code, names)
    model = names["model"].topic_word_
    assert round(completion_perplexity(model, names["held_out"])) == 19
    assert round(completion_perplexity(unigram(names["train"]), names["held_out"])) == 40
    assert topic_match(names["topics"], model).mean_distance < 0.1


def test_coherence_of_no_topics_is_an_error():
    for measure in (coherence_npmi, coherence_umass):
        with pytest.raises(ParameterError, match="one topic or more"):
            measure(np.zeros((0, 4)), np.ones((3, 4), int))
