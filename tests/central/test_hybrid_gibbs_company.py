"""Word-level estimators in company: what the batteries cannot ask, and clones."""

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from discreet import HybridGibbsLDA, Ledger


def test_neighbours_by_a_replaced_word_draw_alike():
    """What the battery cannot ask: one token's word is replaced."""
    from discreet.privacy.battery.proof_checks import replayed
    from discreet.privacy.battery.subject import planted_counts

    one = planted_counts(50).tolil()
    two = one.copy()
    row, column = (int(index[0]) for index in one.nonzero())
    two[row, column] -= 1
    two[row, (column + 1) % 24] += 1
    sizes = []
    for X in (one, two):
        with replayed() as run:
            HybridGibbsLDA(2, epsilon=4.0, n_sweeps=3, random_state=0).fit(X.tocsr())
        sizes.append(run.draws)
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 6


def test_clones_keep_the_ledger_itself():
    ledger = Ledger(2, 1e-5, privacy_unit="word", neighboring="replace_one")
    model = HybridGibbsLDA(2, epsilon=1.0, n_sweeps=2, ledger=ledger)
    clone(model).fit([[1, 2], [2, 0]])
    assert len(ledger.entries) == 1
    with pytest.raises(NotFittedError):
        model.transform([[1, 1]])
