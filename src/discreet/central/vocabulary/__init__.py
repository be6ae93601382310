"""Choosing words privately: which words of private texts may be named at all.

Three methods in two files, with the same three parts: a frozen configuration that is public, the event it is
booked as, and ``choose``, which sees the texts. ``thresholds`` holds what they share: the proof that words
which only one unit holds stay hidden but with probability delta.
"""

from discreet.central.vocabulary.vectorizer import PrivateCountVectorizer

__all__ = ["PrivateCountVectorizer"]
