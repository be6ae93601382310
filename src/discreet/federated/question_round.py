r"""Four sums for three questions about whole documents: their words, where these point, and which topics they are of.

What :class:`discreet.WholeDocumentLDA` asks of clients one by one is asked here of all documents, each question as a
sum of its own under masks (the six messages of :mod:`~discreet.federated.sum_round`, with new keys). A document adds,
on a lattice of :math:`2^{-18}` and scaled to L2 norm 1,

1. the number 1, and the words that it has;
2. the upper triangle of :math:`g g^\top`, off the diagonal times :math:`\sqrt 2`, with g the sum of its words'
   directions: that triangle has the norm :math:`|g|^2`;
3. its responsibilities under the topics that the answers so far lead to (in two waves).

After each sum the server learns (:mod:`discreet.lda.questions`) and asks what follows from it.

Guarantee
---------
*Unit, neighbours*: one document, added or removed, in any silo. *Released*: the four sums, and whatever is computed
from them; each question is a function of the sums before it and of public vectors. *Sensitivity*: 1 in L2 for each sum
(for the number and the words of the first, each), whatever table a server sends, because
:func:`~discreet.privacy.sum_rows` scales each document by itself and checks the integers. *Event*: for each sum one
Gaussian event, booked when it is answered; their precisions :math:`1/z^2` are shares of one Gaussian event's, and add
up to 1, so that the four together, each chosen after those before it, cost what that one does. *Against whom*: as for
one sum (:mod:`~discreet.federated.sum_round`). How much noise a silo's own stands beside hangs on which sum it is: the
number of the sum is part of the terms that keys and proofs are about, so that no silo goes on with others who were told
another one, or with keys of another sum. Each question shows silos what the sums before it led to: terms under which
they do not see the result (``silos_see_result=False``, less noise) are refused on both sides.

A silo that was started anew between two sums takes part in the next one; in the middle of a sum, before its vector, it
is one of those that dropped out. Where the first sum tells that there are too few documents for the noise
(``LEAST_STRENGTH`` of :mod:`~discreet.lda.questions`), no further one is asked for, unless
``allow_unlearnable``.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError, ParameterError
from discreet.federated import sum_round
from discreet.federated.state import MESSAGES, SHARES_OF_SUMS, Learned, State
from discreet.federated.sum_round import Summed
from discreet.lda import questions
from discreet.privacy.accounting import events
from discreet.privacy.bound import Bound
from discreet.privacy.mechanism import BITS, noise_of_share
from discreet.privacy.row_sums import sum_rows

_SHARES = SHARES_OF_SUMS["questions"]
_KINDS = questions.kinds(len(_SHARES))
#: Of the first sum's precision, for the number of documents.
_COUNT = 0.005
#: Numbers of answers at once: 32 MB.
_TOGETHER = 2**22
#: Of numbers in a table: sums over a document's words stay exact.
_LARGEST = 2**31
_MOST_DIRECTIONS = 200
#: Where there is no noise, a deviation that divides.
_LEAST_DEVIATION = 1e-9


class QuestionProgress(NamedTuple):
    """What the server keeps between messages.

    Attributes
    ----------
    known : discreet.lda.questions.State
        With the question that is open.
    said : mapping
        Of the word vectors, for the release.
    n : float
        Documents, with noise; 0 before the first sum.
    n_deviation : float
        Standard deviation of that noise.
    strength : float
        As in :class:`~discreet.federated.state.Learned`.
    """

    known: questions.State[questions.Asked]
    said: Mapping[str, Any]
    n: float = 0.0
    n_deviation: float = 0.0
    strength: float = 0.0


def start(
    words: tuple[str, ...], vectors: NDArray[np.float64], n_topics: int, said: Mapping[str, Any]
) -> QuestionProgress:
    """Return what the server keeps before the first message."""
    return QuestionProgress(questions.begin(words, vectors, n_topics, questions.Asked), said)


def planned(epsilon: float, delta: float) -> events.Event:
    """Return what a silo books for all sums together."""
    noise = sum_round.noise_multiplier(epsilon, delta)
    return events.together(*(sum_round.event_of(noise_of_share(noise, share)) for share in _SHARES))


def noise_of(state: State) -> float:
    """Return the noise multiplier of the sum that is due."""
    return noise_of_share(sum_round.noise_of(state), _SHARES[state.round // MESSAGES])


def asked_of(state: State, table: Any, weights: Any) -> questions.Asked:
    """Return the question that is due, with what a server sent of it.

    Raises
    ------
    CorpusError
        Where the numbers are none of such a question: seen before anything is booked, from them alone.
    """
    kind, n = _KINDS[state.round // MESSAGES], state.n_words
    width = {"words": (0, 0), "squares": (1, _MOST_DIRECTIONS), "topics": (state.n_topics,) * 2}[kind]
    arrays = (table, weights)
    good = all(isinstance(part, np.ndarray) and part.dtype == np.int64 for part in arrays)
    good = good and table.ndim == 2 and len(table) == n and width[0] <= table.shape[1] <= width[1]
    good = good and weights.shape == ((n,) if kind == "topics" else (0,))
    for part in arrays if good else ():
        least = 1 if kind == "topics" else -_LARGEST
        good = good and bool(((part >= least) & (part <= _LARGEST)).all())
    if not good:
        raise CorpusError(
            f"the server does not ask about {kind} in a way that can be answered; nothing is sent."
        )
    return questions.Asked(kind, state.round // MESSAGES, (), table, weights)


def _sizes_of(asked: questions.Asked) -> dict[str, int]:
    d = asked.dimension
    if asked.kind == "words":
        return {"count": 1, "words": d}
    return {asked.kind: d * (d + 1) // 2 if asked.kind == "squares" else d}


def _shares(asked: questions.Asked) -> dict[str, float]:
    return {"count": _COUNT, "words": 1 - _COUNT} if asked.kind == "words" else {asked.kind: 1.0}


def contributions(corpus: Any, asked: questions.Asked) -> NDArray[np.int64]:
    """Return a silo's sum: of the number of documents too, where words are asked for."""
    bound, sizes = Bound("l2", bits=BITS, privacy_unit="document"), _sizes_of(asked)
    total = np.zeros(sizes[asked.kind], np.int64)
    together = max(_TOGETHER // max(sizes[asked.kind], 1), 1)
    for start in range(0, corpus.shape[0], together):
        rows = questions.answers(asked, corpus[start : start + together]).astype(np.float64)
        if asked.kind == "squares":
            one, other = np.triu_indices(rows.shape[1])
            rows = rows[:, one] * rows[:, other] * np.where(one == other, 1.0, math.sqrt(2.0))
        total += sum_rows(rows, bound, normalise=True).values
    count = [corpus.shape[0] << BITS] if asked.kind == "words" else []
    return np.concatenate([np.array(count, np.int64), total])


def _open(state: State) -> questions.Asked:
    """Return the open question; from the wire only where it is to be answered."""
    asked = state.sums.known.question if isinstance(state.sums, QuestionProgress) else state.sums
    if not isinstance(asked, questions.Asked):
        raise CorpusError("the server's message has no question; nothing is sent.")
    return asked


def sizes(state: State) -> dict[str, int]:
    """Return how many numbers each part of the sum that is due has."""
    return _sizes_of(_open(state))


def summed(state: State) -> Summed:
    """Return what is summed now."""
    asked = _open(state)
    what = f"masked sum of {asked.kind}, number {state.round // MESSAGES + 1}"
    return Summed(
        what, _sizes_of(asked), _shares(asked), noise_of(state), partial(contributions, asked=asked)
    )


def learn(state: State, found: NDArray[np.int64], n_vectors: int) -> tuple[NDArray[np.float64], Any]:
    """Learn from a whole sum, and ask what follows."""
    kept: QuestionProgress = state.sums
    number = state.round // MESSAGES
    asked = _open(state)
    more, noise = sum_round.more_noise(state, n_vectors), noise_of(state)
    deviations = {part: noise_of_share(noise, share) * more for part, share in _shares(asked).items()}
    values = sum_round.parts_of(found / 2.0**BITS, _sizes_of(asked))
    n = max(float(values["count"][0]), 1.0) if "count" in values else kept.n
    unit_noise = sum_round.noise_of(state) * more
    strength = n / unit_noise if unit_noise else math.inf
    known, answer, deviation = kept.known, values[asked.kind], deviations[asked.kind]
    n_deviation = deviations.get("count", kept.n_deviation)
    most = n + 20 * n_deviation
    size = np.abs(answer) if asked.kind == "squares" else answer
    if sum_round.is_nonsense(most, {asked.kind: size}, deviations):
        return state.topic_word, Learned(
            known.weight, known.unigram, n, strength, kept.said, number, nonsense=True
        )
    mean, deviation = answer / n, max(deviation / n, _LEAST_DEVIATION)
    if asked.kind == "squares":  # cells off the diagonal were scaled up by the root of 2
        mean, deviation = questions.square_of(mean), deviation / math.sqrt(2.0)
    known = questions.learn(known, mean, deviation, len(_SHARES), state.seed)
    topics = np.ascontiguousarray((known.topics / known.topics.sum(0)).T)
    too_few = strength < questions.LEAST_STRENGTH and not state.allow_unlearnable
    if known.question is None or too_few:
        return topics, _learned(known, kept.said, n, strength, number + 1)
    return topics, QuestionProgress(known, kept.said, n, n_deviation, strength)


def _learned(
    known: questions.State[questions.Asked], said: Mapping[str, Any], n: float, strength: float, n_sums: int
) -> Learned:
    return Learned(known.weight / known.weight.sum(), known.unigram, n, strength, said, n_sums)


def ended(state: State) -> State:
    """Return a course that ends where it is, with what its whole sums led to; any other state as it is.

    Costs nothing: topics follow from the sums that silos paid for. A sum that is under way is given up.
    """
    kept = state.sums
    if not isinstance(kept, QuestionProgress) or not kept.n:
        return state
    learned = _learned(kept.known, kept.said, kept.n, kept.strength, state.round // MESSAGES)
    return replace(state, round=state.n_rounds, masks=None, sums=learned)


def fit(state: State) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the topics that the answers led to, and what was found with them.

    Raises
    ------
    CorpusError
        Where a sum cannot be one of documents.
    ParameterError
        Where there is nothing to learn, or another number of topics is wanted.
    """
    found: Learned = state.sums
    if found.nonsense:
        raise CorpusError(sum_round.NONSENSE)
    if len(state.topic_word) != state.n_topics:
        raise ParameterError(
            f"the silos were asked about {len(state.topic_word)} topics, and answers about these cannot be fitted "
            f"with {state.n_topics}; ask anew."
        )
    least = questions.LEAST_STRENGTH
    if found.strength < least and not state.allow_unlearnable:
        raise ParameterError(
            f"about {found.n:,.0f} documents under this noise are worth s = {found.strength:,.0f}, and below "
            f"{least:,.0f} there is nothing to learn but how frequent words are. The first sum is kept, and "
            "no other was asked for; take more documents or a larger epsilon; `allow_unlearnable=True` goes on all the "
            "same."
        )
    told = {"n": found.n, "weight": found.weight, "unigram": found.unigram}
    settings = {
        "questions": ", ".join(_KINDS[: found.n_sums]),
        "strength": round(found.strength, 1),
        "forecast": questions.forecast_of(found.n, found.strength, about="about "),
        **found.said,
    }
    return state.topic_word, {**told, "settings": settings}
