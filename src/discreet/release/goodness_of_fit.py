r"""The fit release: how well released topics describe private documents, as one noisy number.

Released are the sum over units of the clipped gain, in parts of its bound b; w times the sum of the nats a token under
word frequencies alone, less a public centre and clipped to r, in parts of r; and c times the number of units; all with
Gaussian noise of standard deviation s. Mean gain and mean nats are ratios of these, and so are perplexities, exp of
such means; their intervals are Fieller's (see :mod:`discreet.release.prevalence.shares`), exact for Gaussian noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtri

from discreet._presenter import presenter
from discreet._validate import Rule, number
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.booking.promised import SUM, NumbersRelease, checked_level

if TYPE_CHECKING:
    from discreet.release.record import Release

__all__ = ["GAIN_BOUND", "UNIGRAM_REACH", "UNIGRAM_WEIGHT", "FitRelease", "fit_size", "is_mark_of", "mark_of"]

#: To what a gain may be clipped, in nats a token: nothing gains a hundred.
GAIN_BOUND = number(least=1e-3, most=100)
#: w and r: what the nats of word frequencies weigh beside the gain, and to what they are clipped about their centre.
UNIGRAM_WEIGHT, UNIGRAM_REACH = 0.5, 2.0


_SCALE = UNIGRAM_REACH / UNIGRAM_WEIGHT
_LARGEST_NATS = 700.0


def mark_of(release: "Release") -> str:
    """Return what tells topics from others, whatever their words are: a digest of the numbers.

    Of the words there is nothing in it: shares and fits may be published before a review or after it, and whoever has
    the reviewed topics could try one word after another in the place of what is missing.
    """
    digest = sha256(repr(release.topic_word.shape).encode())
    digest.update(np.ascontiguousarray(release.topic_word, "<f8").data)
    return digest.hexdigest()[:16]


def is_mark_of(mark: object, release: "Release") -> bool:
    """Whether a mark is of these topics; the mark of version 0.1, which held the words, is known, too."""
    digest = sha256("\n".join(release.vocabulary).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(release.topic_word, "<f8").data)
    return mark in (mark_of(release), digest.hexdigest()[:16])


def fit_size(count_weight: float) -> float:
    """Return the norm that a unit's gain, nats and count have at most."""
    return math.sqrt(1.0 + UNIGRAM_WEIGHT**2 + count_weight**2)


