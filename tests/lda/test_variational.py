"""VariationalLDA: scikit-learn's fixed point, recovery of planted topics, threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.decomposition._online_lda_fast import _dirichlet_expectation_2d
from tests.marks import quick

from discreet.corpus import Corpus
from discreet.errors import CorpusError, ParameterError
from discreet.evaluate import completion_perplexity, topic_match
from discreet.lda import VariationalLDA, fold_in
from discreet.lda.documents import read_documents
from discreet.lda.svi import fast_components, init, word_weights


def planted(regime, seed=0):
    """Block-diagonal topics, as in scikit-learn's tests, and documents drawn from them."""
    n_topics, block, n_documents, length, mixing, noise = {
        "easy": (3, 3, 60, 40, 0.05, 0.0),
        "mixed documents": (5, 8, 400, 80, 0.3, 0.05),
        "short documents": (4, 10, 3000, 8, 0.1, 0.1),
    }[regime]
    rng = np.random.default_rng(seed)
    n_words = n_topics * block
    topics = np.kron(np.eye(n_topics), np.full((1, block), 1 / block))
    topics = (1 - noise) * topics + noise / n_words
    theta = rng.dirichlet(np.full(n_topics, mixing), n_documents)
    return topics, theta, np.array([rng.multinomial(length, p) for p in theta @ topics])


REGIMES = ["easy", "mixed documents", "short documents"]


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("batch_size", quick([None, 30], None))
def test_planted_topics_are_recovered(regime, batch_size):
    topics, theta, counts = planted(regime)

    def train(seed):
        model = VariationalLDA(
            len(topics), batch_size=batch_size, max_iter=100 if batch_size is None else 40, random_state=seed
        )
        return model.fit(counts)

    # Variational Bayes has local optima: the best bound of three starts, as one would do.
    model = max((train(seed) for seed in range(3)), key=lambda m: m.score(counts))
    match = topic_match(topics, model.topic_word_)
    # Each topic's first words are its block. Mean-field inference gives stray words of short documents to
    # the topics that they belong to, so that topics come out cleaner than they were: hence the distance.
    block = topics.shape[1] // len(topics)
    for planted_topic, found in zip(match.first, match.second, strict=True):
        first = np.sort(np.argsort(-model.topic_word_[found])[:block])
        np.testing.assert_array_equal(first, planted_topic * block + np.arange(block))
    assert match.distance.max() < (0.2 if regime == "short documents" else 0.12)
    shares = model.transform(counts)[:, match.second]
    assert np.abs(shares - theta).mean() < 0.08
    # What the test must not let through: topics of a model that learned nothing.
    idle = topic_match(
        topics, VariationalLDA(len(topics), init=np.ones_like(topics), max_iter=1).fit(counts).topic_word_
    )
    assert idle.distance.min() > 0.3


def sklearn_from(start, **settings):
    """scikit-learn's estimator with a given start: its only entrance for that is this method."""

    class FromStart(LatentDirichletAllocation):
        def _init_latent_vars(self, n_features, dtype=np.float64):
            super()._init_latent_vars(n_features, dtype)
            self.components_ = start.copy()
            self.exp_dirichlet_component_ = np.exp(_dirichlet_expectation_2d(self.components_))

    return FromStart(
        len(start),
        doc_topic_prior=0.1,
        topic_word_prior=0.01,
        learning_method="batch",
        random_state=0,
        **settings,
    )


def test_same_fixed_point_as_scikit_learn():
    topics, _, counts = planted("easy")
    counts = counts[:40]
    start = np.random.default_rng(1).gamma(100, 0.01, topics.shape) + 5 * topics
    tight = {"mean_change_tol": 1e-11, "max_doc_update_iter": 2000}
    theirs = sklearn_from(start, max_iter=120, **tight).fit(counts)
    ours = VariationalLDA(3, init=start, max_iter=120, tol=0.0, **tight).fit(counts)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6)
    np.testing.assert_allclose(ours.transform(counts), theirs.transform(counts), atol=1e-8)
    assert ours.score(counts) == pytest.approx(theirs.score(counts), rel=1e-9)
    assert ours.perplexity(counts) == pytest.approx(theirs.perplexity(counts), rel=1e-9)
    # Another prior ends elsewhere: the comparison can tell.
    other = VariationalLDA(3, init=start, max_iter=120, tol=0.0, topic_word_prior=0.011, **tight).fit(counts)
    assert np.abs(other.components_ / theirs.components_ - 1).max() > 1e-3


