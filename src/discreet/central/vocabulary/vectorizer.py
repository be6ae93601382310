r"""PrivateCountVectorizer: a CountVectorizer whose vocabulary is chosen under differential privacy.

A plain vocabulary leaks: a word that a single document holds is in the list, or it is not. Here ``fit``
chooses the words with one of two methods (:mod:`discreet.central.vocabulary.methods`, with their guarantees) and
books what that costs *before* it chooses (texts that are held are looked at before, whether they are texts, with blanks
between words, and in which language: :mod:`discreet.corpus.languages`); ``transform`` counts. Counts are exact, and as
private as the texts: released are the words, their noisy weights and how much of the text they make up.

Words come in alphabetical order, never in order of appearance.

Reference
---------
Manzonelli, Zhang, Vadhan, "Membership inference attacks and privacy in topic modeling", arXiv:2403.04451:
choosing words and training a topic model on them, both private, is private at the sum of the costs.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import deque
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Self
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet._base import validate
from discreet._base.callers import warn_caller
from discreet._base.persons import n_rows_of
from discreet._base.progress import Callback, telling
from discreet._base.threads import count_threads
from discreet.central.sums.units import faults_of_shards
from discreet.central.vocabulary.methods import SHARE, GaussianChoice, release_coverage
from discreet.central.vocabulary.units import (
    Choice,
    Documents,
    check_kind,
    count_documents,
    fault_of_language,
    faults_of_counted,
    is_writable,
    public_words,
    rank_words,
    secret_order,
    words_in_shards,
)
from discreet.corpus import Corpus, Tokenizer
from discreet.corpus.counting import only_texts
from discreet.corpus.files import PathLike
from discreet.corpus.languages import language_shares
from discreet.corpus.shards.shard_file import Rows
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.shards.write import restrict_shards
from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN, WORD_SETTINGS, choose_tokenizer
from discreet.corpus.vocabulary import WordOrigin, choices_of
from discreet.engines import Engine
from discreet.errors import CorpusWarning, DiscreetError, ParameterError, PrivacyError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_delta, check_epsilon, plural
from discreet.release.private_estimator import (
    Booking,
    Plan,
    PrivateEstimator,
    booked_choice,
    remember_text,
    spent_and_left,
)

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

_DEFAULT_DELTA = 1e-6
_MOST_WORDS_PER_UNIT = 2**16
#: Each method, and the rounds that it takes.
METHODS = {"weighted_gaussian": 1, "sips": 3}
_FOR_NOW = ".chosen-"
#: Texts of which the language is looked at.
_LOOKED_AT = 1000
#: Where to look when too few words would be chosen.
FEW_TEXTS = 'What few texts can pay for: "Three hundred texts" in the documentation (how-to/few-texts).'


@validate.declared
@dataclass(eq=False, repr=False)
class PrivateCountVectorizer(TransformerMixin, PrivateEstimator):
    r"""Choose a vocabulary privately, then count words.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss of choosing the words. ``inf`` is the non-private twin: all words, exact weights.
    delta : float, optional
        By default a tenth of the ledger's delta, and less after two choices of words (each takes half of what is left
        for failures); 1e-6 without a ledger.
    method : {"weighted_gaussian", "sips"}, default "weighted_gaussian"
        How words are chosen.
    max_words_per_unit : int, default 100
        Most distinct words of one unit that count, its most used; ties are broken at random.
    vocabulary : iterable or mapping of str, optional
        A public list of words: costs nothing, nothing is booked, and ``epsilon`` has no effect.
    words_are_public : bool, default False
        Say that ``vocabulary`` was not made from these texts. Without this it is refused.
    privacy_unit : {"document", "person"}, optional
        As for :class:`PrivateLDA`.
    ngram_range, stop_words, token_pattern, lowercase
        As for :class:`discreet.corpus.Tokenizer`. A ``Corpus`` loses the columns of stop words, and refuses the others.
    tokenizer : Tokenizer or callable on one text, optional
        A Tokenizer in place of these four; a callable returns the words of a text, and must look at no other.
    max_words : int, optional
        Keep only this many words, those with the largest noisy weights (a function of what is released:
        free).
    ledger : Ledger, optional
        Where the cost is booked; several estimators may share one. By default ``fit`` makes one of its own, without a
        limit, at this delta: what is trained on the counts is booked there, too, and told in all.
    random_state : int, optional
        None: secure noise. An int: reproducible, not for release, and the ledger's entry says so.
    n_jobs, callback
        As for :class:`~discreet.PrivateLDA`.
    engine : Engine, optional
        What goes through the shards of a :class:`~discreet.corpus.ShardedCorpus`; threads of this process by default.
        The words are the same.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Column of each chosen word; words in alphabetical order.
    word_weights_ : array of shape (n_words,), or None
        Released noisy weights, in units of what one document or person can give. Those of ``sips`` come from several
        rounds.
        None for a public vocabulary.
    ledger_ : Ledger or None
        The ledger with the booking; None for a public vocabulary without a ledger.
    word_origin_ : WordOrigin
        Where they come from; in ``coverage``, how much of the text they make up. Counts carry it on.
    guarantee, neighboring : str
        The promise about everything booked on ``ledger_``, in words, and the relation that it is about.

    Raises
    ------
    BudgetExceeded
        By ``fit``, before X is read, where the ledger has less left. The estimator is as it was.
    ParameterError, PrivacyError
        By ``fit``, before X is read, naming all parameters that are out of range.
    CorpusError
        Where X does not hold texts. Nothing is booked, unless they come from an iterator: then the cost stays booked.

    Notes
    -----
    The guarantee is (epsilon, delta)-differential privacy of ``vocabulary_``, ``word_weights_`` and ``word_origin_``
    together, for adding or removing one ``privacy_unit``. ``transform`` returns exact counts, which are private.

    Examples
    --------
    >>> texts = ["a model of topics", "topics of text"] * 40
    >>> words = PrivateCountVectorizer(epsilon=2.0, random_state=0).fit(texts)
    >>> list(words.get_feature_names_out())
    ['model', 'of', 'text', 'topics']
    >>> words.transform(texts)  # a corpus, for PrivateLDA
    Corpus(80 documents, 4 privately chosen words, 240 tokens, no persons)
    """

    _: KW_ONLY
    epsilon: float = 1.0
    delta: float | None = None
    method: Annotated[str, validate.choice(*METHODS)] = "weighted_gaussian"
    max_words_per_unit: Annotated[int, validate.whole(1, _MOST_WORDS_PER_UNIT)] = 100
    vocabulary: Any = None
    words_are_public: Annotated[bool, validate.FLAG] = False
    privacy_unit: Any = None
    ngram_range: tuple[int, int] = (1, 1)
    stop_words: Any = None
    token_pattern: str = DEFAULT_TOKEN_PATTERN
    lowercase: bool = True
    tokenizer: Any = None
    max_words: Annotated[int | None, validate.optional(validate.whole())] = None
    random_state: Annotated[int | None, validate.SEED] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    ledger: Ledger | None = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None
    engine: Annotated[Engine | None, validate.ENGINE] = None

    _OWN_RULE = frozenset({"delta"})

    def fit(self, X: Any, y: Any = None, *, persons: Any = None) -> PrivateCountVectorizer:
        """Choose the vocabulary.

        Parameters
        ----------
        X : iterable of str, Corpus or ShardedCorpus
            One text a document, read once. Of shards, once a round, and none is held.
        y : None
            Ignored.
        persons : array-like of shape (n_documents,), optional
            Person of each text; needed for ``privacy_unit="person"`` unless a corpus knows them.
        """
        self._fit(X, persons)
        return self

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, *, persons: Any = None
    ) -> Corpus:
        """Choose the vocabulary and count it, reading X once. Parameters as for :meth:`fit`."""
        read = self._fit(X, persons)
        # Of a public vocabulary nothing was read yet, and of shards nothing is held.
        return self._count(X, persons) if read is None else self._chosen(read, self.word_origin_)

    def transform(self, X: Any) -> Corpus:
        """Count the words of the vocabulary. The counts are exact, hence private.

        Parameters
        ----------
        X : iterable of str, Corpus or ShardedCorpus
            Where several documents may be one person's, a corpus that knows it.

        Returns
        -------
        Corpus of shape (n_documents, n_words)
            With the persons and labels of X where that is a corpus. It knows on which ledger the words were chosen.
        """
        check_is_fitted(self, "vocabulary_")
        return self._count(X, None)

    def transform_shards(self, X: ShardedCorpus, folder: PathLike) -> ShardedCorpus:
        """Write new shards of exact, hence private, counts of the vocabulary; they carry the ledger of its choice."""
        check_is_fitted(self, "vocabulary_")
        origin = self.word_origin_.after(choices_of(X))
        return restrict_shards(X, self._words(), folder, origin).with_word_origin(origin)

    def set_output(self, *, transform: Any = None) -> Self:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Keep the output as it is: sparse counts, of which scikit-learn makes no frames.

        Parameters
        ----------
        transform : {"default"} or None, default None
            Both change nothing.

        Raises
        ------
        ParameterError
            Where a frame is asked for.
        """
        if transform not in (None, "default"):
            raise ParameterError(
                f'`transform` must be "default" or None, but is {validate.shown(transform)}: counts are sparse, and no '
                "frame holds them. In a pipeline, ask the last step alone: pipeline[-1].set_output(transform=...)."
            )
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the words in the order of the columns. ``input_features`` is ignored."""
        check_is_fitted(self, "vocabulary_")
        return np.asarray(self._words(), dtype=object)

    @property
    def guarantee(self) -> str:
        """The promise about everything booked in the ledger, in words."""
        check_is_fitted(self, "vocabulary_")
        if self.ledger_ is None:
            return "public vocabulary: the words do not depend on the texts"
        return self.ledger_.guarantee().in_words()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def planned_event(self) -> Event | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the event that ``fit`` would book, or None where a public vocabulary needs none.

        As of other private estimators: from parameters (and what the ledger has left of delta) alone, booking nothing.
        """
        self._check_parameters()
        return None if self.vocabulary is not None else super().planned_event()

    def _plan(self) -> Plan:
        most, delta = int(self.max_words_per_unit), float(self._delta())
        unit, n_rounds = self.privacy_unit, METHODS[self.method]
        method = GaussianChoice(float(self.epsilon), delta, most, unit, SHARE, n_rounds)
        return Plan(method.event(), method)

    def _tokenizer(self) -> Tokenizer:
        return choose_tokenizer(**{name: getattr(self, name) for name in WORD_SETTINGS})

    def _promised(self, plan: Plan) -> tuple[float, float]:
        return self.epsilon, self._delta()

    def _purpose(self) -> tuple[str, list[str]]:
        return "vocabulary", [self.method, f"at most {self.max_words_per_unit} words for each {self._called}"]

    def _faults(self) -> list[DiscreetError]:
        faults = super()._faults()
        if self.vocabulary is not None and not self.words_are_public:
            faults.append(
                PrivacyError(
                    "`vocabulary` must be known to be public: say `words_are_public=True` if it was not made from "
                    "these texts, or leave it out and let words be chosen privately."
                )
            )
        return [*faults, *validate.collect(self._tokenizer)]

    def _faults_of_promise(self) -> list[DiscreetError]:
        if self.vocabulary is not None:
            return []  # nothing is promised, because nothing is used
        return validate.collect(lambda: check_epsilon(self.epsilon), lambda: check_delta(self._delta()))

    def _own_ledger(self, plan: Plan) -> Ledger:
        return Ledger(math.inf, self._delta(), privacy_unit=self.privacy_unit)

    def _faults_of_ledger(self) -> list[DiscreetError]:
        return [] if self.vocabulary is not None else super()._faults_of_ledger()

    def _faults_of_call(self, X: Any, persons: Any) -> list[DiscreetError]:
        if self.vocabulary is not None:
            return []
        return [
            *super()._faults_of_call(X, persons),
            *faults_of_shards(X, persons, self.engine),
            *faults_of_counted(X, self.get_params(deep=False)),
        ]

    def _fit(self, X: Any, persons: Any) -> Documents | None:
        made = self._for_units_of(X, persons)
        read = made._fit_units(X, persons)
        self._take(made)
        return read

    def _fit_units(self, X: Any, persons: Any) -> Documents | None:
        check_kind(X)
        self._check_call(X, persons)
        if self.vocabulary is not None:
            origin = WordOrigin.public("words_are_public=True in PrivateCountVectorizer")
            self._set(public_words(self.vocabulary), None, self.ledger, origin)
            return None
        self._look_at(X)
        return self._fit_booked(self._book(X), X, persons)

    def _look_at(self, X: Any) -> None:
        """Refuse what are no texts, and warn where they are in another language, before anything is booked."""
        if isinstance(X, ShardedCorpus) or n_rows_of(X) is None:  # what is read once its cost is booked
            return
        if not isinstance(X, Corpus):
            deque(only_texts(X), maxlen=0)
        if math.isfinite(self.epsilon):
            texts = X if isinstance(X, Corpus) else list(islice(X, _LOOKED_AT))
            seen = count_documents(texts, self._tokenizer())
            strange = fault_of_language(language_shares(seen.words, np.asarray(seen.counts.sum(0)).ravel()))
            if strange is not None:
                before = "Before anything is spent, and for you alone, because it is exact: "
                warn_caller(CorpusWarning(ParameterError(before, *strange.args)))

    def _fit_booked(
        self, booking: Booking, X: Any, persons: Any, *, then_topics: bool = False
    ) -> Documents | None:
        """Do what was planned and booked. From here on X is read; shards are not returned."""
        method: Any = booking.plan.how
        stream = SecureStream(self.random_state).spawn("vocabulary")
        key = stream.spawn("order").words(8).tobytes()
        if isinstance(X, ShardedCorpus):
            read, found, units = None, X.vocabulary, words_in_shards(X, key, self.engine, self.n_jobs)
            texts: Any = units
        else:
            read = count_documents(X, self._tokenizer(), persons, callback=self.callback)
            people = read.persons if self.privacy_unit == "person" else None
            found, order, texts = read.words, secret_order(read.words, key), Rows(read.counts, people)
            n_threads = count_threads(self.n_jobs)
            units = rank_words(read.counts, people, order, n_threads=n_threads)
        digest = "" if read is None else read.texts_digest
        self._notice(booking, X if read is None else read.counts, digest, later=then_topics)
        with telling(self.callback, "choosing words"):
            passed = method.choose(units, stream.spawn("noise"), booking.reservation, n_jobs=self.n_jobs)
        words, weights = _released(passed, found, self.max_words)
        if not words:
            raise PrivacyError(
                f"no word was chosen: too few {plural(booking.ledger.called)} share a word at this epsilon and delta. "
                f"{spent_and_left(booking.ledger)} Use a larger epsilon, more texts, or a public `vocabulary=`. "
                f"{FEW_TEXTS}"
            )
        share = stream.spawn("coverage")
        covered = release_coverage(method, texts, (found, words), share, booking.reservation)
        chosen = booked_choice(booking.ledger, booking.reservation, seeded=self.random_state is not None)
        self._set(words, weights, booking.ledger, WordOrigin.chosen(*choices_of(X), chosen, coverage=covered))
        return read

    def _set(self, words: tuple[str, ...], weights: Any, ledger: Ledger | None, origin: WordOrigin) -> None:
        self.vocabulary_ = {word: column for column, word in enumerate(words)}
        self.word_weights_ = weights
        self.ledger_ = ledger
        self.word_origin_ = origin

    def _words(self) -> tuple[str, ...]:
        return tuple(self.vocabulary_)  # a dict keeps the order of the columns

    def _count(self, X: Any, persons: Any) -> Corpus:
        read = count_documents(X, self._tokenizer(), persons, self._words(), callback=self.callback)
        return self._chosen(read, self.word_origin_.after(choices_of(X)))

    def _chosen(self, read: Documents, origin: WordOrigin) -> Corpus:
        """Return the words of the vocabulary in what was read."""
        corpus = read.corpus_of(self._words()).with_word_origin(origin)
        if origin.ledger is not None:
            # bare, they say no more where their columns were chosen
            remember_text(corpus.counts, origin.ledger)
        return corpus

    def _delta(self) -> float:
        if self.delta is not None:
            return self.delta
        ledger = self.ledger
        return delta_of_words(ledger.delta / 10, ledger) if isinstance(ledger, Ledger) else _DEFAULT_DELTA


