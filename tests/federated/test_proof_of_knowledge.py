"""Proofs that a secret is known: right ones pass, and any other point, statement, commitment or answer fails."""

import pytest
from tests.naive.federated import BASE, compressed, slow_challenge, slow_is_proved, slow_times

from discreet.federated.masks import keys
from discreet.federated.masks.keys import (
    ORDER,
    PROOF_BYTES,
    add,
    challenge,
    fault_of,
    hello_bytes,
    is_proved,
    is_proved_hello,
    new_polynomial,
    point_of,
    prove,
    read_hello,
    twins,
    write_hello,
    write_point,
)
from discreet.privacy import SecureStream

#: Worked out with the twins alone: secret 0x1234567, nonce 0x89ABCDEF, statement b"what is meant".
VECTOR = bytes.fromhex(
    "02fd8526ef55eb865f707d1836ecb6e3b3a40748264d79687317306b3e68041b58"
    "11d39c971c50aba708c43bea11581ba51ad2d237959c958b464e1e1c2a634983"
)


def test_proofs_pass_here_and_in_the_twin():
    for number, secret in enumerate((1, 2, ORDER - 1, 2**200 + 5, new_polynomial(1, SecureStream(0))[0])):
        proof = prove(secret, b"meant", SecureStream(number))
        assert len(proof) == PROOF_BYTES
        assert point_of(secret) == slow_times(secret, BASE)
        assert is_proved(point_of(secret), b"meant", proof)
        assert slow_is_proved(point_of(secret), b"meant", proof)


def test_the_challenge_is_the_twins():
    for parts in ((b"", b"", b""), (b"P", b"R", b"m"), (b"PR", b"", b"m")):
        assert challenge(*parts) == slow_challenge(*parts)
    assert (
        len({challenge(*parts) for parts in ((b"a", b"b", b"c"), (b"ab", b"", b"c"), (b"a", b"bc", b""))})
        == 3
    )


def test_anything_else_is_no_proof():
    secret = 0x1234567
    point, other = point_of(secret), point_of(99)
    proof = prove(secret, b"meant", SecureStream(3))
    z = int.from_bytes(proof[33:])
    rivals = {
        "another statement": (point, b"meant else", proof),
        "no statement": (point, b"", proof),
        "another point": (other, b"meant", proof),
        "the negative point": (point_of(ORDER - secret), b"meant", proof),
        "no point": (None, b"meant", proof),
        "another answer": (point, b"meant", proof[:33] + ((z + 1) % ORDER).to_bytes(32)),
        "the negative answer": (point, b"meant", proof[:33] + (ORDER - z).to_bytes(32)),
        "an answer beyond the order": (point, b"meant", proof[:33] + (z + ORDER).to_bytes(33)),
        "nought": (point, b"meant", proof[:33] + bytes(32)),
        "another commitment": (point, b"meant", write_point(other) + proof[33:]),
        "the negative commitment": (point, b"meant", bytes([5 - proof[0]]) + proof[1:]),
        "no commitment": (point, b"meant", bytes(33) + proof[33:]),
        "too short": (point, b"meant", proof[:-1]),
        "too long": (point, b"meant", proof + b"\0"),
        "nothing": (point, b"meant", b""),
    }
    assert not [name for name, (p, m, content) in rivals.items() if is_proved(p, m, content)]


def test_a_commitment_chosen_after_the_challenge_fits_nothing():
    """Who does not know the secret can choose z and c, and R = z G - c P; but c is a hash of R and of P."""
    point = point_of(0x1234567)
    for z, c in ((5, 7), (ORDER - 1, 1)):
        commitment = add(point_of(z), slow_times(ORDER - c, point))
        proof = write_point(commitment) + z.to_bytes(32)
        assert point_of(z) == add(commitment, slow_times(c, point))
        assert not is_proved(point, b"meant", proof)


def test_an_answer_beyond_the_order_is_refused(monkeypatch):
    """Another way to write the same number would be another proof."""
    monkeypatch.setattr(keys, "challenge", lambda *_: 7)
    point = point_of(0x1234567)
    commitment = write_point(add(point_of(5), slow_times(ORDER - 7, point)))
    assert is_proved(point, b"meant", commitment + (5).to_bytes(32))
    assert not is_proved(point, b"meant", commitment + (5 + ORDER).to_bytes(32))


