r"""Four messages for one sum: presences and pairs of all silos' documents, under masks, with shared noise.

A document with l different words adds three vectors to three sums, each of L2 norm at most 1 on a lattice of
:math:`2^{-18}`: the number 1; :math:`\lfloor 2^{18} / \sqrt l \rfloor` for each of its words; and
:math:`\lfloor 2^{18} / \sqrt{l (l - 1) / 2} \rfloor` for each pair of them. A silo adds these over its documents, adds
its share of the noise (:mod:`~discreet.federated.secure_aggregation.shared_noise`) and sends the sum under masks
(:mod:`~discreet.federated.secure_aggregation.masks`). The server learns the sum over silos and fits topics to it.

Messages: 0 public keys, 1 sealed shares, 2 masked sums, 3 shares that remove the masks.

Guarantee
---------
*Unit, neighbours*: one document, added or removed, in any silo. *Released*: the three sums, and whatever is computed
from them. *Sensitivity*: 1 in L2 for each, because :math:`n \lfloor 2^{18} / \sqrt n \rfloor^2 \le 4^{18}`, in whole
numbers. *Event*: one Gaussian event of noise multiplier z, of whose precision the three use shares that add up to 1.
*Against whom*: the server as long as it follows the protocol, with up to ``tolerated`` silos in league (fewer by those
that are missing); and, with ``silos_see_result``, any ``tolerated`` + 1 silos that see the result, who know their own
noise. The proof is in :mod:`~discreet.federated.secure_aggregation.shared_noise`.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError, ParameterError, PrivacyError
from discreet.federated.account import Account, read_corpus_now
from discreet.federated.secure_aggregation.masks import (
    COMMITMENT_BYTES,
    KEY_BYTES,
    SEALED_BYTES,
    Masker,
    is_key,
    unmask,
)
from discreet.federated.secure_aggregation.secret_shares import SHARE_BYTES
from discreet.federated.secure_aggregation.shared_noise import (
    KEPT_BACK,
    add_share,
    check_tolerated,
    share_of_noise,
    shares_counted_on,
)
from discreet.lda.moments.fit import fit_topics
from discreet.lda.moments.noisy import learnable_directions, moments_of_sums
from discreet.privacy.accounting import events
from discreet.privacy.accounting.totals import noise_multiplier_for
from discreet.privacy.noise.stream import SecureStream

__all__ = ["Secret", "combine", "compute", "contributions", "fault"]

BITS = 18
_SHARES = {"count": 0.002, "unigram": 0.04, "pairs": 0.958}
_MOST_DOCUMENTS = 1e10
_ROUNDING = 1 - Fraction(1, 10**9)


class Secret(NamedTuple):
    """What the server keeps between messages: keys, commitments, sealed shares, masked sums."""

    keys: dict[int, bytes]
    commitments: dict[int, bytes]
    sealed: dict[int, dict[int, bytes]]
    masked: dict[int, NDArray[np.int64]]


def noise_multiplier(state: Any) -> float:
    """Return z of the one Gaussian event; 0 without privacy."""
    if math.isinf(state.epsilon):
        return 0.0
    return noise_multiplier_for(state.epsilon, state.delta * (1 - KEPT_BACK))


def counted_on(state: Any) -> int:
    """Return how many silos' noise is enough for the promise."""
    return shares_counted_on(state.n_clients, state.tolerated, silos_see_result=state.silos_see_result)