@dataclass(frozen=True, eq=False, repr=False)
class FitRelease(NumbersRelease):
    """What may be published of how good a model is on private text.

    Parameters
    ----------
    gain_total : float
        Noisy sum over units of the gain a token in nats, clipped, in parts of ``bound``.
    unit_count : float
        ``count_weight`` times the number of units that have a token to score, with noise.
    noise : float
        Standard deviation of the noise in each of the two; 0 without privacy.
    count_weight, bound : float
    unigram_total : float
        Noisy sum over units of the nats a token under word frequencies alone, less ``unigram_centre`` and clipped to
        two nats, in quarters of a unit: w / r = 1/4.
    unigram_centre : float
        Entropy of the released word frequencies, in nats; public.
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
    unigram_total: float
    unigram_centre: float
    ledger: Ledger
    configuration: Mapping[str, Any] = field(default_factory=dict)
    reproducible: bool = False

    SCHEMA: ClassVar[str] = "discreet.fit/2"
    _THING: ClassVar[str] = "the numbers of a fit"
    PURPOSE: ClassVar[str] = "how well topics fit"
    _NUMBERS: ClassVar[Mapping[str, Rule]] = {
        **NumbersRelease._NUMBERS,
        "gain_total": SUM,
        "unit_count": SUM,
        "bound": GAIN_BOUND,
        "unigram_total": SUM,
        "unigram_centre": number(least=0, most=100),
    }

    def __post_init__(self) -> None:
        self._close()

    @property
    def n_units(self) -> float:
        """Noisy number of units that have a token to score."""
        return self.unit_count / self.count_weight

    @property
    def n_units_in_all(self) -> float:
        """Noisy number of units, at least 0."""
        return max(self.n_units, 0.0)

    @property
    def gain(self) -> float:
        """Mean gain a token over the unigram, in nats; 0 where there may be no unit at all."""
        return self.bound * self.gain_total / self.n_units if self.n_units > 0 else 0.0

    @property
    def perplexity_ratio(self) -> float:
        """Perplexity under the model as a part of that under the unigram: exp(-gain); see :meth:`ratio_interval`."""
        return math.exp(-self.gain)

    @property
    def perplexity(self) -> float:
        """Perplexity under the model: exp of the mean over units of nats a token; see :meth:`perplexity_interval`."""
        return self.unigram_perplexity * self.perplexity_ratio

    @property
    def unigram_perplexity(self) -> float:
        """Perplexity under the released word frequencies alone."""
        mean = _SCALE * self.unigram_total / self.n_units if self.n_units > 0 else 0.0
        return math.exp(min(self.unigram_centre + mean, _LARGEST_NATS))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the exact mean gain, in nats, of these documents with probability ``level``."""
        return self._mean_interval(self.bound * self.gain_total, self.bound, self.bound, level)

    def perplexity_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the exact ``perplexity`` of these documents with probability ``level``."""
        total = _SCALE * self.unigram_total - self.bound * self.gain_total
        return self._exp(total, math.hypot(_SCALE, self.bound), UNIGRAM_REACH + self.bound, level)

    def unigram_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the exact ``unigram_perplexity`` with probability ``level``."""
        return self._exp(_SCALE * self.unigram_total, _SCALE, UNIGRAM_REACH, level)

    def _exp(self, total: float, spread: float, most: float, level: float) -> tuple[float, float]:
        low, high = (self.unigram_centre + end for end in self._mean_interval(total, spread, most, level))
        return math.exp(min(low, _LARGEST_NATS)), math.exp(min(high, _LARGEST_NATS))

    def _mean_interval(self, total: float, spread: float, most: float, level: float) -> tuple[float, float]:
        """Return Fieller's interval of a total a unit, whose noise is ``spread`` times that of each number."""
        reach = float(ndtri((1 + checked_level(level)) / 2)) ** 2 * self.noise**2
        n = self.n_units
        a = n * n - reach / self.count_weight**2
        if n <= 0 or a <= 0:
            return -most, most
        middle = total * n
        root = math.sqrt(max(middle**2 - a * (total**2 - spread**2 * reach), 0.0))
        low, high = ((middle + side * root) / a for side in (-1, 1))
        return min(max(low, -most), most), max(min(high, most), -most)

    def ratio_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return :meth:`interval`, of the gain in nats, as an interval of ``perplexity_ratio``."""
        low, high = self.interval(level)
        return math.exp(-high), math.exp(-low)

    def in_words(self) -> str:
        """Say how good the model is, against the unigram."""
        low, high = (100 * (1 - ratio) for ratio in reversed(self.ratio_interval()))
        told = 100 * (1 - self.perplexity_ratio)
        unfit = "" if self.may_leave else f" Not to be published: {self.determinism}."
        if low <= 0 <= high:
            return (
                "Within the noise the topics are no better than word frequencies alone "
                f"({low:.1f} to {high:.1f} %).{unfit}"
            )
        better = "below" if told > 0 else "above"
        if self.noise == 0:
            return (
                f"Perplexity lies {abs(told):.1f} % {better} that of word frequencies alone, exactly.{unfit}"
            )
        edges = sorted((abs(low), abs(high)))
        return (
            f"Perplexity lies {abs(told):.1f} % {better} that of word frequencies alone "
            f"({edges[0]:.1f} to {edges[1]:.1f} % with 95 % confidence).{unfit}"
        )

    @property
    def _size(self) -> float:
        return fit_size(self.count_weight)

    def is_of(self, release: "Release") -> bool:
        """Whether this was measured with just these topics, whatever their words are called now."""
        return is_mark_of(self.configuration.get("model"), release)

    def card(self) -> str:
        """Return the card in Markdown: what was released, whose presence is protected, what it cost."""
        return presenter.fit_card(self)

    def __repr__(self) -> str:
        return f"<FitRelease: gain {self.gain:.4f} nats a token; {self.ledger!r}>"
