"""Silos that announce points made of others' points, and silos that are asked to be several: what comes of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.federated import slow_agreed_key, slow_own_key

from discreet.errors import PrivacyError
from discreet.federated import Account, client_update, init_server, server_step, sum_round
from discreet.federated.account import vocabulary_digest
from discreet.federated.masks import masker as masker_module
from discreet.federated.masks.keys import (
    ORDER,
    POINT_BYTES,
    add,
    is_proved_hello,
    join,
    multiple,
    point_of,
    read_hello,
    write_hello,
    write_point,
)
from discreet.federated.masks.masker import Masker, agreed_key, expand, own_key, pair_key, roster_digest
from discreet.federated.rounds import Update
from discreet.federated.silo import Silo
from discreet.federated.state import agreed_terms
from discreet.federated.wire import account_json, read_account, read_values, state_bytes
from discreet.privacy import Ledger, SecureStream

TERMS = b"what was agreed"


def masker(client, threshold, kind=Masker):
    return kind(client, threshold, SecureStream(client), terms=TERMS, ledger=10**6 + client)


def basis(nodes, k):
    """Coefficients of the polynomial that is 1 at node k and 0 at the others, modulo the order."""
    found, below = [1], 1
    for j, x in enumerate(nodes):
        if j != k:
            found = [(a - x * b) % ORDER for a, b in zip([0, *found], [*found, 0], strict=True)]
            below = below * (nodes[k] - x) % ORDER
    return [c * pow(below, -1, ORDER) % ORDER for c in found]


class Liar(Masker):
    """Announces a point that it does not know the secret of, with shares for `honest` that pass Feldman's check."""

    def announce(self, point, honest):
        assert len(honest) == self.threshold - 1
        self.dealt = {i: 10_000 + 17 * i for i in honest}
        nodes = [0, *(i + 1 for i in honest)]
        points = []
        for power in range(self.threshold):
            total = multiple(point, basis(nodes, 0)[power])
            for k, i in enumerate(honest, 1):
                total = add(total, multiple(point_of(self.dealt[i]), basis(nodes, k)[power]))
            points.append(total)
        assert points[0] == point
        body = self._announced
        forged = b"".join(write_point(p) for p in points)
        self._announced = body[:POINT_BYTES] + forged + body[POINT_BYTES + len(forged) :]

    def _shares_of(self, other):
        mine = super()._shares_of(other)
        return (self.dealt[other].to_bytes(32), mine[1]) if other in self.dealt else mine


def with_liar(n, threshold, made_of):
    """Silo 0 lies; `made_of(points)` is the point it announces, of the honest ones' by number."""
    silos = {i: masker(i, threshold, Liar if i == 0 else Masker) for i in range(n)}
    hellos = {i: silo.hello() for i, silo in silos.items()}
    points = {i: read_hello(hellos[i], threshold).mask[0] for i in range(1, n)}
    honest = sorted(range(1, n), reverse=True)[: threshold - 1]
    silos[0].announce(made_of(points), honest)
    hellos[0] = silos[0].hello()
    return silos, hellos, honest


MADE = {
    "a copy of the last one's point": lambda points: points[max(points)],
    "its negative": lambda points: multiple(points[max(points)], ORDER - 1),
    "a sum of two": lambda points: add(points[1], points[2]),
    "twice another": lambda points: multiple(points[1], 2),
    "another less one's own": lambda points: add(points[1], point_of(5)),
}


@pytest.mark.parametrize("made", MADE)
def test_a_point_made_of_others_points_is_refused_by_everyone(made):
    silos, hellos, honest = with_liar(4, 3, MADE[made])
    for i in honest:
        with pytest.raises(PrivacyError, match="silo 0 does not prove"):
            silos[i].share_out(hellos)
    assert not is_proved_hello(hellos[0], 3, TERMS, 0)


