r"""Six messages for one sum: presences and pairs of all silos' documents, under masks, with shared noise.

A document with l different words adds three vectors to three sums, each of L2 norm at most 1 on a lattice of
:math:`2^{-18}`: the number 1; :math:`\lfloor 2^{18} / \sqrt l \rfloor` for each of its words; and
:math:`\lfloor 2^{18} / \sqrt{l (l - 1) / 2} \rfloor` for each pair of them. A silo adds these over its documents, adds
its share of the noise (:mod:`~discreet.federated.masks.masker`) and sends the sum under masks
(:mod:`~discreet.federated.masks.masker`). The server learns the sum over silos and fits topics to it.

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

All rows are in the order of the silos' numbers. Nothing is booked before the fourth, which has the sum; by then keys,
shares, the silos that go on and the terms are checked.

Guarantee
---------
*Unit, neighbours*: one document, added or removed, in any silo. *Released*: the three sums, and whatever is computed
from them. *Sensitivity*: 1 in L2 for each, because :math:`n \lfloor 2^{18} / \sqrt n \rfloor^2 \le 4^{18}`, in whole
numbers. *Event*: one Gaussian event of noise multiplier z, of whose precision the three use shares that add up to 1.
*Against whom*: the server, with up to ``tolerated`` silos in league (fewer by those that are missing); and, with
``silos_see_result``, any ``tolerated`` + 1 silos that see the result, who know their own noise (proof in
:mod:`~discreet.federated.masks.masker`). A server that lies decides who is missing: against it, one silo in
league, or none without ``silos_see_result`` (proof in :mod:`~discreet.federated.masks.masker`). Where each silo brings
all the noise: against everyone.

*Once in a sum*: all this holds for n different silos. Were one silo several of them, a document in it would be in the
sum as often, and its noise counted on as often, while each booking takes it for once. So a first message names the
ledger (by a point that tells which are the same in this sum, and nothing else, with a proof that only who has the
ledger can give), and a silo goes on with no list that has a ledger twice; and the ledger books one roster once, under
its lock, so that no two processes, and none that was started anew, give two vectors under one set of keys. Nobody can
see from outside that somebody keeps two ledgers for one text, or brings one text into two silos.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError, PrivacyError
from discreet.federated.account import Account, read_corpus_now
from discreet.federated.masks.keys import SHARE_BYTES, hello_bytes, is_proved_hello, twins
from discreet.federated.masks.masker import (
    BOX_BYTES,
    KEPT_BACK,
    VOUCHER_BYTES,
    Masker,
    add_share,
    share_of_noise,
    shares_counted_on,
    unmask,
)
from discreet.federated.state import MESSAGES, VECTOR, State, terms_bytes
from discreet.lda.moments.estimates import SHARES, moments_of_sums
from discreet.lda.moments.learn import learn_topics
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.mechanism import BITS, SharedGaussian, noise_of_share
from discreet.privacy.noise.stream import SecureStream

Bytes = NDArray[np.uint8]
_MOST_DOCUMENTS = 1e10
NONSENSE = (
    "no set of documents adds up to this sum: a silo sent nonsense under its mask, and nobody can see which. "
    "Ask the silos which versions they run, and start over."
)


class Sum(NamedTuple):
    """What the server keeps between messages."""

    hellos: dict[int, bytes]
    boxes: dict[int, dict[int, bytes]]
    members: tuple[int, ...]
    vectors: dict[int, NDArray[np.int64]]
    vouchers: dict[int, dict[int, bytes]]


class Shown(NamedTuple):
    """What one silo is shown before a message: bytes of other silos, numbers of silos."""

    content: dict[int, bytes]
    silos: tuple[int, ...]


def shown_to(silo: int, state: State) -> Shown:
    """Return what the server shows a silo before it asks for a message; nothing of what the others need."""
    kept, message = state.masks, state.round % MESSAGES
    if isinstance(kept, Shown):
        return kept  # the wire brings what this client is shown, and just that
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


def fault(state: State, update: Any, n_integers: int) -> str | None:
    """Return what is wrong with a message of a sum of ``n_integers`` numbers, or None.

    Its proofs must be about its sender's number and the terms; whether shares are right is found later.
    """
    message, values, threshold = state.round % MESSAGES, update.values, state.n_clients - state.tolerated
    kept = state.masks or Sum({}, {}, (), {}, {})
    shape = (
        (hello_bytes(threshold),),
        (len(kept.hellos), BOX_BYTES),
        (len(kept.hellos),),
        (n_integers,),
        (len(kept.vectors), VOUCHER_BYTES),
        (len(kept.members), SHARE_BYTES),
    )[message]
    kind = np.int64 if message == VECTOR else np.uint8
    if values.shape != shape or values.dtype != kind:
        return f"not {shape} of {np.dtype(kind)}"
    hello = values.tobytes() if message == 0 else b""
    if message == 0 and not is_proved_hello(hello, threshold, terms_bytes(state), int(update.client)):
        return "keys without a proof that it knows their secrets"
    return None


def take(state: State, taken: Mapping[int, NDArray[Any]]) -> Sum | NDArray[np.int64]:
    """Return what the server keeps of a sum after a message; after the last, the sum itself.

    Raises
    ------
    PrivacyError
        Where fewer silos are left than masks can be removed with.
    """
    kept, message = state.masks, state.round % MESSAGES
    threshold = state.n_clients - state.tolerated
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
    return unmask(terms_bytes(state), kept.hellos, kept.members, kept.vectors, shares, threshold)


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


class Total(NamedTuple):
    """What was paid for: the three sums with noise, one after the other, and how many silos' they are."""

    values: NDArray[np.int64]
    n_vectors: int


