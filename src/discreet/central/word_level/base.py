"""What word-level estimators have in common."""

from typing import Any

from discreet.release.released_topics import ReleasedTopics

__all__ = ["WordLevelModel"]


class WordLevelModel(ReleasedTopics):
    """Base of estimators whose unit is one word, replaced by another."""

    privacy_unit = "word"
    neighboring = "replace_one"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # scikit-learn's checks then send whole numbers
        return tags
