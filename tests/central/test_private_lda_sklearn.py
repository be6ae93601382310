"""scikit-learn's checks of an estimator.

They fit real numbers, which are no counts and are refused; so ``OnCounts`` turns the numbers of each check into
counts first. With that every check passes but for those named here, each with its reason.
"""

from unittest import SkipTest

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from discreet import PrivateLDA
from discreet.errors import CorpusError


def counted(X):
    """Ten times what a check passes, rounded; what is no number stays as it is, and so do NaN, inf and signs."""
    if sp.issparse(X):
        counts = X.tocsr(copy=True)
        counts.data = np.rint(10 * counts.data)
        return counts.asformat(X.format)
    values = np.asarray(X)
    try:
        return np.rint(10 * values.astype(np.float64)) if values.dtype.kind in "iufO" else X
    except TypeError:
        return X


class OnCounts(PrivateLDA):
    def fit(self, X, y=None, *, owners=None, vocabulary=None):
        return super().fit(counted(X), y, owners=owners, vocabulary=vocabulary)

    def transform(self, X):
        return super().transform(counted(X))


SEEDED = OnCounts(n_topics=2, epsilon=4.0, allow_unlearnable=True, random_state=0)
ESTIMATORS = [
    SEEDED,
    clone(SEEDED).set_params(random_state=None),
    clone(SEEDED).set_params(sampling_rate=0.5, n_rounds=3),
    clone(SEEDED).set_params(epsilon=np.inf),
]
#: Nothing is expected to fail on counts.
EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks_on_counts(estimator, check):
    check(estimator)


#: Checks that a scikit-learn without optional parts skips, and those it skips because of the estimator's tags.
SKIPPED = {
    "check_array_api_input": "needs SCIPY_ARRAY_API",
    "check_pipeline_consistency": "noise from the system differs from fit to fit",
    "check_transformer_general": "noise from the system differs from fit to fit",
    "check_transformer_data_not_an_array": "noise from the system differs from fit to fit",
}


@pytest.mark.parametrize("estimator", ESTIMATORS[:2], ids=["seeded", "secure"])
def test_only_named_checks_are_skipped(estimator):
    """A check that skips itself proves nothing; whoever reads the green line above should know which."""
    skipped = set()
    for model, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if name not in SKIPPED:
            continue
        try:
            check(model)
        except SkipTest:
            skipped.add(name)
    if estimator.random_state is None:
        assert skipped <= set(SKIPPED)
    else:
        assert skipped <= {"check_array_api_input"}


def test_the_checks_own_numbers_are_refused_as_no_counts():
    with pytest.raises(CorpusError, match=r"counts that are not whole numbers \(row 0, 1"):
        PrivateLDA(n_topics=2, allow_unlearnable=True).fit(np.full((5, 4), 0.5))


def test_another_number_of_words_is_refused_as_scikit_learn_words_it():
    model = clone(SEEDED).fit(np.ones((20, 4)))
    with pytest.raises(CorpusError, match="X has 3 features, but OnCounts is expecting 4 features as input"):
        model.transform(np.ones((2, 3)))


def test_parameters_survive_clone_and_search():
    counts = np.random.default_rng(0).poisson(1.0, (300, 8))
    model = PrivateLDA(n_topics=2, epsilon=8.0, random_state=3, allow_unlearnable=True)
    assert clone(model).get_params() == model.get_params()
    assert make_pipeline(model).fit_transform(counts).shape == (300, 2)
    assert model.get_feature_names_out().tolist() == ["privatelda0", "privatelda1"]
    # Every candidate and fold is a fit of its own on a ledger of its own: searching costs, and the docs say so.
    search = GridSearchCV(model, {"n_topics": [2, 3]}, cv=2, scoring=lambda fitted, X: fitted.n_topics)
    assert search.fit(counts).best_params_ == {"n_topics": 3}
