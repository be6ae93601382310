"""The federated setting: text stays in silos, and only randomised or aggregated statistics leave them.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._lazy import lazy_names

if TYPE_CHECKING:
    from discreet.federated.account import Account
    from discreet.federated.federated_lda import FederatedLDA
    from discreet.federated.randomised_response import PairResponse, public_noise, response_probability
    from discreet.federated.rare_words import RareWordResponse, make_response, zipf_edge
    from discreet.federated.rounds import State, Update, client_update, init_server, server_step
    from discreet.federated.secure_aggregation.masks import Masker

_HOMES = {
    "Account": "discreet.federated.account",
    "FederatedLDA": "discreet.federated.federated_lda",
    "Masker": "discreet.federated.secure_aggregation.masks",
    "PairResponse": "discreet.federated.randomised_response",
    "RareWordResponse": "discreet.federated.rare_words",
    "State": "discreet.federated.rounds",
    "Update": "discreet.federated.rounds",
    "client_update": "discreet.federated.rounds",
    "init_server": "discreet.federated.rounds",
    "make_response": "discreet.federated.rare_words",
    "public_noise": "discreet.federated.randomised_response",
    "response_probability": "discreet.federated.randomised_response",
    "server_step": "discreet.federated.rounds",
    "zipf_edge": "discreet.federated.rare_words",
}

__all__ = [
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

__getattr__, __dir__ = lazy_names("discreet.federated", _HOMES)
