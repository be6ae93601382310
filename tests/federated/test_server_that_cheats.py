"""A server that changes what was agreed, asks twice, or replays messages; a silo whose corpus or ledger is another."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.errors import BudgetExceeded, ParameterError, PrivacyError
from discreet.federated import (
    Account,
    FederatedLDA,
    agreed_terms,
    client_update,
    fit_state,
    init_server,
    server_step,
)
from discreet.federated.account import UNIT, vocabulary_digest
from discreet.federated.federated_lda import make_ledger
from discreet.federated.state import MESSAGES, VECTOR
from discreet.federated.wire import account_json, read_account
from discreet.privacy import Ledger, SecureStream

N_WORDS = 20
WORDS = [f"w{i}" for i in range(N_WORDS)]
OPTIONS = {"epsilon": 2.0, "delta": 1e-6}


def silo(seed=0, n=200):
    rng = np.random.default_rng(seed)
    return sp.csr_matrix((rng.random((n, N_WORDS)) < 0.2).astype(np.int32))


def begin(n_clients=1, **more):
    options = {**OPTIONS, **more}
    sizes = {"n_clients": n_clients, "n_topics": 2, "n_words": N_WORDS, "vocabulary": WORDS}
    state = init_server(allow_unlearnable=True, **sizes, **options)
    terms = agreed_terms(state)
    return state, [Account(client, make_ledger(state), expected=terms) for client in range(n_clients)]


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 30.0},
        {"n_rounds": 4},
        {"n_words": 10},
        {"delta": 1e-5},
    ],
)
def test_a_server_cannot_change_settings_after_the_first_message(change):
    state, (account,) = begin()
    client_update(state, silo(), SecureStream(0), account)
    other = replace(state, **change)
    account.expected = agreed_terms(other)
    for known in (account, read_account(account_json(account), account.ledger, expected=account.expected)):
        with pytest.raises(PrivacyError, match=f"changed {next(iter(change))}"):
            client_update(other, silo(), SecureStream(1), known)


AGREED = {"n_clients": 3, "tolerated": 1, "n_words": N_WORDS, "vocabulary": vocabulary_digest(WORDS)}


@pytest.mark.parametrize("missing", AGREED)
def test_a_silo_that_was_told_only_by_the_server_sends_nothing_into_a_sum(missing):
    state, _ = begin(n_clients=3, tolerated=1)
    expected = {name: value for name, value in AGREED.items() if name != missing}
    for known in (expected, {**expected, missing: None}):
        account = Account(0, make_ledger(state), expected=known)
        with pytest.raises(PrivacyError, match=f"must know {missing}"):
            client_update(state, silo(), SecureStream(0), account)


@pytest.mark.parametrize(
    "asked",
    [
        {"n_clients": 401},
        {"n_clients": 401, "tolerated": 200},
        {"tolerated": 0},
        {"silos_see_result": False},
        {"n_words": 10},
        {"vocabulary": vocabulary_digest(WORDS[::-1])},
        {"vocabulary": ""},
        {"epsilon": 3.0},
    ],
)
def test_a_server_cannot_choose_the_noise(asked):
    """With 401 silos on paper, of which 400 are its own, one silo's share of the noise would be a twentieth of it."""
    state, _ = begin(n_clients=3, tolerated=1)
    account = Account(0, make_ledger(state), expected={**AGREED, "epsilon": 2.0})
    client_update(state, silo(), SecureStream(0), account)
    for fresh in (account, Account(0, make_ledger(state), expected={**AGREED, "epsilon": 2})):
        with pytest.raises(PrivacyError, match=f"not agreed .*{next(iter(asked))}"):
            client_update(replace(state, **asked), silo(), SecureStream(0), fresh)
        assert not fresh.ledger.entries


@pytest.mark.parametrize("number", [-1, 3, 400])
def test_a_server_that_shows_more_silos_than_were_agreed_gets_no_shares(number):
    state, accounts = begin(n_clients=3)
    state = server_step(state, [client_update(state, silo(), SecureStream(a.client), a) for a in accounts])
    more = state.masks._replace(hellos={**state.masks.hellos, number: state.masks.hellos[2]})
    with pytest.raises(PrivacyError, match="more silos than were agreed"):
        client_update(replace(state, masks=more), silo(), SecureStream(0), accounts[0])


