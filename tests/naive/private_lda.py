"""A small corpus and PrivateLDA on it, for the tests of PrivateLDA."""

import numpy as np
import pytest
from tests.naive.central_checks import random_counts

from discreet import PrivateLDA, PrivateSVILDA
from discreet.privacy import mechanism

COUNTS = random_counts(400, 30, 0)
PERSONS = np.random.default_rng(1).integers(0, 120, 400)


def make(**changes):
    """PrivateLDA, or PrivateSVILDA where a sampling rate is given."""
    public = {"n_topics": 2, "epsilon": 4.0, "delta": 1e-5, "random_state": 0}
    if "sampling_rate" in changes:
        return PrivateSVILDA(**{**public, **changes})
    return PrivateLDA(**{**public, "allow_unlearnable": True, **changes})


def same(one, other):
    return one.components_.tobytes() == other.components_.tobytes() and one.release_ == other.release_


FULL = {}
SAMPLED = {"sampling_rate": 0.3, "n_rounds": 4}
BOTH = pytest.mark.parametrize("how", [FULL, SAMPLED], ids=["full batch", "DP-SVI"])


def recorded_draws(monkeypatch):
    draws = []
    honest = mechanism.rounded_gaussian

    def spy(scale, size, stream, **options):
        noise = honest(scale, size, stream, **options)
        draws.append((scale, size, noise))
        return noise

    monkeypatch.setattr(mechanism, "rounded_gaussian", spy)
    return draws
