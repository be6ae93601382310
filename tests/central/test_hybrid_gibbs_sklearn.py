"""Word-level estimators under the battery for private estimators, and among scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import HybridGibbsLDA, Ledger
from discreet.central import CountNoiseLDA
from discreet.privacy import check_private_estimator

CHAIN = "a Gibbs chain is random without any noise, too: two seeds are two chains"
REPLACED = (
    "neighbours replace a word; the number of documents is public, and there is one row of noise for each"
)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("publish", [True, False])
def test_the_battery(noise, publish):
    expected = {"check_infinite_epsilon_adds_no_noise": CHAIN}
    if not publish:
        expected["check_neighbours_draw_alike"] = REPLACED
    model = HybridGibbsLDA(2, epsilon=4.0, n_sweeps=3, noise=noise, publish_assignments=publish)
    outcome = check_private_estimator(model, expected_failures=expected)
    assert sum(found == "passed" for found in outcome.values()) == len(outcome) - len(expected)


def test_neighbours_by_a_replaced_word_draw_alike():
    """What the battery cannot ask: one token's word is replaced."""
    from discreet.privacy.testing.subject import planted_counts, recorded_draws

    one = planted_counts(50).tolil()
    two = one.copy()
    row, column = (int(index[0]) for index in one.nonzero())
    two[row, column] -= 1
    two[row, (column + 1) % 24] += 1
    sizes = []
    for X in (one, two):
        with recorded_draws() as seen:
            HybridGibbsLDA(2, epsilon=4.0, n_sweeps=3, publish_assignments=False, random_state=0).fit(
                X.tocsr()
            )
        sizes.append(list(seen))
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 6


def test_count_noise_is_not_private_and_the_battery_says_so():
    model = CountNoiseLDA(2, n_sweeps=3)
    no_promise = "booked as not private, which no finite ledger takes"
    check_private_estimator(
        model,
        expected_failures={
            "check_infinite_epsilon_adds_no_noise": CHAIN,
            "check_ledger_grows_before_reading": no_promise,
        },
    )


class Rounded(HybridGibbsLDA):
    """Counts from scikit-learn's data, which are not counts: real numbers that are fine are rounded down."""

    def fit(self, X, y=None, **how):
        return super().fit(_whole(X), y, **how)

    def transform(self, X):
        return super().transform(_whole(X))


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
        Rounded(2, epsilon=4.0, n_sweeps=2, random_state=0),
        Rounded(2, epsilon=4.0, n_sweeps=2, publish_assignments=False, noise="gaussian", random_state=0),
    ],
    expected_failed_checks=lambda estimator: {},
)
def test_scikit_learns_checks_on_rounded_data(estimator, check):
    check(estimator)


def test_clones_keep_the_ledger_itself():
    ledger = Ledger(2, 1e-5, privacy_unit="word", neighboring="replace_one")
    model = HybridGibbsLDA(2, epsilon=1.0, n_sweeps=2, ledger=ledger)
    clone(model).fit([[1, 2], [2, 0]])
    assert len(ledger.entries) == 1
    with pytest.raises(NotFittedError):
        model.transform([[1, 1]])
