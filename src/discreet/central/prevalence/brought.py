r"""Topics that you bring, and private shares of them: what a few hundred texts can pay for.

Learning topics of 300 texts at epsilon 1 is hopeless: V K numbers are hidden in noise. Their shares are K numbers. So
topics come from elsewhere (a list of words for each, public text, public word vectors), cost nothing, and only how much
of each stands in the texts is released, by :class:`~discreet.TopicPrevalence`, whose guarantee this is.

A topic that is a list of m words gives each of them (1 - s) / m, and s = .03 to all words of all lists alike, so that a
word on a list of another topic is never impossible. Texts without any listed word are in no group: they would tell of
the prior alone. Whether a text has one depends on that text and on public lists, so the sensitivity is the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet._base.files import list_lines
from discreet._base.persons import check_same_rows
from discreet._base.validate import suggesting
from discreet.central.base import warn_of_persons
from discreet.central.prevalence.estimator import TopicPrevalence
from discreet.central.prevalence.labelled import check_length, labels_for
from discreet.corpus import Corpus, Tokenizer, tokenizer_like
from discreet.corpus.languages import lower_words
from discreet.corpus.read import corpus_of_source, is_source
from discreet.errors import ParameterError
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.numbers import public_settings
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.private_estimator import DELTA, ledger_of_choices
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
        lists = {str(name): sorted(set(map(lower_words, words))) for name, words in topics.items()}
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
        shaped = topic_word.ndim == 2 and len(topic_word) > 1
        if not shaped or (topic_word < 0).any() or not topic_word.sum(1).all():
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


def _refuse_out_of_reach(release: Release, topics: Mapping[str, Iterable[str]], cut: Tokenizer) -> None:
    """Refuse a topic of which no text can have a word, as texts are cut: its share would tell of nothing."""
    never = {release.vocabulary[place] for place in cut.out_of_reach(release.vocabulary)}
    for name, listed in topics.items():
        if never.issuperset(map(lower_words, listed)):
            shown = ", ".join(map(repr, sorted(listed)[:5]))
            raise ParameterError(
                f"topic {name!r} has no word that a text can have, as texts are cut: {shown}. Expected single words, "
                "without hyphens, of two letters or more."
            )


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


def labels_of_all(corpus: Corpus) -> list[str | None]:
    """Return a label for each document: that of all texts, or none where no listed word stands in it, but in others."""
    return [ALL if length or not corpus.counts.nnz else None for length in np.diff(corpus.counts.indptr)]


@suggesting
def share_topics(
    texts: Any,
    topics: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    by: Any = None,
    groups: Any = None,
    text: str | None = None,
    person: str | None = None,
    skip_empty: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    persons: Any = None,
    privacy_unit: str | None = None,
    unit_name: str | None = None,
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
    delta : float, optional
        What is allowed beyond exp(epsilon): by default the delta of the ledger, or 1e-6.
    by : str or sequence of length n_documents, optional
        Group of each text; by default all are in one. Of a file or frame: the column that says it.
    groups : sequence of str, optional
        The public list of groups, where ``by`` is given.
    text, person, skip_empty, encoding, delimiter, sheet
        Of a file or frame: as for :func:`~discreet.fit_topics`.
    persons : array-like of shape (n_documents,), optional
        Person of each text, where no column says it.
    privacy_unit, unit_name, ledger
        As for :func:`~discreet.fit_topics`: by default each person is protected, where persons are known.
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".

    Returns
    -------
    PrevalenceRelease

    Raises
    ------
    CorpusError
        Where the texts are not what was expected, or none has a word of the topics. Nothing is booked.

    Warns
    -----
    CorpusWarning
        Before anything is booked, as by :meth:`TopicPrevalence.fit <discreet.TopicPrevalence.fit>`; and where a file or
        frame has further columns and none says whose the texts are. It is exact, so for you alone.

    Examples
    --------
    >>> texts = ["cold soup"] * 200 + ["a long wait"] * 100
    >>> made = share_topics(texts, {"food": ["soup", "meal"], "waiting": ["wait"]}, epsilon=2.0, random_state=0)
    >>> made.shares().share.round(1).tolist()
    [[0.7, 0.3]]
    """
    release = topics if isinstance(topics, Release) else bring_topics(topics)
    if (by is None) != (groups is None):
        raise ParameterError("`by` and `groups` come together, or not at all.")
    columns: dict[str, Any] = {"text": text, "person": person, "skip_empty": skip_empty or None}
    columns |= {"encoding": encoding, "delimiter": delimiter, "sheet": sheet}
    if isinstance(by, str):
        columns, by = columns | {"by": by}, None
    check_same_rows(texts, by, "by", "the texts")
    of_source = is_source(texts)
    if of_source and not isinstance(persons, str):  # its reader knows its index, and what it leaves out
        columns, persons = columns | {"persons": persons}, None
    cut = None if isinstance(texts, Corpus) else tokenizer_like(release.configuration)
    if cut is not None and isinstance(topics, Mapping):
        _refuse_out_of_reach(release, topics, cut)
    corpus = corpus_of_source(texts, columns, cut, release.vocabulary)
    if not isinstance(corpus, Corpus):
        corpus = Corpus.from_texts(corpus, tokenizer=cut, vocabulary=release.vocabulary)
    if of_source and privacy_unit is None and persons is None and epsilon != math.inf:
        warn_of_persons(texts, corpus, columns)
    corpus = corpus.restrict(release.vocabulary)
    labels = labels_of_all(corpus)
    if groups is not None:
        given = list(labels_for(corpus, by))
        check_length(given, len(labels))
        labels = [None if empty is None else group for empty, group in zip(labels, given, strict=True)]
    if unit_name is not None:
        unit = privacy_unit or ("document" if persons is None and corpus.persons is None else "person")
        made = ledger_of_choices(corpus) or Ledger(
            epsilon, delta or DELTA, privacy_unit=unit, unit_name=unit_name
        )
        ledger = ledger or made
        ledger.check_called(unit_name)
    model = TopicPrevalence(
        release,
        [ALL] if groups is None else groups,
        epsilon=epsilon,
        delta=delta,
        privacy_unit=privacy_unit,
        ledger=ledger,
        random_state=random_state,
    )
    return model.fit(corpus, by=labels, persons=persons).release_
