"""WholeDocumentLDA: topics from one report of each writer, purely private for the whole document.

From one question to the next by reports: :func:`step` takes the means of answers to :mod:`discreet.lda.questions`, and
the estimator is a shell over it. All of it is post-processing of reports, public word vectors and a public vocabulary:
the promise is the channel's (:mod:`discreet.local.whole_document.codebook`), whatever is computed and however often.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base import validate
from discreet._base.arrays import as_texts, column_words, in_order, known_words, names_of
from discreet._base.callers import warn_caller
from discreet._base.progress import Callback, tell
from discreet.corpus import check_counts
from discreet.corpus.vocabulary import WordOrigin, check_words, refuse_chosen_columns
from discreet.corpus.word_vectors import WordVectors, match_vectors
from discreet.errors import CorpusError, ParameterError, WeakForecastWarning
from discreet.lda import questions
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.questions import LEAST_STRENGTH, forecast_of, kinds, learn
from discreet.local.local_lda import SEEDED, ledger_of_reports
from discreet.local.whole_document.codebook import NONCE_BYTES, CodebookChannel
from discreet.local.whole_document.questions import (
    CodebookReport,
    PublishedQuestion,
    Question,
    question_of,
    thresholds,
)
from discreet.local.wire import vocabulary_digest
from discreet.privacy.accounting import events
from discreet.privacy.noise.stream import SecureStream
from discreet.release.numbers import public_settings
from discreet.release.private_estimator import PlannedEstimator
from discreet.release.release import Release, ReleasedTopics

State = questions.State[Question]


class Answers(NamedTuple):
    """Reports on one question.

    Attributes
    ----------
    numbers : sequence of bytes
        Of the clients: their nonces.
    indices : array of shape (n,)
        The codewords that they sent.
    """

    numbers: Sequence[bytes]
    indices: NDArray[np.int64]


def step(state: State, answers: Answers, channel: CodebookChannel, n_questions: int, seed: int) -> State:
    """Return what is known with the answers, one or more, to ``state.question``, one of ``n_questions``."""
    question = state.question
    assert question is not None
    codebook, n = channel.codebook(question.dimension, question.digest), len(answers.numbers)
    if question.two_sided:
        mean = channel.mean_square(codebook.codewords(answers.numbers, answers.indices))
    else:
        mean = channel.mean(codebook.total(answers.numbers, answers.indices), n)
    return learn(state, mean, channel.deviation / np.sqrt(n), n_questions, seed)


#: Clients at once.
_TOGETHER = 256


_MOST_QUESTIONS = 8
_NOTHING_OPEN = "no question is open; begin with begin(vocabulary)."


def _are_shares(value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence) or not 1 <= len(value) <= _MOST_QUESTIONS:
        return False
    shares: Sequence[Any] = value
    return all(validate.is_number(share) and 0 < share < math.inf for share in shares)


_SHARES = validate.Rule(f"1 to {_MOST_QUESTIONS} positive numbers", _are_shares)


@validate.declared
@dataclass(eq=False, repr=False)
class WholeDocumentLDA(PlannedEstimator, ReleasedTopics):
    r"""Topics of texts that nobody but their writers ever saw, each text private as a whole.

    Every client answers one of three questions about its document, once, with a report of 10 to 12 bits that is purely
    ``epsilon``-differentially private for the whole document, however long it is. Public word vectors make that enough
    where there are many clients: about :math:`10^5` at epsilon 8, or :math:`10^6` at epsilon 2 to 4.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    epsilon : float
        Of one report: pure, for any document replaced by any other. Up to 20; no default, for it is what clients are
        told.
    word_vectors : path, mapping, KeyedVectors, array or (words, array)
        *Public* vectors of the words (see :func:`discreet.corpus.match_vectors`); they must not have been trained on
        the private texts.
    shares : sequence of float, default (0.4, 0.1, 0.2, 0.3)
        Of the clients that are asked for their words, for the square of their embedding, and about topics, once or
        several times. ``(1.0,)`` asks all for words: topics are then those of the vectors under the unigram found.
    allow_unlearnable : bool, default False
        Fit even where the clients are too few to learn more than that; it warns, and the release says so.
    random_state : int, Generator or None
        None takes secure coins. A seed makes ``fit``'s simulated clients reproducible, and their release is marked as
        not for release.
    n_jobs : int, optional
        Threads of ``transform``.
    callback : callable, optional
        ``callback(stage, done, total)``.

    Attributes
    ----------
    release_ : Release
        Topics, with the promise of one report. ``word_weight`` is ``unigram_``; each share had noise of standard
        deviation ``configuration["word_weight_noise"]`` before the prior read it.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    unigram_ : array of shape (n_words,)
        Share of each word; sums to 1.
    question_ : Question or None
        What is asked next; None once there is a release.
    n_left_out_ : int
        Reports, or numbers with two answers, that ``learn`` left out since ``begin``.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns.

    Notes
    -----
    *Guarantee*: pure ``epsilon``, unit "report", "replace_one", for each report, whatever the server does. Who answers
    which question depends on public numbers alone; later questions are made of other clients' answers. A writer with
    several documents pays for each. Proof: :mod:`discreet.local.whole_document.codebook`.

    ``fit`` simulates the clients of a corpus. Real ones answer in turn::

        question = model.begin(vocabulary)
        while question is not None:
            question = model.learn(reports_on(question))  # from clients with ReportMemo.answer

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> own = np.arange(12) // 4 == rng.integers(3, size=(28000, 1))
    >>> texts = (rng.random((28000, 12)) < np.where(own, 0.6, 0.05)).astype(int)
    >>> vectors = np.repeat(np.eye(3), 4, axis=0) + 0.1 * rng.normal(size=(12, 3))
    >>> model = WholeDocumentLDA(3, epsilon=8, word_vectors=vectors, random_state=0)
    >>> model.fit(texts).components_.shape
    (3, 12)
    """

    n_topics: Annotated[int, validate.whole()] = 20
    _: KW_ONLY
    epsilon: Annotated[float, validate.number(above=0, most=20)]
    word_vectors: Annotated[Any, validate.ANYTHING]
    shares: Annotated[Sequence[float], _SHARES] = (0.4, 0.1, 0.2, 0.3)
    allow_unlearnable: Annotated[bool, validate.FLAG] = False
    random_state: Annotated[Any, validate.RANDOM] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None

    def planned_event(self) -> events.Event:
        """Return the event of one report, which the release will state.

        Raises
        ------
        ParameterError
            Naming all parameters that are out of range.
        """
        self._check_parameters()
        return events.pure(self.channel().epsilon)

    def channel(self, question: Question | None = None) -> CodebookChannel:
        """Return the channel that clients answer a question through; by default the one-sided one."""
        two_sided = question is not None and question.two_sided
        return CodebookChannel.for_document(self.epsilon, two_sided=two_sided)

    def learnable(self, n_documents: int) -> float:
        r"""Return how strong so many clients are: :math:`s = \sqrt n / sd`, sd the deviation of one report.

        Raises
        ------
        ParameterError
            Where s is below about 450 (unless ``allow_unlearnable``, or where only words are asked for): then topics
            of the vectors alone are better than anything that the other questions can find.
        """
        self._check_parameters()
        channel = self.channel()
        strength = math.sqrt(n_documents) / channel.deviation
        if self._is_weak(strength) and not self.allow_unlearnable:
            needed = math.ceil((LEAST_STRENGTH * channel.deviation) ** 2)
            raise ParameterError(
                f"{n_documents:,} whole documents at epsilon {channel.epsilon:.4g} are worth s = {strength:,.0f}, and "
                f"below {LEAST_STRENGTH:,.0f} there is nothing to learn but how frequent words are: ask about "
                f"{needed:,} clients or more, promise less, or let a shuffler or secure aggregation stand between. "
                "`shares=(1.0,)` asks for words alone, and `allow_unlearnable=True` fits all the same."
            )
        return strength

    def _is_weak(self, strength: float) -> bool:
        return strength < LEAST_STRENGTH and len(self.shares) > 1

    def begin(self, vocabulary: Sequence[str]) -> Question:
        """Forget what was learned, and return the first question.

        Parameters
        ----------
        vocabulary : sequence of str
            The public words.
        """
        self._check_parameters()
        words = check_words(as_texts(vocabulary, "the vocabulary"), "vocabulary: position")
        self._vectors: WordVectors = match_vectors(self.word_vectors, words)
        self._state: State = questions.begin(words, self._vectors.vectors, self.n_topics, Question)
        self._n_reports, self._seeded, self.n_left_out_ = list[int](), False, 0
        self.question_, self.n_features_in_ = self._state.question, len(words)
        assert self.question_ is not None
        return self.question_

    def published(self) -> str:
        """Return ``question_`` with its channel and the rule whose turn it is, as JSON for clients in browsers."""
        question = getattr(self, "question_", None)
        if question is None:
            raise CorpusError(_NOTHING_OPEN)
        return PublishedQuestion.of(question, self.channel(question), self.shares).to_json()

    def learn(self, reports: Iterable[CodebookReport]) -> Question | None:
        """Learn from the reports on ``question_``; return the next question, or None where ``release_`` is made.

        Parameters
        ----------
        reports : iterable of CodebookReport
            All that were collected; repeated ones count once. Left out, and counted in ``n_left_out_``, are those of
            another channel, vocabulary or question, of clients whose turn it is not by their number, and all of a
            number that comes with two answers: one sender must not stop the others. Invented reports that fit are
            not told apart from others.

        Raises
        ------
        CorpusError
            Where no question is open, or no report is left.
        ParameterError
            Where there are too few clients to learn from.
        """
        question = getattr(self, "question_", None)
        if question is None:
            raise CorpusError(_NOTHING_OPEN)
        expected = (self.channel(question), vocabulary_digest(question.vocabulary), question.digest)
        ends, found, seeded, wrong = thresholds(self.shares), dict[bytes, set[int]](), set[bytes](), 0
        for report in reports:
            asked = (report.channel, report.vocabulary, report.question) == expected
            if not asked or question_of(report.number, ends) != question.place:
                wrong += 1
                continue
            found.setdefault(report.number, set()).add(report.answer)
            if report.channel.reproducible:
                seeded.add(report.number)
        kept = {number: answers.pop() for number, answers in found.items() if len(answers) == 1}
        told = Answers(list(kept), np.array(list(kept.values()), np.int64))
        following = self._learn(told, seeded=not seeded.isdisjoint(kept))
        self.n_left_out_ += wrong + len(found) - len(kept)
        return following

    def fit(self, X: Any, y: Any = None, *, vocabulary: Any = None) -> WholeDocumentLDA:
        """Simulate the clients of documents, and learn from their reports.

        Parameters
        ----------
        X : Corpus, matrix, array or frame of shape (n_documents, n_words)
            Counts; which words a document has is what matters. Each document is a client, and gives one report.
        y : None
            Ignored.
        vocabulary : sequence of str of length n_words, optional
            The public words; by default those of X, or numbers.

        Raises
        ------
        ParameterError
            Names all parameters that are out of range; or says that there is nothing to learn.
        CorpusError
            Where X is not what was expected.
        """
        self._check_parameters()
        refuse_chosen_columns(X)
        given = names_of(X) if vocabulary is None else as_texts(vocabulary, "the vocabulary")
        counts = check_counts(X if given is None else in_order(X, known_words(given)))
        words = column_words(counts.shape[1]) if given is None else tuple(given)
        if len(words) != counts.shape[1]:
            raise CorpusError(f"the vocabulary has {len(words)} words, but X has {counts.shape[1]} columns.")
        self.learnable(counts.shape[0])
        stream = SecureStream(None if self.random_state is None else new_seed(self.random_state))
        raw = stream.spawn("numbers").words(2 * counts.shape[0]).tobytes()
        numbers = [raw[at : at + NONCE_BYTES] for at in range(0, len(raw), NONCE_BYTES)]
        places = np.array([question_of(one, thresholds(self.shares)) for one in numbers])
        question: Question | None = self.begin(words)
        while question is not None:
            mine = np.flatnonzero(places == question.place)
            told = self._simulate(question, counts, mine, [numbers[row] for row in mine], stream)
            question = self._learn(told, seeded=stream.reproducible)
        return self

    def _simulate(
        self, question: Question, counts: Any, rows: Any, numbers: list[bytes], stream: SecureStream
    ) -> Answers:
        """Answer for the documents ``rows``, each as a client of its own with its number."""
        channel, found = self.channel(question), np.empty(len(rows), np.int64)
        codebook = channel.codebook(question.dimension, question.digest)
        for start in range(0, len(rows), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            answers = question.answers(counts[rows[part]])
            found[part] = channel.reports(answers, numbers[part], codebook, stream)
            tell(self.callback, f"asking about {question.kind}", min(part.stop, len(rows)), len(rows))
        return Answers(numbers, found)

    def _learn(self, answers: Answers, *, seeded: bool) -> Question | None:
        n = len(answers.numbers)
        if n == 0:
            raise CorpusError(
                "no client answered this question; wait for reports, or give it a larger share."
            )
        place = len(self._n_reports)
        if place == 0:
            n_documents = round(n / (self.shares[0] / sum(self.shares)))
            self.learnable(n_documents)
            strength = math.sqrt(n_documents) / self.channel().deviation
            if self._is_weak(strength):
                warn_caller(forecast_of(n_documents, strength, about="about "), WeakForecastWarning)
        question = self._state.question
        self._state = step(self._state, answers, self.channel(question), len(self.shares), 0)
        self._n_reports.append(n)
        self._seeded |= seeded
        self.question_ = self._state.question
        if self.question_ is None:
            self._close()
        return self.question_

    def _close(self) -> None:
        state, channel = self._state, self.channel()
        n = sum(self._n_reports)
        strength = math.sqrt(n) / channel.deviation
        # In each share of ``unigram_``, before it was read by its prior.
        noise_of_words = channel.deviation / math.sqrt(self._n_reports[0] * state.length)
        settings = public_settings(
            type(self).__name__,
            "local, whole documents",
            n_topics=self.n_topics,
            n_reports=n,
            questions=", ".join(kinds(len(self.shares))),
            reports_on_each=", ".join(str(count) for count in self._n_reports),
            epsilon_whole_document_replaced=channel.epsilon,
            strength=round(strength, 1),
            word_weight_noise=float(f"{noise_of_words:.4g}"),
            forecast=forecast_of(n, strength) if len(self.shares) > 1 else None,
            **WordOrigin.public("the question, which all writers have").settings(),
            **self._vectors.settings(),
        )
        seeded = SEEDED if self._seeded else ""
        what = f"one of {channel.n_codewords} codewords, sent by each writer{seeded}"
        self.unigram_ = state.unigram
        self.release_ = Release(
            (state.topics / state.topics.sum(0)).T,
            state.vocabulary,
            ledger_of_reports(channel.epsilon, what),
            settings,
            self._seeded,
            state.weight / state.weight.sum(),
            state.unigram,
        )
