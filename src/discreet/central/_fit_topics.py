r"""The whole way from private texts to a release, in one call, on one budget: words, topics, and where they stand.

Gaussian releases cost less together than the sum of their epsilons. So the words get a share of epsilon, the shares of
topics in groups what their estimator says, and the topics the largest epsilon with which all together cost what was
asked for. Each is booked before its sums are made: words first, and where these show that the topics cannot be
learned, nothing else; with shares, whose costs add up worse one by one, all at once.
"""

import copy
import inspect
import math
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet._base.arrays import carried
from discreet._base.persons import check_same_rows, knows_persons, n_rows_of
from discreet._base.progress import Callback, watched
from discreet._base.validate import (
    FLAG,
    collect,
    faults_of,
    is_number,
    number,
    refuse,
    renamed,
    rules,
    suggesting,
)
from discreet.central.base import fit_booked, read_public, refuse_too_few, warn_of_persons
from discreet.central.prevalence.estimator import (
    TopicPrevalence,
    check_labels,
    faults_with_topics,
    shares_booked,
)
from discreet.central.prevalence.labelled import check_rows_of_labels, labels_for
from discreet.central.preview import Preview, left_for_topics, look_at, preview
from discreet.central.private_lda import PrivateLDA
from discreet.central.vocabulary.units import (
    ABOUT_TEXTS,
    check_kind,
    faults_of_counted,
    leave_out,
    public_words,
)
from discreet.central.vocabulary.vectorizer import (
    PrivateCountVectorizer,
    count_booked,
    delta_of_words,
    drop_for_now,
)
from discreet.corpus import Corpus
from discreet.corpus.corpus import with_rows
from discreet.corpus.read import corpus_of_source, is_source
from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN, WORD_SETTINGS, choose_tokenizer
from discreet.corpus.word_vectors import check_vectors
from discreet.engines import Engine
from discreet.errors import BudgetExceeded, CorpusError, DiscreetError, PrivacyError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import check_unit_name, round_up
from discreet.release.private_estimator import (
    DELTA,
    Booking,
    PrivateEstimator,
    book_together,
    faults_of_call,
    faults_of_estimator,
    ledger_of_choices,
    settled,
    spent_and_left,
)
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

#: Of the run's delta: the chance that a word which only one unit has is chosen.
_DELTA_OF_WORDS = 0.1
#: What promises hardly anything, of how many texts ever.
LARGEST_EPSILON, _LARGEST_DELTA = 20.0, 0.01
#: Settings of :func:`fit_topics` that go to what chooses words, to what trains topics, and to neither.
_OF_WORDS = (
    "vocabulary", "words_are_public", "max_words", "stop_words", "token_pattern", "tokenizer", "ngram_range",
)  # fmt: skip
_OF_TOPICS = (
    "n_topics", "epsilon", "delta", "doc_topic_prior", "n_rounds", "n_units_lower_bound", "allow_large_delta", "n_jobs",
    "ledger", "allow_unlearnable", "word_vectors",
)  # fmt: skip
#: What says how a file or a frame is read.
_OF_A_SOURCE = ("text", "person", "skip_empty", "encoding", "delimiter", "sheet")
_OWN = rules(
    vocabulary_share=number(above=0, below=1),
    words_are_public=FLAG,
    skip_empty=FLAG,
    allow_unlearnable=FLAG,
    allow_large_epsilon=FLAG,
)


