"""The federated setting: text stays in silos, and only randomised or aggregated statistics leave them.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.federated.account import Account
    from discreet.federated.federated_lda import FederatedLDA
    from discreet.federated.masks import Masker
    from discreet.federated.rare_words import RareWordResponse, make_response, zipf_edge
    from discreet.federated.response import PairResponse, public_noise, response_probability
    from discreet.federated.rounds import State, Update, client_update, init_server, server_step

_HOMES: dict[str, str] = {
    "Account": "account",
    "FederatedLDA": "federated_lda",
    "Masker": "masks",
    "PairResponse": "response",
    "RareWordResponse": "rare_words",
    "State": "rounds",
    "Update": "rounds",
    "client_update": "rounds",
    "init_server": "rounds",
    "make_response": "rare_words",
    "public_noise": "response",
    "response_probability": "response",
    "server_step": "rounds",
    "zipf_edge": "rare_words",
}

__all__: list[str] = [
    "Account",
    "FederatedLDA",
    "Masker",
    "PairResponse",
    "RareWordResponse",
    "State",
    "Update",
    "client_update",
    "init_server",
    "make_response",
    "public_noise",
    "response_probability",
    "server_step",
    "zipf_edge",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.federated' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.federated.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
