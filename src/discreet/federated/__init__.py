"""The federated setting: text stays in silos, and only randomised or aggregated statistics leave them.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {}

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.federated' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
