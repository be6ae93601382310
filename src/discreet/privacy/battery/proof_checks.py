r"""Neighbouring data on either side of a threshold: where exact numbers decide something, one unit tips it.

A word that is kept where at least 5 documents have it (``min_df=5``), and a size that is told as "about 200", hardly
ever depend on one unit; but where they do, they tell of it. So here each word stands at the edge of a usual threshold,
and so does the number of units.

* *The removed unit has every word.* Word j is used by k of 200 documents with it, and by k - 1 of 199 without it:
  thresholds in documents or people, in tokens (each word occurs once in a document), and as a share from below.
* *The removed unit is empty.* Word j is used by k of 200, then by k of 199: shares from above (``max_df``).
* *Ordinary units, one of which goes*, at numbers where rounding up, down or to the nearest 10, 50, 100 or 1000 turns
  over, and the powers of two and ten.

Other thresholds and roundings are not found.

Pairs of neighbouring data that differ by one odd unit: heavy, short, empty, at a threshold
===========================================================================================

Play a fit again on neighbouring data, with the noisy sums that the first fit saw
=================================================================================
An estimator is private by the usual proof (adaptive composition, then post-processing) if each sum it hands to a
mechanism is a function of the data and of *what was released before*, moves by no more than its bound says, and
everything else is a function of what was released. So fit X and write down every noisy sum; then fit a neighbour
under the same seed, and let every mechanism answer what it answered then. Now

* the sums before noise may differ by the sensitivity of their bound, and no further: exactly, in integers;
* all that was fitted must be the same, to the last bit; only times, which no seed repeats, may be named and left out.

No noise is in the way, and there is no threshold: an honest estimator cannot fail by chance.

Checks of what a proof relies on
================================
Sums that one unit hardly moves, and nothing that leaves beside the noise.
"""

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.validate import with_article
from discreet.privacy.battery.subject import Subject, leaves_of
from discreet.privacy.bound import Bound
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
from discreet.privacy.noise import _draws

_N_UNITS = 200
_SMALL = (*range(1, 13), 15, 16, 20, 21, 25, 26, 30, 31, 35, 40, 41, 50, 51, 55, 60, 61, 75, 80, 81)
_LARGE = (100, 101, 105, 120, 121, 128, 140, 150, 151, 155, 160, 161, 180, 181, 190, 191, 195, 196, 199)
#: Documents that have a word, together with the one that is removed.
_FREQUENCIES = (*_SMALL, *_LARGE)
#: The same for a document that has none: half a percent, one percent, ... of 200.
_SHARES = (1, 2, 4, 5, 6, 8, 10, 20, 30, 40, 50, 60, *range(80, 150, 20), *range(150, 191, 10), 194, 196, 198)
#: Units with the one that is removed: rounded up, to tens, as a power of two, to fifties, hundreds, thousands.
_SIZES = (201, 215, 256, 275, 350, 1000, 1500)