@suggesting
def fit_topics(
    texts_or_corpus: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    n_topics: int = 20,
    text: str | None = None,
    person: str | None = None,
    skip_empty: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    persons: Any = None,
    privacy_unit: str | None = None,
    unit_name: str | None = None,
    vocabulary: Any = None,
    words_are_public: bool = False,
    vocabulary_share: float = 0.25,
    vocabulary_method: str = "weighted_gaussian",
    max_words: int | None = 2000,
    stop_words: Any = "auto",
    token_pattern: str = DEFAULT_TOKEN_PATTERN,
    tokenizer: Any = None,
    ngram_range: tuple[int, int] = (1, 1),
    doc_topic_prior: float = 0.1,
    n_rounds: int | None = None,
    word_vectors: Any = None,
    n_units_lower_bound: int | None = None,
    allow_unlearnable: bool = False,
    allow_large_delta: bool = False,
    allow_large_epsilon: bool = False,
    random_state: int | None = None,
    n_jobs: int | None = None,
    engine: Engine | None = None,
    ledger: Ledger | None = None,
    callback: Callback | None = None,
    prevalence: TopicPrevalence | None = None,
    by: Any = None,
) -> Release:
    """Choose words, train topics, and return what may be published; everything together costs ``epsilon``.

    Parameters
    ----------
    texts_or_corpus : iterable of str, path, data frame, Corpus or ShardedCorpus
        Texts are read once; those of a file, a frame or a list before anything is booked, so that faults in them cost
        nothing; those of an iterator after. A path is that of any file or folder that
        :func:`~discreet.corpus.read_corpus` reads; a frame is one of pandas, polars or pyarrow, or a Hugging Face
        dataset. A Corpus whose words are public, or were chosen privately before, is used as it is.
    epsilon : float
        Privacy loss of the whole run; ``inf`` is the non-private twin.
    delta : float, optional
        What is allowed beyond exp(epsilon): by default the delta of the ledger, or 1e-6.
    n_topics : int, default 20
        Number of topics, K.
    text : str, optional
        Of a file or frame: the column that holds the text, by default "text".
    person : str, optional
        Of a file or frame: the column that says whose the text is.
    skip_empty : bool, default False
        Of a file or frame: leave out rows without text, or without a person where one is asked for.
    encoding, delimiter, sheet : str, optional
        Of a file: as for :func:`~discreet.corpus.read_corpus`.
    persons : array-like of shape (n_documents,), optional
        Person of each document, where no column says it; by default those of the corpus.
    privacy_unit : {"document", "person"}, optional
        Whose presence is hidden: by default the person's, with all that they wrote, where it is known whose the
        documents are, and the document's otherwise.
    unit_name : str, optional
        What one person is called in ledger, card, report and messages, such as "patient". Public.
    vocabulary : iterable or mapping of str, optional
        A public list of words instead of privately chosen ones: then all of epsilon goes to the topics.
    words_are_public : bool, default False
        Say that ``vocabulary`` was not made from these texts.
    vocabulary_share : float, default 0.25
        Share of epsilon for choosing words.
    vocabulary_method : {"weighted_gaussian", "sips"}, default "weighted_gaussian"
        See :class:`~discreet.PrivateCountVectorizer`.
    max_words : int, optional, default 2000
        Most words to choose privately.
    stop_words, token_pattern, tokenizer, ngram_range
        As for :class:`~discreet.corpus.Tokenizer`; ``tokenizer`` may be one, in place of the others, or a
        callable on one text. ``stop_words="auto"`` is English for texts, and nothing for a Corpus; a Corpus loses the
        columns of stop words that are named, and refuses the others.
    doc_topic_prior, n_rounds, word_vectors, n_units_lower_bound, allow_unlearnable, allow_large_delta
        As for :class:`~discreet.PrivateLDA`.
    n_jobs, engine, callback
        As for :class:`~discreet.PrivateLDA`.
    allow_large_epsilon : bool, default False
        Go on where epsilon is above 20, which promises hardly anything. ``inf`` needs no such word.
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".
    ledger : Ledger, optional
        Where the cost is booked; share one between all runs on a text. By default that of a Corpus whose columns
        were chosen privately, where ``epsilon`` is spent beside what they cost; otherwise one of this budget is made.
    prevalence : TopicPrevalence, optional
        Made without topics, ``TopicPrevalence(None, groups=wards, epsilon=0.2)``: also release how much of each topic
        stands in each group, in ``prevalence.release_``. Its epsilon is a part of this one, and the topics get what it
        leaves.
    by : str or sequence of length n_documents, optional
        With ``prevalence``: the group of each document; for a cross table a pair of such sequences. Of a file or
        frame: the column that says it, in text or whole numbers. By default the labels of the corpus; shards carry
        theirs.

    Returns
    -------
    Release

    Raises
    ------
    ParameterError, PrivacyError
        Before anything is booked, naming all parameters that are out of range. Once words are chosen, where they are
        none or cannot tell the topics apart: says what was spent, which is what the words cost.
    BudgetExceeded
        Where the ledger has less left. Nothing is booked, except the words where somebody else's booking took what was
        left for the topics while words were chosen: the message says so.
    CorpusError
        Where the texts are not what was expected. Nothing is booked, unless they come from an iterator: then the cost
        stays booked.

    Warns
    -----
    CorpusWarning
        Before anything is booked, of texts that are held: they are in another language than the stop words, or the
        topics cannot be learned from so few. It is exact, so for you alone: neither log nor publish it, nor whether a
        run stopped on it. Also where a file or frame has further columns and none says whose the texts are:
        ``privacy_unit="document"`` says that each document is meant.

    Notes
    -----
    *Guarantee*: words and topics together satisfy (epsilon, delta)-differential privacy for adding or removing one
    unit; if the ledger was shared, the release states the cost of everything booked on it. Each cost is booked before
    the sums that it pays for are made. No promise covers a ``CorpusWarning``, which is no release.

    Examples
    --------
    >>> texts = ["the senate passed a law", "a storm hit the coast"] * 500
    >>> release = fit_topics(texts, epsilon=4.0, n_topics=2, random_state=0, allow_unlearnable=True)
    >>> release.vocabulary
    ('coast', 'hit', 'law', 'passed', 'senate', 'storm')

    Of a file or a frame, with several texts a person: ``fit_topics("notes.csv", text="note", person="patient",
    epsilon=2)``.
    """
    run = ready(**locals())  # nothing but the parameters yet
    words, topics, book, counts, persons = run.words, run.topics, run.book, run.texts, run.persons
    if isinstance(counts, Corpus):
        look_at(run.preview())
    public, booked = run.public, run.booked(book)
    if run.chosen:
        counts, persons = count_booked(words, booked[0], counts, persons), None
    elif not run.known:
        counts, persons = words.fit_transform(counts, persons=persons), None
    try:
        if run.in_turn:
            refuse_too_few(topics, len(counts.vocabulary), spent_and_left(book)[:-1])
            booked += _book_after(words, topics, book)
        if run.chosen:
            public = read_public(topics, counts.vocabulary, booked=True)
        release = fit_booked(topics, booked[len(run.chosen)], counts, persons, public)
        if prevalence is not None:
            shares_booked(prevalence, booked[-1], release, counts, run.by, persons)
    finally:
        drop_for_now(counts)
    return release


