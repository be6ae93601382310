"""How words and numbers of a release are shown to people, wherever they come from."""

import math
import unicodedata
from collections.abc import Callable
from typing import Any

from discreet._base.validate import is_whole
from discreet.central.forecast import share_of_text
from discreet.privacy.accounting.explain import found_at_most
from discreet.privacy.units import plural, round_up
from discreet.release.files import clean
from discreet.release.numbers import Promised
from discreet.release.release import Release

__all__ = [
    "NOT_REVIEWED",
    "TOPICS_NOT_REVIEWED",
    "epsilon_shown",
    "for_spreadsheet",
    "promised",
    "reports_counted",
    "settings_told",
    "shown",
    "text_covered",
    "words_origin",
]

#: Names that many documents hold can stand among the words of any release (docs/what-leaves.md).
NOT_REVIEWED = "no review recorded: names and numbers that many documents share may be among the words"
#: Of shares: those of topics that were reviewed before have names that were, and know nothing of it.
TOPICS_NOT_REVIEWED = "none recorded here: they are as the topics were when these shares were made"

_LONGEST = 60
#: What a formula begins with, the minus of typographers too.
_FORMULA = frozenset("=+-@\u2212")
#: Share of members found above which a promise is not called one of "nearly the same".
_HALF = 0.5
#: Settings that hold the exact number of randomised reports, of a collector and of silos.
_REPORTS = ("n_reports", "documents_reported")
#: What figures among the settings mean whose names do not say it.
_MEANINGS = {
    "strength": "one over the standard deviation of the noise in a mean over all documents",
    "learnable": "topics that what was released tells apart through its noise",
}


def shown(word: str) -> str:
    """Return a word as it can be shown: printable, not endless, and not nothing."""
    text = clean(word)
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "\u2026"
    return text if text.strip() else f"\u201c{text}\u201d"


def reports_counted(release: Release) -> str | None:
    """Say how many randomised reports a release rests on, and who knows; None where it rests on none."""
    for name in _REPORTS:
        count = release.configuration.get(name)
        if is_whole(count):
            return f"{count:,}: exact, known to whoever collected them, and not hidden by the promise"
    return None


def promised(release: Release) -> str:
    """Say between which two worlds the promise makes a release alike, and what of it is not hidden.

    Where a test may find more than half of those who are in the text, "nearly the same" would be no true word.
    """
    promise = release.promise
    unit, replaced = promise.called, promise.neighboring == "replace_one"
    without = f"with or without any single {unit}"
    if replaced:
        without = f"whatever any single {unit} had {'said' if promise.privacy_unit == 'report' else 'been'}"
    if found_at_most(promise, release.ledger.entries) > _HALF:
        said = (
            f"{without}, the same could have been published, "
            "but epsilon is so large that it may have been far less likely."
        )
    else:
        said = f"{without}, nearly the same would have been published."
    if not replaced:
        return said
    exact = "exact and not hidden" if reports_counted(release) else "not hidden"
    return f"{said} The number of {plural(unit)} is {exact}."


def epsilon_shown(epsilon: float) -> str:
    """Write epsilon with four digits, never below its value (but for rounding in its last bits)."""
    return "\u221e" if math.isinf(epsilon) else round_up(epsilon)


def text_covered(release: Release) -> str | None:
    """Say what share of the text the words make up, where that was released."""
    share = release.configuration.get("text_covered")
    if not isinstance(share, float) or not math.isfinite(share):
        return None
    noise = release.configuration.get("text_covered_noise")
    told = share_of_text(share, noise if isinstance(noise, float) and math.isfinite(noise) else None)
    return told if "±" in told else f"{told} (a noisy number)"


def words_origin(release: Release, escape: Callable[[str], str] = clean) -> str:
    """Say where the words come from, and who says so; what they say is escaped."""
    kind = release.configuration.get("words")
    booked = any(entry.purpose.startswith("vocabulary") for entry in release.ledger.entries)
    if booked and kind in ("chosen", None):
        return "chosen privately; the choice is booked"
    columns = booked and release.configuration.get("columns") == "chosen privately"
    if kind == "public":
        declared = escape(str(release.configuration.get("words_declared_by", "nobody")))
        said = f"a public list, not made from these texts, as declared by: {declared}"
        return (
            f"{said}; only words that were chosen privately were counted, and the choice is booked"
            if columns
            else said
        )
    if kind == "numbered" and columns:
        return "none: columns are numbered; they were chosen privately, and the choice is booked"
    if kind == "numbered":
        return (
            "none: columns are numbered; it is for whoever made this to vouch that their number tells nothing, and "
            "that they were not chosen from the texts"
        )
    return "not stated: ask whoever made this where they come from"


def for_spreadsheet(text: str) -> str:
    """Return text that no spreadsheet runs as a formula: behind an apostrophe where one may begin with it.

    Blanks, marks and joiners before it are passed over, because programs strip them; and fullwidth and small signs
    count as those that they stand for.
    """
    if text[:1] in ("\t", "\r", "\n"):
        return f"'{text}"
    for character in text:
        if unicodedata.category(character)[0] in "CZ":
            continue
        begins = unicodedata.normalize("NFKC", character)[:1] in _FORMULA
        return f"'{text}" if begins else text
    return text


def settings_told(release: Promised) -> dict[str, Any]:
    """Return the public settings as people read them: figures with what they mean, the unit with what one is called."""
    told, promise = dict(release.configuration), release.promise
    for name, meaning in _MEANINGS.items():
        if isinstance(told.get(name), int | float):
            told[name] = f"{told[name]:,}: {meaning}"
    if promise.unit_name and told.get("privacy_unit") == promise.privacy_unit:
        told["privacy_unit"] = f"{promise.privacy_unit}: one {promise.called}"
    return told
