"""Releases in the formats of other tools: a CSV table of words, and gensim's model.

Both are computed from the release alone, so they cost no privacy.
"""

import csv
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet._base.files import write_whole
from discreet._base.validate import check, optional, whole
from discreet.errors import ReleaseError
from discreet.release.release import Release, topic_columns
from discreet.report.wording import csv_of, for_spreadsheet

__all__ = ["to_gensim", "write_csv"]

_TOKENS = 1e6
_IN_FILES = ("topic", "rank", "word", "probability", "noise", "above_noise", "label")


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
    check(n_words=(n_words, optional(whole())))
    told = topic_columns(release, n_words)
    columns = {name: told[name] for name in _IN_FILES if name in told}
    if for_spreadsheets:
        columns["word"] = [for_spreadsheet(word) for word in columns["word"]]
    # Every word in quotes: it may hold a comma or a line break, or look like a number.
    text = csv_of(columns, quoting=csv.QUOTE_NONNUMERIC)
    write_whole(text.encode("utf-8", "replace"), Path(path), "the table")


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
        raise ReleaseError("this needs gensim, which is not installed: pip install gensim.") from None
    words, model_of = cast(Any, Dictionary()), cast(Any, LdaModel)
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
