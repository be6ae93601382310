"""Progress without a callback: one line a stage, drawn again as work goes on. No thread, nothing to close.

On a terminal rich draws the bar; elsewhere (a notebook, a pipe) it is text. A stage that ends within a second is not
shown at all.
"""

import io
import sys
import time
from typing import Any

__all__ = ["Bars"]

_QUIET, _EVERY = 1.0, 0.1
_WIDTH = 24


class Bars:
    """A callback that draws on standard error."""

    def __init__(self) -> None:
        self._stage: str | None = None
        self._began = self._drawn = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Draw a stage of which ``done`` steps of ``total`` are over."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._drawn = stage, now, 0.0
        over = done >= total
        if now - self._began < _QUIET or (now - self._drawn < _EVERY and not over):
            if over:
                self._stage = None
            return
        self._drawn = now
        line = f"{stage:<28} {bar(done, total)} {done}/{total}  {now - self._began:.0f} s"
        sys.stderr.write("\r" + line + ("\n" if over else ""))
        sys.stderr.flush()
        if over:
            self._stage = None


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