def test_inference_on_real_text_agrees_with_scikit_learn(shared_data):
    """Same topics, same start, run to convergence: the same optimum for each document."""
    counts = sp.load_npz(shared_data / "kos" / "counts.npz")[:200].astype(float)
    # No word may be very rare in all topics: scikit-learn adds 2e-16 to its likelihood, and that would be felt.
    start = np.random.default_rng(2).gamma(0.3, 1.0, (10, counts.shape[1])) + 0.1
    tight = {"mean_change_tol": 1e-9, "max_doc_update_iter": 5000}
    theirs = sklearn_from(start, max_iter=1, **tight).fit(counts[:5])
    theirs.components_ = start
    theirs.exp_dirichlet_component_ = np.exp(_dirichlet_expectation_2d(start))
    ours = VariationalLDA(10, init=start, max_iter=1, **tight).fit(counts[:5])
    ours._state = init(start)
    apart = np.abs(ours.transform(counts) - theirs.transform(counts)).max(axis=1)
    assert apart.max() < 1e-6


def test_the_bound_never_falls():
    _, _, counts = planted("mixed documents")
    bounds = [
        VariationalLDA(5, max_iter=n, tol=0.0, random_state=3, mean_change_tol=1e-8, max_doc_update_iter=5000)
        .fit(counts)
        .score(counts)
        for n in (1, 2, 4, 8, 16)
    ]
    assert (np.diff(bounds) > 0).all()


@pytest.mark.parametrize(("init", "batch_size"), [("fast", None), ("random", None), ("random", 50)])
def test_bits_do_not_depend_on_threads(init, batch_size):
    _, _, counts = planted("mixed documents")
    how = {"init": init, "batch_size": batch_size, "max_iter": 4, "random_state": 3}

    def run(n_jobs):
        model = VariationalLDA(5, n_jobs=n_jobs, **how).fit(counts)
        return model.components_.tobytes(), model.transform(counts).tobytes(), model.score(counts)

    assert run(None) == run(2) == run(4)


def test_a_fast_start_is_where_many_passes_lead():
    topics, _, counts = planted("mixed documents", seed=1)

    def farthest(start, passes):
        model = VariationalLDA(5, init=start, max_iter=passes, tol=0.0, random_state=0).fit(counts)
        return topic_match(topics, model.topic_word_).distance.max()

    assert farthest("fast", 1) < 0.15
    assert farthest("random", 1) > 0.3  # one pass from random topics finds nothing


def test_a_word_drawn_in_one_topic_may_still_go_to_others():
    """A count as a Dirichlet parameter would keep it where one draw put it: exp(digamma(.01)) is 1e-44."""
    _, _, counts = planted("mixed documents")
    documents = read_documents(counts)
    drawn = fast_components(documents, np.full(5, 0.1), 0.01, seed=0)
    np.testing.assert_allclose(drawn.sum(axis=1), 1e9)
    share = word_weights(init(drawn))[:, :5] / (drawn / drawn.sum(axis=1, keepdims=True)).T
    np.testing.assert_allclose(share, 1.0, rtol=0.02)
    with pytest.raises(CorpusError, match="whole numbers"):
        VariationalLDA(5, init="fast").fit(counts + 0.5)


@pytest.mark.parametrize(
    ("how", "X", "same_as"),
    [
        ({}, "counts", "fast"),
        ({}, "weights", "random"),
        ({"batch_size": 30}, "counts", "random"),
        ({"batch_size": 30, "init": "fast"}, "counts", "random"),
    ],
)
def test_a_start_is_fast_where_it_can_be(how, X, same_as):
    _, _, counts = planted("easy")
    counts = counts * 0.5 if X == "weights" else counts

    def components(**more):
        return VariationalLDA(3, **{"max_iter": 2, "random_state": 0, **how, **more}).fit(counts).components_

    assert components().tobytes() == components(init=same_as).tobytes()
    if same_as == "fast":
        assert components().tobytes() != components(init="random").tobytes()
    assert (
        VariationalLDA(3, init="fast", max_iter=1).fit(np.zeros((2, 4), int)).n_iter_ == 1
    )  # nothing to draw


def test_a_fit_without_a_seed_can_be_repeated():
    _, _, counts = planted("easy")
    first, second = (VariationalLDA(3, max_iter=3).fit(counts) for _ in range(2))
    assert first.seed_ != second.seed_
    again = VariationalLDA(3, max_iter=3, random_state=first.seed_).fit(counts)
    assert again.components_.tobytes() == first.components_.tobytes()
    for state in (np.random.RandomState(1), np.random.default_rng(1)):
        assert VariationalLDA(3, max_iter=1, random_state=state).fit(counts).seed_ >= 0