@partial(suggesting, like=fit_topics)
def check_topics(texts_or_corpus: Any, **settings: Any) -> Preview:
    """Say what is in texts, and what :func:`fit_topics` with the same arguments would do: free, and for you alone.

    Parameters
    ----------
    texts_or_corpus
        As for :func:`fit_topics`; no iterator and no shards.
    **settings
        As for :func:`fit_topics`.

    Returns
    -------
    Preview
        Printed, it says what is to be known, a line each: documents, persons, about how many words would be chosen, the
        forecast, and what is wrong. Exact, so as private as the texts: no promise covers it. Nothing is booked.

    Raises
    ------
    ParameterError, PrivacyError, CorpusError, BudgetExceeded
        Where :func:`fit_topics` would refuse the arguments or the texts, or the ledger does not cover it.

    Examples
    --------
    >>> texts = ["the senate passed a law", "a storm hit the coast"] * 500
    >>> print(check_topics(texts, epsilon=4.0, n_topics=2))  # doctest: +ELLIPSIS
    1,000 documents.
    About 6 words would be chosen. Forecast: ...
    """
    run = ready(**inspect.signature(fit_topics).bind(texts_or_corpus, **settings).arguments)
    seen = run.preview()
    run.booked(run.book.rehearsal())
    return seen


