"""The federated setting: text stays in silos, and only randomised or aggregated statistics leave them.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.federated.response import PairResponse, public_noise, response_probability

_HOMES: dict[str, str] = {
    "PairResponse": "discreet.federated.response",
    "public_noise": "discreet.federated.response",
    "response_probability": "discreet.federated.response",
}

__all__: list[str] = ["PairResponse", "public_noise", "response_probability"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.federated' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