def test_what_is_expected_must_be_a_setting():
    state, _ = begin()
    account = Account(0, make_ledger(state), expected={"n_client": 3})
    with pytest.raises(ParameterError, match="n_client, which is not a setting"):
        client_update(state, silo(), SecureStream(0), account)


def test_the_roster_is_shown_before_anything_is_booked_and_is_the_same_for_all():
    state, accounts = begin(n_clients=3)
    shown = {}
    for account in accounts:
        account.confirm = lambda digits, k, n, c=account.client: shown.setdefault(c, (digits, k, n)) != ""
    while not state.finished:
        state = server_step(
            state, [client_update(state, silo(a.client), SecureStream(a.client), a) for a in accounts]
        )
        if state.round <= VECTOR:
            assert not shown
    digits, numbers, sizes = zip(*(shown[c] for c in range(3)), strict=True)
    assert len(set(digits)) == 1
    assert len(digits[0].split()) == 10
    assert numbers == (0, 1, 2)
    assert sizes == (3, 3, 3)


def test_a_server_that_makes_the_other_silos_up_shows_each_another_roster():
    """It plays the other two for each of two silos: what they see differs, and who compares stops before booking."""
    rosters, read = [], []
    for real in (0, 1):
        state, accounts = begin(n_clients=3)
        heard = accounts[real]
        heard.confirm = lambda digits, *_: rosters.append(digits) or False
        for number in range(VECTOR + 1):
            streams = {
                a.client: SecureStream(a.client if a is heard else 50 + a.client + real) for a in accounts
            }
            updates = []
            for a in accounts:
                if a is heard and number == VECTOR:
                    with pytest.raises(PrivacyError, match="not confirmed"):
                        client_update(state, lambda: read.append(1), streams[a.client], a)
                    continue
                updates.append(client_update(state, silo(), streams[a.client], a))
            if number < VECTOR:
                state = server_step(state, updates)
        assert not heard.ledger.entries
    assert not read
    assert rosters[0] != rosters[1]


def test_fewer_silos_in_a_sum_than_were_named_first_are_refused():
    state, accounts = begin(n_clients=3)
    for _ in range(2):
        updates = [client_update(state, silo(), SecureStream(a.client), a) for a in accounts]
        state = server_step(state, updates)
    # A larger crowd on paper would mean a smaller share of noise from each.
    with pytest.raises(PrivacyError, match="n_clients"):
        client_update(replace(state, n_clients=30), silo(), SecureStream(9), accounts[0])
    assert not accounts[0].ledger.entries


def test_a_ledger_of_another_unit_is_refused():
    state, _ = begin()
    for unit, relation in (("report", "replace_one"), ("word", "replace_one"), ("document", "replace_one")):
        account = Account(0, Ledger(10.0, 1e-5, privacy_unit=unit, neighboring=relation))
        with pytest.raises(PrivacyError, match="protects"):
            client_update(state, silo(), SecureStream(0), account)
        assert not account.ledger.entries


def test_a_server_that_promises_nothing_meets_the_silos_own_budget():
    state, _ = begin(epsilon=np.inf)
    account = Account(0, Ledger(1.0, 1e-6), expected=agreed_terms(state))
    read = []
    with pytest.raises(BudgetExceeded):
        client_update(state, lambda: read.append(1), SecureStream(0), account)
    assert not read


def test_replayed_messages_of_a_sum_give_nothing_twice():
    state, accounts = begin(n_clients=3)
    seen = []
    while not state.finished:
        seen.append(state)
        updates = [client_update(state, silo(a.client), SecureStream(a.client), a) for a in accounts]
        state = server_step(state, updates)
    for old in seen[1:]:
        with pytest.raises(PrivacyError):
            client_update(old, silo(), SecureStream(5), accounts[0])
    with pytest.raises(BudgetExceeded):  # a new sum is over budget
        client_update(seen[0], silo(), SecureStream(7), accounts[0])
    # Were it not: a new first message means new keys, and none of the old messages fit them.
    rich = Account(0, Ledger(10.0, 1e-6), expected=agreed_terms(state))
    client_update(seen[0], silo(), SecureStream(7), rich)
    for old in seen[1:]:
        with pytest.raises(PrivacyError):
            client_update(old, silo(), SecureStream(5), rich)
    assert not rich.ledger.entries
    assert len(accounts[0].ledger.entries) == 1


