r"""Releases in the formats of other tools: a CSV table of words, and the JSON that LDAvis draws.

Both are computed from the release alone, so they cost no privacy.

LDAvis (and pyLDAvis, which this library does not need) sizes bars and circles by counts. Counts of the text are
private and not part of a release, so ``Freq`` and ``Total`` are stated for a text of a million tokens.

The words of its first view are the most salient ones, :math:`p(w) \sum_k p(k|w) \log (p(k|w) / p(k))`; those of a
topic are the most relevant ones, :math:`\lambda \log p(w|k) + (1 - \lambda) \log (p(w|k) / p(w))`, over a grid of
:math:`\lambda`.

References
----------
Chuang, Manning, Heer, "Termite: visualization techniques for assessing textual topic models", AVI 2012.
Sievert, Shirley, "LDAvis: a method for visualizing and interpreting topics", ILLVI 2014.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.files import write_whole
from discreet._base.validate import check, optional, whole
from discreet.errors import Parameter, ParameterError, ReleaseError
from discreet.release.release import Release, topic_columns
from discreet.report.svg import distances, scale
from discreet.report.wording import for_spreadsheet

__all__ = ["ldavis", "to_gensim", "write_csv", "write_ldavis"]

Floats = NDArray[np.float64]
_TOKENS = 1e6
_IN_FILES = ("topic", "rank", "word", "probability", "noise", "above_noise", "label")
_SMALLEST = 1e-300
#: Inside a script element, nothing in the JSON may end the element or begin another.
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def write_csv(
    release: Release, path: str | Path, *, n_words: int | None = None, for_spreadsheets: bool = False
) -> None:
    """Write the words of each topic as a table, the most probable first.

    Columns: ``topic`` and ``rank`` (both from 1), ``word``, ``probability``, and, where the release tells the noise,
    ``noise`` (its standard deviation in this cell) and ``above_noise`` (1 where the probability is more than twice
    that). Numbers have all their digits. One that may not leave has a column ``label``, which says why.

    Parameters
    ----------
    release : Release
    path : path
        An older file is replaced.
    n_words : int, optional
        Words of each topic; all of them by default.
    for_spreadsheets : bool, default False
        Put an apostrophe before words that a spreadsheet would run as a formula.

    Raises
    ------
    ReleaseError
        Where the file cannot be written.
    """
    columns = _word_table(release, n_words)
    if for_spreadsheets:
        columns["word"] = [for_spreadsheet(word) for word in columns["word"]]
    text = io.StringIO(newline="")
    # Every word in quotes: it may hold a comma or a line break, or look like a number.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_whole(text.getvalue().encode("utf-8", "replace"), Path(path), "the table")


def to_gensim(release: Release) -> Any:
    """Return the topics as gensim's ``LdaModel``, for what is built on it. Needs gensim.

    Words are numbered as in the release. ``get_topics``, ``show_topics`` and the inference of new documents use the
    released probabilities; ``update`` would train on, from documents that the release does not cover.

    Parameters
    ----------
    release : Release

    Raises
    ------
    ReleaseError
        Where gensim is not installed.
    """
    try:
        from gensim.corpora import Dictionary  # pyright: ignore
        from gensim.models import LdaModel  # pyright: ignore
    except ImportError:
        made = None
    else:
        made: Any = (Dictionary(), LdaModel)
    if made is None:
        raise ReleaseError("this needs gensim, which is not installed: pip install gensim.")
    words, model_of = made
    words.token2id = {word: number for number, word in enumerate(release.vocabulary)}
    words.id2token = dict(enumerate(release.vocabulary))
    n_topics, n_words = release.topic_word.shape
    model = model_of(
        num_topics=n_topics,
        id2word=words,
        alpha=np.full(n_topics, float(release.configuration.get("doc_topic_prior", 0.1))),
        eta=np.zeros(n_words),  # the release is the posterior's mean: nothing is added to it
        dtype=np.float64,
        random_state=0,
    )
    # Of a text of a million tokens for each topic; `expElogbeta` is what documents are inferred with.
    model.state.sstats[...] = _TOKENS * release.topic_word
    model.expElogbeta[...] = release.topic_word
    model.add_lifecycle_event("made by discreet", determinism=release.determinism)
    return model


def _word_table(release: Release, n_words: int | None) -> dict[str, list[Any]]:
    check(n_words=(n_words, optional(whole())))
    columns = topic_columns(release, n_words)
    return {name: columns[name] for name in _IN_FILES if name in columns}


def ldavis(release: Release, *, n_words: int = 30, lambda_step: float = 0.01) -> dict[str, Any]:
    """Return the JSON values that LDAvis draws: what pyLDAvis calls prepared data.

    Topic ``t`` of the release is topic ``t + 1`` there, because LDAvis counts from 1.

    Parameters
    ----------
    release : Release
        Without topic weights, all topics count alike.
    n_words : int, default 30
        Bars in a view.
    lambda_step : float, default 0.01
        Step of the slider.

    Returns
    -------
    dict
        With the keys ``mdsDat``, ``tinfo``, ``token.table``, ``R``, ``lambda.step``, ``plot.opts``, ``topic.order``;
        and ``label`` where the release is not for release, which LDAvis passes over.
    """
    if n_words < 1 or not 0 < lambda_step <= 1:
        raise ParameterError(
            Parameter("n_words"),
            f" must be at least 1 and lambda_step above 0 and at most 1, but are {n_words} and {lambda_step}.",
        )
    topic_word = release.topic_word
    n_topics, n_words_all = topic_word.shape
    shown = min(n_words, n_words_all)
    weight = np.full(n_topics, 1 / n_topics) if release.topic_weight is None else release.topic_weight
    # Of the joint distribution, so that bars of all topics add up to those of the whole.
    joint = weight[:, None] * topic_word
    share = np.maximum(joint.sum(0), _SMALLEST)
    log_probability = np.log(np.maximum(topic_word, _SMALLEST))
    log_lift = log_probability - np.log(share)
    tables = [_salient(release, joint, share, weight, shown)]
    listed: set[int] = set(tables[0][1])
    for topic in range(n_topics):
        words = _relevant(log_probability[topic], log_lift[topic], shown, lambda_step)
        listed.update(words)
        rows = {
            "Term": [release.vocabulary[word] for word in words],
            "Freq": (_TOKENS * joint[topic, words]).tolist(),
            "Total": (_TOKENS * share[words]).tolist(),
            "Category": [f"Topic{topic + 1}"] * len(words),
            "logprob": np.round(log_probability[topic, words], 4).tolist(),
            "loglift": np.round(log_lift[topic, words], 4).tolist(),
        }
        tables.append((rows, words))
    places = scale(distances(topic_word))
    numbers = list(range(1, n_topics + 1))
    return {
        "mdsDat": {
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "topics": numbers,
            "cluster": [1] * n_topics,
            "Freq": (100 * weight).tolist(),
        },
        "tinfo": {name: [value for rows, _ in tables for value in rows[name]] for name in tables[0][0]},
        "token.table": _tokens(release, joint, share, sorted(listed)),
        "R": shown,
        "lambda.step": lambda_step,
        "plot.opts": {"xlab": "PC1", "ylab": "PC2"},
        "topic.order": numbers,
        **({} if release.may_leave else {"label": release.determinism}),
    }


def write_ldavis(release: Release, path: str | Path, *, n_words: int = 30, lambda_step: float = 0.01) -> None:
    """Write :func:`ldavis` as a JSON file, with ``<``, ``>`` and ``&`` escaped so that a page may contain it."""
    text = json.dumps(ldavis(release, n_words=n_words, lambda_step=lambda_step), allow_nan=False)
    write_whole(text.translate(_UNSAFE).encode(), Path(path), "the data for LDAvis")


def _salient(
    release: Release, joint: Floats, share: Floats, weight: Floats, shown: int
) -> tuple[dict[str, list[Any]], list[int]]:
    given = joint / share
    ratio = np.log(np.maximum(given, _SMALLEST)) - np.log(np.maximum(weight, _SMALLEST))[:, None]
    saliency = share * np.sum(given * ratio, 0)
    words: list[int] = np.argsort(-saliency, kind="stable")[:shown].tolist()
    counts = (_TOKENS * share[words]).tolist()
    ranks = list(range(shown, 0, -1))  # LDAvis sorts this view by them
    rows: dict[str, list[Any]] = {
        "Term": [release.vocabulary[word] for word in words],
        "Freq": counts,
        "Total": counts,
        "Category": ["Default"] * shown,
        "logprob": ranks,
        "loglift": ranks,
    }
    return rows, words


def _relevant(log_probability: Floats, log_lift: Floats, shown: int, step: float) -> list[int]:
    """Return the words that some position of the slider shows, in order of the vocabulary."""
    found: set[int] = set()
    for place in np.linspace(0, 1, round(1 / step) + 1).tolist():
        relevance = place * log_probability + (1 - place) * log_lift
        found.update(np.argsort(-relevance, kind="stable")[:shown].tolist())
    return sorted(found)


def _tokens(release: Release, joint: Floats, share: Floats, listed: list[int]) -> dict[str, list[Any]]:
    """Return how each listed word is shared out over topics; less than half a token is left out."""
    rows = [
        (release.vocabulary[word], topic + 1, float(joint[topic, word] / share[word]))
        for word in listed
        for topic in np.flatnonzero(_TOKENS * joint[:, word] >= 0.5).tolist()
    ]
    rows.sort()
    return {
        "Topic": [topic for _, topic, _ in rows],
        "Freq": [part for _, _, part in rows],
        "Term": [word for word, _, _ in rows],
    }
