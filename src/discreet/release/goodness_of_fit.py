r"""The fit release: how well released topics describe private documents, as one noisy number.

Released are the sum over units of the clipped gain, in parts of its bound b, and c times the number of units, both with
Gaussian noise of standard deviation s. The mean gain is b times their ratio; its interval is Fieller's (see
:mod:`discreet.release.prevalence.shares`), exact for Gaussian noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtri

from discreet._presenter import presenter
from discreet._validate import Rule, number, shown
from discreet.errors import ParameterError
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.booking.promised import SUM, NumbersRelease

if TYPE_CHECKING:
    from discreet.release.record import Release

__all__ = ["GAIN_BOUND", "FitRelease", "mark_of"]

#: To what a gain may be clipped, in nats a token: nothing gains a hundred.
GAIN_BOUND = number(least=1e-3, most=100)


def mark_of(release: "Release") -> str:
    """Return what tells topics and words from others, whatever they are called and whoever answers for them."""
    digest = sha256("\n".join(release.vocabulary).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(release.topic_word, "<f8").data)
    return digest.hexdigest()[:16]


@dataclass(frozen=True, eq=False, repr=False)
class FitRelease(NumbersRelease):
    """What may be published of how good a model is on private text.

    Parameters
    ----------
    gain_total : float
        Noisy sum over units of the gain a token in nats, clipped, in parts of ``bound``.
    unit_count : float
        ``count_weight`` times the number of units, with noise.
    noise : float
        Standard deviation of the noise in each of the two; 0 without privacy.
    count_weight, bound : float
    ledger : Ledger
        What was booked; a closed copy is kept.
    configuration : mapping, optional
    reproducible : bool, default False

    Raises
    ------
    ReleaseError
        Naming the field that is wrong.
    """

    gain_total: float
    unit_count: float
    noise: float
    count_weight: float
    bound: float
    ledger: Ledger
    configuration: Mapping[str, Any] = field(default_factory=dict)
    reproducible: bool = False

    SCHEMA: ClassVar[str] = "discreet.fit/1"
    _THING: ClassVar[str] = "the numbers of a fit"
    PURPOSE: ClassVar[str] = "how well topics fit"
    _NUMBERS: ClassVar[Mapping[str, Rule]] = {
        **NumbersRelease._NUMBERS,
        "gain_total": SUM,
        "unit_count": SUM,
        "bound": GAIN_BOUND,
    }

    def __post_init__(self) -> None:
        self._close()

    @property
    def n_units(self) -> float:
        """Noisy number of units."""
        return self.unit_count / self.count_weight

    @property
    def gain(self) -> float:
        """Mean gain a token over the unigram, in nats; 0 where there may be no unit at all."""
        return self.bound * self.gain_total / self.n_units if self.n_units > 0 else 0.0

    @property
    def perplexity_ratio(self) -> float:
        """Perplexity under the model as a part of that under the unigram: exp(-gain); see :meth:`ratio_interval`."""
        return math.exp(-self.gain)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the exact mean gain, in nats, of these documents with probability ``level``."""
        if not (isinstance(level, int | float) and 0 < level < 1):
            raise ParameterError(f"level must be between 0 and 1, but is {shown(level)}.")
        reach = float(ndtri((1 + level) / 2)) ** 2 * self.noise**2
        n = self.n_units
        a = n * n - reach / self.count_weight**2
        if n <= 0 or a <= 0:
            return -self.bound, self.bound
        middle = self.gain_total * n
        root = math.sqrt(max(middle**2 - a * (self.gain_total**2 - reach), 0.0))
        low, high = ((middle + side * root) / a * self.bound for side in (-1, 1))
        return max(low, -self.bound), min(high, self.bound)

    def ratio_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return :meth:`interval`, of the gain in nats, as an interval of ``perplexity_ratio``."""
        low, high = self.interval(level)
        return math.exp(-high), math.exp(-low)

    def in_words(self) -> str:
        """Say how good the model is, against the unigram."""
        low, high = (100 * (1 - ratio) for ratio in reversed(self.ratio_interval()))
        told = 100 * (1 - self.perplexity_ratio)
        seeded = " The noise came from a seed: reproducible, not for release." if self.reproducible else ""
        if low <= 0 <= high:
            return (
                "Within the noise the topics are no better than word frequencies alone "
                f"({low:.1f} to {high:.1f} %).{seeded}"
            )
        better = "below" if told > 0 else "above"
        edges = sorted((abs(low), abs(high)))
        return (
            f"Perplexity lies {abs(told):.1f} % {better} that of word frequencies alone "
            f"({edges[0]:.1f} to {edges[1]:.1f} % with 95 % confidence).{seeded}"
        )

    def is_of(self, release: "Release") -> bool:
        """Whether this was measured with just these topics and words."""
        return self.configuration.get("model") == mark_of(release)

    def card(self) -> str:
        """Return the card in Markdown: what was released, whose presence is protected, what it cost."""
        return presenter.fit_card(self)

    def __repr__(self) -> str:
        return f"<FitRelease: gain {self.gain:.4f} nats a token; {self.ledger!r}>"