def test_budget_that_ends_in_the_middle_stops_the_client_and_not_the_round():
    state, accounts = begin(n_clients=3, tolerated=1)
    accounts[2] = Account(2, Ledger(1.5, 1e-6), expected=agreed_terms(state))
    stopped = 0
    while not state.finished:
        updates = []
        for account in accounts:
            try:
                updates.append(
                    client_update(
                        state, silo(account.client), SecureStream(9 * account.client + state.round), account
                    )
                )
            except PrivacyError:  # over budget, or no longer part of the sum
                stopped += 1
                assert account.client == 2
        state = server_step(state, updates)
    assert stopped
    assert not state.refusals
    assert accounts[2].ledger.spent().epsilon <= 1.5
    assert [len(a.ledger.entries) for a in accounts[:2]] == [1] * 2


def test_one_silo_empty_silos_and_silos_without_a_word():
    none, blank = sp.csr_matrix((0, N_WORDS), dtype=np.int32), sp.csr_matrix((50, N_WORDS), dtype=np.int32)
    for parts in ([silo()], [none], [blank], [none, silo(), blank]):
        model = FederatedLDA(2, random_state=0, allow_unlearnable=True, **OPTIONS).fit(parts)
        np.testing.assert_allclose(model.components_.sum(1), 1)
        assert (model.components_ >= 0).all()
        assert [len(ledger.entries) for ledger in model.client_ledgers_] == [1] * len(parts)


def test_silos_that_count_with_different_words_are_refused():
    from discreet.corpus import Corpus
    from discreet.errors import CorpusError

    words = [f"w{i}" for i in range(N_WORDS)]
    one, two = Corpus(silo(), words), Corpus(silo(), words[::-1])
    with pytest.raises(CorpusError, match="different words"):
        FederatedLDA(2, epsilon=2.0).fit([one, two])


def test_the_release_names_the_unit_that_is_kept():
    model = FederatedLDA(2, random_state=0, allow_unlearnable=True, **OPTIONS).fit([silo(0), silo(1)])
    told = model.release_.promise
    assert (told.privacy_unit, told.neighboring) == UNIT
    assert "whole report" not in model.release_.card()


@pytest.mark.parametrize("start", [0, 33, -65, -32])
def test_keys_that_nobody_knows_the_secret_of_cost_their_sender_alone(start):
    """No point, another one, a proof of another commitment, another answer: every honest client would stop at them."""
    state, accounts = begin(n_clients=3, tolerated=1)
    honest = [0, 1]
    while not state.finished:
        updates = [client_update(state, silo(c), SecureStream(c), accounts[c]) for c in honest]
        if state.round == 0:
            sent = client_update(state, silo(2), SecureStream(2), accounts[2])
            values = sent.values.copy()
            values[start : start + 32 or None] ^= np.arange(1, 33, dtype=np.uint8)
            updates.append(sent._replace(values=values))
        state = server_step(state, updates)
    assert [refusal.reason for refusal in state.refusals] == [
        "keys without a proof that it knows their secrets"
    ]


@pytest.mark.parametrize("nonsense", [2**63 - 1, -(2**63), 2**61, -1])
def test_a_silo_that_sends_nonsense_under_its_mask_is_noticed_in_the_sum(nonsense):
    from discreet.errors import CorpusError

    state, accounts = begin(n_clients=3)
    for number in range(MESSAGES):
        updates = [client_update(state, silo(a.client), SecureStream(a.client), a) for a in accounts]
        if number == VECTOR:
            updates[1] = updates[1]._replace(values=np.full_like(updates[1].values, nonsense))
        state = server_step(state, updates)
    assert "nonsense" in state.problem
    with pytest.raises(CorpusError, match="nonsense"):
        fit_state(state)


def test_the_same_bytes_for_any_order_of_answers():
    found = []
    for turned in (False, True):
        state, accounts = begin(n_clients=3)
        while not state.finished:
            updates = [
                client_update(state, silo(a.client), SecureStream(9 * a.client + state.round), a)
                for a in accounts
            ]
            state = server_step(state, updates[::-1] if turned else updates)
        found.append(state.topic_word.tobytes())
    assert found[0] == found[1]