class Summed(NamedTuple):
    """What is summed, and with which noise.

    Attributes
    ----------
    what : str
        For the ledger.
    sizes : mapping of str to int
        Numbers of each part, in their order.
    shares : mapping of str to float
        Of the precision of the noise, for each part.
    noise : float
        Noise multiplier of all parts together.
    add : callable
        ``add(corpus)``: a silo's sum, each document of which has norm 1 at most in each part.
    """

    what: str
    sizes: Mapping[str, int]
    shares: Mapping[str, float]
    noise: float
    add: Callable[[Any], NDArray[np.int64]]


def noise_multiplier(epsilon: float, delta: float) -> float:
    """Return z of the one Gaussian event; 0 without privacy."""
    return 0.0 if math.isinf(epsilon) else noise_multiplier_for(epsilon, delta * (1 - KEPT_BACK))


def event_of(noise: float) -> events.Event:
    """Return what a silo books for a sum with that noise multiplier."""
    return events.gaussian(noise) if noise else events.non_private()


def planned(epsilon: float, delta: float) -> events.Event:
    """Return what a silo books."""
    return event_of(noise_multiplier(epsilon, delta))


def noise_of(state: State) -> float:
    """Return the noise multiplier of the sum."""
    return noise_multiplier(state.epsilon, state.delta)


