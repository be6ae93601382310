"""Units, neighbours, and the guarantee that always names both.

A statement "epsilon = 1" means nothing until it says *whose* presence is hidden (the unit) and *how* two
corpora may differ (the relation). :class:`Guarantee` cannot be made without them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from discreet._base.validate import is_number, kind_of, shown
from discreet.errors import Parameter, PrivacyError

PRIVACY_UNITS = ("document", "person", "word", "report", "pair")
NEIGHBORING = ("add_or_remove_one", "replace_one")

_WHOSE = {
    "document": "any one document",
    "person": "all documents of any one {called}",
    "word": "the word of any one token (lengths are public)",
    "report": "any one person's whole report",
    "pair": (
        "any one pair of topic and word as it was drawn, given all other topics drawn (neither the token nor its "
        "document is covered)"
    ),
}


#: What stands for other units, or for several.
_OTHERS = frozenset(
    {"document", "word", "report", "pair", "token", "text", "or", "and", "any", "anybody", "everybody"}
)
#: Of which English has a plural; a name in another language is not bent.
_BENT = _OTHERS | {
    "person", "patient", "client", "customer", "member", "user", "student", "pupil", "employee", "citizen", "resident",
    "respondent", "family", "topic", "group", "year", "quarter", "month", "week", "day", "decade",
}  # fmt: skip
#: What a unit may be called: up to three plain words, which end no sentence and mark nothing up.
_NAME = re.compile(r"[^\W\d_]{2,20}(?:[ -][^\W\d_]{2,20}){0,2}")

_UPWARD = Context(prec=4, rounding=ROUND_CEILING)


def check_epsilon(epsilon: float, *, name: str = "epsilon") -> float:
    """Return epsilon as a float.

    Parameters
    ----------
    epsilon : float
        Privacy loss; ``inf`` is no privacy.
    name : str, default "epsilon"
        What the message of an error calls it.

    Raises
    ------
    PrivacyError
        Unless it is a positive number or infinity.
    """
    if not is_number(epsilon) or not epsilon > 0:
        if isinstance(epsilon, str) and re.fullmatch(r"\d+[.,]?\d*", epsilon.strip()):
            meant = epsilon.strip().replace(",", ".")
            raise PrivacyError(
                Parameter(name), f" must be a positive number, but is text: write {meant}, without quotes."
            )
        raise PrivacyError(
            Parameter(name),
            f" must be a positive number (or inf for no privacy), but is {shown(epsilon)}; usual are 1 to 3, and "
            "smaller is more private.",
        )
    return float(epsilon)


def check_delta(delta: float, *, n_units_lower_bound: int | None = None) -> float:
    """Return delta as a float.

    Parameters
    ----------
    delta : float
        What the promise allows beyond the factor exp(epsilon).
    n_units_lower_bound : int, optional
        A public lower bound on the number of units.

    Raises
    ------
    PrivacyError
        Unless delta lies strictly between 0 and 1, and is at most 1 / ``n_units_lower_bound`` where that is
        given.
    """
    if not is_number(delta) or not 0 < delta < 1:
        raise PrivacyError(
            f"`delta` must lie strictly between 0 and 1, but is {shown(delta)}; Gaussian noise needs a delta, "
            "and 1e-6 is a usual choice. For Laplace noise alone, 1e-12 is as good as none and costs nothing."
        )
    if n_units_lower_bound is not None and delta * n_units_lower_bound > 1:
        raise PrivacyError(
            f"`delta` must be at most 1 over the number of units, 1/{n_units_lower_bound}, but is {delta}: "
            "publishing one unit at random would satisfy it; lower delta."
        )
    return float(delta)


def large_delta(delta: float, n_units: float | None, called: str) -> str | None:
    """Say what is wrong with a delta above 1 over a released number of units, which promises hardly anything; or None.

    What is returned follows the name of the parameter.

    Parameters
    ----------
    delta : float
    n_units : float or None
        Noisy number of units; None where it is not told.
    called : str
        What one of them is called.
    """
    if n_units is None or delta * n_units <= 1:
        return None
    usual = min(1e-6, 10.0 ** -(math.ceil(math.log10(n_units)) + 1))
    return (
        f"= {delta:g} is too large: there are about {n_units:,.0f} {plural(called)}, and publishing about "
        f"{max(delta * n_units, 1):,.0f} of them as they are would satisfy it. Take a delta far below "
        f"1/{n_units:,.0f}, such as {usual:g}."
    )


def check_unit(privacy_unit: Any, neighboring: Any) -> None:
    """Raise ``PrivacyError`` unless unit and relation are ones that a guarantee can name."""
    if privacy_unit not in PRIVACY_UNITS:
        raise PrivacyError(
            f"`privacy_unit` must be one of {', '.join(PRIVACY_UNITS)}, but is {shown(privacy_unit)}."
        )
    if neighboring not in NEIGHBORING:
        raise PrivacyError(
            f"`neighboring` must be one of {', '.join(NEIGHBORING)}, but is {shown(neighboring)}."
        )


def check_unit_name(unit_name: Any, privacy_unit: str) -> str:
    """Return what one unit is called, "" for the unit's own name.

    Raises
    ------
    PrivacyError
        Unless the name is one to three plain words, and the unit is the person: of documents it would
        say that more is hidden than is.
    """
    if unit_name is None or unit_name == "":
        return ""
    if not isinstance(unit_name, str) or not _NAME.fullmatch(unit_name):
        given = shown(unit_name) if isinstance(unit_name, str) else kind_of(unit_name)
        raise PrivacyError(
            f"`unit_name` must say in one to three plain words what one unit is, such as patient, "
            f"but is {given}. It stands in everything that is released."
        )
    if privacy_unit != "person":
        raise PrivacyError(
            f"`unit_name` says what one person is, with all documents, but the unit here is the {privacy_unit}: the "
            "promise would be misstated. Leave it out, or protect people: `privacy_unit='person'`."
        )
    if _OTHERS & set(re.split("[ -]", unit_name.lower())):
        raise PrivacyError(f"`unit_name` must say what one person is, but is {shown(unit_name)}.")
    return unit_name


def plural(thing: str) -> str:
    """Return the plural of a thing whose name is known to be English; any other name as it was given."""
    if re.split("[ -]", thing.lower())[-1] not in _BENT:
        return thing
    if re.search("[^aeiou]y$", thing):
        return f"{thing[:-1]}ies"
    return f"{thing}es" if re.search("(s|x|z|ch|sh)$", thing) else f"{thing}s"


@dataclass(frozen=True)
class Guarantee:
    """What is promised, about whom, and against which comparison.

    Parameters
    ----------
    epsilon, delta : float
        The privacy loss, and what is allowed beyond exp(epsilon). ``epsilon`` may be infinite.
    privacy_unit : {"document", "person", "word", "report", "pair"}
        Whose presence (or content) is hidden.
    neighboring : {"add_or_remove_one", "replace_one"}
        How two corpora differ that must look alike.
    accountant : str
        How epsilon was found.
    unit_name : str
        What one unit is called, where that is not the name of its kind.
    """

    epsilon: float
    delta: float
    privacy_unit: str
    neighboring: str
    accountant: str = ""
    unit_name: str = ""

    def __post_init__(self) -> None:
        check_unit(self.privacy_unit, self.neighboring)
        check_unit_name(self.unit_name, self.privacy_unit)
        if not (is_number(self.epsilon) and self.epsilon >= 0):
            raise PrivacyError(f"a guarantee needs an epsilon that is not negative, but got {self.epsilon}.")
        if not (is_number(self.delta) and 0 <= self.delta < 1):
            raise PrivacyError(f"a guarantee needs a delta from 0 to 1, but got {self.delta}.")

    @property
    def called(self) -> str:
        """What one unit is called: "patient", or the kind of unit."""
        return self.unit_name or self.privacy_unit

    def in_words(self) -> str:
        """Return the guarantee as sentences."""
        whose = _WHOSE[self.privacy_unit].format(called=self.called)
        if math.isinf(self.epsilon):
            return (
                f"No privacy is promised (epsilon = inf): what is released may reveal {whose}. "
                "This is the non-private twin, for comparison only."
            )
        how = "adding or removing" if self.neighboring == "add_or_remove_one" else "replacing"
        return (
            f"Differential privacy with epsilon = {round_up(self.epsilon)} and delta = {round_up(self.delta)}, "
            f"unit: {self.called} ({self.neighboring}). In words: {how} {whose} multiplies the probability of "
            f"anything that could be released by at most exp({round_up(self.epsilon)})"
            + (f" and adds at most {round_up(self.delta)} to it." if self.delta else ".")
            + (f" Found by {self.accountant}." if self.accountant else "")
        )


def round_up(loss: float) -> str:
    """Write an epsilon or a delta with four digits, never below its value (but for rounding in its last bits)."""
    shown = f"{loss:.4g}"
    if float(shown) < loss * (1 - 1e-12):
        shown = f"{float(_UPWARD.create_decimal_from_float(loss)):.4g}"
    return shown
