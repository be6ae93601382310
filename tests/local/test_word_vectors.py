"""Public word vectors in the fit to reports: the gradient, the evidence, when they are believed, and what is said."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from tests.local.corpora import kos, kos_words
from tests.local.test_local_lda import blocks, channel, reports
from tests.naive import local as naive

from discreet import LocalLDA
from discreet.errors import CorpusError
from discreet.lda.moments import fit as vector_fit
from discreet.lda.moments.fit import Target, start_of_pairs
from discreet.local import Moments

WORDS = [f"word{i}" for i in range(45)]


def meaningful(seed=0, noise=0.6):
    """Vectors that lie near one another for words of one block."""
    rng = np.random.default_rng(seed)
    return np.eye(3)[np.arange(45) // 15] @ rng.standard_normal((3, 12)) + noise * rng.standard_normal(
        (45, 12)
    )


def fitted(noisy, of, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = LocalLDA(3, channel=of, refine=False, allow_unlearnable=True, random_state=0, **how)
        return model.fit(noisy, vocabulary=WORDS)


def some_point(seed=0, n_topics=2, n_words=7, d=3):
    rng = np.random.default_rng(seed)
    pairs, weight = rng.random((n_words, n_words)), rng.random((n_words, n_words)) + 0.5
    weight = (weight + weight.T) / 2
    np.fill_diagonal(weight, 0)
    unigram = rng.random(n_words) + 0.1
    target = Target(
        rng.random(n_words),
        rng.random(n_words) + 0.5,
        ((pairs + pairs.T) / 2).astype(np.float32),
        weight.astype(np.float32),
        unigram,
        100.0,
    )
    own, coordinates = rng.standard_normal((n_topics, n_words)) / 3, rng.standard_normal((n_topics, d)) / 3
    along, centre = rng.standard_normal((n_words, d)), rng.standard_normal((n_topics, d)) / 3
    parameters = [own, *start_of_pairs(2.0, n_topics), coordinates]
    scales = np.array([0.3, 0.3, 0.7])
    base = np.log(unigram / unigram.sum())
    return parameters, target, vector_fit.Prior(base, along, centre, 0.4, scales)


def test_slopes_are_those_of_the_objective():
    parameters, target, prior = some_point()
    base, along, centre, spread, scales = prior

    def objective(own, log_pairs, log_weight, coordinates):
        logits = base + coordinates @ along.T + own
        data = naive.objective(logits, log_pairs, log_weight, target, base, np.inf)
        penalty = (own**2).sum() / spread + (((coordinates - centre) ** 2).sum(0) / scales).sum()
        return data + penalty / 2

    slopes = vector_fit._slopes(parameters, target, prior)
    for which, (values, slope) in enumerate(zip(parameters, slopes, strict=True)):
        for cell in np.ndindex(values.shape):
            around = []
            for step in (1e-5, -1e-5):
                moved = [one.copy() for one in parameters]
                moved[which][cell] += step
                around.append(objective(*moved))
            assert slope[cell] == pytest.approx((around[0] - around[1]) / 2e-5, rel=2e-4, abs=2e-4)


def test_evidence_is_what_parameters_amount_to_over_how_many_are_determined():
    parameters, target, prior = some_point(1)
    base, along, centre, spread, scales = prior
    own, log_pairs, log_weight, coordinates = parameters
    logits = base + coordinates @ along.T + own
    phi = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    pairs, weight = np.exp((log_pairs + log_pairs.T) / 2), np.exp(log_weight)
    curvature = np.zeros(phi.shape)
    for k, v in np.ndindex(phi.shape):
        mixed = [sum(pairs[k, m] * phi[m, j] for m in range(2)) for j in range(7)]
        curvature[k, v] = phi[k, v] ** 2 * (
            sum(target.pair_weight[v, j] * mixed[j] ** 2 for j in range(7))
            + weight[k] ** 2 * target.rate_weight[v]
        )
    determined = sum(h / (h + 1 / spread) for h in curvature.ravel())
    known = sum(
        h / (h + 1 / scales[j])
        for k in range(2)
        for j in range(3)
        for h in [sum(curvature[k, v] * along[v, j] ** 2 for v in range(7))]
    )
    point, rule = (parameters, target, prior), vector_fit._MUCH
    found = vector_fit._evidence(*point, rule._replace(largest_spread=10.0))
    assert found.spread == pytest.approx((own**2).sum() / determined, rel=1e-5)
    half = rule._replace(largest_spread=found.spread / 2)
    assert vector_fit._evidence(*point, half).spread == found.spread / 2
    raised = rule._replace(least_spread=2 * found.spread, largest_spread=50.0)
    assert vector_fit._evidence(*point, raised).spread == 2 * found.spread
    assert found.scales == pytest.approx(np.full(3, ((coordinates - centre) ** 2).sum() / known), rel=1e-5)


def test_vectors_that_know_the_texts_are_believed_and_others_are_not():
    of, present = channel(0.5), blocks(6000)[0]
    found = Moments(45, channel=of).add_batch(reports(present, of)).estimates()
    right = meaningful()
    assert vector_fit.agreement(found, right) > vector_fit.LEAST_AGREEMENT
    rng = np.random.default_rng(1)
    wrong = [right[rng.permutation(45)] for _ in range(20)] + [
        rng.standard_normal((45, 12)) for _ in range(20)
    ]
    # Shuffled blocks are themselves blocks, some of them partly right: most must fall short, random ones all.
    believed = [vector_fit.agreement(found, one) > vector_fit.LEAST_AGREEMENT for one in wrong]
    assert sum(believed[:20]) <= 2
    assert not any(believed[20:])
    half = np.where(rng.random((45, 1)) < 0.3, np.nan, right)
    assert vector_fit.agreement(found, half) > vector_fit.LEAST_AGREEMENT
    assert vector_fit.agreement(found, np.full((45, 12), np.nan)) == 0
    assert vector_fit.agreement(found, np.ones((45, 12))) == 0


def test_right_vectors_help_where_reports_say_little_and_the_release_says_so():
    of, (present, _) = channel(0.5), blocks(3000)
    noisy = reports(present, of)
    plain, helped = fitted(noisy, of), fitted(noisy, of, word_vectors=meaningful())

    def purity(model):
        return np.sort(model.topic_word_.reshape(3, 3, 15).sum(2).max(1)).mean()

    assert purity(helped) > purity(plain) + 0.03
    settings = helped.release_.configuration
    assert settings["word_vectors_agreement"] >= vector_fit.LEAST_AGREEMENT
    assert settings["word_vectors_digest"].startswith("sha256:")
    assert "lean on the public word vectors" in helped.release_.card()
    assert helped.release_.promise == plain.release_.promise
    again = fitted(noisy, of, word_vectors=(WORDS[::-1], meaningful()[::-1]))
    assert np.array_equal(again.topic_word_, helped.topic_word_)


def test_wrong_vectors_change_nothing():
    of, (present, _) = channel(0.5), blocks(3000)
    noisy = reports(present, of)
    plain = fitted(noisy, of)
    wrong = fitted(noisy, of, word_vectors=np.random.default_rng(1).standard_normal((45, 12)))
    assert np.array_equal(wrong.topic_word_, plain.topic_word_)
    settings = wrong.release_.configuration
    assert settings["word_vectors_not_used"]
    assert "word_vectors" not in settings
    assert "lean on" not in wrong.release_.card()
    with pytest.raises(CorpusError):
        fitted(noisy, of, word_vectors={"nothing": [1.0, 2.0]})


@pytest.mark.parametrize(("epsilon", "gain"), [(0.5, 10), (2, 5)])
@pytest.mark.integration
def test_vectors_on_blog_entries(shared_data, epsilon, gain):
    from discreet.evaluate import completion_perplexity

    train, test = kos(shared_data)
    held, of = sp.csr_matrix(test.astype(np.int32)), channel(epsilon)
    noisy, words = reports(train, of, 7), kos_words(shared_data)
    found = []
    for vectors in (None, shared_data / "word-vectors" / "glove100.npz"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = LocalLDA(
                20, channel=of, refine=False, word_vectors=vectors, allow_unlearnable=True, random_state=0
            ).fit(noisy, vocabulary=words)
        weight = model.release_.topic_weight
        found.append(
            min(
                completion_perplexity(0.999 * model.topic_word_ + 1e-6, held, doc_topic_prior=size * weight)
                for size in (5, 10, 20, 50, 200)
            )
        )
    assert found[1] < found[0] - gain
