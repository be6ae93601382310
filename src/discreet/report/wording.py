"""How words and numbers of a release are shown to people, wherever they come from."""

import math

from discreet.release.record import Release
from discreet.release.words import printable

__all__ = ["NOT_REVIEWED", "epsilon_shown", "reports_counted", "shown"]

#: Names that many documents hold can stand among the words of any release (docs/what-is-not-hidden.md).
NOT_REVIEWED = "none told: names and numbers that many documents share may stand among the words"

_LONGEST = 60
#: Settings that hold the exact number of randomised reports, of a collector and of silos.
_REPORTS = ("n_reports", "documents_reported")


def shown(word: str) -> str:
    """Return a word as it can be shown: printable, not endless, and not nothing."""
    clean = printable(word)
    if len(clean) > _LONGEST:
        clean = clean[: _LONGEST - 1] + "\u2026"
    return clean if clean.strip() else f"\u201c{clean}\u201d"


def reports_counted(release: Release) -> str | None:
    """Say how many randomised reports a release rests on, and who knows; None where it rests on none."""
    for name in _REPORTS:
        count = release.configuration.get(name)
        if isinstance(count, int) and not isinstance(count, bool):
            return f"{count:,}: exact, known to whoever collected them, and not hidden by the promise"
    return None


def epsilon_shown(epsilon: float) -> str:
    """Write epsilon with four digits, never below its value (but for rounding in its last bits)."""
    if math.isinf(epsilon):
        return "\u221e"
    text = f"{epsilon:.4g}"
    if float(text) < epsilon * (1 - 1e-9):
        digits = 3 - math.floor(math.log10(epsilon))
        text = f"{math.ceil(epsilon * 10**digits) / 10**digits:.4g}"
    return text
