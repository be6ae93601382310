"""Clients that drop out, lie, repeat themselves or come late: the round ends, the sum and the ledger are right."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.federated import slow_contributions

from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError, ReleaseError
from discreet.federated import (
    Account,
    agreed_terms,
    client_update,
    fit_state,
    init_server,
    load_state,
    save_state,
    server_step,
)
from discreet.federated.federated_lda import make_ledger, make_release
from discreet.federated.rounds import Update
from discreet.federated.state import MESSAGES, VECTOR
from discreet.federated.sum_round import contributions, without_conflicts
from discreet.federated.wire import read_state, read_values, state_bytes, values_bytes
from discreet.privacy import Ledger, SecureStream

N_WORDS = 20
WORDS = [f"w{i}" for i in range(N_WORDS)]


def silo(seed, n=400):
    rng = np.random.default_rng(seed)
    own = np.arange(N_WORDS) // 10 == rng.integers(2, size=(n, 1))
    return sp.csr_matrix((rng.random((n, N_WORDS)) < np.where(own, 0.5, 0.05)).astype(np.int32))


class Party:
    def __init__(self, n_clients=4, **options):
        sizes = {"n_clients": n_clients, "n_topics": 2, "n_words": N_WORDS, "vocabulary": WORDS}
        self.state = init_server(allow_unlearnable=True, **sizes, **options)
        self.silos = [silo(seed) for seed in range(n_clients)]
        terms = agreed_terms(self.state)
        self.accounts = [Account(c, make_ledger(self.state), expected=terms) for c in range(n_clients)]
        self.streams = [SecureStream(client) for client in range(n_clients)]

    def updates(self, clients):
        return [client_update(self.state, self.silos[c], self.streams[c], self.accounts[c]) for c in clients]

    def step(self, updates):
        self.state = server_step(self.state, updates)


SUM = {"epsilon": 2.0, "delta": 1e-6, "tolerated": 1}


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


def test_bad_updates_are_left_out_and_the_result_is_that_of_the_good_ones():
    party, clean = Party(**SUM), Party(**SUM)
    updates = party.updates([0, 1, 3])
    bad = _bad_updates(updates[0])
    party.step([*bad, updates[2], updates[0], updates[0], updates[1]])
    clean.step(clean.updates([0, 1, 3]))
    assert party.state.masks == clean.state.masks
    assert len(party.state.refusals) == len(bad) + 1
    assert party.state.refusals[-1].reason == "a second update"
    assert party.state.traffic[0][1] == 3


@pytest.mark.parametrize("gone_from", range(MESSAGES + 1))
def test_one_silo_may_leave_a_sum_at_any_message(gone_from):
    """The sum is that of the silos whose vectors came, to the last integer (without noise)."""
    party = Party(epsilon=np.inf, delta=1e-6, tolerated=1)
    while not party.state.finished:
        there = [c for c in range(4) if c != 1 or party.state.round < gone_from]
        party.step(party.updates(there))
    counted = range(4) if gone_from > VECTOR else [0, 2, 3]
    expected = sum(contributions(party.silos[c]) for c in counted)
    np.testing.assert_array_equal(party.state.sums.values, expected)
    assert party.state.sums.n_vectors == len(counted)
    assert [len(a.ledger.entries) for a in party.accounts] == [1, int(gone_from > VECTOR), 1, 1]


@pytest.mark.parametrize("message", range(MESSAGES))
def test_garbage_in_a_sum_is_refused_or_survived(message):
    party = Party(epsilon=np.inf, delta=1e-6, tolerated=1)
    gone = False
    while not party.state.finished:
        updates = party.updates([c for c in range(4) if not (gone and c == 1)])
        if party.state.round == message:
            honest = updates[1].values
            updates[1] = Update(1, message, np.full(honest.shape, np.nan))
            gone = True
        party.step(updates)
    counted = range(4) if message > VECTOR else [0, 2, 3]
    np.testing.assert_array_equal(
        party.state.sums.values, sum(contributions(party.silos[c]) for c in counted)
    )
    assert len(party.state.refusals) == 1


@pytest.mark.parametrize("message", [m for m in range(MESSAGES) if m != VECTOR])
def test_one_silos_random_bytes_cost_the_others_nothing(message):
    """Of the right shape, so that nobody sees it at once: the sum of the others comes out, or nobody has paid."""
    party = Party(epsilon=2.0, delta=1e-6, tolerated=1)
    rng = np.random.default_rng(1)
    while not party.state.finished:
        updates = party.updates([c for c in range(4) if c != 1 or party.state.round <= message])
        if party.state.round == message:
            values = rng.integers(0, 256, updates[1].values.shape, dtype=np.uint8)
            updates[1] = updates[1]._replace(values=values)
        party.step(updates)
    assert party.state.sums.n_vectors == (4 if message > VECTOR else 3)
    assert not party.state.problem
    assert [len(a.ledger.entries) for a in party.accounts] == [1, int(message > VECTOR), 1, 1]


def test_a_silo_that_says_all_shares_are_wrong_is_left_out_and_not_the_others():
    party = Party(epsilon=2.0, delta=1e-6, tolerated=1)
    while not party.state.finished:
        there = [c for c in range(4) if c != 1 or party.state.round <= 2]
        updates = party.updates(there)
        if party.state.round == 2:
            updates[1] = updates[1]._replace(values=np.zeros(4, np.uint8))
        party.step(updates)
        if party.state.round == 3:
            assert party.state.masks.members == (0, 2, 3)
    assert party.state.sums.n_vectors == 3


def test_conflicts_are_settled_by_leaving_out_who_has_most():
    everyone = set(range(6))
    assert without_conflicts(dict.fromkeys(everyone, everyone)) == tuple(range(6))
    # One whose shares are wrong for all, one that says so of all: these two go.
    right = {c: everyone - {4} for c in range(6)} | {4: everyone, 5: {5}}
    assert without_conflicts(right) == (0, 1, 2, 3)
    assert without_conflicts({0: {0}, 1: {1}}) == (0,)
    assert without_conflicts({}) == ()
    # Each silo that goes takes a conflict of a liar with it: twice as many as lie, at most.
    rng = np.random.default_rng(0)
    for _ in range(300):
        liars = set(rng.choice(9, rng.integers(0, 4), replace=False).tolist())
        right = {c: set(range(9)) for c in range(9)}
        for liar in liars:
            right[liar] = {int(c) for c in rng.choice(9, 5, replace=False)} | {liar}
            for other in range(9):
                if rng.random() < 0.5 and other != liar:
                    right[other].discard(liar)
        left = without_conflicts(right)
        assert all(other in right[silo] for silo in left for other in left)
        assert len(set(range(9)) - liars - set(left)) <= len(liars)


def test_who_cannot_pay_says_so_before_the_others_pay():
    party = Party(epsilon=2.0, delta=1e-6)
    terms = agreed_terms(party.state)
    party.accounts[3] = Account(3, Ledger(1.0, 1e-6), expected=terms)
    updates = party.updates(range(3))
    with pytest.raises(BudgetExceeded):
        party.updates([3])
    with pytest.raises(PrivacyError, match="nothing is booked"):
        party.step(updates)
    assert not any(account.ledger.entries for account in party.accounts)


def test_a_silo_that_counts_other_words_is_found_before_anything_is_booked():
    party = Party(**SUM)
    party.silos[1] = party.silos[1][:, :-1]
    party.updates([0])
    with pytest.raises(CorpusError, match="counts 19 words"):
        party.updates([1])
    assert not party.accounts[1].ledger.entries


def test_what_was_paid_for_is_kept_where_nothing_can_be_learned(tmp_path):
    party = Party(**{**SUM, "epsilon": 0.5})
    party.state = replace(party.state, allow_unlearnable=False)
    party.silos = [silo[:5] for silo in party.silos]
    kept = []
    while not party.state.finished:
        party.state = server_step(party.state, party.updates(range(4)), keep=kept.append)
    assert "nothing to learn" in party.state.problem
    assert len(kept) == 1
    assert kept[0].sums is party.state.sums
    with pytest.raises(ParameterError, match="nothing to learn"):
        fit_state(party.state)
    save_state(kept[0], tmp_path / "sums.npz")
    again = load_state(tmp_path / "sums.npz")
    np.testing.assert_array_equal(again.sums.values, party.state.sums.values)
    fitted = fit_state(again, allow_unlearnable=True, n_topics=3)
    assert fitted.topic_word.shape == (3, N_WORDS)
    assert not fitted.problem
    with pytest.raises(ParameterError, match="no topics to release"):
        make_release(party.state, [a.ledger for a in party.accounts], WORDS, reproducible=True)


def test_saved_sums_give_the_same_topics_and_damaged_files_are_refused(tmp_path):
    party = Party(**SUM)
    with pytest.raises(ReleaseError, match="is not done"):
        save_state(party.state, tmp_path / "early")
    while not party.state.finished:
        party.step(party.updates(range(4)))
    save_state(party.state, tmp_path / "sums")
    assert (tmp_path / "sums").stat().st_mode & 0o077 == 0
    again = fit_state(load_state(tmp_path / "sums"), allow_unlearnable=True)
    np.testing.assert_array_equal(again.topic_word, party.state.topic_word)
    assert again.traffic == party.state.traffic
    content = (tmp_path / "sums").read_bytes()
    for bad in (b"", content[:-30], content[: len(content) // 2] + b"damage" + content[len(content) // 2 :]):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(ReleaseError, match="save_state"):
            load_state(tmp_path / "bad")


def test_too_few_silos_leave_the_sum_hidden_and_booked():
    party = Party(epsilon=1.0, delta=1e-6, tolerated=1)
    for _ in range(VECTOR):
        party.step(party.updates(range(4)))
    late = party.updates(range(4))
    with pytest.raises(PrivacyError, match="stays hidden"):
        party.step(late[:2])
    assert all(len(account.ledger.entries) == 1 for account in party.accounts)
    with pytest.raises(PrivacyError, match="second list"):
        party.updates([0])
    party.step(late)  # the state before stands: what came late is not lost
    assert party.state.round == VECTOR + 1


def test_contributions_equal_the_naive_ones_and_keep_the_norm():
    corpus = sp.vstack([silo(5, 50), sp.csr_matrix((1, N_WORDS), dtype=np.int32)]).tocsr()
    found = contributions(corpus)
    np.testing.assert_array_equal(found, slow_contributions(corpus.toarray()))
    for row in range(corpus.shape[0]):
        one = contributions(corpus[row])
        for part in (one[1 : 1 + N_WORDS], one[1 + N_WORDS :]):
            assert int((part.astype(object) ** 2).sum()) <= 4**18


def test_an_unfinished_state_gives_no_release():
    party = Party(**SUM)
    with pytest.raises(ParameterError, match="not done"):
        make_release(party.state, [a.ledger for a in party.accounts], ["a"] * N_WORDS, reproducible=True)


def test_nothing_is_read_before_it_is_booked():
    party = Party(**SUM)
    while party.state.round < VECTOR:
        party.step(party.updates(range(4)))
    booked = []

    def corpus():
        booked.append(len(party.accounts[0].ledger.entries))
        return party.silos[0]

    client_update(party.state, corpus, party.streams[0], party.accounts[0])
    with pytest.raises(PrivacyError):
        client_update(party.state, corpus, party.streams[0], party.accounts[0])
    assert booked == [1]


def test_rounds_over_the_wire_with_accounts_written_down_between_messages():
    from discreet.federated.wire import (
        account_json,
        read_account,
        read_state,
        read_values,
        state_bytes,
        values_bytes,
    )

    party = Party(epsilon=np.inf, delta=1e-6, tolerated=1)
    while not party.state.finished:
        updates = []
        for c in range(4):
            account = read_account(
                account_json(party.accounts[c]), party.accounts[c].ledger, expected=agreed_terms(party.state)
            )
            view = read_state(state_bytes(party.state, c))
            update = client_update(view, party.silos[c], party.streams[c], account)
            updates.append(update._replace(values=read_values(values_bytes(update.values))))
            party.accounts[c] = account
        party.step(updates)
    assert not party.state.refusals
    assert [len(a.ledger.entries) for a in party.accounts] == [1] * 4
    np.testing.assert_array_equal(party.state.sums.values, sum(contributions(s) for s in party.silos))


def test_bytes_of_strangers_are_no_update():
    import io

    from discreet.federated.wire import read_values

    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    for content in (b"", b"x" * 100, pickled.getvalue(), None, 3, b"\x93NUMPY\x01\x00"):
        assert read_values(content) is None


def test_sizes_of_messages_tell_what_the_page_says():
    """A sum's messages have one size, however many documents a silo has."""
    few, many = silo(0, 3), silo(1, 3000)
    party = Party(n_clients=2, **{**SUM, "tolerated": 0})
    party.silos = [few, many]
    while not party.state.finished:
        updates = party.updates(range(2))
        assert updates[0].values.nbytes == updates[1].values.nbytes
        assert updates[0].values.dtype == updates[1].values.dtype
        party.step(updates)


