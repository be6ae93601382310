"""How words and numbers of a release are shown to people, wherever they come from."""

import math

from discreet.release.words import printable

__all__ = ["epsilon_shown", "shown"]

_LONGEST = 60


def shown(word: str) -> str:
    """Return a word as it can be shown: printable, not endless, and not nothing."""
    clean = printable(word)
    if len(clean) > _LONGEST:
        clean = clean[: _LONGEST - 1] + "\u2026"
    return clean if clean.strip() else f"\u201c{clean}\u201d"


def epsilon_shown(epsilon: float) -> str:
    """Write epsilon with four digits, never below its value (but for rounding in its last bits)."""
    if math.isinf(epsilon):
        return "\u221e"
    text = f"{epsilon:.4g}"
    if float(text) < epsilon * (1 - 1e-9):
        digits = 3 - math.floor(math.log10(epsilon))
        text = f"{math.ceil(epsilon * 10**digits) / 10**digits:.4g}"
    return text
