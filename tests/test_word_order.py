"""One rule for all models: documents whose columns have names are read by name, and other words are refused."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from discreet import Corpus, GibbsLDA, LocalLDA, PrivateLDA, PrivateSVILDA, StreamingLocalLDA, VariationalLDA
from discreet._base.arrays import in_order
from discreet.central import HybridGibbsLDA
from discreet.errors import CorpusError
from discreet.evaluate import completion_perplexity

RNG = np.random.default_rng(0)
OWN = np.arange(12) // 6 == RNG.integers(2, size=(400, 1))
COUNTS = RNG.poisson(np.where(OWN, 1.5, 0.05))
WORDS = [f"w{letter}" for letter in "abcdefghijkl"]
TURNED = RNG.permutation(12)
NAMED = [
    lambda counts, words: Corpus(sp.csr_matrix(counts), words),
    lambda counts, words: pd.DataFrame(counts, columns=words),
    lambda counts, words: pl.DataFrame(counts, schema=list(words)),
]
IDS = ["Corpus", "pandas", "polars"]
MODELS = [
    GibbsLDA(2, n_sweeps=30, random_state=0),
    VariationalLDA(2, max_iter=10, random_state=0),
    PrivateLDA(2, epsilon=np.inf, random_state=0, allow_unlearnable=True),
    PrivateSVILDA(2, epsilon=np.inf, random_state=0),
    HybridGibbsLDA(2, epsilon=np.inf, n_sweeps=5, random_state=0),
]


def fit(model, X):
    return model.fit(X, **({"words_are_public": True} if hasattr(model, "ledger") else {}))


@pytest.mark.parametrize("fitted", NAMED, ids=IDS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_order_of_the_words_does_not_matter(model, fitted):
    fit(model, fitted(COUNTS, WORDS))
    expected = model.transform(fitted(COUNTS, WORDS))
    for named in NAMED:
        turned = named(COUNTS[:, TURNED], [WORDS[column] for column in TURNED])
        np.testing.assert_array_equal(model.transform(turned), expected)
    # The test could not tell if the order made no difference.
    wrong = fitted(COUNTS[:, TURNED], WORDS)
    assert np.abs(model.transform(wrong) - expected).max() > 0.1
    for others in (["strange", *WORDS[1:]], WORDS[:-1], [*WORDS, "more"]):
        columns = np.resize(COUNTS, (5, len(others)))
        for named in NAMED:
            with pytest.raises(CorpusError, match="other words"):
                model.transform(named(columns, others))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_without_names_columns_are_taken_as_they_stand(model):
    expected = model.fit(COUNTS).transform(COUNTS)
    np.testing.assert_array_equal(model.transform(Corpus(sp.csr_matrix(COUNTS), WORDS)), expected)
    again = fit(model, Corpus(sp.csr_matrix(COUNTS), WORDS))
    np.testing.assert_array_equal(
        again.transform(COUNTS), again.transform(Corpus(sp.csr_matrix(COUNTS), WORDS))
    )


def test_the_rule_itself():
    corpus = Corpus(sp.csr_matrix(COUNTS), WORDS)
    assert in_order(corpus, None) is corpus
    assert in_order(corpus, tuple(WORDS)) is corpus
    assert in_order(COUNTS, tuple(WORDS)) is COUNTS
    back = in_order(corpus, tuple(WORDS[::-1]))
    np.testing.assert_array_equal(back.toarray(), COUNTS[:, ::-1])
    numbered = pd.DataFrame(COUNTS)
    assert in_order(numbered, tuple(WORDS)) is numbered


CHANNEL = SimpleNamespace(p=0.95, q=0.05)
PRESENT = RNG.random((3000, 12)) < np.where(np.arange(12) // 4 == RNG.integers(3, size=(3000, 1)), 0.7, 0.05)
REPORTS = (RNG.random(PRESENT.shape) < np.where(PRESENT, 0.95, 0.05)).astype(np.uint8)
STRAIGHT = pd.DataFrame(REPORTS, columns=WORDS)
ACROSS = STRAIGHT[[WORDS[column] for column in TURNED]]


@pytest.mark.parametrize("model", [LocalLDA, StreamingLocalLDA])
def test_the_order_of_the_words_of_reports_does_not_matter(model):
    fitted = model(2, channel=CHANNEL, random_state=0).fit(STRAIGHT)
    assert fitted.release_.vocabulary == tuple(WORDS)
    expected = fitted.transform_reports(STRAIGHT)
    np.testing.assert_array_equal(fitted.transform_reports(ACROSS), expected)
    assert np.abs(fitted.transform_reports(ACROSS.to_numpy()) - expected).max() > 0.1  # the test can tell
    again = model(2, channel=CHANNEL, random_state=0).fit(ACROSS, vocabulary=WORDS)
    np.testing.assert_array_equal(again.topic_word_, fitted.topic_word_)
    others = ACROSS.rename(columns={WORDS[0]: "strange"})
    for refused in (lambda: fitted.transform_reports(others), lambda: fitted.fit(others, vocabulary=WORDS)):
        with pytest.raises(
            CorpusError, match=r"reports are of other words than the model: of its 12 words 1"
        ):
            refused()


def test_batches_of_a_stream_are_put_in_the_order_of_the_first():
    one, two = (StreamingLocalLDA(3, channel=CHANNEL, random_state=0).partial_fit(STRAIGHT) for _ in range(2))
    one.partial_fit(STRAIGHT)
    two.partial_fit(ACROSS)
    np.testing.assert_array_equal(one.topic_word_, two.topic_word_)
    two.delete_batch(ACROSS)
    assert two.n_reports_ == len(REPORTS)
    assert (two.moments_.first == REPORTS.sum(0)).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_names_are_learned_as_scikit_learn_learns_them(model):
    named = fit(model, pd.DataFrame(COUNTS, columns=WORDS))
    assert list(named.feature_names_in_) == WORDS
    assert not hasattr(model.fit(COUNTS), "feature_names_in_")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scores_tell_topics_apart_and_do_not_depend_on_the_order_of_words(model):
    fit(model, pd.DataFrame(COUNTS, columns=WORDS))
    score = model.score(pd.DataFrame(COUNTS, columns=WORDS))
    turned = [WORDS[column] for column in TURNED]
    assert model.score(pd.DataFrame(COUNTS[:, TURNED], columns=turned)) == score
    assert model.score(pd.DataFrame(COUNTS[:, TURNED], columns=WORDS)) < score
    if not isinstance(model, VariationalLDA):  # whose score is the bound, as scikit-learn's
        prior = getattr(model, "doc_topic_prior", 0.1)
        assert score == pytest.approx(
            -np.log(completion_perplexity(model.topic_word_, COUNTS, doc_topic_prior=prior)), rel=1e-12
        )
        with pytest.raises(CorpusError, match="no token is left to score"):
            model.score(pd.DataFrame(np.zeros_like(COUNTS), columns=WORDS))
