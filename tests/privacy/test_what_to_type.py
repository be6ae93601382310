"""A refusal names the epsilon to type, and says where delta is what is missing; a ledger's file is its owner's."""

import re
import stat

import pytest

from discreet import Ledger, PrivateCountVectorizer, PrivateLDA, fit_topics
from discreet.cli.app import as_option
from discreet.errors import BudgetExceeded, PrivacyError

TEXTS = ["the senate passed a law", "a storm hit the coast"] * 400
EASY = {"n_topics": 2, "allow_unlearnable": True, "random_state": 0}


def refused(call):
    with pytest.raises(BudgetExceeded) as found:
        call()
    return found.value


def test_words_and_topics_together_name_an_epsilon_that_fits_and_is_the_most():
    ledger = Ledger(2.0, 1e-6)
    fit_topics(TEXTS, epsilon=1.5, ledger=ledger, **EASY)
    error = refused(lambda: fit_topics(TEXTS, epsilon=1.5, ledger=ledger, **EASY))
    found = float(re.search(r"epsilon=([\d.]+)\)", str(error))[1])
    assert 0.1 < found < 1.5
    assert f"--epsilon {found})." in error.told(as_option("fit"))
    assert "ledger.remaining" not in str(error)
    refused(lambda: fit_topics(TEXTS, epsilon=found * 1.02, ledger=ledger, **EASY))
    assert len(ledger.entries) == 2
    fit_topics(TEXTS, epsilon=found, ledger=ledger, **EASY)
    assert ledger.spent().epsilon <= 2.0 * (1 + 1e-6)


def test_one_estimator_names_its_epsilon():
    ledger = Ledger(1.0, 1e-6)
    error = refused(lambda: PrivateLDA(2, epsilon=3.0, ledger=ledger).fit([[1, 2]] * 9))
    assert "lower its epsilon to at most 1 (epsilon=1.0)." in str(error)


def test_a_delta_larger_than_the_ledgers_is_called_that():
    ledger = Ledger(4.0, 1e-6)
    vectorizer = PrivateCountVectorizer(epsilon=1.0, delta=1e-5, ledger=ledger)
    with pytest.raises(
        PrivacyError, match="1e-05 is above that of the ledger, 1e-06, at which its releases are told"
    ):
        vectorizer.fit(TEXTS)


def test_a_new_ledger_is_its_persons_and_stays_as_somebody_sets_it(tmp_path):
    path = tmp_path / "l.json"
    for make in (lambda: Ledger(1.0, 1e-6, path=path), lambda: Ledger.open(tmp_path / "m.json", 1.0, 1e-6)):
        assert stat.S_IMODE(make().path.stat().st_mode) == 0o600
    path.chmod(0o660)
    PrivateLDA(2, epsilon=0.5, ledger=Ledger.open(path), allow_unlearnable=True).fit([[1, 2]] * 9)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
