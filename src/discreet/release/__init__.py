"""What may leave: the release, its words and its files."""

from discreet.release.record import Release

__all__ = ["Release"]
