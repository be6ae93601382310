"""Progress without a callback: one line a stage, drawn again as work goes on. No thread, nothing to close.
Where documents are counted it says how many a second.

On a terminal rich draws the bar; elsewhere (a notebook, a pipe) it is text. A stage that ends within a second is not
shown at all.
"""

import io
import sys
import time
from typing import Any

__all__ = ["Bars", "Rates"]

_QUIET, _EVERY = 1.0, 0.1
_WIDTH = 24


class Bars:
    """A callback that draws on standard error."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._drawn, self._last, self._width = 0.0, "", 0
        self._rates = Rates()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Draw a stage of which ``done`` steps of ``total`` are over."""
        now = time.monotonic()
        began = self._began.setdefault(stage, now)
        rate, over = self._rates.told(stage, done, now), done >= total
        if over:
            del self._began[stage]
        if now - began < _QUIET or (now - self._drawn < _EVERY and not over and stage == self._last):
            return
        self._drawn, self._last = now, stage
        line = f"{stage:<28} {bar(done, total)} {done}/{total}  {now - began:.0f} s{rate}"
        sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if over else ""))
        sys.stderr.flush()
        self._width = 0 if over else len(line)


class Rates:
    """Says how many documents a second a stage goes through, where it counts documents."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int, int]] = {}

    def told(self, stage: str, done: int, now: float | None = None) -> str:
        """Return ", 1,234 documents a second", or nothing where that is not known yet."""
        now = time.monotonic() if now is None else now
        began, first, last = self._began.get(stage, (now, done, done))
        if done < last:  # another pass
            began, first = now, done
        self._began[stage] = began, first, done
        if not stage.startswith("documents") or done == first or now == began:
            return ""
        return f", {(done - first) / (now - began):,.0f} documents a second"


def bar(done: int, total: int) -> str:
    """Return a bar: rich's on a terminal, of plain characters elsewhere."""
    if not sys.stderr.isatty():
        full = round(_WIDTH * min(done / max(total, 1), 1.0))
        return "[" + "#" * full + "." * (_WIDTH - full) + "]"
    from rich.console import Console
    from rich.progress_bar import ProgressBar

    drawn: Any = Console(file=io.StringIO(), force_terminal=True, width=_WIDTH)
    drawn.print(ProgressBar(total=max(total, 1), completed=done, width=_WIDTH), end="")
    return drawn.file.getvalue().rstrip("\n")
