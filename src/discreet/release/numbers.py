r"""What all releases share: public settings, and the promise of the ledger on which their cost was booked.

Releases of a few numbers are kept as one JSON file: sealed (:mod:`discreet._base.sealed`), and written whole or not at
all. Whatever is read is taken as hostile: bounded in size, and checked as what a program gives. The guarantee is
computed from the ledger, and stands in no file.

The fit release: how well released topics describe private documents, as one noisy number
=========================================================================================
Released are the sum over units of the clipped gain, in parts of its bound b; w times the sum of the nats a token under
word frequencies alone, less a public centre and clipped to r, in parts of r; and c times the number of units; all with
Gaussian noise of standard deviation s. Mean gain and mean nats are ratios of these, and so are perplexities, exp of
such means; their intervals are Fieller's (see :mod:`discreet.release.prevalence.shares`), exact for Gaussian noise.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri

from discreet._base.files import write_whole
from discreet._base.lazy import later
from discreet._base.sealed import Seal
from discreet._base.validate import Rule, is_number, is_whole, kind_of, number, shown
from discreet._version import __version__
from discreet.errors import DiscreetError, ParameterError, PrivacyError, Proposal, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import Guarantee, large_delta
from discreet.release import details as written
from discreet.release.files import check_ledger, number_in, number_out, settings_in

if TYPE_CHECKING:
    from discreet.release.release import Release

_fit_card = later("discreet.report.card", "fit_card")
_numbers_html = later("discreet.report.page", "numbers_html")

#: What a setting can be.
Scalar = str | int | float | bool
#: Who knows the seed can subtract the noise, so it must not stand among public settings.
_SECRETS = frozenset({"random_state", "seed", "key"})
#: What new texts are read with must be usable: prior and pattern.
_LARGEST_PRIOR, _LONGEST_PATTERN = 1e100, 1_000


def public_settings(estimator: str, algorithm: str, **others: Any) -> dict[str, Any]:
    """Return the settings that every release states, and others, without those that are None.

    Parameters
    ----------
    estimator : str
        The class.
    algorithm : str
        What it did, in words.
    **others : str, bool, None, or numbers of any kind
    """
    named = {"estimator": estimator, "algorithm": algorithm, "version": __version__, **others}
    return {name: _plain(value) for name, value in named.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return a number of any kind as one of Python's, which a file can hold."""
    if is_whole(value):
        return int(value)
    return float(value) if is_number(value) else value


def checked_settings(configuration: Any) -> dict[str, Scalar]:
    """Return public settings, sorted by name; ``ReleaseError`` for what a file could not hold, or must not."""
    if not isinstance(configuration, Mapping):
        raise ReleaseError("the configuration must be a mapping of names to values.")
    settings: dict[str, Scalar] = {}
    for name, given in configuration.items():
        value = given.item() if isinstance(given, np.generic) else given
        if not isinstance(name, str) or not isinstance(value, Scalar):
            raise ReleaseError(
                f"a setting must be text, a number or a truth value, but {name!r} is {value!r}."
            )
        if name in _SECRETS:
            raise ReleaseError(
                f"{name!r} must not be among the settings: they are public, and a seed is secret."
            )
        if (isinstance(value, float) and math.isnan(value)) or (type(value) is int and abs(value) >= 2**63):
            raise ReleaseError(f"a setting must be a number that JSON can hold, but {name!r} is not one.")
        settings[name] = value
    prior, pattern = settings.get("doc_topic_prior", 0.1), settings.get("token_pattern", "")
    if isinstance(prior, bool | str) or not 0 < prior <= _LARGEST_PRIOR:
        raise ReleaseError(
            "the setting doc_topic_prior must be a number above 0: new texts are read with it."
        )
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        raise ReleaseError("the setting token_pattern must be a short text: new texts are cut by it.")
    return dict(sorted(settings.items()))


#: How much of a budget may say how many units there are. Beyond, sums or counts drown in rounding or in noise.
COUNT_WEIGHT = number(least=1e-3, most=100)
#: No sum of bounded contributions comes near it.
LARGEST_SUM = 1e15
SUM = number(least=-LARGEST_SUM, most=LARGEST_SUM)
_NOISE = number(least=0, most=LARGEST_SUM)


def checked_level(level: Any) -> float:
    """Return the level of an interval; ``ParameterError`` unless it lies between 0 and 1."""
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise ParameterError(f"level must be between 0 and 1, but is {shown(level)}.")
    return float(level)


