"""The protocol as pure functions: what the server keeps, what a client sends, and how rounds go on.

``init_server`` makes a state; ``client_update`` computes what one silo sends for it; ``server_step`` takes what has
come, whatever it is, and returns the next state. Any transport can carry them: :class:`FederatedLDA` calls them in one
process, :mod:`discreet.federated.flower` over a network. Everything in a state is public but what was sent.

An update that is not what the round asked for is left out whole, with its reason (:class:`Refusal`): of an unknown
client, for another round, a second one, of the wrong kind or size, or with a value that no honest client sends.
No update can keep a round from ending.

What was paid for is never thrown away: the last step keeps what came in ``sums`` and then tries to fit topics to it.
Where nothing can be learned it says so in ``problem``, and :func:`fit_state` fits the same sums again, with another
number of topics, say, as often as one likes and at no cost. A course of sums keeps what each has led to: where a later
one fails, :func:`fit_state` ends it with those before.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from discreet._base.arrays import column_words
from discreet._base.validate import faults_of, is_whole, refuse, rules, whole
from discreet.corpus.word_vectors import WordVectors, match_vectors
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.federated import question_round, sum_round
from discreet.federated.account import Account, check_columns, vocabulary_digest
from discreet.federated.state import (
    MESSAGES,
    TERMS,
    VECTOR,
    Learned,
    Refusal,
    State,
    agreed_terms,
    check_terms,
    steps_of,
)
from discreet.federated.sum_round import Sum, event_of, take_part
from discreet.privacy.noise.stream import SecureStream

_PARTS = {"pairs": sum_round, "questions": question_round}


class Update(NamedTuple):
    """What one client sends in one round.

    Attributes
    ----------
    client : int
        Its number, from 0.
    round : int
    values : array
        See :mod:`~discreet.federated.sum_round`.
    """

    client: int
    round: int
    values: Any


def init_server(
    *,
    n_clients: int,
    n_topics: int,
    n_words: int,
    epsilon: float,
    delta: float,
    vocabulary: Any = "",
    seed: int = 0,
    word_vectors: Any = None,
    **options: Any,
) -> State:
    """Return the state before the first round: topics near even, drawn from a public seed.

    Parameters
    ----------
    n_clients, n_topics, n_words : int
    epsilon, delta : float
    vocabulary : sequence of str, or str
        The public words, or their digest (:func:`vocabulary_digest`).
    seed : int
        Of the starting topics. Public.
    word_vectors : path, mapping, KeyedVectors, array, (words, array) or WordVectors, optional
        Public vectors of the words. Then three questions are asked, in four sums of six messages each
        (:mod:`~discreet.federated.question_round`). ``vocabulary`` must be the words themselves, unless this is an
        array with a row for each.
    **options
        ``tolerated`` (clients that may drop out), ``silos_see_result``, ``allow_unlearnable``; see :class:`State`.

    Raises
    ------
    ParameterError, PrivacyError
        All that is wrong with the settings, in one.
    """
    vocabulary = vocabulary if isinstance(vocabulary, str) else tuple(vocabulary)
    digest = vocabulary if isinstance(vocabulary, str) else vocabulary_digest(vocabulary)
    if word_vectors is not None:
        options["statistic"] = "questions"
    unknown = sorted(set(options) - {*TERMS, "allow_unlearnable"} | set(options) & {"n_rounds"})
    if unknown:
        raise ParameterError(f"there is no setting {', '.join(unknown)}; see discreet.federated.State.")
    statistic: Any = options.get("statistic", "pairs")
    if statistic == "questions" and word_vectors is None:
        raise ParameterError('statistic="questions" is what word_vectors= asks for; give public vectors.')
    given: dict[str, Any] = {
        **{"n_clients": n_clients, "n_topics": n_topics, "n_words": n_words},
        **{"n_rounds": steps_of(statistic), "epsilon": epsilon, "delta": delta},
    }
    defaults = {field.name: field.default for field in fields(State) if field.name in TERMS}
    check_terms({**defaults, **given, "vocabulary": digest, **options})
    given = {name: int(value) if is_whole(value) else value for name, value in {**given, **options}.items()}
    topics = np.random.default_rng(seed).gamma(10.0, size=(n_topics, n_words))
    topics /= topics.sum(1, keepdims=True)
    given.update(epsilon=float(epsilon), delta=float(delta))
    sums = None if word_vectors is None else _questions(word_vectors, vocabulary, n_words, n_topics)
    return State(**given, topic_word=topics, vocabulary=digest, seed=seed, sums=sums)


def _questions(source: Any, vocabulary: Any, n_words: int, n_topics: int) -> Any:
    if not isinstance(vocabulary, str):
        words = vocabulary
    elif not isinstance(source, WordVectors):
        words = column_words(n_words)  # they stand for words that nobody gave
    elif vocabulary in ("", vocabulary_digest(source.words)):
        words = source.words
    else:
        raise ParameterError(
            f"`word_vectors` were matched to {len(source.words):,} words that do not have the digest of `vocabulary`; "
            "match them to its words."
        )
    if len(words) != n_words:
        raise ParameterError(f"`vocabulary` has {len(words):,} words, but there are {n_words:,}.")
    found = match_vectors(source, words)
    return question_round.start(words, found.vectors, n_topics, found.settings())


def client_update(state: State, corpus: Any, stream: SecureStream, account: Account) -> Update:
    """Compute what a silo sends in the round that the state asks for. The cost is booked before the corpus is read.

    Parameters
    ----------
    state : State
    corpus : matrix of counts or Corpus of shape (n_documents, n_words), or a callable that returns one
        The silo's counts. Looked at, checked (or called) after the booking; only its columns are looked at before.
    stream : SecureStream
        The client's own.
    account : Account
        The client's own: its number, its ledger, what it expects, what it sent before.

    Raises
    ------
    BudgetExceeded
        Where the round would cost more than is left. Nothing is sent then.
    PrivacyError
        Where the server's settings are not those that were agreed, or of the client's first round, or the ledger
        protects another unit.
    CorpusError
        Where the silo counts another number of words, before anything is booked; where its counts are none, after.
    """
    account.agree(agreed_terms(state))
    check_columns(corpus, state.n_words)
    part, message = _part(state), state.round % MESSAGES
    if message == 0:  # who cannot pay should not find it out when the others have paid
        account.afford(
            part.planned(state.epsilon, state.delta) if state.round == 0 else event_of(part.noise_of(state))
        )
    what = part.summed(state) if message == VECTOR else None
    return Update(account.client, state.round, take_part(state, what, corpus, stream, account))


def server_step(
    state: State, updates: Iterable[Any], *, keep: Callable[[State], object] | None = None
) -> State:
    """Take what came, leave out what is not right, and return the state of the next round.

    Parameters
    ----------
    state : State
    updates : iterable of Update
        Or of anything else, which is left out.
    keep : callable, optional
        After the last round, ``keep(state)`` is called before topics are fitted: to save what was paid for. With
        ``word_vectors``, after each sum, with a state that ends there; not for a later sum that is nonsense.

    Raises
    ------
    PrivacyError
        Where too few clients are left. The state before stands: ask those who are missing again, or, with
        ``word_vectors``, let :func:`fit_state` end it with the sums before.
    """
    if state.finished:
        raise ParameterError(f"all {state.n_rounds} rounds are done; read the topics, or start over.")
    taken: dict[int, Any] = {}
    refusals: list[Refusal] = []
    received = 0
    n_integers = sum(_part(state).sizes(state).values())
    for update in updates:
        reason = _fault(state, update, taken) or sum_round.fault(state, update, n_integers)
        if reason:
            refusals.append(Refusal(getattr(update, "client", None), state.round, reason))
        else:
            taken[update.client] = update.values
            received += update.values.nbytes
    # Sorted, so that the order in which updates come changes nothing.
    topics, masks, sums = _combine(state, dict(sorted(taken.items())))
    after = replace(
        state,
        # A course of sums ends with the first one that tells that there is nothing to learn.
        round=state.n_rounds if isinstance(sums, Learned) else state.round + 1,
        topic_word=topics,
        masks=masks,
        sums=sums,
        refusals=(*state.refusals, *refusals),
        traffic=(*state.traffic, (received, len(taken))),
    )
    if keep is not None and _holds_new_sums(after):
        keep(ended(after))
    if not after.finished:
        return after
    try:
        return fit_state(after)
    except DiscreetError as fault:
        return replace(after, problem=str(fault))


def _combine(state: State, taken: dict[int, Any]) -> tuple[Any, Any, Any]:
    """Return topics, what is kept of the sum that is under way, and what whole sums led to."""
    try:
        found = sum_round.take(state, taken)
    except PrivacyError as fault:
        number = state.round // MESSAGES
        if not number:
            raise
        raise PrivacyError(
            f"{fault} What the {number} sums before it led to is not lost: fit_state(state) ends the course there, and "
            "so does save_state."
        ) from None
    if isinstance(found, Sum):
        return state.topic_word, found, state.sums
    topics, sums = _part(state).learn(state, found, len(state.masks.vectors))
    return topics, None, sums


def fit_state(state: State, *, n_topics: int | None = None, allow_unlearnable: bool | None = None) -> State:
    """Fit topics to what was paid for, with other settings if wanted. Costs nothing.

    Parameters
    ----------
    state : State
        After the last round; or, with ``word_vectors``, after the first sum: topics then follow from the sums so far,
        and the state that is returned has ended.
    n_topics : int, optional
    allow_unlearnable : bool, optional
        Fit even where nothing but the words' frequencies stands above the noise.

    Raises
    ------
    ParameterError
        Where there is nothing to learn, or rounds are left.
    CorpusError
        Where the sums cannot be those of documents.
    """
    state = ended(state)
    if not state.finished:
        raise ParameterError(f"round {state.round} of {state.n_rounds} is not done; go on with server_step.")
    n_topics = state.n_topics if n_topics is None else n_topics
    refuse(faults_of({"n_topics": n_topics}, rules(n_topics=whole())))
    allowed = state.allow_unlearnable if allow_unlearnable is None else allow_unlearnable
    wanted = replace(state, n_topics=n_topics, allow_unlearnable=allowed, problem="")
    topics, result = _part(wanted).fit(wanted)
    return replace(wanted, topic_word=topics, result=result)


def _holds_new_sums(state: State) -> bool:
    """Whether there is more to keep than before: the end, or a further sum of a course that was none of nonsense."""
    if isinstance(state.sums, Learned) and state.sums.nonsense:
        return not state.sums.n_sums
    return state.finished or (state.statistic == "questions" and state.round % MESSAGES == 0)


def _fault(state: State, update: Any, taken: dict[int, Any]) -> str | None:
    if not isinstance(update, Update):
        return "no update"
    if not is_whole(update.client):
        return "no client's number"
    if not 0 <= update.client < state.n_clients:
        return "unknown client"
    if not is_whole(update.round) or update.round != state.round:
        return "for another round"
    if update.client in taken:
        return "a second update"
    if not isinstance(update.values, np.ndarray):
        return "no array"
    return None


def ended(state: State) -> State:
    """Return a course of sums that ends where it is; any other state as it is."""
    return question_round.ended(state) if state.statistic == "questions" else state


def _part(state: State) -> Any:
    """Return the module that knows what is summed."""
    return _PARTS[state.statistic]
