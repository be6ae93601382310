"""scikit-learn's own checks of the local estimators, on data that are turned into bits."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import estimator_checks_generator

from discreet.local import LocalLDA, StreamingLocalLDA


class TakesBits:
    """Takes scikit-learn's real numbers where they are fine, as bits: above their mean or not."""

    def fit(self, X, y=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return super().fit(_bits(X), y)

    def transform(self, X):
        bits = _bits(X)
        return super().transform(bits if bits.dtype.kind == "f" else bits.astype(int))

    def transform_reports(self, X, *, packed=False):
        return super().transform_reports(_bits(X), packed=packed)


class Batch(TakesBits, LocalLDA):
    pass


class Stream(TakesBits, StreamingLocalLDA):
    def partial_fit(self, X, y=None):
        return super().partial_fit(_bits(X), y)


def _bits(X):
    if sp.issparse(X):
        return X.tocsr() > 0.5
    values = np.asarray(X)
    if values.dtype.kind == "O":
        values = values.astype(float)
    return (values > 0.5).astype(np.uint8) if np.isfinite(values).all() else values


#: Checks that ask for what reports are not, or that hold data no report can be.
NOT_FOR_REPORTS = {
    "check_complex_data",  # these three send data that the class above turns into bits, so nothing is refused;
    "check_positive_only_tag_during_fit",  # test_moments shows what is
    "check_fit_non_negative",
    "check_transformer_general",  # ask that fit_transform be transform, but reports and texts are read differently
    "check_transformer_data_not_an_array",
}

_HOW = {"channel": SimpleNamespace(p=0.9, q=0.1), "allow_unlearnable": True, "random_state": 0}
MODELS = [Batch(1, **_HOW), Stream(1, **_HOW)]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{type(model).__name__}-{check.func.__name__}")
        for model in MODELS
        for _, check in estimator_checks_generator(model)
    ],
)
def test_sklearn_check(model, check):
    if check.func.__name__ in NOT_FOR_REPORTS:
        pytest.skip("not for reports")
    check(model)
