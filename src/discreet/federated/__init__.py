"""The federated setting: text stays in silos, and only randomised or aggregated statistics leave them.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.federated.account import Account
    from discreet.federated.federated_lda import FederatedLDA
    from discreet.federated.rounds import client_update, fit_state, init_server, server_step
    from discreet.federated.state import State, agreed_terms
    from discreet.federated.wire import load_state, save_state


__all__ = [
    "Account",
    "FederatedLDA",
    "State",
    "agreed_terms",
    "client_update",
    "fit_state",
    "init_server",
    "load_state",
    "save_state",
    "server_step",
]

__getattr__, __dir__ = lazy_names("discreet.federated")