def _npy(header, body=b""):
    text = repr(header).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


HOSTILE = [
    _npy({"descr": "<i8", "fortran_order": False, "shape": (10**13,)}),
    _npy({"descr": "<i8", "fortran_order": False, "shape": (2**62, 4)}),
    _npy({"descr": "<i8", "fortran_order": False, "shape": (2,)}, bytes(15)),
    _npy({"descr": "<i8", "fortran_order": False, "shape": (2,)}, bytes(17)),
    _npy({"descr": "<i8", "fortran_order": False, "shape": (-1,)}, bytes(8)),
    _npy({"descr": "|O", "fortran_order": False, "shape": (1,)}, bytes(8)),
    _npy({"descr": "<U2", "fortran_order": False, "shape": (1,)}, bytes(8)),
    _npy({"descr": "<M8[s]", "fortran_order": False, "shape": (1,)}, bytes(8)),
    _npy({"descr": "<i8", "fortran_order": True, "shape": (1, 1)}, bytes(8)),
    _npy({"descr": "<i8", "fortran_order": False}),
    _npy("nonsense"),
    b"\x93NUMPY\x03\x00" + bytes(200),
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_arrays_that_claim_what_they_do_not_hold_are_no_update(content):
    assert read_values(content) is None


@pytest.mark.parametrize(
    "change",
    [
        {"n_clients": 2.5},
        {"n_clients": True},
        {"tolerated": -5},
        {"n_words": 0},
        {"epsilon": "2"},
        {"epsilon": -1.0},
        {"delta": 0.0},
        {"silos_see_result": 1},
        {"statistic": "sum"},
        {"n_rounds": 4},
        {"vocabulary": 7},
        {"round": -1},
        {"round": 99},
        {"shown": {"content": {"0": "xyz"}, "silos": []}},
        {"shown": {"content": {}, "silos": ["a"]}},
        {"shown": None},
    ],
)
def test_a_servers_message_with_settings_that_cannot_be_is_refused(change):
    """-5 tolerated silos, say, would have made each silo's noise smaller."""
    good = state_bytes(Party(**SUM).state, 0)
    with zipfile.ZipFile(io.BytesIO(good)) as parts:
        header = json.loads(parts.read("header.json"))
        topics = parts.read("topics.npy")
    assert read_state(_packed(header, topics)).n_clients == 4
    with pytest.raises(CorpusError, match=r"server"):
        read_state(_packed({**header, **change}, topics))


def _packed(header, topics, how=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as parts:
        parts.writestr("header.json", json.dumps(header))
        parts.writestr("topics.npy", topics)
    return file.getvalue()


def test_packed_archives_and_topics_that_are_none_are_refused():
    state = Party(**SUM).state
    with zipfile.ZipFile(io.BytesIO(state_bytes(state, 0))) as parts:
        header = json.loads(parts.read("header.json"))
    good = values_bytes(state.topic_word)
    assert read_state(_packed(header, good)).topic_word.shape == (2, N_WORDS)
    for bad in (-state.topic_word, state.topic_word * np.nan, state.topic_word[:1]):
        with pytest.raises(CorpusError, match="cannot be read"):
            read_state(_packed(header, values_bytes(bad)))
    with pytest.raises(CorpusError, match="cannot be read"):
        read_state(_packed(header, good, zipfile.ZIP_DEFLATED))
    for bad in (b"", b"PK", good):
        with pytest.raises(CorpusError, match="cannot be read"):
            read_state(bad)
