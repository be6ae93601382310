"""FederatedLDA: topics of texts that stay in their silos, simulated in one process. A shell over the round functions.

The guarantee and its proof stand in :mod:`~discreet.federated.sum_round`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._base import validate
from discreet._base.arrays import as_array, column_words
from discreet._base.progress import Callback, tell
from discreet.corpus.counting import refuse_texts
from discreet.corpus.vocabulary import (
    GivenWords,
    WordOrigin,
    given_words,
    refuse_chosen_columns,
)
from discreet.corpus.word_vectors import read_vectors
from discreet.errors import CorpusError, DiscreetError, ParameterError, PrivacyError
from discreet.federated import question_round, sum_round
from discreet.federated.account import UNIT, Account, vocabulary_digest
from discreet.federated.rounds import client_update, fit_state, init_server, server_step
from discreet.federated.state import RULES, State, agreed_terms, faults_together
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_epsilon
from discreet.release.numbers import public_settings
from discreet.release.private_estimator import PlannedEstimator
from discreet.release.release import Release, ReleasedTopics


@validate.declared
@dataclass(eq=False, repr=False)
class FederatedLDA(PlannedEstimator, ReleasedTopics):
    """Topics of several silos' texts, which never leave them.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    epsilon, delta : float, default 1.0 and 1e-6
        The promise, for one whole document added or removed: moments are summed over silos by secure aggregation, with
        noise that the silos bring together.
    tolerated : int, default 0
        How many silos may drop out, or be in league with the server; below half of them, or so many that each silo
        brings all the noise.
    silos_see_result : bool, default True
        Whether silos see the topics. They know their own noise and can subtract it, so each brings so much that the
        others' is enough. False only where the result stays with the server; not with ``word_vectors``, where questions
        to silos are made of sums.
    word_vectors : path, mapping, KeyedVectors, array or (words, array), optional
        *Public* vectors of the words (see :func:`discreet.corpus.match_vectors`). In place of words and pairs, three
        questions about whole documents are then summed, one after the other, in four sums that cost together what the
        one does (:mod:`~discreet.federated.question_round`). They must not have been trained on the private texts.
    allow_unlearnable : bool, default False
        Fit even where nothing but the words' frequencies stands above the noise.
    random_state : int, optional
        None: secure randomness. An int: reproducible, and the release says "not for release".
    n_jobs : int, optional
        Threads of ``transform``.
    callback : callable, optional
        ``callback(stage, done, total)``.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    learnable_ : int
        How many topics the noise let through (not with ``word_vectors``).
    client_ledgers_ : list of Ledger
        What each client booked, round by round.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.
    state_ : State
        The server's last state. ``state_.traffic`` has the bytes of each round; ``state_.sums`` what was paid for, to
        which :func:`~discreet.federated.fit_state` fits topics again at no cost.

    Notes
    -----
    This class plays all parts in one process, for study and for choosing settings. Where silos are apart, the same
    functions run over a network: :mod:`discreet.federated.flower`.

    Where nothing can be learned from what came, ``fit`` says so once it is paid for; ``state_`` and ``client_ledgers_``
    are set all the same.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> own = np.arange(30) // 10 == rng.integers(3, size=(6000, 1))
    >>> counts = (rng.random((6000, 30)) < np.where(own, 0.4, 0.02)).astype(int)
    >>> model = FederatedLDA(3, random_state=0)
    >>> model.fit([counts[:3000], counts[3000:]]).components_.shape
    (3, 30)
    """

    n_topics: Annotated[int, RULES["n_topics"]] = 20
    _: KW_ONLY
    epsilon: float = 1.0
    delta: Annotated[float, RULES["delta"]] = 1e-6
    tolerated: Annotated[int, RULES["tolerated"]] = 0
    silos_see_result: Annotated[bool, validate.FLAG] = True
    word_vectors: Annotated[Any, validate.ANYTHING] = None
    allow_unlearnable: Annotated[bool, validate.FLAG] = False
    random_state: Annotated[int | None, validate.SEED] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None

    def _faults(self) -> list[DiscreetError]:
        faults = [*super()._faults(), *validate.collect(lambda: check_epsilon(self.epsilon))]
        if not faults:
            statistic = "pairs" if self.word_vectors is None else "questions"
            faults += faults_together(self.delta, self.silos_see_result, statistic)
        return faults

    def planned_event(self) -> events.Event:
        """Return what ``fit`` will book on each silo's ledger, before any data.

        Returns
        -------
        event
            As made by :mod:`discreet.privacy.events`.

        Raises
        ------
        ParameterError, PrivacyError
            Naming all parameters that are out of range.
        """
        self._check_parameters()
        part = sum_round if self.word_vectors is None else question_round
        return part.planned(self.epsilon, self.delta)

    def fit(
        self, X: Sequence[Any], y: Any = None, *, vocabulary: Any = None, words_are_public: bool = False
    ) -> FederatedLDA:
        """Run all rounds.

        Parameters
        ----------
        X : sequence of count matrices (or Corpus), each of shape (n_documents, n_words)
            One a silo, over the same public words.
        y : None
            Ignored.
        vocabulary : sequence of str, optional
            Public; by default that of the parts, or numbers.
        words_are_public : bool, default False
            Say that the words were not made from the silos' texts. Without this, words are refused.

        Raises
        ------
        ParameterError, CorpusError, PrivacyError
        """
        _refuse_other_than_parts(X)
        self._check_parameters()
        n_words = _width(X[0])
        given = _words(X, vocabulary, words_are_public, n_words)
        words = column_words(n_words) if given.words is None else given.words
        vectors = None if self.word_vectors is None else read_vectors(self.word_vectors, given.words)
        state = init_server(
            n_clients=len(X),
            n_topics=self.n_topics,
            n_words=n_words,
            epsilon=self.epsilon,
            delta=self.delta,
            vocabulary=vocabulary_digest(words),
            tolerated=self.tolerated,
            silos_see_result=self.silos_see_result,
            word_vectors=vectors,
            allow_unlearnable=self.allow_unlearnable,
        )
        root = SecureStream(self.random_state).spawn("federated")
        streams = [root.spawn(f"client {client}") for client in range(len(X))]
        expected = agreed_terms(state)
        accounts = [Account(client, self._make_ledger(state), expected=expected) for client in range(len(X))]
        while not state.finished:
            updates: list[Any] = []
            for silo, stream, account in zip(X, streams, accounts, strict=True):
                updates.append(client_update(state, silo, stream, account))
            state = server_step(state, updates)
            tell(self.callback, "federated rounds", state.round, state.n_rounds)
        if state.refusals:
            raise PrivacyError(f"an update was left out: {state.refusals[0].reason}.")
        self.state_ = state
        self.client_ledgers_ = [account.ledger for account in accounts]
        if state.problem:
            fit_state(state)  # says it again, as an error
        self.n_features_in_ = state.n_words
        self.release_ = make_release(
            state, self.client_ledgers_, words, reproducible=root.reproducible, origin=given.origin
        )
        return self

    def _make_ledger(self, state: State) -> Ledger:
        """Return a new ledger for a silo."""
        return make_ledger(state)

    @property
    def learnable_(self) -> int:
        """How many topics the noise let through; sums of questions do not tell it."""
        check_is_fitted(self, "release_")
        found = self.release_.configuration.get("learnable")
        if not isinstance(found, int):
            raise AttributeError("word_vectors= does not tell how many topics can be learned.")
        return found

    def fit_transform(self, X: Sequence[Any], y: Any = None, **fit_params: Any) -> NDArray[np.float64]:
        """Fit, and return the topic shares of all silos' documents, one silo after the other.

        As private as the documents: each silo would compute its own, and keep them.

        Parameters
        ----------
        X : sequence of count matrices
            As for :meth:`fit`.
        y : None
            Ignored.
        **fit_params
            ``vocabulary`` and ``words_are_public``, as for :meth:`fit`.

        Returns
        -------
        array of shape (n_documents of all silos, n_topics), rows sum to 1
        """
        self.fit(X, y, **fit_params)
        return np.concatenate([ReleasedTopics.transform(self, part) for part in X])


def _refuse_other_than_parts(X: Any) -> None:
    """Refuse what is no list of matrices for its kind alone."""
    if not isinstance(X, list | tuple) or not X:
        found = "an empty list" if isinstance(X, list | tuple) else f"one {type(X).__name__}"
        raise CorpusError(
            f"fit takes a list of count matrices or corpora, one for each silo, but got {found}: "
            "fit([counts_of_first_silo, counts_of_second_silo])."
        )
    for part in X:
        refuse_texts(part)


def _width(part: Any) -> int:
    shape = part.counts.shape if hasattr(part, "counts") else getattr(part, "shape", None)
    shape = as_array(part, "a part").shape if shape is None else shape
    if len(shape) != 2:
        raise CorpusError(f"each part must be a matrix of counts, but one has shape {tuple(shape)}.")
    return int(shape[1])


def _words(parts: Sequence[Any], vocabulary: Any, words_are_public: Any, n_words: int) -> GivenWords:
    for part in parts:
        refuse_chosen_columns(part)
    found = [given_words(part, vocabulary, words_are_public, "FederatedLDA.fit") for part in parts]
    if len({given.words for given in found}) > 1:
        raise CorpusError("the silos count with different words; read all with one public `vocabulary=`.")
    if not all(given.origin.kind in ("public", "numbered") for given in found):
        raise PrivacyError(
            "a silo's words were made from its texts, or nobody says where they come from, and they would leak: count "
            "with a public `vocabulary=`, and say `words_are_public=True`."
        )
    words = found[0].words
    if words is not None and len(words) != n_words:
        raise CorpusError(f"the vocabulary has {len(words)} words, but the parts have {n_words} columns.")
    return found[0]


def make_ledger(state: State) -> Ledger:
    """Return a client's ledger with the budget that the state promises."""
    unit, neighboring = UNIT
    return Ledger(state.epsilon, state.delta, privacy_unit=unit, neighboring=neighboring)