def attacked(n, threshold, made_of):
    """Go through all messages with the liar's point; return what the server and it can read, and what is true.

    Each silo between the liar's number and the copied one's would add and take away one mask, if keys hung on points.
    """
    silos, hellos, honest = with_liar(n, threshold, made_of)
    members = [0, *sorted(honest)]
    boxes = {i: silo.share_out(hellos) for i, silo in silos.items()}
    for i, silo in silos.items():
        silo.check({dealer: box[i] for dealer, box in boxes.items() if i in box})
    for i in honest:
        silos[i].go_on_with(members)
    vectors = {i: np.array([1000 * i + 7, -i], np.int64) for i in honest}
    sent = {i: silos[i].mask(vectors[i]) for i in honest}
    silos[0]._members, silos[0]._step = tuple(members), "vector"
    told = {i: silos[i].vouch(members) for i in members}
    shares = {
        i: silos[i].reveal({o: voucher[i] for o, voucher in told.items() if i in voucher}) for i in members
    }
    some = [i for i in honest if i != max(honest)]
    total = np.zeros(2, np.uint64)
    for i in some:
        secret = join({giver: given[i] for giver, given in shares.items()}, threshold)
        total += sent[i].view(np.uint64) - expand(own_key(secret, i, roster_digest(TERMS, hellos)), 2)
    return total.view(np.int64), sum(vectors[i] for i in some)


@pytest.mark.parametrize("sign", [1, ORDER - 1])
@pytest.mark.parametrize(("n", "threshold"), [(3, 3), (5, 5), (5, 4)])
def test_a_copied_point_takes_no_mask_off_even_where_nobody_asks_for_proofs(n, threshold, sign, monkeypatch):
    monkeypatch.setattr(masker_module.keys, "fault_of", lambda *_: None)
    found, true = attacked(n, threshold, lambda points: multiple(points[max(points)], sign))
    assert (found != true).all()


def test_the_attack_is_the_one_that_worked(monkeypatch):
    """With keys that hang on points only, as they once did, the sum of fewer silos lies open."""
    from discreet.federated.masks.keys import exchange

    monkeypatch.setattr(masker_module.keys, "fault_of", lambda *_: None)
    monkeypatch.setattr(
        masker_module, "pair_key", lambda secret, mine, theirs, roster: exchange(secret, theirs[1])
    )
    for n, threshold in ((3, 3), (5, 4)):
        found, true = attacked(n, threshold, lambda points: points[max(points)])
        np.testing.assert_array_equal(found, true)


def test_keys_are_the_twins_and_hang_on_numbers_points_purpose_and_roster():
    one, other = (3, point_of(111)), (258, point_of(222))
    roster = bytes(range(32))
    for purpose in ("mask", "shares 3 to 258"):
        expected = slow_agreed_key(111, one, other, purpose, roster)
        assert agreed_key(111, one, other, purpose, roster) == expected
        assert agreed_key(222, other, one, purpose, roster) == expected
    assert pair_key(111, one, other, roster) == agreed_key(111, one, other, "mask", roster)
    negative = (258, point_of(ORDER - 222))
    changed = {
        agreed_key(111, one, other, "mask", roster),
        agreed_key(111, (4, one[1]), other, "mask", roster),
        agreed_key(111, one, (259, other[1]), "mask", roster),
        agreed_key(111, one, negative, "mask", roster),
        agreed_key(111, one, other, "masks", roster),
        agreed_key(111, one, other, "mask", roster[::-1]),
    }
    assert len(changed) == 6
    for silo in (0, 1, 65_535):
        assert own_key(99, silo, roster) == slow_own_key(99, silo, roster)


def test_a_first_message_of_another_silo_another_number_or_another_sum_is_refused():
    silos = {i: masker(i, 2) for i in range(3)}
    hellos = {i: silo.hello() for i, silo in silos.items()}
    other_terms = Masker(2, 2, SecureStream(2), terms=b"of another sum", ledger=9).hello()
    for wrong in (hellos[1], masker(1, 2).hello(), other_terms, masker(3, 2).hello()):
        with pytest.raises(PrivacyError, match="silo 2 does not prove"):
            masker(0, 2).share_out({**hellos, 2: wrong})


def test_nobody_takes_part_in_the_name_of_anothers_ledger():
    """Its point is seen in an earlier sum under the same terms: claimed again, it would push out whose it is."""
    honest, liar = masker(1, 2), masker(2, 2)
    content, width = liar.hello(), 2 * POINT_BYTES * 3
    body = content[: width - POINT_BYTES] + honest.hello()[width - POINT_BYTES : width]
    for proofs in (content[width:], content[width:-65] + honest.hello()[-65:]):
        claimed = body + proofs
        assert read_hello(claimed, 2).ledger == read_hello(honest.hello(), 2).ledger
        assert not is_proved_hello(claimed, 2, TERMS, 2)


