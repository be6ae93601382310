"""The federated setting: text stays in silos, and only randomised or aggregated statistics leave them.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._lazy import lazy_names

if TYPE_CHECKING:
    from discreet.federated.account import Account, vocabulary_digest
    from discreet.federated.federated_lda import FederatedLDA
    from discreet.federated.randomised_response import PairResponse, public_noise, response_probability
    from discreet.federated.rare_words import RareWordResponse, make_response, zipf_edge
    from discreet.federated.rounds import Update, client_update, fit_state, init_server, server_step
    from discreet.federated.secure_aggregation.masker import Masker
    from discreet.federated.state import State, agreed_terms
    from discreet.federated.wire import load_state, save_state

_HOMES = {
    "Account": "discreet.federated.account",
    "FederatedLDA": "discreet.federated.federated_lda",
    "Masker": "discreet.federated.secure_aggregation.masker",
    "PairResponse": "discreet.federated.randomised_response",
    "RareWordResponse": "discreet.federated.rare_words",
    "State": "discreet.federated.state",
    "Update": "discreet.federated.rounds",
    "agreed_terms": "discreet.federated.state",
    "client_update": "discreet.federated.rounds",
    "fit_state": "discreet.federated.rounds",
    "init_server": "discreet.federated.rounds",
    "load_state": "discreet.federated.wire",
    "make_response": "discreet.federated.rare_words",
    "public_noise": "discreet.federated.randomised_response",
    "response_probability": "discreet.federated.randomised_response",
    "save_state": "discreet.federated.wire",
    "server_step": "discreet.federated.rounds",
    "vocabulary_digest": "discreet.federated.account",
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
    "agreed_terms",
    "client_update",
    "fit_state",
    "init_server",
    "load_state",
    "make_response",
    "public_noise",
    "response_probability",
    "save_state",
    "server_step",
    "vocabulary_digest",
    "zipf_edge",
]

__getattr__, __dir__ = lazy_names("discreet.federated", _HOMES)
