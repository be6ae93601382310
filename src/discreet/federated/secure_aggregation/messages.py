"""The six messages of a sum under masks: what each holds, what the server makes of it, and what a silo is shown.

=== ============================== ========================== ==========================================
no. a silo sends                   as                         is shown before
=== ============================== ========================== ==========================================
0   its points, with proofs, and   a row of bytes             the terms
    its ledger's point
1   sealed shares                  a row for each silo        all keys and points
2   whose shares are right         a row of 0 and 1           what was sealed for it
3   its sum with noise, masked     a row of int64             who goes on
4   that it was told the senders   a row for each sender      whose sums came
5   shares that remove masks       a row for each that went   what the others said they were told
                                   on
=== ============================== ========================== ==========================================

Nothing is booked before the fourth. All rows are in the order of the silos' numbers.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.federated.secure_aggregation.channels import VOUCHER_BYTES
from discreet.federated.secure_aggregation.hellos import hello_bytes, is_proved_hello, twins
from discreet.federated.secure_aggregation.masker import BOX_BYTES, Masker
from discreet.federated.secure_aggregation.masks import unmask
from discreet.federated.secure_aggregation.secret_shares import SHARE_BYTES

__all__ = ["MESSAGES", "VECTOR", "Shown", "Sum", "answer", "fault", "shown_to", "take"]

#: How many there are, and which of them is the one that costs.
MESSAGES, VECTOR = 6, 3

Bytes = NDArray[np.uint8]


class Sum(NamedTuple):
    """What the server keeps between messages."""

    hellos: dict[int, bytes]
    boxes: dict[int, dict[int, bytes]]
    members: tuple[int, ...]
    vectors: dict[int, NDArray[np.int64]]
    vouchers: dict[int, dict[int, bytes]]


class Shown(NamedTuple):
    """What one silo is shown before a message: bytes of other silos, numbers of silos, what is asked."""

    content: dict[int, bytes]
    silos: tuple[int, ...]
    asked: Any = None


def shown_to(silo: int, message: int, kept: Sum | None) -> Shown:
    """Return what the server shows a silo before it asks for a message; nothing of what the others need."""
    if kept is None:
        return Shown({}, ())
    if message == 1:
        return Shown(kept.hellos, ())
    if message == 2:
        return Shown({dealer: boxes[silo] for dealer, boxes in kept.boxes.items() if silo in boxes}, ())
    if message == VECTOR:
        return Shown({}, kept.members)
    if message == 4:
        return Shown({}, tuple(sorted(kept.vectors)))
    return Shown({sender: told[silo] for sender, told in kept.vouchers.items() if silo in told}, ())


def answer(masker: Masker, message: int, shown: Shown, *, noise_in_each: bool) -> Bytes:
    """Return a silo's message, other than the one that holds its sum."""
    if message == 0:
        return np.frombuffer(masker.hello(), np.uint8)
    if message == 1:
        boxes = masker.share_out(shown.content, noise_in_each=noise_in_each)
        return _rows({**boxes, masker.client: bytes(BOX_BYTES)}, BOX_BYTES)
    if message == 2:
        right = masker.check(shown.content)
        return np.array([silo in right for silo in masker.silos], np.uint8)
    if message == 4:
        vouchers = masker.vouch(shown.silos)
        return _rows({**vouchers, masker.client: bytes(VOUCHER_BYTES)}, VOUCHER_BYTES)
    return _rows(masker.reveal(shown.content), SHARE_BYTES)


def fault(
    message: int,
    values: NDArray[Any],
    kept: Sum | None,
    threshold: int,
    n_integers: int,
    sender: tuple[int, bytes],
) -> str | None:
    """Return what is wrong with a message, or None; whether shares are right is found later.

    ``sender`` is its number and the terms, which its proofs must be about.
    """
    known: dict[str, Any] = kept._asdict() if kept else {"hellos": {}, "members": (), "vectors": {}}
    shape = (
        (hello_bytes(threshold),),
        (len(known["hellos"]), BOX_BYTES),
        (len(known["hellos"]),),
        (n_integers,),
        (len(known["vectors"]), VOUCHER_BYTES),
        (len(known["members"]), SHARE_BYTES),
    )[message]
    kind = np.int64 if message == VECTOR else np.uint8
    if values.shape != shape or values.dtype != kind:
        return f"not {shape} of {np.dtype(kind)}"
    if message == 0 and not is_proved_hello(values.tobytes(), threshold, sender[1], sender[0]):
        return "keys without a proof that it knows their secrets"
    return None


