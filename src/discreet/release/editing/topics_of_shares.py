"""What shares of topics call their topics, after a review of the release that they are shares of.

Shares keep one short text a topic: its name, or its most probable words. Those of a fit are as nobody has reviewed
them; here they take the names and words of the topics as reviewed. The numbers stay: a topic that was merged or removed
keeps its column, because the noise of a sum of columns is another, and shares of documents add up to 1 with it.

Shares also keep a mark of their topics, a digest of their numbers, which stays where only words were renamed. Where a
review changed the numbers, none is kept that any topics have; one of version 0.1, which held the words, never is.

*Guarantee*: post-processing, as of any edit (:mod:`discreet.release.editing.edits`).
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ReleaseError
from discreet.release.editing.details import reviewed_settings
from discreet.release.editing.edit_list import EditList, places
from discreet.release.goodness_of_fit import is_mark_of, mark_of

if TYPE_CHECKING:
    from discreet.release.prevalence import PrevalenceRelease
    from discreet.release.record import Release

__all__ = ["names_of", "reviewed_shares"]

_NAMED_BY = 3
#: In the place of a mark, where the reviewed topics have other numbers than those that the shares were found with.
_NO_MARK = "topics edited in review"


def names_of(topics: "Release") -> tuple[str, ...]:
    """Return what to call each topic: the name that a review gave it, or its most probable words."""
    words = topics.top_words(_NAMED_BY)
    return tuple(name or " ".join(own) for name, own in zip(topics.topic_names, words, strict=True))


def reviewed_shares(
    shares: "PrevalenceRelease", topics: "Release", edits: EditList, reviewed: "Release"
) -> "PrevalenceRelease":
    """Return the shares with the names, words and mark of the reviewed topics, and who reviewed them.

    Parameters
    ----------
    shares : PrevalenceRelease
    topics : Release
        Those that they are shares of, as they were before the review.
    edits : EditList
    reviewed : Release
        ``topics`` with these edits.

    Raises
    ------
    ReleaseError
        Where they are shares of other topics, so that nothing would say which name is whose.
    """
    if not is_mark_of(shares.configuration.get("model"), topics):
        raise ReleaseError(
            "these are shares of other topics than those of this release. Give the release that they were "
            "made with, as it was then: the folder that `fit` wrote beside them, not one that was reviewed since."
        )
    called, where = names_of(reviewed), places(len(shares.topics), edits)
    names: list[str] = []
    for topic, place in enumerate(where):
        parts = [other for other, theirs in enumerate(where) if theirs == place]
        if place is None:
            names.append("(removed in review)")
        elif len(parts) > 1:
            names.append(f"{called[place]} (part {parts.index(topic) + 1} of {len(parts)})")
        else:
            names.append(called[place])
    told = reviewed_settings(reviewed)
    told["model"] = mark_of(reviewed) if np.array_equal(topics.topic_word, reviewed.topic_word) else _NO_MARK
    return replace(shares, topics=tuple(names), configuration={**shares.configuration, **told})
