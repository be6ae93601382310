"""What word-level estimators have in common."""

from typing import Any

from discreet.central.base import PrivateTopicModel

__all__ = ["WordLevelModel"]


class WordLevelModel(PrivateTopicModel):
    """Base of estimators whose unit is one word, replaced by another. ``owners`` have no effect."""

    privacy_unit = "word"
    neighboring = "replace_one"
    _protects = ("word",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # scikit-learn's checks then send whole numbers
        return tags
