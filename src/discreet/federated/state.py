"""What the server keeps: settings that silos agree on (the terms), and how far the rounds are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base import validate
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.federated.masks.masker import MOST_SILOS, check_tolerated

#: How many messages one sum takes, and which of them is the one that costs.
MESSAGES, VECTOR = 6, 3
#: Of the precision of the noise, for each sum: one of words and pairs, or one for each question.
SHARES_OF_SUMS = {
    "pairs": (Fraction(1),),
    "questions": (Fraction(4, 10), Fraction(1, 10), Fraction(2, 10), Fraction(3, 10)),
}
#: Beyond what anybody needs, and far below what would fill a silo's memory.
_MOST = 10**7

#: What settings must be, on either side of the wire.
RULES = validate.rules(
    n_clients=validate.whole(most=MOST_SILOS),
    n_topics=validate.whole(most=_MOST),
    n_words=validate.whole(most=_MOST),
    n_rounds=validate.whole(),
    delta=validate.number(least=0, below=1),
    tolerated=validate.whole(0),
    silos_see_result=validate.FLAG,
    statistic=validate.choice(*SHARES_OF_SUMS),
    vocabulary=validate.Rule(
        "a digest in 64 hexadecimal digits, or empty",
        lambda value: isinstance(value, str) and bool(re.fullmatch("([0-9a-f]{64})?", value)),
    ),
)


class Refusal(NamedTuple):
    """An update that was left out, and why."""

    client: Any
    round: int
    reason: str


class Learned(NamedTuple):
    """What was paid for by several sums, beside the topics; nothing further is asked.

    Attributes
    ----------
    weight : array of shape (n_topics,)
    unigram : array of shape (n_words,)
    n : float
        Documents, with noise.
    strength : float
        n over the noise multiplier of all sums together.
    said : mapping
        Of the word vectors, for the release.
    n_sums : int
        How many sums the topics follow from.
    nonsense : bool
        Whether the sum after these was none of documents.
    """

    weight: NDArray[np.float64]
    unigram: NDArray[np.float64]
    n: float
    strength: float
    said: Mapping[str, Any]
    n_sums: int
    nonsense: bool = False


@dataclass(frozen=True, eq=False)
class State:
    """All that the server knows.

    Attributes
    ----------
    n_clients, n_topics, n_words : int
    n_rounds : int
        Steps: six messages of each sum.
    epsilon, delta : float
        The promise, of one document.
    tolerated : int
        How many clients may drop out, or be in league with the server.
    silos_see_result : bool
        Whether silos see the topics. Then each brings more noise, so that the promise also holds towards them, who know
        their own.
    statistic : {"pairs", "questions"}
        What is summed; one sum of words and pairs, or one for each question about whole documents.
    vocabulary : str
        Digest of the public words, in their order; empty where it is not known.
    topic_word : array of shape (n_topics, n_words)
    seed : int
        Of starting points. Public.
    allow_unlearnable : bool
    round : int
        Rounds done; the round that is asked for now.
    masks : Sum or Shown, optional
        Of the sum that is under way: what the server keeps of its messages, or what one client is shown of them.
    sums : Any
        What earlier sums led to; after the last, what was paid for.
    result : mapping
        What was found with the topics.
    problem : str
        After the last round: why no topics were fitted.
    refusals : tuple of Refusal
    traffic : tuple of (int, int)
        Bytes received and number of updates taken, for each round.
    """

    n_clients: int
    n_topics: int
    n_words: int
    n_rounds: int
    epsilon: float
    delta: float
    topic_word: NDArray[np.float64]
    tolerated: int = 0
    silos_see_result: bool = True
    statistic: str = "pairs"
    vocabulary: str = ""
    seed: int = 0
    allow_unlearnable: bool = False
    round: int = 0
    masks: Any = None
    sums: Any = None
    result: Mapping[str, Any] = field(default_factory=dict[str, Any])
    problem: str = ""
    refusals: tuple[Refusal, ...] = ()
    traffic: tuple[tuple[int, int], ...] = ()

    @property
    def finished(self) -> bool:
        """Whether all rounds are done."""
        return self.round >= self.n_rounds


#: What a server may not change between rounds, and what silos agree on: all of a state that has a rule, and epsilon.
TERMS = tuple(each.name for each in fields(State) if each.name in (*RULES, "epsilon"))


def terms_bytes(state: State) -> bytes:
    """Return the terms in one form; part of what silos compare. Of several sums, each has terms of its own."""
    terms = agreed_terms(state)
    if len(SHARES_OF_SUMS[state.statistic]) > 1:
        terms["sum"] = state.round // MESSAGES
    return json.dumps(terms, sort_keys=True).encode()


def agreed_terms(state: State) -> dict[str, Any]:
    """Return all terms of a state, as ``expected`` of an :class:`Account`: for whoever plays server and silos.

    Parameters
    ----------
    state : State
    """
    return {name: getattr(state, name) for name in TERMS}


def check_terms(values: Mapping[str, Any]) -> None:
    """Refuse settings that no promise could be made with, all faults in one error."""
    faults: list[DiscreetError] = validate.faults_of(values, RULES)
    epsilon, delta = values["epsilon"], values["delta"]
    if not validate.is_number(epsilon) or not epsilon > 0:
        faults.append(PrivacyError(f"epsilon must be positive, but is {validate.shown(epsilon)}."))
    if not faults:
        statistic, seen = values["statistic"], values["silos_see_result"]
        if values["n_rounds"] != steps_of(statistic):
            faults.append(ParameterError("`n_rounds` follows from the sums; leave it alone."))
        faults += faults_together(delta, seen, statistic)
        of_silos = values["n_clients"], values["tolerated"]
        faults += validate.collect(lambda: check_tolerated(*of_silos, silos_see_result=seen))
    validate.refuse(faults)


def steps_of(statistic: Any) -> int:
    """Return how many messages a silo sends: six for each sum."""
    return MESSAGES * len(SHARES_OF_SUMS.get(statistic, ("one",)))


def faults_together(delta: float, silos_see_result: bool, statistic: str) -> list[DiscreetError]:
    """Return what is wrong with settings together, each of which is right."""
    faults: list[DiscreetError] = []
    if not delta > 0:
        faults.append(PrivacyError("sums have Gaussian noise, which needs a `delta` above 0, such as 1e-6."))
    if statistic != "pairs" and not silos_see_result:
        faults.append(
            PrivacyError(
                "silos see what the sums before each question led to, so that with `word_vectors` the result cannot "
                "stay with the server: leave `silos_see_result` at True."
            )
        )
    return faults