def test_two_answers_to_one_commitment_give_the_secret_and_are_never_made():
    secret = 0x1234567
    first, second = (prove(secret, statement, SecureStream(3)) for statement in (b"one", b"two"))
    assert first[:33] != second[:33], "one seed, two statements: another nonce"
    assert first[:33] != prove(secret, b"one", SecureStream(4))[:33]
    assert first == prove(secret, b"one", SecureStream(3))
    assert first[:33] != prove(secret + 1, b"one", SecureStream(3))[:33]


THRESHOLD = 3


def hello(silo=0, terms=b"terms", ledger=None, seed=0, **own):
    stream = SecureStream(seed).spawn(f"{silo}")
    secrets = {
        "channel": 5 + silo,
        "mask": new_polynomial(THRESHOLD, stream),
        "own": new_polynomial(THRESHOLD, stream),
    }
    return write_hello(terms, silo, ledger=ledger or 10**6 + silo, stream=stream, **{**secrets, **own})


def test_a_first_message_is_of_one_silo_under_one_list_of_terms():
    content = hello(2)
    assert len(content) == hello_bytes(THRESHOLD)
    assert is_proved_hello(content, THRESHOLD, b"terms", 2)
    assert not is_proved_hello(content, THRESHOLD, b"terms", 1)
    assert not is_proved_hello(content, THRESHOLD, b"other terms", 2)
    assert not is_proved_hello(content, THRESHOLD + 1, b"terms", 2)


def test_no_byte_of_a_first_message_can_be_changed():
    """The further points, too, and the ledger's name, which have no secret to prove."""
    content = hello(0)
    for place in range(0, len(content), 7):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        assert not is_proved_hello(changed, THRESHOLD, b"terms", 0)


def test_proofs_of_another_part_do_not_count():
    one = hello(0, channel=77)
    body, proofs = one[: -4 * PROOF_BYTES], one[-4 * PROOF_BYTES :]
    turned = proofs[PROOF_BYTES:] + proofs[:PROOF_BYTES]
    assert not is_proved_hello(body + turned, THRESHOLD, b"terms", 0)
    same = hello(
        0, channel=77, mask=[77, 1, 2], own=[77, 3, 4]
    )  # one secret four times: proofs are still of one part
    body, proofs = same[: -4 * PROOF_BYTES], same[-4 * PROOF_BYTES :]
    assert is_proved_hello(body + proofs, THRESHOLD, b"terms", 0)
    assert not is_proved_hello(body + 4 * proofs[:PROOF_BYTES], THRESHOLD, b"terms", 0)


@pytest.mark.parametrize("what", ["channel", "mask", "own"])
@pytest.mark.parametrize("sign", [1, -1])
def test_silos_that_know_one_secret_are_found(what, sign):
    """Equal points, and negative ones, with which everybody would agree on the same keys."""
    names = [1001, 1002, 1003]
    secret = 4242
    mine, theirs = secret, sign * secret % ORDER
    one = hello(0, ledger=names[0], **{what: mine if what == "channel" else [mine, 8, 9]})
    for other in ("channel", "mask", "own"):
        two = hello(1, ledger=names[1], **{other: theirs if other == "channel" else [theirs, 10, 11]})
        hellos = {0: one, 1: two, 2: hello(2, ledger=names[2])}
        assert twins(hellos, THRESHOLD) == {0, 1}
        assert "silos 0, 1" in fault_of(hellos, THRESHOLD, b"terms")


def test_silos_of_one_ledger_are_found():
    names = [1001, 1002, 1001]
    hellos = {silo: hello(silo, ledger=name) for silo, name in enumerate(names)}
    assert twins(hellos, THRESHOLD) == {0, 2}
    assert "one ledger" in fault_of(hellos, THRESHOLD, b"terms")
    assert fault_of({0: hellos[0], 1: hellos[1]}, THRESHOLD, b"terms") is None
    assert "silo 1 does not prove" in fault_of({0: hellos[0], 1: hellos[2]}, THRESHOLD, b"terms")
    assert twins({0: b"nonsense"}, THRESHOLD) == {0}
    assert read_hello(hellos[0], THRESHOLD).ledger == point_of(names[0])


def test_the_proof_of_the_vector():
    """A fixed one: other versions and other programs must make out the same."""
    point = slow_times(0x1234567, BASE)
    assert is_proved(point, b"what is meant", VECTOR)
    assert slow_is_proved(point, b"what is meant", VECTOR)
    assert VECTOR[:33] == compressed(slow_times(0x89ABCDEF, BASE))