class Run(NamedTuple):
    """A run whose arguments are right, before anything is booked; texts that are held are counted. Private."""

    words: PrivateCountVectorizer
    topics: PrivateLDA
    #: What chooses words, and what finds shares, if anything does.
    chosen: Sequence[PrivateEstimator]
    where: Sequence[PrivateEstimator]
    book: Ledger
    texts: Any
    persons: Any
    by: Any
    #: Public words that were asked for, if any.
    vocabulary: tuple[str, ...] | None
    #: What was read for topics whose words are public or were chosen before, as word vectors are.
    public: Any
    #: Whether the words of the texts are public, or were chosen before.
    known: bool

    @property
    def in_turn(self) -> bool:
        """Whether what words show may decide that no topics are booked."""
        return bool(self.chosen) and not self.where and math.isfinite(self.words.epsilon)

    def looked_at(self) -> Corpus:
        """Return what a preview is of."""
        if not isinstance(self.texts, Corpus):
            raise CorpusError(
                "only texts that are held can be looked at: expected a list, a frame, a file or a Corpus."
            )
        if self.vocabulary is None:
            return self.texts
        return self.texts.restrict(self.vocabulary, words_are_public=True)

    def preview(self) -> Preview:
        """Say what would come of it."""
        return preview(self.looked_at(), self.words, self.topics, self.book, self.where)

    def booked(self, book: Ledger) -> list[Booking]:
        """Book words, and then all that they do not decide of; refuse where the rest would not fit.

        On the rehearsal of a ledger it says the same, and nothing is booked.
        """
        topics, epsilon, alone = self.topics, self.topics.epsilon, book if self.in_turn else None
        if self.chosen or self.where:
            topics.epsilon = left_for_topics([*self.chosen, *self.where], topics, alone)
        at = None if self.where else partial(_events_at, self.chosen, topics, epsilon, alone)
        now, then = ([*self.chosen, topics, *self.where], None) if alone is None else (self.chosen, topics)
        return book_together(book, *now, at_epsilon=at, then=then)


