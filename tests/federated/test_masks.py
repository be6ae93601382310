"""Secure aggregation: sums are right whoever drops out, and parts stay hidden, also from a server that lies."""

import itertools

import numpy as np
import pytest
from tests.marks import quick

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.masks.keys import join, read_hello
from discreet.federated.masks.masker import Masker, expand, own_key, pair_key, unmask
from discreet.privacy import SecureStream

TERMS = b"what was agreed"


def masker(client, threshold, seed, terms=TERMS):
    return Masker(client, threshold, SecureStream(seed), terms=terms, ledger=10**6 + seed)


class Party:
    """Silos and a server that follow the protocol, message by message; a test changes what it wants to."""

    def __init__(self, n, threshold):
        self.threshold = threshold
        self.silos = {c: masker(c, threshold, c) for c in range(n)}
        self.hellos = {c: silo.hello() for c, silo in self.silos.items()}

    def share(self, lost=(), **how):
        self.boxes = {
            c: silo.share_out(self.hellos, **how) for c, silo in self.silos.items() if c not in lost
        }
        return self

    def for_silo(self, silo):
        return {dealer: boxes[silo] for dealer, boxes in self.boxes.items() if silo in boxes}

    def check(self):
        self.right = {c: self.silos[c].check(self.for_silo(c)) for c in self.boxes}
        self.members = sorted(self.boxes)
        for c in self.members:
            self.silos[c].go_on_with(self.members)
        return self

    def send(self, vectors, lost=()):
        self.vectors = {c: self.silos[c].mask(vectors[c]) for c in self.members if c not in lost}
        return self

    def vouch(self, lost=()):
        self.vouchers = {c: self.silos[c].vouch(self.vectors) for c in self.vectors if c not in lost}
        return self

    def reveal(self, lost=()):
        self.shares = {
            c: self.silos[c].reveal({o: told[c] for o, told in self.vouchers.items() if c in told})
            for c in self.vouchers
            if c not in lost
        }
        return self

    def total(self):
        return unmask(TERMS, self.hellos, self.members, self.vectors, self.shares, self.threshold)


