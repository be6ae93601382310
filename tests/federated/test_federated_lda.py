"""FederatedLDA: its ledgers, and what it refuses."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import discreet
from discreet.corpus import Corpus
from discreet.errors import BudgetExceeded, CorpusError, DiscreetError, ParameterError, PrivacyError
from discreet.evaluate import completion_perplexity
from discreet.federated import FederatedLDA


def corpus(n=6000, n_words=60, n_topics=3, seed=0):
    rng = np.random.default_rng(seed)
    own = np.arange(n_words) // (n_words // n_topics) == rng.integers(n_topics, size=(n, 1))
    return sp.csr_matrix((rng.random((n, n_words)) < np.where(own, 0.4, 0.02)).astype(np.int32))


PARTS = [corpus(2000, seed=seed) for seed in range(3)]
HELD_OUT = corpus(300, seed=9)
SETTINGS = {"epsilon": 2.0, "delta": 1e-6, "tolerated": 1}


def test_topics_are_learned_and_the_promise_is_booked():
    model = discreet.FederatedLDA(3, random_state=0, **SETTINGS).fit(PARTS)
    even = completion_perplexity(np.asarray(sum(PARTS).sum(0)), HELD_OUT)
    assert completion_perplexity(model.components_, HELD_OUT) < 0.75 * even
    promised = SETTINGS["epsilon"]
    assert len(model.client_ledgers_) == 3
    for ledger in model.client_ledgers_:
        assert promised * 0.999 <= ledger.spent().epsilon <= promised * (1 + 1e-9)
    assert model.release_.reproducible
    assert model.release_.ledger.closed
    assert model.transform(HELD_OUT).shape == (300, 3)


def test_the_same_seed_gives_the_same_bytes():
    options = {**SETTINGS, "allow_unlearnable": True}
    one, two, other = (
        FederatedLDA(2, random_state=seed, **options).fit(PARTS).components_ for seed in (1, 1, 2)
    )
    assert one.tobytes() == two.tobytes() != other.tobytes()


def test_defaults_are_the_safe_ones():
    model = FederatedLDA()
    assert (model.epsilon, model.delta, model.n_topics) == (1.0, 1e-6, 20)
    assert model.silos_see_result


def test_what_follows_a_release():
    pd = pytest.importorskip("pandas")
    options = {**SETTINGS, "allow_unlearnable": True}
    words = [f"word{i}" for i in range(60)]
    model = FederatedLDA(3, random_state=0, **options)
    shares = model.fit_transform(PARTS, vocabulary=words, words_are_public=True)
    assert shares.shape == (6000, 3)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_array_equal(shares[:2000], model.transform(PARTS[0]))
    assert model.release_.vocabulary == tuple(words)
    assert model.get_feature_names_out().tolist() == ["federatedlda0", "federatedlda1", "federatedlda2"]
    frame = model.set_output(transform="pandas").transform(HELD_OUT)
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape == (300, 3)
    with pytest.raises(CorpusError, match="59 features"):
        model.transform(HELD_OUT[:, :-1])


def test_what_is_planned_is_what_is_booked():
    from discreet.privacy.accounting.totals import composed_epsilon

    model = FederatedLDA(2, allow_unlearnable=True, random_state=0, **SETTINGS)
    planned = model.planned_event()
    for ledger in model.fit(PARTS).client_ledgers_:
        spent = ledger.spent()
        cost = composed_epsilon([planned], ledger.delta, neighboring=ledger.neighboring)
        assert cost.epsilon == pytest.approx(spent.epsilon, rel=1e-9)


def test_all_faults_of_a_call_are_told_at_once():
    model = FederatedLDA(0, delta=2.0, epsilon=-1.0, tolerated=-1, random_state="x")
    with pytest.raises(PrivacyError) as found:
        model.fit(PARTS)
    for name in ("n_topics", "delta", "epsilon", "tolerated", "random_state"):
        assert f"{name} must be" in str(found.value)


def test_a_fit_that_learned_nothing_keeps_what_was_paid_for():
    from discreet.federated import fit_state

    model = FederatedLDA(2, epsilon=0.1, random_state=0)
    with pytest.raises(ParameterError, match="nothing to learn"):
        model.fit([part[:30] for part in PARTS])
    assert not hasattr(model, "release_")
    assert [len(ledger.entries) for ledger in model.client_ledgers_] == [1, 1, 1]
    assert fit_state(model.state_, allow_unlearnable=True).topic_word.shape == (2, 60)


def test_a_secure_run_is_for_release():
    model = FederatedLDA(2, epsilon=2.0, delta=1e-6).fit(PARTS)
    assert not model.release_.reproducible
    assert model.release_.configuration["dropouts_tolerated"] == 0


def test_without_privacy_the_twin_says_so():
    model = FederatedLDA(3, epsilon=math.inf, delta=1e-6, random_state=0).fit(PARTS)
    assert math.isinf(model.release_.ledger.guarantee().epsilon)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"epsilon": 0.0}, PrivacyError),
        ({"epsilon": math.nan}, PrivacyError),
        ({"epsilon": 1.0, "delta": 0.0}, PrivacyError),
        ({"epsilon": 1.0, "delta": 1e-6, "tolerated": 3}, ParameterError),
    ],
)
def test_settings_that_cannot_be_kept_are_refused(options, error):
    with pytest.raises(error):
        FederatedLDA(2, **options).fit(PARTS)


def test_parts_that_do_not_go_together_are_refused():
    model = FederatedLDA(2, epsilon=1.0)
    for parts in ([], PARTS[0].toarray(), [PARTS[0], PARTS[1][:, :5]]):
        with pytest.raises(CorpusError):
            model.fit(parts)
    with pytest.raises(CorpusError, match="columns"):
        model.fit(PARTS, vocabulary=["a", "b"], words_are_public=True)
    words = [f"w{i}" for i in range(PARTS[0].shape[1])]
    for parts, how in ((PARTS, {"vocabulary": words}), ([Corpus(part, words) for part in PARTS], {})):
        with pytest.raises(PrivacyError, match="words_are_public=True"):
            model.fit(parts, **how)
        found = model.set_params(random_state=0).fit(parts, **how, words_are_public=True).release_
        assert found.vocabulary == tuple(words)
        assert found.configuration["words_declared_by"] == "words_are_public=True in FederatedLDA.fit"


def test_budget_stops_a_server_that_asks_again():
    from discreet.federated import Account, agreed_terms, client_update, init_server, server_step
    from discreet.federated.federated_lda import make_ledger
    from discreet.privacy import SecureStream

    first = state = init_server(
        n_clients=1, n_topics=2, n_words=60, epsilon=2.0, delta=1e-6, vocabulary=[f"w{i}" for i in range(60)]
    )
    account, stream = Account(0, make_ledger(state), expected=agreed_terms(state)), SecureStream(0)
    while not state.finished:
        state = server_step(state, [client_update(state, PARTS[0], stream, account)])
    with pytest.raises(BudgetExceeded):
        client_update(first, PARTS[0], stream, account)
    assert len(account.ledger.entries) == 1


def test_settings_that_do_not_go_together_are_refused_with_the_plan():
    for options, names in (
        (
            {"word_vectors": np.eye(60), "silos_see_result": False},
            ("word_vectors", "silos_see_result"),
        ),
        ({"delta": 0.0}, ("delta",)),
    ):
        with pytest.raises(DiscreetError) as found:
            FederatedLDA(2, **options).planned_event()
        assert found.value.parameters == names


def test_each_silo_books_before_its_counts_are_read():
    bad = PARTS[1].toarray().astype(float)
    bad[3, 2] = 0.5
    booked = []

    class Watched(FederatedLDA):
        def _make_ledger(self, state):
            booked.append(super()._make_ledger(state))
            return booked[-1]

    with pytest.raises(CorpusError, match="row 4"):
        Watched(2, random_state=0).fit([PARTS[0], bad])
    assert [len(ledger.entries) for ledger in booked] == [1, 1]
