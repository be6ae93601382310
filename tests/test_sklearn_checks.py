"""scikit-learn's own checks of every public estimator, with a reason for each that cannot hold."""

import math
import warnings
from types import SimpleNamespace
from unittest import SkipTest

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.marks import quick
from tests.test_api import CLASSES

from discreet import (
    FederatedLDA,
    GibbsLDA,
    HybridGibbsLDA,
    Ledger,
    LocalLDA,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    PrivateSVILDA,
    Release,
    StreamingLocalLDA,
    TopicPrevalence,
    VariationalLDA,
    WholeDocumentLDA,
)

pytestmark = pytest.mark.usefixtures("few_steps")


class OfOneSilo(FederatedLDA):
    """All documents in one silo: the checks know of one matrix only."""

    def fit(self, X, y=None):
        return super().fit([X if hasattr(X, "shape") else np.asarray(X)], y)

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class TakesBits:
    """Takes counts as bits: a word is there or not."""

    def fit(self, X, y=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few reports let few topics through
            return super().fit(_bits(X), y)

    def fit_transform(self, X, y=None):
        """As for texts: what came in as bits is read again as counts."""
        return self.fit(X, y).transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class Batch(TakesBits, LocalLDA):
    pass


class Stream(TakesBits, StreamingLocalLDA):
    def partial_fit(self, X, y=None):
        return super().partial_fit(_bits(X), y)


def _bits(X):
    if sp.issparse(X):
        return X.minimum(1) if X.dtype.kind in "if" else X
    values = np.asarray(X)
    return np.minimum(values, 1) if values.dtype.kind in "iuf" else values


def tiny_release():
    return Release([[0.5, 0.5]], ["a", "b"], Ledger(1.0, 1e-6))


BITS = {"channel": SimpleNamespace(p=0.9, q=0.1), "allow_unlearnable": True, "random_state": 0}
ON_DATA = [
    GibbsLDA(2, n_sweeps=5, random_state=0),
    VariationalLDA(2, max_iter=5, random_state=0),
    VariationalLDA(3, batch_size=7, max_iter=3),
    PrivateLDA(2, epsilon=4.0, allow_unlearnable=True, random_state=0),
    PrivateLDA(2, epsilon=math.inf, random_state=0),
    PrivateSVILDA(2, epsilon=math.inf, sampling_rate=0.5, random_state=0),
    HybridGibbsLDA(2, epsilon=4.0, n_sweeps=2, random_state=0),
    HybridGibbsLDA(2, epsilon=4.0, n_sweeps=2, noise="gaussian", random_state=0),
    OfOneSilo(2, epsilon=4.0, allow_unlearnable=True, random_state=0),
    Batch(1, **BITS),
    Stream(1, **BITS),
]
#: One configuration of each class.
FIRST = list({type(one): one for one in reversed(ON_DATA)}.values())
#: Why only the checks that need no data can be asked of these.
WITHOUT_DATA = {
    PrivateCountVectorizer(epsilon=1.0): "takes texts; scikit-learn skips its own CountVectorizer, too",
    TopicPrevalence(
        tiny_release(), ["north", "south"]
    ): "takes counts of the words of one release, and groups",
    PrivateFit(tiny_release()): "takes counts of the words of one release",
    WholeDocumentLDA(
        epsilon=8.0, word_vectors=((1.0,), (2.0,))
    ): "takes counts of the words it has vectors of",
}
#: Why a check cannot hold, by class and name of the check.
_EMPTY = "a silo without documents is one, too: to refuse it would tell everyone that it has none"
_NO_BITS = "what is no bit is refused, in words about bits"
CANNOT = {
    ("OfOneSilo", "check_estimators_empty_data_messages"): _EMPTY,
    **{
        (name, check): _NO_BITS
        for name in ("Batch", "Stream")
        for check in ("check_positive_only_tag_during_fit", "check_complex_data")
    },
}
DATALESS = [
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_mixin_order,
]


def outcome(check):
    """Return what a check says: "passed", "skipped", or why it failed."""
    try:
        check()
    except SkipTest:
        return "skipped"
    except Exception as fault:
        return f"failed: {type(fault).__name__}: {fault}"
    return "passed"


@pytest.mark.parametrize("estimator", quick(ON_DATA, *FIRST))
def test_checks_on_data(estimator):
    checks = [check for _, check in estimator_checks_generator(estimator)]
    found = [(check.func.__name__, outcome(lambda check=check: check(clone(estimator)))) for check in checks]
    assert len(found) > 40
    failed = {name: why for name, why in found if why.startswith("failed")}
    assert failed.keys() == {name for owner, name in CANNOT if owner == type(estimator).__name__}, failed


@pytest.mark.parametrize("estimator", WITHOUT_DATA, ids=lambda one: type(one).__name__)
def test_checks_that_need_no_data(estimator):
    found = {
        check: outcome(lambda check=check: check(type(estimator).__name__, clone(estimator)))
        for check in DATALESS
    }
    assert set(found.values()) == {"passed"}, found


def test_no_public_estimator_is_left_out():
    asked = [type(one) for one in (*ON_DATA, *WITHOUT_DATA)]
    assert {name for name, one in CLASSES.items() if any(issubclass(each, one) for each in asked)} == set(
        CLASSES
    )
    assert {name for name, _ in CANNOT} <= {type(one).__name__ for one in ON_DATA}
