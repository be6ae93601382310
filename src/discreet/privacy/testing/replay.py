r"""Play a fit again on neighbouring data, with the noisy sums that the first fit saw.

An estimator is private by the usual proof (adaptive composition, then post-processing) if each sum it hands to a
mechanism is a function of the data and of *what was released before*, moves by no more than its bound says, and
everything else is a function of what was released. So fit X and write down every noisy sum; then fit a neighbour
under the same seed, and let every mechanism answer what it answered then. Now

* the sums before noise may differ by the sensitivity of their bound, and no further: exactly, in integers;
* all that was fitted must be the same, to the last bit; only times, which no seed repeats, may be named and left out.

No noise is in the way, and there is no threshold: an honest estimator cannot fail by chance.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.bound import Bound
from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
from discreet.privacy.noise import _draws

__all__ = ["Released", "Run", "how_far", "replayed"]


class Released(NamedTuple):
    """One release through a mechanism: the bound it relied on, the exact sum, and the noisy one."""

    bound: Bound
    total: NDArray[np.int64]
    noisy: NDArray[np.int64]


class Run:
    """What mechanisms were asked for during a fit.

    Attributes
    ----------
    releases : list of Released
        In their order.
    n_besides : int
        Arrays of noise that were drawn outside of mechanisms.
    """

    def __init__(self) -> None:
        self.releases: list[Released] = []
        self.n_besides = 0


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

    def counting(*arguments: Any, **named: Any) -> Any:
        run.n_besides += not inside[0]
        return fill(*arguments, **named)

    with (
        mock.patch.object(GaussianMechanism, "release", instead(GaussianMechanism.release)),
        mock.patch.object(LaplaceMechanism, "release", instead(LaplaceMechanism.release)),
        mock.patch.object(_draws, "fill", counting),
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