def ready(**given: Any) -> Run:
    """Check the arguments of :func:`fit_topics`, and count texts that are held."""
    of = SimpleNamespace(**(_usual() | given))
    book = of.ledger or ledger_of_choices(of.texts_or_corpus)
    of.delta = given["delta"] = getattr(book, "delta", DELTA) if of.delta is None else of.delta
    texts, persons, by = of.texts_or_corpus, of.persons, of.by
    vocabulary, unit = of.vocabulary, of.privacy_unit
    known = of.person is not None or persons is not None or knows_persons(texts)
    whose = "person" if known else "document"
    words, topics = estimators(**given | {"privacy_unit": unit or whose})
    columns = {name: None if getattr(of, name) is False else getattr(of, name) for name in _OF_A_SOURCE}
    cut = choose_tokenizer(**{name: getattr(words, name) for name in WORD_SETTINGS})
    of_source = is_source(texts)
    if vocabulary is not None:
        words.vocabulary = vocabulary = public_words(vocabulary)
        if not of_source and n_rows_of(texts) is None:  # an iterator is read once its cost is booked
            cut.check_reach(vocabulary)
    check_same_rows(texts, persons, "persons", "the documents")
    if of.skip_empty and persons is not None:
        raise CorpusError(
            "skip_empty= leaves out rows that persons= speaks of: name the column of persons instead, `person=`, of a "
            'frame such as pd.DataFrame({"text": texts, "person": persons}).'
        )
    if of_source and of.prevalence is not None and isinstance(by, str):
        columns, by = columns | {"by": by}, None
    elif of_source:
        check_same_rows(texts, by, "by", "the documents")
    source, texts = texts, corpus_of_source(texts, columns, cut, vocabulary)
    if of_source:
        if unit is None and whose == "document" and math.isfinite(of.epsilon):
            warn_of_persons(source, texts, columns)
        words.set_params(**ABOUT_TEXTS, stop_words="auto")  # its texts are counts by now
    check_kind(texts)
    if unit is None:
        unit = "person" if knows_persons(texts) else whose
    words.privacy_unit = topics.privacy_unit = unit
    about_groups: list[DiscreetError] = []
    if of.prevalence is not None or by is not None:
        by = by if of.prevalence is None else labels_for(texts, by)
        check_rows_of_labels(texts, by, persons)
        about_groups = faults_with_topics(
            of.prevalence, texts, by, unit, (of.epsilon, of.delta), of.random_state, of.n_topics
        )
    theirs = ledger_of_choices(texts)
    refuse(
        [
            *faults_of_call(topics, texts, persons),
            *faults_of_counted(texts, words.get_params(deep=False)),
            *_faults_of_chosen(texts, vocabulary),
            *about_groups,
            *_faults_of_name(of.unit_name, unit, of.ledger or theirs),
        ]
    )
    if of.prevalence is not None:
        by = check_labels(of.prevalence, texts, by)
    if isinstance(texts, Corpus):
        texts, persons = with_rows(texts, persons, None, texts), None
        texts = leave_out(texts, cut.left_out)
    known = vocabulary is None and (bool(carried(texts, "words_are_public")) or _chosen_before(texts))
    chosen = [] if known or vocabulary is not None else [words]
    # nothing but Gaussian noise follows on a choice of words
    share = 0.0 if chosen and of.prevalence is None and math.isfinite(of.epsilon) else None
    own = theirs or Ledger(
        of.epsilon, of.delta, privacy_unit=unit, unit_name=of.unit_name, failure_share=share
    )
    topics.ledger = words.ledger = book = of.ledger or own
    where = [] if of.prevalence is None else [settled(of.prevalence, unit, book)]
    words.set_params(delta=delta_of_words(_DELTA_OF_WORDS * of.delta, book))
    listed = carried(texts, "vocabulary") if vocabulary is None else vocabulary
    if chosen:
        refuse_too_few(topics, of.max_words)
    if chosen and of.word_vectors is not None:
        check_vectors(of.word_vectors)
    public = None if chosen else read_public(topics, listed)
    if carried(texts, "vocabulary") is None and n_rows_of(texts) is not None:
        read = watched(of.callback, "counting words", texts)
        texts, persons = Corpus.from_texts(read, tokenizer=cut, vocabulary=vocabulary, persons=persons), None
    return Run(words, topics, chosen, where, book, texts, persons, by, vocabulary, public, known)


def _usual() -> dict[str, Any]:
    """Return the settings of :func:`fit_topics` as they are by default."""
    return {name: each.default for name, each in inspect.signature(fit_topics).parameters.items()}


def estimators(**given: Any) -> tuple[PrivateCountVectorizer, PrivateLDA]:
    """Return what :func:`fit_topics` would run, its settings checked; they know of no data.

    Parameters
    ----------
    **given
        Settings of ``fit_topics``; the others are what they are there by default. ``privacy_unit`` must be said.

    Raises
    ------
    ParameterError, PrivacyError
        Naming all parameters that are out of range.
    """
    of = SimpleNamespace(**(_usual() | given))
    of.delta = DELTA if of.delta is None else of.delta
    faults = faults_of(vars(of), _OWN) + _faults_of_size(of)
    both = ("privacy_unit", "random_state", "callback", "engine")
    share = of.vocabulary_share if is_number(of.vocabulary_share) else 1
    words = PrivateCountVectorizer(
        epsilon=share * of.epsilon if is_number(of.epsilon) else of.epsilon,
        delta=_DELTA_OF_WORDS * of.delta if is_number(of.delta) else of.delta,
        method=of.vocabulary_method,
        **{name: getattr(of, name) for name in (*both, *_OF_WORDS)},
    )
    topics = PrivateLDA(**{name: getattr(of, name) for name in (*both, *_OF_TOPICS)})
    mine = renamed(faults_of_estimator(words), {"method": "vocabulary_method"})
    refuse([*faults_of_estimator(topics), *faults, *mine])
    return words, topics


