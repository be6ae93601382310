"""Whatever is passed where counts, reports, topics or persons are expected: no error, note or warning shows it."""

import logging
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.test_api import CLASSES

from discreet import (
    Corpus,
    CorpusError,
    FederatedLDA,
    GibbsLDA,
    HybridGibbsLDA,
    Ledger,
    LocalLDA,
    ParameterError,
    PrivacyError,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    PrivateSVILDA,
    Release,
    ReleaseError,
    StreamingLocalLDA,
    TopicPrevalence,
    VariationalLDA,
    WholeDocumentLDA,
    audit,
    evaluate,
    fit_topics,
    read_corpus,
)
from discreet.audit.canary_run import make_canaries, score_canaries
from discreet.central import periods
from discreet.corpus import Tokenizer, check_counts, load_vocabulary, match_vectors
from discreet.evaluate.topics import hellinger
from discreet.lda import fold_in
from discreet.lda._fold_in import log_likelihood, query_statistic
from discreet.local import BitChannel, Moments
from discreet.privacy import Bound, SecureStream, epsilon_for, events, explain_budget, sum_rows

pytestmark = pytest.mark.usefixtures("few_steps")

MARKER = "zzmarkerroe"
NOTE = f"{MARKER} came in with a fever and a secret"
WORDS = [f"w{i}" for i in range(12)]
COUNTS = np.random.default_rng(0).poisson(0.7, (300, 12))
TEXTS = [" ".join(np.repeat(WORDS, row)) for row in COUNTS]
PERSONS = np.arange(300) // 3
TOPICS = np.random.default_rng(1).dirichlet(np.ones(12), 3)
SHARES = np.full((300, 3), 1 / 3)
LABELS = PERSONS % 2
CHANNEL = BitChannel.symmetric(2.0)
BITS = CHANNEL.reports((COUNTS > 0).astype(np.int32), SecureStream(0))


class Talkative:
    """An object that shows what it holds whenever it is to become a number or text."""

    def shout(self, *_, **__):
        raise ValueError(NOTE)

    __array__ = __float__ = __int__ = __index__ = __repr__ = __str__ = shout


def filled(thing):
    X = np.ones((300, 12), object)
    X[4, 5] = thing
    return X


def frame(n_texts):
    columns = {f"w{i}": COUNTS[:, i] for i in range(12 - n_texts)}
    return columns | {f"body{i}": [NOTE] * 300 for i in range(n_texts)}


#: Texts, Series, frames, lists of lists, objects, mixed columns.
BAD = {
    "a text": lambda: NOTE,
    "bytes": NOTE.encode,
    "a list of texts": lambda: [NOTE] * 300,
    "a tuple of texts": lambda: (NOTE,) * 300,
    "a generator of texts": lambda: iter([NOTE] * 300),
    "a set of texts": lambda: {NOTE},
    "a mapping of texts": lambda: {NOTE: NOTE},
    "an array of texts": lambda: np.array([NOTE] * 300),
    "an array of bytes": lambda: np.array([NOTE.encode()] * 300),
    "an array of objects": lambda: np.array([NOTE] * 300, object),
    "a column of texts": lambda: np.array([[NOTE]] * 300),
    "a matrix of texts": lambda: np.full((300, 12), NOTE),
    "a text among numbers": lambda: filled(NOTE),
    "texts that are lists of tokens": lambda: [NOTE.split(), [MARKER]] * 150,
    "tokens of one length": lambda: [[MARKER] * 12] * 300,
    "a list of mappings": lambda: [{MARKER: 1}] * 300,
    "pandas Series": lambda: pd.Series([NOTE] * 300),
    "pandas Series of categories": lambda: pd.Series([NOTE] * 300, dtype="category"),
    "pandas frame of texts": lambda: pd.DataFrame(frame(12)),
    "pandas frame of one column": lambda: pd.DataFrame({"body": [NOTE] * 300}),
    "pandas frame, mixed": lambda: pd.DataFrame(frame(1)),
    "pandas frame named by texts": lambda: pd.DataFrame(COUNTS, columns=[f"{MARKER} {i}" for i in range(12)]),
    "polars Series": lambda: pl.Series([NOTE] * 300),
    "polars frame, mixed": lambda: pl.DataFrame(frame(1)),
    "pyarrow array": lambda: pa.array([NOTE] * 300),
    "pyarrow table, mixed": lambda: pa.table(frame(1)),
    "an object": Talkative,
    "a list of objects": lambda: [Talkative()] * 300,
    "an object among numbers": lambda: filled(Talkative()),
    "structured records": lambda: np.zeros(300, [(MARKER, int)]),
    "dates": lambda: np.full((300, 12), "2020-01-01", "M8[D]"),
    "ragged numbers": lambda: [[1], [2, 3]] * 150,
    "nothing": lambda: None,
}  # fmt: skip


