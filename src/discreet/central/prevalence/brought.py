r"""Topics that you bring, and private shares of them: what a few hundred texts can pay for.

Learning topics of 300 texts at epsilon 1 is hopeless: V K numbers are hidden in noise. Their shares are K numbers. So
topics come from elsewhere (a list of words for each, public text, public word vectors), cost nothing, and only how much
of each stands in the texts is released, by :class:`~discreet.TopicPrevalence`, whose guarantee this is.

A topic that is a list of m words gives each of them (1 - s) / m, and s = .03 to all words of all lists alike, so that a
word on a list of another topic is never impossible. Texts without any listed word are in no group: they would tell of
the prior alone. Whether a text has one depends on that text and on public lists, so the sensitivity is the same.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from discreet._base.callers import warn_caller
from discreet._base.files import list_lines
from discreet._base.persons import check_same_rows
from discreet._base.validate import suggesting
from discreet.central.prevalence.estimator import TopicPrevalence
from discreet.central.prevalence.labelled import check_length, contribution_bound
from discreet.corpus import Corpus, tokenizer_like
from discreet.corpus.languages import lower_words
from discreet.corpus.read import corpus_of_source
from discreet.errors import CorpusWarning, ParameterError
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.numbers import public_settings
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.prevalence.changes import against_rest
from discreet.release.prevalence.shares import Sums, limits
from discreet.release.release import Release

#: The group of all texts, where nobody asks for others.
ALL = "all texts"
_SMOOTHING = 0.03
_PRIOR = 0.01
_EXPECTED = (
    "`topics` must be lists of words by the name of each topic, {'food': ['soup', 'meal'], ...}, or (topic_word, "
    "words): an array of shape (n_topics, n_words) from public text or vectors, and its words."
)


def bring_topics(topics: Any, *, names: Sequence[str] | None = None) -> Release:
    """Return topics that were not made from the private texts, as a release that cost nothing.

    Parameters
    ----------
    topics : mapping of str to iterable of str, or (array of shape (n_topics, n_words), words)
        Lists of words, compared in lower case, by the names of topics; or topics of a public corpus, or of public word
        vectors (:func:`discreet.evaluate.public_topics`), and their words.
    names : sequence of str of length n_topics, optional
        What to call the topics of an array; by default their first words.

    Returns
    -------
    Release
        Of epsilon 0. That nothing private is in them is yours to vouch for.

    Raises
    ------
    ParameterError
        Where there are fewer than two topics, or one has no words.

    Examples
    --------
    >>> bring_topics({"food": ["soup", "meal"], "waiting": ["wait", "hour", "late"]}).vocabulary
    ('hour', 'late', 'meal', 'soup', 'wait')
    """
    if isinstance(topics, Mapping) and not any(isinstance(words, str) for words in topics.values()):
        lists: dict[str, list[str]] = {
            str(name): sorted(set(map(lower_words, words))) for name, words in topics.items()
        }
        names = tuple(lists)
        words = tuple(sorted({word for listed in lists.values() for word in listed}))
        if len(lists) < 2 or not all(lists.values()):
            raise ParameterError(f"{_EXPECTED} At least two, none of them empty.")
        topic_word = np.full((len(lists), len(words)), _SMOOTHING / len(words))
        column = {word: place for place, word in enumerate(words)}
        for topic, listed in enumerate(lists.values()):
            topic_word[topic, [column[word] for word in listed]] += (1 - _SMOOTHING) / len(listed)
    elif isinstance(topics, tuple) and len(topics) == 2:
        topic_word, words = np.asarray(topics[0], np.float64), tuple(topics[1])
        if (
            topic_word.ndim != 2
            or len(topic_word) < 2
            or (topic_word < 0).any()
            or not topic_word.sum(1).all()
        ):
            raise ParameterError(_EXPECTED)
    else:
        raise ParameterError(_EXPECTED)
    made = Release(
        topic_word / topic_word.sum(1, keepdims=True),
        words,
        Ledger(1.0),
        configuration=public_settings(
            "bring_topics",
            "topics that were brought: public, not made from the private texts",
            doc_topic_prior=_PRIOR,
            topics_are_public=True,
        ),
    )
    return made if names is None else made.with_topic_names(dict(enumerate(names, 1)))


def read_topics(path: str | Path) -> Release:
    """Read topics from a file, one a line: a name, a colon, and words with blanks or commas between them."""
    lists: dict[str, list[str]] = {}
    for number, line in enumerate(list_lines(Path(path), "the topics"), 1):
        name, colon, words = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fault = ""
        if not (colon and name.strip() and words.strip()):
            fault = "expected a topic, with a name, a colon and its words, such as food: soup meal canteen"
        elif name.strip() in lists:
            fault = "a topic of this name stands on an earlier line; put all its words on one"
        elif set(words) & set('"\u201c\u201d\u201e\u00ab\u00bb'):
            fault = "leave out the quotes: each word counts by itself, and no phrases are looked for"
        if fault:
            raise ParameterError(f"{path}, line {number}: {fault}.")
        lists[name.strip()] = words.replace(",", " ").split()
    return bring_topics(lists)


def reach_in_points(
    n_units: float,
    n_groups: int,
    n_topics: int,
    epsilon: float,
    delta: float = 1e-6,
    count_weight: float = 0.5,
) -> tuple[float, float]:
    """Return how far 95 % intervals of equal shares reach to each side, in points, for groups of so many units.

    That of noise in one share by itself, and that among the shares of all groups and topics together, with chance, by
    the test that a release makes; inf where a group may be empty.
    """
    noise = noise_multiplier_for(epsilon, delta) * float(
        contribution_bound(count_weight, "document").contribution_bound
    )
    totals = np.full((n_groups, n_topics), n_units / n_topics)
    sums = Sums(totals, np.full(n_groups, count_weight * n_units), noise, count_weight)
    low, high = limits(sums, float(ndtri(0.975)))
    alone = 50 * float((high - low)[0, 0])
    if n_groups == 1:
        return alone, alone
    found = against_rest(sums)
    return alone, 50 * float((found.high - found.low)[0, 0])


def labels_of_all(corpus: Corpus) -> list[str | None]:
    """Return a label for each document: that of all texts, or none where no listed word stands in it."""
    return [ALL if length else None for length in np.diff(corpus.counts.indptr).tolist()]


def units_with_words(corpus: Corpus) -> int:
    """Return how many persons, or documents where there are no persons, have any word of the topics. Private."""
    there = np.diff(corpus.counts.indptr) > 0
    return int(there.sum()) if corpus.persons is None else len(np.unique(corpus.persons[there]))


@suggesting
def share_topics(
    texts: Any,
    topics: Any,
    *,
    epsilon: float,
    delta: float = 1e-6,
    by: Any = None,
    groups: Any = None,
    text: str | None = None,
    person: str | None = None,
    persons: Any = None,
    ledger: Ledger | None = None,
    random_state: int | None = None,
) -> PrevalenceRelease:
    """Release how much of each topic that you bring stands in private texts.

    Parameters
    ----------
    texts : list of str, path, data frame or Corpus
        As for :func:`~discreet.fit_topics`.
    topics : Release, mapping or pair
        A release, or what :func:`bring_topics` takes.
    epsilon : float
        What the shares cost. The topics cost nothing.
    delta : float, default 1e-6
        What is allowed beyond exp(epsilon).
    by : sequence of length n_documents, optional
        Group of each text; by default all are in one.
    groups : sequence of str, optional
        The public list of groups, where ``by`` is given.
    text, person : str, optional
        Of a file or frame: the column of the text, and the one that says whose it is.
    persons : array-like of shape (n_documents,), optional
        Person of each text, where no column says it. Where persons are known, each of them is protected.
    ledger : Ledger, optional
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".

    Returns
    -------
    PrevalenceRelease

    Examples
    --------
    >>> texts = ["cold soup"] * 200 + ["a long wait"] * 100
    >>> made = share_topics(texts, {"food": ["soup", "meal"], "waiting": ["wait"]}, epsilon=2.0, random_state=0)
    >>> made.shares().share.round(1).tolist()
    [[0.7, 0.3]]

    Warns
    -----
    CorpusWarning
        Before anything is booked, where noise will hide all shares. It is exact, so for you alone.
    """
    release = topics if isinstance(topics, Release) else bring_topics(topics)
    if (by is None) != (groups is None):
        raise ParameterError("`by` and `groups` come together, or not at all.")
    check_same_rows(texts, by, "by", "the texts")
    cut = None if isinstance(texts, Corpus) else tokenizer_like(release.configuration)
    corpus = corpus_of_source(texts, {"text": text, "person": person}, cut, release.vocabulary)
    if not isinstance(corpus, Corpus):
        corpus = Corpus.from_texts(corpus, tokenizer=cut, vocabulary=release.vocabulary)
    corpus = corpus.restrict(release.vocabulary)
    known = persons is not None or corpus.persons is not None
    model = TopicPrevalence(
        release,
        [ALL] if groups is None else groups,
        epsilon=epsilon,
        delta=delta,
        privacy_unit="person" if known else "document",
        ledger=ledger,
        random_state=random_state,
    )
    labels = labels_of_all(corpus)
    if by is not None:
        given = list(by)
        check_length(given, len(labels))
        labels = [None if empty is None else group for empty, group in zip(labels, given, strict=True)]
    reached, n_topics = (
        units_with_words(corpus) / (1 if groups is None else len(groups)),
        len(release.topic_word),
    )
    if labels and math.isfinite(epsilon) and reach_in_points(reached, 1, n_topics, epsilon, delta)[0] > 100:
        told = (
            "Before anything is spent, and for you alone, because it is exact: "
            f"{len(labels) - labels.count(None):,} of {len(labels):,} texts have a word of the topics, so that noise "
            "will hide every share."
        )
        warn_caller(CorpusWarning(ParameterError(told)))
    return model.fit(corpus, by=labels, persons=persons).release_