def test_whoever_knows_one_secret_takes_part_once():
    """Two numbers with one secret, each proved: whether by one silo or two in league."""
    silos = {i: masker(i, 2) for i in range(3)}
    hellos = {i: silo.hello() for i, silo in silos.items()}
    twin = silos[2]
    for mask in (silos[1]._mask, [ORDER - silos[1]._mask[0], 5]):
        content = write_hello(TERMS, 2, twin._channel, mask, twin._own, 424242, SecureStream(9))
        with pytest.raises(PrivacyError, match="silos 1, 2 book on one ledger or have one key"):
            masker(0, 2).share_out({**hellos, 2: content})


# One silo, several numbers.
WORDS = [f"w{i}" for i in range(6)]
TASK = {"n_clients": 5, "tolerated": 0, "n_words": 6, "epsilon": 2.0, "delta": 1e-6}
TASK["vocabulary"] = vocabulary_digest(WORDS)


def counts(seed=0):
    return sp.csr_matrix((np.random.default_rng(seed).random((50, 6)) < 0.5).astype(np.int32))


def begin(n=5):
    sizes = {"n_clients": n, "n_topics": 2, "n_words": 6, "vocabulary": WORDS}
    return init_server(epsilon=2.0, delta=1e-6, allow_unlearnable=True, **sizes)


def ask(silo, state, client, run):
    answer = silo.answer({"state": state_bytes(state, client), "client": client}, run)
    return Update(client, answer["round"], read_values(answer["values"]))


@pytest.mark.parametrize("files", [False, True])
def test_a_silo_cannot_be_made_several_of_one_sum(files, tmp_path):
    """A server asks one silo to be four of five, in four runs: its documents would count four times, booked once each.

    With `files`, each run is answered by a process of its own that opened the ledger by itself.
    """
    how = {"path": tmp_path / "ledger.json"} if files else {}
    ledger = Ledger(12.0, 1e-6, **how)
    opened = [Ledger.open(ledger.path) if files else ledger for _ in range(4)]
    asked = [Silo(counts(), opened[c], [TASK]) for c in range(4)]
    asked.append(Silo(counts(1), Ledger(12.0, 1e-6), [TASK]))
    state = begin()
    sent = [ask(silo, state, c, f"run {c}") for c, silo in enumerate(asked)]
    with pytest.raises(
        PrivacyError, match="silos 0, 1, 2, 3 book on one ledger"
    ):  # a server that follows the protocol
        server_step(state, sent)
    hellos = {update.client: update.values.tobytes() for update in sent}
    lying = server_step(
        begin(), [ask(Silo(counts(c), Ledger(12.0, 1e-6), [TASK]), begin(), c, "x") for c in range(5)]
    )
    state = lying.__class__(**{**vars(lying), "masks": sum_round.Sum(hellos, {}, (), {}, {})})
    for c, silo in enumerate(asked):
        with pytest.raises(PrivacyError, match="silos 0, 1, 2, 3 book on one ledger"):
            ask(silo, state, c, f"run {c}")
    assert not ledger.entries


def test_names_of_ledgers_differ_between_ledgers_and_terms_and_are_not_their_identity():
    one, two = Ledger(1.0, 1e-6), Ledger(1.0, 1e-6)
    names = {
        Account(0, ledger).ledger_secret(terms) for ledger in (one, two) for terms in (b"these", b"those")
    }
    assert len(names) == 4
    assert Account(3, one).ledger_secret(b"these") in names
    assert all(0 < name < ORDER for name in names)
    assert int(one.identity, 16) not in names


def test_one_roster_is_booked_once_whoever_restores_what_was_written():
    """Two processes go on from one silo's storage: two vectors under the same masks would lay their difference open."""
    state = begin(3)
    ledgers = [Ledger(12.0, 1e-6) for _ in range(3)]
    accounts = [Account(c, ledger, expected=agreed_terms(state)) for c, ledger in enumerate(ledgers)]
    while state.round < sum_round.VECTOR:
        state = server_step(state, [client_update(state, counts(), SecureStream(None), a) for a in accounts])
    again = read_account(account_json(accounts[0]), accounts[0].ledger, expected=agreed_terms(state))
    client_update(state, counts(), SecureStream(None), accounts[0])
    read = []
    with pytest.raises(PrivacyError, match="booked on this ledger already"):
        client_update(state, lambda: read.append(1), SecureStream(None), again)
    assert not read
    assert len(ledgers[0].entries) == 1
    assert accounts[0].masker.roster in ledgers[0].entries[0].purpose
