"""Progress on long work: one callback type, and a guard so that a progress bar can never end a fit."""

from collections.abc import Callable

__all__ = ["Callback", "tell"]

#: ``callback(stage, done, total)``: the name of the stage, steps done, steps in all.
Callback = Callable[[str, int, int], None]


def tell(callback: Callback | None, stage: str, done: int, total: int) -> None:
    """Report progress; an error inside the callback is dropped, because showing is not the work."""
    if callback is None:
        return
    try:
        callback(stage, done, total)
    except Exception:  # a display must not cost a budget that is already spent
        return