def at_frequencies(X: Any, least: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield (what the odd document is like, 199 others, the odd one, an empty one), in the form of X."""
    n_words = X.shape[1] if hasattr(X, "shape") else len(_words_of(X))
    for name, in_odd, numbers in (("has every word", 1, _FREQUENCIES[least - 1 :]), ("is empty", 0, _SHARES)):
        # As many rounds as it takes; words that are left over in the last one begin again.
        for start in range(0, len(numbers) if n_words else 0, max(n_words, 1)):
            users = np.resize(np.array(numbers[start : start + n_words]), n_words)
            others = (np.arange(_N_UNITS - 1)[:, None] < users - in_odd).astype(np.int32)
            odd = np.full((1, n_words), in_odd, np.int32)
            yield f"{name} at a threshold of others", *(_as_in(X, rows) for rows in (others, odd, 0 * odd))


def knows(X: Any) -> bool:
    """Return whether data of this kind can be made here: a matrix of counts, or texts."""
    if isinstance(X, list):
        return all(isinstance(text, str) for text in X)
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2)


def _words_of(X: list[str]) -> list[str]:
    return sorted(set(" ".join(X).split()))


def _as_in(X: Any, rows: NDArray[np.integer[Any]]) -> Any:
    if sp.issparse(X):
        return sp.csr_matrix(rows.astype(X.dtype))
    if isinstance(X, np.ndarray):
        return rows.astype(X.dtype)
    words = _words_of(X)
    return [" ".join(word for word, n in zip(words, row, strict=True) if n) for row in rows]


#: Documents of the person who is removed.
_PROLIFIC = 50
_MILLION = 1_000_000


class Pair(NamedTuple):
    """Two neighbouring data sets, what one has and the other has not, and who wrote each document."""

    unit: str
    with_it: Any
    without_it: Any
    persons: NDArray[Any] | None = None
    persons_without: NDArray[Any] | None = None


def pairs(subject: Subject) -> Iterator[Pair]:
    """Yield all neighbours under the unit and the relation of an estimator, for fits that are played again.

    In texts every word is used by two at least: where words are chosen from them, sums of two neighbours differ in
    shape by the words that only one has, and delta is what that costs.
    """
    yield from odd_pairs(subject)
    yield from threshold_pairs(subject, least=1 if subject.takes_counts else 2)
    if subject.relation == "add_or_remove_one" and subject.unit in ("document", "person"):
        for n in _SIZES:
            X = subject.make(n)
            yield _single(f"one {subject.unit} more than {n - 1}", X, X[:-1])


def threshold_pairs(subject: Subject, least: int = 1) -> Iterator[Pair]:
    """Yield neighbours whose words stand at usual thresholds from ``least`` on; people have one document each."""
    X = subject.make(_N_UNITS)
    if subject.unit in ("word", "pair"):
        yield from _tokens_at_frequencies(X) if sp.issparse(X) else ()
        return
    for which, others, odd, empty in at_frequencies(X, least) if knows(X) else ():
        whose = f"a person whose document {which}" if subject.unit == "person" else f"a document that {which}"
        if subject.relation == "add_or_remove_one":
            yield _single(whose, _stacked(others, odd), others)
        elif "empty" not in which:
            yield _single(whose, _stacked(others, odd), _stacked(others, empty))


def _tokens_at_frequencies(X: Any) -> Iterator[Pair]:
    """Yield counts in which one token becomes another word: one that k documents had, another that now l have."""
    for left, joined in ((1, 2), (3, 5), (10, 20), (25, 50), (100, 150)):
        counts = np.array(X.toarray())
        counts[:, :2] = 0
        counts[:left, 0] = 1
        counts[1:joined, 1] = 1
        moved = counts.copy()
        moved[0, :2] = (0, 1)
        yield Pair(f"a token of a word that {left} documents have", _as_in(X, counts), _as_in(X, moved))


def odd_pairs(subject: Subject) -> Iterator[Pair]:
    """Yield neighbours that differ by one odd unit, a pair for each."""
    X = subject.make(_N_UNITS)
    if subject.unit in ("word", "pair"):
        yield from _moved_tokens(X)
        return
    of_one = _PROLIFIC if subject.unit == "person" else 1
    for name, rows in _odd_rows(subject, X, of_one):
        whose = f"a person of {of_one} documents, each {name}" if of_one > 1 else f"a document that is {name}"
        yield _pair(subject, whose, X, rows)
    if sp.issparse(X):
        others = X.tolil()
        others[:, 0] = 0
        own = np.zeros((of_one, X.shape[1]), X.dtype)
        own[:, 0] = 3
        yield _pair(
            subject,
            f"{with_article(subject.unit)} with a word of its own",
            others.tocsr(),
            sp.csr_matrix(own),
        )


def _odd_rows(subject: Subject, X: Any, n: int) -> Iterator[tuple[str, Any]]:
    """Yield names of odd units, and the rows of each."""
    if sp.issparse(X):
        wide, like = X.shape[1], X.dtype
        odd = np.zeros((4, wide), like)
        odd[0, 2] = _MILLION
        odd[1, :] = _MILLION // wide
        odd[2, 3] = 1
        names = ("a million tokens of one word", "a million tokens of all words", "one token", "empty")
        for name, row in zip(names, odd, strict=True):
            yield name, sp.csr_matrix(np.tile(row, (n, 1)))
    elif isinstance(X, list) and all(isinstance(text, str) for text in X):
        joined = " ".join(X)
        for name, text in (
            ("all texts, many times", f"{joined} " * (_PROLIFIC // n)),
            ("short", X[0][:5]),
            ("empty", ""),
        ):
            yield name, [text] * n
    yield "like the others", subject.make(_N_UNITS + n)[_N_UNITS:]


def _pair(subject: Subject, unit: str, X: Any, rows: Any) -> Pair:
    """Return a pair in which one unit more has these rows, and each other person wrote two documents."""
    n, ordinary = _length(rows), np.arange(_N_UNITS) // 2
    persons = np.concatenate([ordinary, np.full(n, ordinary[-1] + 1)])
    replaced = subject.relation == "replace_one"
    others, without = (_stacked(X, X[:n]), persons) if replaced else (X, ordinary)
    return Pair(unit, _stacked(X, rows), others, persons, without)


def _single(unit: str, X: Any, without: Any) -> Pair:
    """Return a pair in which each person wrote one document."""
    return Pair(unit, X, without, np.arange(_length(X)), np.arange(_length(without)))


def _length(data: Any) -> int:
    return data.shape[0] if hasattr(data, "shape") else len(data)


def _moved_tokens(X: Any) -> Iterator[Pair]:
    """Yield counts in which one token is another word: in a heavy document, and in an ordinary one."""
    heavy, row = X.tolil(), 4
    heavy[row, int(X[row].indices[0])] = _MILLION
    for unit, counts in (("a token among a million", heavy.tocsr()), ("a token", X)):
        column, moved = int(X[row].indices[0]), counts.tolil()
        moved[row, column] -= 1
        moved[row, column + 1] += 1
        yield Pair(unit, counts, moved.tocsr())


def _stacked(upper: Any, lower: Any) -> Any:
    if sp.issparse(upper):
        return sp.csr_matrix(sp.vstack([upper, lower]))
    if isinstance(upper, np.ndarray):
        return np.concatenate([upper, lower])
    return [*upper, *lower]


class Released(NamedTuple):
    """One release through a mechanism: the bound it relied on, the exact sum, and the noisy one."""

    bound: Bound
    total: NDArray[np.int64]
    noisy: NDArray[np.int64]


class Run:
    """What mechanisms released in a fit, in their order; sizes of all arrays of noise, and of those drawn besides."""

    def __init__(self) -> None:
        self.releases: list[Released] = []
        self.draws: list[Any] = []
        self.besides: list[Any] = []


@contextmanager
def replayed(answers: Sequence[Released] | None = None) -> Generator[Run]:
    """Write down what mechanisms release meanwhile; with ``answers`` of an earlier run they say the same again."""
    run, inside, bookings = Run(), [False], count()

    def instead(original: Any) -> Any:
        def release(mechanism: Any, total: Any, *more: Any, **named: Any) -> NDArray[np.int64]:
            inside[0] = True
            try:
                noisy = original(mechanism, total, *more, **named)
            finally:
                inside[0] = False
            before = None if answers is None else _answer(answers, len(run.releases), mechanism, total.values)
            said = noisy if before is None else before
            run.releases.append(Released(mechanism.bound, total.values.copy(), said.copy()))
            return said.copy()

        return release

    def numbered(n_bytes: int) -> str:
        return f"{next(bookings):0{2 * n_bytes}x}"

    fill: Any = _draws.fill

    def recording(size: Any, *arguments: Any, **named: Any) -> Any:
        run.draws.append(size)
        if not inside[0]:
            run.besides.append(size)
        return fill(size, *arguments, **named)

    with (
        mock.patch.object(GaussianMechanism, "release", instead(GaussianMechanism.release)),
        mock.patch.object(LaplaceMechanism, "release", instead(LaplaceMechanism.release)),
        mock.patch.object(_draws, "fill", recording),
        # what tells one booking from all others is random, and would differ with no data in it
        mock.patch("secrets.token_hex", numbered),
    ):
        yield run


def _answer(
    answers: Sequence[Released], number: int, mechanism: Any, total: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what the mechanism said then, where it is asked for the same kind of sum."""
    assert number < len(answers), (
        f"expected {len(answers)} noisy sums for a neighbour, too, but it asks for more of them."
    )
    then = answers[number]
    assert then.total.shape == total.shape, (
        f"expected noisy sum {number + 1} of the same shape for neighbours, but the shapes are {then.total.shape} "
        f"and {total.shape}; are columns kept or left out by what the data show?"
    )
    assert then.bound == mechanism.bound, (
        f"expected noisy sum {number + 1} under the same bound for neighbours, but the bounds are {then.bound} and "
        f"{mechanism.bound}."
    )
    return then.noisy


def how_far(one: Released, other: Released) -> Fraction:
    """Return how far two sums are apart, in sensitivities of their bound (squared under an L2 bound). Exact."""
    apart = [abs(int(a) - int(b)) for a, b in zip(one.total.flat, other.total.flat, strict=True)]
    sensitivity = Fraction(one.bound.sensitivity)
    if one.bound.norm == "l2":
        return sum(distance**2 for distance in apart) / sensitivity**2
    return sum(apart) / sensitivity


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
        assert not first.besides, (
            f"expected all noise from mechanisms (GaussianMechanism, LaplaceMechanism), whose sums this check can see, "
            f"but {len(first.besides)} arrays of noise were drawn besides."
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
