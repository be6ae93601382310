"""The battery for private estimators, run on every public one, with a reason for each check that cannot hold."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from tests.marks import quick
from tests.test_api import public

from discreet import (
    FederatedLDA,
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
    WholeDocumentLDA,
)
from discreet.federated.account import UNIT
from discreet.privacy import check_private_estimator
from discreet.privacy.battery.battery import CHECKS
from discreet.privacy.battery.subject import Spy, planted_counts

pytestmark = pytest.mark.usefixtures("few_steps")
SAMPLED = "the start and the sampled documents depend on the seed, noise or not"
CHAIN = "a Gibbs chain is random without any noise, too: two seeds are two chains"
REPLACED = "neighbours replace a word; the number of documents is public, and there is noise for each"
IN_SEED_ORDER = "units, or reports, come in an order drawn from the seed"
EMPTY_SILO = "a silo without documents is one, too: to refuse it would tell everyone that it has none"
ROSTER = "the booking names the roster of keys, and keys are drawn from the seed"
IN_SHARES = "each silo adds its share of the noise itself, to a sum that is masked"


class ByRow(TopicPrevalence):
    """The group of a document is a function of the document, and known before the fit reads any."""

    def fit(self, X, by=None, persons=None):
        counts = X.hidden if isinstance(X, Spy) else X
        labels = ["even" if total % 2 == 0 else "odd" for total in np.asarray(counts.sum(1)).ravel().tolist()]
        return super().fit(X, labels, persons=persons)


class OneSilo(FederatedLDA):
    """All documents in one silo, whose ledger is given."""

    def __init__(self, epsilon=4.0, random_state=None, n_jobs=None, ledger=None):
        super().__init__(
            2,
            epsilon=epsilon,
            allow_unlearnable=True,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.ledger = ledger

    privacy_unit = property(lambda self: UNIT[0])
    neighboring = property(lambda self: UNIT[1])

    def fit(self, X, y=None, persons=None):
        return super().fit([X], y)

    def _make_ledger(self, state):
        return super()._make_ledger(state) if self.ledger is None else self.ledger


class AskedSilo(OneSilo):
    """The same, asked three questions by public vectors of up to a thousand words."""

    def __init__(self, epsilon=4.0, random_state=None, n_jobs=None, ledger=None):
        super().__init__(epsilon, random_state, n_jobs, ledger)
        vectors = np.random.default_rng(0).normal(size=(1000, 4))
        self.word_vectors = {f"w{word}": vector for word, vector in enumerate(vectors)}

    def fit(self, X, y=None, persons=None):
        words = [f"w{word}" for word in range(np.shape(X)[1])]
        return FederatedLDA.fit(self, [X], y, vocabulary=words, words_are_public=True)


class ScoredStart(PrivateLDA):
    """With vectors of up to a thousand words that know the planted topics."""

    def __init__(
        self,
        *,
        epsilon=4.0,
        delta=1e-6,
        privacy_unit="document",
        random_state=None,
        n_jobs=None,
        ledger=None,
    ):
        super().__init__(
            2,
            epsilon=epsilon,
            delta=delta,
            privacy_unit=privacy_unit,
            random_state=random_state,
            n_jobs=n_jobs,
            ledger=ledger,
        )
        vectors = np.random.default_rng(0).normal(size=(1000, 4))
        vectors[::2, 0] += 5
        self.word_vectors = {f"w{word}": vector for word, vector in enumerate(vectors)}

    def fit(self, X, y=None, *, persons=None):
        words = [f"w{word}" for word in range(np.shape(X)[1])]
        return super().fit(X, y, persons=persons, vocabulary=words, words_are_public=True)


def texts(n_documents):
    """The planted counts written out as texts; the last is one that shares all its words."""
    rows = planted_counts(n_documents - 1).toarray()
    words = [f"word{chr(97 + column)}" for column in range(rows.shape[1])]
    written = [" ".join(word for word, n in zip(words, row, strict=True) for _ in range(n)) for row in rows]
    return [*written, f"{words[0]} {words[1]}"]


def topics(unit="document"):
    ledger = Ledger(1.0, 1e-6, privacy_unit=unit)
    return Release(np.kron(np.eye(2), np.full(12, 1 / 12)), [f"w{i}" for i in range(24)], ledger)


AT_INFINITY = "check_infinite_epsilon_adds_no_noise"
OF_SUMS = ("check_sums_keep_to_their_bound", "check_all_is_made_of_noisy_sums")
OF_TEXTS = {"make": texts, "released": ("vocabulary_", "word_weights_"), "takes_counts": False}
#: Name of a case: estimator, how the battery is to be run, and what cannot hold, and why.
CASES = {
    "PrivateLDA": (PrivateLDA(2, epsilon=4.0), {}, {}),
    "PrivateLDA, people": (PrivateLDA(2, epsilon=4.0, privacy_unit="person"), {}, {}),
    "PrivateLDA, two rounds": (PrivateLDA(3, epsilon=2.0, delta=1e-5, n_rounds=2), {}, {}),
    "PrivateLDA, a start by a score": (ScoredStart(), {}, {}),
    "PrivateLDA, a start by a score, people": (ScoredStart(privacy_unit="person"), {}, {}),
    "PrivateSVILDA": (PrivateSVILDA(2, epsilon=4.0, sampling_rate=0.3), {}, {AT_INFINITY: SAMPLED}),
    "PrivateSVILDA.park2016": (PrivateSVILDA.park2016(2), {}, {AT_INFINITY: SAMPLED}),
    "PrivateSVILDA, people": (
        PrivateSVILDA(2, epsilon=4.0, sampling_rate=0.3, privacy_unit="person"),
        {},
        {AT_INFINITY: SAMPLED},
    ),
    **{
        f"HybridGibbsLDA, {noise}": (
            HybridGibbsLDA(2, epsilon=4.0, n_sweeps=3, noise=noise),
            {},
            {AT_INFINITY: CHAIN, "check_neighbours_draw_alike": REPLACED},
        )
        for noise in ("laplace", "gaussian")
    },
    **{
        f"PrivateCountVectorizer, {method}": (
            PrivateCountVectorizer(epsilon=4.0, method=method),
            OF_TEXTS,
            {},
        )
        for method in ("weighted_gaussian", "sips")
    },
    **{
        f"PrivateCountVectorizer, {method}, people": (
            PrivateCountVectorizer(epsilon=4.0, method=method, privacy_unit="person"),
            OF_TEXTS,
            {},
        )
        for method in ("weighted_gaussian", "sips")
    },
    "TopicPrevalence, people": (
        ByRow(topics("person"), groups=["even", "odd"], epsilon=2.0, privacy_unit="person"),
        {},
        {},
    ),
    "PrivateFit, people": (PrivateFit(topics("person"), epsilon=2.0, privacy_unit="person"), {}, {}),
    "TopicPrevalence": (ByRow(topics(), groups=["even", "odd"], epsilon=2.0), {}, {}),
    "TopicPrevalence, private groups": (
        ByRow(topics(), group_selection="private", epsilon=6.0, unlisted="other"),
        {},
        {},
    ),
    "PrivateFit": (PrivateFit(topics(), epsilon=2.0), {}, {}),
    "FederatedLDA, aggregate": (
        OneSilo(),
        {},
        {"check_bad_counts_are_refused": EMPTY_SILO, AT_INFINITY: ROSTER} | dict.fromkeys(OF_SUMS, IN_SHARES),
    ),
    "FederatedLDA, questions": (
        AskedSilo(),
        {},
        {"check_bad_counts_are_refused": EMPTY_SILO, AT_INFINITY: ROSTER} | dict.fromkeys(OF_SUMS, IN_SHARES),
    ),
}
#: What the battery cannot be asked of, and why.
NOT_ASKED = {
    LocalLDA: "adds no noise and books nothing: reports come randomised, and all that follows is post-processing",
    StreamingLocalLDA: "as LocalLDA",
    WholeDocumentLDA: "as LocalLDA; simulated clients randomise their reports before anything is summed",
}


@pytest.mark.parametrize(
    "case",
    quick(
        CASES,
        "PrivateLDA",
        "PrivateCountVectorizer, weighted_gaussian",
        "TopicPrevalence",
        "FederatedLDA, aggregate",
    ),
)
def test_the_battery(case):
    estimator, how, cannot = CASES[case]
    outcome = check_private_estimator(estimator, expected_failures=cannot, **how)
    assert set(outcome) == {check.__name__ for check in CHECKS}
    others = {name: found for name, found in outcome.items() if name not in cannot}
    assert set(others.values()) <= {"passed", "not for texts"}
    assert (list(others.values()).count("not for texts") == 0) == how.get("takes_counts", True)


def test_no_private_estimator_is_left_out():
    promising = {one for _, one in public() if inspect.isclass(one) and hasattr(one, "planned_event")}
    asked = [type(estimator) for estimator, _, _ in CASES.values()]
    assert promising == {one for one in promising if any(issubclass(each, one) for each in asked)} | set(
        NOT_ASKED
    )


# What WholeDocumentLDA learns from the same reports: tests/local/test_whole_document.py.
@pytest.mark.parametrize("model", [one for one in NOT_ASKED if one is not WholeDocumentLDA])
def test_fits_to_reports_are_functions_of_the_reports(model):
    """Why the battery is not asked: there is no budget, and nothing random but where the fit starts."""
    rng = np.random.default_rng(0)
    own = np.arange(24) // 8 == rng.integers(3, size=(4000, 1))
    reports = (rng.random(own.shape) < np.where(own, 0.6, 0.1)).astype(np.uint8)
    made = model(2, channel=SimpleNamespace(p=0.9, q=0.1), random_state=0)
    assert not {"epsilon", "ledger"} & set(made.get_params())
    one, two = (made.fit(reports).release_ for _ in range(2))
    assert one == two
    assert one.ledger.entries == two.ledger.entries
    assert one.ledger.closed