class Fitted:
    """Models for what is called after ``fit``; made once."""

    def __init__(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.vectorizer = PrivateCountVectorizer(epsilon=50.0, random_state=0).fit(TEXTS)
            self.private = private().fit(COUNTS)
            self.gibbs = GibbsLDA(3, n_sweeps=2, random_state=0).fit(COUNTS)
            self.variational = VariationalLDA(3, max_iter=2, random_state=0).fit(COUNTS)
            self.local = local().fit(BITS)
            self.streaming = streaming().partial_fit(BITS)
            self.federated = federated().fit([COUNTS, COUNTS])
            self.corpus = Corpus(COUNTS, WORDS, PERSONS, words_are_public=True)
            self.moments = Moments(12, channel=CHANNEL)


def private(**how):
    return PrivateLDA(3, epsilon=9.0, allow_unlearnable=True, random_state=0, **how)


def by_person():
    return private(privacy_unit="person")


def local():
    return LocalLDA(3, channel=CHANNEL, allow_unlearnable=True, random_state=0)


def streaming():
    return StreamingLocalLDA(3, channel=CHANNEL, allow_unlearnable=True, random_state=0)


def whole_documents():
    vectors = {word: np.eye(12)[column] for column, word in enumerate(WORDS)}
    return WholeDocumentLDA(3, epsilon=8.0, word_vectors=vectors, allow_unlearnable=True, random_state=0)


def federated():
    return FederatedLDA(3, epsilon=9.0, delta=1e-3, allow_unlearnable=True, random_state=0)


def train(counts, seed):
    del counts, seed
    return TOPICS


CALLS = {
    "PrivateLDA.fit": lambda X, m: private().fit(X),
    "PrivateLDA.fit, words public": lambda X, m: private().fit(X, words_are_public=True),
    "PrivateLDA.fit_transform": lambda X, m: private().fit_transform(X),
    "PrivateLDA.fit persons": lambda X, m: by_person().fit(COUNTS, persons=X),
    "PrivateLDA.fit vocabulary": lambda X, m: private().fit(COUNTS, vocabulary=X, words_are_public=True),
    "PrivateLDA.fit words_are_public": lambda X, m: private().fit(COUNTS, vocabulary=WORDS, words_are_public=X),
    "PrivateLDA n_topics": lambda X, m: PrivateLDA(X).fit(COUNTS),
    "PrivateLDA epsilon": lambda X, m: PrivateLDA(epsilon=X).fit(COUNTS),
    "PrivateLDA delta": lambda X, m: PrivateLDA(delta=X).fit(COUNTS),
    "PrivateLDA privacy_unit": lambda X, m: PrivateLDA(privacy_unit=X).fit(COUNTS),
    "PrivateLDA ledger": lambda X, m: PrivateLDA(ledger=X).fit(COUNTS),
    "PrivateLDA.transform": lambda X, m: m.private.transform(X),
    "PrivateSVILDA.fit": lambda X, m: PrivateSVILDA(3, epsilon=9.0, sampling_rate=0.5, random_state=0).fit(X),
    "HybridGibbsLDA.fit": lambda X, m: HybridGibbsLDA(3, epsilon=9.0, n_sweeps=1, random_state=0).fit(X),
    "PrivateFit.fit": lambda X, m: PrivateFit(m.private.release_, random_state=0).fit(X),
    "PrivateFit release": lambda X, m: PrivateFit(X, random_state=0).fit(COUNTS),
    "TopicPrevalence.fit": lambda X, m: TopicPrevalence(m.private.release_, [0, 1], random_state=0).fit(X, LABELS),
    "TopicPrevalence.fit by": lambda X, m: TopicPrevalence(m.private.release_, [0, 1], random_state=0).fit(COUNTS, X),
    "TopicPrevalence groups": lambda X, m: TopicPrevalence(m.private.release_, X, random_state=0).fit(COUNTS, LABELS),
    "TopicPrevalence release": lambda X, m: TopicPrevalence(X, [0, 1], random_state=0).fit(COUNTS, LABELS),
    "TopicPrevalence.fit persons": lambda X, m: TopicPrevalence(
        m.private.release_, [0, 1], privacy_unit="person", random_state=0
    ).fit(COUNTS, LABELS, persons=X),
    "periods": lambda X, m: periods(X, X, "M"),
    "fit_topics": lambda X, m: fit_topics(X, epsilon=9.0, n_topics=2, allow_unlearnable=True, random_state=0),
    "fit_topics persons": lambda X, m: fit_topics(TEXTS, epsilon=9.0, privacy_unit="person", persons=X, random_state=0),
    "PrivateCountVectorizer.fit": lambda X, m: PrivateCountVectorizer(epsilon=9.0, random_state=0).fit(X),
    "PrivateCountVectorizer.fit persons": lambda X, m: PrivateCountVectorizer(
        epsilon=9.0, privacy_unit="person", random_state=0
    ).fit(TEXTS, persons=X),
    "PrivateCountVectorizer stop_words": lambda X, m: PrivateCountVectorizer(
        epsilon=9.0, stop_words=X, random_state=0
    ).fit(TEXTS),
    "PrivateCountVectorizer token_pattern": lambda X, m: PrivateCountVectorizer(
        epsilon=9.0, token_pattern=X, random_state=0
    ).fit(TEXTS),
    "Corpus.from_texts stop_words": lambda X, m: Corpus.from_texts(TEXTS, stop_words=X),
    "Tokenizer": lambda X, m: Tokenizer()(X),
    "PrivateCountVectorizer.transform": lambda X, m: m.vectorizer.transform(X),
    "PrivateCountVectorizer vocabulary": lambda X, m: PrivateCountVectorizer(
        epsilon=9.0, vocabulary=X, words_are_public=True
    ).fit(TEXTS),
    "Release.transform": lambda X, m: m.private.release_.transform(X),
    "Release.with_settings": lambda X, m: m.private.release_.with_settings(note=X),
    "Ledger.reserve": lambda X, m: Ledger(1.0, 1e-6).reserve(X, "a purpose"),
    "GibbsLDA.fit": lambda X, m: GibbsLDA(3, n_sweeps=1, random_state=0).fit(X),
    "GibbsLDA.transform": lambda X, m: m.gibbs.transform(X),
    "GibbsLDA doc_topic_prior": lambda X, m: GibbsLDA(3, doc_topic_prior=X).fit(COUNTS),
    "VariationalLDA.fit": lambda X, m: VariationalLDA(3, max_iter=1, random_state=0).fit(X),
    "VariationalLDA.partial_fit": lambda X, m: VariationalLDA(3, random_state=0).partial_fit(X),
    "VariationalLDA.transform": lambda X, m: m.variational.transform(X),
    "VariationalLDA.score": lambda X, m: m.variational.score(X),
    "VariationalLDA.perplexity": lambda X, m: m.variational.perplexity(X),
    "VariationalLDA init": lambda X, m: VariationalLDA(3, init=X).fit(COUNTS),
    "LocalLDA.fit": lambda X, m: local().fit(X),
    "LocalLDA.fit packed": lambda X, m: local().fit(X, packed=True, vocabulary=WORDS),
    "LocalLDA.fit vocabulary": lambda X, m: local().fit(BITS, vocabulary=X),
    "LocalLDA.transform": lambda X, m: m.local.transform(X),
    "LocalLDA.transform_reports": lambda X, m: m.local.transform_reports(X),
    "WholeDocumentLDA.fit": lambda X, m: whole_documents().fit(X, vocabulary=WORDS),
    "WholeDocumentLDA.fit vocabulary": lambda X, m: whole_documents().fit(COUNTS, vocabulary=X),
    "StreamingLocalLDA.partial_fit": lambda X, m: streaming().partial_fit(X),
    "StreamingLocalLDA.delete_batch": lambda X, m: m.streaming.delete_batch(X),
    "Moments.add_batch": lambda X, m: m.moments.add_batch(X),
    "BitChannel.report": lambda X, m: CHANNEL.report(X, SecureStream(0)),
    "BitChannel.reports": lambda X, m: CHANNEL.reports(X, SecureStream(0)),
    "FederatedLDA.fit": lambda X, m: federated().fit(X),
    "FederatedLDA.fit a part": lambda X, m: federated().fit([COUNTS, X]),
    "FederatedLDA.fit parts": lambda X, m: federated().fit([X, X]),
    "FederatedLDA.transform": lambda X, m: m.federated.transform(X),
    "Corpus": lambda X, m: Corpus(X, WORDS),
    "Corpus vocabulary": lambda X, m: Corpus(COUNTS, X),
    "Corpus persons": lambda X, m: Corpus(COUNTS, WORDS, X),
    "Corpus labels": lambda X, m: Corpus(COUNTS, WORDS, labels=X),
    "Corpus.from_texts": lambda X, m: Corpus.from_texts(X),
    "Corpus.from_texts vocabulary": lambda X, m: Corpus.from_texts(TEXTS, vocabulary=X),
    "Corpus.take": lambda X, m: m.corpus.take(X),
    "Corpus.restrict": lambda X, m: m.corpus.restrict(X),
    "Corpus.split": lambda X, m: m.corpus.split(X, random_state=0),
    "check_counts": lambda X, m: check_counts(X),
    "read_corpus": lambda X, m: read_corpus(X, text="note"),
    "load_vocabulary": lambda X, m: load_vocabulary(X),
    "fold_in": lambda X, m: fold_in(TOPICS, X),
    "fold_in topics": lambda X, m: fold_in(X, COUNTS),
    "log_likelihood": lambda X, m: log_likelihood(TOPICS, SHARES, X),
    "log_likelihood shares": lambda X, m: log_likelihood(TOPICS, X, COUNTS),
    "query_statistic": lambda X, m: query_statistic(TOPICS, X),
    "query_statistic topics": lambda X, m: query_statistic(X, COUNTS),
    "Bound.place": lambda X, m: Bound().place(X),
    "completion_perplexity": lambda X, m: evaluate.completion_perplexity(TOPICS, X),
    "completion_perplexity topics": lambda X, m: evaluate.completion_perplexity(X, COUNTS),
    "transductive_perplexity": lambda X, m: evaluate.transductive_perplexity(TOPICS, X),
    "unigram": lambda X, m: evaluate.unigram(X),
    "coherence_npmi": lambda X, m: evaluate.coherence_npmi(TOPICS, X, top=3),
    "coherence_umass": lambda X, m: evaluate.coherence_umass(X, COUNTS, top=3),
    "topic_coherences_npmi": lambda X, m: evaluate.topic_coherences_npmi(X, COUNTS, top=3),
    "diversity": lambda X, m: evaluate.diversity(X, top=3),
    "hellinger": lambda X, m: hellinger(TOPICS, X),
    "topic_match": lambda X, m: evaluate.topic_match(X, TOPICS),
    "choose_n_topics": lambda X, m: evaluate.choose_n_topics(X, [2], n_folds=2, make_model=lambda k, seed: m.gibbs),
    "choose_n_topics candidates": lambda X, m: evaluate.choose_n_topics(
        COUNTS, X, n_folds=2, make_model=lambda k, seed: m.gibbs
    ),
    "classification_report": lambda X, m: evaluate.classification_report(TOPICS, X, LABELS, COUNTS, LABELS),
    "classification_report labels": lambda X, m: evaluate.classification_report(TOPICS, COUNTS, X, COUNTS, LABELS),
    "classification_report test": lambda X, m: evaluate.classification_report(TOPICS, COUNTS, LABELS, X, LABELS),
    "classification_report test labels": lambda X, m: evaluate.classification_report(
        TOPICS, COUNTS, LABELS, COUNTS, X
    ),
    "match_vectors": lambda X, m: match_vectors(X, WORDS),
    "match_vectors words": lambda X, m: match_vectors({word: [1.0, 2.0] for word in WORDS}, X),
    "sum_rows": lambda X, m: sum_rows(X, Bound()),
    "epsilon_for": lambda X, m: epsilon_for(X, 1e-6),
    "events.gaussian": lambda X, m: events.gaussian(X),
    "Ledger": lambda X, m: Ledger(X, 1e-6),
    "Ledger purpose": lambda X, m: Ledger(1.0, 1e-6).reserve(events.gaussian(9.0), X),
    "explain_budget": lambda X, m: explain_budget(X, 1e-6),
    "Bound norm": lambda X, m: Bound(norm=X),
    "BitChannel limit": lambda X, m: BitChannel.for_document(8.0, X, 100),
    "AuditReport": lambda X, m: audit.AuditReport(X, np.arange(300) < 150, "an attack"),
    "AuditReport members": lambda X, m: audit.AuditReport(np.arange(300.0), X, "an attack"),
    "Release": lambda X, m: Release(X, WORDS, Ledger(1.0, 1e-6)),
    "Release vocabulary": lambda X, m: Release(TOPICS, X, Ledger(1.0, 1e-6)),
    "Release topic_weight": lambda X, m: Release(TOPICS, WORDS, Ledger(1.0, 1e-6), topic_weight=X),
    "lira": lambda X, m: audit.lira(train, X, n_shadows=4, random_state=0),
    "lira target": lambda X, m: audit.lira(train, COUNTS, n_shadows=4, target=(TOPICS, X), random_state=0),
    "one_run_audit": lambda X, m: audit.one_run_audit(train, X, n_canaries=10, random_state=0),
    "one_run_audit train": lambda X, m: audit.one_run_audit(lambda counts, seed: X, COUNTS, n_canaries=10, random_state=0),  # noqa: E501
    "make_canaries": lambda X, m: make_canaries(X, 3, random_state=0),
    "score_canaries": lambda X, m: score_canaries(TOPICS, X),
    "train_statistics": lambda X, m: audit.train_statistics(train, X, np.ones((2, 300), bool), [0, 1]),
    "distinguish": lambda X, m: audit.distinguish(X, np.arange(300.0)),
    "likelihood_ratio_scores": lambda X, m: audit.likelihood_ratio_scores(X, np.ones((4, 300)), np.ones((4, 300), bool)),  # noqa: E501
}  # fmt: skip
#: Where text means a file, or is what is asked for, the file's name is told; and what is a public setting.
NAMES_A_FILE = {
    "load_vocabulary",
    "match_vectors",
    "Corpus.restrict",
    "Corpus.from_texts vocabulary",
    "PrivateCountVectorizer vocabulary",
}
PUBLIC_SETTING = {"Release.with_settings"}
#: Whoever holds a frame is shown the names of its columns, where the one that was asked for is missing.
SHOWS_COLUMNS = {
    ("read_corpus", "pandas frame named by texts"),
    ("fit_topics", "pandas frame named by texts"),
}


def test_fits_of_every_estimator_are_asked():
    assert {
        call.partition(".")[0] for call in CALLS if ".fit" in call or ".partial_fit" in call
    } >= CLASSES.keys()


@pytest.fixture(scope="module")
def models():
    return Fitted()


def everything_in(error, seen):
    """Yield whatever of an error may end up in a log."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield str(error)
    yield repr(error)
    yield repr(error.args)
    yield repr(getattr(error, "__notes__", []))
    yield repr({name: value for name, value in vars(error).items() if not name.startswith("__")})
    for name in ("object", "doc", "filename", "msg", "reason"):
        yield repr(getattr(error, name, ""))
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        yield from everything_in(other, seen)


def shown_by(call, bad, models, caplog, capfd):
    """Return all that a call tells of what was passed: error, causes, warnings, log, output."""
    shown = []
    caplog.clear()
    with warnings.catch_warnings(record=True) as told, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        try:
            CALLS[call](BAD[bad](), models)
        except Exception as error:
            shown += everything_in(error, set())
    shown += [str(warning.message) for warning in told] + [record.getMessage() for record in caplog.records]
    return [*shown, *capfd.readouterr()]


@pytest.mark.parametrize("call", sorted(CALLS.keys() - PUBLIC_SETTING))
def test_no_error_shows_what_was_passed(call, models, caplog, capfd):
    leaks = {}
    for bad in BAD:
        if call in NAMES_A_FILE and bad in ("a text", "bytes"):
            continue  # the text is the name of a file
        if (call, bad) in SHOWS_COLUMNS:
            continue
        if found := [text[:300] for text in shown_by(call, bad, models, caplog, capfd) if MARKER in text]:
            leaks[bad] = found[:3]
    assert leaks == {}


@pytest.mark.parametrize("name", ["`a=b`", "`who`", "`stop_words=1`"])
def test_backquotes_in_a_header_are_no_parameters(tmp_path, name):
    """Messages mark parameters by backquotes; a column may be called so, too."""
    path = tmp_path / "notes.csv"
    path.write_text(f"{name},x\n1,2\n", encoding="utf-8")
    with pytest.raises(CorpusError) as caught:
        read_corpus(path, text="note")
    assert [part.name for part in caught.value.args if not isinstance(part, str)] == ["text"]
    assert name.replace("`", "\\x60") in str(caught.value)


@pytest.mark.parametrize("name", ["`a=b`", "`who`", "`stop_words=1`"])
def test_backquotes_in_paths_and_names_of_units_are_no_parameters(tmp_path, name):
    """A path is shown as it is, without quotes, but for its backquotes."""
    missing = tmp_path / f"{name}.csv"
    with pytest.raises(CorpusError) as caught:
        read_corpus(missing, text="note")
    assert str(missing).replace("`", "\\x60") in str(caught.value)
    assert caught.value.parameters == ()
    with pytest.raises(ReleaseError) as refused:
        Release.load(tmp_path / name)
    assert refused.value.parameters == ()
    with pytest.raises(PrivacyError) as unit:
        Ledger(1.0, 1e-6, privacy_unit="person", unit_name=name)
    assert unit.value.parameters == ("unit_name",)
    assert name.replace("`", "\\x60") in str(unit.value)


def test_what_reads_like_a_proposal_and_has_no_value_stays_text():
    error = ParameterError("the file is `a=b`; `n_topics=3` goes on")
    assert str(error) == "the file is `a=b`; n_topics=3 goes on"