class Promised:
    """Base of frozen dataclasses that hold what may leave, or say why they may not.

    Two things make a release unfit to leave: noise from a seed, and a ledger that promises nothing (epsilon = inf).
    Both are told here, by :attr:`determinism`, and stand in every file, table and page that is made of a release. What
    estimators make of the topics of an unfit release is unfit, too: a seed marks it, and topics without privacy are
    refused where a finite epsilon would be promised of them (:mod:`discreet.release.private_estimator`).
    """

    ledger: Ledger
    configuration: Mapping[str, Any]
    reproducible: bool

    SECURE: ClassVar[str] = "secure"
    REPRODUCIBLE: ClassVar[str] = "reproducible, not for release"
    WITHOUT_PRIVACY: ClassVar[str] = "without privacy, not for release"
    #: Said behind the promise where the noise came from a seed.
    _WARNING: ClassVar[str] = f"The noise came from a seed: {REPRODUCIBLE}."
    #: Rules of its numbers.
    _NUMBERS: ClassVar[Mapping[str, Rule]]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _close(self) -> None:
        """Check numbers, keep settings and a closed copy of the ledger, and look whether any step on it had a seed."""
        for name, rule in self._NUMBERS.items():
            value = getattr(self, name)
            if not rule.holds(value):
                raise ReleaseError(f"{name} must be {rule.words}, but is {shown(value)}.")
            object.__setattr__(self, name, None if value is None else float(value))
        object.__setattr__(self, "configuration", MappingProxyType(checked_settings(self.configuration)))
        if not isinstance(self.ledger, Ledger):
            raise ReleaseError(
                f"a release needs the ledger that its cost was booked on, but got {kind_of(self.ledger)}."
            )
        object.__setattr__(self, "ledger", self.ledger if self.ledger.closed else self.ledger.snapshot())
        # One seeded step is enough: a vocabulary chosen with a seed marks the topics trained on it, too.
        seeded = any(self.REPRODUCIBLE in entry.purpose for entry in self.ledger.entries)
        object.__setattr__(self, "reproducible", bool(self.reproducible) or seeded)

    @property
    def determinism(self) -> str:
        """How noise was drawn: "secure", or why nothing of this may leave.

        That is "reproducible, not for release" where it came from a seed, "without privacy, not for release" where the
        ledger promises none, and both where both hold.
        """
        unfit = [self.WITHOUT_PRIVACY] if math.isinf(self.promise.epsilon) else []
        unfit += [self.REPRODUCIBLE] if self.reproducible else []
        return "; ".join(unfit) or self.SECURE

    @property
    def may_leave(self) -> bool:
        """Whether this was made with privacy, and with noise that nobody can draw again."""
        return self.determinism == self.SECURE

    @cached_property
    def promise(self) -> Guarantee:
        """The promise of everything booked on the ledger, as numbers."""
        return self.ledger.guarantee()

    @property
    def guarantee(self) -> str:
        """The promise in words: unit, relation, epsilon, delta, and how the noise was drawn."""
        words = self.promise.in_words()
        return f"{words} {self._WARNING}" if self.reproducible else words

    def with_settings(self, **settings: Scalar) -> Self:
        """Return the same release with more public settings written down."""
        return replace(self, configuration={**self.configuration, **settings})

    def with_details(self, **details: str) -> Self:
        """Return the release with words about it. They are public, and stand in card and report.

        Other Parameters
        ----------------
        title, owner, contact, period, date : str, optional
            What it is; who answers for it, and where; from when the texts are; when it was made.
        other_spending : str, optional
            What else was spent on these texts, outside this release's ledger.

        Raises
        ------
        ReleaseError
            Where a detail has another name, or is not a short text.
        """
        return self.with_settings(**written.settings_of(details))

    @property
    def details(self) -> dict[str, str]:
        """What was said by :meth:`with_details`."""
        return written.details(self)

    @property
    def review(self) -> str | None:
        """Who reviewed this, and what they changed, in a sentence; None where nobody did."""
        return written.review(self)

    def _labelled(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Return columns with one that says why, where this may not leave."""
        n_rows = len(next(iter(columns.values())))
        return columns if self.may_leave else {**columns, "label": [self.determinism] * n_rows}

    def _held(self) -> dict[str, Any]:
        """Return all that this is made of, by the names of its parameters."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**held, "configuration": dict(self.configuration)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        yours = other._held()
        return all(_same(mine, yours[name]) for name, mine in self._held().items())

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> Any:
        return type(self), tuple(self._held().values())


def _same(mine: Any, yours: Any) -> bool:
    if isinstance(mine, np.ndarray) or isinstance(yours, np.ndarray):
        return np.array_equal(mine, yours)
    if isinstance(mine, dict):  # 1, 1.0 and True are equal to Python, but not the same setting
        return json.dumps(mine) == json.dumps(yours)
    return mine == yours


def faults_of_topics(topics: Any, epsilon: Any, ledger: Ledger | None) -> list[DiscreetError]:
    """Say where something private is to be told of topics that were released without privacy.

    Topics of epsilon = inf may be one unit's own words. Shares of them and scores under them stand on those, so that no
    noise in the numbers makes them private: they are made without privacy, or not at all. On a ledger that promises
    nothing (the topics' own) they say so themselves.
    """
    if not isinstance(topics, Promised) or math.isfinite(topics.promise.epsilon) or math.isinf(epsilon):
        return []
    if ledger is not None and math.isinf(ledger.spent().epsilon):
        return []
    return [
        PrivacyError(
            "the topics of `release` were fitted without privacy (epsilon = inf) and may be one unit's own words, so "
            "that nothing private can be told of them: fit topics with an epsilon, or compare without privacy here, "
            "too: ",
            Proposal("epsilon", math.inf),
            ".",
        )
    ]


class NumbersRelease(Promised, ABC):
    """Base of releases of a few numbers, kept in one JSON file.

    Each kind has ``count_weight`` and ``n_units``: it releases a noisy number of its units, by which delta is judged.
    """

    #: Of its files, and what messages call it.
    SEAL: ClassVar[Seal]
    #: What begins the purpose of its booking.
    PURPOSE: ClassVar[str]
    _NUMBERS: ClassVar[Mapping[str, Rule]] = {"noise": _NOISE, "count_weight": COUNT_WEIGHT}
    noise: float
    count_weight: float

    @property
    @abstractmethod
    def n_units(self) -> Any:
        """Noisy number of units; of several groups that of each."""

    @abstractmethod
    def card(self) -> str:
        """Return the card in Markdown: what was released, whose presence is protected, what it cost."""

    @property
    def n_units_in_all(self) -> float:
        """Noisy number of units, of all groups together, at least 0."""
        return max(float(np.sum(self.n_units)), 0.0)

    @property
    def large_delta(self) -> str | None:
        """What is wrong with a delta above 1 over the noisy number of units; None where nothing is."""
        promise = self.promise
        told = large_delta(promise.delta, self.n_units_in_all, promise.called)
        return None if told is None or math.isinf(promise.epsilon) else f"delta {told}"

    @property
    def _size(self) -> float:
        """Norm to which contributions were held."""
        return math.hypot(1.0, self.count_weight)

    def check_booked(self) -> None:
        """Raise ``ReleaseError`` where the ledger is too long to be read, or the noise none that was booked on it."""
        from discreet.privacy.accounting import events

        check_ledger(self.ledger)
        mine = [entry for entry in self.ledger.entries if entry.purpose.startswith(self.PURPOSE)]
        leaves = [leaf.event for entry in mine for leaf in events.leaves(entry.event)]
        booked = [self._size * getattr(event, "noise_multiplier", 0.0) for event in leaves]
        if not any(np.isclose(self.noise, noise, rtol=1e-9, atol=0.0) for noise in booked):
            raise ReleaseError(
                f"the {self.SEAL.thing} tell of noise of {self.noise:.6g}, which was not booked with a count_weight of "
                f"{self.count_weight:g}."
            )

    def save(self, path: str | Path) -> None:
        """Write the release to a new JSON file, whole or not at all; ``ReleaseError`` where it could not be read."""
        self.check_booked()
        encoded = self.SEAL.to_bytes({name: _out(value) for name, value in self._held().items()})
        write_whole(encoded, Path(path), f"the {self.SEAL.thing}", instead="name another file")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a release; ``ReleaseError`` for anything that is not exactly one."""
        with cls.SEAL.reading(cls.SEAL.read(path), path) as values:
            ledger = Ledger.from_json(values["ledger"])
            check_ledger(ledger)
            given = {name: number_in(value) for name, value in values.items()}
            release = cls(**given | {"ledger": ledger, "configuration": settings_in(values["configuration"])})
            release.check_booked()
        return release

    def _repr_html_(self) -> str:
        return _numbers_html(self)


def _out(value: Any) -> Any:
    if isinstance(value, Ledger):
        return value.to_json()
    if isinstance(value, np.ndarray | tuple):
        return list(value.tolist() if isinstance(value, np.ndarray) else value)
    if isinstance(value, dict):
        return {name: number_out(part) for name, part in value.items()}
    return number_out(value)


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

    SEAL: ClassVar[Seal] = Seal("discreet.fit/3", "numbers of a fit", ReleaseError)
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
            span = f"({low:.1f} to {high:.1f} %)"
            return f"Within the noise the topics are no better than word frequencies alone {span}.{unfit}"
        better, (least, most) = "below" if told > 0 else "above", sorted((abs(low), abs(high)))
        span = f" ({least:.1f} to {most:.1f} % with 95 % confidence)" if self.noise else ", exactly"
        return f"Perplexity lies {abs(told):.1f} % {better} that of word frequencies alone{span}.{unfit}"

    @property
    def _size(self) -> float:
        return fit_size(self.count_weight)

    def is_of(self, release: "Release") -> bool:
        """Whether this was measured with just these topics, whatever their words are called now."""
        return self.configuration.get("model") == mark_of(release)

    def card(self) -> str:
        """Return the card in Markdown: what was released, whose presence is protected, what it cost."""
        return _fit_card(self)

    def __repr__(self) -> str:
        return f"<FitRelease: gain {self.gain:.4f} nats a token; {self.ledger!r}>"
