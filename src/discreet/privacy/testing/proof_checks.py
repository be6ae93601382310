"""Checks of what a proof relies on: sums that one unit hardly moves, and nothing that leaves beside the noise."""

import math
from collections.abc import Iterator
from typing import Any

from discreet.privacy.testing.leaves import leaves_of
from discreet.privacy.testing.neighbours import Pair, odd_pairs, pairs, threshold_pairs
from discreet.privacy.testing.replay import Run, how_far, replayed
from discreet.privacy.testing.subject import Subject

__all__ = [
    "check_all_is_made_of_noisy_sums",
    "check_nothing_exact_is_kept",
    "check_sums_keep_to_their_bound",
]

_SEEDS = (0, 1, 2)


def check_sums_keep_to_their_bound(subject: Subject) -> None:
    """A unit more moves no sum further than its bound says: a document of a million tokens, a person of 50."""
    for pair, first, again, _, _ in _replays(subject):
        assert len(again.releases) == len(first.releases), (
            f"expected as many noisy sums without {pair.unit}, but there are {len(again.releases)}, not "
            f"{len(first.releases)}."
        )
        for number, (one, other) in enumerate(zip(first.releases, again.releases, strict=True), 1):
            promised = (one.bound.privacy_unit, one.bound.neighboring)
            assert promised == (subject.unit, subject.relation), (
                f"expected sums bounded for {subject.unit} ({subject.relation}), as the estimator says, but noisy "
                f"sum {number} is bounded for {promised[0]} ({promised[1]})."
            )
            far = how_far(one, other)
            times = math.sqrt(far) if one.bound.norm == "l2" else float(far)
            assert far <= 1, (
                f"expected {pair.unit} to move noisy sum {number} by its sensitivity at most, but it moves it by "
                f"{times:.6g} times as much: bound all that one {subject.unit} adds, before the sum."
            )


def check_all_is_made_of_noisy_sums(subject: Subject) -> None:
    """Where a neighbour gets the same noisy sums, all that is fitted is the same: nothing else tells of the data."""
    for pair, first, _, one, other in _replays(subject):
        learned = _learned(subject, one)
        differing = _differing(learned, _learned(subject, other))
        if differing:
            _accuse(subject, pair, first, learned, differing)
        assert subject.bytes_of(one) == subject.bytes_of(other), (
            f"expected the same files from the same noisy sums, but they tell whether there is {pair.unit}."
        )


def check_nothing_exact_is_kept(subject: Subject) -> None:
    """What is the same under every seed is the same for neighbours, too: each array has noise, or ignores X."""
    for pair in (next(odd_pairs(subject)), *threshold_pairs(subject)):
        found = [
            [_learned(subject, subject.fit(X, persons=persons, random_state=seed)) for seed in _SEEDS]
            for X, persons in ((pair.with_it, pair.persons), (pair.without_it, pair.persons_without))
        ]
        exact = [{name for name in runs[0] if len({run.get(name) for run in runs}) == 1} for runs in found]
        differing = _differing(*({name: runs[0][name] for name in exact[0] & exact[1]} for runs in found))
        assert not differing, (
            f"expected noise in all that depends on X, but {differing[0]} has none: it is the same for all seeds, and "
            f"tells whether there is {pair.unit}."
        )


def _accuse(
    subject: Subject, pair: Pair, first: Run, learned: dict[str, bytes], differing: list[str]
) -> None:
    """Say what differs between neighbours; what also differs between two fits of the same data is no proof."""
    with replayed(first.releases):
        same = subject.fit(pair.with_it, persons=pair.persons, random_state=0)
    restless = _differing(learned, _learned(subject, same))
    told = [name for name in differing if name not in restless]
    if told:
        raise AssertionError(
            f"expected all that is fitted to follow from noisy sums, but with the same ones {told[0]} tells whether "
            f"there is {pair.unit}."
        )
    raise AssertionError(
        f"expected all that is fitted to follow from noisy sums and the seed, but {differing[0]} differs between two "
        "fits of the same data under the same seed, so that nobody can see whether the data are in it: name it in "
        "times= if it is a time; draw it from random_state= if it is random; or keep it out of the estimator."
    )


def _replays(subject: Subject) -> Iterator[tuple[Pair, Run, Run, Any, Any]]:
    """Yield, for each pair of neighbours, what mechanisms were asked for in both fits, and the models."""
    for pair in pairs(subject):
        with replayed() as first:
            one = subject.fit(pair.with_it, persons=pair.persons, random_state=0)
        assert not first.n_besides, (
            f"expected all noise from mechanisms (GaussianMechanism, LaplaceMechanism), whose sums this check can see, "
            f"but {first.n_besides} arrays of noise were drawn besides."
        )
        assert first.releases, (
            "expected sums released through mechanisms, which this check can see, but none was."
        )
        with replayed(first.releases) as again:
            other = subject.fit(pair.without_it, persons=pair.persons_without, random_state=0)
        yield pair, first, again, one, other


def _learned(subject: Subject, model: Any) -> dict[str, bytes]:
    """Return the bytes of all that was fitted, by name."""
    found: dict[str, bytes] = {}
    for attribute, value in subject.fitted(model).items():
        found |= {f"{attribute}{name}": part for name, part in leaves_of(value).items()}
    return found


def _differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
