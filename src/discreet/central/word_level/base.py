"""What word-level estimators have in common."""

from discreet.central.base import PrivateTopicModel

__all__ = ["WordLevelModel"]


class WordLevelModel(PrivateTopicModel):
    """Base of estimators whose unit is one word, replaced by another. ``persons`` have no effect."""

    privacy_unit = "word"
    neighboring = "replace_one"
    _protects = ("word",)
