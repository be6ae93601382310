"""Clients that drop out, lie, repeat themselves or come late: the round ends, the sum and the ledger are right."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.federated import slow_contributions

from discreet.errors import PrivacyError
from discreet.federated import Account, Update, client_update, init_server, server_step
from discreet.federated.federated_lda import make_ledger, make_release
from discreet.federated.sum_round import contributions
from discreet.privacy import SecureStream

N_WORDS = 20


def silo(seed, n=400):
    rng = np.random.default_rng(seed)
    own = np.arange(N_WORDS) // 10 == rng.integers(2, size=(n, 1))
    return sp.csr_matrix((rng.random((n, N_WORDS)) < np.where(own, 0.5, 0.05)).astype(np.int32))


class Party:
    def __init__(self, mechanism, n_clients=4, **options):
        self.state = init_server(
            mechanism, n_clients=n_clients, n_topics=2, n_words=N_WORDS, allow_unlearnable=True, **options
        )
        self.silos = [silo(seed) for seed in range(n_clients)]
        self.accounts = [Account(client, make_ledger(self.state)) for client in range(n_clients)]
        self.streams = [SecureStream(client) for client in range(n_clients)]

    def updates(self, clients):
        return [client_update(self.state, self.silos[c], self.streams[c], self.accounts[c]) for c in clients]

    def step(self, updates):
        self.state = server_step(self.state, updates)


PAIRS = {"n_rounds": 2, "epsilon": 20.0}
BITS = {"n_rounds": 1, "epsilon": 5.0, "density": 0.2}


def _bad_updates(good):
    values = good.values
    return [
        None,
        "an update",
        Update(99, good.round, values),
        Update(-1, good.round, values),
        Update("2", good.round, values),
        Update(True, good.round, values),
        Update(2, good.round + 1, values),
        Update(2, good.round - 1, values),
        Update(2, np.array([good.round, good.round]), values),
        Update(2, "0", values),
        Update(2, good.round, None),
        Update(2, good.round, values.astype(float)),
        Update(2, good.round, np.full(values.shape, np.nan)),
        Update(2, good.round, np.array([object()])),
        Update(2, good.round, np.concatenate([values, values[..., :1]], axis=-1)[None]),
    ]


@pytest.mark.parametrize(("mechanism", "options"), [("rrp", PAIRS), ("bits", BITS)])
def test_bad_updates_are_left_out_and_the_result_is_that_of_the_good_ones(mechanism, options):
    party, clean = Party(mechanism, **options), Party(mechanism, **options)
    updates = party.updates([0, 1, 3])
    bad = _bad_updates(updates[0])
    party.step([*bad, updates[2], updates[0], updates[0], updates[1]])
    clean.step(clean.updates([0, 1, 3]))
    np.testing.assert_array_equal(party.state.topic_word, clean.state.topic_word)
    assert len(party.state.refusals) == len(bad) + 1
    assert party.state.refusals[-1].reason == "a second update"
    assert party.state.traffic[0][1] == 3
    assert [len(a.ledger.entries) for a in party.accounts] == [1, 1, 0, 1]


def test_cells_and_reports_beyond_the_rules_are_refused():
    party = Party("rrp", most_reports=5000, **PAIRS)
    good = party.updates([0])[0]
    million = np.zeros(1_000_000, np.int64)
    for values in (million, np.array([2 * N_WORDS + 1]), np.array([-1]), good.values[None]):
        state = server_step(party.state, [good, Update(1, 0, values)])
        assert len(state.refusals) == 1
        assert state.traffic == ((good.values.nbytes, 1),)
    bits = Party("bits", most_reports=1000, **BITS)
    for values in (np.zeros((1001, 3), np.uint8), np.full((1, 3), 255, np.uint8), np.zeros((2, 4), np.uint8)):
        assert len(server_step(bits.state, [*bits.updates([0])[:1], Update(1, 0, values)]).refusals) == 1
        bits = Party("bits", most_reports=1000, **BITS)


def test_a_late_client_is_left_out_and_pays_for_what_it_sent():
    party = Party("rrp", **PAIRS)
    late = party.updates([3])[0]
    party.step(party.updates([0, 1]))
    party.step([late, *party.updates([0, 1, 3])])
    assert [refusal.reason for refusal in party.state.refusals] == ["for another round"]
    assert party.state.finished
    # Both of its rounds reported different tokens: one booking covers them.
    assert [len(a.rounds) for a in party.accounts] == [2, 2, 0, 2]
    assert [len(a.ledger.entries) for a in party.accounts] == [1, 1, 0, 1]


def test_a_round_in_which_nobody_came_changes_nothing():
    party = Party("rrp", **PAIRS)
    before = party.state.topic_word
    party.step([])
    np.testing.assert_array_equal(party.state.topic_word, before)
    assert party.state.round == 1


@pytest.mark.parametrize("gone_from", [0, 1, 2, 3, 4])
def test_one_silo_may_leave_a_sum_at_any_message(gone_from):
    """The sum is that of the silos whose vectors came, to the last integer (without noise)."""
    party = Party("aggregate", n_rounds=1, epsilon=np.inf, delta=1e-6, tolerated=1)
    while not party.state.finished:
        there = [c for c in range(4) if c != 1 or party.state.round < gone_from]
        party.step(party.updates(there))
    counted = range(4) if gone_from >= 3 else [0, 2, 3]
    expected = sum(contributions(party.silos[c]) for c in counted)
    np.testing.assert_array_equal(party.state.sums["total"], expected)
    assert [len(a.ledger.entries) for a in party.accounts] == [1, int(gone_from >= 3), 1, 1]


@pytest.mark.parametrize("message", [0, 1, 2, 3])
def test_garbage_in_a_sum_is_refused_or_survived(message):
    party = Party("aggregate", n_rounds=1, epsilon=np.inf, delta=1e-6, tolerated=1)
    gone = False
    while not party.state.finished:
        updates = party.updates([c for c in range(4) if not (gone and c == 1)])
        if party.state.round == message:
            honest = updates[1].values
            updates[1] = Update(1, message, np.full(honest.shape, np.nan))
            gone = True
        party.step(updates)
    counted = range(4) if message == 3 else [0, 2, 3]
    np.testing.assert_array_equal(
        party.state.sums["total"], sum(contributions(party.silos[c]) for c in counted)
    )
    assert len(party.state.refusals) == 1


def test_wrong_shares_are_noticed_and_left_out():
    party = Party("aggregate", n_rounds=1, epsilon=np.inf, delta=1e-6, tolerated=1)
    while not party.state.finished:
        updates = party.updates(range(4))
        if party.state.round == 3:
            wrong = updates[0].values.copy()
            wrong[:, 1:40] ^= 7
            updates[0] = updates[0]._replace(values=wrong)
        party.step(updates)
    np.testing.assert_array_equal(party.state.sums["total"], sum(contributions(s) for s in party.silos))


def test_too_few_silos_leave_the_sum_hidden_and_booked():
    party = Party("aggregate", n_rounds=1, epsilon=1.0, delta=1e-6, tolerated=1)
    for clients in (range(4), range(4)):
        party.step(party.updates(clients))
    late = party.updates(range(4))
    with pytest.raises(PrivacyError, match="stays hidden"):
        party.step(late[:2])
    assert all(len(account.ledger.entries) == 1 for account in party.accounts)
    with pytest.raises(PrivacyError, match="budget"):
        party.updates([0])


def test_contributions_equal_the_naive_ones_and_keep_the_norm():
    corpus = sp.vstack([silo(5, 50), sp.csr_matrix((1, N_WORDS), dtype=np.int32)]).tocsr()
    found = contributions(corpus)
    np.testing.assert_array_equal(found, slow_contributions(corpus.toarray()))
    for row in range(corpus.shape[0]):
        one = contributions(corpus[row])
        for part in (one[1 : 1 + N_WORDS], one[1 + N_WORDS :]):
            assert int((part.astype(object) ** 2).sum()) <= 4**18


def test_an_unfinished_state_gives_no_release():
    from discreet.errors import ParameterError

    party = Party("rrp", **PAIRS)
    with pytest.raises(ParameterError, match="not done"):
        make_release(party.state, [a.ledger for a in party.accounts], ["a"] * N_WORDS, reproducible=True)


@pytest.mark.parametrize("mechanism", ["rrp", "bits"])
def test_nothing_is_read_before_it_is_booked(mechanism):
    from discreet.errors import BudgetExceeded

    options = PAIRS if mechanism == "rrp" else BITS
    party = Party(mechanism, **options)
    booked = []

    def corpus():
        booked.append(len(party.accounts[0].ledger.entries))
        return party.silos[0]

    client_update(party.state, corpus, party.streams[0], party.accounts[0])
    with pytest.raises(BudgetExceeded):
        client_update(party.state, corpus, party.streams[0], party.accounts[0])
    assert booked == [1]


@pytest.mark.parametrize("mechanism", ["rrp", "bits", "aggregate"])
def test_rounds_over_the_wire_with_accounts_written_down_between_messages(mechanism):
    from discreet.federated.wire import (
        account_json,
        read_account,
        read_state,
        read_values,
        state_bytes,
        values_bytes,
    )

    more = {"n_rounds": 1, "epsilon": np.inf, "delta": 1e-6, "tolerated": 1}
    party = Party(mechanism, **{"rrp": PAIRS, "bits": BITS, "aggregate": more}[mechanism])
    while not party.state.finished:
        updates = []
        for c in range(4):
            account = read_account(account_json(party.accounts[c]), None)
            view = read_state(state_bytes(party.state, c), c)
            update = client_update(view, party.silos[c], party.streams[c], account)
            updates.append(update._replace(values=read_values(values_bytes(update.values))))
            party.accounts[c] = account
        party.step(updates)
    assert not party.state.refusals
    assert [len(a.ledger.entries) for a in party.accounts] == [1] * 4
    if mechanism == "aggregate":
        np.testing.assert_array_equal(party.state.sums["total"], sum(contributions(s) for s in party.silos))


def test_bytes_of_strangers_are_no_update():
    import io

    from discreet.federated.wire import read_values

    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    for content in (b"", b"x" * 100, pickled.getvalue(), None, 3, b"\x93NUMPY\x01\x00"):
        assert read_values(content) is None
