"""What may leave: the release of topics, those of shares in groups and of a fit, and their files."""

from discreet.release.numbers import FitRelease
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.release import Release

__all__ = ["FitRelease", "PrevalenceRelease", "Release"]
