"""Warnings that show the line of whoever called the library, however deep in it they arise."""

import sys
import warnings
from pathlib import Path

_LIBRARY = str(Path(__file__).parents[1])


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line up the stack that is not the library's own (Python 3.12: ``skip_file_prefixes``)."""
    frame, level = sys._getframe(), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARY):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