def delta_of_words(delta: float, ledger: Ledger) -> float:
    """Return the delta of one choice of words: what is left for failures at most, of which it takes half."""
    return min(delta, ledger.failure_left) or delta


def count_booked(vectorizer: PrivateCountVectorizer, booking: Booking, X: Any, persons: Any) -> Any:
    """Choose and count words where the cost was booked together with others'."""
    read = vectorizer._fit_booked(booking, X, persons, then_topics=True)  # pyright: ignore[reportPrivateUsage]
    if read is None:
        return _transform_for_now(vectorizer, X)
    return vectorizer._chosen(read, vectorizer.word_origin_)  # pyright: ignore[reportPrivateUsage]


def _released(
    passed: Choice, words: tuple[str, ...], max_words: int | None
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Put what a method chose into its final form. Sees released values only."""
    chosen = [
        (int(round_), -float(weight), words[number])
        for number, weight, round_ in zip(passed.words, passed.weights, passed.rounds, strict=True)
        if is_writable(words[number])
    ]
    kept = sorted(chosen)[:max_words]  # earlier rounds found the more frequent words
    kept.sort(key=itemgetter(2))
    return tuple(word for _, _, word in kept), np.array([-weight for _, weight, _ in kept], np.float64)


def _transform_for_now(vectorizer: PrivateCountVectorizer, corpus: ShardedCorpus) -> ShardedCorpus:
    """Return shards of the chosen words, in a hidden folder beside the corpus that goes when nobody holds them."""
    room = tempfile.mkdtemp(dir=corpus.folder.parent, prefix=_FOR_NOW)
    try:
        shards = vectorizer.transform_shards(corpus, room)
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    finalize(shards, shutil.rmtree, room, ignore_errors=True)
    return shards


def drop_for_now(shards: Any) -> None:
    """Remove at once what :func:`count_booked` wrote; anything else stays."""
    if isinstance(shards, ShardedCorpus) and shards.folder.name.startswith(_FOR_NOW):
        shutil.rmtree(shards.folder, ignore_errors=True)
