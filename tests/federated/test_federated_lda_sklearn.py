"""FederatedLDA as scikit-learn's own checks see it."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.federated import FederatedLDA


class OfOneSilo(FederatedLDA):
    """All documents in one silo, for the checks know of one matrix only; its real numbers are rounded down."""

    def fit(self, X, y=None):
        from discreet.corpus import check_counts

        whole = _whole(X)
        check_counts(whole)
        return super().fit([whole if hasattr(whole, "shape") else np.asarray(whole)], y)

    def transform(self, X):
        return super().transform(_whole(X))

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)


def _whole(X):
    if sp.issparse(X):
        values = X.tocsr()
        return values.floor() if values.dtype.kind == "f" and (values.data >= 0).all() else X
    values = np.asarray(X)
    if values.dtype.kind == "O":
        values = values.astype(float)
    fine = values.dtype.kind == "f" and np.isfinite(values).all() and (values >= 0).all()
    return np.floor(values) if fine else values


@parametrize_with_checks(
    [
        OfOneSilo(2, mechanism=mechanism, epsilon=4.0, allow_unlearnable=True, random_state=0)
        for mechanism in ("aggregate", "bits", "rrp")
    ],
    expected_failed_checks=lambda estimator: {},
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
