"""The words of each topic as the columns of a table, the most probable first."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from discreet.release.record import Release

__all__ = ["STANDARD_DEVIATIONS", "topic_columns"]

#: Above the noise is what is larger than this many of its standard deviations.
STANDARD_DEVIATIONS = 2.0


def topic_columns(release: "Release", n_words: int | None = None) -> dict[str, list[Any]]:
    """Return columns: topic, name, rank, word, probability; where they are told, noise, above_noise, over_all_topics.

    Where a release may not leave (made with a seed, or without privacy), a column ``label`` says so, too.

    Parameters
    ----------
    release : Release
    n_words : int, optional
        Words of each topic; all of them by default.
    """
    order = np.argsort(-release.topic_word, axis=1, kind="stable")[:, :n_words]
    n_topics, shown = order.shape
    flat = order.ravel().tolist()
    rows = np.repeat(np.arange(n_topics), shown)
    columns: dict[str, list[Any]] = {
        "topic": rows.tolist(),
        "name": [release.topic_names[topic] for topic in rows.tolist()],
        "rank": np.tile(np.arange(1, shown + 1), n_topics).tolist(),
        "word": [release.vocabulary[word] for word in flat],
        "probability": release.topic_word[rows, flat].tolist(),
    }
    if release.topic_word_noise is not None:
        noise = release.topic_word_noise[rows, flat]
        columns["noise"] = noise.tolist()
        above = release.topic_word[rows, flat] > STANDARD_DEVIATIONS * noise
        columns["above_noise"] = above.astype(int).tolist()
    if release.word_weight is not None:
        columns["over_all_topics"] = release.word_weight[flat].tolist()
    if not release.may_leave:
        columns["label"] = [release.determinism] * len(flat)
    return columns