def test_partial_fit_is_one_update_a_batch():
    _, _, counts = planted("mixed documents")
    model = VariationalLDA(5, random_state=0)
    for first in range(0, 400, 100):
        model.partial_fit(counts[first : first + 100])
    assert (model.n_steps_, model.n_iter_, model.n_documents_seen_) == (4, 4, 400)
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1.0)
    # One call that cuts the same batches itself, told how many documents there are.
    whole = VariationalLDA(5, random_state=0, batch_size=100, total_documents=400).partial_fit(counts)
    pieces = VariationalLDA(5, random_state=0, total_documents=400)
    for first in range(0, 400, 100):
        pieces.partial_fit(sp.csr_matrix(counts[first : first + 100]))
    assert whole.components_.tobytes() == pieces.components_.tobytes()
    # A fresh fit forgets what came before.
    refitted = model.set_params(max_iter=2).fit(counts)
    fresh = VariationalLDA(5, random_state=0, max_iter=2).fit(counts)
    assert refitted.components_.tobytes() == fresh.components_.tobytes()
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(counts[:, :5])


def test_training_stops_when_topics_rest():
    _, _, counts = planted("easy")
    model = VariationalLDA(3, random_state=0).fit(counts)
    assert 1 < model.n_iter_ < 100
    assert VariationalLDA(3, random_state=0, tol=0.0, max_iter=60).fit(counts).n_iter_ == 60
    seen = []
    VariationalLDA(3, random_state=0, max_iter=4, tol=0.0, callback=lambda *what: seen.append(what)).fit(
        counts
    )
    assert seen == [("fit", done, 4) for done in (1, 2, 3, 4)]


def test_a_corpus_goes_in_and_names_come_out():
    _, _, counts = planted("easy")
    corpus = Corpus(counts, [f"w{i}" for i in range(counts.shape[1])])
    model = VariationalLDA(3, max_iter=5, random_state=0).fit(corpus)
    assert (
        model.components_.tobytes()
        == VariationalLDA(3, max_iter=5, random_state=0).fit(counts).components_.tobytes()
    )
    assert model.get_feature_names_out().tolist() == [f"variationallda{k}" for k in range(3)]
    assert model.transform(corpus).shape == (60, 3)
    close = fold_in(model.topic_word_, corpus, method="variational")
    assert np.abs(model.transform(corpus) - close).mean() < 0.02


def test_empty_documents_change_nothing_but_their_own_row():
    _, _, counts = planted("easy")
    model = VariationalLDA(3, max_iter=5, random_state=0, doc_topic_prior=[0.1, 0.2, 0.3]).fit(counts)
    padded = np.vstack([counts, np.zeros((2, counts.shape[1]), int)])
    np.testing.assert_allclose(model.transform(padded)[-1], np.array([0.1, 0.2, 0.3]) / 0.6)
    wider = VariationalLDA(3, max_iter=5, random_state=0, doc_topic_prior=[0.1, 0.2, 0.3]).fit(padded)
    assert wider.components_.tobytes() == model.components_.tobytes()
    assert model.score(padded) == pytest.approx(model.score(counts))
    with pytest.raises(CorpusError, match="no token"):
        model.perplexity(padded[-2:])


def test_all_faults_at_once():
    with pytest.raises(ParameterError) as caught:
        VariationalLDA(
            0,
            topic_word_prior=-1,
            max_iter=0,
            tol=-1,
            batch_size=0,
            learning_decay=0.5,
            learning_offset=-1,
            max_doc_update_iter=0,
            mean_change_tol=-1,
            total_documents=0,
            init="spectral",
        ).fit(np.ones((2, 2)))
    message = str(caught.value)
    for name in (
        "n_topics topic_word_prior max_iter tol batch_size learning_decay learning_offset "
        "max_doc_update_iter mean_change_tol total_documents init"
    ).split():
        assert f"{name} must be" in message
    assert "\n" not in message
    for wrong in ({"random_state": -1}, {"random_state": "x"}, {"doc_topic_prior": 0}, {"n_jobs": 0}):
        with pytest.raises(ParameterError):
            VariationalLDA(2, **wrong).fit(np.ones((2, 2)))
    with pytest.raises(ParameterError, match="init must be positive numbers"):
        VariationalLDA(2, init=np.ones((2, 3))).fit(np.ones((2, 2)))


@pytest.mark.slow
def test_held_out_perplexity_agrees_with_scikit_learn(shared_data):
    """Equal settings, mean of three seeds: within 2 %; single seeds of either spread over 4 %."""
    counts = sp.load_npz(shared_data / "kos" / "counts.npz")[:1000]
    train, held_out = counts[:800], counts[800:]

    def mean(models):
        return np.mean([completion_perplexity(model.components_, held_out) for model in models])

    how = {"init": "random", "max_iter": 30, "tol": 0.0}
    ours = mean([VariationalLDA(20, random_state=s, **how).fit(train) for s in range(3)])
    theirs = mean(
        [
            LatentDirichletAllocation(
                20,
                doc_topic_prior=0.1,
                topic_word_prior=0.01,
                max_iter=40,
                learning_method="batch",
                random_state=s,
            ).fit(train)
            for s in range(3)
        ]
    )
    assert ours == pytest.approx(theirs, rel=0.02)
