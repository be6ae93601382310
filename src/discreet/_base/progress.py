"""Progress on long work: one callback type, and a guard so that a progress bar can never end a fit.

Where nobody gives a callback, a bar is drawn in a notebook or at an interactive prompt, and nowhere else;
:func:`show_progress` says otherwise.

:class:`Bars` draws one line a stage, again as work goes on, with no thread. A stage that ends within a
second is not shown at all.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from typing import TypeVar

Item = TypeVar("Item")
_TOLD_EVERY = 1000

#: ``callback(stage, done, total)``: the name of the stage, steps done, steps in all.
Callback = Callable[[str, int, int], None]


class _Default:
    """What is drawn where nobody gives a callback."""

    def __init__(self) -> None:
        self.wanted: bool | None = None
        self._bars: Callback | None = None

    def callback(self) -> Callback | None:
        """Return the bars, or None where nothing is to be drawn."""
        interactive = hasattr(sys, "ps1") or "ipykernel" in sys.modules
        if not (interactive if self.wanted is None else self.wanted):
            return None
        self._bars = self._bars or Bars()
        return self._bars


_default = _Default()


def show_progress(wanted: bool | None = True) -> None:
    """Draw progress bars for work that has no callback of its own, or never draw them.

    Parameters
    ----------
    wanted : bool or None, default True
        True and False hold from now on; None is the rule from the start: in a notebook or at an interactive prompt.
    """
    _default.wanted = wanted if wanted is None else bool(wanted)


def tell(callback: Callback | None, stage: str, done: int, total: int) -> None:
    """Report progress; an error inside the callback is dropped, because showing is not the work."""
    try:
        shown = _default.callback() if callback is None else callback
        if shown is not None:
            shown(stage, done, total)
    except Exception:  # a display must not cost a budget that is already spent
        return


def steps(callback: Callback | None, stage: str, total: int) -> Iterator[int]:
    """Count from 0 to below ``total``; progress is told before each step and at the end."""
    for done in range(total):
        tell(callback, stage, done, total)
        yield done
    tell(callback, stage, total, total)


@contextmanager
def telling(callback: Callback | None, stage: str) -> Generator[None]:
    """Tell that a stage of one step begins, and that it is done where nothing is raised."""
    tell(callback, stage, 0, 1)
    yield
    tell(callback, stage, 1, 1)


def watched(callback: Callback | None, stage: str, items: Iterable[Item]) -> Iterator[Item]:
    """Go through items; progress is told now and then, with a total of 0 where it is not known."""
    total = len(items) if isinstance(items, Sized) else 0
    done = 0
    for done, item in enumerate(items, 1):
        yield item
        if done % _TOLD_EVERY == 0:
            tell(callback, stage, done, total)
    tell(callback, stage, done, done)


#: Seconds after which a stage is drawn, and between two drawings of it.
_QUIET, _EVERY = 1.0, 0.1
_WIDTH = 24


class Bars:
    """A callback that draws on standard error."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._drawn, self._last, self._width = 0.0, "", 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Draw a stage of which ``done`` steps of ``total`` are over."""
        now = time.monotonic()
        began = self._began.setdefault(stage, now)
        over = done >= total
        if over:
            del self._began[stage]
        if now - began < _QUIET or (now - self._drawn < _EVERY and not over and stage == self._last):
            return
        self._drawn, self._last = now, stage
        line = f"{stage:<28} {_bar(done, total)} {done}/{total}  {now - began:.0f} s"
        sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if over else ""))
        sys.stderr.flush()
        self._width = 0 if over else len(line)

    def close(self) -> None:
        """Leave the line of a stage that was not over when work ended."""
        with suppress(Exception):  # as in `tell`
            sys.stderr.write("\n" * bool(self._width))


def _bar(done: int, total: int) -> str:
    """Return a bar of plain characters."""
    full = round(_WIDTH * min(done / max(total, 1), 1.0))
    return "[" + "#" * full + "." * (_WIDTH - full) + "]"
