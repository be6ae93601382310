"""What may leave: the release, its files, its card, its report, exports."""

from discreet.release.record import Release

__all__ = ["Release"]
