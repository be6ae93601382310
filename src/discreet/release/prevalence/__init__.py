"""Topic shares of groups, as they may leave: the record, its file, and what follows from its numbers."""

from discreet.release.prevalence.record import PrevalenceRelease

__all__ = ["PrevalenceRelease"]