def _vectors(n, size=50):
    rng = np.random.default_rng(3)
    return [rng.integers(-(2**50), 2**50, size) for _ in range(n)]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_sum_is_exact(n):
    vectors = _vectors(n)
    party = Party(n, n // 2 + 1).share().check().send(vectors).vouch().reveal()
    np.testing.assert_array_equal(party.total(), sum(vectors))
    assert all((party.vectors[c] != vectors[c]).all() for c in range(n))


@pytest.mark.parametrize("stage", quick(["share", "send", "vouch", "reveal"], "send", "reveal"))
def test_any_two_of_five_may_drop_out_at_any_stage(stage):
    vectors = _vectors(5, 10)
    for lost in itertools.chain(itertools.combinations(range(5), 1), itertools.combinations(range(5), 2)):
        gone = {name: lost if name == stage else () for name in ("share", "send", "vouch", "reveal")}
        party = Party(5, 3).share(gone["share"]).check().send(vectors, gone["send"])
        party.vouch(gone["vouch"]).reveal(gone["reveal"])
        there = range(5) if stage in ("vouch", "reveal") else [c for c in range(5) if c not in lost]
        np.testing.assert_array_equal(party.total(), sum(vectors[c] for c in there))


def test_too_many_drop_outs_leave_the_sum_hidden():
    party = Party(5, 4).share().check().send(_vectors(5), (0, 1))
    with pytest.raises(PrivacyError, match="4 are needed"):
        party.vouch()
    party = Party(5, 4).share().check().send(_vectors(5)).vouch((0, 1))
    with pytest.raises(PrivacyError, match="stays hidden"):
        party.reveal()
    party = Party(5, 4).share().check().send(_vectors(5)).vouch().reveal((0, 1))
    with pytest.raises(PrivacyError, match="4 shares are needed"):
        party.total()


def test_two_silos_one_of_which_may_leave():
    """Each brings all the noise, so that a threshold of one uncovers nothing that was promised to stay hidden."""
    vectors = _vectors(2)
    with pytest.raises(ParameterError, match="threshold"):
        Party(2, 1).share()
    party = Party(2, 1).share(noise_in_each=True).check().send(vectors, (0,)).vouch().reveal()
    np.testing.assert_array_equal(party.total(), vectors[1])


def test_forgetting_a_drop_outs_masks_gives_a_wrong_sum():
    vectors = _vectors(4)
    party = Party(4, 3).share().check().send(vectors, (2,)).vouch().reveal()
    np.testing.assert_array_equal(party.total(), vectors[0] + vectors[1] + vectors[3])
    party.members = [0, 1, 3]
    assert (party.total() != vectors[0] + vectors[1] + vectors[3]).all()


def test_masked_values_look_uniform():
    party = Party(2, 2).share().check().send([np.zeros(20_000, np.int64)] * 2)
    top = np.bincount((party.vectors[0].view(np.uint64) >> np.uint64(60)).astype(int), minlength=16)
    assert ((top - 1250) ** 2 / 1250).sum() < 45


def test_each_message_is_given_once_and_in_order():
    party = Party(3, 2)
    with pytest.raises(PrivacyError, match="wrong time"):
        party.silos[0].check({})
    party.share()
    with pytest.raises(PrivacyError, match="wrong time or twice"):
        party.silos[0].share_out(party.hellos)
    party.check()
    with pytest.raises(PrivacyError, match="second list of members"):
        party.silos[0].go_on_with([0, 1])
    party.send(_vectors(3))
    with pytest.raises(PrivacyError, match="twice"):
        party.silos[0].mask(_vectors(3)[1])
    party.vouch()
    with pytest.raises(PrivacyError, match="second list of senders"):
        party.silos[0].vouch([0, 1])
    party.reveal()
    with pytest.raises(PrivacyError, match="twice"):
        party.silos[0].reveal({})


def test_lists_that_leave_the_silo_out_or_name_others_are_refused():
    party = Party(4, 3).share()
    for c in range(4):
        party.silos[c].check(party.for_silo(c))
    for members in ([0, 1], [0, 0, 1], [1, 2, 3], [0, 1, 2, 9]):
        with pytest.raises(PrivacyError, match="list of silos"):
            party.silos[0].go_on_with(members)
    for c in range(4):
        party.silos[c].go_on_with(range(4))
        party.silos[c].mask(_vectors(4)[c])
    for senders in ([0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 9]):
        with pytest.raises(PrivacyError, match="are needed"):
            party.silos[0].vouch(senders)


def test_rosters_that_are_wrong_are_refused():
    for spoil in ("own", "twin", "short", "points"):
        party = Party(3, 2)
        hellos = dict(party.hellos)
        if spoil == "own":
            hellos[0] = masker(0, 2, 9).hello()
        elif spoil == "twin":
            hellos[2] = hellos[1]
        elif spoil == "short":
            hellos[2] = hellos[2][:-1]
        else:
            hellos[2] = hellos[2][:40] + bytes(len(hellos[2]) - 40)
        with pytest.raises(PrivacyError, match="list of keys"):
            party.silos[0].share_out(hellos)


def test_values_out_of_range_are_refused():
    party = Party(2, 2).share().check()
    with pytest.raises(ParameterError, match="2\\^62"):
        party.silos[0].mask(np.array([2**61 + 1]))
    with pytest.raises(ParameterError, match="int64"):
        party.silos[0].mask(np.array([0.5]))


def test_silos_with_other_terms_or_another_roster_find_no_share_right():
    """Keys are bound to what was agreed and to who takes part: who was told otherwise is found before any vector."""
    party = Party(3, 2)
    party.silos[2] = masker(2, 2, 2, b"others")
    told = {c: dict(party.hellos) for c in range(3)}
    told[2][2] = party.silos[2].hello()
    with pytest.raises(PrivacyError, match="silo 0 does not prove"):
        party.silos[2].share_out(told[2])
    party.silos[2]._terms = TERMS  # as if it had not looked: what it computes fits nothing of the others
    told[2] |= {0: masker(0, 2, 20).hello()}
    party.silos[2]._announced = told[2][2] = party.hellos[2]
    party.boxes = {c: party.silos[c].share_out(told[c]) for c in range(3)}
    assert party.silos[0].check(party.for_silo(0)) == {0, 1}
    assert party.silos[2].check(party.for_silo(2)) == {2}
    assert party.silos[0].roster == party.silos[1].roster != party.silos[2].roster
    assert len(party.silos[0].roster.replace(" ", "")) == 40


def test_wrong_shares_are_found_by_those_who_hold_them():
    for spoiled in (b"", b"x" * 80, bytes(79)):
        party = Party(4, 3).share()
        party.boxes[3] = dict.fromkeys(range(3), spoiled)
        assert all(party.silos[c].check(party.for_silo(c)) == {0, 1, 2} for c in range(3))
        with pytest.raises(PrivacyError, match="shares are wrong"):
            party.silos[0].go_on_with(range(4))
        party.silos[0].go_on_with(range(3))


def test_a_dealer_of_shares_that_do_not_fit_together_is_found():
    """Well sealed, of the right length, and of another polynomial than the one announced."""
    party = Party(4, 3)
    liar = masker(3, 3, 77)
    party.silos[3]._mask = liar._mask[:1] + [x + 1 for x in liar._mask[1:]]
    party.hellos[3] = masker(3, 3, 3).hello()
    party.silos[3].hello = lambda: party.hellos[3]
    party.share()
    assert all(party.silos[c].check(party.for_silo(c)) == {0, 1, 2} for c in range(3))


@pytest.mark.parametrize("liars", [(0,), (0, 1, 2)])
def test_wrong_shares_at_the_end_are_left_out(liars):
    n, threshold = 9, 5
    vectors = _vectors(n, 5)
    party = Party(n, threshold).share().check().send(vectors, (7,)).vouch().reveal()
    for liar in liars:
        party.shares[liar] = {m: bytes(reversed(part)) for m, part in party.shares[liar].items()}
    np.testing.assert_array_equal(party.total(), sum(vectors[c] for c in range(n) if c != 7))
    for liar in range(4):
        party.shares[liar] = dict.fromkeys(party.shares[liar], bytes(32))
    with pytest.raises(PrivacyError, match="5 shares are needed"):
        party.total()


def test_the_keys_of_a_drop_out_open_no_box():
    """Two of five are in league with the server, a third drops out: its key, which all put together, opens nothing.

    With one key pair for masks and boxes it opened what the others had sealed for it, a third share of everybody.
    """
    vectors = _vectors(5, 6)
    party = Party(5, 3).share().check().send(vectors, (4,)).vouch().reveal()
    np.testing.assert_array_equal(party.total(), sum(vectors[:4]))
    together = join({giver: party.shares[giver][4] for giver in range(3)}, 3)
    assert together == party.silos[4]._mask[0]
    from discreet.federated.masks.masker import agreed_key, open_box, roster_digest

    roster = roster_digest(TERMS, party.hellos)
    two, four = (read_hello(party.hellos[c], 3) for c in (2, 4))

    def opened(secret, point):
        return open_box(
            agreed_key(secret, (4, point), (2, two.channel), "shares 2 to 4", roster), party.boxes[2][4]
        )

    assert opened(together, four.channel) is opened(together, four.mask[0]) is None
    # With its channel key, which nobody has, it would be one share more:
    box = opened(party.silos[4]._channel, four.channel)
    held = {4: box[:32], **{c: party.silos[c]._held[2][0] for c in (0, 1)}}
    assert join(held, 3) == party.silos[2]._mask[0]
    with pytest.raises(PrivacyError, match="3 shares"):
        join({c: held[c] for c in (0, 1)}, 3)


def _uncover(party, victim, told_members, own, pairs):
    """What a server computes that knows b of the victim and s of all whom it went on with."""
    plain = party.vectors[victim].view(np.uint64)
    plain = plain - expand(own_key(own, victim, party.roster), len(plain))
    points = {c: read_hello(hello, party.threshold).mask[0] for c, hello in party.hellos.items()}
    for other in told_members:
        if other != victim:
            key = pair_key(pairs[other], (other, points[other]), (victim, points[victim]), party.roster)
            mask = expand(key, len(plain))
            plain = plain - mask if other > victim else plain + mask
    return plain.view(np.int64)


def test_a_server_that_tells_silos_different_lists_uncovers_no_one():
    """Five silos, threshold three, nobody in league: with the lists below, three shares of b of silo 0 and of s of
    silos 1 and 2 would come together, if silos did not hear from each other which lists they were told."""
    vectors = _vectors(5, 4)
    party = Party(5, 3).share()
    for c in range(5):
        party.silos[c].check(party.for_silo(c))
    members = {0: [0, 1, 2], 1: range(5), 2: range(5), 3: range(5), 4: range(5)}
    for c in range(5):
        party.silos[c].go_on_with(members[c])
    party.vectors = {c: party.silos[c].mask(vectors[c]) for c in range(5)}
    senders = {0: [0, 1, 2], 1: [0, 1, 3], 2: [0, 2, 3], 3: [0, 3, 4], 4: [0, 3, 4]}
    vouchers = {c: party.silos[c].vouch(senders[c]) for c in range(5)}
    given = {}
    for c in range(5):
        with pytest.raises(PrivacyError, match="same list of senders"):
            given[c] = party.silos[c].reveal({o: told[c] for o, told in vouchers.items() if c in told})
    assert not given
    # What it would have been without that rule: enough to see silo 0's vector alone.
    from discreet.federated.masks.masker import roster_digest

    held = {c: party.silos[c]._held for c in range(5)}
    own = {c: held[c][0][1] for c in (1, 2, 3)}
    first = {c: held[c][1][0] for c in (2, 3, 4)}
    second = {c: held[c][2][0] for c in (1, 3, 4)}
    for shares, of in ((own, 0), (first, 1), (second, 2)):
        assert all((of in senders[c]) == (of == 0) for c in shares)
    party.roster = roster_digest(TERMS, party.hellos)
    pairs = {1: join(first, 3), 2: join(second, 3)}
    np.testing.assert_array_equal(_uncover(party, 0, [0, 1, 2], join(own, 3), pairs), vectors[0])


def test_vouchers_of_others_or_for_others_do_not_count():
    party = Party(3, 3).share().check().send(_vectors(3)).vouch()
    good = {o: party.vouchers[o][0] for o in (1, 2)}
    for bad in (
        {**good, 1: party.vouchers[2][0]},
        {**good, 1: party.vouchers[1][2]},
        {**good, 1: party.vouchers[0][1]},
        {**good, 1: bytes(32)},
        {2: good[2]},
        {**{9: good[1]}, 2: good[2]},
    ):
        silo = Masker.from_json(party.silos[0].to_json())
        with pytest.raises(PrivacyError, match="same list"):
            silo.reveal(bad)
    assert party.silos[0].reveal(good)


def test_who_was_told_other_members_vouches_for_something_else():
    party = Party(4, 3).share()
    for c in range(4):
        party.silos[c].check(party.for_silo(c))
        party.silos[c].go_on_with([0, 1, 2] if c == 0 else range(4))
    party.vectors = {c: party.silos[c].mask(_vectors(4)[c]) for c in range(3)}
    party.vouch()
    with pytest.raises(PrivacyError, match="only 2 silos were told the same"):
        party.silos[1].reveal({o: told[1] for o, told in party.vouchers.items() if o != 1})


@pytest.mark.parametrize("number", [-1, -2, 2**16, 2**256 - 1])
def test_a_silo_with_a_number_beyond_the_range_gets_no_share(number):
    """Shares are values at number + 1: that of silo -1 would be the secret itself."""
    party = Party(3, 2)
    party.hellos[number] = masker(7, 2, 7).hello()
    with pytest.raises(PrivacyError, match="list of keys"):
        party.silos[0].share_out(party.hellos)


def test_two_lists_of_senders_cannot_both_find_enough_silos():
    """By counting, all small cases: where twice the threshold is above n + c, honest silos give under one list only."""
    for n in range(1, 12):
        for threshold in range(1, n + 1):
            for colluders in range(n):
                honest = n - colluders
                possible = any(
                    one + colluders >= threshold and honest - one + colluders >= threshold
                    for one in range(1, honest)
                )
                if 2 * threshold > n + colluders:
                    assert not possible


def test_a_masker_written_down_between_messages_goes_on():
    vectors = _vectors(3)
    party = Party(3, 2)
    for step in ("share", "check", "send", "vouch", "reveal"):
        getattr(party, step)(*([vectors] if step == "send" else []))
        party.silos = {c: Masker.from_json(silo.to_json()) for c, silo in party.silos.items()}
    np.testing.assert_array_equal(party.total(), sum(vectors))
    with pytest.raises(PrivacyError, match="twice"):
        party.silos[0].reveal({})