def _sizes(n_words: int) -> dict[str, int]:
    return {"count": 1, "unigram": n_words, "pairs": n_words * (n_words - 1) // 2}


def deviation(state: Any, part: str) -> Fraction:
    """Standard deviation of the noise in a part's sum, in lattice steps."""
    noise = Fraction(noise_multiplier(state)) * (1 << BITS)
    return noise * Fraction(1 / math.sqrt(_SHARES[part] * float(_ROUNDING)))


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


def compute(state: Any, corpus: Any, stream: SecureStream, account: Account) -> NDArray[Any]:
    """Return the client's next message; the cost is booked before the third, which alone reads the corpus."""
    check_tolerated(state.n_clients, state.tolerated, silos_see_result=state.silos_see_result)
    threshold = state.n_clients - state.tolerated
    if state.round == 0:
        account.masker = Masker(account.client, stream)
        return np.frombuffer(account.masker.public_key + account.masker.commitment, np.uint8)
    masker, secret = account.masker, state.sums
    if masker is None or secret is None or account.client not in secret.keys:
        raise PrivacyError(
            "this client has no part in the sum: its key did not come in time; wait for a new sum."
        )
    if state.round == 1:
        sealed = masker.share_out(secret.keys, threshold, noise_in_each=counted_on(state) == 1)
        return np.frombuffer(b"".join(sealed[other] for other in sorted(sealed)), np.uint8).reshape(
            -1, SEALED_BYTES
        )
    if state.round == 2:
        noise = noise_multiplier(state)
        event = events.gaussian(noise) if noise else events.non_private()
        account.book(event, state.round, "masked sum of moments", reproducible=stream.reproducible)
        values, place = contributions(read_corpus_now(corpus)), 0
        for part, size in _sizes(state.n_words).items():
            share = share_of_noise(deviation(state, part), counted_on(state))
            own = slice(place, place + size)
            values[own] = add_share(values[own], share, stream.spawn(f"noise of {part}"))
            place += size
        return masker.mask(values, secret.sealed)
    given = masker.reveal({m: boxes[account.client] for m, boxes in secret.sealed.items()}, secret.masked)
    message = np.zeros((len(secret.sealed), 1 + SHARE_BYTES), np.uint8)
    for row, member in enumerate(sorted(secret.sealed)):
        if member in given:
            message[row, 0] = 1
            message[row, 1:] = np.frombuffer(given[member], np.uint8)
    return message


def fault(state: Any, values: NDArray[Any]) -> str | None:
    """Return what is wrong with a message, or None."""
    secret = state.sums
    shape: tuple[int, ...] = (KEY_BYTES + COMMITMENT_BYTES,)
    if state.round == 1:
        shape = (len(secret.keys), SEALED_BYTES)
    elif state.round == 2:
        shape = (sum(_sizes(state.n_words).values()),)
    elif state.round == 3:
        shape = (len(secret.sealed), 1 + SHARE_BYTES)
    kind = np.int64 if state.round == 2 else np.uint8
    if values.shape != shape or values.dtype != kind:
        return f"not {shape} of {np.dtype(kind)}"
    if state.round == 0 and not is_key(values[:KEY_BYTES].tobytes()):
        return "a key that no one can agree with"
    return None


def combine(state: Any, taken: dict[int, NDArray[Any]]) -> tuple[NDArray[np.float64], Any]:
    """Go on to the next message; after the fourth, take off the masks and fit topics.

    Raises
    ------
    PrivacyError
        Where more clients are gone than are tolerated. Nothing is uncovered; what was booked stays booked.
    CorpusError
        Where the sum cannot be one of documents.
    """
    threshold = state.n_clients - state.tolerated
    secret = state.sums
    # Who was not in an earlier message has no part in a later one.
    known = {0: taken, 1: secret and secret.keys, 2: secret and secret.sealed, 3: secret and secret.masked}
    taken = {client: values for client, values in taken.items() if client in known[state.round]}
    if len(taken) < threshold:
        raise PrivacyError(
            f"{len(taken)} of {state.n_clients} clients are left, {threshold} are needed: the sum stays hidden. Start "
            "a new one with those who are there."
        )
    if state.round == 0:
        keys = {c: values[:KEY_BYTES].tobytes() for c, values in taken.items()}
        commitments = {c: values[KEY_BYTES:].tobytes() for c, values in taken.items()}
        return state.topic_word, Secret(keys, commitments, {}, {})
    if state.round == 1:
        members = sorted(secret.keys)
        sealed = {c: {m: values[i].tobytes() for i, m in enumerate(members)} for c, values in taken.items()}
        return state.topic_word, secret._replace(sealed=sealed)
    if state.round == 2:
        return state.topic_word, secret._replace(masked=taken)
    members = sorted(secret.sealed)
    shares = {
        giver: {m: row[1:].tobytes() for m, row in zip(members, rows, strict=True) if row[0] == 1}
        for giver, rows in taken.items()
    }
    total = unmask(secret.masked, members, secret.keys, shares, threshold, secret.commitments)
    return _topics(state, total, len(secret.masked))


def _topics(state: Any, total: NDArray[np.int64], n_vectors: int) -> tuple[NDArray[np.float64], Any]:
    sums, noises, place = {}, {}, 0
    more = math.sqrt(n_vectors / counted_on(state))  # more shares in the sum than are counted on
    for part, size in _sizes(state.n_words).items():
        sums[part] = total[place : place + size] / 2.0**BITS
        noises[part] = float(deviation(state, part)) / 2.0**BITS * more
        place += size
    n = max(float(sums["count"][0]), 1.0)
    # A document adds at most 1 to each cell; noise beyond 20 deviations does not happen.
    most = n + 20 * noises["count"]
    if most > _MOST_DOCUMENTS or any(
        (values < -20 * noises[part]).any() or (values > most + 20 * noises[part]).any()
        for part, values in sums.items()
    ):
        raise CorpusError(
            "the sum is none of documents: a silo sent nonsense under its mask, and nobody can see which. Ask the "
            "silos which versions they run, and start anew."
        )
    moments = moments_of_sums(n, sums["unigram"], sums["pairs"], noises["unigram"], noises["pairs"])
    learnable = learnable_directions(moments)
    if learnable <= 1 and not state.allow_unlearnable:
        raise ParameterError(
            f"{learnable} directions of the summed moments stand above the noise: there is nothing to learn but how "
            "frequent words are. Take more documents, fewer words or a larger epsilon."
        )
    topics = fit_topics(moments, state.n_topics, state.seed)
    topic_word = topics.topic_word / topics.topic_word.sum(1, keepdims=True)
    return topic_word, {"learnable": learnable, "n": n, "weight": topics.topic_weight, "total": total}