def take(
    message: int, taken: Mapping[int, NDArray[Any]], kept: Sum | None, terms: bytes, threshold: int
) -> Sum | NDArray[np.int64]:
    """Return what the server keeps after a message; after the last, the sum.

    Raises
    ------
    PrivacyError
        Where fewer silos are left than masks can be removed with.
    """
    if kept is None:
        hellos = {silo: values.tobytes() for silo, values in taken.items()}
        alike = twins(hellos, threshold)  # honest silos would not go on with any of them
        if alike and len(hellos) - len(alike) < threshold:
            who = ", ".join(str(silo) for silo in sorted(alike))
            raise PrivacyError(
                f"silos {who} book on one ledger or have one key, and {threshold} others are needed; nothing is "
                "booked. Each silo needs a ledger of its own."
            )
        _enough(hellos, threshold, message)
        return Sum({silo: hello for silo, hello in hellos.items() if silo not in alike}, {}, (), {}, {})
    # Who was not in an earlier message has no part in a later one.
    before = (kept.hellos, kept.hellos, kept.boxes, kept.members, kept.vectors, kept.vectors)[message]
    taken = {silo: values for silo, values in taken.items() if silo in before}
    _enough(taken, threshold, message)
    if message == 1:
        return kept._replace(boxes=_by_receiver(taken, sorted(kept.hellos)))
    if message == 2:
        silos = sorted(kept.hellos)
        right = {
            silo: {other for other, yes in zip(silos, row, strict=True) if yes} for silo, row in taken.items()
        }
        members = without_conflicts(right)
        _enough(members, threshold, message)
        return kept._replace(members=members)
    if message == VECTOR:
        return kept._replace(vectors=dict(taken))
    if message == 4:
        return kept._replace(vouchers=_by_receiver(taken, sorted(kept.vectors)))
    shares = {
        giver: {member: row.tobytes() for member, row in zip(kept.members, rows, strict=True)}
        for giver, rows in taken.items()
    }
    return unmask(terms, kept.hellos, kept.members, kept.vectors, shares, threshold)


def without_conflicts(right: Mapping[int, set[int]]) -> tuple[int, ...]:
    """Return silos of whom each says that all the others' shares are right; who is in most conflicts goes first.

    An honest silo is in conflict with liars only, so each silo that goes takes a conflict of a liar with it.
    """
    left = set(right)
    while True:
        conflicts = {
            silo: sum(other not in right[silo] or silo not in right[other] for other in left) for silo in left
        }
        worst = max(left, key=lambda silo: (conflicts[silo], silo), default=None)
        if worst is None or not conflicts[worst]:
            return tuple(sorted(left))
        left.discard(worst)


def _enough(silos: Any, threshold: int, message: int) -> None:
    if len(silos) < threshold:
        booked = "what was booked stays booked" if message >= VECTOR else "nothing is booked"
        raise PrivacyError(
            f"{len(silos)} silos are left, {threshold} are needed: the sum stays hidden, and {booked}. Start a new one "
            "with those who are there."
        )


def _rows(parts: Mapping[int, bytes], size: int) -> Bytes:
    return np.frombuffer(b"".join(parts[silo] for silo in sorted(parts)), np.uint8).reshape(-1, size)


def _by_receiver(taken: Mapping[int, NDArray[Any]], silos: list[int]) -> dict[int, dict[int, bytes]]:
    return {
        sender: {silo: row.tobytes() for silo, row in zip(silos, rows, strict=True)}
        for sender, rows in taken.items()
    }