def parts_of(values: NDArray[Any], sizes: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Return views of the parts that stand one after the other."""
    ends = np.cumsum(list(sizes.values()))
    return dict(zip(sizes, np.split(values, ends[:-1]), strict=True))


def counted_on(state: State) -> int:
    """Return how many silos' noise is enough for the promise."""
    return shares_counted_on(state.n_clients, state.tolerated, silos_see_result=state.silos_see_result)


def sizes(state: State) -> dict[str, int]:
    """Return how many numbers each part of the sum has."""
    return {"count": 1, "unigram": state.n_words, "pairs": state.n_words * (state.n_words - 1) // 2}


def _root_steps(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return floor(2**BITS / sqrt(n)) for each n, 0 where n is 0; exact."""
    different, places = np.unique(numbers, return_inverse=True)
    found = [math.isqrt((1 << 2 * BITS) // int(n)) if n else 0 for n in different]
    return np.array(found, np.int64)[places]


def contributions(corpus: Any) -> NDArray[np.int64]:
    """Return a silo's sums, one after the other: count, unigram, strict upper triangle of pairs."""
    import scipy.sparse as sp

    n_documents, n_words = corpus.shape
    lengths = np.diff(corpus.indptr).astype(np.int64)
    steps = (_root_steps(lengths), _root_steps(lengths * (lengths - 1) // 2))
    unigram = np.zeros(n_words, np.int64)
    np.add.at(unigram, corpus.indices, np.repeat(steps[0], lengths))
    pairs = np.zeros((n_words, n_words), np.int64)
    for start in range(0, n_documents, 2048):
        rows = corpus[start : start + 2048]
        width = np.diff(rows.indptr)
        present = sp.csr_matrix((np.ones(rows.nnz, np.int64), rows.indices, rows.indptr), shape=rows.shape)
        weighted = present.copy()
        weighted.data = np.repeat(steps[1][start : start + 2048], width)
        pairs += (present.T @ weighted).toarray()
    counted = np.array([n_documents << BITS], np.int64)
    return np.concatenate([counted, unigram, pairs[np.triu_indices(n_words, 1)]])


def summed(state: State) -> Summed:
    """Return what is summed."""
    return Summed("masked sum of moments", sizes(state), SHARES, noise_of(state), contributions)


def take_part(
    state: State, what: Summed | None, corpus: Any, stream: SecureStream, account: Account
) -> NDArray[Any]:
    """Return a silo's next message; the cost is booked before the fourth, which alone reads the corpus.

    Parameters
    ----------
    state : State
    what : Summed or None
        Needed for the message that holds the sum.
    corpus, stream, account
        As for :func:`~discreet.federated.rounds.client_update`.
    """
    message = state.round % MESSAGES
    if message == 0:
        terms, threshold = terms_bytes(state), state.n_clients - state.tolerated
        ledger = None if stream.reproducible else account.ledger_secret(terms)
        account.masker = Masker(account.client, threshold, stream, terms=terms, ledger=ledger)
    shown = shown_to(account.client, state)
    masker = account.masker
    if masker is None or (message == 1 and account.client not in shown.content):
        raise PrivacyError(
            "this client has no part in the sum: its key did not come in time; wait for a new sum."
        )
    if what is None:
        if message == 1 and not set(shown.content) <= set(range(state.n_clients)):
            raise PrivacyError("the server shows more silos than were agreed; nothing is sent.")
        return answer(masker, message, shown, noise_in_each=counted_on(state) == 1)
    masker.go_on_with(shown.silos)
    if account.confirm is not None and not account.confirm(masker.roster, account.client, state.n_clients):
        raise PrivacyError("the roster was not confirmed; nothing is booked, and nothing is sent.")
    roster = f"roster {masker.roster}"
    booked = f"{what.what}, {roster}"
    reservation = account.book(
        event_of(what.noise), state.round, booked, reproducible=stream.reproducible, once=roster
    )
    shared = SharedGaussian(reservation, what.noise, "document", stream, None)
    values = what.add(read_corpus_now(corpus, state.n_words))
    for part, own in parts_of(values, what.sizes).items():
        deviation = Fraction(shared.draw(what.shares[part])) * shared.bound.sensitivity
        share = share_of_noise(deviation, counted_on(state))
        own[:] = add_share(own, share, stream.spawn(f"noise of {part}"))
    return masker.mask(values)


def learn(state: State, values: NDArray[np.int64], n_vectors: int) -> tuple[NDArray[np.float64], Any]:
    """Keep the sum."""
    return state.topic_word, Total(values, n_vectors)


def more_noise(state: State, n_vectors: int) -> float:
    """Return how much larger the noise of a sum is than what was counted on: more silos' shares are in it."""
    return math.sqrt(n_vectors / counted_on(state))


def is_nonsense(most: float, sums: Mapping[str, Any], noises: Mapping[str, float]) -> bool:
    """Whether no documents add up to sums, each of which adds at most 1 to a cell and nothing below 0.

    ``most`` is their number with 20 deviations of noise: beyond these nothing happens.
    """
    return most > _MOST_DOCUMENTS or any(
        (values < -20 * noises[part]).any() or (values > most + 20 * noises[part]).any()
        for part, values in sums.items()
    )


def fit(state: State) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return topics fitted to the sum, and what was found with them.

    Raises
    ------
    CorpusError
        Where the sum cannot be one of documents.
    ParameterError
        Where there is nothing to learn.
    """
    total: Total = state.sums
    noise, more = noise_of(state), more_noise(state, total.n_vectors)
    sums = parts_of(total.values / 2.0**BITS, sizes(state))
    noises = {part: noise_of_share(noise, SHARES[part]) * more for part in sums}
    n = max(float(sums["count"][0]), 1.0)
    if is_nonsense(n + 20 * noises["count"], sums, noises):
        raise CorpusError(NONSENSE)
    moments = moments_of_sums(n, sums["unigram"], sums["pairs"], noises["unigram"], noises["pairs"])
    topics = learn_topics(
        moments,
        state.n_topics,
        state.seed,
        what="the summed moments",
        advice="The sum is kept; next time take more documents, fewer words or a larger epsilon;",
        allow_unlearnable=state.allow_unlearnable,
    )
    topic_word = topics.topic_word / topics.topic_word.sum(1, keepdims=True)
    return topic_word, {"learnable": topics.learnable, "n": n, "weight": topics.topic_weight}