def _faults_of_size(of: SimpleNamespace) -> list[DiscreetError]:
    """Say where a promise is next to none, whatever the texts: before they are read, and before anything is booked."""
    epsilon, delta = of.epsilon, of.delta
    faults: list[DiscreetError] = []
    if is_number(epsilon) and LARGEST_EPSILON < epsilon < math.inf and not of.allow_large_epsilon:
        faults.append(
            PrivacyError(
                f"`epsilon` = {epsilon:g} promises next to nothing: whoever guesses whether somebody is in the texts "
                f"may come to odds e^{epsilon:g} times as good. Take at most {LARGEST_EPSILON:g}, usually 1 to 3; "
                "`allow_large_epsilon=True` goes on all the same."
            )
        )
    if is_number(delta) and _LARGEST_DELTA < delta < 1 and not of.allow_large_delta:
        faults.append(
            PrivacyError(
                f"`delta` = {delta:g} promises next to nothing: publishing one in {1 / delta:.0f} as they are would "
                "satisfy it. Take one far below 1 / number of persons or documents, such as 1e-6; "
                "`allow_large_delta=True` goes on all the same."
            )
        )
    return faults


def _chosen_before(corpus: Any) -> bool:
    """Whether the words of a corpus were chosen privately already, and are booked on the ledger that it carries."""
    origin = carried(corpus, "word_origin")
    return origin is not None and origin.kind == "chosen"


def _faults_of_name(unit_name: Any, privacy_unit: str, ledger: Ledger | None) -> list[DiscreetError]:
    """Say where units cannot be called so, or are called otherwise by the ledger."""
    of_kind = partial(check_unit_name, privacy_unit=privacy_unit)
    return collect(partial(ledger.check_called if isinstance(ledger, Ledger) else of_kind, unit_name))


def _faults_of_chosen(corpus: Any, vocabulary: Any) -> list[DiscreetError]:
    """Say where words of another list are asked of a corpus that holds no others than those chosen before."""
    if vocabulary is None or not _chosen_before(corpus):
        return []
    return [
        PrivacyError(
            "the words of this corpus were chosen privately already, so a public `vocabulary` would find only those: "
            "leave it out, or give the texts."
        )
    ]


def _book_after(words: PrivateEstimator, topics: PrivateLDA, book: Ledger) -> list[Booking]:
    """Book topics after their words, which stay booked where somebody else booked in between."""
    try:
        return book_together(book, topics)
    except BudgetExceeded as fault:
        raise BudgetExceeded(
            *fault.args,
            " The topics fitted when the words were booked, but something else was booked since. The words stay "
            f"booked, at epsilon = {round_up(words.epsilon)}.",
        ) from None


def _events_at(
    chosen: Sequence[PrivateEstimator],
    topics: PrivateLDA,
    planned_epsilon: float,
    book: Ledger | None,
    epsilon: float,
) -> list["Event"]:
    """Return the events of words and topics if another epsilon was asked for in all."""
    words, model = [copy.copy(one) for one in chosen], copy.copy(topics)
    for one in words:
        one.epsilon *= epsilon / planned_epsilon
    model.epsilon = epsilon
    model.epsilon = left_for_topics(words, model, book) if words else epsilon
    return [one.planned_event() for one in (*words, model)]
