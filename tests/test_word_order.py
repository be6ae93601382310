"""One rule for all models: documents whose columns have names are read by name, and other words are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from discreet import Corpus, GibbsLDA, PrivateLDA, PrivateSVILDA, VariationalLDA
from discreet._word_order import in_order
from discreet.central import CountNoiseLDA, HybridGibbsLDA, PrivateMomentLDA, WordCounts
from discreet.errors import CorpusError

RNG = np.random.default_rng(0)
OWN = np.arange(12) // 6 == RNG.integers(2, size=(400, 1))
COUNTS = RNG.poisson(np.where(OWN, 1.5, 0.05))
WORDS = [f"w{letter}" for letter in "abcdefghijkl"]
TURNED = RNG.permutation(12)
NAMED = [
    lambda counts, words: Corpus(sp.csr_matrix(counts), words),
    WordCounts,
    lambda counts, words: pd.DataFrame(counts, columns=words),
    lambda counts, words: pl.DataFrame(counts, schema=list(words)),
]
IDS = ["Corpus", "WordCounts", "pandas", "polars"]
MODELS = [
    GibbsLDA(2, n_sweeps=30, random_state=0),
    VariationalLDA(2, max_iter=10, random_state=0),
    PrivateLDA(2, epsilon=np.inf, random_state=0, allow_unlearnable=True),
    PrivateSVILDA(2, epsilon=np.inf, random_state=0),
    PrivateMomentLDA(2, epsilon=np.inf, random_state=0, allow_unlearnable=True),
    HybridGibbsLDA(2, epsilon=np.inf, n_sweeps=5, random_state=0),
    CountNoiseLDA(2, epsilon=np.inf, n_sweeps=5, random_state=0),
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
