"""Where a ledger lives: in one process, or in a file whose users take turns."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from discreet.errors import PrivacyError
from discreet.privacy.ledger import file as ledger_file

__all__ = ["NeverCopied", "Storage"]


class NeverCopied:
    """What stays one object whoever copies it: a copy of a ledger would be a second budget for the same text."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any], /) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self


class Storage:
    """Where a ledger lives, and whose turn it is to book.

    Attributes
    ----------
    path : Path or None
        The file; None for a ledger of this process alone.
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self._lock = threading.RLock()
        self._process = os.getpid()

    def check_process(self) -> None:
        """Raise ``PrivacyError`` in a fork of the process that a ledger without a file belongs to."""
        if self.path is None and os.getpid() != self._process:
            raise PrivacyError(
                "this ledger was made in another process, which would not see the booking; keep it in a file that "
                "both open (Ledger.open)."
            )

    @contextmanager
    def exclusively(self) -> Generator[None]:
        """Keep all other threads and processes out."""
        if os.getpid() != self._process:  # another thread may have held the lock when this process was forked
            self._lock, self._process = threading.RLock(), os.getpid()
        with self._lock:
            if self.path is None:
                yield
                return
            with ledger_file.locked(self.path):
                if not self.path.exists():
                    raise PrivacyError(
                        f"the ledger file {self.path} is gone; nothing can be booked without it."
                    )
                yield