def make_release(
    state: State,
    ledgers: Sequence[Ledger],
    vocabulary: Sequence[str],
    *,
    reproducible: bool,
    origin: WordOrigin | None = None,
) -> Release:
    """Return the release: clients hold disjoint texts, so that each is promised what the worst of them booked.

    Words are public, or there are none; by default it is the silos that say so, who agreed on them.
    """
    if not state.finished:
        raise ParameterError(f"round {state.round} of {state.n_rounds} is not done; go on with server_step.")
    if state.problem:
        raise ParameterError(
            f"{state.problem} There are no topics to release; try fit_state with other settings."
        )
    worst = max(ledgers, key=lambda ledger: ledger.spent().epsilon)
    result = state.result
    words = WordOrigin.public("the silos, which agreed on the list") if origin is None else origin
    settings = public_settings(
        "FederatedLDA",
        "federated, aggregate",
        n_topics=state.n_topics,
        n_clients=state.n_clients,
        epsilon=state.epsilon,
        delta=state.delta,
        messages_per_client=len(state.traffic),
        bytes_received=sum(size for size, _ in state.traffic),
        dropouts_tolerated=state.tolerated,
        promise_holds_towards_silos=state.silos_see_result,
        **words.settings(),
    )
    if "learnable" in result:
        settings["learnable"] = int(result["learnable"])
        settings["forecast"] = (
            f"Learnability: {settings['learnable']} of {state.n_topics} topics are told apart through the noise of "
            "what was released. How good they are is not foretold: no law was fitted to sums of pairs."
        )
    settings |= result.get("settings", {})
    return Release(
        state.topic_word,
        tuple(vocabulary),
        worst.snapshot(),
        settings,
        reproducible,
        result.get("weight"),
        result.get("unigram"),
        None,
        result.get("n"),
    )
